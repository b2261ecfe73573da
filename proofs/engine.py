"""Claims about whole numbers, and how Z3 decides them.

Z3 decides linear arithmetic, and bit vectors, always; products of two variables it may not. So in a
linear claim every product of variables is a name of its own, after sums are multiplied out, and
every quotient and rest by a variable is a name with the facts that define it. What the claim needs
to know of products beyond their signs it takes from lemmas, which are claims that are proved with
true products. Forgetting what a product is can only make a claim harder to prove.
"""

import functools
from dataclasses import dataclass, field

from z3 import (
    And, BoolRef, If, Implies, Int, IntVal, Not, Solver, Sum, Z3_OP_ADD, Z3_OP_IDIV, Z3_OP_ITE,
    Z3_OP_MOD, Z3_OP_MUL, Z3_OP_SUB, Z3_OP_UMINUS, is_and,
    is_implies, is_int, is_int_value, is_quantifier, sat, unsat,
)

# Steps of the solver, so that the answer does not depend on the machine: a hundred times what any
# proof takes, half a minute. What takes more counts as not proved.
MOST_STEPS = 200_000_000

NOT_PROVED = "not proved, and no counterexample found: a lemma may be missing"


@dataclass
class Claim:
    """If all of `given` hold, then all of `goal` do."""

    given: list
    goal: list
    using: list = field(default_factory=list)
    # Whether it goes to Z3 as it is: lemmas, whose products keep their meaning, and bit vectors.
    exact: bool = False


@dataclass(frozen=True)
class Instance:
    """What a lemma says of particular terms."""

    lemma: str
    says: BoolRef


class Linear:
    """Turns formulas into linear ones, and collects the facts about the names that it gives.

    A polynomial is a map from its monomials, which are sorted tuples of atoms, to coefficients. An
    atom is the name of a variable, a quotient, or a case distinction.
    """

    def __init__(self):
        self.facts = []
        # By name, and by what is named.
        self.atoms = {}
        self.named = {}
        self.done = {}
        # name of a case distinction -> condition, and the polynomials of both cases
        self.cases = {}
        # divisor -> (dividend, quotient) of each
        self.quotients = {}

    def formula(self, term):
        """A formula, or a whole number, without products."""
        if is_quantifier(term):
            raise ValueError("a claim has no quantifiers")
        if is_int(term):
            return self.sum(self.polynomial(term))
        parts = [self.formula(part) for part in term.children()]
        return term.decl()(*parts) if parts else term

    def polynomial(self, term):
        # The term is kept with what it became, so that its number is not given to another.
        if term.get_id() not in self.done:
            self.done[term.get_id()] = (self.polynomial_of(term), term)
        return self.done[term.get_id()][0]

    def polynomial_of(self, term):
        kind, parts = term.decl().kind(), term.children()
        if is_int_value(term):
            return {(): term.as_long()} if term.as_long() else {}
        if kind == Z3_OP_ITE:
            return self.distinction(*parts)
        if kind in (Z3_OP_IDIV, Z3_OP_MOD):
            return self.division(kind, *parts)
        if kind in OPERATIONS:
            return functools.reduce(OPERATIONS[kind], map(self.polynomial, parts))
        if kind == Z3_OP_UMINUS:
            return minus({}, self.polynomial(parts[0]))
        if parts:
            raise ValueError(f"what is {term}?")
        return self.atom(term.decl().name(), term)

    def atom(self, name, term):
        self.atoms[name] = term
        return {(name,): 1}

    def distinction(self, condition, one, other):
        condition = self.formula(condition)
        one, other = self.polynomial(one), self.polynomial(other)
        name, is_new = self.name("case", (condition, self.sum(one), self.sum(other)))
        if is_new:
            self.cases[name] = (condition, one, other)
            self.facts.append(self.atoms[name] == If(condition, self.sum(one), self.sum(other)))
        return {(name,): 1}

    def division(self, kind, whole, by):
        name, is_new = self.name("quotient", (self.formula(whole), self.formula(by)))
        quotient = self.atoms[name]
        if is_new:
            self.facts.append(self.formula(quotients(whole, by, quotient)))
            others = self.quotients.setdefault(self.formula(by).sexpr(), [])
            for other_whole, other in others:
                for fact in (in_order(whole, other_whole, by, quotient, other),
                             in_order(other_whole, whole, by, other, quotient)):
                    self.facts.append(self.formula(fact))
            others.append((whole, quotient))
        if kind == Z3_OP_IDIV:
            return {(name,): 1}
        return minus(self.polynomial(whole), times(self.polynomial(by), {(name,): 1}))

    def name(self, kind, of):
        """The name of a term made of these, and whether it is new."""
        key = (kind, *(part.sexpr() for part in of))
        is_new = key not in self.named
        if is_new:
            self.named[key] = f"{kind}!{len(self.named)}"
            self.atoms[self.named[key]] = Int(self.named[key])
        return self.named[key], is_new

    def sum(self, polynomial):
        terms = [factor * self.monomial(atoms) for atoms, factor in sorted(polynomial.items())]
        return Sum(terms) if terms else IntVal(0)

    def monomial(self, atoms):
        if len(atoms) < 2:
            return self.atoms[atoms[0]] if atoms else IntVal(1)
        name, is_new = self.name("product", [self.atoms[atom] for atom in atoms])
        product = self.atoms[name]
        if is_new:
            self.facts.append(signs([self.atoms[atom] for atom in atoms], product))
            self.spread(atoms, product)
        return product

    def spread(self, atoms, product):
        """A product with a case distinction is one product or the other."""
        case = next((atom for atom in atoms if atom in self.cases), None)
        if case is None:
            return
        rest = list(atoms)
        rest.remove(case)
        condition, one, other = self.cases[case]
        one, other = (self.sum(times(part, {tuple(rest): 1})) for part in (one, other))
        self.facts.append(product == If(condition, one, other))


def plus(a, b):
    summed = dict(a)
    for atoms, factor in b.items():
        summed[atoms] = summed.get(atoms, 0) + factor
    return {atoms: factor for atoms, factor in summed.items() if factor}


def minus(a, b):
    return plus(a, {atoms: -factor for atoms, factor in b.items()})


def times(a, b):
    product = {}
    for atoms, factor in a.items():
        for more, by in b.items():
            product = plus(product, {tuple(sorted(atoms + more)): factor * by})
    return product


OPERATIONS = {Z3_OP_ADD: plus, Z3_OP_SUB: minus, Z3_OP_MUL: times}


def quotients(whole, by, quotient):
    """The facts that define a quotient rounded down."""
    defined = And(by * quotient <= whole, whole < by * quotient + by)
    return And(
        Implies(by >= 1, defined),
        Implies(And(by >= 1, whole >= 0), And(0 <= quotient, quotient <= whole)),
        Implies(And(by >= 1, whole >= 0, whole >= by), quotient >= 1),
    )


def in_order(whole, other_whole, by, quotient, other):
    """The larger number has no smaller quotient."""
    return Implies(And(by >= 1, whole <= other_whole), quotient <= other)


def signs(factors, product):
    """A product of numbers that are not negative is not, and not below one of two by at least 1."""
    facts = [Implies(And([factor >= 0 for factor in factors]), product >= 0)]
    if len(factors) == 2:
        a, b = factors
        facts += [
            Implies(And(a >= 0, b >= 1), product >= a),
            Implies(And(b >= 0, a >= 1), product >= b),
            Implies(a == 0, product == 0),
            Implies(b == 0, product == 0),
        ]
    return And(facts)


def solver(formulas):
    made = Solver()
    made.set("rlimit", MOST_STEPS)
    made.set("random_seed", 1)
    made.add(formulas)
    return made


def conditions(goal):
    """What the parts of a goal suppose beside the hypotheses."""
    found = []
    for part in goal:
        if is_and(part):
            found += conditions(part.children())
        elif is_implies(part):
            found.append(part.arg(0))
    return found


def is_possible(formulas):
    """Whether they can all hold: with products as they are."""
    return solver(formulas).check()


def vacuous(claim):
    """Why the claim says nothing, or None."""
    for suppose in [None, *conditions(claim.goal)]:
        found = is_possible([*claim.given, *([] if suppose is None else [suppose])])
        if found != sat:
            what = "the hypotheses" if suppose is None else f"the case {short(suppose)}"
            return f"{what} cannot hold" if found == unsat else f"{what}: {found}"
    return None


def refuted(claim):
    """Why the claim is not proved, or None."""
    formulas = [*claim.given, *(instance.says for instance in claim.using), Not(And(claim.goal))]
    if claim.exact:
        asked = solver(formulas)
    else:
        linear = Linear()
        asked = solver([linear.formula(formula) for formula in formulas] + linear.facts)
    found = asked.check()
    if found == unsat:
        return None
    if found == sat:
        return f"not so for {short(asked.model())}" if claim.exact else counterexample(claim)
    return f"{found}: {asked.reason_unknown()}"


def counterexample(claim):
    """Numbers, with true products, for which a claim is false that could not be proved without."""
    asked = solver([*claim.given, Not(And(claim.goal))])
    if asked.check() == sat:
        return f"not so for {short(asked.model())}"
    return NOT_PROVED


def short(shown):
    text = " ".join(str(shown).split())
    return text if len(text) <= 300 else text[:300] + " ..."

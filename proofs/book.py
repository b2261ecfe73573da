"""The proofs: how they are written, and what makes one hold."""

import functools
import inspect
import time
from dataclasses import dataclass

import engine
import source
from engine import Claim, Instance
from z3 import BoolVal, Ints

BOOK = []


@dataclass(frozen=True)
class Proof:
    module: str
    name: str
    # A plain sentence.
    says: str
    # Builds the claim.
    claim: object


@dataclass(frozen=True)
class Result:
    proof: Proof
    # Why it does not hold, or None.
    fault: object
    places: tuple
    seconds: float


def claim(given, goal, using=(), exact=False):
    """The claim of a proof: lists of formulas, and of what lemmas say of its terms."""
    foreign = [part for part in using if not isinstance(part, Instance)]
    if foreign:
        raise TypeError(f"not from a lemma: {foreign}")
    goals = goal if isinstance(goal, list) else [goal]
    return Claim(formulas(given), formulas(goals), list(using), exact)


def formulas(parts):
    """What is true or false already is a formula too."""
    return [BoolVal(part) if isinstance(part, bool) else part for part in parts]


def proof(build):
    """Adds a proof. Its name is the function's, its sentence the first paragraph of the docstring.
    """
    says = " ".join(inspect.getdoc(build).split("\n\n")[0].split())
    name = build.__name__.replace("_", " ")
    BOOK.append(Proof(build.__module__, name, says, build))
    return build


def lemma(*places):
    """Adds a lemma over whole numbers: a function from terms to (given, goal).

    It is proved for variables, with true products; called, it says the same of the given terms.
    """

    def add(build):
        @functools.wraps(build)
        def prove():
            source.computed_by(*places)
            variables = Ints(" ".join(inspect.signature(build).parameters))
            given, goal = build(*variables)
            return Claim(given, goal, exact=True)

        proof(prove)

        @functools.wraps(build)
        def instance(*terms):
            given, goal = build(*terms)
            says = engine.Implies(engine.And(given), engine.And(goal))
            return Instance(build.__name__, says)

        return instance

    return add


def check(one):
    """Proves it, or says why not."""
    start = time.monotonic()
    source.USED.clear()
    built = one.claim()
    places = tuple(sorted(source.USED))
    fault = "names no Rust function" if not places else None
    fault = fault or next((fault for place in places for fault in source.faults(place)), None)
    fault = fault or engine.vacuous(built) or engine.refuted(built)
    return Result(one, fault, places, time.monotonic() - start)


def whole(names):
    """Variables for whole numbers, by their names in one text; one alone for one name."""
    made = Ints(names)
    return made[0] if len(made) == 1 else made



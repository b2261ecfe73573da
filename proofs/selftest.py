"""Shows that the runner fails when it should, and that broken formulas break the right proofs."""

import contextlib
import io
import time

import book
import engine
import main as runner
import source
from book import Proof, claim
from breaks import BREAKS
from source import computed_by
from z3 import And, If, Implies, Ints

X, Y, Z = Ints("x y z")
# A function that there is.
REAL = "algorithm/token_bucket.rs: TokenBucket::settle"


def about(place, given, goal, **more):
    def build():
        computed_by(*([place] if place else []))
        return claim(given, goal, **more)

    return build


MISREAD = "algorithm/token_bucket.rs: TokenBucket::brim"


def misread():
    """A proof about a function that does not read as it is quoted."""
    source.FORMULAS[MISREAD] = (None, ["self.capacity"])
    computed_by(MISREAD)
    return claim([X >= 0], X >= 0)


# What must not hold, and what the runner must say of it.
FALSE = {
    "a false goal": (about(REAL, [X >= 0], X >= 1), "not so for"),
    "a goal that is false in one part": (about(REAL, [X >= 0], [X >= 0, X != 7]), "not so for"),
    "a false goal with products": (about(REAL, [X >= 1, Y >= 1], X * Y > X), "not so for"),
    "two quotients for one": (about(REAL, [X >= 0, Y >= 1, Z >= 1], X / Y == X / Z), "not so for"),
    "two rests for one": (about(REAL, [X >= 0, Y >= 1, Z >= 1], X % Y == X % Z), "not so for"),
    "two products for one": (about(REAL, [X >= 1, Y >= 1], X * Y * Y == X * Y * Z), "not so for"),
    "two cases for one": (about(REAL, [X >= 0], If(X > 0, Y, Z) == If(X > 1, Y, Z)), "not so for"),
    "a false lemma": (about(REAL, [X >= 0], X * X > X, exact=True), "not so for"),
    "hypotheses that contradict": (about(REAL, [X >= 1, X <= 0], X == 5), "cannot hold"),
    "hypotheses whose products contradict": (about(REAL, [X * X == 2], X == 5), "cannot hold"),
    "a case that cannot be": (about(REAL, [X >= 1], Implies(X == 0, X == 5)), "cannot hold"),
    "a case inside that cannot be": (
        about(REAL, [X >= 1], And(X >= 0, Implies(X == 0, X == 5))), "cannot hold"),
    "no function": (about(None, [X >= 0], X >= 0), "names no Rust function"),
    "a function that is not there": (
        about("algorithm/token_bucket.rs: TokenBucket::settled", [X >= 0], X >= 0),
        "no such function"),
    "a function of another type": (
        about("algorithm/token_bucket.rs: FixedWindow::settle", [X >= 0], X >= 0),
        "no such function"),
    "a file that is not there": (about("bucket.rs: settle", [X >= 0], X >= 0), "there is no file"),
    "a function that reads otherwise": (misread, "does not read"),
    "more than Z3 knows": (
        about(REAL, [X >= 1, Y >= 1, Z >= 1], X * X * X + Y * Y * Y != Z * Z * Z, exact=True),
        "unknown"),
}

# What must be proved.
TRUE = {
    "a true goal": about(REAL, [X >= 0], X + 1 >= 1),
    "a true goal with products": about(REAL, [X >= 0, Y >= 0], (X + Y) * X == X * X + X * Y),
    "a true goal with quotients": about(REAL, [X >= 0, Y >= 1], (X / Y) * Y + X % Y == X),
}


def fault_of(build, name):
    return book.check(Proof("selftest", name, name, build)).fault


def check_runner():
    """What is wrong with the runner."""
    with few_steps():
        for name, (build, expected) in FALSE.items():
            fault = fault_of(build, name)
            if fault is None or expected not in fault:
                yield f"{name}: expected `{expected}`, found `{fault}`"
    for name, build in TRUE.items():
        fault = fault_of(build, name)
        if fault is not None:
            yield f"{name}: {fault}"
    yield from check_exit_codes()


@contextlib.contextmanager
def few_steps():
    usual, engine.MOST_STEPS = engine.MOST_STEPS, 1_000_000
    try:
        yield
    finally:
        engine.MOST_STEPS = usual


def check_exit_codes():
    good = Proof("selftest", "good", "good", TRUE["a true goal"])
    bad = Proof("selftest", "bad", "bad", FALSE["a false goal"][0])
    expected = [([good], 0), ([bad], 1), ([good, bad], 1), ([], 1), ([good, good], 1)]
    for proofs, code in expected:
        with contextlib.redirect_stdout(io.StringIO()):
            found = runner.report(proofs, False, time.monotonic())
        if found != code:
            yield f"the exit code for {[proof.name for proof in proofs]} is {found}, not {code}"
    with contextlib.redirect_stdout(io.StringIO()):
        if runner.report([good], True, time.monotonic()) != 1:
            yield "modules without proofs are not noticed"
    if not [*fault_of_a_constant()]:
        yield "a constant that reads otherwise is not noticed"
    if not check_lemmas_are_needed():
        yield "a formula that is no lemma is taken for one"


def fault_of_a_constant():
    source.constant("limit.rs", "const SECOND: u64 = 999;", 999)
    yield from source.constant_faults()
    source.CONSTANTS.pop()


def check_lemmas_are_needed():
    """Whether a formula that is not from a lemma is refused."""
    try:
        claim([X >= 0], X >= 1, using=[X >= 1])
    except TypeError:
        return True
    return False


def users(proofs):
    """place -> the proofs that use its formula."""
    found = {}
    for proof in proofs:
        source.USED.clear()
        proof.claim()
        for place in source.USED:
            found.setdefault(place, []).append(proof)
    return found


def red(change, proofs):
    """Which proofs fail with another formula, and why."""
    formula, lines = source.FORMULAS[change.place]
    source.FORMULAS[change.place] = (change.formula, lines)
    try:
        found = {f"{proof.module}: {proof.name}": book.check(proof).fault for proof in proofs}
        return {name: fault for name, fault in found.items() if fault is not None}
    finally:
        source.FORMULAS[change.place] = (formula, lines)


def check_breaks(proofs):
    """Which breaks turn other proofs red than they should."""
    by_place = users(proofs)
    for change in BREAKS:
        found = red(change, by_place[change.place])
        print(f"broken  {change.name}: {len(found)} of {len(by_place[change.place])} fail")
        for name in sorted(set(found) - change.red):
            yield f"{change.name}: not expected to fail: {name}: {found[name]}"
        for name in sorted(change.red - set(found)):
            yield f"{change.name}: does not fail: {name}"
        for name, fault in found.items():
            if fault == engine.NOT_PROVED:
                yield f"{change.name}: only not proved, but not false: {name}"


def main(proofs, start):
    faults = [*check_breaks(proofs), *check_runner()]
    for fault in faults:
        print(f"FAILED  {fault}")
    tried = len(FALSE) + len(TRUE) + len(BREAKS)
    print(f"{tried} tried, {len(faults)} faults ({time.monotonic() - start:.1f} s)")
    return 1 if faults else 0

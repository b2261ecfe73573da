"""Proves the formulas; `scripts/proofs` says how to run it."""

import importlib
import sys
import time

import book
import source

MODULES = (
    "arith", "bucket", "windows", "counter", "log", "times", "several", "carry", "store", "widths",
    "words",
)
# What the others suppose of products; so these are proved with every module.
LEMMAS = "arith"


def load():
    """The proofs of all modules, in the order of the list above."""
    for module in MODULES:
        importlib.import_module(module)
    return sorted(book.BOOK, key=lambda proof: MODULES.index(proof.module))


def run(proofs):
    """Proves them, a line for each, and gives the results."""
    results = []
    for proof in proofs:
        result = book.check(proof)
        results.append(result)
        mark = "proved" if result.fault is None else "FAILED"
        print(f"{mark}  {proof.module}: {proof.name}")
        if result.fault is not None:
            print(f"        {proof.says}\n        {result.fault}")
    return results


def faults_beside(proofs, results, is_whole):
    """What is wrong though each proof may hold: constants, names, formulas that no proof is about.
    """
    yield from source.constant_faults()
    names = [(proof.module, proof.name) for proof in proofs]
    yield from (f"two proofs are named {name}" for name in names if names.count(name) > 1)
    if is_whole:
        used = {place for result in results for place in result.places}
        yield from (f"no proof is about {place}" for place in source.FORMULAS if place not in used)
        silent = set(MODULES) - {proof.module for proof in proofs}
        yield from (f"{module}.py proves nothing" for module in silent)


def verdict(results, faults):
    """The exit code: 0 when all is proved and there is something to prove."""
    return 0 if results and not faults and all(r.fault is None for r in results) else 1


def report(proofs, is_whole, start):
    results = run(proofs)
    faults = list(faults_beside(proofs, results, is_whole))
    for fault in faults:
        print(f"FAILED  {fault}")
    proved = sum(result.fault is None for result in results)
    places = {place for result in results for place in result.places}
    seconds = time.monotonic() - start
    print(f"{proved} of {len(results)} proved, about {len(places)} functions ({seconds:.1f} s)")
    return verdict(results, faults)


def list_proofs(proofs):
    """What is proved, and of which functions."""
    for proof in proofs:
        source.USED.clear()
        proof.claim()
        print(f"{proof.module}: {proof.name}\n    {proof.says}")
        for place in sorted(source.USED):
            print(f"    {place}")


def main(arguments):
    start = time.monotonic()
    proofs = load()
    if arguments == ["--self-test"]:
        selftest = importlib.import_module("selftest")
        return selftest.main(proofs, start)
    if arguments == ["--list"]:
        list_proofs(proofs)
        return 0
    unknown = [name for name in arguments if name not in MODULES]
    if unknown:
        print(f"no module is named {unknown[0]}; there are: {' '.join(MODULES)}", file=sys.stderr)
        return 2
    wanted = {LEMMAS, *arguments} if arguments else set(MODULES)
    chosen = [proof for proof in proofs if proof.module in wanted]
    return report(chosen, not arguments, start)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

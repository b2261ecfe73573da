"""Formulas as they are written in Rust, each tied to the function that computes it."""

import functools
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "crates" / "brimful" / "src"

# What makes an expression a part of a longer one: before it, unless it is an arrow, and after it.
LEADS_ON = (
    ".", "+", "-", "*", "/", "%", "&", "^", "<", ">", "!", "?", "==", "<=", ">=", "!=", "||",
)
GOES_ON = (*LEADS_ON, "=", "|")
# Where a quoted line may end within an expression.
OPEN = ("{", "(", ";", "=>", "else", "||")

# place -> (the formula, the lines of Rust that it transcribes)
FORMULAS = {}
# (file, line) of constants, which stand outside of functions.
CONSTANTS = []
# The places whose formulas have been used since the set was last emptied.
USED = set()


def rust(place, *lines):
    """Ties a formula to `file: function` or `file: Type::function` under crates/brimful/src.

    `lines` are quoted from the function's body. They are looked for there (spaces and comments do
    not count), so that a change to the Rust formula is noticed here.
    """

    def tie(formula):
        if place in FORMULAS:
            raise ValueError(f"two formulas for {place}")
        FORMULAS[place] = (formula, lines)

        @functools.wraps(formula)
        def call(*arguments):
            USED.add(place)
            return FORMULAS[place][0](*arguments)

        return call

    return tie


def quoted(place, *lines):
    """Ties the proofs that say they are about a function to lines of it, without a formula."""
    if place in FORMULAS:
        raise ValueError(f"two formulas for {place}")
    FORMULAS[place] = (None, lines)
    return place


def constant(file, line, value):
    """The value of a constant, and how it is written in Rust."""
    CONSTANTS.append((file, line))
    return value


def computed_by(*places):
    """Says that the running proof is also about functions that have no formula of their own."""
    USED.update(places)


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def squeezed(text):
    """Without spaces, and without the commas before a bracket that depend on how lines are broken.
    """
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", text))


def block(text, start):
    """The text from `start` to the brace that closes the first one opened after it."""
    depth = 0
    for at in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    return text[start:]


def impls(text, name):
    """The blocks of all `impl`s for a type."""
    for found in re.finditer(r"^impl\b[^{;]*\{", text, re.MULTILINE):
        head = re.sub(r"<[^<>]*>", "", found.group())
        if re.search(rf"\b{name}\s*(where|\{{)", head):
            yield block(text, found.start())


@functools.cache
def bodies(place):
    """The texts of the functions of that name, and what is wrong when there are none."""
    file, _, path = place.partition(": ")
    source = SOURCE / file
    if not source.is_file():
        return [], f"{place}: there is no file {file}"
    text = without_comments(source.read_text(encoding="utf-8"))
    *owner, name = path.split("::")
    texts = list(impls(text, owner[0])) if owner else [text]
    pattern = re.compile(rf"\bfn {re.escape(name)}\b")
    found = [block(part, match.start()) for part in texts for match in pattern.finditer(part)]
    return found, None if found else f"{place}: {file} has no such function"


def stands_in(line, body):
    """Whether a body has that text, and it is not a part of a longer expression."""
    line, body = squeezed(line), squeezed(body)
    at = body.find(line)
    while at >= 0:
        before, after = body[:at], body[at + len(line) :]
        is_begun = before.endswith(LEADS_ON) and not before.endswith("=>")
        goes_on = after.startswith(GOES_ON) and not line.endswith(OPEN)
        if not is_begun and not goes_on:
            return True
        at = body.find(line, at + 1)
    return False


def faults(place):
    """What is wrong with a place: no such function, or it reads otherwise."""
    found, fault = bodies(place)
    if fault:
        return [fault]
    lines = FORMULAS[place][1] if place in FORMULAS else ()
    wanted = [line for line in lines if not any(stands_in(line, f) for f in found)]
    return [f"{place} does not read `{line}` (any more)" for line in wanted]


def constant_faults():
    """Which constants read otherwise."""
    for file, line in CONSTANTS:
        source = SOURCE / file
        text = source.read_text(encoding="utf-8") if source.is_file() else ""
        if squeezed(line) not in squeezed(without_comments(text)):
            yield f"{file} does not read `{line}` (any more)"

"""What a key keeps when its limits change: the fraction owed, rounded up, exactly."""

from arith import cancel, compared, order, strict_order
from book import claim, proof, whole
from formulas import Counter, counter_owed, div_ceil, sat_sub, smaller, spent
from source import computed_by, quoted, rust
from z3 import And, If, Implies, Or

PART, OF, BY = whole("part of by")
OWED, OLD, NEW = whole("owed old new")


@rust("algorithm/mod.rs: scaled", "quotient <<= 1_u32;", "rest <<= 1_u32;",
      "for addend in [0, if (of >> bit) & 1 == 1 { part } else { 0 }]",
      "rest = rest.saturating_add(addend);", "if rest >= whole",
      "rest = rest.saturating_sub(whole);", "quotient = quotient.saturating_add(1);",
      "quotient.saturating_add(u128::from(rest > 0))")
def long_multiplication_step(part, by, bit, quotient, rest):
    """One bit of `of`."""
    quotient, rest = quotient * 2, rest * 2
    for addend in (0, If(bit == 1, part, 0)):
        rest = rest + addend
        quotient = If(rest >= by, quotient + 1, quotient)
        rest = If(rest >= by, sat_sub(rest, by), rest)
    return quotient, rest


@rust("algorithm/mod.rs: Machine::take_over", "let (owed, of) = old.fraction(settled, at);",
      "let share = |of_new: u128| scaled(owed.min(of), of_new, of);",
      "Self::TokenBucket(bucket) => share(bucket.brim())", "tokens(window.limit())",
      "tokens(log.limit().into())",
      "Counts { previous: 0, current: tokens(window.limit()) }.pack()",
      "let current = old.owed(Counts::unpack(settled), at).tokens;",
      "Counts { previous: 0, current }.pack()")
def taken_over(owed, of, of_new):
    """`owed` of `of` in a limit that has `of_new` in the place of it."""
    return div_ceil(smaller(owed, of) * of_new, of)


def loop(quotient, rest, bits):
    """What holds after each bit, where `bits` are those of `of` so far."""
    return And(PART * bits == quotient * BY + rest, 0 <= rest, rest < BY, quotient >= 0)


@proof
def each_bit_keeps_the_long_multiplication():
    """`part * bits = quotient * whole + rest`, and the rest is below the whole, for one bit more.
    """
    bits, bit, quotient, rest = whole("bits bit quotient rest")
    after = long_multiplication_step(PART, BY, bit, quotient, rest)
    return claim(
        given=[BY >= 1, 0 <= PART, PART <= BY, bits >= 0, Or(bit == 0, bit == 1),
               loop(quotient, rest, bits)],
        goal=loop(*after, bits * 2 + If(bit == 1, 1, 0)),
    )


@proof
def the_long_multiplication_starts_with_nothing():
    """Before the first bit quotient and rest are 0."""
    computed_by("algorithm/mod.rs: scaled")
    return claim(given=[BY >= 1, 0 <= PART, PART <= BY], goal=loop(0, 0, 0))


@proof
def the_long_multiplication_is_the_quotient_rounded_up():
    """After the last bit, the quotient and 1 for any rest are `ceil(part * of / whole)`."""
    quotient, rest = whole("quotient rest")
    computed_by("algorithm/mod.rs: scaled")
    result = quotient + If(rest > 0, 1, 0)
    exact = div_ceil(PART * OF, BY)
    return claim(
        given=[BY >= 1, 0 <= PART, PART <= BY, OF >= 0, loop(quotient, rest, OF)],
        goal=result == exact,
        using=compared(BY, quotient, PART * OF / BY),
    )


@proof
def nothing_saturates_in_the_long_multiplication():
    """With a whole below 2^127 no step needs more than 128 bits; the quotient is at most `of`."""
    bits, bit, quotient, rest = whole("bits bit quotient rest")
    computed_by("algorithm/mod.rs: scaled")
    doubled = rest * 2
    return claim(
        given=[1 <= BY, BY < 2**127, 0 <= PART, PART <= BY, 0 <= bits, bits <= OF, OF < 2**96,
               Or(bit == 0, bit == 1), loop(quotient, rest, bits)],
        goal=[doubled < 2**128, If(doubled >= BY, doubled - BY, doubled) + PART < 2**128,
              quotient <= OF],
        using=[order(bits, PART, BY), cancel(BY, quotient, bits)],
    )


@proof
def a_fraction_is_rounded_up_and_stays_one():
    """At least the exact share and less than one unit above; none stays none, all stays all."""
    new = taken_over(OWED, OLD, NEW)
    owed = smaller(OWED, OLD)
    return claim(
        given=[OLD >= 1, NEW >= 1, OWED >= 0],
        goal=[new * OLD >= owed * NEW, new * OLD < owed * NEW + OLD, 0 <= new, new <= NEW,
              (new == 0) == (OWED == 0), Implies(OWED >= OLD, new == NEW)],
        using=[*compared(NEW, owed, OLD), *compared(OLD, NEW, new)],
    )


@proof
def owing_more_is_carried_as_no_less():
    """The order of two debts is kept."""
    other = whole("other")
    one, two = taken_over(OWED, OLD, NEW), taken_over(other, OLD, NEW)
    return claim(
        given=[OLD >= 1, NEW >= 1, 0 <= OWED, OWED <= other],
        goal=one <= two,
        using=[order(NEW, smaller(OWED, OLD), smaller(other, OLD)), strict_order(OLD, two, one)],
    )


@proof
def to_and_fro_gains_nothing():
    """Carried to another limit and back at one time, at least as much is owed as before."""
    there = taken_over(OWED, OLD, NEW)
    back = taken_over(there, NEW, OLD)
    return claim(
        given=[OLD >= 1, NEW >= 1, 0 <= OWED, OWED <= OLD],
        goal=[back >= OWED, back <= OLD],
        using=[order(NEW, OWED, OLD), cancel(NEW, OWED, back), strict_order(OLD, NEW, there),
               order(OLD, there, NEW), strict_order(NEW, OLD, back)],
    )


@proof
def to_and_fro_owes_hardly_more():
    """It comes back with less than `old / new` units and one more: what was rounded up, twice."""
    there = taken_over(OWED, OLD, NEW)
    back = taken_over(there, NEW, OLD)
    return claim(
        given=[OLD >= 1, NEW >= 1, 0 <= OWED, OWED <= OLD],
        goal=back * NEW < OWED * NEW + OLD + NEW,
        using=[order(NEW, OWED, OLD), strict_order(OLD, NEW, there)],
    )


@proof
def a_full_slot_stays_free():
    """A key that owes nothing owes nothing under the new limits."""
    return claim(given=[OLD >= 1, NEW >= 1, OWED == 0], goal=taken_over(OWED, OLD, NEW) == 0)


LIMIT, WIDTH, WIDTH_THERE, LEFT = whole("limit width width_there left")
PREVIOUS, CURRENT = whole("previous current")
COUNTER = Counter(LIMIT, WIDTH)
COUNTED = [*COUNTER.facts, PREVIOUS >= 0, CURRENT >= 0, 1 <= LEFT, LEFT <= WIDTH]


@proof
def a_counter_goes_to_and_fro_without_gain():
    """A counter's estimate, carried to a fraction and back into whole tokens, is not smaller."""
    estimate = spent(COUNTER, (PREVIOUS, CURRENT), LEFT)
    there = taken_over(estimate, LIMIT * WIDTH, NEW)
    back = taken_over(there, NEW, LIMIT)
    return claim(
        given=[*COUNTED, NEW >= 1, estimate <= LIMIT * WIDTH],
        goal=back * WIDTH >= estimate,
        using=[order(NEW, estimate, LIMIT * WIDTH), strict_order(LIMIT * WIDTH, NEW, there),
               order(LIMIT, there, NEW), order(WIDTH, there * LIMIT, back * NEW),
               cancel(NEW, estimate, back * WIDTH)],
    )


@proof
def a_counter_of_another_width_keeps_what_was_spent():
    """Its tokens, rounded up, stand in the current window: there and back they are no fewer."""
    tokens = counter_owed(COUNTER, (PREVIOUS, CURRENT), LEFT)
    there = Counter(LIMIT, WIDTH_THERE)
    back = counter_owed(there, (0, tokens), whole("left_there"))
    computed_by("algorithm/mod.rs: Machine::take_over")
    estimate = spent(COUNTER, (PREVIOUS, CURRENT), LEFT)
    return claim(
        given=[*COUNTED, WIDTH_THERE >= 1],
        goal=[back == tokens, back * WIDTH >= estimate, back * WIDTH < estimate + WIDTH],
        using=[*compared(WIDTH_THERE, tokens, (tokens * WIDTH_THERE) / WIDTH_THERE),
               *compared(WIDTH, tokens, back)],
    )


FRACTION = quoted("algorithm/sliding_window.rs: SlidingWindow::fraction",
                  "(self.spent(counts, at), product(self.limit, self.width.get()))")


@proof
def the_fraction_of_a_counter_is_its_estimate():
    """A carried count stands for exactly so many tokens: its share of the limit is count / limit.
    """
    computed_by(FRACTION)
    estimate = spent(COUNTER, (0, CURRENT), LEFT)
    return claim(
        given=COUNTED,
        goal=[estimate * LIMIT == CURRENT * (LIMIT * WIDTH), estimate == CURRENT * WIDTH],
    )

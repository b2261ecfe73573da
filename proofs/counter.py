"""Sliding window counter: admission in whole numbers, tight waits, and the bound on what it
admits.
"""

from arith import cancel, compared, order, quotient_is, strict_order
from book import claim, proof, whole
from formulas import (
    Counter, counter_charge, counter_left, counter_owed, counter_refund, counter_remaining,
    counter_reset, counter_settle, counter_verdict, div_ceil, spent, window,
)
from source import computed_by
from z3 import And, If, Implies, Not

COUNTER = Counter(*whole("limit width"))
PREVIOUS, CURRENT, LEFT, COST = whole("previous current left cost")
COUNTS = (PREVIOUS, CURRENT)
LAST, NOW, MORE = whole("last now more")
LIMIT, WIDTH = COUNTER.limit, COUNTER.width
# Counts that were carried from another limit may be above this one.
COUNTED = [*COUNTER.facts, PREVIOUS >= 0, CURRENT >= 0, 1 <= LEFT, LEFT <= WIDTH]
# Those that were admitted by this one are not.
WITHIN = [*COUNTED, PREVIOUS <= LIMIT, CURRENT <= LIMIT]


def later(counts, left, passed):
    """The counts and what is left of their window after a time."""
    previous, current = counts
    same, next_ = passed < left, passed < left + WIDTH
    counts = (If(same, previous, If(next_, current, 0)), If(same, current, 0))
    # After the next window nothing is counted, and what is left does not matter.
    return counts, If(same, left - passed, If(next_, WIDTH - (passed - left), 1))


def admitted_later(passed):
    return counter_verdict(COUNTER, *spread(*later(COUNTS, LEFT, passed)))[0]


def spread(counts, left):
    return counts, COST, left


@proof
def the_counts_after_a_time():
    """Settling moves the counts on when a window ends, once and twice; what is left falls with
    time.
    """
    left = counter_left(COUNTER, NOW)
    moved, left_then = later(COUNTS, left, MORE)
    settled = counter_settle(COUNTER, COUNTS, NOW, NOW + MORE)
    at = NOW / WIDTH
    return claim(
        given=[*COUNTER.facts, PREVIOUS >= 0, CURRENT >= 0, NOW >= 0, MORE >= 0],
        goal=[
            1 <= left, left <= WIDTH,
            settled[0] == moved[0], settled[1] == moved[1],
            Implies(MORE < left + WIDTH, counter_left(COUNTER, NOW + MORE) == left_then),
        ],
        using=[quotient_is(NOW + MORE, WIDTH, at), quotient_is(NOW + MORE, WIDTH, at + 1),
               *compared(WIDTH, window(NOW + MORE, WIDTH), at),
               *compared(WIDTH, window(NOW + MORE, WIDTH), at + 1)],
    )


@proof
def settling_counts_twice_is_settling_once():
    """How often the counter is asked changes nothing."""
    between = whole("between")
    twice = counter_settle(COUNTER, counter_settle(COUNTER, COUNTS, LAST, between), between, NOW)
    once = counter_settle(COUNTER, COUNTS, LAST, NOW)
    return claim(
        given=[*COUNTER.facts, PREVIOUS >= 0, CURRENT >= 0, 0 <= LAST, LAST <= between,
               between <= NOW],
        goal=[twice[0] == once[0], twice[1] == once[1]],
    )


@proof
def a_step_of_the_clock_leaves_the_counts():
    """When no time counts as passed, the counts are as they were."""
    settled = counter_settle(COUNTER, COUNTS, LAST, NOW)
    return claim(
        given=[*COUNTED, 0 <= LAST, LAST == NOW],
        goal=[settled[0] == PREVIOUS, settled[1] == CURRENT],
    )


@proof
def admission_is_the_estimate_in_whole_numbers():
    """Admitted exactly when `previous * left + (current + cost) * W <= limit * W`."""
    admitted, *_ = counter_verdict(COUNTER, COUNTS, COST, LEFT)
    estimate = PREVIOUS * LEFT + (CURRENT + COST) * WIDTH
    return claim(
        given=[*COUNTED, COST >= 1],
        goal=admitted == (estimate <= LIMIT * WIDTH),
        using=[strict_order(WIDTH, LIMIT, CURRENT + COST), order(WIDTH, CURRENT + COST, LIMIT),
               strict_order(WIDTH, LIMIT, COST)],
    )


@proof
def never_is_said_of_costs_above_the_limit_alone():
    """Such a cost is refused with no counts at all, and any other is then admitted."""
    admitted, never, *_ = counter_verdict(COUNTER, (0, 0), COST, LEFT)
    return claim(
        given=[*COUNTED, COST >= 1],
        goal=[never == (COST > LIMIT), admitted == Not(never)],
        using=[order(WIDTH, COST, LIMIT)],
    )


@proof
def the_estimate_never_rises_with_time():
    """What was spent weighs less and less, so a cost that is admitted stays admitted."""
    counts, left = later(COUNTS, LEFT, MORE)
    return claim(
        given=[*COUNTED, COST >= 1, MORE >= 0],
        goal=[
            spent(COUNTER, counts, left) <= spent(COUNTER, COUNTS, LEFT),
            Implies(counter_verdict(COUNTER, COUNTS, COST, LEFT)[0], admitted_later(MORE)),
        ],
        using=[order(PREVIOUS, LEFT - MORE, LEFT), order(CURRENT, LEFT, MORE),
               order(WIDTH, COST, LIMIT)],
    )


@proof
def a_wait_within_the_window_is_tight():
    """While this window has a place for the cost: admitted after the wait, not one ns earlier."""
    admitted, never, within, _, has_place = counter_verdict(COUNTER, COUNTS, COST, LEFT)
    return claim(
        given=[*COUNTED, COST >= 1, Not(admitted), Not(never), has_place],
        goal=[within >= 1, within <= LEFT, admitted_later(within), Not(admitted_later(within - 1))],
        using=[order(WIDTH, CURRENT + COST, LIMIT), order(WIDTH, COST, LIMIT),
               order(PREVIOUS, LEFT, within - 1), *compared(CURRENT, within, LEFT)],
    )


@proof
def a_wait_into_the_next_window_is_tight():
    """When this window has no place for the cost: admitted after the wait, not one ns earlier."""
    _, never, _, wait, has_place = counter_verdict(COUNTER, COUNTS, COST, LEFT)
    into = wait - LEFT
    return claim(
        given=[*COUNTED, COST >= 1, Not(never), Not(has_place)],
        goal=[wait > LEFT, wait <= LEFT + WIDTH, admitted_later(wait),
              Not(admitted_later(wait - 1))],
        using=[order(WIDTH, COST, LIMIT), strict_order(WIDTH, LIMIT - COST, CURRENT),
               strict_order(CURRENT, WIDTH, into), order(CURRENT, WIDTH, into - 1)],
    )


@proof
def remaining_is_the_largest_cost_the_counter_admits():
    """So many are admitted, if any, and one more is not."""
    left = counter_remaining(COUNTER, COUNTS, LEFT)
    return claim(
        given=COUNTED,
        goal=[
            left >= 0, left <= LIMIT,
            Implies(left > 0, counter_verdict(COUNTER, COUNTS, left, LEFT)[0]),
            Not(counter_verdict(COUNTER, COUNTS, left + 1, LEFT)[0]),
        ],
        using=[cancel(WIDTH, left, LIMIT), order(WIDTH, CURRENT + left, LIMIT),
               strict_order(WIDTH, LIMIT, CURRENT + left), cancel(WIDTH, CURRENT + left, LIMIT)],
    )


@proof
def a_counter_is_as_good_as_new_after_its_reset():
    """Then both counts are nothing, one nanosecond earlier not; it is 0 exactly when they are."""
    reset = counter_reset(COUNTER, COUNTS, LEFT)
    (previous, current), _ = later(COUNTS, LEFT, reset)
    before, _ = later(COUNTS, LEFT, reset - 1)
    return claim(
        given=COUNTED,
        goal=[
            And(previous == 0, current == 0),
            (reset == 0) == And(PREVIOUS == 0, CURRENT == 0),
            Implies(reset > 0, before[0] + before[1] > 0),
        ],
    )


@proof
def an_idle_counter_is_a_new_one():
    """Once both counts are nothing they are so at every later time."""
    settled = counter_settle(COUNTER, COUNTS, LAST, NOW)
    after = counter_settle(COUNTER, COUNTS, LAST, NOW + MORE)
    return claim(
        given=[*COUNTED, 0 <= LAST, LAST <= NOW, MORE >= 0, settled[0] == 0, settled[1] == 0],
        goal=[after[0] == 0, after[1] == 0],
    )


@proof
def owing_no_tokens_is_having_spent_nothing():
    """The whole tokens owed, rounded up, are 0 exactly when both counts are."""
    return claim(
        given=COUNTED,
        goal=(counter_owed(COUNTER, COUNTS, LEFT) == 0) == And(PREVIOUS == 0, CURRENT == 0),
    )


@proof
def a_counter_counts_what_it_admits():
    """A charge adds its cost and keeps both counts within the limit; a refund takes back the
    current.
    """
    charged = counter_charge(COUNTS, COST)
    (_, left), given = counter_refund(charged, COST)
    return claim(
        given=[*WITHIN, COST >= 1, counter_verdict(COUNTER, COUNTS, COST, LEFT)[0]],
        goal=[
            charged[1] == CURRENT + COST, charged[1] <= LIMIT,
            spent(COUNTER, charged, LEFT) <= LIMIT * WIDTH,
            left == CURRENT, given == COST,
        ],
        using=[cancel(WIDTH, CURRENT + COST, LIMIT)],
    )


# The bound. From a time `a`, with `first` left of its window then, until `since` later. Within that
# window what was admitted is part of its own count; after it, with `t = since - first`:
# `admitted * W <= spent + limit * t`.
ADMITTED, SINCE, FIRST = whole("admitted since first")


def bounded(counts, left):
    return ADMITTED * WIDTH <= spent(COUNTER, counts, left) + LIMIT * (SINCE - FIRST)


@proof
def the_first_window_counts_all_that_it_admits():
    """Until it ends, what was admitted since `a` is in its count, which is within the limit."""
    (_, current), left = later(COUNTS, LEFT, MORE)
    _, charged = counter_charge((PREVIOUS, current), COST)
    admitted = counter_verdict(COUNTER, (PREVIOUS, current), COST, left)[0]
    return claim(
        given=[*WITHIN, 0 <= ADMITTED, ADMITTED <= CURRENT, SINCE + LEFT == FIRST, MORE >= 0,
               MORE < LEFT, COST >= 1, admitted],
        goal=[ADMITTED + COST <= charged, charged <= LIMIT, SINCE + MORE + left == FIRST],
        using=[cancel(WIDTH, charged, LIMIT)],
    )


@proof
def the_counters_bound_begins_with_the_next_window():
    """What the window of `a` admitted is in its count; when a later one begins, the bound holds."""
    counts, left = later(COUNTS, LEFT, MORE)
    return claim(
        given=[*WITHIN, 0 <= ADMITTED, ADMITTED <= CURRENT, MORE >= LEFT,
               SINCE + LEFT == FIRST + MORE],
        goal=bounded(counts, left),
        using=[order(WIDTH, ADMITTED, CURRENT), order(MORE - LEFT, CURRENT, LIMIT),
               order(WIDTH, CURRENT, LIMIT), order(LIMIT, WIDTH, MORE - LEFT),
               order(LIMIT, MORE - LEFT, SINCE - FIRST), order(CURRENT, LEFT, MORE)],
    )


@proof
def the_counters_bound_holds_while_time_passes():
    """What was spent falls by at most the limit in each nanosecond."""
    counts, left = later(COUNTS, LEFT, MORE)
    after = ADMITTED * WIDTH <= spent(COUNTER, counts, left) + LIMIT * (SINCE + MORE - FIRST)
    return claim(
        given=[*WITHIN, ADMITTED >= 0, SINCE >= FIRST, MORE >= 0, bounded(COUNTS, LEFT)],
        goal=[after, counts[0] <= LIMIT, counts[1] <= LIMIT],
        using=[order(MORE, PREVIOUS, LIMIT), order(LEFT, PREVIOUS, LIMIT),
               order(MORE - LEFT, CURRENT, LIMIT), order(WIDTH, CURRENT, LIMIT),
               order(LIMIT, LEFT + WIDTH, MORE)],
    )


@proof
def the_counters_bound_holds_with_each_charge():
    """A charge adds as much to what was spent as to what was admitted, and spends the limit at
    most.
    """
    charged = counter_charge(COUNTS, COST)
    return claim(
        given=[*WITHIN, ADMITTED >= 0, SINCE >= FIRST, COST >= 1, bounded(COUNTS, LEFT),
               counter_verdict(COUNTER, COUNTS, COST, LEFT)[0]],
        goal=[
            (ADMITTED + COST) * WIDTH
            <= spent(COUNTER, charged, LEFT) + LIMIT * (SINCE - FIRST),
            spent(COUNTER, charged, LEFT) <= LIMIT * WIDTH,
        ],
    )


@proof
def the_counter_admits_limit_and_rate():
    """In any T >= 1 ns, both ends included: at most `N + floor(N * (T - 1) / W)`."""
    most = LIMIT + (LIMIT * (SINCE - 1)) / WIDTH
    return claim(
        given=[*WITHIN, ADMITTED >= 0, SINCE >= FIRST, FIRST >= 1, bounded(COUNTS, LEFT),
               spent(COUNTER, COUNTS, LEFT) <= LIMIT * WIDTH],
        goal=ADMITTED <= most,
        using=[order(LIMIT, 1, FIRST), strict_order(WIDTH, most, ADMITTED)],
    )


@proof
def the_counter_admits_less_than_twice_its_limit_in_a_width():
    """So in any half-open W of at least 2 * N ns there are at most 2 * N - 1."""
    most = LIMIT + (LIMIT * (WIDTH - 2)) / WIDTH
    computed_by("algorithm/sliding_window.rs: SlidingWindow::verdict")
    return claim(
        given=[*COUNTER.facts, WIDTH >= 2, WIDTH >= 2 * LIMIT],
        goal=most <= 2 * LIMIT - 1,
        using=[strict_order(WIDTH, LIMIT - 1, (LIMIT * (WIDTH - 2)) / WIDTH),
               order(WIDTH, LIMIT, (LIMIT * (WIDTH - 2)) / WIDTH)],
    )


@proof
def the_counter_rounds_its_estimate_up():
    """In tokens: admitted exactly when the previous part, rounded up, the count and the cost fit.
    """
    part = div_ceil(PREVIOUS * LEFT, WIDTH)
    room = LIMIT - CURRENT - COST
    return claim(
        given=[*COUNTED, COST >= 1],
        goal=counter_verdict(COUNTER, COUNTS, COST, LEFT)[0] == (part + CURRENT + COST <= LIMIT),
        using=[order(WIDTH, part, room), strict_order(WIDTH, room, part),
               strict_order(WIDTH, room, part - 1)],
    )

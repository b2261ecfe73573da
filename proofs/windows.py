"""Fixed window: tight, and at most twice the limit across a boundary."""

from arith import cancel_strict, order, quotient_is
from book import claim, proof, whole
from formulas import (
    div_ceil, fixed_charge, fixed_left, fixed_refund, fixed_remaining, fixed_reset, fixed_settle,
    fixed_verdict, window,
)
from z3 import Implies, Not

LIMIT, WIDTH, COUNT, COST = whole("limit width count cost")
LAST, NOW, LATER = whole("last now later")


def counted():
    """A count as it is settled; carried from another limit it may be above this one."""
    return [LIMIT >= 1, WIDTH >= 1, COUNT >= 0, 0 <= LAST, LAST <= NOW]


def boundary():
    """Where a window ends, and what lies before the end, as facts about quotients."""
    end = NOW + fixed_left(WIDTH, NOW)
    return end, [quotient_is(end, WIDTH, NOW / WIDTH + 1),
                 quotient_is(end - 1, WIDTH, NOW / WIDTH)]


@proof
def a_window_lasts_until_nothing_is_left():
    """1 to the whole width is left; until then it is the same window, and then the next."""
    end, using = boundary()
    left = fixed_left(WIDTH, NOW)
    return claim(
        given=[*counted(), NOW <= LATER, LATER < end],
        goal=[1 <= left, left <= WIDTH, window(LATER, WIDTH) == window(NOW, WIDTH),
              window(end, WIDTH) == window(NOW, WIDTH) + 1],
        using=using,
    )


@proof
def a_count_lasts_as_long_as_its_window():
    """Until the end of the window the count stays as it is; from then on it is nothing."""
    end, using = boundary()
    more = whole("more")
    return claim(
        given=[*counted(), NOW <= LATER, LATER < end, more >= 0],
        goal=[fixed_settle(WIDTH, COUNT, NOW, LATER) == COUNT,
              fixed_settle(WIDTH, COUNT, NOW, end + more) == 0],
        using=using,
    )


@proof
def a_step_of_the_clock_leaves_the_count():
    """When no time counts as passed, the count is as it was."""
    return claim(
        given=[*counted(), LAST == NOW],
        goal=fixed_settle(WIDTH, COUNT, LAST, NOW) == COUNT,
    )


@proof
def a_wait_is_the_rest_of_the_window():
    """A refused cost is admitted when the next window begins, and at no earlier time."""
    admitted, never, wait = fixed_verdict(LIMIT, WIDTH, COUNT, COST, NOW)
    end, using = boundary()

    def again(now):
        return fixed_verdict(LIMIT, WIDTH, fixed_settle(WIDTH, COUNT, NOW, now), COST, now)[0]

    return claim(
        given=[*counted(), COST >= 1, Not(admitted), Not(never), NOW <= LATER, LATER < NOW + wait],
        goal=[wait >= 1, wait == end - NOW, again(NOW + wait), Not(again(LATER))],
        using=using,
    )


@proof
def never_is_said_of_costs_above_the_limit_alone():
    """Such a cost is refused with no count at all, and any other is then admitted."""
    admitted, never, _ = fixed_verdict(LIMIT, WIDTH, 0, COST, NOW)
    return claim(
        given=[*counted(), COST >= 1],
        goal=[never == (COST > LIMIT), admitted == Not(never)],
    )


@proof
def what_a_window_admits_it_admits_later():
    """If nobody else asks, a cost that is admitted is admitted at any later time."""
    settled = fixed_settle(WIDTH, COUNT, NOW, LATER)
    return claim(
        given=[*counted(), COST >= 1, NOW <= LATER,
               fixed_verdict(LIMIT, WIDTH, COUNT, COST, NOW)[0]],
        goal=fixed_verdict(LIMIT, WIDTH, settled, COST, LATER)[0],
    )


@proof
def remaining_is_the_largest_cost_a_window_admits():
    """So many are admitted, if any, and one more is not."""
    left = fixed_remaining(LIMIT, COUNT)
    return claim(
        given=counted(),
        goal=[
            Implies(left > 0, fixed_verdict(LIMIT, WIDTH, COUNT, left, NOW)[0]),
            Not(fixed_verdict(LIMIT, WIDTH, COUNT, left + 1, NOW)[0]),
            0 <= left, left <= LIMIT,
        ],
    )


@proof
def a_window_is_as_good_as_new_after_its_reset():
    """Then the count is nothing, not one nanosecond earlier, and it is 0 exactly for no count."""
    reset = fixed_reset(WIDTH, COUNT, NOW)
    _, using = boundary()
    return claim(
        given=counted(),
        goal=[
            fixed_settle(WIDTH, COUNT, NOW, NOW + reset) == 0,
            (reset == 0) == (COUNT == 0),
            Implies(reset > 0, fixed_settle(WIDTH, COUNT, NOW, NOW + reset - 1) > 0),
        ],
        using=using,
    )


@proof
def a_window_counts_what_it_admits():
    """A charge adds its cost and stays within the limit; a refund takes back what is counted at
    most.
    """
    charged = fixed_charge(COUNT, COST)
    left, given = fixed_refund(COUNT, COST)
    return claim(
        given=[*counted(), COST >= 1, fixed_verdict(LIMIT, WIDTH, COUNT, COST, NOW)[0]],
        goal=[charged == COUNT + COST, charged <= LIMIT, left == COUNT - given, 0 <= given,
              given <= COST, left >= 0, fixed_refund(charged, COST)[0] == COUNT],
    )


@proof
def an_idle_window_is_a_new_one():
    """Once its count is nothing it is so at every later time."""
    more = whole("more")
    settled = fixed_settle(WIDTH, COUNT, LAST, NOW)
    later = fixed_settle(WIDTH, COUNT, LAST, NOW + more)
    return claim(
        given=[*counted(), more >= 0, settled == 0],
        goal=later == 0,
    )


@proof
def any_time_of_a_width_touches_two_windows():
    """From a to before a + W there are at most two windows: with `limit` in each, 2 * limit."""
    a = whole("a")
    first, other = window(a, WIDTH), window(LATER, WIDTH)
    return claim(
        given=[WIDTH >= 1, a >= 0, a <= LATER, LATER < a + WIDTH],
        goal=[first <= other, other <= first + 1],
        using=[cancel_strict(WIDTH, other, first + 2)],
    )


@proof
def windows_touched_in_any_time():
    """From a to a + T there are at most ceil(T / W) + 1 windows, with at most `limit` in each."""
    a, t, admitted = whole("a t admitted")
    windows = window(a + t, WIDTH) - window(a, WIDTH) + 1
    most = div_ceil(t, WIDTH) + 1
    return claim(
        given=[LIMIT >= 1, WIDTH >= 1, a >= 0, t >= 0, admitted >= 0, admitted <= LIMIT * windows],
        goal=[windows <= most, admitted <= LIMIT * most],
        using=[cancel_strict(WIDTH, windows - 1, most), order(LIMIT, windows, most)],
    )

"""Token bucket: exact, tight, and never more than its capacity and rate."""

from arith import cancel, cancel_strict, compared, order, strict_order
from book import claim, proof, whole
from formulas import (
    Bucket, admits, charge, fill_time, larger, left_and_next, owed_tokens, refund, remaining,
    reset_after, settle, smaller, verdict,
)
from source import computed_by
from z3 import And, Implies, Not

BUCKET = Bucket(*whole("refill token capacity"))
DEBT, COST, MORE, EARLIER = whole("debt cost more earlier")


def owing():
    """A debt as it is stored."""
    return [*BUCKET.facts, DEBT >= 0, DEBT <= BUCKET.brim]


def waits(wait, by):
    """What one nanosecond more or less refills."""
    return [order(BUCKET.refill, wait, by), strict_order(BUCKET.refill, wait, by)]


def is_tight(debt, cost, wait):
    """Admitted after the wait, and not one nanosecond earlier."""
    return And(
        wait >= 1,
        admits(BUCKET, settle(BUCKET, debt, wait), cost),
        Not(admits(BUCKET, settle(BUCKET, debt, wait - 1), cost)),
    )


@proof
def time_removes_no_tokens():
    """Time only lowers a debt, never below 0, and more time lowers it at least as much."""
    settled = settle(BUCKET, DEBT, EARLIER)
    later = settle(BUCKET, DEBT, EARLIER + MORE)
    return claim(
        given=[*owing(), EARLIER >= 0, MORE >= 0],
        goal=[settled >= 0, settled <= DEBT, later <= settled],
    )


@proof
def polling_changes_nothing():
    """Settling twice is settling once for both times together."""
    twice = settle(BUCKET, settle(BUCKET, DEBT, EARLIER), MORE)
    return claim(
        given=[*owing(), EARLIER >= 0, MORE >= 0],
        goal=twice == settle(BUCKET, DEBT, EARLIER + MORE),
    )


@proof
def no_time_changes_nothing():
    """Settling at once leaves the debt as it is."""
    return claim(given=owing(), goal=settle(BUCKET, DEBT, 0) == DEBT)


@proof
def an_admitted_charge_stays_within_the_brim():
    """It adds exactly its cost, and the debt stays between 0 and a full bucket."""
    charged = charge(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), COST >= 1, admits(BUCKET, DEBT, COST)],
        goal=[charged > DEBT, charged <= BUCKET.brim, charged - DEBT == COST * BUCKET.token],
    )


@proof
def all_of_the_brim_can_be_spent():
    """The charge that leaves nothing is admitted, and a charge of one token more is not."""
    return claim(
        given=[*owing(), DEBT == 0, COST >= 1],
        goal=admits(BUCKET, DEBT, COST) == (COST <= BUCKET.capacity),
        using=[cancel(BUCKET.token, COST, BUCKET.capacity),
               order(BUCKET.token, COST, BUCKET.capacity)],
    )


@proof
def a_smaller_cost_is_admitted_too():
    """What admits a cost admits each smaller one."""
    smaller_cost = whole("smaller_cost")
    return claim(
        given=[*owing(), 1 <= smaller_cost, smaller_cost <= COST, admits(BUCKET, DEBT, COST)],
        goal=admits(BUCKET, DEBT, smaller_cost),
        using=[order(BUCKET.token, smaller_cost, COST)],
    )


@proof
def what_is_admitted_stays_admitted():
    """If nobody else asks, a cost that is admitted is admitted at any later time."""
    return claim(
        given=[*owing(), COST >= 1, MORE >= 0, admits(BUCKET, DEBT, COST)],
        goal=admits(BUCKET, settle(BUCKET, DEBT, MORE), COST),
    )


@proof
def never_is_said_of_costs_above_the_capacity_alone():
    """Never means that no debt admits the cost, and is said exactly when it is above the capacity.
    """
    _, never, _ = verdict(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), COST >= 1],
        goal=[
            never == (COST > BUCKET.capacity),
            Implies(never, Not(admits(BUCKET, 0, COST))),
            Implies(Not(never), admits(BUCKET, 0, COST)),
        ],
        using=[order(BUCKET.token, COST, BUCKET.capacity),
               strict_order(BUCKET.token, BUCKET.capacity, COST)],
    )


@proof
def a_wait_is_tight():
    """At now + wait the refused cost is admitted, and one nanosecond earlier it is not."""
    admitted, never, wait = verdict(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), COST >= 1, Not(admitted), Not(never)],
        goal=is_tight(DEBT, COST, wait),
        using=[order(BUCKET.token, COST, BUCKET.capacity)],
    )


@proof
def no_wait_is_longer_than_a_fill():
    """Neither a wait nor the time until the bucket is full exceeds the time of an empty one to
    fill.
    """
    admitted, never, wait = verdict(BUCKET, DEBT, COST)
    reset, fill = reset_after(BUCKET, DEBT), fill_time(BUCKET)
    return claim(
        given=[*owing(), COST >= 1, Not(admitted), Not(never)],
        goal=[wait <= fill, reset <= fill, fill >= 1],
        using=[order(BUCKET.token, COST, BUCKET.capacity), *waits(fill, wait - 1),
               *waits(fill, reset - 1)],
    )


@proof
def remaining_is_the_largest_cost_admitted():
    """So many tokens are admitted, one more is not, and it lies between 0 and the capacity."""
    left = remaining(BUCKET, DEBT)
    return claim(
        given=owing(),
        goal=[
            admits(BUCKET, DEBT, left),
            Not(admits(BUCKET, DEBT, left + 1)),
            left >= 0,
            left <= BUCKET.capacity,
        ],
        using=[cancel(BUCKET.token, left, BUCKET.capacity)],
    )


@proof
def the_next_token_of_a_bucket_is_tight():
    """One more than is left is admitted after it and not before; 0 means that the bucket is full."""
    left, next_after = left_and_next(BUCKET, DEBT)
    # What it is of a bucket that is not full.
    missing = BUCKET.token - (BUCKET.brim - DEBT) % BUCKET.token
    rounded = (missing + BUCKET.refill - 1) / BUCKET.refill
    return claim(
        given=owing(),
        goal=[
            (next_after == 0) == (DEBT == 0),
            (DEBT == 0) == (left == BUCKET.capacity),
            Implies(DEBT > 0, is_tight(DEBT, left + 1, next_after)),
        ],
        using=[*compared(BUCKET.token, left, BUCKET.capacity),
               *compared(BUCKET.refill, next_after, rounded),
               *compared(BUCKET.refill, next_after - 1, rounded)],
    )


@proof
def reset_after_is_tight():
    """After it the bucket is full, one nanosecond earlier it is not; 0 means that it is full."""
    reset = reset_after(BUCKET, DEBT)
    return claim(
        given=owing(),
        goal=[
            settle(BUCKET, DEBT, reset) == 0,
            (reset == 0) == (DEBT == 0),
            Implies(reset > 0, settle(BUCKET, DEBT, reset - 1) > 0),
        ],
    )


@proof
def a_refund_gives_at_most_what_is_owed():
    """The tokens given back are at most those asked for and those owed; a part of one counts as
    one.
    """
    left, given = refund(BUCKET, DEBT, COST)
    paid = DEBT - left
    return claim(
        given=[*owing(), COST >= 0],
        goal=[
            0 <= given, given <= COST, given <= owed_tokens(BUCKET, DEBT),
            0 <= left, left <= DEBT,
            paid <= given * BUCKET.token,
            given * BUCKET.token < paid + BUCKET.token,
        ],
        using=[order(BUCKET.token, COST, owed_tokens(BUCKET, DEBT)),
               strict_order(BUCKET.token, owed_tokens(BUCKET, DEBT), COST),
               order(BUCKET.token, owed_tokens(BUCKET, DEBT), COST)],
    )


@proof
def a_refund_undoes_a_charge():
    """What was charged and is given back at once is all given back, and the debt is as before."""
    charged = charge(BUCKET, DEBT, COST)
    left, given = refund(BUCKET, charged, COST)
    return claim(
        given=[*owing(), COST >= 1, admits(BUCKET, DEBT, COST)],
        goal=[left == DEBT, given == COST],
        using=[cancel_strict(BUCKET.token, COST, owed_tokens(BUCKET, charged) + 1)],
    )


@proof
def owing_no_tokens_is_owing_nothing():
    """The whole tokens owed, rounded up, are 0 exactly when the debt is; and at most the capacity.
    """
    tokens = owed_tokens(BUCKET, DEBT)
    return claim(
        given=owing(),
        goal=[(tokens == 0) == (DEBT == 0), tokens <= BUCKET.capacity],
        using=[strict_order(BUCKET.token, BUCKET.capacity, tokens)],
    )


@proof
def the_bucket_is_the_generic_cell_rate_algorithm():
    """The theoretical arrival time `refill * last + debt` decides, and moves, as GCRA says."""
    last, now = whole("last now")
    arrival, tick = BUCKET.refill * last + DEBT, BUCKET.refill * now
    settled = settle(BUCKET, DEBT, now - last)
    start = larger(arrival, tick)
    # It conforms when it does not come earlier than its own arrival time less the tolerance.
    tolerance = BUCKET.brim - COST * BUCKET.token
    return claim(
        given=[*owing(), COST >= 1, 0 <= last, last <= now],
        goal=[
            admits(BUCKET, settled, COST) == (tick >= start - tolerance),
            tick + charge(BUCKET, settled, COST) == start + COST * BUCKET.token,
        ],
    )


@proof
def the_bucket_is_the_level_of_the_textbook():
    """The level `brim - debt` refills at the rate up to the brim, admits its tokens, and falls by
    them.
    """
    level = BUCKET.brim - DEBT
    settled = settle(BUCKET, DEBT, EARLIER)
    refilled = smaller(BUCKET.brim, level + BUCKET.refill * EARLIER)
    return claim(
        given=[*owing(), COST >= 1, EARLIER >= 0],
        goal=[
            BUCKET.brim - settled == refilled,
            admits(BUCKET, settled, COST) == (COST * BUCKET.token <= refilled),
            BUCKET.brim - charge(BUCKET, settled, COST) == refilled - COST * BUCKET.token,
        ],
    )


# Ticks admitted since a start, the time since, and the debt at the start.
ADMITTED, SINCE, AT_FIRST = whole("admitted since at_first")
BOUNDED = [ADMITTED >= 0, SINCE >= 0, AT_FIRST >= 0,
           ADMITTED <= BUCKET.refill * SINCE + DEBT - AT_FIRST]


@proof
def the_worst_burst_holds_at_the_start():
    """Nothing admitted: `admitted <= refill * T + debt - debt at the start`."""
    computed_by("algorithm/token_bucket.rs: TokenBucket::settle")
    return claim(
        given=[*owing(), SINCE == 0, ADMITTED == 0, AT_FIRST == DEBT],
        goal=BOUNDED,
    )


@proof
def the_worst_burst_holds_while_time_passes():
    """A longer T with the settled debt keeps that bound."""
    settled = settle(BUCKET, DEBT, MORE)
    return claim(
        given=[*owing(), *BOUNDED, MORE >= 0],
        goal=ADMITTED <= BUCKET.refill * (SINCE + MORE) + settled - AT_FIRST,
    )


@proof
def the_worst_burst_holds_with_each_charge():
    """A charge adds as much to the debt as to what was admitted."""
    charged = charge(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), *BOUNDED, COST >= 1, admits(BUCKET, DEBT, COST)],
        goal=[
            ADMITTED + COST * BUCKET.token <= BUCKET.refill * SINCE + charged - AT_FIRST,
            charged <= BUCKET.brim,
        ],
    )


@proof
def the_worst_burst_is_capacity_and_rate():
    """In tokens: at most `capacity + floor(n * T / P)`, with n/P reduced."""
    tokens = whole("tokens")
    most = BUCKET.capacity + (BUCKET.refill * SINCE) / BUCKET.token
    return claim(
        given=[*owing(), *BOUNDED, tokens >= 0, ADMITTED == tokens * BUCKET.token],
        goal=tokens <= most,
        using=[strict_order(BUCKET.token, most, tokens)],
    )


@proof
def an_idle_bucket_is_a_new_one():
    """Once its debt is 0 it answers every cost at every later time as a new one, and from then on.
    """
    idle = settle(BUCKET, DEBT, EARLIER)
    later = settle(BUCKET, DEBT, EARLIER + MORE)
    return claim(
        given=[*owing(), EARLIER >= 0, MORE >= 0, idle == 0, COST >= 1],
        goal=[
            later == settle(BUCKET, 0, MORE),
            admits(BUCKET, later, COST) == admits(BUCKET, 0, COST),
            charge(BUCKET, later, COST) == charge(BUCKET, 0, COST),
        ],
    )


@proof
def a_bucket_that_owes_is_not_a_new_one():
    """Any debt can be told from none: by a cost of the whole capacity."""
    return claim(
        given=[*owing(), DEBT >= 1],
        goal=[Not(admits(BUCKET, DEBT, BUCKET.capacity)), admits(BUCKET, 0, BUCKET.capacity)],
    )


@proof
def a_reading_by_turns_earns_one_fill():
    """However far time jumps ahead, a jump pays at most what was owed, which is at most a full
    bucket.
    """
    settled = settle(BUCKET, DEBT, EARLIER)
    return claim(given=[*owing(), EARLIER >= 0], goal=DEBT - settled <= BUCKET.brim)

"""Time: the rule for readings that go backwards, and the ages of log entries."""

from arith import order, strict_order
from book import claim, proof, whole
from bucket import BUCKET, COST, DEBT, owing
from formulas import (
    BIAS, LOG, PLAN, STATE, Bucket, admits, age, age_of, charge, elapsed, fill_time, is_stepped, larger,
    moment, reset_after, settle, stamp, verdict,
)
from source import computed_by, constant, quoted, rust
from z3 import And, If, Implies, Not, Or

TOLERANCE, STORED, NOW, LATER = whole("tolerance stored now later")
END = 2**63
RANGES = [0 <= STORED, STORED < END, 0 <= NOW, NOW < END, TOLERANCE >= 10**10]


def at(stored, now):
    return moment(TOLERANCE, stored, now)


@proof
def time_never_runs_backwards_in_a_step():
    """The time that counts as now is not before the time that counts as last, nor before the
    reading.
    """
    here = at(STORED, NOW)
    return claim(
        given=RANGES,
        goal=[here.last <= here.now, here.now >= NOW, 0 <= here.behind, here.behind <= TOLERANCE,
              here.now == NOW + here.behind],
    )


@proof
def a_late_reading_counts_as_the_last_change():
    """Within the tolerance no time passes and the last change keeps its time; the rest is
    `behind`.
    """
    here = at(STORED, NOW)
    return claim(
        given=[*RANGES, NOW < STORED, STORED - NOW <= TOLERANCE],
        goal=[here.last == STORED, here.now == STORED, elapsed(here) == 0,
              here.behind == STORED - NOW],
    )


@proof
def a_stepped_clock_goes_on_from_its_reading():
    """Beyond the tolerance no time passes and the reading is the last change; exactly then it is
    stepped.
    """
    here = at(STORED, NOW)
    stepped = is_stepped(TOLERANCE, STORED, NOW)
    return claim(
        given=[*RANGES, NOW < STORED],
        goal=[
            stepped == (STORED - NOW > TOLERANCE),
            stepped == (here.stored != here.last),
            Implies(stepped, And(here.last == NOW, here.now == NOW, here.behind == 0)),
            Implies(stepped, elapsed(here) == 0),
        ],
    )


@proof
def a_reading_ahead_counts_as_it_is():
    """All the time since the last change has passed, and none is stepped."""
    here = at(STORED, NOW)
    return claim(
        given=[*RANGES, NOW >= STORED],
        goal=[elapsed(here) == NOW - STORED, here.last == STORED, here.behind == 0,
              Not(is_stepped(TOLERANCE, STORED, NOW))],
    )


@proof
def a_step_of_the_clock_leaves_the_debt():
    """Neither a late reading nor a stepped clock changes what a bucket owes."""
    return claim(
        given=[*RANGES, *owing(), NOW < STORED],
        goal=settle(BUCKET, DEBT, elapsed(at(STORED, NOW))) == DEBT,
    )


@proof
def the_time_earned_is_the_time_passed():
    """Without steps, all that the readings earned is the last change's time less that of the
    first.
    """
    first, earned = whole("first earned")
    here = at(STORED, NOW)
    return claim(
        given=[*RANGES, 0 <= first, first <= STORED, earned == STORED - first,
               Not(is_stepped(TOLERANCE, STORED, NOW))],
        goal=[earned + elapsed(here) == here.now - first, here.now == larger(STORED, NOW)],
    )


@proof
def readings_in_either_order_earn_the_same():
    """Two readings within the tolerance leave the same time and the same debt in either order."""
    one, two = whole("one two")

    def after(stored, debt, now):
        here = at(stored, now)
        return here.now, settle(BUCKET, debt, elapsed(here))

    forth = after(*after(STORED, DEBT, one), two)
    back = after(*after(STORED, DEBT, two), one)
    near = [STORED - one <= TOLERANCE, STORED - two <= TOLERANCE,
            one - two <= TOLERANCE, two - one <= TOLERANCE]
    return claim(
        given=[*RANGES, *owing(), *near, 0 <= one, one < END, 0 <= two, two < END],
        goal=[forth[0] == back[0], forth[1] == back[1]],
        using=[order(BUCKET.refill, a, b) for a in (STORED, one, two) for b in (STORED, one, two)],
    )


HINT = quoted(PLAN + "apply", "if ruling.write == Write::Nothing {", "state.last = at.now;",
              "_ => machine.commit(*level, settled, at, arena)")


def denied():
    """A denial at `NOW`: what is kept of time, the debt, and the hint."""
    here = at(STORED, NOW)
    debt = settle(BUCKET, DEBT, elapsed(here))
    admitted, never, wait = verdict(BUCKET, debt, COST)
    computed_by(HINT, PLAN + "decision")
    stepped = here.stored != here.last
    # A denial keeps the time of a stepped clock, and nothing else.
    kept = If(stepped, here.now, STORED)
    return kept, If(stepped, debt, DEBT), wait + here.behind, [COST >= 1, Not(admitted), Not(never)]


@proof
def a_hint_holds_for_the_readings_of_the_caller():
    """At reading + retry_after, `behind` included, the cost is admitted; one nanosecond earlier
    not.
    """
    kept, debt, retry, is_denied = denied()

    def asked_again(now):
        return admits(BUCKET, settle(BUCKET, debt, elapsed(at(kept, now))), COST)

    here = at(STORED, NOW)
    passed = elapsed(here)
    return claim(
        given=[*RANGES, *owing(), *is_denied],
        goal=[retry >= 1, asked_again(NOW + retry), Not(asked_again(NOW + retry - 1))],
        using=[order(BUCKET.token, COST, BUCKET.capacity), order(BUCKET.refill, 0, passed)],
    )


@proof
def lateness_is_added_to_the_wait_of_any_limit():
    """Whatever the algorithm: `wait + behind` after the reading, exactly the wait has passed.

    One nanosecond earlier a nanosecond less has, and before the last change none.
    """
    wait, passed = whole("wait passed")
    here = at(STORED, NOW)
    kept = If(here.stored != here.last, here.now, STORED)
    counted = elapsed(here)
    computed_by(HINT, PLAN + "decision")

    def passed_at(now):
        return elapsed(at(kept, now)) - counted

    return claim(
        given=[*RANGES, wait >= 1, passed >= 0, passed < wait + here.behind],
        goal=[passed_at(NOW + wait + here.behind) == wait,
              passed_at(NOW + wait + here.behind - 1) == wait - 1,
              passed_at(NOW + passed) < wait],
    )


IS_FULL = quoted(
    STATE + "is_full",
    "machines.all(|(limit, machine)| machine.settle(level(limit), at, arena) == 0)",
)


@proof
def the_way_until_a_slot_is_free_counts_from_the_reading():
    """`full_after` with `behind` is tight for the caller's readings: full then, not 1 ns earlier.
    """
    computed_by(STATE + "full_after", IS_FULL)
    here = at(STORED, NOW)
    reset = reset_after(BUCKET, settle(BUCKET, DEBT, elapsed(here)))
    full_after = If(reset == 0, 0, reset + here.behind)

    def is_full(now):
        return settle(BUCKET, DEBT, elapsed(at(STORED, now))) == 0

    return claim(
        given=[*RANGES, *owing(), STORED - NOW <= TOLERANCE],
        goal=[
            is_full(NOW + full_after),
            Implies(full_after > 0, Not(is_full(NOW + full_after - 1))),
        ],
    )


@proof
def a_lock_out_is_at_most_the_tolerance_and_a_fill():
    """However the clock was stepped, a key that is denied once waits no longer than that."""
    _, _, retry, is_denied = denied()
    fill = fill_time(BUCKET)
    here = at(STORED, NOW)
    _, _, wait = verdict(BUCKET, settle(BUCKET, DEBT, elapsed(here)), COST)
    return claim(
        given=[*RANGES, *owing(), *is_denied],
        goal=[retry <= TOLERANCE + fill, Implies(here.stored != here.last, retry <= fill)],
        using=[order(BUCKET.token, COST, BUCKET.capacity), order(BUCKET.refill, 0, elapsed(here)),
               order(BUCKET.refill, fill, wait - 1), strict_order(BUCKET.refill, fill, wait - 1)],
    )


MIN_TOLERANCE = constant("step.rs", "const MIN_TOLERANCE: u64 = 10_000_000_000;", 10**10)


@rust("step/plan.rs: Plan::new", "u64::try_from(all.take(deciding).max().unwrap_or(0)).unwrap_or(u64::MAX)",
      "machine.fill_time().unwrap_or(limit.period().as_nanos())",
      "tolerance: tolerance.max(MIN_TOLERANCE)")
def tolerance_of(longest):
    return larger(If(longest < 2**64, longest, 2**64 - 1), MIN_TOLERANCE)


@proof
def the_tolerance_is_a_fill_or_ten_seconds():
    """Whichever is longer; one that does not fit 64 bits is never exceeded by readings of 63."""
    longest = whole("longest")
    tolerance = tolerance_of(longest)
    return claim(
        given=[*RANGES, longest >= 0],
        goal=[
            10**10 <= tolerance, tolerance < 2**64,
            Implies(longest < 2**64, longest <= tolerance),
            Implies(longest >= 2**64, Not(is_stepped(tolerance, STORED, NOW))),
        ],
    )


@proof
def a_reading_is_counted_soon_after():
    """A reading in [a, b] that is at most D behind is counted in [a, b + D], in the order of
    calls.
    """
    a, b, late = whole("a b late")
    here = at(STORED, NOW)
    return claim(
        given=[*RANGES, a <= NOW, NOW <= b, STORED - NOW <= late, 0 <= late, late <= TOLERANCE],
        goal=[a <= here.now, here.now <= b + late, here.now >= STORED],
    )


@proof
def costs_by_readings_are_bounded():
    """In any order of readings at most D behind, costs read in [a, b] are at most
    C + rate * (b + D - a).

    One call of the induction. `spent` are the ticks of the costs with readings in [a, b] so far;
    while the time that counts is at most b + D they are owed, or have been refilled since a.
    """
    a, b, late, spent = whole("a b late spent")
    here = at(STORED, NOW)
    settled = settle(BUCKET, DEBT, elapsed(here))
    end = b + late
    most = BUCKET.brim + BUCKET.refill * (end - a)

    def holds(last, debt, spent):
        owed = If(last >= a, spent <= BUCKET.refill * (last - a) + debt, spent == 0)
        return And(spent <= most, Or(last > end, owed))

    read = And(a <= NOW, NOW <= b)
    after = spent + If(read, COST * BUCKET.token, 0)
    return claim(
        given=[*RANGES, *owing(), 0 <= a, a <= b, 0 <= late, late <= TOLERANCE, spent >= 0,
               STORED - NOW <= late, COST >= 1, admits(BUCKET, settled, COST),
               holds(STORED, DEBT, spent)],
        goal=holds(here.now, charge(BUCKET, settled, COST), after),
        using=[order(BUCKET.refill, here.now, end), order(BUCKET.refill, a, here.now),
               order(BUCKET.refill, STORED, end), order(BUCKET.refill, STORED, here.now),
               order(BUCKET.refill, a, end)],
    )


@proof
def late_readings_spend_what_is_there_later():
    """That D counts: 10 at 1/s, 10 spent at 0 s, one at 10 s, and 9 more by a reading of 0 s."""
    second = 10**9
    bucket = Bucket(*whole("refill token capacity"))
    tolerance = 10 * second
    first = charge(bucket, 0, 10)
    ahead = moment(tolerance, 0, 10 * second)
    next_ = charge(bucket, settle(bucket, first, elapsed(ahead)), 1)
    late = moment(tolerance, 10 * second, 0)
    there = settle(bucket, next_, elapsed(late))
    return claim(
        given=[bucket.refill == 1, bucket.token == second, bucket.capacity == 10],
        goal=[admits(bucket, 0, 10), admits(bucket, there, 9), Not(admits(bucket, there, 10))],
        exact=True,
    )


# Ages of log entries. An entry is stamped at a change, and changes are never later than `STORED`.
ENTRY = whole("entry")
STAMPED = [0 <= ENTRY, ENTRY <= STORED + BIAS]


COMMIT = quoted(LOG + "commit", "if at.stored != at.last {",
                "run.time = at.now.stamp(at.age(run.time))")
TAKES_RUN = quoted(LOG + "takes_run",
                   "settled.total > 0 && at.age(arena.run(settled.newest).time) == 0;",
                   "let expired = log.total > settled.total;", "!merges && !expired")
CHARGE = quoted(LOG + "charge", "let now = at.now.stamp(0);",
                "if log.total > 0 && arena.run(log.newest).time == now {",
                "log.total = log.total.saturating_add(count);")


@proof
def a_stamp_has_the_age_that_it_was_given():
    """A stamp of an age up to 2^56 ns has that age at that time, and so much more later."""
    given_age = whole("given_age")
    return claim(
        given=[*RANGES, NOW <= LATER, LATER < END, 0 <= given_age, given_age <= BIAS],
        goal=[age_of(NOW, stamp(NOW, given_age)) == given_age,
              age_of(LATER, stamp(NOW, given_age)) == given_age + LATER - NOW],
    )


@proof
def an_entry_ages_by_the_time_that_passes():
    """Its age at a moment is its age at the last change and what has passed since; none if
    stepped.
    """
    here = at(STORED, NOW)
    return claim(
        given=[*RANGES, *STAMPED],
        goal=[
            age(here, ENTRY) == STORED + BIAS - ENTRY + elapsed(here),
            Implies(NOW < STORED, age(here, ENTRY) == age_of(STORED, ENTRY)),
        ],
    )


@proof
def entries_that_move_along_keep_their_age():
    """After a step, an entry stamped anew has the age that it had, and ages from the new reading
    on.
    """
    computed_by(COMMIT)
    here = at(STORED, NOW)
    moved = stamp(here.now, age(here, ENTRY))
    after = at(here.now, LATER)
    return claim(
        given=[*RANGES, *STAMPED, NOW < STORED, STORED - NOW > TOLERANCE, NOW <= LATER, LATER < END,
               # It still counts, and no period is as long as 2^55 ns.
               age(here, ENTRY) < 2**55],
        goal=[age_of(here.now, moved) == age(here, ENTRY),
              age(after, moved) == age(here, ENTRY) + LATER - NOW, moved >= 0],
    )


@proof
def runs_merge_when_their_age_is_nothing():
    """What counts runs to take and what appends them agree on which entry has this very time."""
    computed_by(TAKES_RUN, CHARGE)
    here = at(STORED, NOW)
    stepped = here.stored != here.last
    kept = If(stepped, stamp(here.now, age(here, ENTRY)), ENTRY)
    return claim(
        given=[*RANGES, *STAMPED, Or(Not(stepped), age(here, ENTRY) < 2**55)],
        goal=(age(here, ENTRY) == 0) == (kept == stamp(here.now, 0)),
    )

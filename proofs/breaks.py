"""Formulas broken on purpose, and the proofs that become false: these and no others."""

from dataclasses import dataclass

import formulas as f
from formulas import BUCKET, COUNTER, FIXED, LOG, PLAN, sat_sub, smaller
from z3 import And, If, Not, Or, ZeroExt


@dataclass(frozen=True)
class Break:
    name: str
    place: str
    formula: object
    red: frozenset


BREAKS = []


def broken(name, place, *red):
    def add(formula):
        BREAKS.append(Break(name, place, formula, frozenset(red)))
        return formula

    return add


@broken(
    "a refill rounded down", BUCKET + "time_to_refill",
    "bucket: a wait is tight",
    "bucket: no wait is longer than a fill",
    "bucket: reset after is tight",
    "times: a hint holds for the readings of the caller",
    "times: the way until a slot is free counts from the reading",
)
def _(bucket, ticks):
    return f.divided(ticks, bucket.refill)[0]


@broken(
    "a wait of one nanosecond more", BUCKET + "verdict",
    "bucket: a wait is tight",
    "bucket: no wait is longer than a fill",
    "times: a hint holds for the readings of the caller",
    "times: a lock out is at most the tolerance and a fill",
)
def _(bucket, debt, cost):
    admitted = f.admits(bucket, debt, cost)
    excess = sat_sub(f.charge(bucket, debt, cost), bucket.brim)
    never = And(Not(admitted), cost > bucket.capacity)
    return admitted, never, f.time_to_refill(bucket, excess) + 1


@broken(
    "a brim that cannot be reached", BUCKET + "admits",
    "bucket: all of the brim can be spent",
    "bucket: never is said of costs above the capacity alone",
    "bucket: a wait is tight",
    "bucket: remaining is the largest cost admitted",
    "bucket: the next token of a bucket is tight",
    "bucket: the bucket is the generic cell rate algorithm",
    "bucket: the bucket is the level of the textbook",
    "bucket: a bucket that owes is not a new one",
    "times: a hint holds for the readings of the caller",
    "times: late readings spend what is there later",
)
def _(bucket, debt, cost):
    return f.charge(bucket, debt, cost) < bucket.brim


@broken(
    "a brim with one tick more", BUCKET + "admits",
    "bucket: an admitted charge stays within the brim",
    "bucket: all of the brim can be spent",
    "bucket: never is said of costs above the capacity alone",
    "bucket: a wait is tight",
    "bucket: remaining is the largest cost admitted",
    "bucket: the next token of a bucket is tight",
    "bucket: the bucket is the generic cell rate algorithm",
    "bucket: the bucket is the level of the textbook",
    "bucket: the worst burst holds with each charge",
    "bucket: a bucket that owes is not a new one",
    "times: a hint holds for the readings of the caller",
    "times: costs by readings are bounded",
)
def _(bucket, debt, cost):
    return f.charge(bucket, debt, cost) <= bucket.brim + 1


@broken(
    "a debt that falls below nothing", BUCKET + "settle",
    "bucket: time removes no tokens",
    "bucket: reset after is tight",
    "bucket: the bucket is the generic cell rate algorithm",
    "bucket: the bucket is the level of the textbook",
    "bucket: an idle bucket is a new one",
    "bucket: a reading by turns earns one fill",
    "times: the way until a slot is free counts from the reading",
    "widths: a settled debt is exact",
    "times: costs by readings are bounded",
)
def _(bucket, debt, elapsed):
    return debt - f.product(bucket.refill, elapsed)


@broken(
    "remaining tokens rounded up", BUCKET + "left",
    "bucket: remaining is the largest cost admitted",
    "bucket: the next token of a bucket is tight",
)
def _(bucket, debt):
    missing = f.divided(sat_sub(bucket.brim, debt), bucket.token)[1]
    return f.div_ceil(sat_sub(bucket.brim, debt), bucket.token), f.div_ceil(missing, bucket.refill)


@broken(
    "owed tokens rounded down", BUCKET + "owed_tokens",
    "bucket: a refund gives at most what is owed",
    "bucket: owing no tokens is owing nothing",
)
def _(bucket, debt):
    return debt / bucket.token


@broken(
    "a run that counts at the age of a window", LOG + "time_left",
    "log: a run expires at the age of a window",
    "log: settling counts what is younger than a window",
    "log: a wait of a log is tight",
    "log: a log is as good as new when its newest run expires",
    "log: the figures after a charge",
    "log: the next token after a charge",
)
def _(width, run_age):
    return sat_sub(width + 1, run_age)


@broken(
    "a charged run that is waited for", LOG + "first_expiry",
    "log: the next token after a charge",
)
def _(runs, total, width):
    return width


@broken(
    "a search that passes the run where the excess ends", LOG + "verdict",
    "log: a wait of a log is tight",
    "log: the next token after a charge",
)
def _(runs, total, width, limit, cost):
    excess = sat_sub(total, limit - cost)
    return And(cost <= limit, excess == 0), cost > limit, f.run_left(width, runs[-1][0])


@broken(
    "a tolerance that is not reached", PLAN + "moment_before",
    "times: a late reading counts as the last change",
    "times: a stepped clock goes on from its reading",
    "times: the time earned is the time passed",
    "times: readings in either order earn the same",
    "times: the way until a slot is free counts from the reading",
    "times: a reading is counted soon after",
    "times: costs by readings are bounded",
)
def _(tolerance, stored, now):
    behind = f.nanos_since(stored, now)
    kept = behind < tolerance
    counts = If(kept, stored, now)
    return f.Moment(stored, counts, counts, If(kept, behind, 0))


@broken(
    "a late reading whose lateness is forgotten", PLAN + "moment_before",
    "times: time never runs backwards in a step",
    "times: a late reading counts as the last change",
    "times: a hint holds for the readings of the caller",
    "times: the way until a slot is free counts from the reading",
    "times: lateness is added to the wait of any limit",
)
def _(tolerance, stored, now):
    kept = f.nanos_since(stored, now) <= tolerance
    counts = If(kept, stored, now)
    return f.Moment(stored, counts, counts, 0)


@broken(
    "time that runs backwards", PLAN + "moment",
    "times: time never runs backwards in a step",
    "times: a late reading counts as the last change",
    "times: a stepped clock goes on from its reading",
    "times: the time earned is the time passed",
    "times: readings in either order earn the same",
    "times: a hint holds for the readings of the caller",
    "times: the way until a slot is free counts from the reading",
    "times: a lock out is at most the tolerance and a fill",
    "times: a reading is counted soon after",
    "times: runs merge when their age is nothing",
    "widths: ages do not saturate",
    "times: costs by readings are bounded",
    "times: lateness is added to the wait of any limit",
)
def _(tolerance, stored, now):
    return f.Moment(stored, stored, now, 0)


@broken(
    "a window that lasts one longer", FIXED + "settle",
    "windows: a count lasts as long as its window",
    "windows: a wait is the rest of the window",
    "windows: a window is as good as new after its reset",
)
def _(width, count, last, now):
    return If(f.window(now, width) <= f.window(last, width) + 1, count, 0)


@broken(
    "a window that is full at one less", FIXED + "verdict",
    "windows: a wait is the rest of the window",
    "windows: never is said of costs above the limit alone",
    "windows: remaining is the largest cost a window admits",
)
def _(limit, width, count, cost, now):
    return And(cost <= limit, count + cost < limit), cost > limit, f.fixed_left(width, now)


@broken(
    "a wait within the window rounded down", COUNTER + "verdict",
    "counter: a wait within the window is tight",
)
def _(counter, counts, cost, left):
    previous, current = counts
    has_place = counter.limit >= current + cost
    room = f.product(counter.limit - (current + cost), counter.width)
    weight = f.product(previous, left)
    within = sat_sub(weight, room) / f.larger(previous, 1)
    admitted = And(cost <= counter.limit, has_place, weight <= room)
    into_next = f.wait_into_next(counter, counts, cost, left)
    return admitted, cost > counter.limit, within, into_next, has_place


@broken(
    "a wait into the next window rounded down", COUNTER + "wait_into_next",
    "counter: a wait into the next window is tight",
)
def _(counter, counts, cost, left):
    _, current = counts
    room = f.product(sat_sub(counter.limit, cost), counter.width)
    excess = sat_sub(f.product(current, counter.width), room)
    return left + excess / f.larger(current, 1)


@broken(
    "a count that is forgotten when its window ends", COUNTER + "settle",
    "counter: the counts after a time",
)
def _(counter, counts, last, now):
    previous, current = counts
    on = f.window(now, counter.width) - f.window(last, counter.width)
    return If(on == 0, previous, 0), If(on == 0, current, 0)


@broken(
    "a fraction rounded down", "algorithm/mod.rs: Machine::take_over",
    "carry: a fraction is rounded up and stays one",
    "carry: to and fro gains nothing",
    "carry: a counter goes to and fro without gain",
)
def _(owed, of, of_new):
    return smaller(owed, of) * of_new / of


@broken(
    "a rest that may be the whole", "algorithm/mod.rs: scaled",
    "carry: each bit keeps the long multiplication",
)
def _(part, by, bit, quotient, rest):
    quotient, rest = quotient * 2, rest * 2
    for addend in (0, If(bit == 1, part, 0)):
        rest = rest + addend
        quotient = If(rest > by, quotient + 1, quotient)
        rest = If(rest > by, rest - by, rest)
    return quotient, rest


@broken(
    "a share that loses a bit", "algorithm/mod.rs: share",
    "store: a share is the fraction rounded down",
    "store: who owes a larger fraction by a unit is shielded",
)
def _(owed, of):
    return (owed * 2**31) / of


@broken(
    "a hash scaled to one set too many", "store/room.rs: scale",
    "store: a hash names a set that is there",
    "store: every set has its hashes",
)
def _(hash_, count):
    return (hash_ * (count + 1)) / 2**64


@broken(
    "a policy that one limit admits", PLAN + "rule_settled",
    "several: a policy admits what all its limits admit",
)
def _(cost, admissions, stepped):
    admitted = Or(cost == 0, Or(admissions))
    return admitted, And(cost > 0, admitted), And(cost > 0, Not(admitted), stepped)


@broken(
    "periods without an end", "limit.rs: Limit::new",
    "widths: the constants of a bucket are as said",
    "widths: the fill of a limit is computed exactly",
    "widths: a charge does not wrap",
    "widths: a cost within the capacity is charged below 2 to 96",
    "widths: a settled debt is exact",
)
def _(tokens, period):
    return And(1 <= tokens, tokens <= 10**12, 1 <= period, tokens <= period)


@broken(
    "counts that overlap", "algorithm/sliding_window.rs: Counts::pack",
    "words: counts are found again",
)
def _(previous, current):
    wide = [ZeroExt(64, part) for part in (previous, current)]
    return (wide[0] << 32) | wide[1]

"""The formulas of brimful, transcribed from Rust: over whole numbers, with nothing cut off.

`widths.py` proves that the machine's numbers cut nothing off within the ranges of a limit.
"""

from dataclasses import dataclass

from source import constant, rust
from z3 import And, ArithRef, If, Not

BUCKET = "algorithm/token_bucket.rs: TokenBucket::"
FIXED = "algorithm/fixed_window.rs: FixedWindow::"
LOG = "algorithm/sliding_log.rs: SlidingLog::"
COUNTER = "algorithm/sliding_window.rs: SlidingWindow::"
TIME = "time.rs: Nanos::"
PLAN = "step.rs: Terms::"
STATE = "step/state.rs: Terms::"


def sat_sub(a, b):
    """`a.saturating_sub(b)`."""
    return If(a >= b, a - b, 0)


def larger(a, b):
    return If(a >= b, a, b)


def smaller(a, b):
    return If(a <= b, a, b)


def div_ceil(a, b):
    """`a.div_ceil(b)`."""
    return a / b + If(a % b > 0, 1, 0)


@rust("algorithm/mod.rs: product", "u128::from(a).wrapping_mul(u128::from(b))")
def product(a, b):
    return a * b


@rust("algorithm/mod.rs: divided", "((a / b).into(), a % b)",
      "(a / b, u64::try_from(a % b).unwrap_or(0))")
def divided(a, b):
    return a / b, a % b


# Token bucket.


@dataclass(frozen=True)
class Bucket:
    refill: ArithRef
    token: ArithRef
    capacity: ArithRef

    @property
    def brim(self):
        return brim(self)

    @property
    def facts(self):
        return [self.refill >= 1, self.token >= 1, self.capacity >= 1]


@rust(BUCKET + "new", "let divisor = gcd(tokens, period);",
      "NonZero::new(tokens.get() / divisor).unwrap_or(NonZero::<u64>::MIN)",
      "NonZero::new(period.get() / divisor).unwrap_or(NonZero::<u64>::MIN)",
      "Self::of_constants(refill, token, capacity)")
@rust(BUCKET + "of_constants", "brim: product(capacity, token.get())")
def brim(bucket):
    return product(bucket.capacity, bucket.token)


@rust(BUCKET + "settle", "debt.saturating_sub(product(self.refill.get(), elapsed))")
def settle(bucket, debt, elapsed):
    return sat_sub(debt, product(bucket.refill, elapsed))


@rust(BUCKET + "charge", "debt.wrapping_add(product(cost, self.token.get()))")
def charge(bucket, debt, cost):
    return debt + product(cost, bucket.token)


@rust(BUCKET + "admits", "self.charge(debt, cost) <= self.brim")
def admits(bucket, debt, cost):
    return charge(bucket, debt, cost) <= bucket.brim


@rust(BUCKET + "time_to_refill", "divided(ticks, self.refill)",
      "whole.saturating_add(u128::from(rest > 0))")
def time_to_refill(bucket, ticks):
    quotient, rest = divided(ticks, bucket.refill)
    return quotient + If(rest > 0, 1, 0)


@rust(BUCKET + "verdict", "if self.admits(debt, cost)", "else if cost > self.capacity",
      "let excess = self.charge(debt, cost).saturating_sub(self.brim);",
      "Verdict::Wait(self.time_to_refill(excess))")
def verdict(bucket, debt, cost):
    """Whether it is admitted, whether it never will be, and else the wait."""
    admitted = admits(bucket, debt, cost)
    excess = sat_sub(charge(bucket, debt, cost), bucket.brim)
    never = And(Not(admitted), cost > bucket.capacity)
    return admitted, never, time_to_refill(bucket, excess)


@rust(BUCKET + "fill_time", "self.time_to_refill(self.brim)")
def fill_time(bucket):
    return time_to_refill(bucket, bucket.brim)


@rust(BUCKET + "reset_after", "self.time_to_refill(debt)")
def reset_after(bucket, debt):
    return time_to_refill(bucket, debt)


@rust(BUCKET + "left",
      "let (left, rest) = divided(self.brim.saturating_sub(debt), self.token);",
      "if left == self.capacity {", "return (left, 0);",
      "let missing = self.token.get().wrapping_sub(rest);",
      "(left, missing.wrapping_add(self.refill.get()).wrapping_sub(1) / self.refill)")
def left_and_next(bucket, debt):
    """Whole tokens left, and the time until one more is; 0 when the bucket is full."""
    left, rest = divided(sat_sub(bucket.brim, debt), bucket.token)
    missing = bucket.token - rest
    next_after = divided(missing + bucket.refill - 1, bucket.refill)[0]
    return left, If(left == bucket.capacity, 0, next_after)


def remaining(bucket, debt):
    return left_and_next(bucket, debt)[0]


@rust(BUCKET + "owed_tokens", "debt.div_ceil(self.token.get().into())")
def owed_tokens(bucket, debt):
    return div_ceil(debt, bucket.token)


@rust(BUCKET + "refund", "let paid = product(tokens, self.token.get());",
      "(debt.saturating_sub(paid), self.owed_tokens(debt).min(tokens))")
def refund(bucket, debt, tokens):
    left = sat_sub(debt, product(tokens, bucket.token))
    return left, smaller(owed_tokens(bucket, debt), tokens)


# Time.


@rust(TIME + "nanos_since", "self.0.saturating_sub(earlier.0)")
def nanos_since(later, earlier):
    return sat_sub(later, earlier)


@rust(TIME + "window", "self.0 / width")
def window(at, width):
    return at / width


@rust(TIME + "phase", "self.0 % width")
def phase(at, width):
    return at % width


BIAS = constant("time.rs", "const BIAS: u64 = 1 << 56;", 1 << 56)


@rust(TIME + "stamp", "Stamp(self.0.saturating_add(Stamp::BIAS).saturating_sub(age))")
def stamp(at, age):
    return sat_sub(at + BIAS, age)


@rust(TIME + "age", "self.0.saturating_add(Stamp::BIAS).saturating_sub(stamp.0)")
def age_of(at, stamped):
    return sat_sub(at + BIAS, stamped)


@dataclass(frozen=True)
class Moment:
    stored: ArithRef
    last: ArithRef
    now: ArithRef
    behind: ArithRef


@rust(PLAN + "moment_before", "let behind = stored.nanos_since(now);",
      "if behind <= self.tolerance",
      "(Moment { stored, last: stored, now: stored }, behind)",
      "(Moment { stored, last: now, now }, 0)")
def moment_before(tolerance, stored, now):
    behind = nanos_since(stored, now)
    kept = behind <= tolerance
    counts = If(kept, stored, now)
    return Moment(stored, counts, counts, If(kept, behind, 0))


@rust(PLAN + "moment", "if now >= stored", "(Moment { stored, last: stored, now }, 0)",
      "self.moment_before(stored, now)")
def moment(tolerance, stored, now):
    before = moment_before(tolerance, stored, now)
    forward = now >= stored
    return Moment(
        stored,
        If(forward, stored, before.last),
        If(forward, now, before.now),
        If(forward, 0, before.behind),
    )


@rust(STATE + "is_stepped", "last.nanos_since(now) > self.tolerance")
def is_stepped(tolerance, last, now):
    return nanos_since(last, now) > tolerance


@rust("algorithm/mod.rs: Moment::elapsed", "self.now.nanos_since(self.last)")
def elapsed(at):
    return nanos_since(at.now, at.last)


@rust("algorithm/mod.rs: Moment::age",
      "self.stored.age(entry).saturating_add(self.elapsed())")
def age(at, stamped):
    return age_of(at.stored, stamped) + elapsed(at)


# Fixed window.


@rust(FIXED + "time_left", "self.width.get().saturating_sub(at.now.phase(self.width))")
def fixed_left(width, now):
    return sat_sub(width, phase(now, width))


@rust(FIXED + "settle",
      "if at.last.window(self.width) == at.now.window(self.width) { count } else { 0 }")
def fixed_settle(width, count, last, now):
    return If(window(last, width) == window(now, width), count, 0)


@rust(FIXED + "verdict", "if cost > self.limit", "count.saturating_add(cost) <= self.limit",
      "Verdict::Wait(self.time_left(at).into())")
def fixed_verdict(limit, width, count, cost, now):
    never = cost > limit
    admitted = And(Not(never), count + cost <= limit)
    return admitted, never, fixed_left(width, now)


@rust(FIXED + "charge", "count.saturating_add(cost)")
def fixed_charge(count, cost):
    return count + cost


@rust(FIXED + "refund", "let given = count.min(tokens);", "(count.saturating_sub(given), given)")
def fixed_refund(count, tokens):
    given = smaller(count, tokens)
    return sat_sub(count, given), given


@rust(FIXED + "remaining", "self.limit.saturating_sub(count)")
def fixed_remaining(limit, count):
    return sat_sub(limit, count)


@rust(FIXED + "reset_after", "if count == 0 { 0 } else { self.time_left(at).into() }")
def fixed_reset(width, count, now):
    return If(count == 0, 0, fixed_left(width, now))


# Sliding window counter.


@dataclass(frozen=True)
class Counter:
    limit: ArithRef
    width: ArithRef

    @property
    def facts(self):
        return [self.limit >= 1, self.width >= 1]


@rust(COUNTER + "time_left", "self.width.get().saturating_sub(at.now.phase(self.width))")
def counter_left(counter, now):
    return sat_sub(counter.width, phase(now, counter.width))


@rust(COUNTER + "settle",
      "at.now.window(self.width).saturating_sub(at.last.window(self.width))", "0 => counts",
      "1 => Counts { previous: counts.current, current: 0 }",
      "_ => Counts { previous: 0, current: 0 }")
def counter_settle(counter, counts, last, now):
    previous, current = counts
    on = sat_sub(window(now, counter.width), window(last, counter.width))
    return (
        If(on == 0, previous, If(on == 1, current, 0)),
        If(on == 0, current, 0),
    )


@rust(COUNTER + "spent", "product(counts.previous, self.time_left(at))"
      ".saturating_add(product(counts.current, self.width.get()))")
def spent(counter, counts, left):
    """`left` is `time_left` at the moment."""
    previous, current = counts
    return product(previous, left) + product(current, counter.width)


@rust(COUNTER + "wait_into_next",
      "let room = product(self.limit.saturating_sub(cost), width);",
      "let excess = product(counts.current, width).saturating_sub(room);",
      "excess.div_ceil(u128::from(counts.current).max(1))",
      "u128::from(self.time_left(at)).saturating_add(into)")
def wait_into_next(counter, counts, cost, left):
    _, current = counts
    room = product(sat_sub(counter.limit, cost), counter.width)
    excess = sat_sub(product(current, counter.width), room)
    return left + div_ceil(excess, larger(current, 1))


@rust(COUNTER + "verdict", "if cost > self.limit",
      "self.limit.checked_sub(counts.current.saturating_add(cost)) else",
      "return Verdict::Wait(self.wait_into_next(counts, cost, at));",
      "let room = product(room, width);",
      "let weight = product(counts.previous, self.time_left(at));",
      "if weight <= room", "let excess = weight.saturating_sub(room);",
      "Verdict::Wait(excess.div_ceil(u128::from(counts.previous).max(1)))")
def counter_verdict(counter, counts, cost, left):
    """Whether it is admitted, whether never, the wait within this window and into the next, and
    whether this window still has a place for it."""
    previous, current = counts
    never = cost > counter.limit
    has_place = counter.limit >= current + cost
    room = product(counter.limit - (current + cost), counter.width)
    weight = product(previous, left)
    within = div_ceil(sat_sub(weight, room), larger(previous, 1))
    admitted = And(Not(never), has_place, weight <= room)
    return admitted, never, within, wait_into_next(counter, counts, cost, left), has_place


@rust(COUNTER + "charge", "Counts { current: counts.current.saturating_add(cost), ..counts }")
def counter_charge(counts, cost):
    previous, current = counts
    return previous, current + cost


@rust(COUNTER + "refund", "let given = counts.current.min(tokens);",
      "(Counts { current: counts.current.saturating_sub(given), ..counts }, given)")
def counter_refund(counts, tokens):
    previous, current = counts
    given = smaller(current, tokens)
    return (previous, sat_sub(current, given)), given


@rust(COUNTER + "remaining",
      "product(self.limit, self.width.get()).saturating_sub(self.spent(counts, at))",
      "room / NonZero::<u128>::from(self.width)")
def counter_remaining(counter, counts, left):
    room = sat_sub(product(counter.limit, counter.width), spent(counter, counts, left))
    return room / counter.width


@rust(COUNTER + "reset_after", "Counts { previous: 0, current: 0 } => 0",
      "Counts { current: 0, .. } => left", "_ => left.saturating_add(self.width.get().into())")
def counter_reset(counter, counts, left):
    previous, current = counts
    return If(current == 0, If(previous == 0, 0, left), left + counter.width)


@rust(COUNTER + "owed", "let tokens = spent.div_ceil(self.width.get().into());")
def counter_owed(counter, counts, left):
    return div_ceil(spent(counter, counts, left), counter.width)


# Sliding log.


@rust(LOG + "time_left", "self.width.saturating_sub(at.age(run.time))")
def run_left(width, run_age):
    return sat_sub(width, run_age)


@rust(LOG + "remaining", "self.limit.saturating_sub(log.total).into()")
def log_remaining(limit, total):
    return sat_sub(limit, total)


# Shares and sets.


@rust("algorithm/mod.rs: share", "let share = (owed << 32).checked_div(of).unwrap_or(0);",
      "u64::try_from(share).unwrap_or(u64::MAX)")
def share(owed, of):
    return (owed * 2**32) / of


@rust("store/room.rs: scale", "(u128::from(hash) * count as u128) >> 64")
def scale(hash_, count):
    return (hash_ * count) / 2**64

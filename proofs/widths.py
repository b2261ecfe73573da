"""Widths: within the ranges of a limit the machine's numbers cut nothing off.

The other proofs take sums and products as they are. Here those of the machine (that wrap around, or
stop at the largest number) are proved to be the same, for every limit that can be built.
"""

from arith import bounds, cancel_strict, order, strict_order
from book import claim, proof, whole
from formulas import (
    BIAS, Bucket, Counter, admits, age_of, charge, counter_owed, counter_verdict, fill_time,
    fixed_verdict, moment, owed_tokens, product, remaining, settle, share, spent, stamp,
)
from source import computed_by, constant, rust
from z3 import And, If, Implies, Not

TOKENS = constant("limit.rs", "pub const MAX_TOKENS: u64 = 1_000_000_000_000;", 10**12)
LOG_TOKENS = constant("limit.rs", "pub const MAX_LOG_TOKENS: u64 = 65_536;", 65_536)
SECOND = constant("limit.rs", "const SECOND: u64 = 1_000_000_000;", 10**9)
YEAR = constant("limit.rs", "const YEAR: u64 = 365 * 86_400 * SECOND;", 365 * 86_400 * SECOND)
MAX_FILL = constant(
    "limit.rs", "const MAX_FILL: u128 = 1_000_000_000 * YEAR as u128;", 10**9 * YEAR
)
LEVEL_BITS = constant("algorithm/mod.rs", "const MAX_LEVEL_BITS: u32 = 95;", 95)
END = constant("time.rs", "pub const MAX: Self = Self(u64::MAX >> 1);", (2**64 - 1) >> 1)

G, REFILL, TOKEN, CAPACITY = whole("g refill token capacity")
BUCKET = Bucket(REFILL, TOKEN, CAPACITY)
DEBT, COST, PASSED = whole("debt cost passed")


def wrapped(number, bits):
    """What an addition or multiplication that wraps around leaves."""
    return number % 2**bits


def cut(number, bits):
    """What an addition that saturates leaves."""
    return If(number < 2**bits, number, 2**bits - 1)


@rust("limit.rs: Limit::new", "*ns <= YEAR", "n.get() <= Self::MAX_TOKENS", "if tokens > period")
def is_quota(tokens, period):
    return And(1 <= tokens, tokens <= TOKENS, 1 <= period, period <= YEAR, tokens <= period)


@rust("limit.rs: Limit::burst", "if !(1..=Self::MAX_TOKENS).contains(&capacity) {")
def is_burst(capacity):
    return And(1 <= capacity, capacity <= TOKENS)


@rust("limit.rs: Limit::checked",
      "u128::from(self.capacity) * u128::from(self.period.get()) / NonZero::<u128>::from(self.tokens)",
      "if fill > MAX_FILL {",
      "if self.algorithm == Algorithm::SlidingLog && self.tokens() > Self::MAX_LOG_TOKENS {")
def is_filled_in_time(tokens, period, capacity):
    return capacity * period / tokens <= MAX_FILL


def bucket():
    """A bucket of a limit that can be built; `g` is what tokens and period are divided by."""
    return [*BUCKET.facts, G >= 1, is_quota(G * REFILL, G * TOKEN), is_burst(CAPACITY)]


def reduced():
    """Refill and token are at most what they are a part of, and the brim what they can be."""
    return [bounds(CAPACITY, TOKEN, TOKENS, YEAR)]


def owing():
    return [*bucket(), 0 <= DEBT, DEBT <= BUCKET.brim]


@proof
def a_product_of_two_words_is_exact():
    """Two 64-bit numbers have a product of 128 bits at most."""
    a, b = whole("a b")
    return claim(
        given=[0 <= a, a < 2**64, 0 <= b, b < 2**64],
        goal=wrapped(product(a, b), 128) == a * b,
        using=[bounds(a, b, 2**64 - 1, 2**64 - 1)],
    )


@proof
def the_constants_of_a_bucket_are_as_said():
    """The refill is at most 10^12, a token below 2^55 ticks, the brim below 2^95."""
    return claim(
        given=bucket(),
        goal=[REFILL <= TOKENS, TOKEN <= YEAR, YEAR < 2**55, BUCKET.brim < 2**LEVEL_BITS],
        using=reduced(),
    )


@proof
def the_fill_of_a_limit_is_computed_exactly():
    """Its check multiplies below 2^128, so a limit that passes fills an empty bucket in MAX_FILL +
    1.
    """
    return claim(
        given=[*bucket(), is_filled_in_time(G * REFILL, G * TOKEN, CAPACITY)],
        goal=[CAPACITY * (G * TOKEN) < 2**95, fill_time(BUCKET) <= MAX_FILL + 1],
        using=[bounds(CAPACITY, G * TOKEN, TOKENS, YEAR),
               cancel_strict(G, CAPACITY * TOKEN, REFILL * (MAX_FILL + 1)),
               order(G * REFILL, CAPACITY * (G * TOKEN) / (G * REFILL), MAX_FILL),
               strict_order(REFILL, MAX_FILL, BUCKET.brim / REFILL),
               strict_order(REFILL, MAX_FILL + 1, BUCKET.brim / REFILL),
               order(REFILL, MAX_FILL + 1, BUCKET.brim / REFILL)],
    )


@proof
def a_charge_does_not_wrap():
    """Any cost of 64 bits, admitted or not, is added without a carry beyond 128 bits."""
    charged = charge(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), 0 <= COST, COST < 2**64],
        goal=[wrapped(DEBT + wrapped(COST * TOKEN, 128), 128) == charged, charged < 2**120],
        using=[*reduced(), bounds(COST, TOKEN, 2**64 - 1, YEAR)],
    )


@proof
def a_cost_within_the_capacity_is_charged_below_2_to_96():
    """The debt with a cost up to the capacity is at most two brims."""
    charged = charge(BUCKET, DEBT, COST)
    return claim(
        given=[*owing(), 0 <= COST, COST <= CAPACITY],
        goal=[charged <= 2 * BUCKET.brim, charged < 2**96,
              Implies(admits(BUCKET, DEBT, COST), charged < 2**LEVEL_BITS)],
        using=[*reduced(), order(TOKEN, COST, CAPACITY)],
    )


@proof
def a_settled_debt_is_exact():
    """What any elapsed time refills is below 2^104, and the debt stays a level."""
    settled = settle(BUCKET, DEBT, PASSED)
    return claim(
        given=[*owing(), 0 <= PASSED, PASSED <= END],
        goal=[wrapped(REFILL * PASSED, 128) == REFILL * PASSED, REFILL * PASSED < 2**104,
              0 <= settled, settled < 2**LEVEL_BITS],
        using=[*reduced(), bounds(REFILL, PASSED, TOKENS, END)],
    )


@proof
def the_tokens_of_a_bucket_fit():
    """What is left and what is owed are at most the capacity, which has 40 bits."""
    left, owed = remaining(BUCKET, DEBT), owed_tokens(BUCKET, DEBT)
    return claim(
        given=owing(),
        goal=[0 <= left, left <= CAPACITY, 0 <= owed, owed <= CAPACITY, CAPACITY < 2**40],
        using=[strict_order(TOKEN, CAPACITY, left), strict_order(TOKEN, CAPACITY, owed)],
    )


@proof
def waits_fit_a_duration():
    """The longest fill and the longest `behind` are below 2^64 s, and their sum below 2^128 ns."""
    behind = moment(whole("tolerance"), whole("stored"), whole("now")).behind
    stored, now = whole("stored now")
    fill = whole("fill")
    computed_by("time.rs: span", "step.rs: Terms::decision")
    return claim(
        given=[0 <= stored, stored <= END, 0 <= now, now <= END, 0 <= fill, fill <= MAX_FILL + 1],
        goal=[fill + behind < 2**64 * SECOND, fill + behind < 2**128],
    )


@proof
def the_time_to_the_next_token_fits():
    """Of a bucket it is at most the time of one token, of windows and logs at most two widths; from the caller's
    reading it is below 2^64 ns, and nothing on the way wraps.
    """
    behind = moment(whole("tolerance"), whole("stored"), whole("now")).behind
    stored, now, missing, refill, next_after = whole("stored now missing refill next_after")
    computed_by("step.rs: Terms::decision", "algorithm/token_bucket.rs: TokenBucket::left")
    return claim(
        given=[0 <= stored, stored <= END, 0 <= now, now <= END, 1 <= missing, missing <= YEAR,
               1 <= refill, refill <= TOKENS, 0 <= next_after, next_after <= 2 * YEAR],
        goal=[next_after + behind < 2**64, missing + refill - 1 < 2**64,
              (missing + refill - 1) / refill <= YEAR],
        using=[strict_order(refill, YEAR, (missing + refill - 1) / refill)],
    )


@rust("time.rs: span", "ns / NANOS_PER_SEC", "ns % NANOS_PER_SEC", "Duration::new(secs, below)")
def span(ns):
    return ns / 10**9, ns % 10**9


@rust("decision.rs: Decision::retry_after_secs",
      "wait.as_secs().saturating_add((wait.subsec_nanos() > 0) as u64)")
def whole_seconds(seconds, below):
    return seconds + If(below > 0, 1, 0)


@proof
def a_duration_is_the_span():
    """Seconds and the rest are the nanoseconds; whole seconds are rounded up, at least 1 on a
    denial.
    """
    ns = whole("ns")
    seconds, below = span(ns)
    rounded = whole_seconds(seconds, below)
    return claim(
        given=[1 <= ns, ns < (2**64 - 1) * 10**9],
        goal=[seconds * 10**9 + below == ns, 0 <= below, below < 10**9, seconds < 2**64,
              rounded >= 1, rounded * 10**9 >= ns, (rounded - 1) * 10**9 < ns,
              cut(rounded, 64) == rounded],
    )


# Windows and counters.

COUNT, LIMIT, WIDTH, LEFT = whole("count limit width left")
PREVIOUS, CURRENT, OTHER_WIDTH = whole("previous current other_width")
COUNTER = Counter(LIMIT, WIDTH)
WINDOW = [1 <= LIMIT, LIMIT <= TOKENS, 1 <= WIDTH, WIDTH <= YEAR, 1 <= LEFT, LEFT <= WIDTH]
# What was spent is at most the most tokens of any limit, whichever limit it was spent under.
COUNTED = [PREVIOUS >= 0, CURRENT >= 0, PREVIOUS <= TOKENS]


def spent_in_range(counts, width, left):
    return spent(Counter(LIMIT, width), counts, left) <= TOKENS * width


@proof
def a_window_counts_without_saturating():
    """The count with any cost up to the limit has 64 bits, and the count is at most 10^12."""
    admitted, never, _ = fixed_verdict(LIMIT, WIDTH, COUNT, COST, whole("now"))
    return claim(
        given=[*WINDOW, 0 <= COUNT, COUNT <= TOKENS, 1 <= COST, COST < 2**64],
        goal=[Implies(Not(never), cut(COUNT + COST, 64) == COUNT + COST),
              Implies(admitted, COUNT + COST <= TOKENS)],
    )


@proof
def what_a_counter_has_spent_stays_in_range():
    """Charging, passing into the next window and carrying keep it within 10^12 times the width."""
    counts = (PREVIOUS, CURRENT)
    carried = counter_owed(COUNTER, counts, LEFT)
    admitted = counter_verdict(COUNTER, counts, COST, LEFT)[0]
    return claim(
        given=[*WINDOW, *COUNTED, spent_in_range(counts, WIDTH, LEFT), 1 <= COST, COST < 2**64,
               1 <= OTHER_WIDTH, OTHER_WIDTH <= YEAR],
        goal=[
            CURRENT <= TOKENS,
            Implies(admitted, spent_in_range((PREVIOUS, CURRENT + COST), WIDTH, LEFT)),
            spent_in_range((CURRENT, 0), WIDTH, WIDTH),
            carried <= TOKENS,
            spent_in_range((0, carried), OTHER_WIDTH, LEFT),
        ],
        using=[cancel_strict(WIDTH, CURRENT, TOKENS + 1), order(WIDTH, LIMIT, TOKENS),
               strict_order(WIDTH, TOKENS, carried), order(OTHER_WIDTH, carried, TOKENS)],
    )


@proof
def a_counter_computes_exactly():
    """What was spent is below 2^96, so its share loses no bits; counts with a cost have 64 bits."""
    counts = (PREVIOUS, CURRENT)
    estimate = spent(COUNTER, counts, LEFT)
    computed_by("algorithm/sliding_window.rs: SlidingWindow::fraction")
    return claim(
        given=[*WINDOW, *COUNTED, CURRENT <= TOKENS, 1 <= COST, COST <= LIMIT],
        goal=[estimate < 2**96, cut(estimate, 128) == estimate,
              cut(CURRENT + COST, 64) == CURRENT + COST],
        using=[bounds(PREVIOUS, LEFT, TOKENS, YEAR), bounds(CURRENT, WIDTH, TOKENS, YEAR)],
    )


@proof
def a_share_loses_no_bits():
    """What is owed is below 2^96, so 32 bits more fit; up to all of it the share has 64."""
    owed, of = whole("owed of")
    return claim(
        given=[0 <= owed, owed < 2**96, of >= 1],
        goal=[wrapped(owed * 2**32, 128) == owed * 2**32,
              Implies(owed <= of, share(owed, of) < 2**64)],
        using=[strict_order(of, 2**32, share(owed, of))],
    )


# Time.

NOW, STAMPED, AGE = whole("now stamped age")


@rust("time.rs: Nanos::from_nanos", "if ns > Self::MAX.0 { Self::MAX } else { Self(ns) }")
def from_nanos(ns):
    return If(ns > END, END, ns)


@rust("time.rs: Nanos::plus_nanos", "Self::from_nanos(self.0.saturating_add(ns))")
def plus_nanos(now, ns):
    return from_nanos(cut(now + ns, 64))


@proof
def time_stands_still_at_its_end():
    """An addition is exact up to 2^63 - 1 and stops there; it never goes back."""
    later = plus_nanos(NOW, PASSED)
    return claim(
        given=[0 <= NOW, NOW <= END, 0 <= PASSED, PASSED < 2**64],
        goal=[later == If(NOW + PASSED <= END, NOW + PASSED, END), later >= NOW, later < 2**63],
    )


@proof
def stamps_do_not_saturate():
    """A time and an age up to 2^56 ns make a stamp of 64 bits, not below 0, and the age is found
    again.
    """
    stamped = stamp(NOW, AGE)
    return claim(
        given=[0 <= NOW, NOW <= END, 0 <= AGE, AGE <= BIAS],
        goal=[cut(NOW + BIAS, 64) == NOW + BIAS, 0 <= stamped, stamped < 2**64,
              stamped == NOW + BIAS - AGE, age_of(NOW, stamped) == AGE, BIAS > YEAR],
    )


@proof
def ages_do_not_saturate():
    """An entry's age at the last change and the time since have 64 bits together, whatever passed.
    """
    stored = whole("stored")
    here = moment(whole("tolerance"), stored, NOW)
    computed_by("algorithm/mod.rs: Moment::age", "algorithm/mod.rs: Moment::elapsed")
    total = age_of(stored, STAMPED) + (here.now - here.last)
    return claim(
        given=[0 <= stored, stored <= END, 0 <= NOW, NOW <= END, 0 <= STAMPED],
        goal=[cut(total, 64) == total, here.now - here.last >= 0],
    )

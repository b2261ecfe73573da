//! The ends of the ranges: nothing wraps, in any build, for any limit that can be built.

use std::time::Duration;

use brimful::{Algorithm, Limit, Meter, Nanos, Policy};
use brimful_testkit::trace::nearest_limit;
use brimful_testkit::{Model, Outcome};
use proptest::prelude::*;

use crate::{START, config, drained, limit, meter, secs};

/// Numbers next to the ends of their type and range, and to the powers of two between.
fn extreme() -> impl Strategy<Value = u64> {
    let ends = vec![0, Limit::MAX_TOKENS, u64::MAX, 31_536_000_000_000_000];
    let near = |number: u64, off: u64| number.wrapping_add(off).wrapping_sub(2);
    prop_oneof![
        (prop::sample::select(ends), 0..5_u64).prop_map(move |(end, off)| near(end, off)),
        (0..64_u32, 0..5_u64).prop_map(move |(bit, off)| near(1 << bit, off)),
    ]
}

proptest! {
    #![proptest_config(config())]

    /// Limits, costs and idle times from the ends of their ranges are decided as by the exact
    /// model, which has room to spare.
    #[test]
    fn the_ends_of_the_ranges_are_exact(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        (tokens, period, burst) in (extreme(), extreme(), extreme()),
        steps in prop::collection::vec((extreme(), extreme()), 1..20),
    ) {
        let limit = nearest_limit(algorithm, tokens, period, burst);
        let policy = Policy::from(limit.clone());
        let (mut meter, mut model) = (Meter::new(&policy), Model::new(&policy));
        let mut now = Nanos::ZERO;
        for (cost, idle) in steps {
            let expected = model.acquire(cost, now);
            prop_assert_eq!(Outcome::from(meter.try_acquire_at(cost, now)), expected, "{}", limit);
            // Time ends before the model's does.
            now = Nanos::from_nanos((now.as_nanos() + idle % (1 << 59)).min(1 << 62));
        }
    }
}

/// A long idle time, and what is left after one more call.
#[test]
fn idle_hours_and_years_fill_a_bucket_and_no_more() {
    let (hours, century) = (12 * 3_600, 100 * 365 * 86_400);
    let rows = [
        (17, "300000/h", hours),
        (17, "300000/h", century),
        (18, "1000000000/s", 10),
        (18, "1000000000/s burst 1000000000000", 1_000),
        (18, "1000000000000 per 1000s", century),
        (17, "1000000000000/year", century),
        // Many ticks to a nanosecond: what is refilled needs far more than 64 bits.
        (17, "999999937/h", hours),
        (17, "999999999989/day", century),
    ];
    for (case, spec, idle) in rows {
        let (mut meter, capacity) = (meter(spec), limit(spec).capacity());
        for now in [Nanos::from_secs(1), Nanos::from_secs(1 + idle)] {
            let decision = meter.try_acquire_at(1, now);
            assert!(decision.is_allowed(), "case {case}: {spec}: {decision:?}");
            assert_eq!(decision.remaining(), capacity - 1, "case {case}: {spec}");
        }
        // And when all of it was spent.
        let mut meter = drained(spec, START);
        let now = START + Duration::from_secs(idle);
        assert_eq!(meter.try_acquire_at(capacity, now).remaining(), 0, "case {case}: {spec}");
        assert!(meter.try_acquire_at(1, now).is_denied(), "case {case}: {spec}");
    }
}

/// Case 19: attempts that are refused are not counted, and those that are admitted cannot be more
/// than a counter holds: the limit stays shut until its window ends.
#[test]
fn no_number_of_attempts_opens_a_window_again() {
    const WRAP: u64 = 1 << 32;
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingWindow, Algorithm::SlidingLog] {
        let mut meter = meter(&format!("10/h {algorithm}"));
        assert!(meter.try_acquire_at(10, START).is_allowed());
        for attempt in 0..100_000_u64 {
            let cost = [1, WRAP - 5, WRAP, WRAP + 5, u64::MAX - 5, u64::MAX];
            let cost = cost[usize::try_from(attempt % 6).unwrap_or(0)];
            let decision = meter.try_acquire_at(cost, START + Duration::from_millis(attempt / 100));
            assert!(decision.is_denied(), "case 19: {algorithm}: attempt {attempt}");
        }
        assert!(meter.try_acquire_at(1, secs(3_599)).is_denied(), "case 19: {algorithm}");
        assert!(meter.try_acquire_at(1, secs(7_200)).is_allowed(), "case 19: {algorithm}");
    }
    // A window that counts past 2^32, up to the most that a limit can have.
    for algorithm in [Algorithm::TokenBucket, Algorithm::FixedWindow, Algorithm::SlidingWindow] {
        let spec = format!("{}/h {algorithm}", Limit::MAX_TOKENS);
        let mut meter = meter(&spec);
        let mut left = Limit::MAX_TOKENS;
        for cost in [WRAP - 1, 1, 5, WRAP, left - 2 * WRAP - 5 - 5, 5] {
            left -= cost;
            let decision = meter.try_acquire_at(cost, START);
            assert!(decision.is_allowed(), "case 19: {spec}");
            assert_eq!(decision.remaining(), left, "case 19: {spec}");
        }
        for cost in [1, WRAP, u64::MAX] {
            assert!(meter.try_acquire_at(cost, START).is_denied(), "case 19: {spec}");
        }
    }
}

/// A debt of 10^9 seconds and more is waited for in full; it does not end after a millisecond.
#[test]
fn a_long_wait_is_not_cut_short() {
    const BILLION: u64 = 1_000_000_000;
    let mut meter = meter("1 per 10000000s burst 100");
    assert!(meter.try_acquire_at(100, Nanos::ZERO).is_allowed());
    let wait = meter.try_acquire_at(100, Nanos::ZERO).retry_after();
    assert_eq!(wait, Some(Duration::from_secs(BILLION)));
    for exponent in 0..=9 {
        let early = BILLION / 10_u64.pow(exponent) - 1;
        let decision = meter.peek_at(100, Nanos::from_secs(early));
        let rest = Duration::from_secs(BILLION - early);
        assert_eq!(decision.retry_after(), Some(rest), "after {early} s");
    }
    assert!(meter.try_acquire_at(100, Nanos::from_secs(BILLION)).is_allowed());
}

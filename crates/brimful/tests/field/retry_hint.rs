//! Hints: never zero on a denial, never early, never late, and rounded up when they are rounded.

use std::time::Duration;

use brimful::{Meter, Nanos, Retry};
use brimful_testkit::{Model, Outcome, strategy};
use proptest::prelude::*;

use crate::{START, config, drained, meter, ms, secs};

proptest! {
    #![proptest_config(config())]

    /// Whatever the limits: a denial has a hint above zero, the model's; with it the cost is
    /// admitted and a nanosecond before it is not; in whole seconds it is at least one, and never
    /// early.
    #[test]
    fn a_denial_says_when_and_means_it(
        policy in strategy::policy(1..=3),
        costs in prop::collection::vec((any::<u64>(), 0..64_u32, 0..40_u32), 1..30),
    ) {
        let (mut meter, mut model) = (Meter::new(&policy), Model::new(&policy));
        let mut now = START;
        for (raw, shift, gap) in costs {
            let cost = (raw >> shift).max(1);
            let decision = meter.try_acquire_at(cost, now);
            prop_assert_eq!(Outcome::from(decision), model.acquire(cost, now));
            if let Retry::After(wait) = decision.retry() {
                prop_assert!(!wait.is_zero());
                let seconds = decision.retry_after_secs().unwrap_or_default();
                prop_assert!(seconds >= 1 && Duration::from_secs(seconds) >= wait);
                prop_assert!(Duration::from_secs(seconds - 1) < wait, "a second too much");
                if u64::try_from(wait.as_nanos()).is_ok_and(|ns| ns < 1 << 60) {
                    let then = now + wait;
                    let early = Nanos::from_nanos(then.as_nanos() - 1);
                    prop_assert!(meter.peek_at(cost, early).is_denied());
                    prop_assert!(meter.peek_at(cost, then).is_allowed());
                }
            }
            now = now + Duration::from_nanos(1 << gap);
        }
    }
}

/// All is spent at second 0 (or another that is named); one more is asked at the millisecond.
#[test]
fn a_hint_counts_what_is_there_already() {
    let rows = [
        (5, "1000/s", 0, 0, 1_000_000),
        (27, "1000000/s", 0, 0, 1_000),
        (67, "5/s burst 1", 0, 1, 199_000_000),
        (69, "1 per 1400ms", 0, 0, 1_400_000_000),
        (88, "2 per 10s sliding-log", 0, 3_000, 7_000_000_000),
        (88, "2 per 10s fixed-window", 0, 3_000, 7_000_000_000),
        (88, "2 per 10s", 0, 3_000, 2_000_000_000),
        // In the next window two weigh one after half of it.
        (88, "2 per 10s sliding-window", 0, 3_000, 12_000_000_000),
        (90, "5 per 10s fixed-window", 0, 0, 10_000_000_000),
        (90, "5 per 10s", 0, 0, 2_000_000_000),
        (92, "1/s", 0, 200, 800_000_000),
        (93, "10/min fixed-window", 1_000, 1_000, 59_000_000_000),
        (93, "10/min fixed-window", 1_000, 31_000, 29_000_000_000),
        (93, "10/min", 1_000, 1_000, 6_000_000_000),
        (93, "10/min", 1_000, 5_500, 1_500_000_000),
    ];
    for (case, spec, spent_at, asked_at, wait_ns) in rows {
        let mut meter = drained(spec, ms(spent_at));
        let denied = meter.try_acquire_at(1, ms(asked_at));
        let wait = denied.retry_after().map(|wait| wait.as_nanos());
        assert_eq!(wait, Some(wait_ns), "case {case}: {spec}");
    }
    // Case 27: more than the capacity is not a debt to wait for.
    assert!(meter("1000000/s").try_acquire_at(1_000_001, START).is_never(), "case 27");
}

/// Case 89: 60 in the minute before and 12 in this one; at its 13th second the estimate is 59.
#[test]
fn a_counters_hint_is_when_the_estimate_falls() {
    let mut meter = meter("60/min sliding-window");
    assert!(meter.try_acquire_at(60, secs(30)).is_allowed());
    assert!(meter.try_acquire_at(12, secs(72)).is_allowed());
    let denied = meter.try_acquire_at(1, secs(72));
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)), "case 89");
    assert!(meter.try_acquire_at(1, secs(73)).is_allowed(), "case 89");
}

/// Case 50: 5 of 10 per 30 s are spent at once: as good as new after 15 s, not after one token.
#[test]
fn a_reset_counts_every_token_that_is_owed() {
    let mut meter = meter("10 per 30s");
    for spent in 1..=5 {
        let reset = meter.try_acquire_at(1, START).reset_after();
        assert_eq!(reset, Duration::from_secs(3 * spent), "case 50");
    }
    assert_eq!(meter.peek_at(0, ms(14_999)).remaining(), 9, "case 50");
    assert_eq!(meter.peek_at(0, secs(15)).reset_after(), Duration::ZERO, "case 50");
}

/// Whole seconds, as HTTP has them: rounded up, at least 1, and the time that is left.
#[test]
fn whole_seconds_are_rounded_up() {
    let rows = [
        (67, "5/s burst 1", 0, 1, Some(1)),
        (69, "1 per 1400ms", 0, 0, Some(2)),
        (79, "2/min fixed-window", 59_000, 59_200, Some(1)),
        (79, "2/min fixed-window", 59_000, 59_900, Some(1)),
        (79, "2/min fixed-window", 59_000, 60_010, None),
        (82, "5/min fixed-window", 0, 2_000, Some(58)),
        (82, "5/min sliding-log", 0, 2_000, Some(58)),
        (83, "1 per 30s", 0, 0, Some(30)),
    ];
    for (case, spec, spent_at, asked_at, seconds) in rows {
        let mut meter: Meter = drained(spec, ms(spent_at));
        let decision = meter.try_acquire_at(1, ms(asked_at));
        assert_eq!(decision.retry_after_secs(), seconds, "case {case}: {spec}");
        assert_eq!(decision.is_allowed(), seconds.is_none(), "case {case}: {spec}");
    }
}

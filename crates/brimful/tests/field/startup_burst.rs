//! The first seconds: the capacity comes on top of the rate, once, and the documentation says so.

use std::time::Duration;

use brimful::{Algorithm, Meter, Policy};
use brimful_testkit::strategy;
use proptest::prelude::*;

use crate::{START, config, limit, meter, secs, waited};

proptest! {
    #![proptest_config(config())]

    /// Whoever takes all that is there, as often as they like, has after T had at most the
    /// capacity and rate times T; and exactly that if the bucket was never full in between.
    #[test]
    fn capacity_and_rate_times_time_is_the_bound(
        limit in strategy::limit(Algorithm::TokenBucket),
        gaps in prop::collection::vec((any::<u64>(), 10..50_u32), 1..60),
    ) {
        let mut meter = Meter::new(&Policy::from(limit.clone()));
        let (mut now, mut taken, mut was_full) = (START, 0_u128, false);
        for (raw, bits) in gaps {
            let there = meter.peek_at(0, now);
            // A bucket that fills between two looks has lost what came after.
            was_full |= now > START && there.reset_after().is_zero();
            taken += u128::from(there.remaining());
            prop_assert!(meter.try_acquire_at(there.remaining(), now).is_allowed());
            let elapsed = now.since(START).as_nanos();
            let earned = elapsed * u128::from(limit.tokens()) / limit.period().as_nanos();
            let bound = u128::from(limit.capacity()) + earned;
            prop_assert!(taken <= bound, "{}: {} of {}", limit, taken, bound);
            prop_assert!(was_full || taken == bound, "{}: {} of {}", limit, taken, bound);
            now = now + Duration::from_nanos(raw >> (64 - bits));
        }
    }
}

/// Saturated demand in groups: how many are admitted from second 0 until just before the end.
#[test]
fn the_first_period_admits_capacity_and_rate() {
    let rows = [
        // 10 + 10 * 2, less the one that comes with second 2.
        (59, "10/s", 1, 2, 29),
        (60, "1200/min", 10, 60, 2_390),
        (60, "1200/min burst 10", 10, 60, 1_200),
    ];
    for (case, spec, group, seconds, expected) in rows {
        let (mut meter, end) = (meter(spec), secs(seconds));
        let (mut now, mut taken) = (START, 0);
        while now < end {
            now = waited(&mut meter, group, now);
            taken += if now < end { group } else { 0 };
        }
        assert_eq!(taken, expected, "case {case}: {spec}");
        let limit = limit(spec);
        let earned = limit.tokens() * seconds / limit.period().as_secs();
        assert!(taken <= limit.capacity() + earned, "case {case}: {spec}");
    }
}

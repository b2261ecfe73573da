//! The figures that responses carry.

use std::time::Duration;

use brimful::{Algorithm, Meter};
use brimful_testkit::{Model, strategy};
use proptest::prelude::*;

use crate::{START, config, meter, secs};

proptest! {
    #![proptest_config(config())]

    /// What is said to remain can be had at once, and one more cannot; it is never more than the
    /// limit.
    #[test]
    fn what_remains_can_be_had(
        policy in strategy::policy(1..=3),
        spends in prop::collection::vec((any::<u64>(), 0..64_u32, 0..45_u32), 1..30),
    ) {
        let (mut meter, mut model) = (Meter::new(&policy), Model::new(&policy));
        let mut now = START;
        for (raw, shift, gap) in spends {
            let cost = raw >> shift;
            let remaining = meter.try_acquire_at(cost, now).remaining();
            prop_assert_eq!(remaining, model.acquire(cost, now).remaining);
            let least = policy.limits().iter().map(brimful::Limit::capacity).min();
            prop_assert!(least.is_some_and(|least| remaining <= least));
            prop_assert!(meter.peek_at(remaining, now).is_allowed());
            prop_assert!(meter.peek_at(remaining + 1, now).is_denied());
            now = now + Duration::from_nanos(1 << gap);
        }
    }
}

/// Case 49: one of 10 per 30 s is used, and ten minutes later somebody looks.
#[test]
fn remaining_is_never_more_than_the_limit() {
    for algorithm in Algorithm::ALL {
        let mut meter = meter(&format!("10 per 30s {algorithm}"));
        assert_eq!(meter.try_acquire_at(1, START).remaining(), 9);
        assert_eq!(meter.peek_at(0, secs(600)).remaining(), 10, "case 49: {algorithm}");
        assert_eq!(meter.try_acquire_at(1, secs(600)).remaining(), 9, "case 49: {algorithm}");
    }
}

/// Case 111: 50 in the window before, of which nine tenths weigh, and 10 in this one.
#[test]
fn remaining_counts_what_is_carried_over() {
    let mut meter = meter("100 per 100s sliding-window");
    assert!(meter.try_acquire_at(50, secs(50)).is_allowed());
    assert!(meter.try_acquire_at(10, secs(105)).is_allowed());
    assert_eq!(meter.peek_at(0, secs(110)).remaining(), 100 - 10 - 45, "case 111");
}

//! Several limits on one key: all or nothing, and the answer says which.

use std::time::Duration;

use brimful::{Meter, Policy};
use brimful_testkit::{Model, Outcome, strategy};
use proptest::prelude::*;

use crate::{START, config, policy, secs};

proptest! {
    #![proptest_config(config())]

    /// A call that one limit refuses is not counted by the others, the answer names the limit with
    /// the longest wait, and the hint is that limit's own.
    #[test]
    fn what_one_refuses_the_others_do_not_count(
        policy in strategy::policy(2..=6),
        calls in prop::collection::vec((1..2_000_u64, 0..45_u32), 1..40),
    ) {
        let mut meter = Meter::new(&policy);
        // One for each limit alone: told only of what all admitted.
        let single = |limit: &brimful::Limit| Model::new(&limit.clone().into());
        let mut alone: Vec<Model> = policy.limits().iter().map(single).collect();
        let mut now = START;
        for (cost, gap) in calls {
            let decision = meter.try_acquire_at(cost, now);
            let each: Vec<Outcome> = alone.iter().map(|model| model.peek(cost, now)).collect();
            prop_assert_eq!(decision.is_allowed(), each.iter().all(|one| one.allowed));
            if decision.is_allowed() {
                for model in &mut alone {
                    prop_assert!(model.acquire(cost, now).allowed);
                }
            } else {
                let longest = each.iter().filter_map(|one| one.retry).max();
                let never = each.iter().position(|one| one.never);
                let first = never.or_else(|| each.iter().position(|one| one.retry == longest));
                prop_assert_eq!(decision.limit(), first);
                prop_assert_eq!(decision.is_never(), never.is_some());
                let hint = decision.retry_after().map(|wait| wait.as_nanos());
                prop_assert_eq!(hint, longest.filter(|_| never.is_none()));
            }
            now = now + Duration::from_nanos(1 << gap);
        }
    }
}

/// Case 155: 16 calls in the first minute, 15 in the second, 1 in the third: the long limit has
/// 20 used by then, not 31.
#[test]
fn refused_calls_do_not_use_up_the_longer_limit() {
    for algorithm in ["token-bucket", "fixed-window", "sliding-log"] {
        let limits = [format!("10/min {algorithm}"), format!("30 per 1800s {algorithm}")];
        let mut meter = Meter::new(&policy(&[&limits[0], &limits[1]]));
        let mut calls = |minute: u64, calls: u64| {
            let now = secs(60 * minute);
            (0..calls).map(|_| u64::from(meter.try_acquire_at(1, now).is_allowed())).sum::<u64>()
        };
        let taken = [calls(0, 16), calls(1, 15), calls(2, 1)];
        assert_eq!(taken, [10, 10, 1], "case 155: {algorithm}");
        if algorithm != "token-bucket" {
            assert!(meter.try_acquire_at(9, secs(180)).is_allowed(), "case 155: {algorithm}");
            let denied = meter.try_acquire_at(1, secs(240));
            assert_eq!(denied.limit(), Some(1), "case 155: {algorithm}: 30 are used");
        }
    }
}

/// Case 156: 50 a second, eleven times: the eleventh is refused by the limit of the minute.
#[test]
fn the_refusing_limit_is_named_with_its_own_wait() {
    for algorithm in ["fixed-window", "sliding-log"] {
        let limits = [format!("100/s {algorithm}"), format!("500/min {algorithm}")];
        let policy = policy(&[&limits[0], &limits[1]]);
        let mut meter = Meter::new(&policy);
        for second in 0..10 {
            assert!(meter.try_acquire_at(50, secs(second)).is_allowed(), "case 156");
        }
        let denied = meter.try_acquire_at(50, secs(10));
        let name = denied.limit().and_then(|place| policy.limits().get(place));
        assert_eq!(name.map(brimful::Limit::name), Some("500/min"), "case 156: {algorithm}");
        assert_eq!(denied.retry_after(), Some(Duration::from_secs(50)), "case 156: {algorithm}");
        assert!(meter.try_acquire_at(50, secs(60)).is_allowed(), "case 156: {algorithm}");
    }
    // A bucket has earned 83 in ten seconds; with twelve at once both refuse, the longer decides.
    let both = Policy::parse(["100/s", "500/min"]).expect("two limits");
    let mut meter = Meter::new(&both);
    for second in 0..5 {
        assert!(meter.try_acquire_at(100, secs(second)).is_allowed(), "case 156");
    }
    let denied = meter.try_acquire_at(100, secs(4));
    assert_eq!(denied.limit(), Some(1), "case 156: the longest of the refusing");
}

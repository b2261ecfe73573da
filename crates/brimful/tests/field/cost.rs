//! Costs above 1: all or nothing, and a refusal changes nothing.

use std::time::Duration;

use brimful::{Meter, Policy};
use brimful_testkit::strategy;
use proptest::prelude::*;

use crate::{START, config, meter, ms};

/// What is done, and what shall come of it.
enum Act {
    /// Takes so many, and leaves so many.
    Take(u64, u64),
    /// Is refused so many until later.
    Refuse(u64),
    /// Is refused so many for ever.
    Never(u64),
    /// A look at so many says so.
    Look(u64, bool),
    /// Gives so many back.
    Refund(u64),
}
use Act::{Look, Never, Refund, Refuse, Take};

proptest! {
    #![proptest_config(config())]

    /// A meter that was refused and looked at answers for ever as its twin that was asked for
    /// nothing but what was admitted.
    #[test]
    fn a_refusal_and_a_look_change_nothing(
        policy in strategy::policy(1..=3),
        costs in prop::collection::vec((any::<u64>(), 0..64_u32, 0..40_u32), 1..40),
    ) {
        let (mut meter, mut twin) = (Meter::new(&policy), Meter::new(&policy));
        let least = policy.limits().iter().map(brimful::Limit::capacity).min();
        let mut now = START;
        for (raw, shift, gap) in costs {
            let cost = raw >> shift;
            let look = meter.peek_at(cost, now);
            let decision = meter.try_acquire_at(cost, now);
            prop_assert_eq!(look, decision);
            if cost > 0 && decision.is_allowed() {
                prop_assert_eq!(twin.try_acquire_at(cost, now), decision);
            }
            prop_assert_eq!(decision.is_never(), least.is_some_and(|least| cost > least));
            for (cost, later) in [(0, 0), (1, 0), (cost, 0), (1, 1 << gap), (cost, 1 << gap)] {
                let then = now + Duration::from_nanos(later);
                prop_assert_eq!(meter.peek_at(cost, then), twin.peek_at(cost, then));
            }
            now = now + Duration::from_nanos(1 << gap);
        }
    }
}

/// Scripts at one moment, under every algorithm.
#[test]
fn a_cost_is_taken_whole_or_not_at_all() {
    let rows: [(u32, &str, &[Act]); 9] = [
        (56, "5/s", &[Never(5_000), Take(5, 0)]),
        (95, "1/s", &[Never(5), Never(5), Never(5), Never(5), Never(5), Take(1, 0)]),
        (107, "10/min", &[Take(8, 2), Refuse(3), Take(2, 0)]),
        (108, "10/min", &[Look(12, false), Never(12), Take(5, 5), Look(6, false), Refuse(6)]),
        (109, "10/min", &[Take(8, 2), Refuse(5), Take(1, 1)]),
        (109, "10/h", &[Take(8, 2), Refuse(5), Take(1, 1), Take(1, 0), Refuse(1)]),
        (173, "1/h", &[Look(1, true), Take(1, 0), Look(1, false), Refuse(1), Look(1, false)]),
        (116, "10/min", &[Take(10, 0), Refuse(1), Refund(1), Take(1, 0), Refuse(1)]),
        (78, "5/min", &[Never(10), Take(5, 0), Never(10)]),
    ];
    for algorithm in brimful::Algorithm::ALL {
        for (case, quota, script) in &rows {
            let spec = format!("{quota} {algorithm}");
            let mut meter = meter(&spec);
            for (step, act) in script.iter().enumerate() {
                let story = format!("case {case}: {spec}, step {step}");
                perform(&mut meter, act, &story);
            }
        }
    }
}

fn perform(meter: &mut Meter, act: &Act, story: &str) {
    match *act {
        Take(cost, left) => {
            let decision = meter.try_acquire_at(cost, START);
            assert!(decision.is_allowed(), "{story}: {decision:?}");
            assert_eq!(decision.remaining(), left, "{story}");
        }
        Refuse(cost) => {
            let decision = meter.try_acquire_at(cost, START);
            assert!(decision.retry_after().is_some(), "{story}: {decision:?}");
        }
        Never(cost) => assert!(meter.try_acquire_at(cost, START).is_never(), "{story}"),
        Look(cost, allowed) => {
            assert_eq!(meter.peek_at(cost, START).is_allowed(), allowed, "{story}");
        }
        Refund(tokens) => assert_eq!(meter.refund_at(tokens, START), tokens, "{story}"),
    }
}

/// Case 113: only failures are charged: ten of them, each after a look that charges nothing.
#[test]
fn a_look_and_a_charge_count_failures_alone() {
    for algorithm in brimful::Algorithm::ALL {
        let mut meter = meter(&format!("10/min {algorithm}"));
        for failures in 0..10 {
            // Any number of good logins in between.
            for _ in 0..100 {
                let look = meter.peek_at(1, START);
                assert!(look.is_allowed(), "case 113: {algorithm}, after {failures} failures");
                assert_eq!(meter.peek_at(0, START).remaining(), 10 - failures, "{algorithm}");
            }
            assert!(meter.try_acquire_at(1, START).is_allowed(), "case 113: {algorithm}");
        }
        assert!(meter.peek_at(1, START).is_denied(), "case 113: {algorithm}: the eleventh look");
    }
}

/// Case 159: drained at second 0; what can never be had is asked at 0.5 s; at 1 s all ten are
/// there.
#[test]
fn an_impossible_cost_delays_nobody() {
    let mut meter = meter("10/s");
    assert!(meter.try_acquire_at(10, START).is_allowed());
    assert!(meter.try_acquire_at(20, ms(500)).is_never(), "case 159");
    assert!(meter.peek_at(10, ms(999)).is_denied(), "case 159");
    assert!(meter.try_acquire_at(10, ms(1_000)).is_allowed(), "case 159");
    // And among several limits.
    let policy = Policy::parse(["10/s", "wide: 100/s burst 25"]).unwrap();
    let mut meter = Meter::new(&policy);
    assert!(meter.try_acquire_at(10, START).is_allowed());
    assert!(meter.try_acquire_at(20, ms(500)).is_never(), "case 159");
    assert!(meter.try_acquire_at(10, ms(1_000)).is_allowed(), "case 159");
}

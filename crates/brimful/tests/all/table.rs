//! Cases by hand.

use std::time::Duration;

use allocation_counter::measure;
use brimful::{Denial, Key, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Retry, Rules};

use crate::NOW;

const DAY: Duration = Duration::from_secs(86_400);

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

/// A user of 2 a minute, a tenant of 100 a day, an address of 10 a second; and two without limits.
fn limiter() -> Limiter {
    let rules = Rules::builder()
        .default(policy(&["10/s"]))
        .pattern("user:*", policy(&["2/min"]))
        .pattern("tenant:*", policy(&["100/day", "50/h sliding-log"]))
        .exact("free", Policy::unlimited())
        .exact("shut", Policy::blocked());
    Limiter::new(rules.build().unwrap()).unwrap()
}

fn left(limiter: &Limiter, key: &str) -> u64 {
    limiter.peek_at(key, 0, NOW).remaining()
}

#[test]
fn all_are_charged_or_none() {
    let limiter = limiter();
    let keys = [("user:ann", 1), ("tenant:7", 1), ("192.0.2.1", 1)];
    for used in 1..=2 {
        let all = limiter.try_acquire_all_at(&keys, NOW).unwrap();
        assert!(all.is_allowed() && !all.is_denied());
        assert_eq!((all.key(), all.remaining()), (Some(0), 2 - used));
        assert_eq!(limiter.policy_of(all.decision()).as_deref(), Some(&policy(&["2/min"])));
        assert_eq!(all.retry(), Retry::Now);
    }
    let denied = limiter.try_acquire_all_at(&keys, NOW).unwrap();
    assert!(denied.is_denied() && !denied.is_allowed());
    assert_eq!((denied.key(), denied.remaining()), (Some(0), 0));
    assert_eq!(denied.retry(), Retry::After(Duration::from_secs(30)));
    assert_eq!(denied.decision().denial(), Some(Denial::Limit));
    // Two of a hundred a day: until the tenant's log has forgotten both.
    assert_eq!(denied.reset_after(), Duration::from_secs(3_600));
    let lefts = ["user:ann", "tenant:7", "192.0.2.1"].map(|key| left(&limiter, key));
    assert_eq!(lefts, [0, 48, 8]);
    // The hint is tight.
    let then = NOW + Duration::from_secs(30);
    let early = Nanos::from_nanos(then.as_nanos() - 1);
    assert!(limiter.try_acquire_all_at(&keys, early).unwrap().is_denied());
    assert!(limiter.try_acquire_all_at(&keys, then).unwrap().is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied), (9, 2));
    assert_eq!(stats.denied_by_policy, [("default".to_owned(), 2)]);
    assert_eq!(stats.resolved, 3, "the rules were asked once for each key");
}

/// Of the refusing keys the one that waits longest decides, and never is longest; of equals the
/// first.
#[test]
fn the_longest_wait_decides() {
    let limiter = limiter();
    let decide = |charges: &[(&str, u64)]| limiter.try_acquire_all_at(charges, NOW).unwrap();
    assert!(decide(&[("user:a", 2), ("user:b", 2), ("tenant:1", 50), ("x", 10)]).is_allowed());
    for (charges, key, remaining) in [
        (&[("x", 1), ("user:a", 1)][..], 1, 0),
        (&[("y", 1), ("user:a", 1), ("user:b", 1)], 1, 0),
        (&[("user:b", 1), ("user:a", 2)], 1, 0),
        (&[("user:a", 1), ("tenant:1", 1)], 1, 0),
        (&[("tenant:1", 1), ("y", 11)], 1, 0),
        (&[("y", 11), ("user:c", 3)], 0, 2),
        (&[("y", 1), ("user:c", 3), ("shut", 1)], 1, 0),
        (&[("y", 1), ("user:c", 2), ("shut", 1)], 2, 0),
        (&[("free", 1), ("z", 11)], 1, 10),
    ] {
        let denied = decide(charges);
        assert!(denied.is_denied(), "{charges:?}");
        assert_eq!((denied.key(), denied.remaining()), (Some(key), remaining), "{charges:?}");
    }
    // Nothing was charged, and no slot taken.
    assert_eq!(["y", "z", "user:c", "tenant:1"].map(|key| left(&limiter, key)), [10, 10, 2, 0]);
    assert_eq!(limiter.stats().occupied, 4);
    // The least remaining decides when all admit.
    let allowed = decide(&[("free", 1), ("y", 3), ("z", 4), ("w", 4)]);
    assert_eq!((allowed.key(), allowed.remaining()), (Some(2), 6));
}

#[test]
fn keys_without_limits_have_no_slot() {
    let limiter = limiter();
    let free = limiter.try_acquire_all_at(&[("free", 7), ("free", 1)], NOW).unwrap();
    assert_eq!((free.is_allowed(), free.key(), free.remaining()), (true, Some(0), u64::MAX));
    for cost in [0, 1] {
        let shut = limiter.try_acquire_all_at(&[("free", cost), ("a", cost), ("shut", 0)], NOW);
        let shut = shut.unwrap();
        assert_eq!((shut.retry(), shut.key()), (Retry::Never, Some(2)));
        assert_eq!(shut.decision().denial(), Some(Denial::Blocked));
    }
    let nothing = limiter.try_acquire_all_at::<&str>(&[], NOW).unwrap();
    assert!(nothing.is_allowed() && nothing.key().is_none());
    assert_eq!((nothing.remaining(), nothing.reset_after()), (u64::MAX, Duration::ZERO));
    assert_eq!(limiter.policy_of(nothing.decision()), None);
    let stats = limiter.stats();
    assert_eq!((stats.occupied, stats.admitted, stats.denied), (0, 1, 1), "looks do not count");
}

#[test]
fn a_key_named_twice_is_charged_the_sum() {
    let limiter = limiter();
    let call = |charges: &[(&str, u64)]| limiter.try_acquire_all_at(charges, NOW).unwrap();
    let all = call(&[("a", 4), ("b", 1), ("a", 5), ("b", 0)]);
    assert_eq!((all.is_allowed(), all.key(), all.remaining()), (true, Some(0), 1));
    assert_eq!([left(&limiter, "a"), left(&limiter, "b")], [1, 9]);
    let denied = call(&[("b", 1), ("a", 1), ("a", 1)]);
    assert_eq!((denied.is_denied(), denied.key(), denied.remaining()), (true, Some(1), 1));
    assert_eq!([left(&limiter, "a"), left(&limiter, "b")], [1, 9]);
    // Sums end at the end of their type.
    assert_eq!(call(&[("b", u64::MAX), ("b", 2)]).retry(), Retry::Never);
    assert_eq!(limiter.stats().admitted, 2, "two keys");
}

#[test]
fn sixteen_keys_are_the_most() {
    let limiter = limiter();
    let keys: Vec<u64> = (0..17).collect();
    assert!(limiter.try_acquire_all(&keys[..Limiter::MAX_KEYS_AT_ONCE]).unwrap().is_allowed());
    let occupied = limiter.stats().occupied;
    assert_eq!(occupied, 16);
    let fault = limiter.try_acquire_all(&keys).unwrap_err();
    assert!(fault.is_range());
    assert_eq!(fault.field(), Some("the number of keys"));
    assert_eq!(fault.to_string(), "the number of keys is 17, expected at most 16 in one call");
    // Mentions count, not different keys.
    assert!(limiter.tier("gold").try_acquire_all_at(&[(1_u64, 0); 17], NOW).is_err());
    let stats = limiter.stats();
    assert_eq!((stats.occupied, stats.admitted, stats.unknown_tier), (16, 16, 0));
}

/// The verbs that read the clock, and those of a tier.
#[test]
fn the_clock_and_tiers() {
    let clock = ManualClock::new(NOW);
    let rules = Rules::builder().default(policy(&["2/s"])).tier("gold", policy(&["4/s"]));
    let limiter =
        Limiter::builder(rules.build().unwrap()).max_keys(8).clock(clock.clone()).build().unwrap();
    let gold = limiter.tier("gold");
    let keys = [Key::Text("user"), Key::Unsigned(7)];
    assert_eq!(limiter.try_acquire_all(&keys).unwrap().remaining(), 1);
    // Half of four, and one less.
    assert_eq!(gold.try_acquire_all(&keys).unwrap().remaining(), 1);
    assert_eq!(gold.try_acquire_all_at(&[("user", 1), ("new", 2)], NOW).unwrap().remaining(), 0);
    let denied = limiter.try_acquire_all(&keys).unwrap();
    assert_eq!((denied.key(), denied.retry()), (Some(0), Retry::After(Duration::from_millis(500))));
    clock.advance(Duration::from_millis(500));
    assert!(limiter.try_acquire_all(&keys).unwrap().is_allowed());
    let silver = limiter.tier("silver");
    assert!(silver.try_acquire_all_at(&[("user", 0)], NOW).unwrap().is_allowed());
    assert!(silver.try_acquire_all(&keys).unwrap().is_denied());
    assert_eq!(limiter.stats().unknown_tier, 1, "a look is not counted");
}

/// By a clock that was stepped back, the keys that refuse count on from its reading, so that the
/// hint of the denial holds; those that would have admitted are left alone.
#[test]
fn a_stepped_clock_counts_for_those_that_refuse() {
    let limiter = limiter();
    let ahead = NOW + DAY * 2;
    let keys = [("user:a", 1), ("x", 1)];
    assert!(limiter.try_acquire_all_at(&[("user:a", 2), ("x", 5)], ahead).unwrap().is_allowed());
    let denied = limiter.try_acquire_all_at(&keys, NOW).unwrap();
    assert_eq!((denied.key(), denied.retry()), (Some(0), Retry::After(Duration::from_secs(30))));
    let then = NOW + Duration::from_secs(30);
    assert_eq!(limiter.peek_at("x", 0, then).remaining(), 5, "no time has passed for this one");
    let allowed = limiter.try_acquire_all_at(&keys, then).unwrap();
    assert_eq!((allowed.is_allowed(), allowed.remaining()), (true, 0));
    assert_eq!(limiter.peek_at("x", 0, then).remaining(), 4);
}

/// Those that owe least are forgotten, though never for one another.
#[test]
fn victims_are_not_keys_of_the_call() {
    let builder = Limiter::builder(Limit::per_day(100).unwrap()).max_keys(4);
    let limiter = builder.overflow(Overflow::Evict).build().unwrap();
    for (key, cost) in [("a", 1), ("b", 20), ("c", 30), ("d", 40), ("e", 2)] {
        assert!(limiter.try_acquire_at(key, cost, NOW).is_allowed());
    }
    let spent = |key: &str| 100 - left(&limiter, key);
    let call = |charges: &[(&str, u64)]| limiter.try_acquire_all_at(charges, NOW).unwrap();
    assert!(call(&[("new", 5), ("a", 1)]).is_allowed());
    assert_eq!(["a", "e", "new", "b"].map(spent), [2, 0, 5, 20]);
    // A denial forgets nobody.
    assert!(call(&[("f", 1), ("g", 101)]).is_denied());
    assert_eq!(["a", "b", "c", "d", "new"].map(spent), [2, 20, 30, 40, 5]);
    assert!(call(&[("f", 1), ("g", 1), ("new", 0)]).is_allowed());
    assert_eq!(["a", "new", "b", "f", "g"].map(spent), [0, 0, 20, 1, 1]);
    let stats = limiter.stats();
    assert_eq!((stats.evicted_forced, stats.forgiven_tokens, stats.occupied), (3, 2 + 2 + 5, 5));
    // Five slots are not enough for six keys, ever.
    let six = ["1", "2", "3", "4", "5", "6"].map(|key| (key, 1));
    let denied = call(&six);
    assert_eq!((denied.retry(), denied.key()), (Retry::Never, Some(5)));
    assert_eq!(denied.decision().denial(), Some(Denial::StoreFull));
    assert_eq!(["b", "c", "d", "f", "g"].map(spent), [20, 30, 40, 1, 1]);
    assert!(call(&six[..5]).is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.evicted_forced, stats.store_full, stats.occupied), (8, 1, 5));
}

/// In a store too full for a call, a refusal says when there will be room for all of it.
#[test]
fn a_refusal_names_the_time_at_which_there_are_slots() {
    for max_keys in [4, 60, 900] {
        let builder = Limiter::builder(Limit::per_second(1).unwrap().burst(1_000).unwrap());
        let builder = builder.max_keys(max_keys).overflow(Overflow::Refuse);
        let limiter = builder.build().unwrap();
        let mut taken = 0_u64;
        while limiter.stats().occupied < limiter.stats().slots {
            let _ = limiter.try_acquire_at(taken, 1 + taken % 1_000, NOW);
            taken += 1;
        }
        let new = ["x", "y", "z"].map(|key| (key, 1));
        let denied = limiter.try_acquire_all_at(&new, NOW).unwrap();
        assert_eq!(denied.decision().denial(), Some(Denial::StoreFull));
        let Retry::After(wait) = denied.retry() else { panic!("{denied:?}") };
        assert_eq!(denied.reset_after(), wait);
        assert!(limiter.try_acquire_all_at(&new, NOW + wait).unwrap().is_allowed(), "{max_keys}");
        if max_keys == 4 {
            assert_eq!(wait, Duration::from_secs(3), "the third to refill");
        }
    }
}

/// By a refusal, the keys that would have admitted are left as they are, wherever they stand in
/// time.
#[test]
fn a_refusal_leaves_the_others_in_their_time() {
    let builder = Limiter::builder(policy(&["10/s"])).max_keys(4).overflow(Overflow::Refuse);
    let limiter = builder.build().unwrap();
    for key in 0..5_u64 {
        assert!(limiter.try_acquire_at(key, 5, NOW + DAY).is_allowed());
    }
    let denied = limiter.try_acquire_all_at(&[(0_u64, 1), (100, 1)], NOW).unwrap();
    assert_eq!((denied.key(), denied.decision().denial()), (Some(1), Some(Denial::StoreFull)));
    let later = NOW + Duration::from_millis(200);
    assert_eq!([0_u64, 1].map(|key| limiter.peek_at(key, 0, later).remaining()), [5, 7]);
}

/// After a clock that was ahead is set right, the keys that it left owing in the future refill once
/// they are in the way of a call, and its hint is true.
#[test]
fn a_clock_set_right_frees_slots_for_a_call() {
    for specs in [&["10/s"][..], &["10/s sliding-log"], &["10/s fixed-window", "20/min burst 10"]] {
        for overflow in [Overflow::Refuse, Overflow::Evict] {
            let builder = Limiter::builder(policy(specs)).max_keys(4).overflow(overflow);
            let limiter = builder.build().unwrap();
            for key in 0..5_u64 {
                assert!(limiter.try_acquire_at(key, 10, NOW + DAY).is_allowed());
            }
            let call = |now: Nanos| {
                let keys = [(100_u64, 1), (101, 1), (0, 0)];
                limiter.try_acquire_all_at(&keys, now).unwrap()
            };
            let first = call(NOW);
            assert_eq!(first.is_allowed(), overflow == Overflow::Evict, "{specs:?}");
            let Retry::After(wait) = first.retry() else { continue };
            assert!(wait < Duration::from_secs(61), "{specs:?}: {wait:?}");
            assert!(call(NOW + wait).is_allowed(), "{specs:?}");
        }
    }
}

/// Keys that share a state are counted, and so are those that leave it owing.
#[test]
fn those_who_share_and_leave_are_counted() {
    let builder = Limiter::builder(policy(&["6/min"])).max_keys(4).overflow(Overflow::Share);
    let limiter = builder.build().unwrap();
    for key in 0..5_u64 {
        assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
    }
    let call = |charges: &[(u64, u64)], now| limiter.try_acquire_all_at(charges, now).unwrap();
    let all = call(&[(0, 1), (10, 2), (11, 1)], NOW);
    assert_eq!((all.is_allowed(), all.key(), all.remaining()), (true, Some(1), 3));
    let denied = call(&[(0, 1), (12, 2), (13, 2)], NOW);
    assert_eq!((denied.is_denied(), denied.key(), denied.remaining()), (true, Some(1), 3));
    assert_eq!(denied.retry(), Retry::After(Duration::from_secs(10)));
    let stats = limiter.stats();
    assert_eq!((stats.shared, stats.left_shared, stats.admitted), (4, 0, 5 + 3));
    // One wanted more than what they share can ever have.
    assert_eq!(call(&[(12, 4), (13, 3)], NOW).retry(), Retry::Never);
    // Ten seconds later the slots of the four that spent one token are free, while two of the three
    // that were shared are still owed: three keys leave that state.
    let later = NOW + Duration::from_secs(10);
    assert!(call(&[(10, 1), (11, 1), (12, 1)], later).is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.shared, stats.left_shared, stats.store_full), (6, 3, 0));
}

#[test]
fn nothing_is_allocated() {
    for overflow in Overflow::ALL {
        let rules = Rules::builder()
            .default(policy(&["10/s", "9/s sliding-log"]))
            .tier("gold", policy(&["20/min sliding-window", "30/h sliding-log"]));
        let builder = Limiter::builder(rules.build().unwrap()).max_keys(900).overflow(overflow);
        let limiter = builder.max_log_entries(700).build().unwrap();
        let gold = limiter.tier("gold");
        let mut allowed = 0_u64;
        let counted = measure(|| {
            for key in 0..2_000_u64 {
                let now = NOW + Duration::from_micros(key * 100);
                let charges = [("a", key), ("b", key / 2), ("c", key % 400)].map(|key| (key, 1));
                allowed +=
                    u64::from(limiter.try_acquire_all_at(&charges, now).unwrap().is_allowed());
                allowed += u64::from(gold.try_acquire_all_at(&charges, now).unwrap().is_allowed());
            }
        });
        assert_eq!(counted.count_total, 0, "{overflow}: {counted:?}");
        let stats = limiter.stats();
        assert!(allowed > 100 && stats.denied > 100 && stats.store_full > 0, "{allowed} {stats:?}");
    }
}

//! The short verbs, the settings and the figures of a limiter, one by one.

use std::time::Duration;

use brimful::{
    Algorithm, Limit, Limiter, LimiterBuilder, ManualClock, Nanos, Overflow, Policy, Retry, Rules,
    RulesBuilder,
};

const NOW: Nanos = Nanos::from_secs(1_800_000_000);

fn rules(default: impl Into<Policy>, more: impl FnOnce(RulesBuilder) -> RulesBuilder) -> Rules {
    more(Rules::builder().default(default)).build().unwrap()
}

fn limiter(limit: &str, clock: &ManualClock) -> Limiter {
    let limit: Limit = limit.parse().unwrap();
    Limiter::builder(limit).max_keys(8).clock(clock.clone()).build().unwrap()
}

#[test]
fn constructors_take_the_limits_of_their_names() {
    for (limiter, limit) in [
        (Limiter::per_second(2), Limit::per_second(2)),
        (Limiter::per_minute(2), Limit::per_minute(2)),
        (Limiter::per_hour(2), Limit::per_hour(2)),
        (Limiter::per_day(2), Limit::per_day(2)),
        (Limiter::new(Limit::per_hour(3).unwrap()), Limit::per_hour(3)),
    ] {
        let (limiter, limit) = (limiter.unwrap(), limit.unwrap());
        let decision = limiter.try_acquire("key");
        assert_eq!(limiter.limit_of(&decision).as_ref(), Some(&limit));
        assert_eq!(limiter.policy_of(&decision).as_deref(), Some(&Policy::from(limit)));
    }
    assert!(Limiter::per_second(0).unwrap_err().is_range());
}

#[test]
fn a_decision_names_its_policy_also_without_a_limit() {
    let limiter = Limiter::builder(rules(Limit::per_day(1).unwrap(), |rules| {
        rules.exact("free", Policy::unlimited()).exact("shut", Policy::blocked())
    }))
    .build()
    .unwrap();
    for (key, policy) in [("free", Policy::unlimited()), ("shut", Policy::blocked())] {
        let decision = limiter.try_acquire_at(key, 1, NOW);
        assert_eq!(limiter.policy_of(&decision).as_deref(), Some(&policy));
        assert_eq!(limiter.limit_of(&decision), None);
    }
}

/// Every verb that reads the clock does at its time what its twin does when told the time.
#[test]
fn verbs_read_the_clock() {
    let clock = ManualClock::new(NOW);
    let (told, reads) = (limiter("2/s", &clock), limiter("2/s", &clock));
    assert_eq!(reads.peek("k", 2), told.peek_at("k", 2, NOW));
    assert!(reads.allow("k") && told.try_acquire_at("k", 1, NOW).is_allowed());
    assert_eq!(reads.try_acquire("k"), told.try_acquire_at("k", 1, NOW));
    assert!(!reads.allow("k") && told.try_acquire_at("k", 1, NOW).is_denied());
    let denied = reads.try_acquire_n("k", 2);
    assert_eq!(denied, told.try_acquire_at("k", 2, NOW));
    assert_eq!(denied.retry(), Retry::After(Duration::from_secs(1)));
    assert_eq!(reads.refund("k", 1), 1);
    assert_eq!(told.refund_at("k", 1, NOW), 1);
    clock.advance(Duration::from_millis(250));
    let later = NOW + Duration::from_millis(250);
    let peeked = reads.peek("k", 2);
    assert_eq!(peeked, told.peek_at("k", 2, later));
    assert_eq!(peeked.retry_after(), Some(Duration::from_millis(250)));
    // What was refunded last is all that is owed: a quarter of a second has paid half a token.
    assert_eq!(reads.refund("k", 9), 1);
    assert_eq!(reads.refund("k", 9), 0);
    assert!(reads.reset("k") && !reads.reset("k"));
    assert_eq!(reads.try_acquire_n("k", 2).remaining(), 0);
}

#[test]
fn decisions_are_counted_and_looks_are_not() {
    let limiter = Limiter::builder(rules("3/day".parse::<Limit>().unwrap(), |rules| {
        rules
            .exact("gold", Policy::from(Limit::per_day(9).unwrap()).named("gold").unwrap())
            .exact("free", Policy::unlimited())
            .exact("shut", Policy::blocked())
    }))
    .max_keys(8)
    .build()
    .unwrap();
    for (key, cost, times) in [("a", 1, 5), ("gold", 5, 2), ("free", 7, 4), ("shut", 1, 3)] {
        for _ in 0..times {
            let _ = limiter.peek_at(key, cost, NOW);
            let _ = limiter.try_acquire_at(key, 0, NOW);
            let _ = limiter.try_acquire_at(key, cost, NOW);
        }
    }
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied), (3 + 1 + 4, 2 + 1 + 3));
    let mut denied = stats.denied_by_policy;
    denied.sort();
    let names: Vec<(&str, u64)> = denied.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(names.iter().map(|(_, n)| n).sum::<u64>(), 6, "{names:?}");
    assert!(names.contains(&("gold", 1)), "{names:?}");
    assert_eq!(stats.occupied, 2);
    assert_eq!(stats.max_keys, 8);
    assert_eq!((stats.evicted_lossless, stats.evicted_forced, stats.forgiven_tokens), (0, 0, 0));
    assert_eq!((stats.store_full, stats.shared, stats.left_shared), (0, 0, 0));
    assert_eq!((stats.log_entries, stats.max_log_entries), (0, 0));
}

/// Policies of one name are one line of the figures.
#[test]
fn denials_are_summed_by_the_name_of_the_policy() {
    let named = |limit: Limit, name| Policy::from(limit).named(name).unwrap();
    let limiter = Limiter::builder(rules(named(Limit::per_day(1).unwrap(), "all"), |rules| {
        rules
            .exact("x", named(Limit::per_day(2).unwrap(), "some"))
            .exact("y", named(Limit::per_day(3).unwrap(), "some"))
            .exact("z", named(Limit::per_day(4).unwrap(), "all"))
            .exact("idle", named(Limit::per_day(4).unwrap(), "not in the list"))
    }))
    .build()
    .unwrap();
    for (key, denials) in [("w", 1), ("x", 2), ("y", 4), ("z", 8)] {
        for _ in 0..denials {
            assert!(limiter.try_acquire_at(key, 5, NOW).is_never());
        }
    }
    let mut denied = limiter.stats().denied_by_policy;
    denied.sort();
    assert_eq!(denied, [("all".to_owned(), 9), ("some".to_owned(), 6)]);
    assert_eq!(limiter.stats().denied, 15);
}

/// At most five slots for four keys; few keys in one set, some in sets of 13 to 16.
#[test]
fn slots_follow_the_number_of_keys() {
    let slots = |max_keys| {
        let builder = Limiter::builder(Limit::per_day(1).unwrap()).max_keys(max_keys);
        builder.build().unwrap().stats().slots
    };
    for (max_keys, expected) in [
        (1, 1),
        (3, 3),
        (4, 5),
        (8, 10),
        (51, 63),
        (52, 5 * 13),
        (64, 5 * 16),
        (65, 6 * 13),
        (819, 64 * 15),
        (820, 1_024),
        (824, 1_028),
        (100_000, 125_000),
    ] {
        assert_eq!(slots(max_keys), expected, "{max_keys} keys");
    }
    assert_eq!(slots(LimiterBuilder::DEFAULT_MAX_KEYS), 125_000);
    let default = Limiter::per_day(1).unwrap().stats();
    assert_eq!((default.max_keys, default.slots), (100_000, 125_000));
}

/// 32 bytes for a slot of one limit, 12 more on average for each further one; 16 for an entry.
#[test]
fn bytes_follow_slots_limits_and_entries() {
    let policy = |limits: u64, algorithm| {
        let limit = |n| Limit::per_day(n).unwrap().algorithm(algorithm).unwrap();
        Policy::new((1..=limits).map(limit)).unwrap()
    };
    let stats = |policy, overflow| {
        let builder = Limiter::builder(policy).max_keys(100_000).max_given(0).overflow(overflow);
        builder.build().unwrap().stats()
    };
    for (limits, words) in (1..=8).zip([4_u64, 6, 7, 9, 10, 12, 13, 15]) {
        let found = stats(policy(limits, Algorithm::TokenBucket), Overflow::Evict);
        assert_eq!(found.bytes, (125_000 * words * 8).next_multiple_of(128), "{limits} limits");
        // A shared state more, and sixteen for policies of later rules, in whole lines.
        let shared = stats(policy(limits, Algorithm::TokenBucket), Overflow::Share);
        let states = (17 * words * 8).next_multiple_of(128);
        assert_eq!(shared.bytes, found.bytes + states, "{limits} limits");
    }
    let logs = stats(policy(1, Algorithm::SlidingLog), Overflow::Refuse);
    assert_eq!(logs.max_log_entries, 4 * 125_000, "four for each slot");
    // And eight that only looks use.
    assert_eq!(logs.bytes, 125_000 * 32 + 16 * (logs.max_log_entries + 8));
}

#[test]
fn a_store_for_logs_has_room_for_the_largest() {
    let log = |tokens| Limit::per_day(tokens).unwrap().algorithm(Algorithm::SlidingLog).unwrap();
    let builder =
        || Limiter::builder(rules(log(5), |rules| rules.exact("k", log(1_000)))).max_keys(8);
    let limiter = builder().build().unwrap();
    assert_eq!(limiter.stats().max_log_entries, 1_000);
    for ns in 0..1_000 {
        assert!(limiter.try_acquire_at("k", 1, NOW + Duration::from_nanos(ns)).is_allowed());
        assert_eq!(limiter.stats().log_entries, ns + 1);
    }
    for entries in [1, 7, 40, 2_000] {
        let limiter = builder().max_log_entries(entries).build().unwrap();
        assert_eq!(limiter.stats().max_log_entries, entries);
    }
    // Without logs there are none, unless they are asked for: limits may come with calls.
    let without = || Limiter::builder(Limit::per_day(1).unwrap());
    assert_eq!(without().build().unwrap().stats().max_log_entries, 0);
    let limiter = without().max_log_entries(7).build().unwrap();
    assert_eq!(limiter.stats().max_log_entries, 7);
    let fault = builder().max_log_entries(0).build().unwrap_err();
    assert!(fault.to_string().contains("1 to 4294967286"), "{fault}");
    // Each of the logs of a policy needs one for a request.
    let two = || Policy::new([log(5), log(6)]).unwrap();
    let fault = Limiter::builder(two()).max_log_entries(1).build().unwrap_err();
    assert!(fault.to_string().contains("at least 2"), "{fault}");
}

#[test]
fn overflow_policies_are_read_by_their_names() {
    for (overflow, name) in Overflow::ALL.into_iter().zip(["evict", "refuse", "share"]) {
        assert_eq!(overflow.name(), name);
        assert_eq!(overflow.to_string(), name);
        assert_eq!(format!("{overflow:8}|"), format!("{name:8}|"));
        assert_eq!(name.parse::<Overflow>().unwrap(), overflow);
    }
    assert_eq!(Overflow::default(), Overflow::Evict);
    let fault = "drop".parse::<Overflow>().unwrap_err();
    assert_eq!(fault.field(), Some("overflow"));
    assert!(fault.to_string().contains("evict, refuse or share"), "{fault}");
}

#[test]
fn debug_output_shows_what_is_set_and_no_secret() {
    let builder = Limiter::builder(rules(Limit::per_day(1).unwrap(), |rules| {
        rules.exact("k", Policy::blocked())
    }))
    .max_keys(77)
    .overflow(Overflow::Share)
    .secret([0x1234_5678_9abc, 0xdef0_1234_5678]);
    let shown = format!("{builder:?}");
    for part in ["LimiterBuilder", "max_keys: 77", "Share", "1/day"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let limiter = builder.build().unwrap();
    let built = format!("{limiter:?}");
    assert!(built.contains("Limiter") && built.contains("max_keys: 77"), "{built}");
    for secret in ["20015998343868", "245127176246904"] {
        assert!(!shown.contains(secret) && !built.contains(secret));
    }
}

/// A tier's verbs are those of the limiter, by the tier's policy and the limiter's clock.
#[test]
fn a_tier_has_the_same_verbs() {
    let clock = ManualClock::new(NOW);
    let rules = rules(Limit::per_day(1).unwrap(), |rules| {
        rules.tier("gold", Limit::per_second(4).unwrap())
    });
    let limiter = Limiter::builder(rules).max_keys(8).clock(clock.clone()).build().unwrap();
    let gold = limiter.tier("gold");
    assert!(gold.is_known() && !limiter.tier("silver").is_known());
    assert_eq!(gold.peek("k", 1).remaining(), 3);
    assert!(gold.allow("k"));
    assert_eq!(gold.try_acquire("k").remaining(), 2);
    assert_eq!(gold.try_acquire_n("k", 2).remaining(), 0);
    assert!(!gold.allow("k") && gold.peek("k", 1).is_denied());
    clock.advance(Duration::from_millis(250));
    assert_eq!(gold.peek_at("k", 1, NOW).retry(), Retry::After(Duration::from_millis(250)));
    assert!(gold.allow("k") && !gold.allow("k"));
    assert_eq!(gold.try_acquire_at("k", 1, NOW + Duration::from_millis(500)).remaining(), 0);
    assert_eq!(limiter.stats().unknown_tier, 0);
}

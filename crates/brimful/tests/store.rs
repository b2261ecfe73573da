//! The store: bounded, lossless while what owes fits, and explicit about what it does when not.

use std::collections::BTreeMap;
use std::time::Duration;

use brimful::{
    Decision, Denial, Limit, Limiter, LimiterBuilder, Nanos, Overflow, Policy, Retry, Rules,
};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_800_000_000);

fn policies() -> Vec<(&'static str, Policy)> {
    let parse = |specs: &[&str]| Policy::parse(specs.iter().copied()).unwrap();
    vec![
        ("token bucket", parse(&["10/s burst 5"])),
        ("fixed window", parse(&["5/s fixed-window"])),
        ("sliding log", parse(&["5/s sliding-log"])),
        ("sliding window", parse(&["5/s sliding-window"])),
        (
            "three limits",
            parse(&["10/s burst 5", "20 per 5s fixed-window", "6 per 2s sliding-log"]),
        ),
        (
            "eight limits",
            parse(&[
                "10/s burst 5",
                "11/s burst 6",
                "6/s fixed-window",
                "7/s sliding-window",
                "8/s sliding-log",
                "9/s sliding-log",
                "30 per 4s",
                "40 per 5s sliding-window",
            ]),
        ),
    ]
}

/// Spends 1 of `key`, which the limiter has never seen.
fn spend(limiter: &Limiter, key: u64) -> Decision {
    limiter.try_acquire_at(key, 1, NOW)
}

/// A store at exactly `max_keys` owing keys, of which one after the other is replaced, finds a
/// slot for every newcomer. Sizes around the borders between one set, larger and small sets.
#[test]
fn newcomers_find_a_slot() {
    let limit = Limit::per_day(1).unwrap();
    let mut replaced = 0_u64;
    for max_keys in [1, 2, 3, 5, 50, 51, 52, 63, 64, 100, 500, 819, 820, 1_000, 10_000, 100_000] {
        let builder = Limiter::builder(limit.clone()).max_keys(max_keys).secret([max_keys, 7]);
        let limiter = builder.overflow(Overflow::Refuse).build().unwrap();
        let stats = limiter.stats();
        assert!(
            stats.slots >= max_keys && stats.slots * 4 <= max_keys * 5,
            "{max_keys}: {stats:?}"
        );
        let mut live: Vec<u64> = (0..max_keys).collect();
        for key in &live {
            assert!(spend(&limiter, *key).is_allowed(), "{max_keys}: key {key} found no slot");
        }
        let mut random = SplitMix64::new(max_keys);
        for next in (max_keys..).take(usize::try_from(max_keys.max(10_000) * 3).unwrap()) {
            let place = usize::try_from(random.below(max_keys)).unwrap();
            assert!(limiter.reset(live[place]));
            assert!(spend(&limiter, next).is_allowed(), "{max_keys}: key {next} found no slot");
            live[place] = next;
            replaced += 1;
        }
        assert_eq!(limiter.stats().store_full, 0);
        assert_eq!(limiter.stats().occupied, max_keys);
        assert!(live.iter().all(|key| limiter.peek_at(*key, 1, NOW).is_denied()), "a key was lost");
    }
    println!("newcomers_find_a_slot: {replaced} replacements at max_keys, no miss");
}

/// A small store and one that never evicts decide alike, as long as the keys that owe fit.
#[test]
fn eviction_is_lossless() {
    for (name, policy) in policies() {
        for max_keys in [1_u64, 8, 51, 300, 1_200] {
            let build = |builder: LimiterBuilder| builder.max_log_entries(200_000).build().unwrap();
            let small = build(Limiter::builder(policy.clone()).max_keys(max_keys));
            let large = build(Limiter::builder(policy.clone()).max_keys(50_000));
            let evicted = lossless_trace(&small, &large, max_keys);
            assert!(evicted > max_keys, "{name}, {max_keys} keys: only {evicted} were replaced");
            assert_eq!(small.stats().evicted_forced, 0, "{name}, {max_keys} keys");
        }
    }
}

/// Runs one trace through both and returns how many slots of the small one were reused.
fn lossless_trace(small: &Limiter, large: &Limiter, max_keys: u64) -> u64 {
    let mut random = SplitMix64::new(max_keys);
    let mut now = NOW;
    // Keys that owe, by the time at which they are as good as new.
    let mut owing: BTreeMap<(Nanos, u64), ()> = BTreeMap::new();
    let mut full_at: BTreeMap<u64, Nanos> = BTreeMap::new();
    let mut newest = 0;
    for _ in 0..40_000 {
        now = now + Duration::from_nanos(random.below(4_000_000_000 / max_keys + 2));
        while owing.first_key_value().is_some_and(|((full, _), ())| *full <= now) {
            let ((_, key), ()) = owing.pop_first().unwrap();
            full_at.remove(&key);
        }
        let is_room = u64::try_from(owing.len()).unwrap() < max_keys;
        let key = match random.below(3) {
            0 if is_room => {
                newest += 1;
                newest
            }
            _ => match owing.keys().nth(random.below(max_keys).try_into().unwrap()) {
                Some((_, key)) => *key,
                None if is_room => newest,
                None => owing.first_key_value().unwrap().0.1,
            },
        };
        let cost = random.below(7);
        let (a, b) = (small.try_acquire_at(key, cost, now), large.try_acquire_at(key, cost, now));
        assert_eq!(a, b, "key {key}, cost {cost} at {now:?}");
        if let Some(full) = full_at.remove(&key) {
            owing.remove(&(full, key));
        }
        if !b.reset_after().is_zero() {
            let full = now + b.reset_after();
            full_at.insert(key, full);
            owing.insert((full, key), ());
        }
    }
    small.stats().evicted_lossless
}

#[test]
fn the_victim_owes_the_smallest_fraction_and_of_equals_the_fewest_tokens() {
    // One set of five slots, all of them candidates.
    let rules = Rules::builder()
        .default(Limit::per_day(100).unwrap())
        .exact("large", Limit::per_day(1_000_000).unwrap())
        .exact("slow", Limit::new(10, Duration::from_secs(365 * 86_400)).unwrap());
    let limiter = Limiter::builder(rules.build().unwrap()).max_keys(4).build().unwrap();
    limiter.try_acquire_at("large", 200_000, NOW); // a fifth
    limiter.try_acquire_at("slow", 1, NOW); // a tenth, for 36 days
    limiter.try_acquire_at("a", 10, NOW); // a tenth as well, but ten tokens
    limiter.try_acquire_at("b", 30, NOW);
    limiter.try_acquire_at("c", 100, NOW);
    assert_eq!(limiter.stats().occupied, 5);

    let forgiven = |key: &str| {
        let _ = limiter.try_acquire_at(key, 99, NOW);
        limiter.stats().forgiven_tokens
    };
    assert_eq!(forgiven("n1"), 1); // slow
    assert_eq!(forgiven("n2"), 1 + 10); // a
    assert_eq!(forgiven("n3"), 1 + 10 + 200_000); // large
    assert_eq!(forgiven("n4"), 1 + 10 + 200_000 + 30); // b
    assert!(limiter.peek_at("c", 1, NOW).is_denied(), "the deepest debtor was shielded");
    assert_eq!(limiter.stats().evicted_forced, 4);
}

#[test]
fn refuse_names_the_time_at_which_a_slot_is_free() {
    for (name, policy) in policies() {
        let builder = Limiter::builder(policy).max_keys(4).overflow(Overflow::Refuse);
        let limiter = builder.build().unwrap();
        for key in 0..5_u64 {
            let at = NOW + Duration::from_millis(key);
            assert!(limiter.try_acquire_at(key, 1 + key % 3, at).is_allowed());
        }
        let now = NOW + Duration::from_millis(7);
        let refused = limiter.try_acquire_at("newcomer", 1, now);
        assert_eq!(limiter.peek_at("newcomer", 1, now), refused, "{name}");
        assert_eq!(refused.denial(), Some(Denial::StoreFull), "{name}");
        let Retry::After(wait) = refused.retry() else { panic!("{name}: {refused:?}") };
        let early = now + (wait - Duration::from_nanos(1));
        assert!(limiter.peek_at("newcomer", 1, early).is_denied(), "{name}: one ns early");
        assert!(limiter.try_acquire_at("newcomer", 1, now + wait).is_allowed(), "{name}");
        // Looks, denials by a limit, and refunds take no slot and are not refused.
        assert!(limiter.try_acquire_at("other", 0, now).is_allowed(), "{name}");
        assert!(limiter.try_acquire_at("other", 1_000, now).is_never(), "{name}");
        assert_eq!(limiter.refund_at("other", 5, now), 0, "{name}");
    }
}

#[test]
fn share_gives_keys_without_a_slot_one_budget() {
    for (name, policy) in policies() {
        let capacity = policy.limits().iter().map(Limit::capacity).min().unwrap();
        let rules = Rules::builder().default(policy).exact("own", Limit::per_day(3).unwrap());
        let builder = Limiter::builder(rules.build().unwrap()).max_keys(4);
        let limiter = builder.overflow(Overflow::Share).build().unwrap();
        for key in 0..5_u64 {
            assert!(spend(&limiter, key).is_allowed());
        }
        // All strangers together get what one of them would have got.
        for stranger in 100..100 + capacity {
            assert!(limiter.peek_at(stranger, 1, NOW).is_allowed(), "{name}");
            assert!(spend(&limiter, stranger).is_allowed(), "{name}");
        }
        assert!(limiter.peek_at(999_u64, 1, NOW).is_denied(), "{name}");
        let denied = spend(&limiter, 999);
        assert_eq!(denied.denial(), Some(Denial::Limit), "{name}");
        // Another policy shares its own state.
        assert!(limiter.try_acquire_at("own", 3, NOW).is_allowed(), "{name}");
        assert_eq!(limiter.stats().left_shared, 0);
        // When a slot is free again, its taker starts full there, and is counted.
        assert!(limiter.reset(0_u64));
        assert_eq!(spend(&limiter, 999).remaining(), capacity - 1, "{name}");
        assert_eq!(limiter.stats().left_shared, 1, "{name}");
    }
}

#[test]
fn a_full_arena_is_an_overflow_like_any_other() {
    let log = || Limit::new(4, Duration::from_secs(1)).unwrap();
    let log = || log().algorithm(brimful::Algorithm::SlidingLog).unwrap();
    let build = |overflow| {
        let builder = Limiter::builder(log()).max_keys(8).max_log_entries(6);
        builder.overflow(overflow).build().unwrap()
    };
    let at = |ms: u64| NOW + Duration::from_millis(ms);
    for overflow in Overflow::ALL {
        let limiter = build(overflow);
        // Six entries: four of "a", two of "b".
        for ms in 0..4 {
            assert!(limiter.try_acquire_at("a", 1, at(ms)).is_allowed());
        }
        for ms in 4..6 {
            assert!(limiter.try_acquire_at("b", 1, at(ms)).is_allowed());
        }
        assert_eq!(limiter.stats().log_entries, 6);
        let peeked = limiter.peek_at("c", 1, at(6));
        let decision = limiter.try_acquire_at("c", 1, at(6));
        assert_eq!(peeked, decision, "{overflow}");
        if overflow == Overflow::Evict {
            assert!(decision.is_allowed());
            let stats = limiter.stats();
            assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (1, 2), "b owed less");
            assert!(limiter.peek_at("a", 1, at(6)).is_denied());
        } else {
            assert_eq!(decision.denial(), Some(Denial::StoreFull), "{overflow}");
            // The same instant needs no new entry.
            assert!(limiter.try_acquire_at("b", 1, at(5)).is_allowed(), "{overflow}");
            let wait = decision.retry_after().unwrap();
            assert!(limiter.try_acquire_at("c", 1, at(6) + wait).is_allowed(), "{overflow}");
        }
    }
}

/// Expired entries of idle keys are found again: a store whose live entries fit never overflows.
#[test]
fn idle_logs_give_their_entries_back() {
    let limit = Limit::new(4, Duration::from_secs(1)).unwrap();
    let limit = limit.algorithm(brimful::Algorithm::SlidingLog).unwrap();
    // 1,250 slots in 312 sets; (S - Z) / 2 = 844 entries may be live.
    let limiter = Limiter::builder(limit)
        .max_keys(1_000)
        .max_log_entries(2_000)
        .overflow(Overflow::Refuse)
        .build()
        .unwrap();
    let mut key = 0_u64;
    for second in 0..50 {
        // 200 keys spend four times each within a second, and are never seen again.
        for _ in 0..200 {
            key += 1;
            for ms in 0..4 {
                let at = NOW + Duration::from_millis(second * 1_000 + ms);
                assert!(limiter.try_acquire_at(key, 1, at).is_allowed(), "{:?}", limiter.stats());
            }
        }
    }
    assert_eq!(limiter.stats().store_full, 0);
}

#[test]
fn blocked_unlimited_looks_and_denials_take_no_slot() {
    let rules = Rules::builder()
        .default(Limit::per_second(5).unwrap())
        .exact("blocked", Policy::blocked())
        .exact("free", Policy::unlimited());
    let limiter = Limiter::new(rules.build().unwrap()).unwrap();
    let blocked = limiter.try_acquire_at("blocked", 0, NOW);
    assert_eq!((blocked.denial(), blocked.remaining()), (Some(Denial::Blocked), 0));
    assert!(blocked.is_never());
    let free = limiter.try_acquire_at("free", u64::MAX, NOW);
    assert_eq!((free.is_allowed(), free.remaining(), free.limit()), (true, u64::MAX, None));
    assert!(limiter.try_acquire_at("look", 0, NOW).is_allowed());
    assert!(limiter.try_acquire_at("never", 6, NOW).is_never());
    assert_eq!(limiter.refund_at("refund", 5, NOW), 0);
    assert_eq!(limiter.stats().occupied, 0);
    assert_eq!(limiter.policy_of(&blocked).as_deref(), Some(&Policy::blocked()));
    assert_eq!(limiter.stats().denied_by_policy, [("default".to_owned(), 1)]);
}

#[test]
fn settings_outside_their_range_are_refused_by_name() {
    let limit = || Limit::per_second(1).unwrap();
    let field = |builder: LimiterBuilder| builder.build().unwrap_err().field().map(str::to_owned);
    for max_keys in [0, (1 << 32) + 1, u64::MAX] {
        let fault = field(Limiter::builder(limit()).max_keys(max_keys));
        assert_eq!(fault.as_deref(), Some("max_keys"));
    }
    for entries in [0, u64::MAX] {
        let fault = field(Limiter::builder(limit()).max_log_entries(entries));
        assert_eq!(fault.as_deref(), Some("max_log_entries"));
    }
    for (given, limits) in [(65_536, 1), (0, 0), (0, 9)] {
        let builder = Limiter::builder(limit()).max_given(given).max_limits(limits);
        let expected = if given > 0 { "max_given" } else { "max_limits" };
        assert_eq!(field(builder).as_deref(), Some(expected));
    }
}

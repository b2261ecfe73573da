//! What a call for several keys finds when slots or entries are scarce.

use std::time::Duration;

use brimful::{Denial, Limit, Limiter, Overflow, Policy, Retry, Rules};
use brimful_testkit::trace::SplitMix64;

use crate::NOW;

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

/// A store at exactly `max_keys` owing keys has a slot for every newcomer of a call, each its own.
#[test]
fn newcomers_of_one_call_find_slots() {
    for max_keys in [16_u64, 60, 64, 300, 820, 3_000] {
        let builder = Limiter::builder(Limit::per_day(1).unwrap()).max_keys(max_keys);
        let limiter = builder.overflow(Overflow::Refuse).secret([max_keys, 9]).build().unwrap();
        let mut live: Vec<u64> = (0..max_keys).collect();
        for key in &live {
            assert!(limiter.try_acquire_at(*key, 1, NOW).is_allowed());
        }
        let mut random = SplitMix64::new(max_keys);
        let mut next = max_keys;
        for _ in 0..3_000 {
            let count = random.between(1, 16);
            let new: Vec<u64> = (next..next + count).collect();
            for key in &new {
                let place = usize::try_from(random.below(live.len() as u64)).unwrap();
                assert!(limiter.reset(live.swap_remove(place)));
                next = key + 1;
            }
            let charges: Vec<(u64, u64)> = new.iter().map(|key| (*key, 1)).collect();
            let all = limiter.try_acquire_all_at(&charges, NOW).unwrap();
            assert!(all.is_allowed(), "{max_keys} keys, {count} of them new: {all:?}");
            live.extend(new);
        }
        assert_eq!((limiter.stats().occupied, limiter.stats().store_full), (max_keys, 0));
        assert!(live.iter().all(|key| limiter.peek_at(*key, 1, NOW).is_denied()), "one was lost");
    }
}

/// With hardly more free slots than newcomers, a call is allowed exactly when each of them finds a
/// slot by itself: which of them has a choice, and what the others could have had, does not matter.
#[test]
fn the_last_slots_are_found() {
    let (mut found, mut missed) = (0, 0);
    for max_keys in [16_u64, 52, 60, 100, 300] {
        let build = || {
            let builder = Limiter::builder(Limit::per_day(1).unwrap()).max_keys(max_keys);
            builder.overflow(Overflow::Refuse).secret([max_keys, 2]).build().unwrap()
        };
        let (together, alone) = (build(), build());
        let spend = |key| alone.try_acquire_at(key, 1, NOW).is_allowed();
        let mut random = SplitMix64::new(max_keys);
        let mut live: Vec<u64> = Vec::new();
        let mut next = 0;
        for _ in 0..1_500 {
            // Up to a hundred keys come one by one, until nearly all slots are taken.
            for key in next..next + 100 {
                if live.len() as u64 + 1 < alone.stats().slots && spend(key) {
                    assert!(together.try_acquire_at(key, 1, NOW).is_allowed());
                    live.push(key);
                }
            }
            next += 100;
            let count = random.between(1, 16);
            for _ in 1..count {
                let place = usize::try_from(random.below(live.len() as u64)).unwrap();
                let gone = live.swap_remove(place);
                assert!(together.reset(gone) && alone.reset(gone));
            }
            let new: Vec<u64> = (next..next + count).collect();
            next += count;
            let charges: Vec<(u64, u64)> = new.iter().map(|key| (*key, 1)).collect();
            let all = together.try_acquire_all_at(&charges, NOW).unwrap();
            let singly = new.iter().filter(|key| spend(**key)).count();
            assert_eq!(
                all.is_allowed(),
                singly == new.len(),
                "{max_keys} keys, {count} new: {all:?}"
            );
            if all.is_allowed() {
                found += 1;
                live.extend(new);
            } else {
                missed += 1;
                new.iter().for_each(|key| assert!(!together.reset(*key)));
                assert_eq!(new.iter().filter(|key| alone.reset(**key)).count(), singly);
            }
        }
    }
    assert!(found > 1_000 && missed > 10, "{found} found, {missed} missed");
}

/// The same where keys of the call have slots that look free, because they owe nothing until they
/// are charged: newcomers are not sent there.
#[test]
fn refilled_keys_of_the_call_keep_their_slots() {
    let max_keys = 820;
    let rules = Rules::builder().default(policy(&["1/day"])).pattern("quick:*", policy(&["1/s"]));
    let builder = Limiter::builder(rules.build().unwrap()).max_keys(max_keys);
    let limiter = builder.overflow(Overflow::Refuse).secret([3, 4]).build().unwrap();
    let mut live: Vec<u64> = (0..max_keys - 12).collect();
    for key in &live {
        assert!(limiter.try_acquire_at(("slow", *key), 1, NOW).is_allowed());
    }
    let mut random = SplitMix64::new(5);
    for round in 1..6_000 {
        let new: Vec<u64> = (0..4).map(|key| round * 1_000 + key).collect();
        for _ in &new {
            let place = usize::try_from(random.below(live.len() as u64)).unwrap();
            assert!(limiter.reset(("slow", live.swap_remove(place))));
        }
        // Twelve quick keys of thirteen, so that one changes now and then.
        let quick = (0..13).filter(|key| *key != round / 100 % 13).map(|key| ("quick", key));
        let charges: Vec<(_, u64)> =
            quick.chain(new.iter().map(|key| ("slow", *key))).map(|key| (key, 1)).collect();
        let now = NOW + Duration::from_secs(round);
        let all = limiter.try_acquire_all_at(&charges, now).unwrap();
        assert!(all.is_allowed(), "round {round}: {all:?}");
        live.extend(new);
        // Days do not pass: what is slow owes for ever.
        for key in live.iter().skip(usize::try_from(round % 20).unwrap()).step_by(20) {
            limiter.reset(("slow", *key));
            assert!(limiter.try_acquire_at(("slow", *key), 1, now).is_allowed());
        }
    }
}

/// Expired entries of a call's own keys, and of others in their sets, are found before it is
/// denied.
#[test]
fn entries_in_the_sets_of_the_call_are_found_first() {
    for key in 0..20_u64 {
        let builder = Limiter::builder(policy(&["9 per 10s sliding-log"])).max_keys(20_000);
        let limiter = builder.max_log_entries(4).build().unwrap();
        for ns in 0..4 {
            let now = NOW + Duration::from_nanos(ns);
            assert!(limiter.try_acquire_at(key, 1, now).is_allowed());
        }
        let later = NOW + Duration::from_secs(11);
        let charges = [(key, 1), (key + 100, 1), (key + 200, 2)];
        assert!(limiter.try_acquire_all_at(&charges, later).unwrap().is_allowed(), "{key}");
        assert_eq!(limiter.stats().log_entries, 3);
    }
}

/// Keys that share a log take one entry for all of them.
#[test]
fn those_who_share_take_one_entry() {
    let builder = Limiter::builder(policy(&["9/min sliding-log"])).max_keys(4).max_log_entries(6);
    let limiter = builder.overflow(Overflow::Share).build().unwrap();
    for key in 0..5_u64 {
        assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
    }
    let all = limiter.try_acquire_all_at(&[(10_u64, 2), (11, 3)], NOW).unwrap();
    assert_eq!((all.is_allowed(), all.remaining()), (true, 4));
    assert_eq!(limiter.stats().log_entries, 6);
    let later = NOW + Duration::from_secs(1);
    let denied = limiter.try_acquire_all_at(&[(10_u64, 2), (11, 1)], later).unwrap();
    assert_eq!(denied.decision().denial(), Some(Denial::StoreFull));
    assert!(limiter.try_acquire_all_at(&[(10_u64, 2), (11, 1)], NOW).unwrap().is_allowed());
}

/// As many entries as are promised are there for these calls too, also where a few idle keys hold
/// them all, which no search of some sets would find.
#[test]
fn entries_of_idle_keys_are_given_back() {
    let builder = Limiter::builder(policy(&["6000/min sliding-log"])).max_keys(40_000);
    let builder = builder.max_given(0).max_log_entries(25_000).secret([7, 11]);
    let limiter = builder.overflow(Overflow::Refuse).build().unwrap();
    assert_eq!(limiter.stats().slots / 4, 12_500);
    for key in 0..20 {
        for call in 0..6_000 {
            let now = NOW + Duration::from_secs(key * 120) + Duration::from_nanos(call);
            let all = limiter.try_acquire_all_at(&[(key, 1)], now).unwrap();
            assert!(all.is_allowed(), "{key}, {call}: {:?}", limiter.stats());
        }
    }
}

/// A policy that came with a call gives its place back when its last key gets limits of the rules.
#[test]
fn places_of_given_policies_are_given_back() {
    let limiter = Limiter::builder(policy(&["10/s"])).max_keys(8).max_given(1).build().unwrap();
    for tokens in 100..110 {
        let now = NOW + Duration::from_secs(tokens);
        let given = Policy::from(Limit::per_day(tokens).unwrap());
        assert!(limiter.try_acquire_with("k", &given, 1, now).unwrap().is_allowed());
        let all = limiter.try_acquire_all_at(&[("k", 1), ("other", 1)], now).unwrap();
        assert!(all.is_allowed());
        assert_eq!(limiter.stats().given_policies, 1);
    }
}

/// When entries of logs are used up, all are denied, whatever the overflow policy, and nobody is
/// forgotten; expired entries of others are found first.
#[test]
fn entries_are_there_for_all_or_for_none() {
    for overflow in Overflow::ALL {
        for max_keys in [8, 2_000] {
            let builder = Limiter::builder(policy(&["3 per 10s sliding-log"])).max_keys(max_keys);
            let builder = builder.max_log_entries(4).overflow(overflow);
            let limiter = builder.build().unwrap();
            let keys = ["a", "b", "c"].map(|key| (key, 1));
            assert!(limiter.try_acquire_all_at(&keys, NOW).unwrap().is_allowed());
            let later = NOW + Duration::from_secs(1);
            for _ in 0..2 {
                let denied = limiter.try_acquire_all_at(&keys, later).unwrap();
                assert_eq!(denied.decision().denial(), Some(Denial::StoreFull), "{overflow}");
                assert_eq!(denied.key(), Some(1), "{overflow}: there is one for the first");
                assert_eq!(denied.retry(), Retry::After(Duration::from_secs(10)));
                let stats = limiter.stats();
                assert_eq!((stats.log_entries, stats.evicted_forced), (3, 0), "{overflow}");
            }
            assert_eq!(limiter.stats().store_full, 2);
            assert!(limiter.try_acquire_all_at(&keys[..1], later).unwrap().is_allowed());
            // By now those of the others have expired, wherever they are.
            let now = NOW + Duration::from_secs(10);
            let new = ["d", "e", "f"].map(|key| (key, 1));
            // (One call looks at some sets for them, the next goes on.)
            let calls = limiter.stats().slots.div_ceil(4 * 64) + 1;
            let mut again = 0..calls;
            let found = again.any(|_| limiter.try_acquire_all_at(&new, now).unwrap().is_allowed());
            assert!(found, "{overflow}, {max_keys}");
            assert_eq!(limiter.stats().log_entries, 4, "{overflow}");
        }
    }
}

/// A denied key that was last called under other limits has the new ones from then on, so that its
/// hint holds; without entries for its log, it keeps the old ones.
#[test]
fn a_refused_key_gets_its_new_limits() {
    for entries in [2, 1] {
        let rules = Rules::builder()
            .default(policy(&["10/day"]))
            .tier("fast", policy(&["10/s"]))
            .tier("log", policy(&["10/s sliding-log"]));
        let builder = Limiter::builder(rules.build().unwrap()).max_keys(8);
        let limiter = builder.max_log_entries(entries).build().unwrap();
        assert!(limiter.tier("log").try_acquire_at("other", 1, NOW).is_allowed());
        for (key, tier) in [("a", "fast"), ("b", "log")] {
            assert!(limiter.try_acquire_at(key, 10, NOW).is_allowed());
            let tier = limiter.tier(tier);
            let denied = tier.try_acquire_all_at(&[("c", 1), (key, 1)], NOW).unwrap();
            assert_eq!(denied.key(), Some(1));
            let Retry::After(wait) = denied.retry() else { panic!("{denied:?}") };
            assert!(wait <= Duration::from_secs(1), "{wait:?}");
            let then = tier.peek_at(key, 1, NOW + wait);
            assert_eq!(then.is_allowed(), key == "a" || entries == 2, "{key}, {entries}: {then:?}");
        }
    }
}

/// A store of one slot, which is taken, and the state of `a:*` to share: five an hour, in entries.
fn one_slot(entries: u64) -> Limiter {
    let rules = Rules::builder()
        .default(policy(&["1/h"]))
        .pattern("a:*", policy(&["5/h sliding-log"]))
        .pattern("b:*", policy(&["7/h sliding-log"]))
        .build()
        .unwrap();
    let builder = Limiter::builder(rules).max_keys(1).max_log_entries(entries);
    let limiter = builder.overflow(Overflow::Share).build().unwrap();
    assert!(limiter.try_acquire_at("z", 1, NOW).is_allowed());
    limiter
}

/// Two shared logs want an entry each, and one is left: the second is refused, and neither charged.
#[test]
fn a_denial_for_entries_charges_no_shared_state() {
    let limiter = one_slot(1);
    let denied = limiter.try_acquire_all_at(&[("a:1", 2), ("b:1", 3)], NOW).unwrap();
    assert_eq!(denied.decision().denial(), Some(Denial::StoreFull));
    assert_eq!((limiter.stats().log_entries, limiter.stats().shared), (0, 1));
    // A cost of all that the limit admits.
    assert!(limiter.try_acquire_at("a:2", 5, NOW).is_allowed());
}

/// With no entry left at all, the log of the shared state is as it was.
#[test]
fn a_denial_for_entries_forgets_no_shared_log() {
    let limiter = one_slot(2);
    let at = |ms| NOW + Duration::from_millis(ms);
    assert!(limiter.try_acquire_at("a:1", 2, at(0)).is_allowed());
    assert!(limiter.try_acquire_at("a:1", 2, at(1)).is_allowed());
    assert!(limiter.try_acquire_all_at(&[("a:1", 1)], at(2)).unwrap().is_denied());
    assert!(limiter.try_acquire_at("a:1", 3, at(3)).is_denied(), "4 of 5 an hour were spent");
}

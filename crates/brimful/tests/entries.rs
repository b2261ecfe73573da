//! Log entries are used up in one place of the store: what that means to keys in other places.

use std::time::Duration;

use brimful::{Denial, Limiter, Nanos, Overflow, Policy, Rules};

const NOW: Nanos = Nanos::from_secs(1_800_000_000);
const DAY: Duration = Duration::from_secs(86_400);
const NS: Duration = Duration::from_nanos(1);

fn policy(spec: &str) -> Policy {
    Policy::parse([spec]).unwrap()
}

/// Five sets of 15 slots, in which one key has used all two entries for the next 10 s.
fn used_up(overflow: Overflow) -> Limiter {
    let rules = Rules::builder().default(policy("2 per 10s sliding-log"));
    let rules = rules.pattern("bucket:*", policy("10/min")).build().unwrap();
    let builder = Limiter::builder(rules).max_keys(60).max_given(0).max_log_entries(2);
    let limiter = builder.overflow(overflow).secret([7, 11]).build().unwrap();
    assert_eq!(limiter.stats().slots, 75);
    for key in 0..20_u64 {
        assert!(limiter.try_acquire_at(("bucket", key), 10, NOW + DAY).is_allowed());
    }
    for at in [NOW, NOW + NS] {
        assert!(limiter.try_acquire_at("log", 1, at).is_allowed());
    }
    limiter
}

/// After a clock that was ahead is set right, keys owe in the future. A newcomer that finds no entry
/// lets those in its own two sets refill, and elsewhere only those that hold entries.
#[test]
fn keys_without_entries_keep_their_time_when_entries_are_wanted() {
    let limiter = used_up(Overflow::Refuse);
    let refused = limiter.try_acquire_at("other", 1, NOW + 2 * NS);
    assert_eq!(refused.denial(), Some(Denial::StoreFull));
    // Those in the two sets of "other" refill from its reading on; for the others no time passes
    // until they are called themselves.
    let later = NOW + Duration::from_secs(30);
    let left = |key: u64| limiter.peek_at(("bucket", key), 0, later).remaining();
    let kept = (0..20).filter(|key| left(*key) == 0).count();
    let refilled = (0..20).filter(|key| left(*key) == 4).count();
    assert!(kept >= 4 && refilled >= 1 && kept + refilled == 20, "{kept} and {refilled}");
}

/// Who meets the holder of the entries in its sets is told when they expire; others are told the
/// time by which any entry has.
#[test]
fn the_hint_for_entries_held_elsewhere_is_the_longest_period() {
    for overflow in [Overflow::Refuse, Overflow::Share] {
        let limiter = used_up(overflow);
        let now = NOW + Duration::from_secs(1);
        let (mut near, mut far) = (0, 0);
        for key in 0..40_u64 {
            let refused = limiter.try_acquire_at(key, 1, now);
            assert_eq!(refused.denial(), Some(Denial::StoreFull), "{overflow}");
            match refused.retry_after().unwrap() {
                wait if wait == Duration::from_secs(10) => far += 1,
                wait if wait == Duration::from_secs(9) + NS => near += 1,
                wait => panic!("{overflow}: {wait:?}"),
            }
        }
        assert!(near > 0 && far > 0, "{overflow}: {near} near, {far} far");
    }
}

/// When entries are used up, `evict` makes so many free as a request takes, no more: the newcomer is
/// remembered from then on, and the one that was forgotten is counted.
#[test]
fn evicted_entries_are_the_newcomers() {
    for (specs, held) in
        [(&["2/min sliding-log"][..], 2), (&["2/min sliding-log", "3/h sliding-log"], 4)]
    {
        let policy = Policy::parse(specs.iter().copied()).unwrap();
        let builder = Limiter::builder(policy).max_keys(4).max_log_entries(held);
        let limiter = builder.overflow(Overflow::Evict).build().unwrap();
        for at in [NOW, NOW + NS] {
            assert!(limiter.try_acquire_at("first", 1, at).is_allowed());
        }
        assert_eq!(limiter.stats().log_entries, held);
        for at in [NOW + 2 * NS, NOW + 3 * NS] {
            assert!(limiter.try_acquire_at("second", 1, at).is_allowed());
        }
        assert!(limiter.try_acquire_at("second", 1, NOW + 4 * NS).is_denied());
        let stats = limiter.stats();
        assert_eq!((stats.log_entries, stats.occupied), (held, 1));
        assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (1, 2));
        // What has expired is given back first, and nobody is forgotten for it.
        let later = NOW + DAY;
        assert!(limiter.try_acquire_at("third", 1, later).is_allowed());
        assert_eq!(limiter.stats().evicted_forced, 1);
    }
}

/// A newcomer that finds no entries has no more of others forgotten than it takes.
#[test]
fn no_more_is_forgotten_than_a_newcomer_takes() {
    for (specs, entries) in
        [(&["9/min sliding-log"][..], 4), (&["9/min sliding-log", "9/h sliding-log"], 8)]
    {
        let policy = Policy::parse(specs.iter().copied()).unwrap();
        let builder = Limiter::builder(policy).max_keys(8).max_given(0);
        let builder = builder.overflow(Overflow::Evict).max_log_entries(entries);
        let limiter = builder.build().unwrap();
        // One set for all.
        for key in 0..4_u64 {
            assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
        }
        for (new, forgotten) in [(4_u64, 1), (5, 2)] {
            assert!(limiter.try_acquire_at(new, 1, NOW).is_allowed());
            let stats = limiter.stats();
            assert_eq!((stats.evicted_forced, stats.occupied), (forgotten, 4));
            assert_eq!(stats.log_entries, entries);
        }
    }
}

/// A request that finds no entries gives expired ones back first: nobody is forgotten.
#[test]
fn expired_entries_in_the_own_sets_are_enough() {
    for overflow in Overflow::ALL {
        let builder = Limiter::builder(policy("9/min sliding-log")).max_keys(8).max_given(0);
        let limiter = builder.max_log_entries(3).overflow(overflow).build().unwrap();
        // One set for all. "idle" holds one entry that has expired, "live" one that has not.
        assert!(limiter.try_acquire_at("idle", 1, NOW).is_allowed());
        let then = NOW + Duration::from_secs(59);
        assert!(limiter.try_acquire_at("live", 1, then).is_allowed());
        assert!(limiter.try_acquire_at("live", 1, then + NS).is_allowed());
        let now = NOW + Duration::from_secs(60);
        assert!(limiter.try_acquire_at("new", 1, now).is_allowed(), "{overflow}");
        let stats = limiter.stats();
        assert_eq!((stats.evicted_forced, stats.store_full, stats.shared), (0, 0, 0));
        assert_eq!(stats.log_entries, 3);
        assert_eq!(limiter.peek_at("live", 0, now).remaining(), 7);
    }
}

/// Where the sets are many, what has expired in its own two is found all the same.
#[test]
fn expired_entries_in_the_own_sets_are_found_wherever_these_are() {
    for overflow in [Overflow::Refuse, Overflow::Share] {
        let builder = Limiter::builder(policy("1/min sliding-log")).max_keys(40_000);
        let builder = builder.max_given(0).max_log_entries(1).overflow(overflow);
        let limiter = builder.secret([7, 11]).build().unwrap();
        assert!(limiter.try_acquire_at("idle", 1, NOW).is_allowed());
        let now = NOW + Duration::from_secs(60);
        // Looks for entries elsewhere do not get to the one that has expired.
        let is_near = |key: &u64| limiter.peek_at(*key, 1, now).is_allowed();
        assert!(!is_near(&0), "{overflow}");
        // Of 12,500 sets two are those of "idle", and two those of each key.
        let near = (0..40_000).find(is_near).expect("a key in the same set");
        assert!(limiter.try_acquire_at(near, 1, now).is_allowed());
        assert_eq!((limiter.stats().log_entries, limiter.stats().shared), (1, 0));
    }
}

/// A request that finds no entries looks at up to 64 sets before it is refused.
#[test]
fn an_expired_entry_is_found_in_any_of_64_sets() {
    let builder = || {
        let builder = Limiter::builder(policy("1/min sliding-log")).max_keys(800);
        builder.max_given(0).max_log_entries(1).overflow(Overflow::Refuse)
    };
    for idle in 0..100_u64 {
        let limiter = builder().secret([7, 11]).build().unwrap();
        // 63 sets of 15.
        assert_eq!(limiter.stats().slots, 945);
        assert!(limiter.try_acquire_at(idle, 1, NOW).is_allowed());
        let now = NOW + Duration::from_secs(60);
        assert!(limiter.peek_at("new", 1, now).is_allowed(), "{idle}");
        assert!(limiter.try_acquire_at("new", 1, now).is_allowed(), "{idle}");
    }
}

/// Entries that were taken by a clock that was ahead expire, wherever they are, a period after a
/// newcomer has found none left.
#[test]
fn entries_of_a_clock_that_was_ahead_are_found_elsewhere() {
    for ahead in 0..20_u64 {
        // 63 sets.
        let builder = Limiter::builder(policy("1/min sliding-log")).max_keys(800);
        let builder = builder.max_given(0).max_log_entries(1).overflow(Overflow::Refuse);
        let limiter = builder.secret([7, 11]).build().unwrap();
        assert!(limiter.try_acquire_at(ahead, 1, NOW + DAY).is_allowed());
        // A look changes nothing.
        assert!(limiter.peek_at("new", 1, NOW).is_denied());
        let (later, end) = (NOW + Duration::from_secs(30), NOW + Duration::from_secs(90));
        assert!(limiter.try_acquire_at("new", 1, later).is_denied());
        let before = later + Duration::from_nanos(59_999_999_999);
        assert!(limiter.peek_at("new", 1, before).is_denied(), "{ahead}");
        assert!(limiter.try_acquire_at("new", 1, end).is_allowed(), "{ahead}");
    }
}

/// A request that takes several entries looks on until it has found as many that have expired.
#[test]
fn expired_entries_are_looked_for_until_there_are_enough() {
    let specs = ["1/min sliding-log", "1/h sliding-log"];
    for overflow in Overflow::ALL {
        for key in 0..40_u64 {
            // Five sets, of which two are the key's own.
            let builder = Limiter::builder(Policy::parse(specs).unwrap()).max_keys(60);
            let builder = builder.max_given(0).max_log_entries(4).overflow(overflow);
            let limiter = builder.secret([7, 11]).build().unwrap();
            for other in ["one", "other"] {
                assert!(limiter.try_acquire_at(other, 1, NOW).is_allowed());
            }
            // One entry of each of the others has expired.
            let now = NOW + Duration::from_secs(90);
            assert!(limiter.try_acquire_at(key, 1, now).is_allowed(), "{overflow}: {key}");
            let stats = limiter.stats();
            assert_eq!((stats.evicted_forced, stats.store_full, stats.shared), (0, 0, 0));
            assert_eq!((stats.log_entries, stats.occupied), (4, 3));
        }
    }
}

/// A peek into a full store says what the call would, and forgets nobody.
#[test]
fn a_peek_into_a_full_store_forgets_nobody() {
    for spec in ["5/day", "5/day sliding-log"] {
        let builder = Limiter::builder(policy(spec)).max_keys(4).max_log_entries(5);
        let limiter = builder.overflow(Overflow::Evict).build().unwrap();
        for key in 0..5_u64 {
            assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
        }
        let before = limiter.stats();
        for key in 10..20_u64 {
            assert!(limiter.peek_at(key, 1, NOW + NS).is_allowed(), "{spec}");
        }
        let after = limiter.stats();
        assert_eq!((after.evicted_forced, after.occupied), (0, 5), "{spec}");
        assert_eq!((after.log_entries, after.forgiven_tokens), (before.log_entries, 0), "{spec}");
        assert!((0..5_u64).all(|key| limiter.peek_at(key, 0, NOW).remaining() == 4), "{spec}");
    }
}

/// Limits by tier, in a store of few keys and entries.
fn tiers(default: &[&str], tiers: &[(&str, &[&str])], entries: u64) -> Limiter {
    let rules = Rules::builder().default(Policy::parse(default.iter().copied()).unwrap());
    let rules = tiers.iter().fold(rules, |rules, (name, limits)| {
        rules.tier(name, Policy::parse(limits.iter().copied()).unwrap())
    });
    let builder = Limiter::builder(rules.build().unwrap()).max_keys(4).max_log_entries(entries);
    builder.overflow(Overflow::Refuse).build().unwrap()
}

/// A cost above the capacity is never admitted, also where the entries for the log of new limits are
/// used up; and nobody is forgotten for it.
#[test]
fn never_is_said_also_without_entries() {
    let limiter = tiers(&["5/s"], &[("log", &["2/min sliding-log"])], 1);
    let log = limiter.tier("log");
    assert!(log.try_acquire_at("other", 1, NOW).is_allowed());
    assert!(limiter.try_acquire_at("k", 1, NOW).is_allowed());
    assert!(log.peek_at("k", 3, NOW).is_never());
    assert!(log.try_acquire_at("k", 3, NOW).is_never());
    assert_eq!(log.peek_at("k", 2, NOW).denial(), Some(Denial::StoreFull));
    assert_eq!(log.try_acquire_at("k", 2, NOW).denial(), Some(Denial::StoreFull));
    assert_eq!(log.peek_at("k", 1, NOW).denial(), Some(Denial::StoreFull));
    assert_eq!(log.try_acquire_at("k", 1, NOW).denial(), Some(Denial::StoreFull));
    // What it owes is owed.
    assert_eq!(limiter.peek_at("k", 0, NOW).remaining(), 4);
    assert_eq!(limiter.stats().store_full, 2);
}

/// A call under new limits waits for all entries that it needs, for the change and for the charge, as a
/// peek says: at that time it is admitted.
#[test]
fn under_new_limits_all_entries_are_waited_for() {
    let logs: [(&str, &[&str]); 2] =
        [("one", &["4/s sliding-log"]), ("two", &["5/min sliding-log", "5/h sliding-log"])];
    let limiter = tiers(&["2/h"], &logs, 3);
    let [one, two] = ["one", "two"].map(|name| limiter.tier(name));
    assert!(one.try_acquire_at("a", 1, NOW).is_allowed());
    assert!(two.try_acquire_at("b", 1, NOW).is_allowed());
    assert!(limiter.try_acquire_at("k", 1, NOW).is_allowed());
    let peeked = two.peek_at("k", 1, NOW);
    let refused = two.try_acquire_at("k", 1, NOW);
    assert_eq!((peeked, refused.denial()), (refused, Some(Denial::StoreFull)));
    let wait = refused.retry_after().unwrap();
    assert!(two.try_acquire_at("k", 1, NOW + wait).is_allowed(), "{wait:?}");
}

/// A denial under other limits takes no entries from others, alone or among several keys: it stays under
/// its old limits instead.
#[test]
fn a_denial_forgets_nobody() {
    let rules = Rules::builder().default(policy("2/h")).tier("logged", policy("2/h sliding-log"));
    for many in [true, false] {
        let limiter = Limiter::builder(rules.clone().build().unwrap())
            .max_keys(4)
            .max_given(0)
            .max_log_entries(2)
            .build()
            .unwrap();
        let logged = limiter.tier("logged");
        for ns in 0..2 {
            assert!(logged.try_acquire_at("victim", 1, NOW + ns * NS).is_allowed());
        }
        assert!(limiter.try_acquire_at("caller", 2, NOW + 2 * NS).is_allowed());
        let denied = if many {
            logged.try_acquire_all_at(&[("caller", 1)], NOW + 3 * NS).unwrap().is_denied()
        } else {
            let denied = logged.try_acquire_at("caller", 1, NOW + 3 * NS);
            denied.denial() == Some(Denial::StoreFull)
        };
        assert!(denied);
        let stats = limiter.stats();
        assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (0, 0), "many: {many}");
    }
}

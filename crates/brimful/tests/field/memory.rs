//! Memory that does not grow, and is not cleaned up at anybody's cost.

use std::time::Duration;

use brimful::{Algorithm, Limiter, Overflow, Stats};

use crate::{START, limit, ms, secs};

/// Case 122, scaled from 62 million keys: each key comes once, and what is kept stays within what
/// was allotted; every key that finds no room is counted. (`flood.rs` does the same with ten
/// million keys, and sees that nothing is allocated.)
#[test]
fn distinct_keys_fill_what_was_allotted_and_no_more() {
    const KEYS: u64 = 100_000;
    for overflow in Overflow::ALL {
        for algorithm in [Algorithm::TokenBucket, Algorithm::SlidingLog] {
            let builder = Limiter::builder(limit(&format!("10/s {algorithm}"))).max_keys(10_000);
            let builder = builder.max_given(0).overflow(overflow);
            let limiter = builder.build().expect("a small limiter");
            let allotted = limiter.stats().bytes;
            assert!(allotted <= 10_000 * 40 + 4 * 12_500 * 16 + 10_000, "{allotted} bytes");
            let mut unplaced = 0;
            for key in 0..KEYS {
                let _ = limiter.try_acquire_at(("2001:db8::/32", key), 1, START);
            }
            let stats = limiter.stats();
            unplaced += stats.evicted_forced + stats.store_full + stats.shared;
            let story = format!("case 122: {algorithm}, {overflow}: {stats:?}");
            assert_eq!(stats.bytes, allotted, "{story}");
            assert!(stats.occupied <= stats.slots && stats.slots <= 12_500, "{story}");
            assert_eq!(stats.occupied + unplaced, KEYS, "{story}");
            assert_eq!(stats.admitted + stats.denied, KEYS, "{story}");
        }
    }
}

/// What one call freed: slots that it took over, slots given up, log entries.
fn freed(before: &Stats, after: &Stats) -> u64 {
    let reused = after.evicted_lossless - before.evicted_lossless;
    reused
        + before.occupied.saturating_sub(after.occupied)
        + before.log_entries.saturating_sub(after.log_entries)
}

/// Case 125, in counts instead of in times: of all the keys that expired, no call cleans more than
/// a few, whether it is a newcomer's or an old key's, and calls go on being right.
#[test]
fn no_call_cleans_up_for_the_others() {
    for algorithm in Algorithm::ALL {
        // So few entries for the logs that expired ones are wanted back.
        let builder = Limiter::builder(limit(&format!("10/s {algorithm}"))).max_keys(40_000);
        let limiter = builder.max_log_entries(60_000).build().expect("a small limiter");
        for key in 0..40_000_u64 {
            assert!(limiter.try_acquire_at(key, 1, START).is_allowed());
        }
        let full = limiter.stats();
        assert_eq!(full.occupied, 40_000, "case 125: {algorithm}: all stay where they are");
        let (mut before, mut most, mut total) = (full, 0, 0);
        // All have expired; old keys and new ones call.
        for key in 20_000..60_000_u64 {
            let now = secs(3_600) + Duration::from_micros(key);
            let decision = limiter.try_acquire_at(key, 1, now);
            assert!(decision.is_allowed(), "case 125: {algorithm}");
            assert_eq!(decision.remaining(), 9, "case 125: {algorithm}: as good as new");
            let after = limiter.stats();
            most = most.max(freed(&before, &after));
            total += freed(&before, &after);
            before = after;
        }
        assert!(most <= 16, "case 125: {algorithm}: a call cleaned up {most} slots and entries");
        assert!(total > 5_000, "case 125: {algorithm}: only {total} were reused");
        assert_eq!(before.evicted_forced, 0, "case 125: {algorithm}");
    }
}

/// Case 126: a new key each second for ten minutes, and each owes for a minute: there are never
/// more than sixty that owe, so a store for sixty-one has room for each, with no sweep.
#[test]
fn a_busy_limiter_reuses_what_has_expired() {
    for algorithm in Algorithm::ALL {
        // The counter remembers for up to two of its windows.
        let period = if algorithm == Algorithm::SlidingWindow { 30 } else { 60 };
        let builder = Limiter::builder(limit(&format!("1 per {period}s {algorithm}")));
        let builder = builder.max_keys(61).max_log_entries(400).overflow(Overflow::Refuse);
        let limiter = builder.build().expect("a small limiter");
        for second in 0..600 {
            let decision = limiter.try_acquire_at(("new", second), 1, secs(second));
            assert!(decision.is_allowed(), "case 126: {algorithm}, second {second}");
            // It is kept for as long as it owes.
            assert!(limiter.peek_at(("new", second), 1, ms(second * 1_000 + 999)).is_denied());
        }
        let stats = limiter.stats();
        assert!(stats.slots <= 77 && stats.occupied <= stats.slots, "case 126: {stats:?}");
        assert!(stats.evicted_lossless >= 600 - stats.slots, "case 126: {stats:?}");
        assert_eq!((stats.evicted_forced, stats.store_full), (0, 0), "case 126: {algorithm}");
        assert!(stats.log_entries <= 400, "case 126: {stats:?}");
    }
}

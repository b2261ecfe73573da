//! Floods: more keys than the store was built for. Nothing is allocated, what is forgiven is
//! counted exactly, and a debtor stays a debtor.

use allocation_counter::measure;
use brimful::{Limit, Limiter, ManualClock, Nanos, Overflow, Policy};

const MAX_KEYS: u64 = 100_000;

/// `keys` distinct keys each spend 1 of 10 tokens while the clock stands still, after one key has
/// spent all ten of its own.
fn flood(name: &str, policy: Policy, keys: u64, overflow: Overflow) {
    let clock = ManualClock::new(Nanos::from_secs(1_800_000_000));
    let limiter = Limiter::builder(policy)
        .max_keys(MAX_KEYS)
        .overflow(overflow)
        .clock(clock)
        .build()
        .unwrap();
    let before = limiter.stats();
    assert!(limiter.try_acquire_n("debtor", 10).is_allowed());
    let mut admitted = 0_u64;
    let allocations = measure(|| {
        for key in 0..keys {
            admitted += u64::from(limiter.allow(key));
        }
        assert!(!limiter.allow("debtor"), "{name}, {overflow}: the debtor was forgotten");
        // Nor does any other verb, for keys old or new, of any kind.
        let long = [7_u8; 300];
        assert!(limiter.try_acquire_n("debtor", u64::MAX).is_never());
        let _ = limiter.try_acquire(("tenant", 42_u64, "search"));
        let _ = limiter.try_acquire_n((&long, std::net::Ipv6Addr::LOCALHOST, -1_i32), 2);
        let _ = limiter.peek(long, 1);
        assert_eq!(limiter.refund("nobody", 1), 0);
        assert!(!limiter.reset("nobody"));
    });
    assert_eq!(allocations.count_total, 0, "{name}, {overflow}: {allocations:?}");

    let stats = limiter.stats();
    assert_eq!(stats.bytes, before.bytes);
    // The keys of the flood, the debtor three times, and two others.
    assert_eq!(stats.admitted + stats.denied, keys + 5);
    assert_eq!(stats.evicted_lossless, 0, "nothing refilled");
    // Every slot is taken in the end: a flood this large leaves none over.
    assert_eq!(stats.occupied, stats.slots);
    let with_slot = stats.occupied - 1;
    match overflow {
        Overflow::Evict => {
            assert_eq!(admitted, keys);
            // The two others pushed out one key each.
            assert_eq!(stats.evicted_forced, keys + 2 - with_slot);
            assert_eq!(stats.forgiven_tokens, keys + 2 - with_slot, "each owed one token");
        }
        Overflow::Refuse => {
            assert_eq!(admitted, with_slot);
            assert_eq!(stats.store_full, keys + 2 - with_slot);
        }
        Overflow::Share => {
            assert_eq!(admitted, with_slot + 10, "ten for all that share");
            assert_eq!(stats.shared, keys + 2 - with_slot);
        }
    }
    if overflow != Overflow::Evict {
        assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (0, 0));
    }
    println!("flood: {name}, {overflow}: {keys} keys, {admitted} admitted, 0 allocations");
}

fn bucket() -> Policy {
    Limit::per_day(10).unwrap().into()
}

#[test]
fn token_bucket_evict() {
    flood("token bucket", bucket(), 10_000_000, Overflow::Evict);
}

#[test]
fn token_bucket_refuse() {
    flood("token bucket", bucket(), 10_000_000, Overflow::Refuse);
}

#[test]
fn token_bucket_share() {
    flood("token bucket", bucket(), 10_000_000, Overflow::Share);
}

#[test]
fn three_limits() {
    for overflow in Overflow::ALL {
        let specs = ["10/day", "20/week burst 10", "10/month sliding-window"];
        flood("three limits", Policy::parse(specs).unwrap(), 10_000_000, overflow);
    }
}

#[test]
fn sliding_log() {
    for overflow in Overflow::ALL {
        let policy = Policy::parse(["10/day sliding-log"]).unwrap();
        flood("sliding log", policy, 10_000_000, overflow);
    }
}

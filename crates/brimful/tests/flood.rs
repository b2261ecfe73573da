//! Floods: more keys than the store was built for. Nothing is allocated, what is forgiven is
//! counted exactly, and a debtor stays a debtor.

use allocation_counter::measure;
use brimful::{Limiter, ManualClock, Nanos, Overflow, Policy};

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

/// A test for each kind of policy and overflow, so that they share the cores evenly.
macro_rules! floods {
    ($($name:ident: $overflow:ident, $specs:expr;)*) => {$(
        #[test]
        fn $name() {
            let policy = Policy::parse($specs).unwrap();
            flood(stringify!($name), policy, 10_000_000, Overflow::$overflow);
        }
    )*};
}

const BUCKET: [&str; 1] = ["10/day"];
const THREE: [&str; 3] = ["10/day", "20/week burst 10", "10/month sliding-window"];
const LOG: [&str; 1] = ["10/day sliding-log"];

floods! {
    sliding_log_evict: Evict, LOG;
    sliding_log_refuse: Refuse, LOG;
    sliding_log_share: Share, LOG;
    three_limits_evict: Evict, THREE;
    three_limits_refuse: Refuse, THREE;
    three_limits_share: Share, THREE;
    token_bucket_evict: Evict, BUCKET;
    token_bucket_refuse: Refuse, BUCKET;
    token_bucket_share: Share, BUCKET;
}

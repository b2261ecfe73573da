//! One answer, whichever way a call takes: the short one of plain stores or the long one, a call of
//! its own or in a batch.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use brimful::{
    Clock, Decision, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Rules, Stats,
};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_800_000_000);

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn rules(default: &str) -> Rules {
    Rules::builder()
        .default(policy(&[default]))
        .tier("gold", policy(&["200/s burst 7"]))
        .tier("window", policy(&["30/min fixed-window"]))
        .exact(3_u64, policy(&["2/s"]))
        .exact(4_u64, Policy::blocked())
        .exact(5_u64, Policy::unlimited())
        .build()
        .unwrap()
}

/// A limiter whose slots have room for so many limits; one makes it plain.
fn limiter(default: &str, limits: u64, overflow: Overflow, max_keys: u64) -> Limiter {
    Limiter::builder(rules(default))
        .max_limits(limits)
        .max_keys(max_keys)
        .max_given(3)
        .overflow(overflow)
        .secret([11, max_keys])
        .clock(ManualClock::new(NOW))
        .build()
        .unwrap()
}

/// The figures that do not depend on the shape, nor on which way asked the rules.
fn comparable(stats: Stats) -> Stats {
    let mut stats = stats;
    (stats.bytes, stats.resolved) = (0, 0);
    stats
}

/// Plain stores and others of the same sets decide alike, call by call, in crowds and in floods, under
/// tiers and given limits, with clocks that go to and fro.
#[test]
fn the_short_way_decides_as_the_long_one() {
    const DEFAULTS: [&str; 4] =
        ["5/s burst 9", "40/min fixed-window", "40/min sliding-window", "1/day burst 3"];
    let (mut moved, mut full) = (0, 0);
    for (seed, default) in DEFAULTS.into_iter().enumerate() {
        for overflow in Overflow::ALL {
            let build = |limits| limiter(default, limits, overflow, 830);
            let (plain, other) = (build(1), build(2));
            let mut random = SplitMix64::new(seed as u64 + 1);
            let mut now = NOW;
            for step in 0..40_000_u64 {
                now = match random.below(400) {
                    0 => Nanos::from_nanos(now.as_nanos() - random.below(30_000_000_000)),
                    1 => now + Duration::from_millis(random.below(40_000)),
                    _ => now + Duration::from_nanos(random.below(2_000_000)),
                };
                // A third more keys than slots, or four times as many.
                let keys = if seed == 3 { 4_000 } else { 1_400 };
                let (key, cost) = (random.below(keys), random.below(4));
                let verb = random.below(24);
                let ask = |limiter: &Limiter| -> (Option<Decision>, u64) {
                    let decided = match verb {
                        0 => limiter.peek_at(key, cost, now),
                        1 => limiter.tier("gold").try_acquire_at(key, cost, now),
                        2 => limiter.tier("window").try_acquire_at(key, cost, now),
                        3 => limiter.tier("gold").peek_at(key, cost, now),
                        4 => return (None, limiter.refund_at(key, cost, now)),
                        5 => return (None, limiter.reset(key).into()),
                        // Once a policy came with a call, fewer calls are short.
                        6 if step > 25_000 => {
                            let given = policy(&[["9/s", "2/min"][(key % 2) as usize]]);
                            return (limiter.try_acquire_with(key, &given, cost, now).ok(), 0);
                        }
                        _ => limiter.try_acquire_at(key, cost, now),
                    };
                    (Some(decided), 0)
                };
                let (short, long) = (ask(&plain), ask(&other));
                assert_eq!(short, long, "{default}, {overflow}, step {step}: key {key}");
            }
            let (short, long) = (comparable(plain.stats()), comparable(other.stats()));
            assert_eq!(short, long, "{default}, {overflow}");
            moved += short.evicted_lossless;
            let overflows = short.evicted_forced + short.store_full + short.shared;
            full += u32::from(overflows > 100);
        }
    }
    assert!(moved > 10_000 && full >= 3, "{moved} taken over, {full} full");
    println!("12 stores, {full} of them full, 480000 calls: no difference; {moved} taken over");
}

/// `allow` is the decision, in short.
#[test]
fn allow_says_what_the_decision_says() {
    for limits in [1, 2] {
        let build = || {
            let clock = ManualClock::new(NOW);
            let builder = Limiter::builder(rules("3/s")).max_limits(limits).clock(clock.clone());
            (builder.max_keys(1_000).secret([1, 2]).build().unwrap(), clock)
        };
        let ((short, short_clock), (long, long_clock)) = (build(), build());
        let mut random = SplitMix64::new(5);
        for _ in 0..20_000 {
            let (key, tier) = (random.below(40), random.below(3));
            if random.below(20) == 0 {
                // Sometimes back, sometimes far back.
                let now = short_clock.now().as_nanos() + random.below(900_000_000);
                let back = [0, 0, 500_000_000, 20_000_000_000][random.below(4) as usize];
                let now = Nanos::from_nanos(now - back);
                short_clock.set(now);
                long_clock.set(now);
            }
            let (allowed, decision) = match tier {
                0 => (short.tier("gold").allow(key), long.tier("gold").try_acquire(key)),
                _ => (short.allow(key), long.try_acquire(key)),
            };
            assert_eq!(allowed, decision.is_allowed(), "key {key}");
        }
        assert_eq!(short.stats(), long.stats());
        assert!(short.stats().denied > 1_000 && short.stats().admitted > 1_000);
    }
}

/// A batch decides as its single calls, repeated keys, newcomers, denials and full stores included.
#[test]
fn a_batch_is_its_calls_in_order() {
    let policies = [
        policy(&["3/s"]),
        policy(&["5/s fixed-window", "8 per 3s"]),
        policy(&["4/s sliding-log"]),
        policy(&["4/s sliding-window"]),
        Policy::unlimited(),
        Policy::blocked(),
    ];
    for policy in policies {
        for (overflow, max_keys) in
            Overflow::ALL.into_iter().flat_map(|overflow| [(overflow, 3), (overflow, 2_000)])
        {
            let build = || {
                let builder = Limiter::builder(policy.clone()).max_keys(max_keys).secret([3, 4]);
                builder.overflow(overflow).clock(ManualClock::new(NOW)).build().unwrap()
            };
            let (batched, single) = (build(), build());
            let mut random = SplitMix64::new(max_keys);
            let mut now = NOW;
            // What stands there before is gone.
            let mut found = vec![single.peek_at(0_u64, 0, now); 3];
            for round in 0..600 {
                now = now + Duration::from_millis(random.below(60));
                // Batches of none, of one, and across the borders of what is fetched together.
                let length = [0, 1, 15, 16, 17, 50][random.below(6) as usize];
                let keys: Vec<u64> = (0..length).map(|_| random.below(40)).collect();
                let cost = random.below(3);
                batched.try_acquire_many_at(&keys, cost, now, &mut found);
                let expected: Vec<Decision> =
                    keys.iter().map(|key| single.try_acquire_at(key, cost, now)).collect();
                assert_eq!(found, expected, "{policy:?}, {overflow}, {max_keys}: round {round}");
            }
            let (batched, single) = (comparable(batched.stats()), comparable(single.stats()));
            assert_eq!(batched, single, "{policy:?}, {overflow}, {max_keys}");
        }
    }
}

/// A batch reads the clock once.
#[test]
fn a_batch_has_one_time() {
    struct Counting(ManualClock);
    impl Clock for Counting {
        fn now(&self) -> Nanos {
            self.0.advance(Duration::from_secs(1));
            self.0.now()
        }
    }
    let clock = ManualClock::new(NOW);
    let limiter = Limiter::builder(Limit::per_second(1).unwrap())
        .max_keys(1_000)
        .clock(Counting(clock.clone()))
        .build()
        .unwrap();
    let mut found = Vec::new();
    limiter.try_acquire_many(&["k"; 40], &mut found);
    assert_eq!(clock.now(), NOW + Duration::from_secs(1));
    let allowed = found.iter().filter(|decision| decision.is_allowed()).count();
    assert_eq!((allowed, found.len()), (1, 40));
    limiter.try_acquire_many(&[(); 0], &mut found);
    assert_eq!((found.len(), clock.now()), (0, NOW + Duration::from_secs(1)));
}

#[test]
fn a_batch_allocates_nothing_where_there_is_room() {
    let limiter = Limiter::builder(policy(&["3/s"])).max_keys(5_000).build().unwrap();
    let keys: Vec<String> = (0..300).map(|n| format!("user:{n}")).collect();
    let mut found = Vec::with_capacity(keys.len());
    let allocations = measure(|| {
        for _ in 0..5 {
            limiter.try_acquire_many(&keys, &mut found);
        }
    });
    assert_eq!((allocations.count_total, found.len()), (0, 300));
}

/// A reading that lies before the key's last change is not believed at once: a call that was slower
/// than another to reach the key does not bring an older time.
#[test]
fn a_later_change_is_met_with_a_later_reading() {
    struct Scripted(std::sync::Mutex<Vec<u64>>);
    impl Clock for Scripted {
        fn now(&self) -> Nanos {
            let next = self.0.lock().unwrap().pop();
            NOW + Duration::from_millis(next.expect("no more readings than expected"))
        }
    }
    let ask = |readings: &[u64]| {
        let clock = Arc::new(Scripted(readings.iter().rev().copied().collect::<Vec<_>>().into()));
        let limiter = Limiter::builder(policy(&["1/s"])).max_keys(5_000).clock(clock.clone());
        let limiter = limiter.build().unwrap();
        assert!(limiter.try_acquire_at("k", 1, NOW + Duration::from_millis(100)).is_allowed());
        let decision = limiter.try_acquire("k");
        assert!(clock.0.lock().unwrap().is_empty(), "a reading was left");
        decision
    };
    // In order: one reading is enough.
    assert_eq!(ask(&[150]).retry_after(), Some(Duration::from_millis(950)));
    // The reading was made before the change, the lock was had after it.
    assert_eq!(ask(&[99, 150]).retry_after(), Some(Duration::from_millis(950)));
    assert!(ask(&[99, 1_100]).is_allowed());
    // The clock itself goes back.
    assert_eq!(ask(&[99, 98]).retry_after(), Some(Duration::from_millis(1_002)));
}

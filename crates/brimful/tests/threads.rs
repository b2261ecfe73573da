//! Under threads: one key, one state, and all limits or none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use brimful::{KeylessLimiter, Limit, Limiter, ManualClock, Nanos, Overflow, Policy};

const THREADS: u64 = 8;
const NOW: Nanos = Nanos::from_secs(1_800_000_000);

/// Runs `work` on eight threads that start together, and sums what they return.
fn together(work: impl Fn(u64) -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(THREADS.try_into().unwrap());
    let total = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, total, work) = (&barrier, &total, &work);
            scope.spawn(move || {
                barrier.wait();
                total.fetch_add(work(thread), Ordering::Relaxed);
            });
        }
    });
    total.into_inner()
}

#[test]
fn eight_threads_on_one_key_admit_what_one_would() {
    for spec in ["1000/h", "1000/h fixed-window", "1000/h sliding-log", "1000/h sliding-window"] {
        let limiter = Limiter::builder(spec.parse::<Limit>().unwrap()).build().unwrap();
        let spend = |_| {
            (0..2_000).map(|_| u64::from(limiter.try_acquire_at("hot", 1, NOW).is_allowed())).sum()
        };
        assert_eq!(together(spend), 1_000, "{spec}");
        let stats = limiter.stats();
        assert_eq!((stats.admitted, stats.denied, stats.occupied), (1_000, 15_000, 1), "{spec}");
    }
}

#[test]
fn a_moving_clock_admits_capacity_and_what_it_refilled() {
    let clock = ManualClock::new(NOW);
    let limiter = Limiter::builder(Limit::per_second(1_000).unwrap().burst(100).unwrap())
        .clock(clock.clone())
        .build()
        .unwrap();
    // One thread moves the clock by a second in all; demand never rests.
    let admitted = together(|thread| {
        let mut admitted = 0;
        for step in 0..20_000 {
            if thread == 0 && step % 20 == 0 {
                clock.advance(Duration::from_millis(1));
            }
            admitted += u64::from(limiter.allow("hot"));
        }
        admitted
    });
    assert!(admitted <= 100 + 1_000, "{admitted} admitted");
    // Whatever was not taken is still there.
    let left = limiter.peek("hot", 0).remaining();
    assert!(admitted + left <= 1_100 && left <= 100, "{admitted} admitted, {left} left");
}

#[test]
fn two_limits_are_charged_together_or_not_at_all() {
    let specs = ["roomy: 5000/h", "tight: 700/h sliding-log"];
    let limiter = Limiter::new(Policy::parse(specs).unwrap()).unwrap();
    let spend = |thread| {
        let mut admitted = 0;
        for _ in 0..300 {
            let cost = 1 + thread % 3;
            let decision = limiter.try_acquire_at("hot", cost, NOW);
            admitted += if decision.is_allowed() { cost } else { 0 };
        }
        admitted
    };
    let admitted = together(spend);
    assert_eq!(admitted, 700, "the tight limit is used up to the last token");
    // The roomy limit was charged for what the tight one admitted and for nothing else: with the
    // tight one reset away there would be 4300 left. Give all back and see both full.
    let denied = limiter.try_acquire_at("hot", 1, NOW);
    assert_eq!(limiter.limit_of(&denied).unwrap().name(), "tight");
    assert_eq!(limiter.refund_at("hot", 5_000, NOW), 700, "the roomy limit owed more");
}

#[test]
fn a_key_is_never_in_two_slots() {
    // A store at its bound, with keys that come, are forgotten, moved and come again.
    let limiter = Limiter::builder(Limit::per_day(1).unwrap())
        .max_keys(820)
        .overflow(Overflow::Refuse)
        .build()
        .unwrap();
    for round in 0..50_u64 {
        let keys = 0..700_u64;
        let admitted = together(|thread| {
            let order = keys.clone().map(|key| (key * 37 + thread * 101) % 700);
            order
                .map(|key| u64::from(limiter.try_acquire_at((round, key), 1, NOW).is_allowed()))
                .sum()
        });
        assert_eq!(admitted, 700, "round {round}: each key has one token");
        let forgotten =
            together(|_| keys.clone().map(|key| u64::from(limiter.reset((round, key)))).sum());
        assert_eq!(forgotten, 700, "round {round}: each key had one slot");
        assert_eq!(limiter.stats().occupied, 0);
    }
}

#[test]
fn a_limiter_is_shared_by_reference() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<Limiter>();
    shared::<KeylessLimiter>();
    let limiter = Arc::new(KeylessLimiter::new(Limit::per_hour(3).unwrap()).unwrap());
    let clone = Arc::clone(&limiter);
    let admitted = together(|_| u64::from(clone.allow()) + u64::from(limiter.allow()));
    assert_eq!(admitted, 3, "a clone of the pointer is not a second budget");
}

#[test]
fn the_default_clock_is_anchored_to_wall_time() {
    // A fixed window of a day ends at midnight UTC.
    let day = 86_400;
    let limiter = Limiter::new("5/day fixed-window".parse::<Limit>().unwrap()).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the anchor is what is tested")]
    let wall = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let before = wall();
    let reset = limiter.try_acquire("k").reset_after();
    let after = wall();
    let till_midnight = |now: Duration| day - now.as_secs() % day;
    let slack = 60;
    let (early, late) = (till_midnight(before), till_midnight(after));
    // (At midnight itself the two differ by a day; either is right.)
    let near = |expected: u64| reset.as_secs().abs_diff(expected) <= slack;
    assert!(near(early) || near(late), "{reset:?}, expected about {early} s");
}

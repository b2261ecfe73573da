//! Under threads: keys whose limits change from call to call.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use brimful::{Limiter, LimiterBuilder, ManualClock, Nanos, Overflow, Policy, Rules};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_799_971_200);
/// The field of the error when all places for policies are taken.
const TABLE: Option<&str> = Some("policies given by calls");

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn builder(specs: &[&str]) -> LimiterBuilder {
    Limiter::builder(policy(specs))
}

fn after(secs: u64) -> Nanos {
    NOW + Duration::from_secs(secs)
}

/// Eight threads that start together, in each of some rounds at one time.
fn rounds(count: u64, work: impl Fn(u64, u64) -> u64 + Sync) -> Vec<u64> {
    const THREADS: u64 = 8;
    let barrier = Barrier::new(THREADS.try_into().unwrap());
    let sums: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, sums, work) = (&barrier, &sums, &work);
            scope.spawn(move || {
                for (round, sum) in (0..).zip(sums) {
                    barrier.wait();
                    sum.fetch_add(work(round, thread), Ordering::Relaxed);
                }
            });
        }
    });
    sums.into_iter().map(AtomicU64::into_inner).collect()
}

/// Few policies, and more than there are places: what is admitted for one key keeps to the largest,
/// and the table to its bound.
#[test]
fn threads_keep_to_the_bounds() {
    const LARGEST: u64 = 500;
    for (policies, places) in [(4_u64, 4), (40, 4)] {
        let given: Vec<Policy> = (0..policies)
            .map(|n| policy(&[&format!("{}/min", LARGEST - n * LARGEST / policies)]))
            .collect();
        let limiter = builder(&["500/min"]).max_keys(10).max_given(places).build().unwrap();
        let refused = AtomicU64::new(0);
        let admitted = rounds(30, |round, thread| {
            let mut admitted = 0;
            for call in 0..400 {
                // Each round has a few favourites.
                let choice = (round * 7 + (thread + call) % (places + 1)) % policies;
                let policy = &given[usize::try_from(choice).unwrap()];
                match limiter.try_acquire_with("hot", policy, 1, after(30 * round)) {
                    Ok(decision) => admitted += u64::from(decision.is_allowed()),
                    Err(fault) => {
                        assert_eq!(fault.field(), TABLE);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                assert!(limiter.stats().given_policies <= places);
            }
            admitted
        });
        for first in 0..admitted.len() {
            let mut sum = 0;
            for (minutes_twice, more) in (0..).zip(&admitted[first..]) {
                sum += more;
                assert!(sum <= LARGEST + LARGEST * minutes_twice / 2, "{admitted:?}");
            }
        }
        // A place is free as soon as the key has another policy; whether eight calls ever meet that
        // have five policies in use is up to the threads.
        assert!(admitted.iter().all(|admitted| *admitted > 0), "{admitted:?}");
        assert!(policies > places || refused.into_inner() == 0);
        assert_eq!(limiter.stats().occupied, 1);
    }
}

/// Tiers, policies that come and go, floods, a clock that jumps both ways: in the end every key that
/// has a slot has one, and every entry is given back.
#[test]
fn nothing_leaks_under_threads() {
    let specs = ["9/s burst 12", "30/min sliding-window", "20/min sliding-log"];
    for overflow in Overflow::ALL {
        for (max_keys, entries) in [(3_u64, 9), (90, 200), (900, 500)] {
            let clock = ManualClock::new(NOW);
            let rules = Rules::builder()
                .default(policy(&specs))
                .exact(3_u64, policy(&["7/s", "5/s sliding-log"]))
                .tier("log", policy(&["6/s sliding-log", "a: 90/min sliding-log"]))
                .tier("window", policy(&["8/s fixed-window"]))
                .tier("free", Policy::unlimited());
            let limiter = Limiter::builder(rules.build().unwrap())
                .max_keys(max_keys)
                .max_log_entries(entries)
                .max_given(3)
                .overflow(overflow)
                .clock(clock.clone())
                .build()
                .unwrap();
            thread::scope(|scope| {
                for thread in 0..8 {
                    let (limiter, clock) = (&limiter, &clock);
                    scope.spawn(move || disturb(limiter, clock, max_keys * 2, thread));
                }
            });
            let mut forgotten = 0;
            let stats = limiter.stats();
            assert!(stats.given_policies == 3 && stats.occupied <= stats.slots, "{stats:?}");
            for key in 0..max_keys * 2 {
                forgotten += u64::from(limiter.reset(key));
                assert!(!limiter.reset(key), "{overflow}: key {key} had two slots");
            }
            let left = limiter.stats();
            assert_eq!((forgotten, left.occupied), (stats.occupied, 0), "{overflow}, {max_keys}");
            // The shared states keep theirs: those of four policies, and of three that came along.
            let kept = if overflow == Overflow::Share { 25 + 96 + 3 * 90 } else { 0 };
            assert!(left.log_entries <= kept, "{overflow}, {max_keys}: {left:?}");
        }
    }
}

fn disturb(limiter: &Limiter, clock: &ManualClock, keys: u64, seed: u64) {
    let given = [
        policy(&["5/s"]),
        policy(&["4/s", "a: 90/min sliding-log"]),
        policy(&["3/s", "b: 80/min sliding-log", "c: 70/h"]),
        policy(&["d: 2/s sliding-log", "30/min sliding-window"]),
        policy(&["6/s fixed-window"]),
        policy(&["7/s sliding-window"]),
    ];
    let tiers = ["log", "window", "free", "unknown"].map(|name| limiter.tier(name));
    let mut rng = SplitMix64::new(seed);
    let draw = |rng: &mut SplitMix64, below: usize| {
        usize::try_from(rng.below(u64::try_from(below).unwrap())).unwrap()
    };
    for _ in 0..3_000 {
        let key = rng.below(keys);
        let cost = rng.below(4);
        match rng.below(40) {
            0 => drop(limiter.reset(key)),
            1 => drop(limiter.refund(key, rng.below(5))),
            2 => clock.advance(Duration::from_millis(rng.below(9_000))),
            3 => clock.set(after(rng.below(1_000))),
            4 => drop(tiers[draw(&mut rng, 4)].peek(key, cost)),
            5 => drop(tiers[draw(&mut rng, 4)].try_acquire_n(key, u64::MAX)),
            6 => drop(limiter.try_acquire_at(key, 1, Nanos::from_nanos(rng.next_u64()))),
            7..=15 => drop(limiter.try_acquire_n(key, cost)),
            16..=27 => drop(tiers[draw(&mut rng, 4)].try_acquire_n(key, cost)),
            _ => {
                let policy = &given[draw(&mut rng, 6)];
                let now = after(rng.below(1_000));
                if let Err(fault) = limiter.try_acquire_with(key, policy, cost, now) {
                    assert_eq!(fault.field(), TABLE);
                }
            }
        }
    }
}

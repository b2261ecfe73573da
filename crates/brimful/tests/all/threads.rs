//! Under threads: all or none, seen from outside, and no deadlock.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use brimful::{Limit, Limiter, Overflow, Policy};
use brimful_testkit::trace::SplitMix64;

use crate::NOW;

const THREADS: u64 = 8;
const KEYS: usize = 10;

/// Runs `work` on eight threads that start together.
fn together(work: impl Fn(u64) + Sync) {
    let barrier = Barrier::new(THREADS.try_into().unwrap());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

/// Overlapping pairs and triples of ten keys, in any order: no key is charged beyond its capacity,
/// each for the calls that were allowed and for no others.
#[test]
fn threads_charge_overlapping_keys_exactly() {
    for specs in [&["5000/day"][..], &["5000/day sliding-log", "6000/h"]] {
        for max_keys in [12, 5_000] {
            let policy = Policy::parse(specs.iter().copied()).unwrap();
            let builder = Limiter::builder(policy).max_keys(max_keys).max_log_entries(10_000);
            let limiter = builder.build().unwrap();
            let charged: [AtomicU64; KEYS] = Default::default();
            together(|thread| {
                let mut random = SplitMix64::new(thread);
                for _ in 0..12_000 {
                    let count = usize::try_from(random.between(1, 3)).unwrap();
                    let mut charges = [(0_usize, 1_u64); 3];
                    for (key, _) in &mut charges {
                        *key = usize::try_from(random.below(KEYS as u64)).unwrap();
                    }
                    let charges = &charges[..count];
                    if limiter.try_acquire_all_at(&named(charges), NOW).unwrap().is_allowed() {
                        for (key, cost) in charges {
                            charged[*key].fetch_add(*cost, Ordering::Relaxed);
                        }
                    }
                }
            });
            for (key, charged) in charged.iter().enumerate() {
                let charged = charged.load(Ordering::Relaxed);
                let left = limiter.peek_at(key as u64, 0, NOW).remaining();
                assert_eq!(charged + left, 5_000, "{specs:?}: key {key}");
            }
            // Demand was above it for all: whoever asks for one key alone gets all that is left.
            assert!(limiter.stats().denied > 1_000, "{:?}", limiter.stats());
            together(|_| {
                for key in 0..KEYS as u64 {
                    while limiter.try_acquire_all_at(&[(key, 1)], NOW).unwrap().is_allowed() {}
                }
            });
            assert_eq!(limiter.stats().occupied, KEYS as u64);
            assert!((0..KEYS as u64).all(|key| limiter.peek_at(key, 1, NOW).is_denied()));
        }
    }
}

fn named(charges: &[(usize, u64)]) -> Vec<(u64, u64)> {
    charges.iter().map(|(key, cost)| (*key as u64, *cost)).collect()
}

/// Keys that are always charged together always have the same left, whoever looks with both locked.
#[test]
fn nobody_sees_a_part_of_a_call() {
    const CAPACITY: u64 = 60_000;
    let limiter = Limiter::builder(Limit::per_day(CAPACITY).unwrap()).max_keys(5_000).build();
    let limiter = limiter.unwrap();
    let is_done = AtomicBool::new(false);
    let looks = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            // What is left of "a" is read before what is left of "b": it cannot be less.
            while !is_done.load(Ordering::Relaxed) {
                let a = limiter.peek_at("a", 0, NOW).remaining();
                let b = limiter.peek_at("b", 0, NOW).remaining();
                assert!(b <= a, "{a} and then {b} left");
                // A call that is refused says of both at one time: the first has the least left
                // exactly when it has no more than the second.
                let all = limiter.try_acquire_all_at(&[("b", 0), ("a", 0)], NOW).unwrap();
                assert_eq!(all.key(), Some(0), "they differ");
                let all = limiter.try_acquire_all_at(&[("a", 0), ("b", 0)], NOW).unwrap();
                assert_eq!(all.key(), Some(0), "they differ");
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        together(|thread| {
            let keys = if thread % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
            while limiter.try_acquire_all_at(&keys.map(|key| (key, 1)), NOW).unwrap().is_allowed() {
            }
        });
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(["a", "b"].map(|key| limiter.peek_at(key, 0, NOW).remaining()), [0, 0]);
    assert_eq!(limiter.stats().admitted, 2 * CAPACITY);
}

/// Threads that bring new keys by threes to a store at its bound, while others go: all find slots,
/// and none is forgotten. Single calls and looks go on beside them.
#[test]
fn racing_calls_find_slots() {
    const THREADS: u64 = 4;
    for overflow in [Overflow::Refuse, Overflow::Evict] {
        let max_keys = 820;
        let builder = Limiter::builder(Limit::per_day(1).unwrap()).max_keys(max_keys);
        let limiter = builder.overflow(overflow).build().unwrap();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let limiter = &limiter;
                scope.spawn(move || {
                    let mut next = thread << 40;
                    let mut live: Vec<u64> = Vec::new();
                    let mut random = SplitMix64::new(thread);
                    for _ in 0..4_000 {
                        let new = [next + 1, next + 2, next + 3];
                        next += 3;
                        while live.len() as u64 + 3 > max_keys / THREADS {
                            let place = usize::try_from(random.below(live.len() as u64)).unwrap();
                            assert!(limiter.reset(live.swap_remove(place)), "a key was forgotten");
                        }
                        let all =
                            limiter.try_acquire_all_at(&new.map(|key| (key, 1)), NOW).unwrap();
                        assert!(all.is_allowed(), "no slot: {all:?}");
                        live.extend(new);
                        assert!(limiter.try_acquire_at(new[1], 1, NOW).is_denied());
                    }
                });
            }
        });
        let stats = limiter.stats();
        assert_eq!((stats.store_full, stats.evicted_forced), (0, 0), "{overflow}");
    }
}

/// Threads in a store too small for their keys, by each overflow policy: nothing hangs, and figures
/// agree in the end.
#[test]
fn threads_in_a_full_store() {
    for overflow in Overflow::ALL {
        for max_keys in [6, 100] {
            let policy = Policy::parse(["50/day", "40/day sliding-log"]).unwrap();
            let builder = Limiter::builder(policy).max_keys(max_keys).max_log_entries(400);
            let limiter = builder.overflow(overflow).build().unwrap();
            together(|thread| {
                let mut random = SplitMix64::new(thread + 100);
                for _ in 0..1_500 {
                    let mut charges = [(0_u64, 1_u64); 4];
                    for (key, cost) in &mut charges {
                        (*key, *cost) = (random.below(max_keys * 3), random.below(3));
                    }
                    let _ = limiter.try_acquire_all_at(&charges, NOW).unwrap();
                    let _ = limiter.try_acquire_at(random.below(max_keys * 3), 1, NOW);
                    if random.below(10) == 0 {
                        limiter.reset(random.below(max_keys * 3));
                    }
                }
            });
            for key in 0..max_keys * 3 {
                limiter.reset(key);
            }
            let stats = limiter.stats();
            assert_eq!(stats.occupied, 0, "{overflow}");
            let is_left = overflow == Overflow::Share;
            assert!(is_left || stats.log_entries == 0, "{overflow}: {stats:?}");
        }
    }
}

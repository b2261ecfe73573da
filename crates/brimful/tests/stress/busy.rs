//! Sixteen threads that never rest: every call is counted, and every thread gets to its end.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful::{Clock, Limiter, Nanos, Overflow, Stats};
use brimful_testkit::trace::SplitMix64;

use crate::waits::{Longest, Waits};
use crate::{THREADS, at, builder, policy, together};

/// One key whose bucket has room for all: a charge that is lost, or made twice, shows.
#[test]
fn no_charge_is_lost() {
    const CALLS: u64 = 300_000;
    const CAPACITY: u64 = 1_000_000_000;
    for limits in [1, 2] {
        let policy = policy(&["1000000000/day"]);
        let limiter = builder(&policy, limits).build().unwrap();
        let spent: u64 = together(|thread, rng| {
            let mut spent = 0;
            for _ in 0..CALLS {
                let cost = 1 + rng.below(2) * thread as u64;
                let decision = limiter.try_acquire_at("hot", cost, at(0));
                assert!(decision.is_allowed());
                spent += cost;
            }
            spent
        })
        .into_iter()
        .sum();
        let left = limiter.peek_at("hot", 0, at(0)).remaining();
        assert_eq!(left, CAPACITY - spent, "slots for {limits}");
        assert_eq!(limiter.stats().admitted, THREADS as u64 * CALLS);
    }
}

thread_local! {
    static RANDOM: RefCell<SplitMix64> = const { RefCell::new(SplitMix64::new(1)) };
}

/// Stands still, and lets others run half of the time, mostly while one or two sets are locked:
/// by newcomers, by those that look for room or move keys, by refunds.
struct Yielding;

impl Clock for Yielding {
    fn now(&self) -> Nanos {
        if RANDOM.with_borrow_mut(|rng| rng.below(2) == 0) {
            thread::yield_now();
        }
        at(0)
    }
}

const CAPACITY: u64 = 20;
const CALLS: u64 = 1_500;

/// What a store was charged, to be compared with what it holds.
struct Seen {
    /// By key, less what was given back.
    charged: Vec<AtomicU64>,
    admitted: AtomicU64,
    denied: AtomicU64,
}

impl Seen {
    fn note(&self, key: u64, is_allowed: bool) {
        let counter = if is_allowed { &self.admitted } else { &self.denied };
        counter.fetch_add(1, Ordering::Relaxed);
        if is_allowed {
            self.charged[usize::try_from(key).unwrap()].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// All verbs, for keys of which half are hot.
fn ask(limiter: &Limiter, seen: &Seen, waits: &mut Waits<'_>, rng: &mut SplitMix64) {
    let keys = seen.charged.len() as u64;
    let mut out = Vec::new();
    RANDOM.set(SplitMix64::new(rng.next_u64()));
    let pick = |rng: &mut SplitMix64| match rng.below(2) {
        0 => rng.below(keys),
        _ => rng.below(9),
    };
    for _ in 0..CALLS {
        let key = pick(rng);
        match rng.below(10) {
            0 => {
                let batch: Vec<u64> = (0..rng.below(6)).map(|_| pick(rng)).collect();
                waits.measure(|| limiter.try_acquire_many(&batch, &mut out));
                for (key, decision) in batch.iter().zip(&out) {
                    seen.note(*key, decision.is_allowed());
                }
            }
            1 => {
                // Neighbours, so that none is named twice.
                let first = key.min(keys - 3);
                let named = [first, first + 1, first + 2];
                let decision = waits.measure(|| limiter.try_acquire_all(&named)).unwrap();
                match decision.is_allowed() {
                    true => named.iter().for_each(|key| seen.note(*key, true)),
                    false => seen.note(key, false),
                }
            }
            2 | 3 => {
                let given = waits.measure(|| limiter.refund(key, CAPACITY));
                seen.charged[usize::try_from(key).unwrap()].fetch_sub(given, Ordering::Relaxed);
            }
            4 => drop(waits.measure(|| limiter.peek(key, 1))),
            _ => seen.note(key, waits.measure(|| limiter.allow(key))),
        }
    }
}

/// What the store counted and holds is what the threads were told.
fn settle(name: &str, limiter: &Limiter, seen: Seen) -> Stats {
    let stats = limiter.stats();
    let told = (seen.admitted.into_inner(), seen.denied.into_inner());
    assert_eq!((stats.admitted, stats.denied), told, "{name}");
    if stats.shared == 0 && stats.evicted_forced == 0 {
        for (key, charged) in (0_u64..).zip(&seen.charged) {
            let owed = CAPACITY - limiter.peek_at(key, 0, at(0)).remaining();
            assert_eq!(owed, charged.load(Ordering::Relaxed), "{name}: key {key}");
        }
    }
    let held = (0..seen.charged.len() as u64).filter(|key| limiter.reset(*key)).count();
    assert_eq!(stats.occupied, held as u64, "{name}");
    stats
}

/// At the bound of a store and above it, whatever its shape, while holders of locks do not run.
#[test]
fn all_verbs_come_to_an_end_in_full_stores() {
    for (overflow, max_keys, limits) in [
        (Overflow::Refuse, 820, 1),
        (Overflow::Refuse, 820, 2),
        (Overflow::Refuse, 60, 1),
        (Overflow::Evict, 820, 1),
        (Overflow::Share, 820, 1),
    ] {
        let name = format!("{overflow}, {max_keys} keys, {limits} limits");
        let policy = policy(&["20/day"]);
        let builder = builder(&policy, limits).max_keys(max_keys).overflow(overflow);
        let limiter = builder.clock(Yielding).build().unwrap();
        let seen = Seen {
            charged: (0..max_keys * 2).map(|_| AtomicU64::new(0)).collect(),
            admitted: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        };
        let longest = Longest::default();
        together(|_, rng| ask(&limiter, &seen, &mut longest.waits(), rng));
        longest.print(&name);
        assert_eq!(longest.ended(), THREADS as u64 * CALLS, "{name}");
        let stats = settle(&name, &limiter, seen);
        let at_bound = stats.store_full + stats.shared + stats.evicted_forced;
        assert!(at_bound > 100, "{name}: {stats:?}");
    }
}

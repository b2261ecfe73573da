//! Threads that race for the slots of a store: what was charged is owed, and nothing is counted twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful::{Limiter, Nanos, Overflow, Policy};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_800_000_000);
const THREADS: u64 = 5;
const CAPACITY: u64 = 50;

/// What the threads saw, to be compared with what the limiter holds.
struct Seen {
    /// By key, less what was given back.
    charged: Vec<AtomicU64>,
    admitted: AtomicU64,
    denied: AtomicU64,
}

impl Seen {
    fn note(&self, charges: &[u64], is_allowed: bool) {
        if is_allowed {
            for key in charges {
                self.charged[usize::try_from(*key).unwrap()].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn count(&self, decisions: u64, is_allowed: bool) {
        let counter = if is_allowed { &self.admitted } else { &self.denied };
        counter.fetch_add(decisions, Ordering::Relaxed);
    }
}

/// One thread's calls: single ones, batches, several keys at once, refunds and looks, mostly for a few
/// hot keys. Keys that were given all back make room for others while calls for them are under way.
fn ask(limiter: &Limiter, seen: &Seen, keys: u64, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut out = Vec::new();
    let pick = |random: &mut SplitMix64| match random.below(3) {
        0 => random.below(keys),
        _ => random.below(12),
    };
    for _ in 0..20_000 {
        let key = pick(&mut random);
        match random.below(8) {
            0 => {
                let batch: Vec<u64> = (0..random.below(20)).map(|_| pick(&mut random)).collect();
                limiter.try_acquire_many_at(&batch, 1, NOW, &mut out);
                for (key, decision) in batch.iter().zip(&out) {
                    seen.note(&[*key], decision.is_allowed());
                    seen.count(1, decision.is_allowed());
                }
            }
            1 => {
                let count = random.between(1, 16);
                let charges: Vec<(u64, u64)> = (0..count).map(|_| (pick(&mut random), 1)).collect();
                let decision = limiter.try_acquire_all_at(&charges, NOW).unwrap();
                let mut named: Vec<u64> = charges.iter().map(|(key, _)| *key).collect();
                seen.note(&named, decision.is_allowed());
                named.sort_unstable();
                named.dedup();
                let decisions = if decision.is_allowed() { named.len() as u64 } else { 1 };
                seen.count(decisions, decision.is_allowed());
            }
            2 | 3 => {
                let given = limiter.refund_at(key, random.between(1, 60), NOW);
                let charged = &seen.charged[usize::try_from(key).unwrap()];
                charged.fetch_sub(given, Ordering::Relaxed);
            }
            4 => drop(limiter.peek_at(key, 1, NOW)),
            _ => {
                let decision = limiter.try_acquire_at(key, 1, NOW);
                seen.note(&[key], decision.is_allowed());
                seen.count(1, decision.is_allowed());
            }
        }
    }
}

/// In stores of one line a set and in others, with more keys than slots and with fewer.
#[test]
fn what_was_charged_is_owed() {
    for (overflow, keys, limits) in [
        (Overflow::Refuse, 2_500, 1),
        (Overflow::Refuse, 1_026, 1),
        (Overflow::Refuse, 1_026, 2),
        (Overflow::Evict, 800, 1),
        (Overflow::Evict, 2_500, 1),
        (Overflow::Share, 820, 1),
    ] {
        let policy = Policy::parse(["50/day"]).unwrap();
        let builder = Limiter::builder(policy).max_keys(820).max_limits(limits);
        let limiter = builder.overflow(overflow).build().unwrap();
        let seen = Seen {
            charged: (0..keys).map(|_| AtomicU64::new(0)).collect(),
            admitted: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (limiter, seen) = (&limiter, &seen);
                scope.spawn(move || ask(limiter, seen, keys, thread + 77));
            }
        });
        let name = format!("{overflow}, {keys} keys, {limits} limits");
        let stats = limiter.stats();
        let counted = (seen.admitted.into_inner(), seen.denied.into_inner());
        assert_eq!((stats.admitted, stats.denied), counted, "{name}");
        if stats.shared == 0 && stats.evicted_forced == 0 {
            for (key, charged) in (0..keys).zip(&seen.charged) {
                let owed = CAPACITY - limiter.peek_at(key, 0, NOW).remaining();
                assert_eq!(owed, charged.load(Ordering::Relaxed), "{name}: key {key}");
            }
        }
        let held = (0..keys).filter(|key| limiter.reset(*key)).count();
        assert_eq!(stats.occupied, held as u64, "{name}");
        assert_eq!(limiter.stats().occupied, 0, "{name}");
        println!("{name}: {} admitted, {} denied", stats.admitted, stats.denied);
    }
}

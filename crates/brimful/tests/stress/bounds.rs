//! The bounds of the four algorithms under threads, with readings in any order.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful::{Algorithm, Clock, Decision, Limit, Limiter, Nanos};
use brimful_testkit::trace::SplitMix64;

use crate::interval::{Admitted, Worst, most_in};
use crate::{BASE, MS, THREADS, at, builder, together};

const KEY: &str = "hot";
/// Of each thread, and of all.
const CALLS: usize = 6_000;
const ALL_CALLS: usize = THREADS * CALLS;

fn limit(spec: &str) -> Limit {
    spec.parse().unwrap()
}

/// Tokens and nanoseconds of a limit, and its capacity in parts of a token as [`Worst`] counts them.
fn terms(limit: &Limit) -> (u64, u64, i128) {
    let period = u64::try_from(limit.period().as_nanos()).unwrap();
    (limit.tokens(), period, i128::from(limit.capacity()) * i128::from(period))
}

/// A test that stays below a bound says something when it comes near.
fn is_near(most: i128, bound: i128, tenths: i128) -> bool {
    most <= bound && 10 * most >= tenths * bound
}

/// What [`a_bucket_keeps_its_bound_by_unordered_readings`] knows of an admitted call.
struct Charge {
    now: u64,
    cost: u64,
    /// When the bucket is full again: later for each charge than for the one before it, whatever the
    /// order in which threads saw them.
    full: u128,
}

fn charge(now: Nanos, cost: u64, decision: &Decision) -> Option<Charge> {
    let full = u128::from(now.as_nanos()) + decision.reset_after().as_nanos();
    decision.is_allowed().then_some(Charge { now: now.as_nanos(), cost, full })
}

/// Readings out of order and up to 40 ms old: a reading before the key's last change counts as that
/// change. So the bound holds exactly in the time that counts; and by the readings themselves it holds
/// with one addition, the refill of as long as a reading lies behind the time that it counted as.
#[test]
fn a_bucket_keeps_its_bound_by_unordered_readings() {
    // Tokens take whole nanoseconds, so that the time of being full is exact.
    let limit = limit("10000/s burst 300");
    let (tokens, period, capacity) = terms(&limit);
    for limits in [1, 2] {
        let limiter = builder(&limit.clone().into(), limits).build().unwrap();
        let time = AtomicU64::new(100 * MS);
        let ask = |_, rng: &mut SplitMix64| {
            let mut charges = Vec::new();
            for _ in 0..CALLS {
                let latest = time.fetch_add(rng.below(MS / 8), Ordering::Relaxed);
                let now = at(latest - rng.below(2) * rng.below(40 * MS));
                let cost = rng.between(1, 4);
                charges.extend(charge(now, cost, &limiter.try_acquire_at(KEY, cost, now)));
                if rng.below(8) == 0 {
                    thread::yield_now();
                }
            }
            charges
        };
        let mut charges: Vec<Charge> = together(ask).into_iter().flatten().collect();
        charges.sort_by_key(|charge| charge.full);
        assert!(charges.windows(2).all(|pair| pair[0].full < pair[1].full), "two charges in one");

        let mut counts_as = 0;
        let mut stale = 0;
        let counted: Vec<Admitted> = charges
            .iter()
            .map(|charge| {
                counts_as = charge.now.max(counts_as);
                stale = stale.max(counts_as - charge.now);
                (counts_as, charge.cost)
            })
            .collect();
        let most = Worst::of(&counted, tokens, period).most();
        assert!(is_near(most, capacity, 9), "slots for {limits}: {most} of {capacity}");

        let read: Vec<Admitted> = charges.iter().map(|charge| (charge.now, charge.cost)).collect();
        let by_readings = Worst::of(&read, tokens, period).most();
        let refill = i128::from(tokens) * i128::from(stale);
        assert!(by_readings <= capacity + refill, "slots for {limits}: {by_readings}");
        println!(
            "slots for {limits}: {} admitted of {}; the worst interval took {most} of {capacity}, \
             by readings up to {stale} ns old {by_readings}",
            charges.len(),
            ALL_CALLS,
        );
    }
}

/// Why by readings the bound needs its addition: an old one is charged as of the last change, when the
/// bucket had refilled, and is counted here at its own time.
#[test]
fn an_old_reading_spends_what_was_refilled_after_it() {
    let limit = limit("5/s");
    let limiter = Limiter::new(limit.clone()).unwrap();
    let mut admitted: Vec<Admitted> = Vec::new();
    for (now, cost) in [(10_000 * MS, 5), (11_000 * MS, 1), (10_000 * MS, 4)] {
        assert!(limiter.try_acquire_at(KEY, cost, at(now)).is_allowed());
        admitted.push((now, cost));
    }
    let (tokens, period, capacity) = terms(&limit);
    let most = Worst::of(&admitted, tokens, period).most();
    // Nine at second ten, where the bucket holds five; the refill of a second is the rest.
    assert_eq!(most, 9 * i128::from(period));
    assert!(most <= capacity + i128::from(tokens) * i128::from(1_000 * MS));
}

thread_local! {
    /// What the clock said last to this thread.
    static SAID: Cell<u64> = const { Cell::new(0) };
    /// Readings of this thread.
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Goes on with each reading, and often lets others run after it, so that what it said is old when it
/// is used.
struct Late(AtomicU64);

impl Clock for Late {
    fn now(&self) -> Nanos {
        let read = READS.get();
        READS.set(read + 1);
        // Not of the same length each time, and never twice the same.
        let ns = self.0.fetch_add(1 + (read % 7) * MS / 40, Ordering::AcqRel);
        SAID.set(ns);
        if read.is_multiple_of(4) {
            thread::yield_now();
        }
        at(ns)
    }
}

/// All that was admitted for one token each, at the time that it was decided by.
fn admitted_by_the_clock(limit: &Limit, limits: u64) -> Vec<Admitted> {
    let clock = Arc::new(Late(AtomicU64::new(100 * MS)));
    let limiter = builder(&limit.clone().into(), limits).clock(clock).build().unwrap();
    let ask = |_, rng: &mut SplitMix64| {
        let mut admitted = Vec::new();
        for _ in 0..CALLS {
            if limiter.allow(KEY) {
                admitted.push((SAID.get(), 1));
            }
            if rng.below(8) == 0 {
                thread::yield_now();
            }
        }
        admitted
    };
    let all: Vec<Admitted> = together(ask).into_iter().flatten().collect();
    assert!(all.len() > 2_000 && all.len() < ALL_CALLS / 2, "{limit}: {}", all.len());
    all
}

/// Verbs that read the clock read it again when they waited or were overtaken, so that no old reading
/// is charged: the bounds hold by the readings as they are.
#[test]
fn every_algorithm_keeps_its_bound_by_the_clock() {
    let specs = [
        "2000/s burst 300",
        "200 per 100ms fixed-window",
        "200 per 100ms sliding-log",
        "200 per 100ms sliding-window",
    ];
    for (spec, limits) in specs.into_iter().flat_map(|spec| [(spec, 1), (spec, 2)]) {
        let limit = limit(spec);
        let admitted = admitted_by_the_clock(&limit, limits);
        let (tokens, period, capacity) = terms(&limit);
        let (most, bound) = match limit.chosen_algorithm() {
            Algorithm::TokenBucket => (Worst::of(&admitted, tokens, period).most(), capacity),
            Algorithm::SlidingLog => (most_in(&admitted, period).into(), tokens.into()),
            Algorithm::FixedWindow => {
                // Counted from the epoch.
                let window = |(time, cost): &Admitted| ((BASE + time) / period, *cost);
                let by_window: Vec<Admitted> = admitted.iter().map(window).collect();
                (most_in(&by_window, 1).into(), tokens.into())
            }
            Algorithm::SlidingWindow => {
                // In a closed interval of length T at most L + L (T - 1) / W.
                let worst = Worst::of(&admitted, tokens, period);
                (worst.most(), capacity - i128::from(tokens))
            }
        };
        println!("{spec}, slots for {limits}: {} admitted, {most} of {bound}", admitted.len());
        // A counter's worst case needs more than demand that never rests.
        let tenths = if limit.chosen_algorithm() == Algorithm::SlidingWindow { 6 } else { 9 };
        assert!(is_near(most, bound, tenths), "{spec}, slots for {limits}: {most} of {bound}");
    }
}

//! Many at once: one atomic take, whatever else goes on.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use brimful::{Algorithm, Limiter, Nanos, Overflow};

use crate::{START, limit, meter, secs, waited};

/// Threads that start together, and how many of their calls are admitted.
fn together(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(threads);
    let total = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (barrier, total, work) = (&barrier, &total, &work);
            scope.spawn(move || {
                barrier.wait();
                total.fetch_add(work(thread), Ordering::Relaxed);
            });
        }
    });
    total.into_inner()
}

/// Each of so many threads looks, and then takes one if it may: exactly the limit's number is
/// taken, because a take decides anew, whatever the look said. A hundred keys, so that there is
/// a race on each.
#[test]
fn parallel_takes_admit_exactly_the_limit() {
    for (case, threads, quota) in [(142, 40, 10), (143, 16, 1)] {
        for algorithm in Algorithm::ALL {
            let spec = format!("{quota}/h {algorithm}");
            let limiter = Limiter::new(limit(&spec)).expect("a small limiter");
            let taken = together(threads, |thread| {
                let take = |round: usize| {
                    // Each thread meets the others at another key first.
                    let key = u64::try_from((round + thread) % 100).unwrap_or(0);
                    let _ = limiter.peek_at(key, 1, START);
                    u64::from(limiter.try_acquire_at(key, 1, START).is_allowed())
                };
                (0..100).map(take).sum()
            });
            assert_eq!(taken, 100 * quota, "case {case}: {spec}: {threads} threads");
            let left = (0..100_u64).map(|key| limiter.peek_at(key, 0, START).remaining());
            assert_eq!(left.sum::<u64>(), 0, "case {case}: {spec}");
        }
    }
}

/// Case 139: a key's state is dropped for a newcomer's between two of its calls, at the very time
/// when it is called again. In each round every key is as good as new, so that every slot may be
/// taken, and each key's one token is taken once.
#[test]
fn a_state_is_not_dropped_between_look_up_and_take() {
    const THREADS: usize = 6;
    // More keys than slots, so that most calls of a round replace a key of the round before.
    const KEYS: u64 = 12;
    let builder = Limiter::builder(limit("1/s")).max_keys(4).overflow(Overflow::Refuse);
    let limiter = builder.build().expect("a small limiter");
    let slots = limiter.stats().slots;
    let round = Barrier::new(THREADS);
    let taken: Vec<Vec<AtomicU64>> =
        (0..400).map(|_| (0..KEYS).map(|_| AtomicU64::new(0)).collect()).collect();
    together(THREADS, |thread| {
        for (second, taken) in (0..).zip(&taken) {
            round.wait();
            let offset = u64::try_from(thread).unwrap_or(0) * 2 + second;
            for key in (0..KEYS).chain(0..KEYS).map(|key| (key + offset) % KEYS) {
                let allowed = limiter.try_acquire_at(key, 1, secs(second)).is_allowed();
                let place = usize::try_from(key).unwrap_or(0);
                taken[place].fetch_add(allowed.into(), Ordering::Relaxed);
            }
        }
        0
    });
    for (second, taken) in taken.iter().enumerate() {
        let taken: Vec<u64> = taken.iter().map(|taken| taken.load(Ordering::Relaxed)).collect();
        assert!(taken.iter().all(|times| *times <= 1), "case 139: round {second}: {taken:?}");
        // Nobody who found a slot was forgotten in the round, and no slot stayed empty.
        assert_eq!(taken.iter().sum::<u64>(), slots, "case 139: round {second}");
    }
    assert!(limiter.stats().evicted_lossless > 400, "case 139: states were dropped");
}

/// Case 43: 30 callers at second 0, who give up if their turn is more than 12 s away: three have
/// theirs at once, three in the next period, and the others know at once.
#[test]
fn whoever_waits_is_told_the_right_period() {
    let limited = |spec: &str| {
        let mut meter = meter(spec);
        let mut turns: Vec<Nanos> = Vec::new();
        let mut given_up = 0;
        // Callers come in order, each behind those who wait already.
        let mut last = START;
        for _ in 0..30 {
            let turn = meter.peek_at(1, last).retry_after().unwrap_or_default();
            if (last + turn).since(START) > Duration::from_secs(12) {
                given_up += 1;
                continue;
            }
            last = waited(&mut meter, 1, last);
            turns.push(last);
        }
        (turns, given_up)
    };
    let two_periods = [0, 0, 0, 10, 10, 10].map(secs).to_vec();
    for spec in ["3 per 10s fixed-window", "3 per 10s sliding-log"] {
        assert_eq!(limited(spec), (two_periods.clone(), 24), "case 43: {spec}");
    }
    // A bucket has no periods: a third of ten seconds each, rounded up to a nanosecond.
    let thirds = [3_333_333_334, 6_666_666_667, 10_000_000_000];
    let thirds = thirds.map(|ns| START + Duration::from_nanos(ns));
    let smooth = [&[START; 3][..], &thirds].concat();
    assert_eq!(limited("3 per 10s"), (smooth, 24), "case 43");
}

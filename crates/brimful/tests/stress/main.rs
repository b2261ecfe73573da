//! More threads than processors: what is admitted keeps the bounds whatever order threads and readings
//! come in, also while those that hold a lock do not run, and every thread gets to its end.

mod bounds;
mod busy;
mod held;
mod interval;
mod replaced;
mod waiting;
mod waits;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brimful::{Limiter, LimiterBuilder, Nanos, Policy};
use brimful_testkit::trace::SplitMix64;

const THREADS: usize = 16;
const BASE: u64 = 1_800_000_000_000_000_000;
const MS: u64 = 1_000_000;

/// Runs `work` on all threads, none of which begins before all are there, and returns what they say.
fn together<T: Send>(work: impl Fn(usize, &mut SplitMix64) -> T + Sync) -> Vec<T> {
    let arrived = AtomicUsize::new(0);
    let run = |thread: usize| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < THREADS {
            thread::yield_now();
        }
        work(thread, &mut SplitMix64::new(thread as u64 + 1))
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

/// A store with sets of four slots, each with room for so many limits; one is the short way.
fn builder(policy: &Policy, limits: u64) -> LimiterBuilder {
    Limiter::builder(policy.clone()).max_keys(5_000).max_limits(limits).secret([5, limits])
}

fn at(ns: u64) -> Nanos {
    Nanos::from_nanos(BASE + ns)
}

/// For figures that are printed. Nothing is decided by it.
#[allow(clippy::disallowed_methods, reason = "the longest wait is printed")]
fn since(start: Option<Instant>) -> (Instant, Duration) {
    let now = Instant::now();
    (now, start.map_or(Duration::ZERO, |start| now.duration_since(start)))
}

//! Threads that wait.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use brimful::{Clock, Limit, Limiter, ManualClock, Nanos, SystemClock};
use brimful_wait::blocking::WaitBlocking;

const THREADS: u64 = 8;

/// Gives way until so many wait.
fn until_waiting(limiter: &Limiter, waiters: u64) {
    for _ in 0..100_000_000_u64 {
        if limiter.stats().waiters == waiters {
            return;
        }
        thread::yield_now();
    }
    panic!("{} wait, and not {waiters}", limiter.stats().waiters);
}

#[test]
fn threads_are_granted_in_the_order_in_which_they_came() {
    // A turn is an hour away for the timers, so that whoever comes by grants it.
    let clock = ManualClock::new(Nanos::from_secs(1_000_000));
    let builder = Limiter::builder(Limit::per_hour(1).unwrap()).clock(clock.clone());
    let limiter = builder.max_wait(Duration::MAX).build().unwrap();
    assert!(limiter.allow("k"));
    let (tell, granted) = channel();
    thread::scope(|scope| {
        for place in 0..THREADS {
            let (limiter, tell) = (&limiter, tell.clone());
            scope.spawn(move || {
                tell.send((place, limiter.acquire_blocking("k").is_ok())).unwrap();
            });
            until_waiting(limiter, place + 1);
        }
        for place in 0..THREADS {
            assert!(granted.try_recv().is_err());
            clock.advance(Duration::from_secs(3_600));
            assert!(!limiter.allow("k"), "who does not wait comes after {place}");
            assert_eq!(granted.recv(), Ok((place, true)));
        }
    });
    assert_eq!((limiter.stats().admitted, limiter.stats().waiters), (THREADS + 1, 0));
}

#[test]
fn unparking_a_thread_for_nothing_only_makes_it_ask_again() {
    let clock = ManualClock::new(Nanos::from_secs(1_000_000));
    let builder = Limiter::builder(Limit::per_hour(1).unwrap()).clock(clock.clone());
    let limiter = builder.max_wait(Duration::MAX).build().unwrap();
    assert!(limiter.allow("k"));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| limiter.acquire_blocking("k"));
        until_waiting(&limiter, 1);
        for _ in 0..1_000 {
            waiting.thread().unpark();
            thread::yield_now();
        }
        assert_eq!((limiter.stats().waiters, limiter.stats().admitted), (1, 1));
        // It finds by itself that it is due.
        clock.advance(Duration::from_secs(3_600));
        waiting.thread().unpark();
        assert!(waiting.join().unwrap().is_ok());
    });
}

/// A clock that keeps the times that it said.
struct Kept {
    clock: SystemClock,
    range: Arc<Mutex<Option<(Nanos, Nanos)>>>,
}

impl Clock for Kept {
    fn now(&self) -> Nanos {
        let now = self.clock.now();
        let mut range = self.range.lock().unwrap();
        let (first, last) = range.unwrap_or((now, now));
        *range = Some((first.min(now), last.max(now)));
        now
    }
}

#[test]
fn racing_threads_all_get_their_tokens_and_no_more_than_there_are() {
    const CALLS: u64 = 50;
    const BURST: u64 = 5;
    const RATE: u64 = 1_000;
    let range = Arc::<Mutex<_>>::default();
    let clock = Kept { clock: SystemClock::new(), range: range.clone() };
    let limit = Limit::per_second(RATE).unwrap().burst(BURST).unwrap();
    let limiter = Limiter::builder(limit).clock(clock).build().unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..CALLS).for_each(|_| assert!(limiter.acquire_blocking("k").is_ok())));
        }
    });
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied, stats.waiters), (THREADS * CALLS, 0, 0));
    let (first, last) = range.lock().unwrap().unwrap();
    let earned = u128::from(RATE) * last.since(first).as_nanos() / 1_000_000_000;
    println!("{} admitted, {BURST} + {earned} were there", stats.admitted);
    assert!(u128::from(stats.admitted) <= u128::from(BURST) + earned);
}

#[test]
fn a_thread_whose_wait_would_be_too_long_is_refused_at_once() {
    // It is refused, and not granted when its time comes.
    let limiter = Limiter::new(Limit::new(1, Duration::from_secs(3)).unwrap()).unwrap();
    limiter.acquire_blocking("k").unwrap();
    let refused = limiter.acquire_within_blocking("k", 1, Duration::from_millis(1)).unwrap_err();
    assert!(refused.decision().retry_after() > Some(Duration::from_millis(1)));
    assert!(limiter.acquire_n_blocking("k", 2).unwrap_err().decision().is_never());
    assert!(limiter.tier("gold").acquire_blocking("other").is_ok());
}

//! The end of waiting: a limiter is closed or dropped, and nothing of it stays.
#![cfg(feature = "tokio")]

mod common;

use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use brimful::{Denial, Limit, Limiter};
use brimful_wait::Refused;
use brimful_wait::blocking::WaitBlocking;
use brimful_wait::tokio::Wait;
use common::{on_tokio, poll_once};
use tokio::runtime::Handle;
use tokio::task::yield_now;
use tokio::time::{Instant, advance};

/// Whose only token comes again in an hour.
fn drained() -> Arc<Limiter> {
    let limiter = Limiter::builder(Limit::per_hour(1).unwrap()).max_wait(Duration::MAX).build();
    let limiter = Arc::new(limiter.unwrap());
    assert!(limiter.allow("k"));
    limiter
}

fn is_closed(end: Result<brimful::Decision, Refused>) -> bool {
    end.is_err_and(|refused| refused.decision().denial() == Some(Denial::Closed))
}

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

/// Gives way until so many tasks wait.
async fn tasks_wait(limiter: &Limiter, waiters: u64) {
    for _ in 0..=waiters {
        if limiter.stats().waiters < waiters {
            yield_now().await;
        }
    }
    assert_eq!(limiter.stats().waiters, waiters);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_all_waiting_for_good() {
    let limiter = Arc::new(on_tokio(Limit::per_second(1).unwrap()).build().unwrap());
    assert!(limiter.allow("k") && limiter.allow("other"));
    let started = Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|place| tokio::spawn(limiter.acquire(if place < 50 { "k" } else { "other" })))
        .collect();
    tasks_wait(&limiter, 100).await;
    limiter.close();
    limiter.close();
    for task in tasks {
        assert!(is_closed(task.await.unwrap()));
    }
    assert!(is_closed(limiter.acquire("k").await));
    assert_eq!(started.elapsed(), Duration::ZERO);
    // Who need not wait is not concerned.
    advance(Duration::from_secs(1)).await;
    assert!(limiter.acquire("k").await.is_ok());
    assert_eq!(limiter.stats().waiters, 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_limiter_ends_all_waiting() {
    let limiter = drained();
    let weak = Arc::downgrade(&limiter);
    let by_arc: Vec<_> = (0..50).map(|_| tokio::spawn(limiter.acquire("k"))).collect();
    let by_weak = tokio::spawn({
        let weak = weak.clone();
        async move { weak.acquire("k").await }
    });
    tasks_wait(&limiter, 51).await;
    drop(limiter);
    assert_eq!(weak.strong_count(), 0);
    for task in by_arc {
        assert!(is_closed(task.await.unwrap()));
    }
    assert!(is_closed(by_weak.await.unwrap()));
    assert!(is_closed(weak.acquire("k").await));
    assert!(is_closed(weak.acquire_blocking("k")));
}

#[tokio::test(start_paused = true)]
async fn a_wait_whose_limiter_is_gone_can_be_dropped() {
    let limiter = drained();
    let mut wait = limiter.acquire("k");
    assert!(poll_once(&mut wait).await.is_none());
    drop(limiter);
    drop(wait);
}

#[test]
fn closing_ends_the_waiting_of_threads() {
    let limiter = drained();
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| limiter.acquire_blocking("k"))).collect();
        until_waiting(&limiter, 8);
        limiter.close();
        for thread in threads {
            assert!(is_closed(thread.join().unwrap()));
        }
    });
}

#[test]
fn dropping_the_limiter_ends_the_waiting_of_threads() {
    let limiter = drained();
    let weak: Weak<Limiter> = Arc::downgrade(&limiter);
    let (tell, ends) = channel();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (weak, tell) = (weak.clone(), tell.clone());
            thread::spawn(move || tell.send(weak.acquire_blocking("k")).unwrap())
        })
        .collect();
    until_waiting(&limiter, 8);
    drop(limiter);
    for thread in threads {
        thread.join().unwrap();
    }
    drop(tell);
    assert_eq!(ends.iter().filter(|end| is_closed(*end)).count(), 8);
}

/// How many threads this process has; 0 where that is not said.
fn threads() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.map_or(0, |number| number.trim().parse().unwrap())
}

/// In a process of its own: the threads of others are counted too.
#[test]
fn a_hundred_limiters_leave_no_task_and_no_thread() {
    const ALONE: &str = "BRIMFUL_WAIT_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let own = std::env::current_exe().unwrap();
        let name = "a_hundred_limiters_leave_no_task_and_no_thread";
        let end = std::process::Command::new(own).args(["--exact", name]).env(ALONE, "1").output();
        let end = end.unwrap();
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stdout));
        return;
    }
    let before = threads();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for _ in 0..100 {
            let limiter = drained();
            let mut wait = limiter.acquire("k");
            assert!(poll_once(&mut wait).await.is_none());
            assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
            drop(limiter);
            assert!(is_closed(wait.await));
        }
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    });
    assert_eq!(threads(), before);
}

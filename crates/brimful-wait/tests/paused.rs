//! Waiting in paused time: who is granted, when, and who is refused at once.
#![cfg(feature = "tokio")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brimful::{Denial, Limit, Limiter, ManualClock, Nanos, Policy, Queued, Rules, Turn};
use brimful_wait::tokio::{Acquire, Wait};
use common::{Counted, Counts, on_tokio, poll_once};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// One token, and one more each second; the first is gone.
fn one_per_second() -> Arc<Limiter> {
    drained(Limit::per_second(1).unwrap(), 1)
}

fn drained(limit: Limit, capacity: u64) -> Arc<Limiter> {
    let limiter = Arc::new(on_tokio(limit).build().unwrap());
    assert!(limiter.try_acquire_n("k", capacity).is_allowed());
    limiter
}

fn limit(text: &str) -> Limit {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn tasks_are_granted_in_the_order_in_which_they_came() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (1..=20_u32)
        .map(|place| {
            let (limiter, order) = (limiter.clone(), order.clone());
            tokio::spawn(async move {
                limiter.acquire("k").await.unwrap();
                order.lock().unwrap().push((place, started.elapsed()));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let expected: Vec<_> = (1..=20).map(|place| (place, place * SECOND)).collect();
    assert_eq!(*order.lock().unwrap(), expected);
    assert_eq!((limiter.stats().admitted, limiter.stats().denied), (21, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hopeless_wait_is_refused_at_once() {
    let (limiter, started) = (drained(limit("3 per 10s sliding-log"), 3), Instant::now());
    advance(SECOND).await;
    let refused = limiter.acquire_within("k", 1, 5 * SECOND).await.unwrap_err();
    assert_eq!(refused.decision().retry_after(), Some(9 * SECOND));
    assert_eq!(refused.decision().denial(), Some(Denial::Limit));
    assert_eq!(started.elapsed(), SECOND);
    // What is just in time is waited for.
    limiter.acquire_within("k", 1, 9 * SECOND).await.unwrap();
    assert_eq!(started.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_behind_others_is_refused_at_once() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let (mut first, mut second) = (limiter.acquire("k"), limiter.acquire("k"));
    assert!(poll_once(&mut first).await.is_none() && poll_once(&mut second).await.is_none());
    let refused = limiter.acquire_within("k", 1, 2 * SECOND).await.unwrap_err();
    assert_eq!(refused.decision().denial(), Some(Denial::Queued));
    assert_eq!(refused.decision().retry_after(), Some(3 * SECOND));
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_holds_for_the_whole_cost() {
    let (limiter, started) = (drained(limit("10 per 290s"), 10), Instant::now());
    let refused = limiter.acquire_within("k", 10, 30 * SECOND).await.unwrap_err();
    assert_eq!(refused.decision().retry_after(), Some(290 * SECOND));
    assert_eq!(started.elapsed(), Duration::ZERO);
    // Nothing was spent: the next unit is there in time.
    limiter.acquire_within("k", 1, 30 * SECOND).await.unwrap();
    assert_eq!(started.elapsed(), 29 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_cost_above_the_capacity_is_refused_at_once() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let refused = limiter.acquire_n("k", 2).await.unwrap_err();
    assert!(refused.decision().is_never());
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_longest_wait_is_that_of_the_limiter() {
    let limiter = on_tokio(limit("1/s")).max_wait(2 * SECOND).build().unwrap();
    assert!(limiter.allow("k"));
    let (mut first, mut second) = (limiter.acquire("k"), limiter.acquire("k"));
    assert!(poll_once(&mut first).await.is_none() && poll_once(&mut second).await.is_none());
    let refused = limiter.acquire("k").await.unwrap_err();
    assert_eq!(refused.decision().retry_after(), Some(3 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn lowered_limits_refuse_whom_they_make_too_late() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let wait = tokio::spawn(limiter.acquire_within("k", 1, 5 * SECOND));
    yield_now().await;
    limiter.set_rules(limit("1/h")).unwrap();
    // It is told at once.
    let refused = wait.await.unwrap().unwrap_err();
    assert_eq!(refused.decision().retry_after(), Some(3_600 * SECOND));
    assert_eq!((started.elapsed(), limiter.stats().waiters), (Duration::ZERO, 0));
}

#[tokio::test(start_paused = true)]
async fn lowered_limits_refuse_whom_they_never_admit() {
    let (limiter, started) = (drained(limit("2 per 2s"), 2), Instant::now());
    let wait = tokio::spawn(limiter.acquire_n("k", 2));
    yield_now().await;
    limiter.set_rules(limit("1/s")).unwrap();
    assert!(wait.await.unwrap().unwrap_err().decision().is_never());
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn raised_limits_grant_sooner() {
    let (limiter, started) = (drained(limit("1/h"), 1), Instant::now());
    let wait = tokio::spawn(limiter.acquire("k"));
    yield_now().await;
    limiter.set_rules(limit("1/s")).unwrap();
    wait.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn limits_for_new_keys_change_nothing_for_those_who_wait() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let wait = tokio::spawn(limiter.acquire("k"));
    yield_now().await;
    limiter.set_rules_for_new_keys(limit("1/h")).unwrap();
    wait.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_head_leaves_its_time_to_the_next() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let (mut first, mut second) = (limiter.acquire("k"), limiter.acquire("k"));
    assert!(poll_once(&mut first).await.is_none() && poll_once(&mut second).await.is_none());
    drop(first);
    second.await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_was_granted_to_a_dropped_wait_goes_to_the_next() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let (mut first, mut second) = (limiter.acquire("k"), limiter.acquire("k"));
    assert!(poll_once(&mut first).await.is_none() && poll_once(&mut second).await.is_none());
    advance(SECOND).await;
    // Whoever comes by grants the first.
    assert!(!limiter.allow("k"));
    assert_eq!(limiter.stats().waiters, 1);
    drop(first);
    assert_eq!(limiter.stats().waiters, 0);
    second.await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_was_granted_to_a_dropped_wait_goes_back() {
    let limiter = one_per_second();
    let mut wait = limiter.acquire("k");
    assert!(poll_once(&mut wait).await.is_none());
    advance(SECOND).await;
    assert!(!limiter.allow("k"));
    assert_eq!(limiter.peek("k", 0).remaining(), 0);
    drop(wait);
    assert_eq!(limiter.peek("k", 0).remaining(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_gives_up_the_place() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let mut first = limiter.acquire("k");
    assert!(poll_once(&mut first).await.is_none());
    let half = SECOND / 2;
    assert!(timeout(half, limiter.acquire("k")).await.is_err());
    assert_eq!((started.elapsed(), limiter.stats().waiters), (half, 1));
    first.await.unwrap();
    limiter.acquire("k").await.unwrap();
    assert_eq!(started.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_select_in_a_loop_keeps_the_place() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let mut wait = limiter.acquire("k");
    let mut ticks = 0;
    loop {
        tokio::select! {
            granted = &mut wait => break assert!(granted.unwrap().is_allowed()),
            () = sleep(SECOND / 10) => ticks += 1,
        }
        assert!(ticks < 20);
    }
    assert!((9..=10).contains(&ticks), "{ticks} ticks");
    assert_eq!(started.elapsed(), SECOND);
    // What became of it is said again.
    assert!(poll_once(&mut wait).await.unwrap().is_ok());
    assert_eq!(limiter.stats().admitted, 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_frees_its_place_in_a_full_queue() {
    let limiter = on_tokio(limit("1/s")).max_waiters_per_key(1).build().unwrap();
    assert!(limiter.allow("k"));
    let mut first = limiter.acquire("k");
    assert!(poll_once(&mut first).await.is_none());
    let refused = limiter.acquire("k").await.unwrap_err();
    assert_eq!(refused.decision().denial(), Some(Denial::QueueFull));
    drop(first);
    let mut second = limiter.acquire("k");
    assert!(poll_once(&mut second).await.is_none());
    second.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_big_wait_does_not_block_a_small_one() {
    let (limiter, started) = (drained(limit("2 per 2s"), 2), Instant::now());
    let (mut big, mut small) = (limiter.acquire_n("k", 2), limiter.acquire("k"));
    assert!(poll_once(&mut big).await.is_none() && poll_once(&mut small).await.is_none());
    advance(SECOND).await;
    drop(big);
    small.await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn cheap_calls_do_not_starve_a_big_wait() {
    let (limiter, started) = (drained(limit("10/s"), 10), Instant::now());
    let big = tokio::spawn(limiter.acquire_n("k", 10));
    yield_now().await;
    for _ in 0..9 {
        sleep(SECOND / 10).await;
        assert_eq!(limiter.try_acquire("k").denial(), Some(Denial::Queued));
    }
    big.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), SECOND);
    // Those who only try can starve each other: of the same demand, none that tries for 10 is admitted.
    for _ in 0..50 {
        sleep(SECOND / 10).await;
        assert!(limiter.try_acquire_n("k", 10).is_denied());
        assert!(limiter.allow("k"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tier_waits_by_its_own_limits() {
    let rules = Rules::builder().default(limit("1/h")).tier("gold", limit("1/s")).build().unwrap();
    let (limiter, started) = (on_tokio(rules).build().unwrap(), Instant::now());
    let gold = limiter.tier("gold");
    gold.acquire("k").await.unwrap();
    gold.acquire("k").await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
    gold.acquire_within("k", 1, SECOND / 2).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn keys_without_limits_never_wait() {
    let rules = Rules::builder().default(Policy::unlimited()).exact("banned", Policy::blocked());
    let (limiter, started) = (on_tokio(rules.build().unwrap()).build().unwrap(), Instant::now());
    limiter.acquire_n("k", u64::MAX).await.unwrap();
    let refused = limiter.acquire("banned").await.unwrap_err();
    assert_eq!(refused.decision().denial(), Some(Denial::Blocked));
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_never_polled_is_in_no_queue() {
    let limiter = one_per_second();
    let wait = limiter.acquire("k");
    assert_eq!(limiter.stats().waiters, 0);
    drop(wait);
    advance(SECOND).await;
    assert!(limiter.allow("k"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_is_asked_once_in_each_wait() {
    let clock = ManualClock::new(Nanos::from_secs(1_000_000));
    let limiter = Arc::new(Limiter::builder(limit("1/s")).clock(clock.clone()).build().unwrap());
    assert!(limiter.allow("k"));
    let counts = Arc::<Counts>::default();
    let wait = Counted { future: limiter.acquire("k"), counts: counts.clone() };
    let wait = tokio::spawn(wait);
    yield_now().await;
    for seconds in 1..=10 {
        assert_eq!(counts.polls(), seconds);
        advance(SECOND).await;
        yield_now().await;
    }
    clock.advance(SECOND);
    assert!(!wait.is_finished());
    wait.await.unwrap().unwrap();
    assert_eq!(counts.polls(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_stepped_clock_keeps_those_who_wait() {
    let clock = ManualClock::new(Nanos::from_secs(1_000_000));
    let limiter = Arc::new(Limiter::builder(limit("1/s")).clock(clock.clone()).build().unwrap());
    assert!(limiter.allow("k"));
    let (mut wait, started) = (limiter.acquire_within("k", 1, 5 * SECOND), Instant::now());
    assert!(poll_once(&mut wait).await.is_none());
    // Far back: what it owes is counted from there on.
    clock.set(Nanos::from_secs(1_000));
    assert!(poll_once(&mut wait).await.is_none());
    clock.advance(SECOND);
    wait.await.unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(limiter.try_acquire("k").retry_after(), Some(SECOND));
}

/// A place in the queue of a tier, which borrows nothing.
fn turn(limiter: &Arc<Limiter>, within: Option<Duration>) -> Turn<'static> {
    match limiter.enqueue_owned_in("gold", "k", 1, within) {
        Ok(Queued::Waiting(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_a_place_waits_by_it() {
    let (limiter, started) = (one_per_second(), Instant::now());
    // The place counts from when it was taken, not from the first poll.
    let (first, second) = (Acquire::of_turn(turn(&limiter, None)), limiter.acquire("k"));
    assert_eq!(limiter.stats().waiters, 1);
    let second = tokio::spawn(second);
    yield_now().await;
    let mut first = tokio::spawn(first);
    assert!(poll_once(&mut first).await.is_none());
    assert!(first.await.unwrap().unwrap().is_allowed());
    assert_eq!(started.elapsed(), SECOND);
    second.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn who_was_granted_before_the_first_poll_hears_of_it_then() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let mut wait = Acquire::of_turn(turn(&limiter, None));
    advance(SECOND).await;
    assert!(!limiter.allow("k"));
    assert!(poll_once(&mut wait).await.unwrap().unwrap().is_allowed());
    assert!(poll_once(&mut wait).await.unwrap().unwrap().is_allowed());
    assert_eq!((started.elapsed(), limiter.stats().admitted), (SECOND, 2));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_gives_up_the_place_that_one_had() {
    let limiter = one_per_second();
    let polled = &mut Acquire::of_turn(turn(&limiter, None));
    assert!(poll_once(polled).await.is_none());
    drop(Acquire::of_turn(turn(&limiter, None)));
    assert_eq!(limiter.stats().waiters, 1);
    assert!(timeout(SECOND / 2, Acquire::of_turn(turn(&limiter, None))).await.is_err());
    assert_eq!(limiter.stats().waiters, 1);
}

#[tokio::test(start_paused = true)]
async fn a_place_ends_with_its_time_and_with_the_limiter() {
    let (limiter, started) = (one_per_second(), Instant::now());
    let wait = tokio::spawn(Acquire::of_turn(turn(&limiter, Some(5 * SECOND))));
    yield_now().await;
    limiter.set_rules(limit("1/h")).unwrap();
    let refused = wait.await.unwrap().unwrap_err();
    assert_eq!(refused.decision().retry_after(), Some(3_600 * SECOND));
    let wait = Acquire::of_turn(turn(&limiter, None));
    drop(limiter);
    assert_eq!(wait.await.unwrap_err().decision().denial(), Some(Denial::Closed));
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[test]
fn futures_go_to_other_threads() {
    fn is_send<T: Send + Unpin>(_: &T) {}
    let limiter = Arc::new(Limiter::per_second(1).unwrap());
    is_send(&limiter.acquire("k"));
    is_send(&(*limiter).acquire(("tenant", 7_u64)));
    is_send(&limiter.tier("gold").acquire(String::new()));
    is_send(&Arc::downgrade(&limiter).acquire("k"));
    assert!(limiter.allow("k"));
    is_send(&Acquire::of_turn(turn(&limiter, None)));
}

//! A hundred thousand who wait: all are granted, in order, with few wake-ups and without a running task.
#![cfg(feature = "tokio")]

mod common;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use brimful::{Limit, Limiter, Queued, Reservation, Turn};
use brimful_wait::tokio::{Acquire, Wait};
use common::{Counted, Counts, Random, on_tokio, poll_once};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

const KEYS: u64 = 1_000;
const WAITERS: u64 = 100_000;
/// For each key.
const PLACES: u64 = WAITERS / KEYS;
/// Of the key whose waiters give up.
const TOKENS: u64 = 10;

type Wanted = Counted<Acquire<'static, u64>>;

/// A limiter whose keys have spent their only token.
fn drained(builder: brimful::LimiterBuilder) -> Arc<Limiter> {
    let builder = builder.max_waiters(WAITERS).max_waiters_per_key(PLACES).secret([1, 2]);
    let limiter = Arc::new(builder.max_wait(Duration::MAX).build().unwrap());
    assert!((0..KEYS).all(|key| limiter.allow(key)));
    limiter
}

/// All who wait, in their places: the key, the place, and the wait, polled once.
async fn queued(limiter: &Arc<Limiter>, counts: &Arc<Counts>) -> Vec<(u64, u64, Wanted)> {
    let mut queued = Vec::new();
    for (place, key) in (0..PLACES).flat_map(|place| (0..KEYS).map(move |key| (place, key))) {
        let mut wait = Counted { future: limiter.acquire(key), counts: counts.clone() };
        // (One that is granted already says so again in its task.)
        let _ = poll_once(&mut wait).await;
        queued.push((key, place, wait));
    }
    queued
}

/// Lets all wait in tasks of their own, and says which places of each key came one after the other, and when.
async fn granted(queued: Vec<(u64, u64, Wanted)>) -> Vec<Vec<(u64, Instant)>> {
    let granted: Arc<[Mutex<Vec<_>>]> = (0..KEYS).map(|_| Mutex::default()).collect();
    let mut tasks = JoinSet::new();
    for (key, place, wait) in queued {
        let granted = granted.clone();
        tasks.spawn(async move {
            wait.await.unwrap();
            let key = usize::try_from(key).unwrap();
            granted[key].lock().unwrap().push((place, Instant::now()));
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    granted.iter().map(|key| key.lock().unwrap().clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_wait_is_polled_twice() {
    let (limiter, counts) =
        (drained(on_tokio(Limit::per_second(50).unwrap().burst(1).unwrap())), Arc::default());
    let started = Instant::now();
    let queued = queued(&limiter, &counts).await;
    assert_eq!(limiter.stats().waiters, WAITERS);
    for (key, granted) in granted(queued).await.into_iter().enumerate() {
        for (at, (place, when)) in (0_u64..).zip(granted) {
            assert_eq!(place, at, "of key {key}");
            let due = Duration::from_millis(20) * u32::try_from(at + 1).unwrap();
            assert_eq!(when - started, due, "place {at} of key {key}");
        }
    }
    let (polls, wakes) = (counts.polls(), counts.wakes());
    // Those that were spawned are polled once more for that.
    println!(
        "paused: {WAITERS} waits: {polls} polls, {WAITERS} of them for the tasks; {wakes} wake-ups"
    );
    assert_eq!(limiter.stats().admitted, KEYS + WAITERS);
    assert_eq!(polls, 3 * WAITERS);
    // By its timer: whoever asks is not woken to hear of it.
    assert_eq!(wakes, WAITERS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_is_lost_on_many_threads() {
    let limit = Limit::per_second(50).unwrap().burst(1).unwrap();
    let (limiter, counts) = (drained(Limiter::builder(limit)), Arc::default());
    let started = Instant::now();
    let queued = queued(&limiter, &counts).await;
    let mut overtaken = 0;
    for granted in granted(queued).await {
        let mut places: Vec<_> = granted.into_iter().map(|(place, _)| place).collect();
        // Two that are granted in one go are woken in order, and may run on two threads.
        overtaken += places.windows(2).filter(|pair| pair[0] > pair[1]).count();
        places.sort_unstable();
        assert_eq!(places, (0..PLACES).collect::<Vec<_>>());
    }
    let stats = limiter.stats();
    assert_eq!((stats.waiters, stats.reservations), (0, 0));
    assert_eq!((stats.admitted, stats.denied), (KEYS + WAITERS, 0));
    println!(
        "2 threads, {:?}: {WAITERS} waits: {} polls, {WAITERS} of them for the tasks; {} wake-ups; {overtaken} ran \
         before one that was granted first",
        started.elapsed(),
        counts.polls(),
        counts.wakes()
    );
}

#[test]
fn a_wait_takes_some_hundred_bytes() {
    let limiter = drained(Limiter::builder(Limit::per_hour(1).unwrap()));
    let places = usize::try_from(WAITERS).unwrap();
    let mut turns = Vec::with_capacity(places);
    let queue = measure(|| {
        for key in (0..PLACES).flat_map(|_| 0..KEYS) {
            let Ok(Queued::Waiting(mut turn)) = limiter.enqueue(key, 1, None) else { panic!() };
            let _ = turn.poll(Waker::noop());
            turns.push(turn);
        }
    });
    drop(turns);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut waits: Vec<_> =
        (0..PLACES).flat_map(|_| 0..KEYS).map(|key| limiter.acquire(key)).collect();
    let all = measure(|| {
        runtime.block_on(async {
            for wait in &mut waits {
                assert!(poll_once(wait).await.is_none());
            }
        });
    });
    let each = |bytes: i64| u64::try_from(bytes).unwrap() / WAITERS;
    println!(
        "bytes for each who waits: {} in the queue, {} with the timer; {} the future, {} a turn",
        each(queue.bytes_current),
        each(all.bytes_current),
        size_of::<Acquire<'_, &str>>(),
        size_of::<Turn<'_>>()
    );
    assert!(each(queue.bytes_current) <= 100 && each(all.bytes_current) <= 400);
}

#[tokio::test]
async fn who_need_not_wait_allocates_nothing() {
    let limiter = Limiter::per_second(1_000_000_000).unwrap();
    assert!(limiter.allow("k"));
    let mut granted = None;
    let mut wait = limiter.acquire("k");
    let mut context = Context::from_waker(Waker::noop());
    let used = measure(|| {
        granted = Some(Pin::new(&mut wait).poll(&mut context));
    });
    assert!(matches!(granted, Some(Poll::Ready(Ok(_)))));
    assert_eq!(used.count_total, 0);
}

/// Ten tokens that do not come again, held by others; they are given back at the moment around which those who
/// wait give up. Says how many were granted, and how many gave up.
async fn cancelled_near_their_grants(limiter: Arc<Limiter>, rounds: u64) -> (u64, u64) {
    let mut random = Random(163);
    let (mut granted, mut cancelled) = (0, 0);
    for round in 0..rounds {
        let held: Vec<Reservation<'static>> =
            (0..TOKENS).map(|_| limiter.reserve_owned("k", 1).unwrap()).collect();
        let mut tasks = JoinSet::new();
        for _ in 0..100 {
            let patience = Duration::from_millis(8 + random.below(5));
            let (cost, is_timer_first) = (1 + random.below(3), random.below(2) == 0);
            tasks.spawn(granted_within(limiter.clone(), cost, patience, is_timer_first));
        }
        sleep(Duration::from_millis(10)).await;
        for reservation in held {
            if random.below(2) == 0 {
                yield_now().await;
            }
            reservation.cancel();
        }
        while let Some(end) = tasks.join_next().await {
            match end.unwrap() {
                true => granted += 1,
                false => cancelled += 1,
            }
        }
        let stats = limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0), "round {round}");
        assert_eq!(limiter.peek("k", 0).remaining(), TOKENS, "round {round}");
    }
    (granted, cancelled)
}

/// Waits, and gives back what it was granted; false when it gave up.
async fn granted_within(
    limiter: Arc<Limiter>,
    cost: u64,
    patience: Duration,
    is_timer_first: bool,
) -> bool {
    let (wait, patience) = (limiter.acquire_n("k", cost), sleep(patience));
    let granted = match is_timer_first {
        true => tokio::select! { biased; () = patience => None, end = wait => Some(end) },
        false => tokio::select! { biased; end = wait => Some(end), () = patience => None },
    };
    if let Some(end) = &granted {
        assert!(end.is_ok());
        assert_eq!(limiter.refund("k", cost), cost);
    }
    granted.is_some()
}

fn ten_a_year() -> Limit {
    Limit::new(TOKENS, Duration::from_secs(365 * 86_400)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_token_is_lost_between_a_grant_and_a_cancellation() {
    let limiter = Arc::new(on_tokio(ten_a_year()).max_wait(Duration::MAX).build().unwrap());
    let (granted, cancelled) = cancelled_near_their_grants(limiter, 1_000).await;
    println!("{granted} granted, {cancelled} cancelled");
    assert!(granted > 10_000 && cancelled > 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_token_is_lost_between_threads_that_grant_and_cancel() {
    let limiter = Limiter::builder(ten_a_year()).max_wait(Duration::MAX).build().unwrap();
    let (granted, cancelled) = cancelled_near_their_grants(Arc::new(limiter), 100).await;
    println!("2 threads: {granted} granted, {cancelled} cancelled");
}

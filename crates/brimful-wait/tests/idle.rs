//! A hundred thousand who wait for a turn that is far away. (Alone in its process, whose processor time is told.)
#![cfg(feature = "tokio")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use brimful::{Limit, Limiter};
use brimful_wait::tokio::Wait;
use common::{Counted, Counts};
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

const KEYS: u64 = 1_000;
const WAITERS: u64 = 100_000;

/// What this process has used of the processors, in hundredths of a second; 0 where that is not said.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which is in brackets, come 11 other fields.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11);
    fields.take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[tokio::test]
async fn nobody_is_polled_while_nobody_is_due() {
    let builder = Limiter::builder(Limit::per_hour(1).unwrap()).max_waiters(WAITERS);
    let limiter = Arc::new(builder.max_wait(Duration::MAX).build().unwrap());
    assert!((0..KEYS).all(|key| limiter.allow(key)));
    let counts = Arc::<Counts>::default();
    let mut tasks = JoinSet::new();
    for key in (0..WAITERS).map(|waiter| waiter % KEYS) {
        tasks.spawn(Counted { future: limiter.acquire(key), counts: counts.clone() });
    }
    for _ in 0..WAITERS {
        if counts.polls() < WAITERS {
            yield_now().await;
        }
    }
    assert_eq!((counts.polls(), limiter.stats().waiters), (WAITERS, WAITERS));

    let before = processor_time();
    sleep(Duration::from_secs(1)).await;
    let used = processor_time() - before;
    println!("{WAITERS} wait for a second: {used} hundredths of a second of processor time");
    assert_eq!((counts.polls(), counts.wakes()), (WAITERS, 0));

    // All of them are woken once when it ends, and then there is nothing to do.
    limiter.close();
    while let Some(done) = tasks.join_next().await {
        assert!(done.unwrap().is_err());
    }
    assert_eq!((counts.polls(), counts.wakes()), (2 * WAITERS, WAITERS));
    let before = processor_time();
    sleep(Duration::from_secs(1)).await;
    println!("after the end: {} hundredths", processor_time() - before);
    assert_eq!((counts.polls(), counts.wakes()), (2 * WAITERS, WAITERS));
}

//! What threads share below the store, tried by threads: its sources are compiled into this test,
//! because those of the library start none.

#[allow(dead_code, unused_imports, reason = "the library uses all of it")]
#[path = "../src/sync.rs"]
mod sync;
#[path = "../src/clock/ticks.rs"]
mod ticks;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ticks::Ticks;

#[test]
fn threads_have_numbers_of_their_own() {
    let ask = || (sync::thread_number(), sync::thread_number());
    let mut numbers: Vec<(u32, u32)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(numbers.iter().all(|(first, second)| first == second));
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 50);
}

/// Words that were written together are read together.
#[test]
fn readers_never_see_half_a_reading() {
    const READINGS: u64 = 5_000_000;
    /// Counted when it is dropped, also by a reader that fails.
    struct Reader<'a>(&'a AtomicU64);
    impl Drop for Reader<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    // All readings lie on one line, so that each is exact, whichever the reader meets.
    let said_at = |ticks: u64| 1_000_000_000 + ticks;
    let ticks = Ticks::default();
    let counter = AtomicU64::new(1);
    let readers = AtomicU64::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _reader = Reader(&readers);
                let mut seen = 0_u64;
                while seen < READINGS {
                    let at = counter.load(Ordering::Relaxed) + seen % 1000;
                    match ticks.at(at) {
                        Some(now) => {
                            assert_eq!(now, said_at(at));
                            seen += 1;
                        }
                        None => thread::yield_now(),
                    }
                }
            });
        }
        let mut at = 1;
        while readers.load(Ordering::Relaxed) > 0 {
            at += 1_000_000 + at % 7;
            ticks.take(at, said_at(at), at + 10);
            counter.store(at, Ordering::Relaxed);
        }
    });
}

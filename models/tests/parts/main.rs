//! Parts of the library by themselves, and the clock, read by threads that wait for each other.

#[allow(dead_code, reason = "the store uses all of it")]
#[path = "../../../crates/brimful/src/store/flood.rs"]
mod flood;
#[path = "../harness/mod.rs"]
mod harness;
mod sync;
#[path = "../../../crates/brimful/src/clock/ticks.rs"]
mod ticks;
#[allow(dead_code, reason = "the library uses all of it")]
#[path = "../../../crates/brimful/src/time.rs"]
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brimful::{Limit, Limiter, ManualClock};
use flood::Flood;
use harness::{NOW, model};
use loom::sync::Mutex;
use loom::thread;
use ticks::Ticks;

/// A second passes, and a token comes back, while two threads ask. One of them gets it; the other is
/// told to wait for a second from its own reading, not from one that was stale when it decided.
#[test]
fn a_waiting_thread_brings_no_stale_time() {
    for max_limits in [1, 2] {
        model(2, move || {
            let clock = ManualClock::new(NOW);
            let builder = Limiter::builder(Limit::per_second(1).unwrap()).clock(clock.clone());
            let builder = builder.secret([1, 2]).max_keys(7).max_given(0).max_limits(max_limits);
            let limiter = Arc::new(builder.build().unwrap());
            assert!(limiter.allow("a"));
            let other = Arc::clone(&limiter);
            let asks = thread::spawn(move || other.try_acquire("a"));
            clock.advance(Duration::from_secs(1));
            let own = limiter.try_acquire("a");
            let other = asks.join().unwrap();
            assert!(own.is_allowed() != other.is_allowed(), "{own:?}, {other:?}");
            let denied = if own.is_allowed() { other } else { own };
            assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
        });
    }
}

/// All readings lie on one line, so that each is exact, whichever of them is met.
fn said(ticks: u64) -> u64 {
    1_000_000_000 + ticks
}

fn take(ticks: &Ticks, at: u64) -> u64 {
    ticks.take(at, said(at), at + 10)
}

/// A counter whose rate is known for a while after its last reading.
fn known() -> Arc<Ticks> {
    let ticks = Arc::new(Ticks::default());
    for at in [1_000_000, 2_000_000, 3_000_000] {
        take(&ticks, at);
    }
    assert_eq!(ticks.at(3_500_000), Some(said(3_500_000)));
    ticks
}

/// Words that were written together are read together.
#[test]
fn readers_never_see_half_a_reading() {
    let [met, seen] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let counts = [Arc::clone(&met), Arc::clone(&seen)];
    model(2, move || {
        let ticks = known();
        let writer = Arc::clone(&ticks);
        let writes = thread::spawn(move || take(&writer, 4_100_000));
        // Within the time for which the old rate holds, and beyond it.
        for (at, count) in [3_900_000, 4_200_000].into_iter().zip(&counts) {
            if let Some(now) = ticks.at(at) {
                assert_eq!(now, said(at));
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        assert_eq!(writes.join().unwrap(), said(4_100_000));
        assert_eq!(ticks.at(4_200_000), Some(said(4_200_000)));
    });
    assert!(met.load(Ordering::Relaxed) > 1 && seen.load(Ordering::Relaxed) > 1, "nothing raced");
}

/// Of two threads that take a reading each, one writes, or both do in turn.
#[test]
fn two_writers_leave_one_reading() {
    model(2, || {
        let ticks = known();
        let writer = Arc::clone(&ticks);
        let writes = thread::spawn(move || take(&writer, 4_100_000));
        assert_eq!(take(&ticks, 4_200_000), said(4_200_000));
        // The earlier reading is not before what was given out already.
        assert!([4_100_000, 4_200_000].map(said).contains(&writes.join().unwrap()));
        assert_eq!(ticks.at(4_300_000), Some(said(4_300_000)));
    });
}

/// A slot, by the time until which it owes, and what searches say of it.
#[derive(Default)]
struct Slot {
    until: Mutex<u64>,
    flood: Flood,
}

impl Slot {
    fn nanos(number: u64) -> time::Nanos {
        time::Nanos::from_nanos(number)
    }

    /// A search for a slot that owes nothing at time 1.
    fn search(&self) {
        let noting = self.flood.begin();
        let until = *self.until.lock().unwrap();
        if let Some(noting) = noting.filter(|_| until > 1) {
            noting.note(Self::nanos(1), Self::nanos(until));
        }
    }

    fn free(&self) {
        let mut until = self.until.lock().unwrap();
        *until = 0;
        self.flood.end();
    }

    /// Another key is forgotten for one that owes for a shorter time.
    fn replace(&self, by: u64) {
        let mut until = self.until.lock().unwrap();
        self.flood.shorten(|| Self::nanos(by));
        *until = by;
    }

    /// Whoever sees that the slot is free at some time is not told that there is none.
    fn look(&self, at: u64) {
        let until = *self.until.lock().unwrap();
        if until <= at {
            assert!(!self.flood.is_on(|| Self::nanos(at)), "a free slot is not looked for");
        }
    }
}

fn owing() -> Arc<Slot> {
    let slot = Arc::new(Slot::default());
    *slot.until.lock().unwrap() = 9;
    slot
}

/// A slot that comes free while one thread searches and another has searched is looked for.
#[test]
fn a_flood_is_believed_only_while_it_lasts() {
    for changes in [Slot::free as fn(&Slot), |slot| slot.replace(4)] {
        model(3, move || {
            let slot = owing();
            let [searching, changing] = [Arc::clone(&slot), Arc::clone(&slot)];
            let searches = thread::spawn(move || searching.search());
            let change = thread::spawn(move || {
                changes(&changing);
                changing.look(5);
            });
            slot.look(5);
            searches.join().unwrap();
            change.join().unwrap();
            slot.look(5);
        });
    }
}

/// The same for two that search, of whom one takes notes.
#[test]
fn searches_do_not_undo_what_others_saw() {
    for changes in [Slot::free as fn(&Slot), |slot| slot.replace(4)] {
        model(3, move || {
            let slot = owing();
            slot.search();
            let [searching, changing] = [Arc::clone(&slot), Arc::clone(&slot)];
            let searches = thread::spawn(move || searching.search());
            let change = thread::spawn(move || changes(&changing));
            slot.search();
            slot.look(5);
            searches.join().unwrap();
            change.join().unwrap();
            slot.look(5);
        });
    }
}

/// A search without a result says so to those who come after it.
#[test]
fn a_flood_is_noted() {
    model(1, || {
        let slot = owing();
        assert!(!slot.flood.is_on(|| Slot::nanos(5)));
        slot.search();
        let is_on = |at| slot.flood.is_on(|| Slot::nanos(at));
        assert_eq!([0, 1, 8, 9].map(is_on), [false, true, true, false]);
        slot.replace(4);
        assert_eq!([3, 4].map(is_on), [true, false]);
        slot.search();
        assert_eq!([3, 4].map(is_on), [true, false]);
        slot.free();
        assert!(!is_on(3));
        slot.search();
        assert!(!is_on(3));
    });
}

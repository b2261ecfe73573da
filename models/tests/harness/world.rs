//! A limiter, with the reservations and turns of a race, which threads hand to each other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use brimful::{Limiter, Nanos, Progress, Reservation, Turn};

pub struct World {
    pub limiter: Arc<Limiter>,
    // (Nothing of the model happens while one of these is locked.)
    reservations: Mutex<BTreeMap<usize, Reservation<'static>>>,
    turns: Mutex<BTreeMap<usize, Waits>>,
}

/// One who waits, and what it knows.
struct Waits {
    turn: Turn<'static>,
    called: Arc<Called>,
    /// When it is to ask, as it was told last; `None` before it asked first.
    due: Option<Nanos>,
}

/// A waker that counts since its turn asked last.
#[derive(Default)]
pub struct Called(AtomicU64);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Called {
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl World {
    pub fn new(limiter: Limiter) -> Self {
        let (reservations, turns) = Default::default();
        Self { limiter: Arc::new(limiter), reservations, turns }
    }

    pub fn reserved(&self, number: usize, reservation: Reservation<'static>) {
        self.reservations.lock().unwrap().insert(number, reservation);
    }

    pub fn reservation(&self, number: usize) -> Option<Reservation<'static>> {
        self.reservations.lock().unwrap().remove(&number)
    }

    pub fn waits(&self, number: usize, turn: Turn<'static>) {
        let waits = Waits { turn, called: Arc::default(), due: None };
        self.turns.lock().unwrap().insert(number, waits);
    }

    pub fn turn(&self, number: usize) -> Option<Turn<'static>> {
        self.turns.lock().unwrap().remove(&number).map(|waits| waits.turn)
    }

    /// Asks a turn, which is done with when it was granted or refused.
    pub fn poll(&self, number: usize, now: Nanos) -> Option<Progress> {
        let mut waits = self.turns.lock().unwrap().remove(&number)?;
        waits.called = Arc::default();
        let progress = waits.turn.poll_at(&Waker::from(waits.called.clone()), now);
        if let Progress::Waiting(_) = progress {
            waits.due = Some(waits.turn.due());
            self.turns.lock().unwrap().insert(number, waits);
        }
        Some(progress)
    }

    /// Nobody who waits still sleeps although it was granted or refused, or is to ask sooner than it knows;
    /// and when all are gone, nothing is kept for any of them. At a time that is not before that of any call.
    pub fn end(&self, now: Nanos) {
        for (number, mut waits) in std::mem::take(&mut *self.turns.lock().unwrap()) {
            // (Who has not asked yet has no waker.)
            let Some(due) = waits.due else { continue };
            let was_called = waits.called.count() > 0;
            let in_line = || self.limiter.stats().waiters;
            let before = in_line();
            let progress = waits.turn.poll_at(Waker::noop(), now);
            let sleeps = match progress {
                Progress::Waiting(_) => waits.turn.due() >= due || due <= now,
                // Only now, as it was told when to ask.
                _ => in_line() < before && due <= now,
            };
            assert!(sleeps || was_called, "{number} was not woken: {progress:?}, until {due:?}");
        }
        self.reservations.lock().unwrap().clear();
        let stats = self.limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0), "{stats:?}");
    }
}

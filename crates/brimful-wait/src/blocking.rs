//! Waiting in a thread, which is parked meanwhile.
//!
//! Not in async code: there it would hold up all tasks of its thread.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use brimful::{AsKey, Decision, Progress, Queued};

use crate::Refused;
use crate::ask::{Ask, Outcome, Source};

/// The verbs that wait in a thread: for `&Limiter`, `&Arc<Limiter>`, `&Weak<Limiter>` and
/// [`TierLimiter`](brimful::TierLimiter).
///
/// A thread that has an `Arc` of its own keeps the limiter while it waits, so that it can be ended by
/// [`close`](brimful::Limiter::close) alone; with a `Weak`, dropping the limiter ends it too.
///
/// The thread is parked until its turn comes. It may take a token of [`Thread::unpark`] that was meant for
/// something else, and leave one behind: whoever parks by itself has to look again after each return anyway.
///
/// ```
/// use brimful::{Limit, Limiter};
/// use brimful_wait::blocking::WaitBlocking;
///
/// let limiter = Limiter::new(Limit::per_second(1_000)?.burst(1)?)?;
/// std::thread::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| limiter.acquire_blocking("mail").expect("nobody closes it"));
///     }
/// });
/// assert_eq!(limiter.stats().admitted, 3);
/// # Ok::<(), brimful::Error>(())
/// ```
pub trait WaitBlocking<'a>: Source<'a> + Sized {
    /// Spends one token of the key as soon as there is one, after all who came before.
    ///
    /// # Errors
    /// As [`acquire_n_blocking`](Self::acquire_n_blocking).
    fn acquire_blocking(self, key: impl AsKey) -> Result<Decision, Refused> {
        self.acquire_n_blocking(key, 1)
    }

    /// Spends `cost` tokens of the key as soon as they are there, after all who came before.
    ///
    /// # Errors
    /// It would have to wait longer than anybody may
    /// ([`LimiterBuilder::max_wait`](brimful::LimiterBuilder::max_wait)), or for ever; the queue is full; or waiting
    /// has ended.
    fn acquire_n_blocking(self, key: impl AsKey, cost: u64) -> Result<Decision, Refused> {
        block(Ask { whom: self.whom(), key, cost, within: None })
    }

    /// As [`acquire_n_blocking`](Self::acquire_n_blocking), within a time from now that holds for the whole cost.
    ///
    /// # Errors
    /// As there; and as soon as it is known that it would have to wait longer, mostly at once.
    fn acquire_within_blocking(
        self,
        key: impl AsKey,
        cost: u64,
        within: Duration,
    ) -> Result<Decision, Refused> {
        block(Ask { whom: self.whom(), key, cost, within: Some(within) })
    }
}

impl<'a, S: Source<'a>> WaitBlocking<'a> for S {}

fn block<K: AsKey>(ask: Ask<'_, K>) -> Outcome {
    let mut turn = match ask.enqueue()? {
        Queued::Granted(decision) => return Ok(decision),
        Queued::Waiting(turn) => turn,
    };
    let waker = unparker();
    loop {
        match turn.poll(&waker) {
            Progress::Granted(decision) => return Ok(decision),
            Progress::Refused(decision) => return Err(Refused::new(decision)),
            // Whatever ends it, it only asks again.
            Progress::Waiting(wait) => thread::park_timeout(wait),
        }
    }
}

/// Wakes a thread that is parked.
struct Unparker(Thread);

impl Wake for Unparker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// The waker of this thread.
fn unparker() -> Waker {
    std::thread_local! {
        static UNPARKER: Waker = new_unparker();
    }
    // While a thread ends, what it had is gone.
    UNPARKER.try_with(Waker::clone).unwrap_or_else(|_| new_unparker())
}

fn new_unparker() -> Waker {
    Arc::new(Unparker(thread::current())).into()
}

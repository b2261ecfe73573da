//! Waiting in an async task, on Tokio's timer.

mod clock;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::time::{Instant, Sleep, sleep};
use brimful::{AsKey, Progress, Queued, Turn};

use crate::Refused;
use crate::ask::{Ask, Outcome, Source};

pub use clock::TokioClock;

/// The verbs that wait in a task: for `&Limiter`, `&Arc<Limiter>`, `&Weak<Limiter>` and
/// [`TierLimiter`](brimful::TierLimiter).
///
/// ```
/// use brimful::Limiter;
/// use brimful_wait::tokio::{TokioClock, Wait};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = brimful::Limit::per_second(1)?;
/// let limiter = Arc::new(Limiter::builder(limiter).clock(TokioClock::new()).build()?);
/// assert!(limiter.acquire("k").await?.is_allowed()); // at once
/// limiter.acquire("k").await?; // after a second
///
/// // The next is there in a second, and that is known now.
/// let refused = limiter.acquire_within("k", 1, Duration::from_millis(500)).await.unwrap_err();
/// assert_eq!(refused.decision().retry_after(), Some(Duration::from_secs(1)));
///
/// // What is left by a timeout or a `select!` has given up its place.
/// let late = tokio::time::timeout(Duration::from_millis(500), limiter.acquire("k")).await;
/// assert!(late.is_err());
/// assert_eq!(limiter.stats().waiters, 0);
///
/// // By an `Arc`, a future borrows nothing.
/// tokio::spawn(limiter.acquire("k".to_owned())).await??;
/// # Ok(())
/// # }
/// ```
pub trait Wait<'a>: Source<'a> + Sized {
    /// Spends one token of the key as soon as there is one, after all who came before.
    fn acquire<K: AsKey>(self, key: K) -> Acquire<'a, K> {
        self.acquire_n(key, 1)
    }

    /// Spends `cost` tokens of the key as soon as they are there, after all who came before.
    fn acquire_n<K: AsKey>(self, key: K, cost: u64) -> Acquire<'a, K> {
        Acquire::new(Ask { whom: self.whom(), key, cost, within: None })
    }

    /// As [`acquire_n`](Self::acquire_n), within a time from the first poll that holds for the whole cost. When it
    /// is known that it would have to wait longer, mostly at once, it is refused.
    fn acquire_within<K: AsKey>(self, key: K, cost: u64, within: Duration) -> Acquire<'a, K> {
        Acquire::new(Ask { whom: self.whom(), key, cost, within: Some(within) })
    }
}

impl<'a, S: Source<'a>> Wait<'a> for S {}

/// A wait for tokens. Its output is the decision that granted them, or [`Refused`]: it would have to wait longer
/// than it may ([`acquire_within`](Wait::acquire_within),
/// [`LimiterBuilder::max_wait`](brimful::LimiterBuilder::max_wait)), or for ever; the queue is full; or waiting has
/// ended.
///
/// It goes into the queue when it is polled first, unless it [has a place](Self::of_turn) there. Dropping it gives up the place, and tokens that were granted
/// since it was polled last go back; so it can be used in `select!` and with `timeout`. Polled again after its
/// end, it says the same again. It is `Send` if the key is, and always `Unpin`.
///
/// Once polled, one that was made from an `Arc` or a `Weak` does not keep the limiter: when that is dropped, it is
/// refused.
///
/// # Panics
/// Polling one that has to wait panics outside of a Tokio runtime with its timer enabled, as all timers of Tokio
/// do.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Acquire<'a, K> {
    stage: Stage<'a, K>,
    /// Rings when its turn is to be asked again. There is none before it has to wait.
    timer: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Stage<'a, K> {
    /// Not polled yet. (Empty while it asks, and after a key that panicked then.)
    New(Option<Ask<'a, K>>),
    Waiting(Turn<'a>),
    Done(Outcome),
}

impl<'a, K> Acquire<'a, K> {
    const fn new(ask: Ask<'a, K>) -> Self {
        Self { stage: Stage::New(Some(ask)), timer: None }
    }
}

impl<'a> Acquire<'a, ()> {
    /// A wait by a place in a queue that one has already
    /// ([`Limiter::enqueue_owned_in`](brimful::Limiter::enqueue_owned_in) and its like): for those who put themselves
    /// into the queue and do something before they wait. It ends as any other; dropping it gives up the place.
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Queued};
    /// use brimful_wait::tokio::{Acquire, TokioClock};
    /// use std::sync::Arc;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::builder(Limit::per_second(1)?).clock(TokioClock::new()).build()?;
    /// let limiter = Arc::new(limiter);
    /// assert!(limiter.allow("k"));
    /// let decision = match limiter.enqueue_owned("k", 1, None) {
    ///     Ok(Queued::Granted(decision)) => decision,
    ///     Ok(Queued::Waiting(turn)) => Acquire::of_turn(turn).await?, // after a second
    ///     Err(denied) => denied,
    /// };
    /// assert!(decision.is_allowed());
    /// # Ok(())
    /// # }
    /// ```
    pub const fn of_turn(turn: Turn<'a>) -> Self {
        Self { stage: Stage::Waiting(turn), timer: None }
    }
}

/// Nothing in it is pinned but the timer, which is where it is.
impl<K> Unpin for Acquire<'_, K> {}

impl<K: AsKey> Future for Acquire<'_, K> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let Self { stage, timer } = &mut *self;
        if let Stage::New(ask) = stage
            && let Some(ask) = ask.take()
        {
            *stage = match ask.enqueue() {
                Ok(Queued::Granted(decision)) => Stage::Done(Ok(decision)),
                Ok(Queued::Waiting(turn)) => Stage::Waiting(turn),
                Err(refused) => Stage::Done(Err(refused)),
            };
        }
        let wait = match stage {
            Stage::New(_) => return Poll::Pending,
            Stage::Done(outcome) => return Poll::Ready(*outcome),
            Stage::Waiting(turn) => match turn.poll(context.waker()) {
                Progress::Waiting(wait) => wait,
                Progress::Granted(decision) => return self.end(Ok(decision)),
                Progress::Refused(decision) => return self.end(Err(Refused::new(decision))),
            },
        };
        if ring_after(timer, wait, context).is_ready() {
            // It is time already: others come first, then it asks again.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<K> Acquire<'_, K> {
    fn end(&mut self, outcome: Outcome) -> Poll<Outcome> {
        self.stage = Stage::Done(outcome);
        self.timer = None;
        Poll::Ready(outcome)
    }
}

/// Sets the timer.
fn ring_after(
    timer: &mut Option<Pin<Box<Sleep>>>,
    wait: Duration,
    context: &mut Context<'_>,
) -> Poll<()> {
    let timer = match timer {
        Some(timer) => {
            // What cannot be said is longer than anybody waits; it asks again at some time.
            let at = Instant::now().checked_add(wait);
            timer.as_mut().reset(at.unwrap_or_else(|| Instant::now() + FAR));
            timer
        }
        None => timer.insert(Box::pin(sleep(wait))),
    };
    timer.as_mut().poll(context)
}

/// 30 years.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

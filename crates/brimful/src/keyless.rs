//! A limiter for one budget that everybody shares.

use std::time::Duration;

use crate::decision::Decision;
use crate::error::Error;
use crate::limit::Limit;
use crate::limiter::{Limiter, Queued, Reservation};
use crate::policy::Policy;
use crate::stats::Stats;
use crate::time::Nanos;

/// A limiter without keys: one budget for all callers, the verbs of [`Limiter`] without the key.
///
/// It is a [`Limiter`] for one key, the empty list; with other settings than the defaults, build a
/// `Limiter` with `max_keys(1)` and pass `()`.
///
/// ```
/// use brimful::{KeylessLimiter, Limit};
///
/// let outgoing = KeylessLimiter::new(Limit::per_second(100)?.burst(1)?)?;
/// assert!(outgoing.allow());
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Debug)]
pub struct KeylessLimiter(Limiter);

impl KeylessLimiter {
    /// A limiter by `policy`.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(policy: impl Into<Policy>) -> Result<Self, Error> {
        Limiter::builder(policy.into()).max_keys(1).build().map(Self)
    }

    /// As [`Limiter::allow`].
    #[must_use]
    pub fn allow(&self) -> bool {
        self.0.allow(())
    }

    /// As [`Limiter::try_acquire`].
    pub fn try_acquire(&self) -> Decision {
        self.0.try_acquire(())
    }

    /// As [`Limiter::try_acquire_n`].
    pub fn try_acquire_n(&self, cost: u64) -> Decision {
        self.0.try_acquire_n((), cost)
    }

    /// As [`Limiter::try_acquire_at`].
    pub fn try_acquire_at(&self, cost: u64, now: Nanos) -> Decision {
        self.0.try_acquire_at((), cost, now)
    }

    /// As [`Limiter::reserve`].
    ///
    /// # Errors
    /// As [`Limiter::reserve`].
    pub fn reserve(&self, cost: u64) -> Result<Reservation<'_>, Decision> {
        self.0.reserve((), cost)
    }

    /// As [`Limiter::reserve_at`].
    ///
    /// # Errors
    /// As [`Limiter::reserve`].
    pub fn reserve_at(&self, cost: u64, now: Nanos) -> Result<Reservation<'_>, Decision> {
        self.0.reserve_at((), cost, now)
    }

    /// As [`Limiter::enqueue`].
    ///
    /// # Errors
    /// As [`Limiter::enqueue`].
    pub fn enqueue(&self, cost: u64, within: Option<Duration>) -> Result<Queued<'_>, Decision> {
        self.0.enqueue((), cost, within)
    }

    /// As [`Limiter::enqueue_at`].
    ///
    /// # Errors
    /// As [`Limiter::enqueue`].
    pub fn enqueue_at(
        &self,
        cost: u64,
        within: Option<Duration>,
        now: Nanos,
    ) -> Result<Queued<'_>, Decision> {
        self.0.enqueue_at((), cost, within, now)
    }

    /// As [`Limiter::close`].
    pub fn close(&self) {
        self.0.close();
    }

    /// As [`Limiter::peek`].
    #[must_use]
    pub fn peek(&self, cost: u64) -> Decision {
        self.0.peek((), cost)
    }

    /// As [`Limiter::peek_at`].
    #[must_use]
    pub fn peek_at(&self, cost: u64, now: Nanos) -> Decision {
        self.0.peek_at((), cost, now)
    }

    /// As [`Limiter::refund_at`].
    pub fn refund_at(&self, tokens: u64, now: Nanos) -> u64 {
        self.0.refund_at((), tokens, now)
    }

    /// As [`Limiter::limit_of`].
    #[must_use]
    pub fn limit_of(&self, decision: &Decision) -> Option<Limit> {
        self.0.limit_of(decision)
    }

    /// As [`Limiter::refund`].
    pub fn refund(&self, tokens: u64) -> u64 {
        self.0.refund((), tokens)
    }

    /// As [`Limiter::reset`].
    pub fn reset(&self) -> bool {
        self.0.reset(())
    }

    /// As [`Limiter::stats`].
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

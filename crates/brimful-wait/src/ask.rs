//! Whom to ask for tokens, and for how many.

use std::sync::{Arc, Weak};
use std::time::Duration;

use brimful::{AsKey, Decision, Limiter, Queued, TierLimiter};

use crate::Refused;

/// What can be asked for tokens.
///
/// Sealed: the verbs are in [`blocking::WaitBlocking`](crate::blocking::WaitBlocking) and in the module `tokio`.
pub trait Source<'a> {
    /// Whom to ask.
    fn whom(self) -> Whom<'a>;
}

/// A limiter, in one of the ways in which it is held.
#[derive(Clone, Debug)]
pub enum Whom<'a> {
    /// As all callers see it.
    Limiter(&'a Limiter),
    /// As callers of a tier see it.
    Tier(TierLimiter<'a>),
    /// One that may be dropped while somebody waits.
    Shared(Arc<Limiter>),
    /// One that was dropped.
    Gone,
}

impl<'a> Source<'a> for &'a Limiter {
    fn whom(self) -> Whom<'a> {
        Whom::Limiter(self)
    }
}

impl Source<'static> for &Arc<Limiter> {
    fn whom(self) -> Whom<'static> {
        Whom::Shared(self.clone())
    }
}

impl Source<'static> for &Weak<Limiter> {
    fn whom(self) -> Whom<'static> {
        self.upgrade().map_or(Whom::Gone, Whom::Shared)
    }
}

impl<'a> Source<'a> for TierLimiter<'a> {
    fn whom(self) -> Whom<'a> {
        Whom::Tier(self)
    }
}

/// A call that wants to wait.
#[derive(Debug)]
pub(crate) struct Ask<'a, K> {
    pub(crate) whom: Whom<'a>,
    pub(crate) key: K,
    pub(crate) cost: u64,
    pub(crate) within: Option<Duration>,
}

impl<'a, K: AsKey> Ask<'a, K> {
    /// Goes into the queue, unless it need not wait. From then on it keeps no limiter.
    pub(crate) fn enqueue(self) -> Result<Queued<'a>, Refused> {
        let Self { whom, key, cost, within } = self;
        let queued = match &whom {
            Whom::Limiter(limiter) => limiter.enqueue(key, cost, within),
            Whom::Tier(tier) => tier.enqueue(key, cost, within),
            Whom::Shared(limiter) => limiter.enqueue_owned(key, cost, within),
            Whom::Gone => Err(Decision::CLOSED),
        };
        queued.map_err(Refused::new)
    }
}

/// What came of a wait.
pub(crate) type Outcome = Result<Decision, Refused>;

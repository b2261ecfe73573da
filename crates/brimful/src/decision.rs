//! What the limiter answers.

use core::time::Duration;

/// Whether and when a request may go ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It may go ahead now: the request was allowed.
    Now,
    /// Denied. The same request is allowed after exactly this long if nobody else asks in between,
    /// and not one nanosecond sooner. At least 1 ns.
    ///
    /// While others wait for the key ([`Denial::Queued`]) that is the time for who stands in line behind them, if
    /// they are granted when they are due and none of them goes. A queue that is full ([`Denial::QueueFull`]) has a
    /// place then.
    ///
    /// Two exceptions, where there is nothing that could keep the hint: when there was no place
    /// ([`Denial::StoreFull`]) one may be found sooner, or, when log entries are used up by keys
    /// elsewhere or by the key's own logs, later; and a peek by a clock that was stepped
    /// back does not keep the step, as the denied call itself does.
    After(Duration),
    /// Denied, and no wait can help: the cost is above the capacity, or the key is blocked.
    Never,
}

/// Why a request was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denial {
    /// A limit refused it; see [`Decision::limit`].
    Limit,
    /// The key's policy is `blocked`.
    Blocked,
    /// There was no place to remember the key, and the limiter was told to refuse then
    /// ([`Overflow::Refuse`](crate::Overflow::Refuse)), or the memory of the logs was used up, or one
    /// call named more keys than there are slots, or there are as many open
    /// [`Reservation`](crate::Reservation)s as the limiter was built for.
    StoreFull,
    /// Others wait for the key's tokens; the hint is that of a newcomer at the end of their queue.
    Queued,
    /// The queue of the key, or all queues together, hold as many as the limiter was built for. The hint
    /// says when the first of the key's own queue is granted; a place may be free sooner.
    QueueFull,
    /// Nobody waits any more: the limiter was [closed](crate::Limiter::close), or dropped.
    Closed,
}

/// The answer to one request: allowed or denied, and all that a client can be told about it.
///
/// For a policy of several limits: [`remaining`](Self::remaining) is the least over the limits,
/// [`retry`](Self::retry) the longest over those that refuse, [`reset_after`](Self::reset_after)
/// the longest over all, [`next_after`](Self::next_after) the longest over those that have the least.
///
/// ```
/// use brimful::{Limit, Meter, Nanos, Policy, Retry};
/// use core::time::Duration;
///
/// let mut meter = Meter::new(&Policy::from(Limit::per_second(10)?.burst(2)?));
/// let now = Nanos::from_secs(1);
/// assert_eq!(meter.try_acquire_at(2, now).remaining(), 0);
///
/// let denied = meter.try_acquire_at(1, now);
/// assert!(!denied.is_allowed());
/// assert_eq!(denied.retry(), Retry::After(Duration::from_millis(100)));
/// assert_eq!(denied.retry_after_secs(), Some(1)); // rounded up, never 0
///
/// assert_eq!(meter.try_acquire_at(3, now).retry(), Retry::Never); // above the capacity
/// # Ok::<(), brimful::Error>(())
/// ```
///
/// Two decisions are equal when they tell the client the same, by whatever rules.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    pub(crate) retry: Retry,
    pub(crate) remaining: u64,
    pub(crate) reset_after: Duration,
    /// A token takes at most a year, two windows at most two, and readings lie less than 2^63 ns apart: it fits.
    pub(crate) next_after_ns: u64,
    /// Below [`Policy::MAX_LIMITS`](crate::Policy::MAX_LIMITS).
    pub(crate) limit: Option<u8>,
    /// One bit for each limit, the first of the policy the lowest; none unless `denial` is [`Denial::Limit`].
    pub(crate) refused_by: u8,
    pub(crate) denial: Option<Denial>,
    pub(crate) would_deny: bool,
    /// By what it was decided, for the limiter to name it.
    pub(crate) origin: Origin,
}

/// Where a decision comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Which rules of the limiter, counted from 1; 0 when its limits came with the call.
    pub(crate) generation: u64,
    /// The row among them.
    pub(crate) row: u32,
    /// The counter of the policy's name.
    pub(crate) label: u32,
}

impl Origin {
    /// No rules: limits that came with the call, or a policy that stands alone.
    pub(crate) const NONE: Self = Self { generation: 0, row: u32::MAX, label: 0 };
}

impl PartialEq for Decision {
    fn eq(&self, other: &Self) -> bool {
        let Self { retry, remaining, reset_after, next_after_ns, .. } = *self;
        let Self { limit, refused_by, denial, would_deny, origin: _, .. } = *self;
        (retry, remaining, reset_after) == (other.retry, other.remaining, other.reset_after)
            && (next_after_ns, refused_by) == (other.next_after_ns, other.refused_by)
            && (limit, denial, would_deny) == (other.limit, other.denial, other.would_deny)
    }
}

impl Eq for Decision {}

impl Decision {
    /// A key without limits.
    pub(crate) const UNLIMITED: Self = Self {
        retry: Retry::Now,
        remaining: u64::MAX,
        reset_after: Duration::ZERO,
        next_after_ns: 0,
        limit: None,
        refused_by: 0,
        denial: None,
        would_deny: false,
        origin: Origin::NONE,
    };

    /// A key that is blocked.
    pub(crate) const BLOCKED: Self = Self {
        retry: Retry::Never,
        remaining: 0,
        reset_after: Duration::ZERO,
        next_after_ns: 0,
        limit: None,
        refused_by: 0,
        denial: Some(Denial::Blocked),
        would_deny: false,
        origin: Origin::NONE,
    };

    /// Waiting has ended ([`Denial::Closed`]): what one is told for whom there is no limiter any more.
    pub const CLOSED: Self = Self { denial: Some(Denial::Closed), ..Self::BLOCKED };

    /// No place for the key before `wait` has passed.
    pub(crate) const fn store_full(wait: Duration, origin: Origin) -> Self {
        Self {
            retry: Retry::After(wait),
            remaining: 0,
            reset_after: wait,
            next_after_ns: 0,
            limit: None,
            refused_by: 0,
            denial: Some(Denial::StoreFull),
            would_deny: false,
            origin,
        }
    }

    /// The request may go ahead; its cost has been charged.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.retry, Retry::Now)
    }

    /// The request must not go ahead; nothing has been charged.
    #[must_use]
    pub const fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// When the same request may go ahead.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// How long to wait before the same request is allowed. `None` when it was allowed, and when
    /// no wait can help ([`is_never`](Self::is_never)).
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.retry {
            Retry::After(wait) => Some(wait),
            Retry::Now | Retry::Never => None,
        }
    }

    /// [`retry_after`](Self::retry_after) in whole seconds, rounded up: at least 1.
    #[must_use]
    pub const fn retry_after_secs(&self) -> Option<u64> {
        match self.retry {
            Retry::After(wait) => {
                Some(wait.as_secs().saturating_add((wait.subsec_nanos() > 0) as u64))
            }
            Retry::Now | Retry::Never => None,
        }
    }

    /// Denied, and no wait can help.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        matches!(self.retry, Retry::Never)
    }

    /// Whole tokens left: after the charge when allowed, before it on a denial or a look (cost 0).
    /// [`u64::MAX`] for a key without limits; 0 while others wait for the key, because all of them are spoken for.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// How long until every limit is as good as new if nothing more is spent.
    #[must_use]
    pub const fn reset_after(&self) -> Duration {
        self.reset_after
    }

    /// How long until [`remaining`](Self::remaining) is more, if nothing more is spent: a look after exactly this
    /// long shows at least one token more, and not one nanosecond sooner. For several limits it is the longest over
    /// those that have just `remaining` left: one more is there when all of them have it. When a cost of 1 is denied
    /// by limits, it is [`retry_after`](Self::retry_after).
    ///
    /// Zero when nothing more can come: one of those limits is full. So it is for a key without limits, and
    /// where no limit decided (`blocked`, no place in the store). While others wait for the key it is the time
    /// until one token is left by them, if they are granted when they are due and none of them goes. (A look by a
    /// clock that was stepped back does not keep the step, as with [`Retry::After`].)
    ///
    /// ```
    /// use brimful::{Limit, Meter, Nanos, Policy};
    /// use core::time::Duration;
    ///
    /// let policy = Policy::parse(["10/s", "5/min fixed-window"])?;
    /// let mut meter = Meter::new(&policy);
    /// let now = Nanos::from_secs(50);
    /// // 4 are left of the minute, which ends in ten seconds, and 9 of the second.
    /// let decision = meter.try_acquire_at(1, now);
    /// assert_eq!(decision.next_after(), Duration::from_secs(10));
    /// let then = now + decision.next_after();
    /// assert_eq!(meter.peek_at(0, then).remaining(), 5);
    /// assert_eq!(meter.peek_at(0, then).next_after(), Duration::ZERO); // full
    /// # Ok::<(), brimful::Error>(())
    /// ```
    #[must_use]
    pub const fn next_after(&self) -> Duration {
        Duration::from_nanos(self.next_after_ns)
    }

    /// The place in the policy of the limit that decided: on a denial the one with the longest
    /// retry, else the one with the least remaining; the first of equals. `None` when no limit
    /// decided (`unlimited`, `blocked`, no place in the store).
    #[must_use]
    pub const fn limit(&self) -> Option<usize> {
        match self.limit {
            Some(place) => Some(place as usize),
            None => None,
        }
    }

    /// Whether the limit at that place of the policy refused the request. On a denial by limits
    /// ([`Denial::Limit`]) there is at least one, and [`limit`](Self::limit) names the one with the longest retry;
    /// otherwise, and for places that the policy does not have, it is false. Who would have to wait behind others
    /// is refused by none of them; who could never be admitted there, by those that would refuse it
    /// once all others were granted.
    ///
    /// ```
    /// use brimful::{Meter, Nanos, Policy};
    ///
    /// let mut meter = Meter::new(&Policy::parse(["2/s", "2/min", "100/h"])?);
    /// let now = Nanos::from_secs(1);
    /// assert!(meter.try_acquire_at(2, now).is_allowed());
    /// let denied = meter.try_acquire_at(1, now);
    /// assert_eq!(denied.limit(), Some(1));
    /// assert_eq!([0, 1, 2].map(|place| denied.refused_by(place)), [true, true, false]);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    #[must_use]
    pub const fn refused_by(&self, place: usize) -> bool {
        place < u8::BITS as usize && (self.refused_by >> place) & 1 == 1
    }

    /// Why the request was denied; `None` when it was allowed.
    #[must_use]
    pub const fn denial(&self) -> Option<Denial> {
        self.denial
    }

    /// Whether a policy [on trial](crate::Policy::shadow) would have denied the request. Nothing was
    /// charged to that policy then; what the request is told otherwise does not depend on it.
    #[must_use]
    pub const fn would_deny(&self) -> bool {
        self.would_deny
    }

    /// By which rules of the limiter it was decided: those that it was built with are 1, and each
    /// [`Limiter::set_rules`](crate::Limiter::set_rules) counts one on. 0 when the limits came with the
    /// call, or belong to a [`Meter`](crate::Meter).
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.origin.generation
    }
}

//! The one place that reads a clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::sync::{AtomicU64, Ordering};
use crate::time::Nanos;

/// A source of the current time, for verbs that are not given one.
///
/// Readings may go backwards and may be wrong: no reading makes the limiter panic. One key's time
/// does not count for another, except that what owes nothing at a reading may be forgotten, and
/// that a store without a place lets keys whose time lies ahead of a stepped clock refill from the
/// reading on.
pub trait Clock: Send + Sync {
    /// The time now. Called while a set of keys is locked (and by a newcomer to a full store a few
    /// times more), so it should be quick and must not call the limiter.
    fn now(&self) -> Nanos;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

/// The default clock: the operating system's monotonic clock, anchored once to wall time.
///
/// It counts from the wall time at its creation. A suspended machine does not count, and later
/// steps of the wall clock do not move windows; who needs otherwise passes a [`Clock`].
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
    anchor: Nanos,
}

impl SystemClock {
    /// Anchors to the wall time now. A wall clock before 1970 reads as 1970.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self { started: Instant::now(), anchor: Nanos::ZERO + wall.unwrap_or_default() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Nanos {
        self.anchor + self.started.elapsed()
    }
}

/// A clock for tests: it stands still until it is set or advanced. Clones share one time.
///
/// ```
/// use brimful::{Limit, Limiter, ManualClock, Nanos};
/// use std::time::Duration;
///
/// let clock = ManualClock::new(Nanos::from_secs(1_000_000));
/// let limiter = Limiter::builder(Limit::per_second(1)?).clock(clock.clone()).build()?;
/// assert!(limiter.allow("ann"));
/// assert!(!limiter.allow("ann"));
/// clock.advance(Duration::from_secs(1));
/// assert!(limiter.allow("ann"));
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn new(now: Nanos) -> Self {
        Self { now: Arc::new(AtomicU64::new(now.as_nanos())) }
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Nanos) {
        self.now.store(now.as_nanos(), Ordering::SeqCst);
    }

    /// Moves the time forwards by `by`, at most to [`Nanos::MAX`]. For one caller at a time.
    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        Nanos::from_nanos(self.now.load(Ordering::SeqCst))
    }
}

/// The clock of one limiter; the usual one without a virtual call.
pub(crate) enum Source {
    System(SystemClock),
    Custom(Box<dyn Clock>),
}

impl Source {
    pub(crate) fn now(&self) -> Nanos {
        match self {
            Self::System(clock) => clock.now(),
            Self::Custom(clock) => clock.now(),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(clock) => clock.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

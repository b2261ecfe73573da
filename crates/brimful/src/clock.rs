//! The one place that reads a clock.

// Where there is no counter, it is only tested.
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
mod ticks;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::sync::{AtomicU64, Ordering};
use crate::time::Nanos;
use ticks::Ticks;

/// A source of the current time, for verbs that are not given one.
///
/// Readings may go backwards and may be wrong: no reading makes the limiter panic. One key's time
/// does not count for another, except that what owes nothing at a reading may be forgotten, and
/// that a store without a place lets keys whose time lies ahead of a stepped clock refill from the
/// reading on.
pub trait Clock: Send + Sync {
    /// The time now. It may be called while a set of keys is locked, and several times for one call of
    /// the limiter, so it should be quick and must not call the limiter.
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
///
/// A limiter that was given no clock reads this one; on Linux and x86_64, where the kernel itself keeps
/// time by the processor's tick counter, it asks it once in 10 ms and counts the ticks in between,
/// which stays within some microseconds of it (`it_stays_near_the_clock_and_never_goes_back`).
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
    /// The usual one, asked as seldom as the processor's tick counter allows.
    System(SystemClock, Ticks),
    Custom(Box<dyn Clock>),
}

impl Source {
    /// The default.
    pub(crate) fn system() -> Self {
        let source = Self::System(SystemClock::new(), Ticks::default());
        // The first reading finds out what there is, so that no call has to.
        source.now();
        source
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        match self {
            Self::System(clock, ticks) => counter::now(clock, ticks),
            Self::Custom(clock) => clock.now(),
        }
    }
}

/// The tick counter, where the kernel itself counts time by it: then it is the same on all
/// processors, and goes at one rate.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod counter {
    use std::sync::LazyLock;

    use tick_counter::x86_64_tick_counter as count;

    use super::{Clock as _, SystemClock, Ticks};
    use crate::time::Nanos;

    #[inline]
    pub(super) fn now(clock: &SystemClock, ticks: &Ticks) -> Nanos {
        match ticks.at(count()) {
            Some(now) => Nanos::from_nanos(now),
            None => ask(clock, ticks),
        }
    }

    #[cold]
    fn ask(clock: &SystemClock, ticks: &Ticks) -> Nanos {
        let before = count();
        let now = clock.now();
        match *IS_USED {
            true => Nanos::from_nanos(ticks.take(before, now.as_nanos(), count())),
            false => now,
        }
    }

    static IS_USED: LazyLock<bool> = LazyLock::new(|| {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let source = std::fs::read_to_string(source).unwrap_or_default();
        source.trim() == "tsc"
    });
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod counter {
    use super::{Clock as _, SystemClock, Ticks};
    use crate::time::Nanos;

    pub(super) fn now(clock: &SystemClock, _: &Ticks) -> Nanos {
        clock.now()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(clock, _) => clock.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

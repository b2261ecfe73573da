//! Time as the limiter counts it. Every sum, difference and quotient of times in the crate is
//! written here, and none of them can overflow or panic.
#![deny(clippy::arithmetic_side_effects)]

use core::num::NonZero;
use core::time::Duration;

/// A point in time: whole nanoseconds since the Unix epoch (UTC), as the limiter counts them.
///
/// Range: 0 to [`Nanos::MAX`] = 2^63 - 1, which is reached in the year 2262. Constructors and
/// additions saturate there: at the end of time, time stands still and nothing is refilled.
///
/// ```
/// use brimful::Nanos;
/// use core::time::Duration;
///
/// let start = Nanos::from_secs(10);
/// assert_eq!(start + Duration::from_millis(5300), Nanos::from_nanos(15_300_000_000));
/// assert_eq!(start.since(Nanos::from_secs(12)), Duration::ZERO); // never negative
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

impl Nanos {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// The last point in time that can be counted: 2^63 - 1 ns.
    pub const MAX: Self = Self(u64::MAX >> 1);

    /// The point `ns` nanoseconds after the epoch, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        if ns > Self::MAX.0 { Self::MAX } else { Self(ns) }
    }

    /// The point `ms` milliseconds after the epoch, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self::from_nanos(ms.saturating_mul(1_000_000))
    }

    /// The point `secs` seconds after the epoch, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_nanos(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero when `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// As [`since`](Self::since), in nanoseconds.
    pub(crate) const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The point `ns` nanoseconds later, at most [`Nanos::MAX`].
    pub(crate) const fn plus_nanos(self, ns: u64) -> Self {
        Self::from_nanos(self.0.saturating_add(ns))
    }

    /// The point `age` nanoseconds before this one.
    pub(crate) const fn stamp(self, age: u64) -> Stamp {
        Stamp(self.0.saturating_add(Stamp::BIAS).saturating_sub(age))
    }

    /// How many nanoseconds before this point `stamp` lies; zero when it is later.
    pub(crate) const fn age(self, stamp: Stamp) -> u64 {
        self.0.saturating_add(Stamp::BIAS).saturating_sub(stamp.0)
    }

    /// Which window of `width` nanoseconds, counted from the epoch, this point falls in.
    pub(crate) fn window(self, width: NonZero<u64>) -> u64 {
        self.0 / width
    }

    /// How far into its window of `width` nanoseconds this point is: 0 to `width - 1`.
    pub(crate) fn phase(self, width: NonZero<u64>) -> u64 {
        self.0 % width
    }
}

impl core::ops::Add<Duration> for Nanos {
    type Output = Self;

    /// Saturates at [`Nanos::MAX`].
    fn add(self, rhs: Duration) -> Self {
        self.plus_nanos(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A point in time that may also lie up to 2^56 ns (longer than any period) before the epoch:
/// when a clock steps back to soon after the epoch, the entries of a log move along to before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    const BIAS: u64 = 1 << 56;
    pub(crate) const ZERO: Self = Self(0);
}

/// A span of nanoseconds as a [`Duration`]. Spans in a decision can exceed 2^64 ns (584 years),
/// but never 2^64 s: a limit's fill time is at most 10^9 years.
pub(crate) fn span(ns: u128) -> Duration {
    const NANOS_PER_SEC: u128 = 1_000_000_000;
    // Nearly always, and without a division of 128 bits.
    if let Ok(ns) = u64::try_from(ns) {
        return Duration::from_nanos(ns);
    }
    let secs = u64::try_from(ns / NANOS_PER_SEC).unwrap_or(u64::MAX);
    // The remainder is below 10^9 and fits.
    let below = u32::try_from(ns % NANOS_PER_SEC).unwrap_or(0);
    Duration::new(secs, below)
}

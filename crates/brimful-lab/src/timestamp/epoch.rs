//! Times as decimals since the Unix epoch, read digit by digit.

use brimful::Nanos;

use super::{FORMS, NANO, RANGE};

/// The unit of a time that is a number.
///
/// A field or column with a time holds one of
///
/// | written | read as |
/// |---|---|
/// | `1431857103`, `1431857103.25` | a decimal since 1970, in the unit of its field |
/// | `2015-05-17T10:05:03.25Z` | ISO 8601 and RFC 3339: `T`, `t` or a space between date and time; `Z`, `+02:00`, `+0200` or `+02`, after a space or none; UTC without any of these |
/// | `17/May/2015:10:05:03 +0000` | the time of the common log format, in brackets or not |
///
/// A unit that is neither said nor in the name of the field is told by the size of the number: up
/// to 11 digits before the point are seconds, 12 to 14 milliseconds, 15 to 17 microseconds, more
/// are nanoseconds. So every time from March 1973 on is read right in all four units.
///
/// No digit is lost, and no number passes through a float: digits below the nanosecond must be
/// zeros, and a time that has others is refused. So is second 60: Unix time, in which logs are
/// counted, does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// From the longest.
    pub const ALL: [Self; 4] = [Self::Seconds, Self::Millis, Self::Micros, Self::Nanos];

    /// `s`, `ms`, `us` or `ns`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }

    /// Digits between this unit and the nanosecond.
    const fn places(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Millis => 6,
            Self::Micros => 3,
            Self::Nanos => 0,
        }
    }

    /// The unit that a field's name ends in, as in `at_ns` and `time_ms`; `at` is in seconds.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        if name == "at" {
            return Some(Self::Seconds);
        }
        let (_, last) = name.rsplit_once('_')?;
        Self::ALL.into_iter().find(|unit| unit.name() == last)
    }

    /// The unit of an epoch of so many digits before the point.
    const fn of_digits(count: usize) -> Self {
        match count {
            0..=11 => Self::Seconds,
            12..=14 => Self::Millis,
            15..=17 => Self::Micros,
            _ => Self::Nanos,
        }
    }
}

/// Reads a decimal without sign and exponent.
pub(super) fn read(text: &str, unit: Option<TimeUnit>) -> Result<Nanos, &'static str> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(FORMS);
    }
    let whole = whole.trim_start_matches('0');
    let places = unit.unwrap_or(TimeUnit::of_digits(whole.len())).places();
    let part = below(fraction, places)?;
    let whole = if whole.is_empty() { "0" } else { whole };
    whole
        .parse::<u64>()
        .ok()
        .and_then(|whole| whole.checked_mul(10_u64.pow(places))?.checked_add(part))
        .filter(|ns| *ns <= Nanos::MAX.as_nanos())
        .map(Nanos::from_nanos)
        .ok_or(RANGE)
}

/// The digits behind a point in nanoseconds, of a unit that is `places` above them (at most 9).
/// Zeros behind the last place say nothing.
pub(super) fn below(fraction: &str, places: u32) -> Result<u64, &'static str> {
    let kept = fraction.len().min(usize::try_from(places).unwrap_or(0));
    let (kept, lost) = fraction.split_at_checked(kept).ok_or(FORMS)?;
    if lost.bytes().any(|b| b != b'0') {
        return Err(NANO);
    }
    let missing = places.saturating_sub(u32::try_from(kept.len()).unwrap_or(places));
    // At most nine digits.
    let number: u64 = if kept.is_empty() { 0 } else { kept.parse().map_err(|_| FORMS)? };
    Ok(number * 10_u64.pow(missing))
}

//! Reads points in time as logs write them, exactly; [`TimeUnit`] says how.

mod common_log;
mod epoch;
mod iso;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use brimful::Nanos;

use crate::civil;
use crate::error::Error;

pub(crate) use common_log::common_log;
pub use epoch::TimeUnit;

const FORMS: &str = "a time like 2015-05-17T10:05:03Z, 17/May/2015:10:05:03 +0000 or 1431857103.25";
const RANGE: &str = "1970 to 2262";
const CLOCK: &str = "a time of day from 00:00:00 to 23:59:59";
const OFFSET: &str = "an offset up to 23:59";
const CALENDAR: &str = "a date of the calendar";
const NANO: &str = "nothing below the nanosecond: at most nine digits after the point of a second";

/// Reads a time in any of the forms; `unit` is that of an epoch. The error is what was expected.
pub(crate) fn read(text: &str, unit: Option<TimeUnit>) -> Result<Nanos, &'static str> {
    let bytes = text.as_bytes();
    let shape = |at: usize| bytes.get(at).copied();
    if shape(0) == Some(b'[') || shape(2) == Some(b'/') {
        let inside = bytes.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
        common_log(inside.unwrap_or(bytes))
    } else if shape(4) == Some(b'-') {
        iso::read(text)
    } else {
        epoch::read(text, unit)
    }
}

/// A date and a time of day with an offset, as they are written.
struct Written {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    nanos: u32,
    /// Seconds by which the written time is ahead of UTC.
    east: i64,
}

impl Written {
    fn point(&self) -> Result<Nanos, &'static str> {
        let days = civil::days(self.year, self.month, self.day).ok_or(CALENDAR)?;
        if self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(CLOCK);
        }
        let seconds = civil::seconds(days, self.hour, self.minute, self.second) - self.east;
        u64::try_from(seconds)
            .ok()
            .and_then(|seconds| seconds.checked_mul(1_000_000_000)?.checked_add(self.nanos.into()))
            .filter(|ns| *ns <= Nanos::MAX.as_nanos())
            .map(Nanos::from_nanos)
            .ok_or(RANGE)
    }
}

/// Seconds of an offset of `hours` and `minutes`; `sign` is a plus or a minus.
fn offset(sign: u8, hours: u8, minutes: u8) -> Result<i64, &'static str> {
    if hours > 23 || minutes > 59 {
        return Err(OFFSET);
    }
    let seconds = civil::seconds(0, hours, minutes, 0);
    Ok(if sign == b'-' { -seconds } else { seconds })
}

/// A number of two digits.
fn two(tens: u8, ones: u8) -> Option<u8> {
    let [tens, ones] = [tens, ones].map(|b| b.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| tens * 10 + ones)
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = Error;

    /// Reads `s`, `ms`, `us` or `ns`.
    ///
    /// # Errors
    /// It is none of them.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|unit| unit.name() == text).ok_or_else(|| {
            Error::usage(format!("the unit of time is `{text}`, expected s, ms, us or ns"))
        })
    }
}

//! Dates and times of day in UTC, as whole seconds since the Unix epoch, by the proleptic
//! Gregorian calendar. Source of the two conversions: Howard Hinnant, "chrono-Compatible Low-Level
//! Date Algorithms" (`days_from_civil`, `civil_from_days`): years are counted from March, so that
//! the leap day is the last of its year.

use std::fmt;

use brimful::Nanos;

const DAY: i64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;
/// Days from 1 March of year 0 to 1 January 1970.
const EPOCH: i64 = 719_468;

/// Days from the Unix epoch to a date; `None` when the calendar has no such date.
pub(crate) fn days(year: u16, month: u8, day: u8) -> Option<i64> {
    let every = |years: u16| year.is_multiple_of(years);
    let leap = every(4) && (!every(100) || every(400));
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let (month, day) = (i64::from(month), i64::from(day));
    // January and February belong to the year before.
    let year = i64::from(year) - i64::from(month <= 2);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(year.div_euclid(400) * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH)
}

/// Seconds from the Unix epoch to a time of day on a date that is `days` after it.
pub(crate) fn seconds(days: i64, hour: u8, minute: u8, second: u8) -> i64 {
    days * DAY + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)
}

/// A point in time as ISO 8601 in UTC: `2015-05-17T10:05:03Z`, with as many digits after the
/// second as it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Utc(pub(crate) Nanos);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        let (seconds, nanos) = (self.0.as_nanos() / SECOND, self.0.as_nanos() % SECOND);
        // Below 2^34.
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let (year, month, day) = date(seconds.div_euclid(DAY));
        let clock = seconds.rem_euclid(DAY);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if nanos > 0 {
            write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// The date that is `days` after the Unix epoch.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let of_era = days.rem_euclid(ERA);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    (days.div_euclid(ERA) * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day from 1900 to 2399, counted one by one.
    #[test]
    fn conversions_agree_with_counting_the_days() {
        let mut count = days(1900, 1, 1).unwrap();
        assert_eq!(count, -25_567);
        for year in 1900..2400_u16 {
            for month in 1..=12 {
                for day in 1..=32 {
                    let Some(found) = days(year, month, day) else { continue };
                    assert_eq!(found, count, "{year}-{month}-{day}");
                    assert_eq!(date(count), (year.into(), month.into(), day.into()));
                    count += 1;
                }
            }
        }
        assert_eq!(count, days(2400, 1, 1).unwrap());
        assert_eq!(count - days(2000, 1, 1).unwrap(), ERA);
    }

    #[test]
    fn dates_that_are_not_in_the_calendar() {
        for (year, month, day) in [
            (2015, 2, 29),
            (2100, 2, 29),
            (2015, 4, 31),
            (2015, 1, 32),
            (2015, 1, 0),
            (2015, 0, 1),
            (2015, 13, 1),
        ] {
            assert_eq!(days(year, month, day), None, "{year}-{month}-{day}");
        }
        assert!(days(2016, 2, 29).is_some() && days(2000, 2, 29).is_some());
        assert_eq!(days(1970, 1, 1), Some(0));
    }

    #[test]
    fn times_are_printed_with_the_digits_they_need() {
        let printed = |ns| Utc(Nanos::from_nanos(ns)).to_string();
        assert_eq!(printed(0), "1970-01-01T00:00:00Z");
        assert_eq!(printed(1_431_857_103_000_000_000), "2015-05-17T10:05:03Z");
        assert_eq!(printed(5_300_000_000), "1970-01-01T00:00:05.3Z");
        assert_eq!(printed(1), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(printed(u64::MAX), "2262-04-11T23:47:16.854775807Z");
    }
}

//! What a replay is told, as it is written on a command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use brimful::{Algorithm, Limit, Nanos, Policy};

use crate::error::Error;

mod algorithms;

pub(crate) use algorithms::AllAlgorithms;
pub use algorithms::policy_of_any_algorithm;

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A web server's common or combined log.
    Combined,
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values as RFC 4180 has them, under a header row with the names of the
    /// columns. They mean what the fields of JSON lines mean: `key`, `cost`, `op`, and for the time
    /// `at_ns`, `at`, `timestamp`, …, whatever the case of their letters.
    Csv,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Combined, Self::Jsonl, Self::Csv];

    /// `combined`, `jsonl` or `csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }

    /// The format of a log whose first line that is not blank is `line`: JSON lines begin with a
    /// `{`. CSV is never guessed: any text could be a header.
    #[must_use]
    pub fn of(line: &[u8]) -> Self {
        if line.trim_ascii_start().starts_with(b"{") { Self::Jsonl } else { Self::Combined }
    }

    /// How long events are held back to be put in order when nothing is said: a server writes a
    /// line when a request *ends*, so 60 s for its log; 0 for events, in JSON lines and CSV.
    #[must_use]
    pub const fn usual_reorder(self) -> Duration {
        match self {
            Self::Combined => Duration::from_secs(60),
            Self::Jsonl | Self::Csv => Duration::ZERO,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    /// Reads `combined`, `jsonl` or `csv`.
    ///
    /// # Errors
    /// It is none of them.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            Error::usage(format!("the format is `{text}`, expected combined, jsonl or csv"))
        })
    }
}

/// The policy that the specs name: one word `unlimited` or `blocked`, or 1 to 8 limits, each
/// enforced by `algorithm` unless it names its own.
///
/// # Errors
/// A spec cannot be read, the limits do not go together, a limit has a burst and `algorithm` has
/// none, or a limit names another algorithm than `algorithm`.
pub fn policy(specs: &[impl AsRef<str>], algorithm: Option<Algorithm>) -> Result<Policy, Error> {
    let mut whole = Vec::with_capacity(specs.len());
    for spec in specs {
        whole.push(with_algorithm(spec.as_ref().trim(), algorithm)?);
    }
    Ok(Policy::parse(whole.iter().map(String::as_str))?)
}

/// A spec with its algorithm behind it, where faults are shown as they are in a written limit.
fn with_algorithm(spec: &str, algorithm: Option<Algorithm>) -> Result<String, Error> {
    let Some(algorithm) = algorithm.filter(|_| !matches!(spec, "unlimited" | "blocked")) else {
        return Ok(spec.to_owned());
    };
    // A fault of the spec itself is shown without what is put behind it.
    spec.parse::<Limit>()?;
    let own = spec.split_whitespace().last().and_then(|word| word.parse::<Algorithm>().ok());
    match own {
        None => Ok(format!("{spec} {algorithm}")),
        Some(own) if own == algorithm => Ok(spec.to_owned()),
        Some(own) => Err(Error::usage(format!(
            "the limit `{spec}` names {own}, and the algorithm for all limits is {algorithm}; \
             leave one of them out"
        ))),
    }
}

/// Reads a span of time: `0`, or a whole number and a unit: `500ms`, `60s`, `5min`, `2h`.
///
/// # Errors
/// It is not of this form, or longer than time can be counted (292 years).
pub fn parse_span(text: &str) -> Result<Duration, Error> {
    let fault = |expected: &str| {
        let example = "a whole number and ms, s, min or h, for example `60s`";
        Error::usage(format!("the duration is `{text}`, expected {expected}{example}"))
    };
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    if digits.is_empty() {
        return Err(fault(""));
    }
    let unit_ns = match unit.trim_start() {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if digits.bytes().all(|b| b == b'0') => 0,
        "" => return Err(fault("a unit too: ")),
        "m" => return Err(fault("`min` for minutes: ")),
        _ => return Err(fault("")),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ns))
        .filter(|ns| *ns <= Nanos::MAX.as_nanos())
        .map(Duration::from_nanos)
        .ok_or_else(|| fault("at most 292 years: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, ns) in [
            ("0", 0),
            ("00", 0),
            ("0s", 0),
            ("500ms", 500_000_000),
            ("60s", 60_000_000_000),
            ("60 s", 60_000_000_000),
            ("5min", 300_000_000_000),
            ("2h", 7_200_000_000_000),
            ("9223372036s", 9_223_372_036_000_000_000),
        ] {
            assert_eq!(parse_span(text).unwrap(), Duration::from_nanos(ns), "{text}");
        }
        for (text, part) in [
            ("", "expected a whole number"),
            ("s", "expected a whole number"),
            ("-1s", "expected a whole number"),
            ("1.5s", "expected a whole number"),
            ("NaN", "expected a whole number"),
            ("60", "expected a unit too"),
            ("5m", "expected `min` for minutes"),
            ("1day", "expected a whole number"),
            ("9223372037s", "expected at most 292 years"),
            ("99999999999999999999h", "expected at most 292 years"),
        ] {
            let fault = parse_span(text).unwrap_err();
            assert!(fault.is_usage() && fault.to_string().contains(part), "{text}: {fault}");
        }
    }

    #[test]
    fn one_algorithm_for_all_limits() {
        let policy =
            policy(&["10/s", "b: 20/min sliding-log"], Some(Algorithm::SlidingLog)).unwrap();
        assert!(policy.limits().iter().all(|l| l.chosen_algorithm() == Algorithm::SlidingLog));
        for word in ["unlimited", "blocked"] {
            assert!(super::policy(&[word], Some(Algorithm::SlidingLog)).is_ok());
        }
    }

    #[test]
    fn an_algorithm_that_contradicts_a_limit() {
        let fault = policy(&["10/s token-bucket"], Some(Algorithm::FixedWindow)).unwrap_err();
        assert!(fault.is_usage() && fault.to_string().contains("names token-bucket"), "{fault}");
        for spec in ["10/s burst 20", "10/s burst 10"] {
            let fault = policy(&[spec], Some(Algorithm::FixedWindow)).unwrap_err();
            assert!(fault.is_limit(), "{spec}");
            assert!(format!("{fault:#}").contains("^^^^^"), "{spec}: {fault:#}");
        }
        // The fault is shown in what was written.
        let fault = policy(&["10/minn"], Some(Algorithm::FixedWindow)).unwrap_err();
        assert!(format!("{fault:#}").contains("\n  10/minn\n     ^^^^\n"), "{fault:#}");
    }
}

//! A limit: so many tokens per period, with a capacity and an algorithm.

mod parse;
mod print;

use alloc::boxed::Box;
use alloc::format;
use core::num::NonZero;
use core::time::Duration;

use crate::algorithm::Machine;
use crate::error::Error;

/// How a limit is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A level that refills at a constant rate up to a capacity. At most `capacity` at once, and
    /// `capacity + rate * T` in any interval `T`.
    #[default]
    TokenBucket,
    /// A count that starts again at every multiple of the period since the Unix epoch. Twice the
    /// limit across a boundary, in an interval as short as you like.
    FixedWindow,
    /// Every admitted request is remembered for one period: never more than the limit in any
    /// window, at the price of memory that grows with traffic.
    SlidingLog,
    /// This window's count and the weighted count of the one before: the limit by its own
    /// estimate, up to about twice the limit against the truth.
    SlidingWindow,
}

impl Algorithm {
    /// All four, the default first.
    pub const ALL: [Self; 4] =
        [Self::TokenBucket, Self::FixedWindow, Self::SlidingLog, Self::SlidingWindow];

    /// The name in limits and on the command line: `token-bucket`, `fixed-window`, `sliding-log`
    /// or `sliding-window`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token-bucket",
            Self::FixedWindow => "fixed-window",
            Self::SlidingLog => "sliding-log",
            Self::SlidingWindow => "sliding-window",
        }
    }
}

/// A quota: `n` tokens per period, and the capacity, the most that can be spent at once.
///
/// A `Limit` that exists is valid; every constructor checks its ranges:
///
/// | | from | to |
/// |---|---|---|
/// | tokens per period | 1 | 10^12 (sliding log: 65,536) |
/// | period | 1 ns | 365 days |
/// | rate | 1 per 365 days | 10^9 per second |
/// | capacity | 1 | 10^12 |
/// | time to fill an empty bucket | | 10^9 years of 365 days |
///
/// It is written `[name:] N/UNIT` or `N per DURATION`, then `burst C` (token bucket only), then
/// the algorithm when it is not the token bucket. Units: ms, s, min, h, day, week, month (30
/// days), year (365 days), and for durations also us and ns.
///
/// ```
/// use brimful::{Algorithm, Limit};
/// use core::time::Duration;
///
/// let limit = Limit::per_minute(100)?.burst(20)?;
/// assert_eq!(limit.to_string(), "100/min burst 20");
/// assert_eq!("100 / min burst 20".parse::<Limit>()?, limit);
///
/// let limit: Limit = "uploads: 5 per 30s fixed-window".parse()?;
/// assert_eq!(limit.name(), "uploads");
/// assert_eq!(limit.period(), Duration::from_secs(30));
/// assert_eq!(limit.chosen_algorithm(), Algorithm::FixedWindow);
///
/// let fault = Limit::per_second(0).unwrap_err();
/// assert_eq!(fault.to_string(), "tokens is 0, expected 1 to 1000000000000; to admit nothing, use the policy `blocked`");
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// By default the canonical spec without the algorithm.
    name: Box<str>,
    named: bool,
    tokens: NonZero<u64>,
    period: NonZero<u64>,
    capacity: u64,
    algorithm: Algorithm,
}

const SECOND: u64 = 1_000_000_000;
const YEAR: u64 = 365 * 86_400 * SECOND;
/// The longest time that an empty bucket may take to fill, in nanoseconds.
const MAX_FILL: u128 = 1_000_000_000 * YEAR as u128;

impl Limit {
    /// The most tokens per period, and the largest capacity: 10^12.
    pub const MAX_TOKENS: u64 = 1_000_000_000_000;
    /// The most tokens per period for [`Algorithm::SlidingLog`], whose memory grows with them.
    pub const MAX_LOG_TOKENS: u64 = 65_536;
    /// The longest period: 365 days.
    pub const MAX_PERIOD: Duration = Duration::from_nanos(YEAR);
    /// The longest name, in bytes.
    pub const MAX_NAME: usize = 64;

    /// `tokens` per `period`, with a capacity of `tokens`, as a token bucket.
    ///
    /// # Errors
    /// `tokens`, `period` or the rate is outside its range.
    pub fn new(tokens: u64, period: Duration) -> Result<Self, Error> {
        let period_ns = u64::try_from(period.as_nanos()).ok().filter(|ns| *ns <= YEAR);
        let Some(period) = period_ns.and_then(NonZero::new) else {
            return Err(Error::range("period", format!("{period:?}"), "1 ns to 365 days"));
        };
        let Some(tokens) = NonZero::new(tokens).filter(|n| n.get() <= Self::MAX_TOKENS) else {
            let advice = if tokens == 0 {
                "admit nothing, use the policy `blocked`"
            } else {
                "admit everything, use the policy `unlimited`"
            };
            let expected = format!("1 to {}; to {advice}", Self::MAX_TOKENS);
            return Err(Error::range("tokens", tokens, expected));
        };
        if tokens > period {
            let rate = format!("{tokens} per {period} ns");
            return Err(Error::range("rate", rate, "at most 1000000000 per second"));
        }
        let capacity = tokens.get();
        let algorithm = Algorithm::TokenBucket;
        Self { name: "".into(), named: false, tokens, period, capacity, algorithm }.checked()
    }

    /// `tokens` per second. `per_second(60)` is sixty a second.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_second(tokens: u64) -> Result<Self, Error> {
        Self::new(tokens, Duration::from_nanos(SECOND))
    }

    /// `tokens` per minute.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_minute(tokens: u64) -> Result<Self, Error> {
        Self::new(tokens, Duration::from_nanos(60 * SECOND))
    }

    /// `tokens` per hour.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_hour(tokens: u64) -> Result<Self, Error> {
        Self::new(tokens, Duration::from_nanos(3_600 * SECOND))
    }

    /// `tokens` per day of 24 hours.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_day(tokens: u64) -> Result<Self, Error> {
        Self::new(tokens, Duration::from_nanos(86_400 * SECOND))
    }

    /// The same limit with room for a burst of `capacity` tokens.
    ///
    /// # Errors
    /// `capacity` is outside its range, or the algorithm is not the token bucket: the others
    /// admit exactly their tokens per period.
    pub fn burst(self, capacity: u64) -> Result<Self, Error> {
        if self.algorithm != Algorithm::TokenBucket {
            return Err(self.burst_conflict(capacity));
        }
        if !(1..=Self::MAX_TOKENS).contains(&capacity) {
            return Err(Error::range("burst", capacity, format!("1 to {}", Self::MAX_TOKENS)));
        }
        Self { capacity, ..self }.checked()
    }

    /// The same limit enforced by `algorithm`.
    ///
    /// # Errors
    /// The limit has a burst and `algorithm` is not the token bucket, or it has more tokens than
    /// [`Limit::MAX_LOG_TOKENS`] and `algorithm` is the sliding log.
    pub fn algorithm(self, algorithm: Algorithm) -> Result<Self, Error> {
        if algorithm != Algorithm::TokenBucket && self.capacity != self.tokens.get() {
            let capacity = self.capacity;
            return Err(Self { algorithm, ..self }.burst_conflict(capacity));
        }
        Self { algorithm, ..self }.checked()
    }

    /// The same limit under another name: 1 to 64 printable ASCII characters, without `:`, `"`
    /// and `\`, and without spaces at its ends.
    ///
    /// # Errors
    /// `name` is not of that form.
    pub fn named(self, name: &str) -> Result<Self, Error> {
        check_name("limit name", name)?;
        Ok(Self { name: name.into(), named: true, ..self })
    }

    /// The name: by default the limit as it is written, without its algorithm.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tokens per period.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens.get()
    }

    /// The period.
    #[must_use]
    pub const fn period(&self) -> Duration {
        Duration::from_nanos(self.period.get())
    }

    /// The most that can be spent at once; no request with a higher cost is ever admitted.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How the limit is enforced.
    #[must_use]
    pub const fn chosen_algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Checks what needs more than one field, and gives an unnamed limit its name.
    fn checked(mut self) -> Result<Self, Error> {
        if self.algorithm == Algorithm::SlidingLog && self.tokens() > Self::MAX_LOG_TOKENS {
            let expected = format!("at most {} for a sliding log", Self::MAX_LOG_TOKENS);
            return Err(Error::range("tokens", self.tokens, expected));
        }
        // At most 10^12 * 2^55: below 2^95.
        let fill = u128::from(self.capacity) * u128::from(self.period.get())
            / NonZero::<u128>::from(self.tokens);
        if fill > MAX_FILL {
            let filled = format!("{} at {}", self.capacity, print::quota(&self));
            return Err(Error::range("burst", filled, "one that is refilled within 10^9 years"));
        }
        if !self.named {
            self.name = print::spec(&self).into();
        }
        Ok(self)
    }

    fn burst_conflict(&self, capacity: u64) -> Error {
        Error::conflict(
            format!("burst {capacity} does not go with {}", self.algorithm.name()),
            format!("it admits {} per period; only token-bucket has a burst", self.tokens),
        )
    }

    /// The constants that decide.
    pub(crate) fn machine(&self) -> Machine {
        match self.algorithm {
            Algorithm::TokenBucket => {
                Machine::token_bucket(self.tokens, self.period, self.capacity)
            }
            Algorithm::FixedWindow => Machine::fixed_window(self.tokens(), self.period),
            Algorithm::SlidingLog => {
                // Checked above: at most 65,536.
                let tokens = u32::try_from(self.tokens()).unwrap_or(u32::MAX);
                Machine::sliding_log(tokens, self.period)
            }
            Algorithm::SlidingWindow => Machine::sliding_window(self.tokens(), self.period),
        }
    }
}

/// Checks a name that goes into headers and metrics.
pub(crate) fn check_name(field: &'static str, name: &str) -> Result<(), Error> {
    let printable = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b':' | b'"' | b'\\');
    let ok = (1..=Limit::MAX_NAME).contains(&name.len())
        && name.bytes().all(printable)
        && name.trim() == name;
    if ok {
        Ok(())
    } else {
        let expected = "1 to 64 printable ASCII characters other than `:`, `\"` and `\\`, \
                        without spaces at the ends";
        Err(Error::range(field, format!("{name:?}"), expected))
    }
}

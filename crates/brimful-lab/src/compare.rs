//! What a limit admits at worst under each algorithm, and what it has to remember.
//!
//! Two figures stand side by side. The **bound** is a formula. What was **measured** is what a
//! limiter admitted to requests that are made to get the most out of it (`compare/attack.rs`), at
//! times that are arguments; nothing of it is worked out from the limit. `tests/compare.rs` holds
//! the two together.

mod attack;
mod bound;
mod json;
mod state;
mod text;
mod worst;

use brimful::{Algorithm, Limit};

use crate::error::Error;

pub use state::State;
pub use worst::{Burst, Part};

/// One limit under each algorithm. Printed with `{}` it is a table for people;
/// [`to_json`](Self::to_json) is the same for machines.
///
/// ```
/// use brimful_lab::Comparison;
///
/// let comparison = Comparison::parse("100/min")?;
/// let worst = |row: usize| comparison.rows[row].figures.as_ref().map(|f| f.in_period.measured.tokens);
/// assert_eq!(worst(0), Ok(199)); // token bucket
/// assert_eq!(worst(1), Ok(200)); // fixed window
/// assert_eq!(worst(2), Ok(100)); // sliding log
/// assert_eq!(worst(3), Ok(199)); // sliding window
/// # Ok::<(), brimful_lab::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// The limit, as a token bucket.
    pub limit: Limit,
    /// One for each algorithm, in the order of [`Algorithm::ALL`].
    pub rows: Vec<Row>,
}

/// One algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Which.
    pub algorithm: Algorithm,
    /// Its figures, or why the limit cannot be enforced by it.
    pub figures: Result<Figures, brimful::Error>,
}

/// What an algorithm admits at worst, and what it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Memory for one key.
    pub state: State,
    /// The worst at one time, or at two times that are a nanosecond apart.
    pub at_once: Admitted,
    /// The worst in any one period: of requests that are less than a period apart.
    pub in_period: Admitted,
}

/// The most tokens that are admitted within some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admitted {
    /// The most there can be, by formula. A bucket with room for one token may stay below it: when
    /// the time of a token is not a whole number of nanoseconds, it loses the rest of the last one.
    pub bound: u64,
    /// The most that was found.
    pub measured: Burst,
    /// False when the measurement was stopped after its most requests, and more may be admitted in
    /// a period: of buckets that earn more than 200,000 times their capacity in it.
    pub complete: bool,
}

impl Comparison {
    /// Measures `limit` under each algorithm. The burst of `limit` counts for the token bucket
    /// alone; the others admit its tokens per period. The algorithm that it names is left out.
    ///
    /// It takes at most about 1.5 million decisions.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn of(limit: &Limit) -> Result<Self, Error> {
        let mut plain = Limit::new(limit.tokens(), limit.period())?;
        let mut bucket = plain.clone().burst(limit.capacity())?;
        if limit.name() != bucket.name() {
            plain = plain.named(limit.name())?;
            bucket = bucket.named(limit.name())?;
        }
        let mut rows = Vec::with_capacity(Algorithm::ALL.len());
        for algorithm in Algorithm::ALL {
            let limit = match algorithm {
                Algorithm::TokenBucket => Ok(bucket.clone()),
                _ => plain.clone().algorithm(algorithm),
            };
            let figures = match limit {
                Ok(limit) => Ok(Figures::of(&limit)?),
                Err(reason) => Err(reason),
            };
            rows.push(Row { algorithm, figures });
        }
        Ok(Self { limit: bucket, rows })
    }

    /// As [`of`](Self::of), for a limit as it is written.
    ///
    /// # Errors
    /// `spec` is not a limit: it cannot be read, or is one of the words `unlimited` and `blocked`,
    /// with which there is nothing to compare. Or there is not enough memory.
    pub fn parse(spec: &str) -> Result<Self, Error> {
        let spec = spec.trim();
        let all = match spec {
            "unlimited" => "everything",
            "blocked" => "nothing",
            _ => return Self::of(&spec.parse()?),
        };
        Err(Error::usage(format!(
            "`{spec}` admits {all} under every algorithm; expected a limit to compare, for example \
             `100/min burst 20`"
        )))
    }
}

impl Figures {
    fn of(limit: &Limit) -> Result<Self, Error> {
        let period = u64::try_from(limit.period().as_nanos()).unwrap_or(u64::MAX);
        let attacks = attack::all(limit)?;
        let admitted = |window: u64| Admitted {
            bound: bound::admitted(limit, window - 1),
            measured: attacks.worst(window),
            complete: window <= AT_ONCE || attacks.complete,
        };
        Ok(Self {
            state: State::of(limit)?,
            at_once: admitted(AT_ONCE),
            in_period: admitted(period),
        })
    }
}

/// The half-open window, in nanoseconds, that holds what is admitted at once: two adjacent times.
/// One alone would not show the burst across the boundary of a window.
const AT_ONCE: u64 = 2;

/// Which algorithm to choose when.
const fn advice(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::TokenBucket => {
            "the default: a burst that you set, then a steady rate, for few bytes"
        }
        Algorithm::FixedWindow => {
            "for quotas of the calendar (so many a day), where 2N across a boundary do no harm"
        }
        Algorithm::SlidingLog => {
            "where no period may ever see more than N, for memory that grows with traffic"
        }
        Algorithm::SlidingWindow => {
            "smoother than the fixed window for the same bytes, where nearly 2N may happen"
        }
    }
}

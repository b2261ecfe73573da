//! Denials as events of `tracing`, a few a second.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use brimful::{Clock, Limit, Limiter, Overflow};
use tracing::Level;

use crate::counters::add;
use crate::error::Error;
use crate::event::{Event, Outcome};
use crate::observer::Observer;
use crate::redact::{Label, Redact, Redactor};
use crate::series::Series;

/// Writes denials as `tracing` events of the target `brimful`, a few a second.
///
/// | outcome | level |
/// |---|---|
/// | `store_full`, `closed`, `missing_key` | WARN |
/// | `denied`, `blocked`, `queued`, `queue_full` | INFO |
/// | `would_deny` | DEBUG |
/// | `admitted`, `skipped`, `gave_up` | none is written |
///
/// | field | says |
/// |---|---|
/// | `scope`, `policy`, `outcome`, `cost` | what the [`Event`] says |
/// | `retry_after_ms` | when the same request is allowed, rounded up; missing when no wait can help, and without a decision |
/// | `remaining` | whole tokens left; missing without a decision |
/// | `suppressed` | how many of the same scope, policy and outcome were left out since the last one that was written |
/// | `key` | what [`Redact`] says; missing unless one was [chosen](DenialsBuilder::key) |
///
/// Of each scope, policy and outcome one event a second is written, after a burst of 5, unless the
/// [builder](Self::builder) says otherwise; further names share as [`Counters`](crate::Counters) counts them.
/// What nobody listens to is neither counted nor charged.
///
/// ```
/// use brimful::{Limiter, Limit};
/// use brimful_observe::{Denials, Event, Observer, Outcome, Redact};
/// use tracing::Level;
///
/// let denials = Denials::builder()
///     .limit(Limit::per_minute(10)?)
///     .level(Outcome::WouldDeny, None)
///     .level(Outcome::Denied, Level::WARN)
///     .key(Redact::Truncate { chars: 4 })
///     .build()?;
/// denials.observe(&Event::new("api", "default", Outcome::Denied));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Denials {
    series: Series<Suppressed>,
    limiter: Limiter,
    levels: Levels,
    key: Option<Redactor>,
}

/// By the place of the outcome in [`Outcome::ALL`].
#[derive(Debug, Default)]
struct Suppressed([AtomicU64; Outcome::ALL.len()]);

/// By the place of the outcome in [`Outcome::ALL`].
type Levels = [Option<Level>; Outcome::ALL.len()];

/// The target of all events.
const TARGET: &str = "brimful";

impl Denials {
    /// One a second of each scope, policy and outcome, after a burst of 5; no keys.
    ///
    /// # Errors
    /// None is known; they would be those of [`DenialsBuilder::build`].
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Something else than [`new`](Self::new).
    pub fn builder() -> DenialsBuilder {
        DenialsBuilder {
            limit: None,
            clock: None,
            max_series: 256,
            levels: Outcome::ALL.map(default_level),
            key: None,
        }
    }

    /// Writes or leaves out one event.
    fn sample(&self, event: &Event<'_>, level: Level) {
        let row = self.series.row(event.scope, event.policy);
        let Some(suppressed) = row.value.0.get(event.outcome.index()) else { return };
        if self.limiter.allow((&*row.scope, &*row.policy, event.outcome.name())) {
            let key = self.key.as_ref().zip(event.key).map(|(redactor, key)| redactor.label(key));
            write(event, level, suppressed.swap(0, Ordering::Relaxed), key);
        } else {
            add(suppressed, 1);
        }
    }
}

impl Observer for Denials {
    fn observe(&self, event: &Event<'_>) {
        let level = self.levels.get(event.outcome.index()).copied().flatten();
        if let Some(level) = level.filter(|level| is_enabled(*level)) {
            self.sample(event, level);
        }
    }
}

impl fmt::Debug for Denials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Denials").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Builds [`Denials`].
#[must_use]
pub struct DenialsBuilder {
    limit: Option<Limit>,
    clock: Option<Box<dyn Clock>>,
    max_series: usize,
    levels: Levels,
    key: Option<Redact>,
}

impl DenialsBuilder {
    /// How many events of each scope, policy and outcome are written.
    pub fn limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// By which clock. The default is that of a [`Limiter`].
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Some(Box::new(clock)), ..self }
    }

    /// How many pairs of a scope and a policy have events of their own; 256 by default, at most 4,096.
    pub fn max_series(self, max_series: usize) -> Self {
        Self { max_series, ..self }
    }

    /// The level of an outcome; none is written with `None`. Of requests that were admitted, skipped or given up
    /// none ever is.
    pub fn level(mut self, outcome: Outcome, level: impl Into<Option<Level>>) -> Self {
        let place = self.levels.get_mut(outcome.index());
        if let Some(place) = place.filter(|_| default_level(outcome).is_some()) {
            *place = level.into();
        }
        self
    }

    /// Shows keys, as `redact` says.
    pub fn key(self, redact: Redact) -> Self {
        Self { key: Some(redact), ..self }
    }

    /// Builds it.
    ///
    /// # Errors
    /// `max_series` is above 4,096.
    pub fn build(self) -> Result<Denials, Error> {
        if self.max_series > 4_096 {
            return Err(Error::range("max_series", self.max_series, "0 to 4,096"));
        }
        let limit = match self.limit {
            Some(limit) => limit,
            None => Limit::per_second(1).and_then(|one| one.burst(5)).map_err(Error::limiter)?,
        };
        // A key for each row and each outcome that is written, so that none has to share.
        let outcomes = Outcome::ALL.iter().filter(|outcome| default_level(**outcome).is_some());
        let rows = self.max_series.saturating_mul(2).saturating_add(1);
        let keys = u64::try_from(rows.saturating_mul(outcomes.count())).unwrap_or(u64::MAX);
        let mut limiter = Limiter::builder(limit).max_keys(keys).overflow(Overflow::Share);
        if let Some(clock) = self.clock {
            limiter = limiter.clock(Given(clock));
        }
        Ok(Denials {
            series: Series::new(self.max_series),
            limiter: limiter.build().map_err(Error::limiter)?,
            levels: self.levels,
            key: self.key.map(Redactor::new),
        })
    }
}

impl fmt::Debug for DenialsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DenialsBuilder")
            .field("limit", &self.limit)
            .field("max_series", &self.max_series)
            .field("levels", &self.levels)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

struct Given(Box<dyn Clock>);

impl Clock for Given {
    fn now(&self) -> brimful::Nanos {
        self.0.now()
    }
}

const fn default_level(outcome: Outcome) -> Option<Level> {
    match outcome {
        Outcome::StoreFull | Outcome::Closed | Outcome::MissingKey => Some(Level::WARN),
        Outcome::Denied | Outcome::Blocked | Outcome::Queued | Outcome::QueueFull => {
            Some(Level::INFO)
        }
        Outcome::WouldDeny => Some(Level::DEBUG),
        Outcome::Admitted | Outcome::Skipped | Outcome::GaveUp => None,
    }
}

const fn message(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::WouldDeny => "request would be denied",
        Outcome::MissingKey => "request without a key",
        _ => "request denied",
    }
}

/// Each level is a place in the program of its own: `tracing` asks for it once.
macro_rules! at_level {
    ($level:expr, $then:ident) => {
        match $level {
            Level::ERROR => $then!(Level::ERROR),
            Level::WARN => $then!(Level::WARN),
            Level::INFO => $then!(Level::INFO),
            Level::DEBUG => $then!(Level::DEBUG),
            _ => $then!(Level::TRACE),
        }
    };
}

fn is_enabled(level: Level) -> bool {
    macro_rules! ask {
        ($level:expr) => {
            tracing::enabled!(target: TARGET, $level)
        };
    }
    at_level!(level, ask)
}

fn write(event: &Event<'_>, level: Level, suppressed: u64, key: Option<Label>) {
    let retry_after = event.decision.and_then(brimful::Decision::retry_after);
    let retry_after_ms = retry_after
        .map(|wait| u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX));
    let remaining = event.decision.map(brimful::Decision::remaining);
    let key = key.map(tracing::field::display);
    macro_rules! write {
        ($level:expr) => {
            tracing::event!(
                target: TARGET,
                $level,
                scope = event.scope,
                policy = event.policy,
                outcome = event.outcome.name(),
                cost = event.cost,
                retry_after_ms,
                remaining,
                suppressed,
                key,
                "{}",
                message(event.outcome),
            )
        };
    }
    at_level!(level, write);
}

//! How many requests, and how many tokens.

use crate::event::{Event, Outcome};
use crate::observer::Observer;

/// Requests and tokens by scope, policy and outcome.
#[derive(Debug, Default)]
pub struct Counters {}

/// One row of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// [`Event::scope`].
    pub scope: String,
    /// [`Event::policy`].
    pub policy: String,
    /// [`Event::outcome`].
    pub outcome: Outcome,
    /// How many requests.
    pub requests: u64,
    /// What they asked for, in all.
    pub tokens: u64,
}

impl Counters {
    /// Nothing counted yet; at most 1,024 series.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }

    /// The same for another number of series.
    #[must_use]
    pub fn with_max_series(_max_series: usize) -> Self {
        Self {}
    }

    /// What was counted, in order of scope, policy and outcome.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Count> {
        Vec::new()
    }
}

impl Observer for Counters {
    fn observe(&self, _event: &Event<'_>) {}
}

//! Several keys in one call, all or nothing: against single calls, in full stores, and under
//! threads.

mod scarce;
mod singles;
mod slots;
mod table;
mod threads;

use std::time::Duration;

use brimful::{AllDecision, Decision, Denial, Nanos, Retry};

const NOW: Nanos = Nanos::from_secs(1_800_000_000);

/// All that a decision says, but for its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    retry: Retry,
    remaining: u64,
    reset_after: Duration,
    limit: Option<usize>,
    denial: Option<Denial>,
}

impl From<&Decision> for Said {
    fn from(decision: &Decision) -> Self {
        Self {
            retry: decision.retry(),
            remaining: decision.remaining(),
            reset_after: decision.reset_after(),
            limit: decision.limit(),
            denial: decision.denial(),
        }
    }
}

impl Said {
    fn is_allowed(&self) -> bool {
        self.retry == Retry::Now
    }

    /// How long a refused key waits.
    fn wait(&self) -> Duration {
        match self.retry {
            Retry::Now => Duration::ZERO,
            Retry::After(wait) => wait,
            Retry::Never => Duration::MAX,
        }
    }
}

/// Whether a call says what follows from what was said to each key, given with its place.
fn follows(all: &AllDecision, each: &[(usize, Said)]) -> bool {
    let is_allowed = each.iter().all(|(_, said)| said.is_allowed());
    // The best is the last in this order.
    let rank = |said: &Said| match is_allowed {
        true => (Duration::ZERO, u64::MAX - said.remaining),
        false => (said.wait(), 0),
    };
    let deciding = each.iter().rev().max_by_key(|(_, said)| rank(said));
    all.is_allowed() == is_allowed
        && all.is_denied() != is_allowed
        && all.key() == deciding.map(|(place, _)| *place)
        && deciding.is_none_or(|(_, said)| *said == all.decision().into())
        && all.retry() == all.decision().retry()
        && all.remaining() == each.iter().map(|(_, said)| said.remaining).min().unwrap_or(u64::MAX)
        && all.reset_after()
            == each.iter().map(|(_, said)| said.reset_after).max().unwrap_or(Duration::ZERO)
}

/// Sums the costs of keys that are named several times; each with the place of its first mention.
fn merged<K: Copy + PartialEq>(charges: &[(K, u64)]) -> Vec<(usize, K, u64)> {
    let mut merged: Vec<(usize, K, u64)> = Vec::new();
    for (place, (key, cost)) in charges.iter().enumerate() {
        match merged.iter_mut().find(|(_, other, _)| other == key) {
            Some((_, _, sum)) => *sum = sum.saturating_add(*cost),
            None => merged.push((place, *key, *cost)),
        }
    }
    merged
}

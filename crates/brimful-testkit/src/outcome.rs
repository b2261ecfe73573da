//! What a limiter answered, with every field in plain numbers so that answers can be compared.

use brimful::{Decision, Retry};

/// One answer. All times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The request may go ahead.
    pub allowed: bool,
    /// Whole tokens left; `u64::MAX` without limits.
    pub remaining: u64,
    /// How long to wait; `None` when allowed, and when no wait can help.
    pub retry: Option<u128>,
    /// Denied, and no wait can help.
    pub never: bool,
    /// How long until every limit is as good as new.
    pub reset_after: u128,
    /// How long until more is left; 0 when nothing more can come.
    pub next_after: u128,
    /// The place of the limit that decided.
    pub limit: Option<usize>,
    /// The limits that refused: bit 0 is the first of the policy.
    pub refused_by: u8,
}

impl Outcome {
    /// The answer of a key without limits.
    pub const UNLIMITED: Self = Self {
        allowed: true,
        remaining: u64::MAX,
        retry: None,
        never: false,
        reset_after: 0,
        next_after: 0,
        limit: None,
        refused_by: 0,
    };

    /// The answer of a key that is blocked.
    pub const BLOCKED: Self = Self {
        allowed: false,
        remaining: 0,
        retry: None,
        never: true,
        reset_after: 0,
        next_after: 0,
        limit: None,
        refused_by: 0,
    };
}

/// Places of a policy as bits.
pub(crate) fn places(places: impl IntoIterator<Item = usize>) -> u8 {
    places.into_iter().map(|place| 1 << place).sum()
}

impl From<&Decision> for Outcome {
    fn from(decision: &Decision) -> Self {
        let retry = match decision.retry() {
            Retry::After(wait) => Some(wait.as_nanos()),
            Retry::Now | Retry::Never => None,
        };
        Self {
            allowed: decision.is_allowed(),
            remaining: decision.remaining(),
            retry,
            never: decision.is_never(),
            reset_after: decision.reset_after().as_nanos(),
            next_after: decision.next_after().as_nanos(),
            limit: decision.limit(),
            refused_by: places((0..8).filter(|place| decision.refused_by(*place))),
        }
    }
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        Self::from(&decision)
    }
}

//! What a caller is told: the whole decision, or only whether.

use super::{Plan, Ruling};
use crate::algorithm::arena::Arena;
use crate::decision::Decision;

/// What a call returns. The less it says, the less is worked out.
pub(crate) trait Answer: From<Decision> {
    /// From a ruling that was not yet applied.
    fn of<const N: usize>(plan: &Plan, ruling: &Ruling<N>, cost: u64, arena: &Arena) -> Self;

    fn is_allowed(&self) -> bool;

    /// The row that decided.
    fn row(&self) -> u32;
}

impl Answer for Decision {
    #[inline]
    fn of<const N: usize>(plan: &Plan, ruling: &Ruling<N>, cost: u64, arena: &Arena) -> Self {
        plan.decision(ruling, cost, arena)
    }

    #[inline]
    fn is_allowed(&self) -> bool {
        self.is_allowed()
    }

    #[inline]
    fn row(&self) -> u32 {
        self.row
    }
}

/// Whether, and by which row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    is_allowed: bool,
    row: u32,
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        Self { is_allowed: decision.is_allowed(), row: decision.row }
    }
}

impl Answer for Outcome {
    #[inline]
    fn of<const N: usize>(plan: &Plan, ruling: &Ruling<N>, _cost: u64, _arena: &Arena) -> Self {
        Self { is_allowed: ruling.is_admitted, row: plan.row }
    }

    #[inline]
    fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    #[inline]
    fn row(&self) -> u32 {
        self.row
    }
}

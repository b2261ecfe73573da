//! What a caller is told: the whole decision, or only whether.

use super::{Ruling, Terms};
use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::decision::{Decision, Origin};

/// What a call returns. The less it says, the less is worked out.
pub(crate) trait Answer: From<Decision> {
    /// From a ruling that was not yet applied.
    fn of<const N: usize, M: AsRef<[Machine]>>(
        terms: &Terms<M>,
        ruling: &Ruling<N>,
        cost: u64,
        arena: &Arena,
    ) -> Self;

    fn is_allowed(&self) -> bool;

    /// What is on trial would have denied it.
    fn would_deny(&self) -> bool;

    /// The row that decided.
    fn origin(&self) -> Origin;
}

impl Answer for Decision {
    #[inline(always)]
    fn of<const N: usize, M: AsRef<[Machine]>>(
        terms: &Terms<M>,
        ruling: &Ruling<N>,
        cost: u64,
        arena: &Arena,
    ) -> Self {
        terms.decision(ruling, cost, arena)
    }

    #[inline]
    fn is_allowed(&self) -> bool {
        self.is_allowed()
    }

    #[inline]
    fn would_deny(&self) -> bool {
        self.would_deny
    }

    #[inline]
    fn origin(&self) -> Origin {
        self.origin
    }
}

/// Whether, and by which row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    is_allowed: bool,
    would_deny: bool,
    origin: Origin,
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        let Decision { would_deny, origin, .. } = decision;
        Self { is_allowed: decision.is_allowed(), would_deny, origin }
    }
}

impl Answer for Outcome {
    #[inline]
    fn of<const N: usize, M: AsRef<[Machine]>>(
        terms: &Terms<M>,
        ruling: &Ruling<N>,
        _cost: u64,
        _arena: &Arena,
    ) -> Self {
        Self {
            is_allowed: ruling.is_admitted,
            would_deny: ruling.would_deny(),
            origin: terms.origin,
        }
    }

    #[inline]
    fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    #[inline]
    fn would_deny(&self) -> bool {
        self.would_deny
    }

    #[inline]
    fn origin(&self) -> Origin {
        self.origin
    }
}

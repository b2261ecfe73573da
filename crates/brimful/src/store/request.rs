//! What is asked of the store about one key.

use core::cell::Cell;

use super::beside::Wait;
use crate::algorithm::arena::Arena;
use crate::rows::{Rows, Wanted};
use crate::step::{Plan, State};
use crate::time::Nanos;

/// One request, as the store sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a, N> {
    pub(crate) fingerprint: u64,
    pub(crate) cost: u64,
    /// A peek decides and changes nothing.
    pub(crate) peek: bool,
    /// Reads the time.
    pub(crate) now: N,
    pub(crate) rows: &'a Rows,
    /// What the key is to be resolved to.
    pub(crate) wanted: Wanted,
    pub(crate) aim: Aim<'a>,
}

/// What a call is for that has a cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim<'a> {
    /// To charge it.
    Charge,
    /// To charge as much of it as is left, also what others wait for: how much that was.
    UpTo(&'a Cell<u64>),
    /// To charge it with a receipt, of that number; none when it is charged to a state that keys share.
    Reserve(&'a Cell<Option<u64>>),
    /// To charge it now or later.
    Wait(&'a Wait),
    /// To give the key the limits that its caller has now, and to grant those who are due; with the note that there
    /// was such a key with limits, or none.
    Touch(&'a Cell<bool>),
}

impl Aim<'_> {
    /// What is charged of a cost.
    pub(super) fn cost(
        self,
        cost: u64,
        plan: &Plan,
        state: &State,
        now: Nanos,
        arena: &Arena,
    ) -> u64 {
        let Self::UpTo(charged) = self else { return cost };
        let left = plan.decide(state, 0, now, arena).decision.remaining;
        charged.set(cost.min(left));
        charged.get()
    }
}

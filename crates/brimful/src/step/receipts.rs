//! Stub.
use super::{Plan, Ruling, State, Terms};
use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::time::Nanos;
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    ids: Vec<u64>,
}
impl Receipts {
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }
    pub(crate) fn keep(&mut self, id: u64) {
        self.ids.retain(|i| *i != id);
    }
}
impl<M: AsRef<[Machine]>> Terms<M> {
    pub(crate) fn apply_with(
        &self,
        state: &mut State,
        ruling: &Ruling,
        arena: &mut Arena,
        receipts: &mut Receipts,
        id: Option<u64>,
    ) {
        receipts.ids.extend(id);
        self.apply(state, ruling, arena);
    }
    pub(crate) fn refund_with(
        &self,
        state: &mut State,
        tokens: u64,
        now: Nanos,
        arena: &mut Arena,
        _receipts: &mut Receipts,
    ) -> u64 {
        self.refund(state, tokens, now, arena)
    }
    pub(crate) fn settle_receipt(
        &self,
        state: &mut State,
        id: u64,
        actual: u64,
        now: Nanos,
        arena: &mut Arena,
        receipts: &mut Receipts,
    ) -> u64 {
        if !receipts.ids.contains(&id) {
            return 0;
        }
        receipts.keep(id);
        self.refund(state, 1_u64.saturating_sub(actual), now, arena)
    }
}
impl Plan {
    pub(crate) fn carry_with(
        &self,
        old: &Plan,
        state: &State,
        now: Nanos,
        arena: &mut Arena,
        _receipts: &mut Receipts,
    ) -> State {
        self.carry(old, state, now, arena)
    }
}

//! What a charge still weighs: the ledger beside the state of a key with open reservations.
//!
//! > A settled reservation leaves exactly the state that there would be had the actual cost been
//! > charged at the time of the reservation, the other admitted charges being the same.
//!
//! So a bucket that was full in the meantime has nothing to give back, and what others were charged
//! later pays nothing back. Each open reservation has a **receipt**, in the order of the charges, and a
//! receipt has a share for each limit:
//!
//! * **Windows and logs.** The share is the tokens that the receipt still has among those that are
//!   counted. They leave with their window, or with the run of their time.
//! * **Token bucket.** Let `V` be all that was charged less all that was refilled, without a floor.
//!   The receipts cut time into gaps, the first of them before the first receipt. With `m` the least
//!   `V` in a gap, the debt is the greatest `V - m` over the gaps: it counts from the last time that
//!   the bucket was full. Without the part `x` of a receipt, `V` is less by `x` ever after, and so
//!   is every `m` in the gaps after it; which is to say that the `m` of the gaps before it are more
//!   by `x`, and all else is as before.
//!
//! Only time that passes in states counts, as the sum of what passed between their changes, so the
//! ledger does not need to know when a clock was stepped.

mod head;
mod ledger;
#[cfg(test)]
mod tests;

use super::{Plan, Ruling, Settled, State, Terms, Write};
use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::time::Nanos;

pub(crate) use ledger::Receipts;

impl<M: AsRef<[Machine]>> Terms<M> {
    /// As [`apply`](Self::apply), and keeps the receipts of the key true. With an id, above all that
    /// are open, the charge gets a receipt of its own; a ruling that charges nothing gets none.
    pub(crate) fn apply_with(
        &self,
        state: &mut State,
        ruling: &Ruling,
        arena: &mut Arena,
        receipts: &mut Receipts,
        id: Option<u64>,
    ) {
        if receipts.is_empty() && id.is_none() {
            return self.apply(state, ruling, arena);
        }
        let before = state.levels;
        self.apply(state, ruling, arena);
        let Settled { at, levels, .. } = &ruling.settled;
        if let Write::Charge(cost) = ruling.write {
            receipts.pass(self.machines(), &before, levels, *at);
            if receipts.is_empty() {
                receipts.begin(self.machines(), levels);
            }
            let charged = self.charged(ruling);
            receipts.charge(self.machines(), levels, &state.levels, cost, charged, id);
        }
    }

    /// As [`refund`](Self::refund), and keeps the receipts of the key true. Windows and logs take
    /// first what no receipt holds, as far as it is counted with what a refund takes, and then from
    /// the newest receipts.
    pub(crate) fn refund_with(
        &self,
        state: &mut State,
        tokens: u64,
        now: Nanos,
        arena: &mut Arena,
        receipts: &mut Receipts,
    ) -> u64 {
        if receipts.is_empty() {
            return self.refund(state, tokens, now, arena);
        }
        let Settled { at, levels, .. } = self.settle(state, now, arena);
        let before = *state;
        let given = self.refund(state, tokens, now, arena);
        // Otherwise not even its time has moved.
        if *state != before {
            receipts.pass(self.machines(), &before.levels, &levels, at);
            receipts.refund(self.machines(), &levels, state, arena);
        }
        given
    }

    /// Settles a receipt, so that `actual` of its cost stays charged, and says how many tokens found
    /// something to pay, the most over the limits that are enforced. The last of them may have paid
    /// only a part of a token. Nothing comes back for an unknown id, or when all of the cost was spent.
    pub(crate) fn settle_receipt(
        &self,
        state: &mut State,
        id: u64,
        actual: u64,
        now: Nanos,
        arena: &mut Arena,
        receipts: &mut Receipts,
    ) -> u64 {
        let cost = receipts.find(id).map(|(_, cost)| cost);
        let Settled { at, levels, .. } = self.settle(state, now, arena);
        let nothing_owed = levels.iter().all(|level| *level == 0);
        // (A receipt that was dropped is one that is worth nothing: the state is settled all the same.)
        let is_kept = cost.is_some_and(|cost| actual >= cost);
        if is_kept || (nothing_owed && at.stored == at.last) {
            receipts.keep(id);
            return 0;
        }
        receipts.pass(self.machines(), &state.levels, &levels, at);
        let place = receipts.find(id).map(|(place, _)| place);
        let mut most = 0;
        let settled = self.machines().iter().zip(levels);
        let limits = state.levels.iter_mut().zip(settled);
        for (limit, (level, (machine, settled))) in limits.enumerate() {
            let (left, given) = match (place, machine.brim()) {
                // It is worth nothing any more.
                (None, _) => (machine.commit(*level, settled, at, arena), 0),
                (Some(place), Some(_)) => {
                    let (paid, given) = receipts.free(limit, place, actual);
                    (settled.saturating_sub(paid), given)
                }
                (Some(place), None) => {
                    let part = receipts.part(limit, place, actual);
                    machine.take_back(*level, settled, part, at, arena)
                }
            };
            *level = left;
            if limit < self.enforced {
                most = most.max(given);
            }
        }
        state.last = at.now;
        receipts.keep(id);
        receipts.drop_worthless();
        most
    }
}

impl Plan {
    /// As [`carry`](Self::carry), and the receipts go along.
    ///
    /// What a receipt is worth goes on with the counts of windows and logs, where they go on as they
    /// are. From bucket to bucket it is the same fraction of the capacity, rounded down (and debts are
    /// rounded up, so that nothing is minted). After any other change of a limit its level is not a sum
    /// of charges any more, and how much of it to give back would be a guess: receipts of before give
    /// nothing back for that limit.
    pub(crate) fn carry_with(
        &self,
        old: &Self,
        state: &State,
        now: Nanos,
        arena: &mut Arena,
        receipts: &mut Receipts,
    ) -> State {
        if receipts.is_empty() || self.has_limits_of(old) {
            return self.carry(old, state, now, arena);
        }
        let Settled { at, levels, .. } = old.settle(state, now, arena);
        receipts.pass(old.machines(), &state.levels, &levels, at);
        let carried = self.carry(old, state, now, arena);
        let matched = self.matches(old).into_iter().map(|from| {
            let from = from?;
            Some((from, old.machines().get(from)?))
        });
        let limits = self.machines().iter().zip(carried.levels).zip(matched);
        receipts.carry(limits.map(|((machine, level), from)| (machine, level, from)));
        carried
    }
}

//! What else is asked of a state, and done to it, than to decide: what it owes, when it is as good as new, and
//! how it is given back or forgotten.

use super::{Settled, State, Terms};
use crate::algorithm::arena::Arena;
use crate::algorithm::{Machine, Owed};
use crate::time::Nanos;

impl<M: AsRef<[Machine]>> Terms<M> {
    /// Gives up to `tokens` back to every limit, and says how many the most indebted of those that are
    /// enforced could take.
    pub(crate) fn refund(
        &self,
        state: &mut State,
        tokens: u64,
        now: Nanos,
        arena: &mut Arena,
    ) -> u64 {
        let Settled { at, levels, .. } = self.settle(state, now, arena);
        let nothing_owed = levels.iter().all(|level| *level == 0);
        if tokens == 0 || (nothing_owed && at.stored == at.last) {
            return 0;
        }
        let mut most = 0;
        let settled = self.machines().iter().zip(levels);
        let limits = state.levels.iter_mut().zip(settled);
        for (place, (level, (machine, settled))) in limits.enumerate() {
            let (left, given) = machine.refund(*level, settled, tokens, at, arena);
            *level = left;
            if place < self.enforced {
                most = most.max(given);
            }
        }
        state.last = at.now;
        most
    }

    /// How much the state owes at `now`: the largest share and the most tokens over the limits that are
    /// enforced. (A full store forgets first what is only on trial.)
    pub(crate) fn owed(&self, state: &State, now: Nanos, arena: &Arena) -> Owed {
        let settled = self.settle(state, now, arena);
        let owed = self.machines().iter().zip(settled.levels).take(self.enforced);
        owed.fold(Owed::default(), |most, (machine, level)| {
            let owed = machine.owed(level, settled.at);
            Owed { share: most.share.max(owed.share), tokens: most.tokens.max(owed.tokens) }
        })
    }

    /// Whether a state is as good as new, from its last change and its levels by place. (A scan
    /// over slots asks this of each, so it does not want them copied.) What is on trial beside other limits
    /// does not count: it is forgotten with them.
    pub(crate) fn is_full(
        &self,
        last: Nanos,
        level: impl Fn(usize) -> u128,
        now: Nanos,
        arena: &Arena,
    ) -> bool {
        let (at, _) = self.moment(last, now);
        let mut machines = self.machines().iter().enumerate().take(self.counting());
        machines.all(|(limit, machine)| machine.settle(level(limit), at, arena) == 0)
    }

    /// How many of the limits, the first ones, keep a slot from being free.
    #[inline(always)]
    fn counting(&self) -> usize {
        if self.enforced > 0 { self.enforced } else { self.width() }
    }

    /// Nanoseconds from `now` until the state is as good as new; zero when it is. What is only on trial makes
    /// way at any time.
    pub(crate) fn full_after<const N: usize>(
        &self,
        state: &State<N>,
        now: Nanos,
        arena: &Arena,
    ) -> u128 {
        if self.is_trial_only() {
            return 0;
        }
        let settled = self.settle(state, now, arena);
        let levels = self.machines().iter().zip(settled.levels).take(self.counting());
        let longest = levels
            .map(|(machine, level)| machine.figures(level, settled.at, arena).reset_after)
            .max()
            .unwrap_or(0);
        if longest == 0 { 0 } else { longest + u128::from(settled.behind) }
    }

    /// Whether a reading of `now` means that the clock was stepped back since `last`.
    pub(crate) fn is_stepped(&self, last: Nanos, now: Nanos) -> bool {
        last.nanos_since(now) > self.tolerance
    }

    /// Lets a clock that was stepped back count for this state from now on: its time moves, debts
    /// and counts stay.
    pub(crate) fn anchor(&self, state: &mut State, now: Nanos, arena: &mut Arena) {
        let Settled { at, levels, .. } = self.settle(state, now, arena);
        if at.stored != at.last {
            let settled = self.machines().iter().zip(levels);
            for (level, (machine, settled)) in state.levels.iter_mut().zip(settled) {
                *level = machine.commit(*level, settled, at, arena);
            }
            state.last = at.now;
        }
    }

    /// Drops what has expired by `now` from the arena. No later decision at or after `now` can
    /// tell.
    pub(crate) fn trim(&self, state: &mut State, now: Nanos, arena: &mut Arena) {
        let Settled { at, levels, .. } = self.settle(state, now, arena);
        if at.stored != at.last {
            return;
        }
        let settled = self.machines().iter().zip(levels);
        for (level, (machine, settled)) in state.levels.iter_mut().zip(settled) {
            if machine.is_log() {
                *level = machine.commit(*level, settled, at, arena);
            }
        }
    }

    /// Runs that the state holds in the arena, expired ones included, counted up to `most` in
    /// each log.
    pub(crate) fn runs_held(&self, state: &State, most: usize, arena: &Arena) -> usize {
        let levels = self.machines().iter().zip(state.levels);
        levels.map(|(machine, level)| machine.runs_held(level, most, arena)).sum()
    }

    /// A copy of the state, with an arena of its own that has room for so many runs more; `None` when there is
    /// not enough memory.
    pub(crate) fn copied(
        &self,
        state: &State,
        more: usize,
        arena: &Arena,
    ) -> Option<(State, Arena)> {
        let runs = self.runs_held(state, usize::MAX, arena).saturating_add(more);
        let mut own = Arena::new(u32::try_from(runs).unwrap_or(u32::MAX))?;
        let mut copy = *state;
        for (machine, level) in self.machines().iter().zip(&mut copy.levels) {
            *level = machine.copied(*level, arena, &mut own);
        }
        Some((copy, own))
    }

    /// Forgets the state, giving back what it holds in the arena.
    pub(crate) fn release(&self, state: &State, arena: &mut Arena) {
        for (machine, level) in self.machines().iter().zip(state.levels) {
            machine.release(level, arena);
        }
    }
}

//! What a key keeps when its limits change: the fraction that it owes, or what it has counted.
//!
//! Each limit of the new policy goes on from one of the old: of the same name; else, of those
//! left, of the same period, because `200/min` in the place of `100/min` is the same limit with
//! another number; else, the longest period first, one of those that are left. A new limit starts
//! full only when no old one is left for it; an old one that is left over is forgotten.
//!
//! Changing to and fro between two policies at one time therefore gains nothing, as long as each
//! limit has its counterpart: what is spent under one is owed under the other. (Round three, with
//! windows of one kind and another algorithm among them, it can: counts and fractions do not agree.)

use core::cmp::Reverse;

use super::{Plan, Settled, State, Step};
use crate::algorithm::Moment;
use crate::algorithm::arena::Arena;
use crate::limit::Limit;
use crate::policy::Policy;
use crate::time::Nanos;

/// For each new limit the place of the old one from which it goes on.
type Matches = [Option<usize>; Policy::MAX_LIMITS];

type Levels = [u128; Policy::MAX_LIMITS];

/// What a call would be told, and what it would take from the arena.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) step: Step,
    /// Runs that must be there.
    pub(crate) runs: usize,
}

impl Look {
    /// Whether the limits deny it, and only the change of limits lacks runs: a denial takes none from
    /// others, so the key stays under its old limits.
    pub(crate) fn is_denied_without(&self, arena: &Arena) -> bool {
        self.runs > arena.room() && self.step.decision.is_denied()
    }
}

impl Plan {
    /// Runs that [`carry`](Self::carry) may take from the arena.
    pub(crate) fn runs_to_carry(&self, old: &Self) -> usize {
        self.logs_that_begin(old).filter(|begins| *begins).count()
    }

    /// The state at `now` of a key whose limits were those of `old`, in the place of its old one.
    /// The arena must have room for [`runs_to_carry`](Self::runs_to_carry).
    pub(crate) fn carry(&self, old: &Self, state: &State, now: Nanos, arena: &mut Arena) -> State {
        let Settled { at, mut levels, .. } = old.settle(state, now, arena);
        let stored = old.machines.iter().zip(state.levels);
        for (level, (machine, stored)) in levels.iter_mut().zip(stored) {
            *level = machine.commit(stored, *level, at, arena);
        }
        let carried = State { last: at.now, levels: self.take_over(old, levels, at, false, arena) };
        let left = old.machines.iter().zip(levels).zip(self.logs_that_go_on(old));
        for ((machine, level), _) in left.filter(|(_, goes_on)| !goes_on) {
            machine.release(level, arena);
        }
        carried
    }

    /// What a call at `now` for such a key would be told; changes nothing.
    pub(crate) fn look(
        &self,
        old: &Self,
        state: &State,
        cost: u64,
        now: Nanos,
        arena: &mut Arena,
    ) -> Look {
        let Settled { at, levels, .. } = old.settle(state, now, arena);
        let carried = State { last: at.now, levels: self.take_over(old, levels, at, true, arena) };
        let settled = match at.stored == at.last {
            true => self.settle(&carried, now, arena),
            // The entries of logs have not moved along with the clock.
            false => Settled { at, behind: 0, levels: self.levels_at(&carried.levels, at, arena) },
        };
        let ruling = self.rule_settled(&carried.levels, settled, cost, arena);
        let step = Step { decision: self.decision(&ruling, cost, arena), ruling };
        // The call takes the runs of logs that begin, gives back what it does not keep, and is
        // charged then.
        if cost == 0 {
            return Look { step, runs: 0 };
        }
        let to_carry = self.runs_to_carry(old);
        let begun = self.logs_that_begin(old).zip(carried.levels);
        let taken = begun.filter(|(begins, level)| *begins && *level != 0).count();
        let most = taken.saturating_add(step.ruling.runs);
        let logs = old.machines.iter().zip(state.levels.iter().zip(levels));
        let logs = logs.zip(self.logs_that_go_on(old));
        let freed: usize = logs
            .map(|((machine, (stored, settled)), goes_on)| {
                machine.runs_freed(*stored, if goes_on { settled } else { 0 }, most, arena)
            })
            .sum();
        let runs = to_carry.max(most.saturating_sub(freed));
        Look { step, runs }
    }

    fn take_over(
        &self,
        old: &Self,
        owed: Levels,
        at: Moment,
        look: bool,
        arena: &mut Arena,
    ) -> Levels {
        let mut levels = Levels::default();
        let matched = self.machines.iter().zip(self.matches(old));
        for (place, (level, (new, from))) in levels.iter_mut().zip(matched).enumerate() {
            let from = from.and_then(|from| old.machines.get(from).zip(owed.get(from)));
            if let Some((old, owed)) = from {
                *level = new.take_over(old, *owed, at, look.then_some(place), arena);
            }
        }
        levels
    }

    /// Which limits are logs that begin with what was counted elsewhere.
    fn logs_that_begin(&self, old: &Self) -> impl Iterator<Item = bool> {
        let matched = self.machines.iter().zip(self.matches(old));
        matched.map(|(new, from)| {
            from.and_then(|place| old.machines.get(place)).is_some_and(|old| new.begins_log(old))
        })
    }

    /// Which of the old limits are logs that go on as logs.
    fn logs_that_go_on(&self, old: &Self) -> [bool; Policy::MAX_LIMITS] {
        let mut go_on = [false; Policy::MAX_LIMITS];
        let matched = self.machines.iter().zip(self.matches(old));
        for (new, from) in matched.filter(|(new, _)| new.is_log()) {
            let old = from.and_then(|from| old.machines.get(from).zip(go_on.get_mut(from)));
            if let Some((old, place)) = old {
                *place = !new.begins_log(old);
            }
        }
        go_on
    }

    fn matches(&self, old: &Self) -> Matches {
        let (new, old) = (self.policy.limits(), old.policy.limits());
        let mut matches = Matches::default();
        let mut taken = [false; Policy::MAX_LIMITS];
        let mut pair = |order: &[usize], old_order: &[usize], same: fn(&Limit, &Limit) -> bool| {
            for place in order {
                let Some((limit, from)) = new.get(*place).zip(matches.get_mut(*place)) else {
                    continue;
                };
                let left = |other: &&usize| {
                    let is_left = taken.get(**other).is_some_and(|taken| !taken);
                    is_left && old.get(**other).is_some_and(|other| same(limit, other))
                };
                if from.is_none()
                    && let Some(found) = old_order.iter().find(left)
                {
                    *from = Some(*found);
                    if let Some(taken) = taken.get_mut(*found) {
                        *taken = true;
                    }
                }
            }
        };
        const IN_ORDER: [usize; Policy::MAX_LIMITS] = [0, 1, 2, 3, 4, 5, 6, 7];
        let longest_first = |limits: &[Limit]| {
            let mut order = IN_ORDER;
            order.sort_by_key(|place| Reverse(limits.get(*place).map(Limit::period)));
            order
        };
        pair(&IN_ORDER, &IN_ORDER, |new, old| new.name() == old.name());
        pair(&IN_ORDER, &IN_ORDER, |new, old| new.period() == old.period());
        pair(&longest_first(new), &longest_first(old), |_, _| true);
        matches
    }
}

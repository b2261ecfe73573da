//! What a key keeps when its limits change: the fraction that it owes, or what it has counted.
//!
//! Each limit of the new policy goes on from one of the old: of the same name; else, of those
//! left, of the same period, because `200/min` in the place of `100/min` is the same limit with
//! another number; else, the longest period first, one of those that are left. A new limit starts
//! full only when no old one is left for it; an old one that is left over is forgotten.
//!
//! Limits that are as before go on as if nothing had happened.
//!
//! Changing to and fro between two policies at one time therefore gains nothing, as long as each
//! limit has its counterpart: what is spent under one is owed under the other. (Round three, with
//! windows of one kind and another algorithm among them, it can: counts and fractions do not agree.)

use core::cmp::Reverse;

use super::{Plan, Settled, State, Step};
use crate::algorithm::arena::Arena;
use crate::algorithm::{Machine, Moment};
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
    /// Whether nothing is new but who asks.
    pub(super) fn has_limits_of(&self, old: &Self) -> bool {
        self.enforced == old.enforced && self.limits().eq(old.limits())
    }

    /// Runs that [`carry`](Self::carry) may take from the arena.
    pub(crate) fn runs_to_carry(&self, old: &Self) -> usize {
        match self.has_limits_of(old) {
            true => 0,
            false => self.logs_that_begin(old).filter(|begins| *begins).count(),
        }
    }

    /// The state at `now` of a key whose limits were those of `old`, in the place of its old one.
    /// The arena must have room for [`runs_to_carry`](Self::runs_to_carry).
    pub(crate) fn carry(&self, old: &Self, state: &State, now: Nanos, arena: &mut Arena) -> State {
        if self.has_limits_of(old) {
            return *state;
        }
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
        if self.has_limits_of(old) {
            let step = self.decide(state, cost, now, arena);
            return Look { runs: step.ruling.runs, step };
        }
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
        let matched = self.machines().iter().zip(self.matches(old));
        for (place, (level, (new, from))) in levels.iter_mut().zip(matched).enumerate() {
            let from = from.and_then(|from| old.machines.get(from).zip(owed.get(from)));
            // For what is on trial no runs are looked for.
            let begins_trial = |old: &Machine| place >= self.enforced && new.begins_log(old);
            if let Some((old, owed)) = from.filter(|(old, _)| !begins_trial(old)) {
                *level = new.take_over(old, *owed, at, look.then_some(place), arena);
            }
        }
        levels
    }

    /// Which of the limits that are enforced are logs that begin with what was counted elsewhere.
    fn logs_that_begin(&self, old: &Self) -> impl Iterator<Item = bool> {
        let matched = self.machines().iter().zip(self.matches(old)).take(self.enforced);
        matched.map(|(new, from)| {
            from.and_then(|place| old.machines.get(place)).is_some_and(|old| new.begins_log(old))
        })
    }

    /// Which of the old limits are logs that go on as logs.
    fn logs_that_go_on(&self, old: &Self) -> [bool; Policy::MAX_LIMITS] {
        let mut go_on = [false; Policy::MAX_LIMITS];
        let matched = self.machines().iter().zip(self.matches(old));
        for (new, from) in matched.filter(|(new, _)| new.is_log()) {
            let old = from.and_then(|from| old.machines.get(from).zip(go_on.get_mut(from)));
            if let Some((old, place)) = old {
                *place = !new.begins_log(old);
            }
        }
        go_on
    }

    /// For each limit the old one from which it goes on.
    pub(super) fn matches(&self, old: &Self) -> Matches {
        let (new, old) = (Side::of(self), Side::of(old));
        let mut pairing =
            Pairing { new: &new, old: &old, matches: Matches::default(), taken: [false; MOST] };
        let same_name = |new: &Limit, old: &Limit| new.name() == old.name();
        let same_period = |new: &Limit, old: &Limit| new.period() == old.period();
        let (by_length, old_by_length) = (new.longest_first(), old.longest_first());
        // What is enforced goes on from what was, and what is on trial from what was on trial, before they
        // go on from what is left.
        for same_kind in [true, false] {
            pairing.pair(&IN_ORDER, &IN_ORDER, same_kind, same_name);
            pairing.pair(&IN_ORDER, &IN_ORDER, same_kind, same_period);
            pairing.pair(&by_length, &old_by_length, same_kind, |_, _| true);
        }
        pairing.matches
    }
}

const MOST: usize = Policy::MAX_LIMITS;
const IN_ORDER: [usize; MOST] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The limits before or after a change.
struct Side<'a> {
    limits: [Option<&'a Limit>; MOST],
    enforced: usize,
}

impl<'a> Side<'a> {
    fn of(plan: &'a Plan) -> Self {
        let mut limits = [None; MOST];
        for (place, limit) in limits.iter_mut().zip(plan.limits()) {
            *place = Some(limit);
        }
        Self { limits, enforced: plan.enforced }
    }

    fn get(&self, place: usize) -> Option<&'a Limit> {
        self.limits.get(place).copied().flatten()
    }

    fn longest_first(&self) -> [usize; MOST] {
        let mut order = IN_ORDER;
        order.sort_by_key(|place| Reverse(self.get(*place).map(Limit::period)));
        order
    }
}

/// Which new limit goes on from which old one, as far as it is known.
struct Pairing<'a> {
    new: &'a Side<'a>,
    old: &'a Side<'a>,
    matches: Matches,
    taken: [bool; MOST],
}

impl Pairing<'_> {
    /// Gives the new limits that have none the first old ones that are left and like them; of the same
    /// kind, enforced or on trial, or of any.
    fn pair(
        &mut self,
        order: &[usize],
        old_order: &[usize],
        same_kind: bool,
        alike: fn(&Limit, &Limit) -> bool,
    ) {
        for place in order {
            let Some(limit) = self.new.get(*place) else { continue };
            let is_like = |other: &&usize| {
                let is_left = self.taken.get(**other).is_some_and(|taken| !taken);
                let kinds = [*place < self.new.enforced, **other < self.old.enforced];
                let is_alike = self.old.get(**other).is_some_and(|other| alike(limit, other));
                is_left && is_alike && (!same_kind || kinds == [kinds[0]; 2])
            };
            let found = old_order.iter().find(is_like).copied();
            let Some(from) = self.matches.get_mut(*place).filter(|from| from.is_none()) else {
                continue;
            };
            if let Some((found, taken)) = found.and_then(|at| Some((at, self.taken.get_mut(at)?))) {
                (*from, *taken) = (Some(found), true);
            }
        }
    }
}

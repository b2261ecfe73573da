//! What a key keeps when its limits change: all that it has spent.
//!
//! Each limit of the new policy goes on from one of the old: of the same name; else, of those
//! left, of the same period, because `200/min` in the place of `100/min` is the same limit with
//! another number; else the next that is left. Limits matched by name or period keep the fraction
//! that is owed, the others the tokens (`Machine::take_over`). A new limit starts full only when
//! no old one is left for it, so nothing is gained by changing limits to and fro, whatever their
//! names.

use super::{Plan, State};
use crate::algorithm::Keep;
use crate::algorithm::arena::Arena;
use crate::limit::Limit;
use crate::policy::Policy;
use crate::time::Nanos;

/// For each new limit the place of the old one from which it goes on, and what it keeps.
type Matches = [Option<(usize, Keep)>; Policy::MAX_LIMITS];

/// A state under its new limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) state: State,
    /// The logs that began with what another algorithm had counted: bit by place.
    begun: u8,
}

impl Plan {
    /// Runs that [`carry`](Self::carry) may take from the arena.
    pub(crate) fn runs_to_carry(&self, old: &Self) -> usize {
        let matched = self.machines.iter().zip(self.matches(old));
        let begun = matched.filter(|(new, from)| {
            from.and_then(|(place, _)| old.machines.get(place)).is_some_and(|o| new.begins_log(o))
        });
        begun.count()
    }

    /// The state at `now` of a key whose limits were those of `old`. The arena must have room for
    /// [`runs_to_carry`](Self::runs_to_carry).
    ///
    /// Afterwards only the new state is valid; for a `look` only the old one, once
    /// [`forget_look`](Self::forget_look) was called.
    pub(crate) fn carry(
        &self,
        old: &Self,
        state: &State,
        now: Nanos,
        look: bool,
        arena: &mut Arena,
    ) -> Carried {
        let settled = old.settle(state, now, arena);
        let at = settled.at;
        let mut owed = settled.levels;
        if !look {
            let stored = old.machines.iter().zip(state.levels);
            for (level, (machine, stored)) in owed.iter_mut().zip(stored) {
                *level = machine.commit(stored, *level, at, arena);
            }
        }
        let mut carried = Carried { state: State::new(at.now), begun: 0 };
        let mut kept = 0_u8;
        let levels = carried.state.levels.iter_mut();
        let matched = self.machines.iter().zip(self.matches(old));
        for (place, (level, (new, from))) in levels.zip(matched).enumerate() {
            let Some((from, keep)) = from else { continue };
            let Some((old, owed)) = old.machines.get(from).zip(owed.get(from)) else { continue };
            *level = new.take_over(old, *owed, keep, at, arena);
            carried.begun |= u8::from(new.begins_log(old) && *level != 0) << place;
            kept |= u8::from(new.is_log()) << from;
        }
        if !look {
            for (place, (machine, level)) in old.machines.iter().zip(owed).enumerate() {
                if (kept >> place) & 1 == 0 {
                    machine.release(level, arena);
                }
            }
        }
        carried
    }

    /// Gives back what a look took from the arena.
    pub(crate) fn forget_look(&self, carried: &Carried, arena: &mut Arena) {
        let levels = self.machines.iter().zip(carried.state.levels).enumerate();
        for (place, (machine, level)) in levels {
            if (carried.begun >> place) & 1 == 1 {
                machine.release(level, arena);
            }
        }
    }

    fn matches(&self, old: &Self) -> Matches {
        let (new, old) = (self.policy.limits(), old.policy.limits());
        let mut matches = Matches::default();
        let mut taken = [false; Policy::MAX_LIMITS];
        let mut pair = |keep: Keep, same: &dyn Fn(&Limit, &Limit) -> bool| {
            for (limit, from) in new.iter().zip(&mut matches) {
                if from.is_some() {
                    continue;
                }
                let mut left = old.iter().zip(&mut taken).enumerate();
                let found = left.find(|(_, (other, taken))| !**taken && same(limit, other));
                if let Some((place, (_, taken))) = found {
                    *taken = true;
                    *from = Some((place, keep));
                }
            }
        };
        pair(Keep::Fraction, &|new, old| new.name() == old.name());
        pair(Keep::Fraction, &|new, old| new.period() == old.period());
        pair(Keep::Tokens, &|_, _| true);
        matches
    }
}

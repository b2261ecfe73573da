//! Slots for those keys of a call that have none: each its own, and none that another key of the
//! call is charged in.

use super::judge::{AllJudged, Judged, Place};
use super::locked::{At, Locked};
use super::{Charge, MOST_KEYS, NO_SET, Taken, Together};
use crate::algorithm::arena::Arena;
use crate::decision::{Decision, Origin, Retry};
use crate::step::{Plan, State};
use crate::store::sets::Slot;
use crate::store::{Overflow, Set};
use crate::time::span;

impl Together<'_> {
    /// Finds a slot that is empty or as good as new for every key that is to be charged and has
    /// none; says which is the first without.
    pub(super) fn find_places(
        &self,
        all: &mut AllJudged,
        sets: &Locked<'_>,
        arena: &Arena,
    ) -> Option<usize> {
        let mut without = None;
        for (key, charge) in self.charges.iter().enumerate() {
            if !wants_place(all, key, charge) {
                continue;
            }
            let mut asked = [false; MOST_KEYS];
            if !self.settle(key, all, &mut asked, sets, arena) {
                without = without.or(Some(key));
            }
        }
        without
    }

    /// Gives a key a free slot, or one that another newcomer has, if that one can be settled
    /// elsewhere; each is asked once. So all find places if there is any way to, and a slot that
    /// was made free for a key reaches it, whoever else would have preferred it.
    fn settle(
        &self,
        key: usize,
        all: &mut AllJudged,
        asked: &mut [bool; MOST_KEYS],
        sets: &Locked<'_>,
        arena: &Arena,
    ) -> bool {
        let Some(charge) = self.charges.get(key) else { return false };
        if let Some(at) = self.free_slot(charge, all, sets, arena) {
            put(all, key, Place::Free(at));
            return true;
        }
        let (first, second) = self.store.candidates(charge.fingerprint);
        for other in 0..self.charges.len() {
            let Some(Place::Free(at)) = all.get(other).map(|judged| judged.place) else { continue };
            let is_near = at.0 == first || at.0 == second;
            let Some(asked_before) = asked.get_mut(other).filter(|_| is_near) else { continue };
            if !core::mem::replace(asked_before, true)
                && self.settle(other, all, asked, sets, arena)
            {
                put(all, key, Place::Free(at));
                return true;
            }
        }
        false
    }

    /// What [`Overflow`] says to the keys that found no slot.
    pub(super) fn overflow(&self, all: &mut AllJudged, sets: &Locked<'_>, arena: &Arena) {
        for (key, charge) in self.charges.iter().enumerate() {
            if !wants_place(all, key, charge) || self.is_trial_only(charge) {
                continue;
            }
            let owed = |plan: &Plan, state: &State, is_waited_for| {
                (is_waited_for, plan.owed(state, self.now, arena))
            };
            let wait = |plan: &Plan, state: &State, _| plan.full_after(state, self.now, arena);
            let refusal = match self.store.overflow {
                Overflow::Share => {
                    let row = charge.row().and_then(|row| self.rows.get(row));
                    let shared = row.map_or(Place::Nowhere, |row| Place::Shared(row.shared));
                    put(all, key, shared);
                    continue;
                }
                Overflow::Evict => match self.least(charge, all, sets, owed) {
                    // Those for whom others wait come last, and are not forgotten.
                    Some((at, (false, _))) => {
                        put(all, key, Place::Free(at));
                        continue;
                    }
                    _ => self.least(charge, all, sets, wait),
                },
                Overflow::Refuse => self.least(charge, all, sets, wait),
            };
            let plan = charge.row().and_then(|row| self.rows.plan(row));
            let origin = plan.map_or(Origin::NONE, |plan| plan.origin);
            let Some(judged) = all.get_mut(key) else { continue };
            judged.decision = match refusal {
                // A denial's hint is at least 1 ns.
                Some((_, wait)) => Decision::store_full(span(wait.max(1)), origin),
                // More keys in one call than the store has slots for.
                None => Decision {
                    retry: Retry::Never,
                    ..Decision::store_full(core::time::Duration::ZERO, origin)
                },
            };
            if let Some((at, _)) = refusal {
                // The next key has to wait for another one.
                judged.place = Place::Free(at);
            }
        }
    }

    /// Nobody is refused, and nobody forgotten, for what is on trial.
    fn is_trial_only(&self, charge: &Charge) -> bool {
        let plan = charge.row().and_then(|row| self.rows.plan(row));
        plan.is_some_and(|plan| plan.is_trial_only())
    }

    /// The sets in which the call has a use for a slot that seems free to others.
    pub(super) fn taken(&self, all: &AllJudged, sets: &Locked<'_>, arena: &Arena) -> Taken {
        let mut taken = [NO_SET; MOST_KEYS];
        for ((taken, judged), charge) in taken.iter_mut().zip(all).zip(self.charges) {
            let refilled = |(index, slot): At| {
                let set = sets.get(index);
                set.is_some_and(|set| self.store.is_free(set, slot, self.rows, self.now, arena))
            };
            *taken = match judged.place {
                Place::Free((index, _)) => index,
                Place::Home(at) if charge.cost > 0 && refilled(at) => at.0,
                _ => NO_SET,
            };
        }
        taken
    }

    /// Makes slots whose time lies ahead of a clock that was stepped back refill from now on, in
    /// the sets of those keys that found no slot; see `Full::anchor`.
    pub(super) fn anchor(&self, all: &AllJudged, sets: &mut Locked<'_>, arena: &mut Arena) {
        for (key, charge) in self.charges.iter().enumerate() {
            if !wants_place(all, key, charge) {
                continue;
            }
            let (first, second) = self.store.candidates(charge.fingerprint);
            for index in [first, second] {
                let Some(set) = sets.get_mut(index) else { continue };
                self.each(set, |plan, content| {
                    let is_other = !self.is_charged(content.fingerprint);
                    if is_other && plan.is_stepped(content.state.last, self.now) {
                        plan.anchor(&mut content.state, self.now, arena);
                    }
                });
            }
        }
    }

    /// Gives the expired runs of all locked sets back.
    pub(super) fn trim(&self, sets: &mut Locked<'_>, arena: &mut Arena) {
        for set in sets.iter_mut() {
            self.each(set, |plan, content| {
                if plan.has_log() {
                    plan.trim(&mut content.state, self.now, arena);
                }
            });
        }
    }

    fn each(&self, set: &mut Set<'_>, mut change: impl FnMut(&Plan, &mut Slot)) {
        for slot in set.slots() {
            let Some(before) = set.read(slot) else { continue };
            let Some(plan) = self.rows.plan(before.row) else { continue };
            let mut content = before;
            change(plan, &mut content);
            if content.state != before.state {
                set.write(slot, &content);
                self.store.note_step(before.state.last, content.state.last);
            }
        }
    }

    /// As for a single key: in the first of its sets, or else in the second; an empty slot, or else
    /// one that is as good as new.
    fn free_slot(
        &self,
        charge: &Charge,
        all: &AllJudged,
        sets: &Locked<'_>,
        arena: &Arena,
    ) -> Option<At> {
        let (first, second) = self.store.candidates(charge.fingerprint);
        let left = |index, set: &Set<'_>| {
            set.slots().filter(move |slot| !self.is_taken(all, (index, *slot)))
        };
        let free = [first, second].into_iter().find_map(|index| {
            let set = sets.get(index)?;
            let empty = left(index, set).find(|slot| set.row(*slot).is_none());
            let is_refilled =
                |slot: &usize| self.store.is_free(set, *slot, self.rows, self.now, arena);
            let refilled = || left(index, set).find(is_refilled);
            Some((index, empty.or_else(refilled)?))
        });
        free.or_else(|| {
            let trial = self.least(charge, all, sets, |plan, _, is_waited_for| {
                is_waited_for || !plan.is_trial_only()
            });
            trial.filter(|(_, is_real)| !is_real && !self.is_trial_only(charge)).map(|(at, _)| at)
        })
    }

    /// The occupied slot in the key's two sets that has the least of something, other than those in
    /// which the call charges a key; the first of equals, by the index of the set. (It is also told whether
    /// others wait for the key there.)
    fn least<T: PartialOrd>(
        &self,
        charge: &Charge,
        all: &AllJudged,
        sets: &Locked<'_>,
        measure: impl Fn(&Plan, &State, bool) -> T,
    ) -> Option<(At, T)> {
        let (first, second) = self.store.candidates(charge.fingerprint);
        let mut least: Option<(At, T)> = None;
        for index in [first.min(second), first.max(second)] {
            let Some(set) = sets.get(index) else { continue };
            for slot in set.slots() {
                if self.is_taken(all, (index, slot)) {
                    continue;
                }
                let Some(content): Option<Slot> = set.read(slot) else { continue };
                let Some(plan) = self.rows.plan(content.row) else { continue };
                let is_waited_for = self.store.is_waited_for(set, slot);
                let found = measure(plan, &content.state, is_waited_for);
                if least.as_ref().is_none_or(|(_, least)| found < *least) {
                    least = Some(((index, slot), found));
                }
            }
        }
        least
    }

    /// Whether the call charges a key in that slot. (A look leaves a slot to whoever needs it.)
    fn is_taken(&self, all: &AllJudged, at: At) -> bool {
        all.iter().zip(self.charges).any(|(judged, charge)| match judged.place {
            Place::Home(home) => home == at && charge.cost > 0,
            Place::Free(free) => free == at,
            Place::Nowhere | Place::Shared(_) => false,
        })
    }

    fn is_charged(&self, fingerprint: u64) -> bool {
        self.charges.iter().any(|charge| charge.fingerprint == fingerprint && charge.cost > 0)
    }
}

/// Whether a key is to be charged and has no place yet. (Those that are denied have none either,
/// but then no places are looked for.)
fn wants_place(all: &AllJudged, key: usize, charge: &Charge) -> bool {
    let judged = all.get(key);
    let is_nowhere = judged.is_some_and(|Judged { place, .. }| matches!(place, Place::Nowhere));
    is_nowhere && charge.has_limits() && charge.cost > 0
}

fn put(all: &mut AllJudged, key: usize, place: Place) {
    if let Some(judged) = all.get_mut(key) {
        judged.place = place;
    }
}

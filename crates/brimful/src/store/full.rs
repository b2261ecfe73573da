//! What a newcomer meets in its two sets, and what a full store does with it.

use super::attempt::Effort;
use super::{Overflow, Pair, Set, Slot, Store};
use crate::algorithm::Owed;
use crate::algorithm::arena::Arena;
use crate::decision::Decision;
use crate::rows::Held;
use crate::step::{Plan, State, Step};
use crate::time::Nanos;

/// A slot, by the index of its set and its number there.
type Place = (usize, usize);

/// The two sets of a key, and what may be done in them to find it a place.
pub(super) struct Full<'a> {
    pub(super) store: &'a Store,
    pub(super) fingerprint: u64,
    pub(super) rows: &'a Held<'a>,
    pub(super) now: Nanos,
}

impl Store {
    /// Counts a key that was forgotten for another, owing that much.
    pub(super) fn count_victim(&self, owed: Owed) {
        if owed.tokens == 0 {
            self.counters.evicted_lossless.add(1);
        } else {
            self.counters.evicted_forced.add(1);
            self.counters.forgiven.add(owed.tokens);
        }
    }
}

impl Full<'_> {
    /// What [`Overflow`] says to a newcomer that found no slot: the place that was made free for
    /// it (none for a peek), or the refusal; no refusal when it is to share.
    pub(super) fn overflow(
        &self,
        pair: &mut Pair<'_>,
        step: &Step,
        peek: bool,
        arena: &mut Arena,
    ) -> Result<Option<Place>, Option<Decision>> {
        if !peek {
            self.anchor(pair, arena);
        }
        match self.store.overflow {
            Overflow::Evict if peek && self.has_candidate(pair) => Ok(None),
            Overflow::Evict => match self.evict(pair, false, arena).filter(|_| !peek) {
                Some(place) => Ok(Some(place)),
                // Others wait for all keys there.
                None => Err(Some(self.refuse_for_slot(pair, step, peek, arena))),
            },
            Overflow::Refuse => Err(Some(self.refuse_for_slot(pair, step, peek, arena))),
            Overflow::Share => Err(None),
        }
    }

    fn refuse_for_slot(
        &self,
        pair: &Pair<'_>,
        step: &Step,
        peek: bool,
        arena: &mut Arena,
    ) -> Decision {
        let wait = self.wait_for_slot(pair, arena);
        self.store.refuse(wait, step.decision.origin, peek)
    }

    fn has_candidate(&self, pair: &mut Pair<'_>) -> bool {
        pair.sets().any(|set| set.slots().any(|slot| self.candidate(set, slot).is_some()))
    }

    /// Makes slots whose time lies ahead of a clock that was stepped back refill from now on.
    /// Otherwise only a call for their own keys would, and if none came, they would be owing for
    /// as long as the step. Done when a newcomer finds no place, never to a key that is in
    /// nobody's way. (The key's own slot, if it has one, moves with its own step.)
    fn anchor(&self, pair: &mut Pair<'_>, arena: &mut Arena) {
        self.each(pair, |plan, content| {
            let is_other = content.fingerprint != self.fingerprint;
            if is_other && plan.is_stepped(content.state.last, self.now) {
                plan.anchor(&mut content.state, self.now, arena);
            }
        });
    }

    /// Gives the expired runs of the two sets back.
    pub(super) fn trim(&self, pair: &mut Pair<'_>, arena: &mut Arena) {
        self.each(pair, |plan, content| {
            if plan.has_log() {
                plan.trim(&mut content.state, self.now, arena);
            }
        });
    }

    fn each(&self, pair: &mut Pair<'_>, mut change: impl FnMut(&Plan, &mut Slot)) {
        for set in pair.sets() {
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
    }

    /// A free slot in the first of the key's two sets, or else in the second: nearly all keys are
    /// then found at the first look (86 of 100 in a store with `max_keys` keys; of the emptier of
    /// two sets, 69).
    ///
    /// For a key with limits that are enforced, else the slot of one that is only on trial.
    pub(super) fn place(&self, pair: &mut Pair<'_>, plan: &Plan, arena: &Arena) -> Option<Place> {
        let (first, second) = self.store.candidates(self.fingerprint);
        let mut find = |free: &dyn Fn(&Set<'_>) -> Option<usize>| {
            [first, second].into_iter().find_map(|index| {
                let set = pair.sets().find(|set| set.index() == index)?;
                Some((index, free(set)?))
            })
        };
        find(&|set| self.store.free_slot(set, self.rows, self.now, arena)).or_else(|| {
            let is_enforced = !plan.is_trial_only();
            is_enforced.then(|| find(&|set| self.store.trial_slot(set, self.rows)))?
        })
    }

    /// Writes the key's state to its slot, or to a free one.
    pub(super) fn put(
        &self,
        pair: &mut Pair<'_>,
        place: Option<Place>,
        home: &Slot,
        arena: &mut Arena,
    ) {
        let Some((index, slot)) = place else { return };
        let Some(set) = pair.sets().find(|set| set.index() == index) else { return };
        let counters = &self.store.counters;
        let holder = set.fingerprint(slot);
        if holder != Some(self.fingerprint) {
            if holder.is_some() {
                self.store.empty(set, slot, self.rows, arena);
                counters.evicted_lossless.add(1);
            }
            counters.occupied.add(1);
            self.rows.add_user(home.row);
            if let Some(plan) = self.rows.plan(home.row) {
                self.store.shorten_flood(plan, &home.state, self.now, arena);
            }
        } else {
            self.store.note_step(set.last(slot), home.state.last);
        }
        set.write(slot, home);
    }

    /// Forgets the slot, other than the key's own, that owes least; of those that hold runs, when
    /// it is runs that are wanted.
    fn evict(&self, pair: &mut Pair<'_>, holding_runs: bool, arena: &mut Arena) -> Option<Place> {
        let mut least: Option<(Owed, usize, usize)> = None;
        for set in pair.sets() {
            for slot in set.slots() {
                let Some((content, plan)) = self.candidate(set, slot) else { continue };
                if holding_runs && plan.runs_held(&content.state, 1, arena) == 0 {
                    continue;
                }
                let owed = plan.owed(&content.state, self.now, arena);
                if least.is_none_or(|(other, ..)| owed < other) {
                    least = Some((owed, set.index(), slot));
                }
            }
        }
        let (owed, index, slot) = least?;
        if let Some(set) = pair.sets().find(|set| set.index() == index) {
            self.store.empty(set, slot, self.rows, arena);
        }
        self.store.count_victim(owed);
        Some((index, slot))
    }

    /// Finds `wanted` runs when there are fewer: first elsewhere, then by the overflow policy. (For a
    /// look they are there when it says so, but not free.) An error is the refusal; none when others
    /// have to be asked for runs first.
    pub(super) fn find_runs(
        &self,
        pair: &mut Pair<'_>,
        wanted: usize,
        plan: &Plan,
        effort: Effort,
        look: bool,
        arena: &mut Arena,
    ) -> Result<(), Option<Decision>> {
        if wanted <= arena.room() {
            return Ok(());
        }
        if !effort.force_runs {
            return Err(None);
        }
        if self.free_runs(pair, wanted, look, arena) {
            return Ok(());
        }
        let missing = wanted.saturating_sub(arena.room());
        let wait = self.wait_for_runs(pair, missing, arena);
        let wait = wait.unwrap_or(plan.longest_period().into());
        Err(Some(self.store.refuse(wait, plan.origin, look)))
    }

    /// Frees runs by the overflow policy, and says whether there are `wanted` now. A peek only
    /// says whether there would be.
    fn free_runs(&self, pair: &mut Pair<'_>, wanted: usize, peek: bool, arena: &mut Arena) -> bool {
        if !peek {
            self.anchor(pair, arena);
        }
        if self.store.overflow != Overflow::Evict {
            return false;
        }
        let mut held = 0;
        for set in pair.sets() {
            for slot in set.slots() {
                if let Some((content, plan)) = self.candidate(set, slot) {
                    held += plan.runs_held(&content.state, wanted, arena);
                }
            }
        }
        if arena.room() + held < wanted {
            return false;
        }
        if peek {
            return true;
        }
        // Each round forgets one of those that hold some.
        for _ in 0..pair.content().count() {
            if arena.room() < wanted {
                self.evict(pair, true, arena);
            }
        }
        arena.room() >= wanted
    }

    /// Nanoseconds until the first of the candidate slots is free: one that others wait for, after all of them.
    fn wait_for_slot(&self, pair: &Pair<'_>, arena: &mut Arena) -> u128 {
        let beside = &self.store.beside;
        let waits = pair.content().filter_map(|slot| {
            let plan = self.rows.plan(slot.row)?;
            let queue = beside.look(&slot, 0, (plan, self.now, &mut *arena));
            Some(queue.map_or_else(
                || plan.full_after(&slot.state, self.now, arena),
                |queue| queue.reset_after.as_nanos(),
            ))
        });
        waits.min().unwrap_or(0)
    }

    /// Nanoseconds until the slots that are free by then, the key's own included, have given back
    /// the runs that are missing; `None` when the two sets do not hold so many.
    pub(super) fn wait_for_runs(
        &self,
        pair: &Pair<'_>,
        missing: usize,
        arena: &Arena,
    ) -> Option<u128> {
        let held = |plan: &Plan, state: &State| plan.runs_held(state, missing, arena);
        let freed_by = |wait: u128| -> usize {
            let slots = pair.content();
            let slots = slots.filter_map(|slot| Some((self.rows.plan(slot.row)?, slot.state)));
            let free =
                slots.filter(|(plan, state)| plan.full_after(state, self.now, arena) <= wait);
            free.map(|(plan, state)| held(plan, &state)).sum()
        };
        let waits = self.waits(pair, arena, |plan, state| held(plan, state) > 0);
        waits.filter(|wait| freed_by(*wait) >= missing).min()
    }

    /// When the slots that count will be free, in nanoseconds from now.
    fn waits(
        &self,
        pair: &Pair<'_>,
        arena: &Arena,
        counts: impl Fn(&Plan, &State) -> bool,
    ) -> impl Iterator<Item = u128> {
        pair.content().filter_map(move |slot| {
            let plan = self.rows.plan(slot.row)?;
            counts(plan, &slot.state).then(|| plan.full_after(&slot.state, self.now, arena))
        })
    }

    /// A slot that could be forgotten for the key: occupied, not its own, and nobody waits for it.
    fn candidate(&self, set: &Set<'_>, slot: usize) -> Option<(Slot, &Plan)> {
        let content: Slot =
            set.read(slot).filter(|slot: &Slot| slot.fingerprint != self.fingerprint)?;
        if content.is_marked && self.store.is_waited_for(set, slot) {
            return None;
        }
        let plan = self.rows.plan(content.row)?;
        Some((content, plan))
    }
}

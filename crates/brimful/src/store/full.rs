//! What a newcomer meets in its two sets, and what a full store does with it.

use super::room::{free_slot, free_slots, is_free};
use super::{Attempt, Overflow, Pair, Request, Sets, Slot, Store, plan};
use crate::algorithm::Owed;
use crate::algorithm::arena::Arena;
use crate::decision::Decision;
use crate::step::{Plan, State, Step};
use crate::time::{Nanos, span};

/// How far to go for a place: without force, only what is empty or as good as new is taken; with
/// force, [`Overflow`] has its say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    pub(super) force_slot: bool,
    pub(super) force_runs: bool,
}

impl Store {
    /// One try with both sets locked: finds the key after all, or a place for it.
    pub(super) fn attempt<N: Fn() -> Nanos>(
        &self,
        row: u32,
        request: &Request<'_, N>,
        effort: Effort,
    ) -> Attempt {
        let Request { fingerprint, cost, peek, plans, .. } = *request;
        let mut pair = self.lock_pair(fingerprint);
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let home = pair.find(fingerprint).and_then(|(set, slot)| set.read(slot));
        let is_known = home.is_some();
        let mut home = home.unwrap_or(Slot { fingerprint, row, state: State::new(now) });
        let Some(plan) = plan(plans, home.row) else {
            return Attempt::Decided(Decision::UNLIMITED);
        };
        let mut step = plan.decide(&home.state, cost, now, arena);
        if !is_known && (cost == 0 || step.decision.is_denied()) {
            // Looks and denials never take a slot.
            return Attempt::Decided(step.decision);
        }
        let full = Full { store: self, fingerprint, plans, now };
        if step.runs > arena.room() {
            full.trim(&mut pair, arena);
            if let Some((set, slot)) = pair.find(fingerprint) {
                home = set.read(slot).unwrap_or(home);
            }
            step = plan.decide(&home.state, cost, now, arena);
        }
        if step.runs > arena.room() {
            if !effort.force_runs {
                return Attempt::NoRuns;
            }
            if !full.free_runs(&mut pair, step.runs, peek, arena) {
                let missing = step.runs.saturating_sub(arena.room());
                let wait = full.wait_for_runs(&pair, missing, arena);
                let wait = wait.unwrap_or(plan.longest_period().into());
                return Attempt::Decided(self.refuse(wait, home.row, peek));
            }
        }
        let mut place = pair.find(fingerprint).map(|(set, slot)| (set.index(), slot));
        if place.is_none() {
            place = full.place(&mut pair, arena);
        }
        if place.is_none() {
            if !effort.force_slot {
                return Attempt::NoSlot(step.decision);
            }
            match full.overflow(&mut pair, &step, peek, arena) {
                Ok(freed) => place = freed,
                Err(Some(refused)) => return Attempt::Decided(refused),
                Err(None) => return Attempt::NoSlot(step.decision),
            }
        }
        if peek {
            return Attempt::Decided(step.decision);
        }
        plan.apply(&mut home.state, &step, arena);
        full.put(&mut pair, place, &home, arena);
        Attempt::Charged { step, is_new: !is_known }
    }

    /// Decides against the state that all keys of the row without a slot share.
    pub(super) fn share<N: Fn() -> Nanos>(&self, row: u32, request: &Request<'_, N>) -> Decision {
        let Some((plan, mut set)) = plan(request.plans, row).zip(self.lock_shared(row)) else {
            return self.refuse(0, row, request.peek);
        };
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let content = set.read(0);
        let mut content = content.unwrap_or(Slot { fingerprint: 0, row, state: State::new(now) });
        let step = plan.decide(&content.state, request.cost, now, arena);
        if step.runs > arena.room() {
            let wait = plan.full_after(&content.state, now, arena);
            return self.refuse(wait.max(plan.longest_period().into()), row, request.peek);
        }
        if !request.peek {
            plan.apply(&mut content.state, &step, arena);
            set.write(0, &content);
            self.counters.shared.add(1);
        }
        step.decision
    }

    /// Whether the shared state of the row owes anything.
    pub(super) fn shared_owes<N: Fn() -> Nanos>(&self, row: u32, request: &Request<'_, N>) -> bool {
        let Some(set) = self.lock_shared(row) else { return false };
        let now = (request.now)();
        !is_free(&set, 0, request.plans, now, self.runs().get())
    }

    fn lock_shared(&self, row: u32) -> Option<super::Set<'_>> {
        let index = usize::try_from(row).ok()?;
        self.shared
            .as_ref()
            .filter(|sets: &&Sets| index < sets.count())
            .map(|sets| sets.lock(index))
    }

    fn refuse(&self, wait: u128, row: u32, peek: bool) -> Decision {
        if !peek {
            self.counters.refused.add(1);
        }
        // A denial's hint is at least 1 ns.
        Decision::store_full(span(wait.max(1)), row)
    }
}

/// A slot, by the index of its set and its number there.
type Place = (usize, usize);

/// Two full sets, and the one who wants a place there.
struct Full<'a> {
    store: &'a Store,
    fingerprint: u64,
    plans: &'a [Plan],
    now: Nanos,
}

impl Full<'_> {
    /// What [`Overflow`] says to a newcomer that found no slot: the place that was made free for
    /// it (none for a peek), or the refusal; no refusal when it is to share.
    fn overflow(
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
            Overflow::Evict if peek => Ok(None),
            Overflow::Evict => Ok(self.evict(pair, false, arena)),
            Overflow::Refuse => {
                let wait = self.wait_for_slot(pair, arena);
                Err(Some(self.store.refuse(wait, step.decision.row, peek)))
            }
            Overflow::Share => Err(None),
        }
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
    fn trim(&self, pair: &mut Pair<'_>, arena: &mut Arena) {
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
                let Some(plan) = plan(self.plans, before.row) else { continue };
                let mut content = before;
                change(plan, &mut content);
                if content.state != before.state {
                    set.write(slot, &content);
                }
            }
        }
    }

    /// A free slot in the emptier of the two sets.
    fn place(&self, pair: &mut Pair<'_>, arena: &Arena) -> Option<Place> {
        let emptier = pair.sets().max_by_key(|set| free_slots(set, self.plans, self.now, arena))?;
        let slot = free_slot(emptier, self.plans, self.now, arena)?;
        Some((emptier.index(), slot))
    }

    /// Writes the key's state to its slot, or to a free one.
    fn put(&self, pair: &mut Pair<'_>, place: Option<Place>, home: &Slot, arena: &mut Arena) {
        let Some((index, slot)) = place else { return };
        let Some(set) = pair.sets().find(|set| set.index() == index) else { return };
        let counters = &self.store.counters;
        match set.fingerprint(slot) {
            Some(own) if own == self.fingerprint => {}
            Some(_) => {
                self.store.empty(set, slot, self.plans, arena);
                counters.evicted_lossless.add(1);
                counters.occupied.add(1);
            }
            None => counters.occupied.add(1),
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
            self.store.empty(set, slot, self.plans, arena);
        }
        let counters = &self.store.counters;
        if owed.tokens == 0 {
            counters.evicted_lossless.add(1);
        } else {
            counters.evicted_forced.add(1);
            counters.forgiven.add(owed.tokens);
        }
        Some((index, slot))
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
        while !peek && arena.room() < wanted {
            self.evict(pair, true, arena);
        }
        true
    }

    /// Nanoseconds until the first of the candidate slots is free.
    fn wait_for_slot(&self, pair: &Pair<'_>, arena: &Arena) -> u128 {
        self.waits(pair, arena, |_, _| true).min().unwrap_or(0)
    }

    /// Nanoseconds until the slots that are free by then, the key's own included, have given back
    /// the runs that are missing; `None` when the two sets do not hold so many.
    fn wait_for_runs(&self, pair: &Pair<'_>, missing: usize, arena: &Arena) -> Option<u128> {
        let held = |plan: &Plan, state: &State| plan.runs_held(state, missing, arena);
        let freed_by = |wait: u128| -> usize {
            let slots = pair.content();
            let slots = slots.filter_map(|slot| Some((plan(self.plans, slot.row)?, slot.state)));
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
            let plan = plan(self.plans, slot.row)?;
            counts(plan, &slot.state).then(|| plan.full_after(&slot.state, self.now, arena))
        })
    }

    /// A slot that could be forgotten for the key: occupied, and not its own.
    fn candidate(&self, set: &super::Set<'_>, slot: usize) -> Option<(Slot, &Plan)> {
        let content = set.read(slot).filter(|slot| slot.fingerprint != self.fingerprint)?;
        let plan = plan(self.plans, content.row)?;
        Some((content, plan))
    }
}

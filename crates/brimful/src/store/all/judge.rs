//! Judging all keys, and carrying out what was found.

use super::locked::{At, Locked};
use super::{Charge, Decisions, MOST_KEYS, Round, Ruled, Together, Written};
use crate::algorithm::Owed;
use crate::algorithm::arena::Arena;
use crate::decision::{Decision, Denial};
use crate::step::{Plan, State};
use crate::store::attempt::Change;
use crate::store::beside::Wakes;
use crate::store::is_done;
use crate::store::sets::{Set, Slot};
use crate::time::span;

/// What would become of a key, with nothing written yet.
#[derive(Clone, Copy)]
pub(super) struct Judged {
    pub(super) decision: Decision,
    /// Runs that must be in the arena for it.
    pub(super) runs: usize,
    pub(super) place: Place,
}

impl Judged {
    const NOTHING: Self = Self { decision: Decision::UNLIMITED, runs: 0, place: Place::Nowhere };
}

/// What would become of all keys, in their order; beyond the last there is nothing to say.
pub(super) type AllJudged = [Judged; MOST_KEYS];

/// Where a key is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    /// In its own slot.
    Home(At),
    /// In this slot, once it is emptied.
    Free(At),
    /// In the shared state of that number.
    Shared(usize),
}

/// The limits of a key.
struct Limits<'a> {
    row: u32,
    plan: &'a Plan,
    /// Those by which its slot stands, when they are others.
    left: Option<&'a Plan>,
}

impl Together<'_> {
    /// Judges all keys, then charges all or none.
    pub(super) fn decide(
        &self,
        sets: &mut Locked<'_>,
        mut shared: Option<&mut Locked<'_>>,
        (wakes, arena): (&mut Wakes, &mut Arena),
    ) -> Round {
        self.grant(sets, wakes, arena);
        if let Some(shared) = shared.as_deref_mut() {
            self.take_over_shared(shared, arena);
        }
        let mut all = [Judged::NOTHING; MOST_KEYS];
        for is_trimmed in [false, true] {
            if let Err(key) = self.draft(&mut all, sets, shared.as_deref(), arena) {
                return Round::NoSlot(key, self.taken(&all, sets, arena));
            }
            if is_trimmed || runs_wanted(&all) <= arena.room() {
                break;
            }
            self.trim(sets, arena);
        }
        if runs_wanted(&all) > arena.room() {
            if !self.effort.force_runs {
                return Round::NoRuns;
            }
            if !is_denied(&all) {
                self.refuse_for_runs(&mut all, arena.room());
            }
        }
        match is_denied(&all) {
            true => Round::Denied(self.deny(&all, sets, shared, arena)),
            false => Round::Written(self.charge(&all, sets, shared, arena)),
        }
    }

    /// What the limits say; and, when all admit, where the keys without a slot are remembered. An
    /// error is the first of them, by its number, that finds no slot.
    fn draft(
        &self,
        all: &mut AllJudged,
        sets: &mut Locked<'_>,
        shared: Option<&Locked<'_>>,
        arena: &mut Arena,
    ) -> Result<(), usize> {
        for (judged, charge) in all.iter_mut().zip(self.charges) {
            *judged = self.judge(charge, charge.cost, sets, arena);
        }
        if is_denied(all) {
            return Ok(());
        }
        let Some(key) = self.find_places(all, sets, arena) else { return Ok(()) };
        if !self.effort.force_slot {
            return Err(key);
        }
        self.anchor(all, sets, arena);
        if self.find_places(all, sets, arena).is_some() {
            self.overflow(all, sets, arena);
        }
        if let Some(shared) = shared {
            self.judge_shared(all, shared, arena);
        }
        Ok(())
    }

    /// What a key would be told by its own state.
    fn judge(&self, charge: &Charge, cost: u64, sets: &Locked<'_>, arena: &mut Arena) -> Judged {
        if let Ruled::NoLimits(decision) = charge.ruled {
            return Judged { decision, runs: 0, place: Place::Nowhere };
        }
        let found = sets.find(self.store, charge.fingerprint);
        let place = found.map_or(Place::Nowhere, |(at, _)| Place::Home(at));
        let home = found.map(|(_, slot)| slot);
        let Some(Limits { plan, left, .. }) = self.limits(charge, home.as_ref(), arena) else {
            return Judged { decision: Decision::BLOCKED, runs: 0, place: Place::Nowhere };
        };
        if let Some(denied) = home.and_then(|home| self.stand_back(&home, cost, arena)) {
            return Judged { decision: denied, runs: 0, place };
        }
        let state = home.map_or_else(|| State::new(self.now), |home| home.state);
        match left {
            Some(left) => {
                let look = plan.look(left, &state, cost, self.now, arena);
                Judged { decision: look.step.decision, runs: look.runs, place }
            }
            None => {
                let step = plan.decide(&state, cost, self.now, arena);
                Judged { decision: step.decision, runs: step.ruling.runs, place }
            }
        }
    }

    /// What a key is told for which others wait, by the limits under which they do. Those who are due were
    /// granted; who is due and still there waits for log entries, and nobody goes before it.
    fn stand_back(&self, home: &Slot, cost: u64, arena: &mut Arena) -> Option<Decision> {
        let plan = self.rows.plan(home.row).filter(|_| home.is_marked)?;
        let (beside, scene) = (&self.store.beside, (plan, self.now, arena));
        match cost {
            0 => beside.look(home, cost, scene),
            _ => beside.denial(home, cost, scene),
        }
    }

    /// Grants those who wait for the keys of the call and are due, by the limits that the keys have now.
    fn grant(&self, sets: &mut Locked<'_>, wakes: &mut Wakes, arena: &mut Arena) {
        for charge in self.charges.iter().filter(|charge| charge.cost > 0) {
            let found = sets.find(self.store, charge.fingerprint);
            let Some(((index, place), mut home)) = found.filter(|(_, home)| home.is_marked) else {
                continue;
            };
            let before = home.state.last;
            if self.can_carry(charge, (index, place), sets, arena)
                && let Some(Limits { row, plan, left: Some(left) }) =
                    self.limits(charge, Some(&home), arena)
            {
                self.move_to(row, &mut home);
                self.store.beside.carry((plan, left), &mut home, self.now, arena);
            }
            let Some(plan) = self.rows.plan(home.row) else { continue };
            let Some(set) = sets.get_mut(index) else { continue };
            let scene = (plan, self.now, &mut *arena);
            self.store.beside.visit(&mut home, scene, wakes, |_| {});
            set.write(place, &home);
            self.store.note_step(before, home.state.last);
        }
    }

    fn is_waited_for(&self, (index, place): At, sets: &Locked<'_>) -> bool {
        sets.get(index).is_some_and(|set| self.store.is_waited_for(set, place))
    }

    /// A key gets another row.
    fn move_to(&self, row: u32, slot: &mut Slot) {
        self.rows.remove_user(slot.row);
        self.rows.add_user(row);
        slot.row = row;
        // It may owe for a shorter time now.
        self.store.flood.end();
    }

    /// The limits of a key with or without a slot; `None` is never seen, because the rules were
    /// asked when its slot does not tell, and their rows are always there.
    fn limits(&self, charge: &Charge, home: Option<&Slot>, arena: &Arena) -> Option<Limits<'_>> {
        let served = |home: &Slot| {
            let plan = self.rows.plan_for(home.row, self.wanted)?;
            (!is_done(self.rows, home, self.now, arena)).then_some((home.row, plan))
        };
        if let Some((row, plan)) = home.and_then(served) {
            return Some(Limits { row, plan, left: None });
        }
        let row = charge.row()?;
        let left = home.and_then(|home| self.rows.plan(home.row));
        Some(Limits { row, plan: self.rows.plan(row)?, left })
    }

    /// Judges the keys that share a state by the sum of what they cost.
    fn judge_shared(&self, all: &mut AllJudged, shared: &Locked<'_>, arena: &Arena) {
        for key in 0..self.charges.len() {
            let Some((index, cost)) = self.group(all, key) else { continue };
            let Some((plan, content)) = self.shared_state(key, index, shared) else { continue };
            let step = plan.decide(&content.state, cost, self.now, arena);
            let mut runs = step.ruling.runs;
            for (judged, charge) in all.iter_mut().zip(self.charges) {
                if judged.place == Place::Shared(index) {
                    let own = charge.row().and_then(|row| self.rows.plan(row));
                    let origin = own.map_or(step.decision.origin, |plan| plan.origin);
                    judged.decision = Decision { origin, ..step.decision };
                    // They are taken once for all.
                    judged.runs = core::mem::take(&mut runs);
                }
            }
        }
    }

    /// Gives shared states that were left by rows of replaced rules to those that have their places now.
    /// (Where the arena has no room for that, what is owed is forgotten: a state is never read by other
    /// limits than its own.)
    fn take_over_shared(&self, shared: &mut Locked<'_>, arena: &mut Arena) {
        for charge in self.charges {
            let named = charge.row().and_then(|row| Some((row, self.rows.get(row)?)));
            let Some((row, named)) = named else { continue };
            let Some(set) = shared.get_mut(named.shared) else { continue };
            let change = Change { row, plan: &named.plan, rows: self.rows, now: self.now };
            if change.carry_out(set, arena).is_err() {
                self.store.forget(set, 0, self.rows, arena);
            }
        }
    }

    /// The shared state that the key is the first to use, and what all who use it cost.
    fn group(&self, all: &AllJudged, key: usize) -> Option<(usize, u64)> {
        let place = all.get(key)?.place;
        let Place::Shared(index) = place else { return None };
        let is_first = all.iter().take(key).all(|judged| judged.place != place);
        let costs = all.iter().zip(self.charges).filter(|(judged, _)| judged.place == place);
        let sum = costs.fold(0_u64, |sum, (_, charge)| sum.saturating_add(charge.cost));
        is_first.then_some((index, sum))
    }

    fn shared_state(&self, key: usize, index: usize, shared: &Locked<'_>) -> Option<(&Plan, Slot)> {
        let row = self.charges.get(key)?.row()?;
        let fresh = Slot::new(0, row, self.now);
        Some((self.rows.plan(row)?, shared.get(index)?.read(0).unwrap_or(fresh)))
    }

    /// Denies the first key for which the arena has no run left.
    fn refuse_for_runs(&self, all: &mut AllJudged, mut room: usize) {
        for judged in all {
            match room.checked_sub(judged.runs) {
                Some(left) => room = left,
                None => {
                    let origin = judged.decision.origin;
                    let wait = self.rows.plan(origin.row).map_or(1, Plan::longest_period);
                    judged.decision = Decision::store_full(span(wait.into()), origin);
                    return;
                }
            }
        }
    }

    /// What all are told when one is denied. A key that its limits refuse keeps what its own denial
    /// would leave: the time of a stepped clock, and limits that are new to it, because its hint
    /// depends on them.
    fn deny(
        &self,
        all: &AllJudged,
        sets: &mut Locked<'_>,
        mut shared: Option<&mut Locked<'_>>,
        arena: &mut Arena,
    ) -> Decisions {
        let mut decisions = [Decision::UNLIMITED; MOST_KEYS];
        let keys = self.charges.iter().zip(all).zip(&mut decisions).enumerate();
        for (key, ((charge, judged), decision)) in keys {
            *decision = judged.decision;
            match (judged.place, judged.decision.denial) {
                // (Where others wait, that was done when those who were due were granted.)
                (Place::Home(at), Some(Denial::Limit))
                    if self.can_carry(charge, at, sets, arena) && !self.is_waited_for(at, sets) =>
                {
                    self.write(charge, at, sets, arena);
                }
                (Place::Shared(_), Some(Denial::Limit)) => {
                    if let (Some((index, cost)), Some(shared)) =
                        (self.group(all, key), shared.as_deref_mut())
                    {
                        self.write_shared(key, (index, cost), shared, arena);
                    }
                }
                (Place::Shared(index), None) => {
                    let state =
                        shared.as_deref().and_then(|shared| self.shared_state(key, index, shared));
                    if let Some((plan, content)) = state {
                        *decision = plan.decide(&content.state, 0, self.now, arena).decision;
                    }
                }
                (_, None) => *decision = self.judge(charge, 0, sets, arena).decision,
                (_, Some(_)) => {}
            }
        }
        let counters = &self.store.counters;
        let is_full = |judged: &Judged| judged.decision.denial == Some(Denial::StoreFull);
        let shares = |judged: &Judged| matches!(judged.place, Place::Shared(_)) && !is_full(judged);
        counters.shared.add(count(all, shares));
        counters.refused.add(count(all, is_full).min(1));
        decisions
    }

    /// Charges all keys.
    fn charge(
        &self,
        all: &AllJudged,
        sets: &mut Locked<'_>,
        mut shared: Option<&mut Locked<'_>>,
        arena: &mut Arena,
    ) -> Written {
        let decisions = all.map(|judged| judged.decision);
        let mut written = Written { decisions, runs: 0, is_new: [false; MOST_KEYS] };
        let keys = self.charges.iter().zip(all).zip(&mut written.is_new).enumerate();
        for (key, ((charge, judged), is_new)) in keys {
            written.runs += match judged.place {
                Place::Home(at) | Place::Free(at) if charge.cost > 0 => {
                    *is_new = matches!(judged.place, Place::Free(_));
                    self.write(charge, at, sets, arena)
                }
                Place::Shared(_) => match (self.group(all, key), shared.as_deref_mut()) {
                    (Some(group), Some(shared)) => self.write_shared(key, group, shared, arena),
                    _ => 0,
                },
                _ => 0,
            };
        }
        let shared = count(all, |judged| matches!(judged.place, Place::Shared(_)));
        self.store.counters.shared.add(shared);
        written
    }

    /// Whether the arena has room for the runs of logs that begin when the key gets its limits.
    fn can_carry(&self, charge: &Charge, at: At, sets: &Locked<'_>, arena: &Arena) -> bool {
        let home: Option<Slot> = sets.get(at.0).and_then(|set| set.read(at.1));
        let limits = self.limits(charge, home.as_ref(), arena);
        limits.is_some_and(|Limits { plan, left, .. }| {
            left.is_none_or(|left| plan.runs_to_carry(left) <= arena.room())
        })
    }

    /// Carries out what the key's limits say, in its own slot or in one that it takes now, and says
    /// how many runs it took.
    fn write(
        &self,
        charge: &Charge,
        (index, place): At,
        sets: &mut Locked<'_>,
        arena: &mut Arena,
    ) -> usize {
        let Charge { fingerprint, cost, .. } = *charge;
        let Some(set) = sets.get_mut(index) else { return 0 };
        let own: Option<Slot> =
            set.read(place).filter(|slot: &Slot| slot.fingerprint == fingerprint);
        let Some(Limits { row, plan, left }) = self.limits(charge, own.as_ref(), arena) else {
            return 0;
        };
        let beside = &self.store.beside;
        let mut slot = match (own, left) {
            (Some(own), None) => own,
            (Some(own), Some(left)) => {
                let mut slot = own;
                self.move_to(row, &mut slot);
                beside.carry((plan, left), &mut slot, self.now, arena);
                slot
            }
            (None, _) => {
                self.take(set, place, arena);
                self.rows.add_user(row);
                Slot::new(fingerprint, row, self.now)
            }
        };
        let ruling = plan.rule(&slot.state, cost, self.now, arena);
        beside.apply(plan, &mut slot, &ruling, arena, false);
        match own {
            Some(own) => self.store.note_step(own.state.last, slot.state.last),
            None => self.store.shorten_flood(plan, &slot.state, self.now, arena),
        }
        set.write(place, &slot);
        ruling.runs
    }

    /// Takes a slot for a new key, forgetting whom it held.
    fn take(&self, set: &mut Set<'_>, slot: usize, arena: &mut Arena) {
        let victim: Option<Slot> = set.read(slot);
        if let Some(Slot { row, state, .. }) = victim {
            let plan = self.rows.plan(row);
            let owed = plan.map_or(Owed::default(), |plan| plan.owed(&state, self.now, arena));
            self.store.empty(set, slot, self.rows, arena);
            self.store.count_victim(owed);
        }
        self.store.counters.occupied.add(1);
    }

    /// The same for the state that some keys share.
    fn write_shared(
        &self,
        key: usize,
        (index, cost): (usize, u64),
        shared: &mut Locked<'_>,
        arena: &mut Arena,
    ) -> usize {
        let Some((plan, mut content)) = self.shared_state(key, index, shared) else { return 0 };
        let Some(set) = shared.get_mut(index) else { return 0 };
        let ruling = plan.rule(&content.state, cost, self.now, arena);
        if ruling.is_written() {
            plan.apply(&mut content.state, &ruling, arena);
            if set.row(0).is_none() {
                self.rows.add_user(content.row);
            }
            set.write(0, &content);
        }
        ruling.runs
    }
}

fn is_denied(all: &AllJudged) -> bool {
    all.iter().any(|judged| judged.decision.is_denied())
}

/// Runs that are wanted for all keys; when one is denied, for those that are.
fn runs_wanted(all: &AllJudged) -> usize {
    let some_denied = is_denied(all);
    let wanting = all.iter().filter(|judged| !some_denied || judged.decision.is_denied());
    wanting.map(|judged| judged.runs).sum()
}

fn count(all: &AllJudged, is: impl Fn(&Judged) -> bool) -> u64 {
    u64::try_from(all.iter().filter(|judged| is(judged)).count()).unwrap_or(u64::MAX)
}

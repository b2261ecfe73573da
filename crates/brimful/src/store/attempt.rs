//! One try to decide for a key with both of its sets locked.

use super::beside::{Claim, Wait, Wakes};
use super::full::Full;
use super::{Aim, Overflow, Pair, Request, Set, Slot, Store, is_done};
use crate::algorithm::arena::Arena;
use crate::decision::{Decision, Origin};
use crate::rows::{Held, Rows};
use crate::step::{Look, Plan, Step};
use crate::time::{Nanos, span};

/// How far to go for a place: without force, only what is empty or as good as new is taken; with
/// force, [`Overflow`] has its say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    pub(super) force_slot: bool,
    pub(super) force_runs: bool,
}

/// What came of it.
#[allow(clippy::large_enum_variant, reason = "it is read where it was made, and a box is memory")]
pub(super) enum Attempt {
    /// Decided, and nothing was written.
    Decided(Decision),
    /// Decided and written, in a slot that the key had or that is new.
    Written { step: Step, is_new: bool },
    /// It would be admitted so, but both sets are full.
    NoSlot(Decision),
    /// It would be admitted, but the arena is full.
    NoRuns,
    /// The rules have to be asked first.
    Unresolved,
}

impl Attempt {
    fn without_runs(refused: Option<Decision>) -> Self {
        refused.map_or(Self::NoRuns, Self::Decided)
    }
}

/// What the key has, and what it is to have.
struct Home<'a> {
    slot: Slot,
    plan: &'a Plan,
    /// Whether the key was in a slot already.
    is_known: bool,
}

impl Store {
    /// Finds the key after all, or a place for it, and decides.
    pub(super) fn attempt<N: Fn() -> Nanos>(
        &self,
        row: Option<u32>,
        request: &Request<'_, N>,
        effort: Effort,
        wakes: &mut Wakes,
    ) -> Attempt {
        let attempt = self.attempt_locked(row, request, effort, wakes);
        self.tidy(core::mem::take(&mut wakes.runs), request);
        attempt
    }

    fn attempt_locked<N: Fn() -> Nanos>(
        &self,
        row: Option<u32>,
        request: &Request<'_, N>,
        effort: Effort,
        wakes: &mut Wakes,
    ) -> Attempt {
        let Request { fingerprint, cost, wanted, aim, .. } = *request;
        let look = request.peek || cost == 0;
        let mut pair = self.lock_pair(fingerprint);
        let rows = request.rows.hold();
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let full = Full { store: self, fingerprint, rows: &rows, now };

        let found: Option<Slot> = pair.find(fingerprint).and_then(|(set, slot)| set.read(slot));
        let old =
            found.filter(|slot| !rows.serves(slot.row, wanted) || is_done(&rows, slot, now, arena));
        let row = if old.is_none() { found.map(|slot| slot.row).or(row) } else { row };
        let Some(row) = row else { return Attempt::Unresolved };
        let Some(plan) = rows.plan(row) else {
            // Never seen: rows of the rules are always there, and the call has its own in use.
            return Attempt::Decided(Decision::BLOCKED);
        };
        let mut slot = match old {
            None => found.unwrap_or(Slot::new(fingerprint, row, now)),
            Some(old) if look => {
                if let Some(decision) = full.look_beside(old, plan, cost, arena) {
                    return Attempt::Decided(decision);
                }
                return full.look_with(&mut pair, old, plan, cost, effort, arena);
            }
            Some(_) => match full.carry(&mut pair, (row, plan), cost, effort, arena) {
                Ok(slot) => slot,
                Err(refused) => return Attempt::without_runs(refused),
            },
        };
        if slot.is_marked {
            let decided = match look {
                true => self.beside.look(&slot, cost, (plan, now, arena)),
                false => full.stand_back(&mut pair, &mut slot, plan, request, wakes, arena),
            };
            if let Some(decision) = decided {
                return Attempt::Decided(decision);
            }
        }
        let home = Home { slot, plan, is_known: found.is_some() };
        full.settle_in(&mut pair, home, (cost, look, aim), effort, (wakes, arena))
    }

    /// Decides against the state that all keys of the policy without a slot share.
    pub(super) fn share<N: Fn() -> Nanos>(&self, row: u32, request: &Request<'_, N>) -> Decision {
        let Some(mut set) = self.lock_shared(row, request.rows) else {
            return self.refuse(0, Origin::NONE, request.peek);
        };
        let rows = request.rows.hold();
        let Some(plan) = rows.plan(row) else {
            return self.refuse(0, Origin::NONE, request.peek);
        };
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let change = Change { row, plan, rows: &rows, now };
        if let Some((content, old)) = change.of(&set).filter(|_| request.peek) {
            let look = plan.look(old, &content.state, request.cost, now, arena);
            let wait = old.longest_period().max(plan.longest_period());
            return match look.runs > arena.room() {
                true => self.refuse(wait.into(), plan.origin, true),
                false => look.step.decision,
            };
        }
        if let Err(wait) = change.carry_out(&mut set, arena) {
            return self.refuse(wait.into(), plan.origin, request.peek);
        }
        let content = set.read(0);
        let is_new = content.is_none();
        let mut content = content.unwrap_or(Slot::new(0, row, now));
        let cost = request.aim.cost(request.cost, plan, &content.state, now, arena);
        let step = plan.decide(&content.state, cost, now, arena);
        if step.ruling.runs > arena.room() {
            let wait = plan.full_after(&content.state, now, arena);
            return self.refuse(wait.max(plan.longest_period().into()), plan.origin, request.peek);
        }
        if !request.peek {
            plan.apply(&mut content.state, &step.ruling, arena);
            set.write(0, &content);
            if is_new {
                rows.add_user(row);
            }
            self.counters.shared.add(1);
        }
        step.decision
    }

    /// Whether the shared state of the row owes anything.
    pub(super) fn shared_owes<N: Fn() -> Nanos>(&self, row: u32, request: &Request<'_, N>) -> bool {
        let Some(set) = self.lock_shared(row, request.rows) else { return false };
        let rows = request.rows.hold();
        let now = (request.now)();
        !self.is_free(&set, 0, &rows, now, self.runs().get())
    }

    fn lock_shared(&self, row: u32, rows: &Rows) -> Option<Set<'_>> {
        let index = rows.hold().get(row)?.shared;
        let shared = self.shared.as_ref().filter(|sets| index < sets.count());
        shared.map(|sets| sets.lock(index))
    }

    pub(super) fn refuse(&self, wait: u128, origin: Origin, look: bool) -> Decision {
        if !look {
            self.counters.refused.add(1);
        }
        // A denial's hint is at least 1 ns.
        Decision::store_full(span(wait.max(1)), origin)
    }
}

/// A shared state that was left by the row of replaced rules goes over to the row that has its place now.
pub(super) struct Change<'a> {
    pub(super) row: u32,
    pub(super) plan: &'a Plan,
    pub(super) rows: &'a Held<'a>,
    pub(super) now: Nanos,
}

impl<'a> Change<'a> {
    /// What is left there, if it is by another row.
    pub(super) fn of(&self, set: &Set<'_>) -> Option<(Slot, &'a Plan)> {
        let content: Slot = set.read(0)?;
        let old = self.rows.plan(content.row).filter(|_| content.row != self.row)?;
        Some((content, old))
    }

    /// Writes what is owed by the new limits; an error says how long to wait, in nanoseconds, when the
    /// arena has no room for that.
    pub(super) fn carry_out(&self, set: &mut Set<'_>, arena: &mut Arena) -> Result<(), u64> {
        let Some((content, old)) = self.of(set) else { return Ok(()) };
        if self.plan.runs_to_carry(old) > arena.room() {
            return Err(old.longest_period().max(self.plan.longest_period()));
        }
        let state = self.plan.carry(old, &content.state, self.now, arena);
        set.write(0, &Slot { row: self.row, state, ..content });
        self.rows.remove_user(content.row);
        self.rows.add_user(self.row);
        Ok(())
    }
}

impl Full<'_> {
    /// Gives the key the limits of another row, and writes what it owes there to its slot. The runs for
    /// that are found together with those of the charge, so that it waits for as many as a look says.
    fn carry(
        &self,
        pair: &mut Pair<'_>,
        (row, plan): (u32, &Plan),
        cost: u64,
        effort: Effort,
        arena: &mut Arena,
    ) -> Result<Slot, Option<Decision>> {
        let own = |pair: &mut Pair<'_>| {
            let (set, slot) = pair.find(self.fingerprint)?;
            let content = set.read(slot)?;
            Some((content, self.rows.plan(content.row)?))
        };
        let fresh = Slot::new(self.fingerprint, row, self.now);
        let Some((content, old)) = own(pair) else { return Ok(fresh) };
        let mut look = plan.look(old, &content.state, cost, self.now, arena);
        if look.runs > arena.room() {
            self.trim(pair, arena);
            let Some((content, old)) = own(pair) else { return Ok(fresh) };
            look = plan.look(old, &content.state, cost, self.now, arena);
        }
        if effort.force_runs && look.is_denied_without(arena) {
            return Err(Some(self.deny_without_runs(pair, &look, plan, false, arena)));
        }
        self.find_runs(pair, look.runs, plan, effort, false, arena)?;
        let Some((content, old)) = own(pair) else { return Ok(fresh) };
        let mut slot = Slot { row, ..content };
        self.store.beside.carry((plan, old), &mut slot, self.now, arena);
        if let Some((set, place)) = pair.find(self.fingerprint) {
            set.write(place, &slot);
            self.rows.remove_user(content.row);
            self.rows.add_user(row);
            // It may owe for a shorter time now.
            self.store.flood.end();
        }
        Ok(slot)
    }

    /// A denial takes no runs from others to be remembered: the key stays under its old limits, and is
    /// told to wait for runs and for its limits, or that it waits in vain.
    fn deny_without_runs(
        &self,
        pair: &Pair<'_>,
        look: &Look,
        plan: &Plan,
        peek: bool,
        arena: &Arena,
    ) -> Decision {
        let Some(own) = look.step.decision.retry_after() else { return look.step.decision };
        let missing = look.runs.saturating_sub(arena.room());
        let wait = self.wait_for_runs(pair, missing, arena);
        let wait = wait.unwrap_or(plan.longest_period().into());
        self.store.refuse(wait.max(own.as_nanos()), plan.origin, peek)
    }

    /// What the key would be told under the limits of another row, if others wait for it: a copy of what it
    /// owes and of its logs is carried over.
    fn look_beside(
        &self,
        mut slot: Slot,
        plan: &Plan,
        cost: u64,
        arena: &Arena,
    ) -> Option<Decision> {
        if !slot.is_marked {
            return None;
        }
        let old = self.rows.plan(slot.row)?;
        let (copy, mut own) = old.copied(&slot.state, plan.runs_to_carry(old), arena)?;
        slot.state = plan.carry(old, &copy, self.now, &mut own);
        self.store.beside.look(&slot, cost, (plan, self.now, &mut own))
    }

    /// What the key would be told under the limits of another row.
    fn look_with(
        &self,
        pair: &mut Pair<'_>,
        mut old: Slot,
        plan: &Plan,
        cost: u64,
        effort: Effort,
        arena: &mut Arena,
    ) -> Attempt {
        let Some(limits) = self.rows.plan(old.row) else {
            return Attempt::Decided(Decision::BLOCKED);
        };
        let mut look = plan.look(limits, &old.state, cost, self.now, arena);
        if look.runs > arena.room() {
            self.trim(pair, arena);
            old = pair.find(self.fingerprint).and_then(|(set, slot)| set.read(slot)).unwrap_or(old);
            look = plan.look(limits, &old.state, cost, self.now, arena);
        }
        if effort.force_runs && look.is_denied_without(arena) {
            let denied = self.deny_without_runs(pair, &look, plan, true, arena);
            return Attempt::Decided(denied);
        }
        match self.find_runs(pair, look.runs, plan, effort, true, arena) {
            Ok(()) => Attempt::Decided(look.step.decision),
            Err(refused) => Attempt::without_runs(refused),
        }
    }

    /// Grants those who wait for the key and are due, and says what the call is told while others still
    /// wait; `None` when nobody does any more.
    fn stand_back<N>(
        &self,
        pair: &mut Pair<'_>,
        slot: &mut Slot,
        plan: &Plan,
        request: &Request<'_, N>,
        wakes: &mut Wakes,
        arena: &mut Arena,
    ) -> Option<Decision> {
        let cost = request.cost;
        let before = slot.state.last;
        let scene = (plan, self.now, arena);
        let decided = self.store.beside.visit(slot, scene, wakes, |visit| {
            if matches!(request.aim, Aim::UpTo(_) | Aim::Touch(_)) {
                // It is spent already, or asks for nothing.
                visit.grant();
                return None;
            }
            let denied = visit.deny(cost)?;
            match request.aim {
                Aim::Wait(wait) => {
                    Some(visit.line_up(cost, wait).unwrap_or_else(|refused| refused))
                }
                _ => Some(denied),
            }
        });
        if let Some((set, place)) = pair.find(self.fingerprint) {
            set.write(place, slot);
            self.store.note_step(before, slot.state.last);
        }
        decided
    }

    /// Puts a call that its limits deny for now in line, and says what it is told: that it waits, or why not.
    fn line_up(
        &self,
        pair: &mut Pair<'_>,
        home: &mut Home<'_>,
        (cost, wait): (u64, &Wait),
        wakes: &mut Wakes,
        arena: &mut Arena,
    ) -> Option<Decision> {
        let (set, place) = pair.find(self.fingerprint)?;
        let before = home.slot.state.last;
        let scene = (home.plan, self.now, arena);
        let beside = &self.store.beside;
        let result = beside.visit(&mut home.slot, scene, wakes, |visit| visit.line_up(cost, wait));
        set.write(place, &home.slot);
        self.store.note_step(before, home.slot.state.last);
        Some(result.unwrap_or_else(|refused| refused))
    }

    /// Decides for a key by the limits that it has now, and finds what it takes to remember that.
    fn settle_in(
        &self,
        pair: &mut Pair<'_>,
        mut home: Home<'_>,
        (mut cost, mut look, aim): (u64, bool, Aim<'_>),
        effort: Effort,
        (wakes, arena): (&mut Wakes, &mut Arena),
    ) -> Attempt {
        if let Aim::Touch(is_there) = aim {
            is_there.set(true);
            return Attempt::Decided(Decision::UNLIMITED);
        }
        cost = aim.cost(cost, home.plan, &home.slot.state, self.now, arena);
        let mut step = home.plan.decide(&home.slot.state, cost, self.now, arena);
        if let Aim::Wait(wait) = aim
            && step.decision.is_denied()
        {
            let told = self.line_up(pair, &mut home, (cost, wait), wakes, arena);
            return Attempt::Decided(told.unwrap_or(step.decision));
        }
        let Home { slot: mut home, plan, is_known } = home;
        look |= cost == 0;
        if !is_known && !step.ruling.is_written() {
            // Looks and denials never take a slot.
            return Attempt::Decided(step.decision);
        }
        let wants_receipt = matches!(aim, Aim::Reserve(_)) && !look && step.decision.is_allowed();
        let claim = if wants_receipt { self.store.beside.claim_receipt() } else { None };
        let lacks_receipt = wants_receipt && claim.is_none() && !plan.is_trial_only();
        if lacks_receipt && self.store.overflow == Overflow::Evict {
            // Before anybody is forgotten for it.
            return Attempt::Decided(self.refuse_receipt(plan));
        }
        if step.ruling.runs > arena.room() {
            self.trim(pair, arena);
            let trimmed = pair.find(self.fingerprint).and_then(|(set, slot)| set.read(slot));
            home = trimmed.filter(|trimmed| trimmed.row == home.row).unwrap_or(home);
            step = plan.decide(&home.state, cost, self.now, arena);
        }
        if let Err(refused) = self.find_runs(pair, step.ruling.runs, plan, effort, look, arena) {
            return Attempt::without_runs(refused);
        }
        let mut place = pair.find(self.fingerprint).map(|(set, slot)| (set.index(), slot));
        if place.is_none() {
            place = self.place(pair, plan, arena);
        }
        if place.is_none() {
            if plan.is_trial_only() {
                // Nobody is refused, and nobody forgotten, for what is on trial.
                return Attempt::Decided(step.decision);
            }
            if !effort.force_slot {
                return Attempt::NoSlot(step.decision);
            }
            match self.overflow(pair, &step, look, arena) {
                Ok(freed) => place = freed,
                Err(Some(refused)) => return Attempt::Decided(refused),
                Err(None) => return Attempt::NoSlot(step.decision),
            }
        }
        if look {
            return Attempt::Decided(step.decision);
        }
        if lacks_receipt {
            return Attempt::Decided(self.refuse_receipt(plan));
        }
        let with_receipt = claim.map(Claim::pass_on).is_some();
        let id = self.store.beside.apply(plan, &mut home, &step.ruling, arena, with_receipt);
        if let Aim::Reserve(receipt) = aim {
            receipt.set(id);
        }
        self.put(pair, place, &home, arena);
        Attempt::Written { step, is_new: !is_known }
    }

    /// There are as many receipts as there may be. In the time that it says, all that is owed now is paid, and
    /// receipts for it are worth nothing.
    fn refuse_receipt(&self, plan: &Plan) -> Decision {
        self.store.refuse(plan.longest_period().into(), plan.origin, false)
    }
}

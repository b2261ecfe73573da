//! One key with its slot locked, and what is beside it: what can be done to both at once.

use std::task::Waker;

use super::beside::{Beside, Bounds, Progress, Told, Wait};
use super::line::{Line, NoRuns, Scene};
use crate::decision::{Decision, Denial, Retry};
use crate::step::{Receipts, State};
use crate::time::{Nanos, span};

/// One who waits, and asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) id: u64,
    /// It does not wait longer than until then.
    pub(crate) until: Nanos,
    /// Whether what it was told before may not hold any more.
    pub(crate) is_anew: bool,
}

/// A key in a slot with what is beside it, everything locked.
pub(super) struct Visit<'a, 't> {
    pub(super) beside: &'a Beside,
    pub(super) scene: Scene<'a>,
    pub(super) receipts: &'a mut Receipts,
    pub(super) line: &'a mut Line,
    pub(super) told: &'a mut Told<'t>,
}

impl Visit<'_, '_> {
    /// Charges those who are due.
    pub(super) fn grant(&mut self) {
        // For want of log entries the first waits on, until one of the queue asks.
        let _ = self.grant_or(false);
    }

    fn grant_or(&mut self, refuse_without_runs: bool) -> Result<(), NoRuns> {
        let Self { scene, receipts, line, told, .. } = self;
        line.grant(scene, receipts, told, refuse_without_runs)
    }

    /// What a call that does not wait is told when others do.
    pub(super) fn deny(&mut self, cost: u64) -> Option<Decision> {
        self.grant();
        (!self.line.is_empty()).then(|| self.line.deny(&self.scene, cost))
    }

    /// Puts a call at the end of the queue that is not admitted now, and says why it has to wait; an error is the
    /// refusal.
    pub(super) fn line_up(&mut self, cost: u64, wait: &Wait) -> Result<Decision, Decision> {
        let Self { beside, scene, receipts, line, told } = self;
        let denied = match line.is_empty() {
            true => {
                let step = scene.plan.decide(scene.state, cost, scene.now, scene.arena);
                if step.decision.is_denied() {
                    // A clock that was stepped back counts from a denial on, also from a refusal.
                    scene.plan.apply_with(scene.state, &step.ruling, scene.arena, receipts, None);
                }
                step.decision
            }
            false => line.deny(scene, cost),
        };
        if beside.is_closed() {
            return Err(Decision { origin: denied.origin, ..Decision::CLOSED });
        }
        let Retry::After(after) = denied.retry else { return Err(denied) };
        let Bounds { waiters_per_key, wait: longest, .. } = beside.bounds;
        if after.as_nanos() > wait.within.min(longest) {
            return Err(denied);
        }
        let is_room = u64::try_from(line.len()).is_ok_and(|len| len < waiters_per_key);
        if !is_room || !beside.claim_waiter(told) {
            let first = line.first_due(scene).map_or(after, |due| due.since(scene.now));
            let retry = Retry::After(first.max(span(1)));
            let denial = Some(Denial::QueueFull);
            return Err(Decision { retry, denial, refused_by: 0, ..denied });
        }
        let id = beside.number();
        let due = scene.now + after;
        line.push(scene, id, cost, due);
        wait.place.set(Some((id, due)));
        Ok(denied)
    }

    /// What became of one who waits. Those who are due and find no log entries may be refused.
    pub(super) fn poll(
        &mut self,
        Asking { id, until, is_anew }: Asking,
        waker: &mut Option<Waker>,
        refuse_without_runs: bool,
    ) -> Result<Progress, NoRuns> {
        if let Some(decision) = self.take(id) {
            return Ok(Progress::Told(decision));
        }
        // Who asks need not be woken to hear of it.
        self.told.drop_later(self.line.disarm(id));
        let granted = self.grant_or(refuse_without_runs);
        if let Some(decision) = self.take(id) {
            return Ok(Progress::Told(decision));
        }
        // Whoever asks looks for log entries for the first: otherwise it would ask again and again until that does.
        granted?;
        let Some(due) = self.line.arm(&self.scene, id, is_anew, waker) else {
            return Ok(Progress::Told(Decision::CLOSED));
        };
        if due <= until {
            return Ok(Progress::Waits(due));
        }
        let retry = Retry::After(due.since(self.scene.now).max(span(1)));
        let denied = Decision { retry, ..self.line.deny(&self.scene, 1) };
        let told = match self.line.first(&self.scene, id) {
            Some(Decision { limit, refused_by, .. }) => {
                Decision { denial: Some(Denial::Limit), limit, refused_by, ..denied }
            }
            None => Decision { denial: Some(Denial::Queued), ..denied },
        };
        self.told.drop_later(self.line.leave(id));
        Ok(Progress::Told(told))
    }

    /// Lets one who waits go, with what it was granted.
    pub(super) fn leave(&mut self, id: u64) {
        self.told.drop_later(self.line.leave(id));
        if self.told.take(id).is_some_and(|told| told.is_allowed()) {
            self.settle(id, 0);
        }
    }

    /// Leaves only `actual` charged of what a receipt is for, and says how much is given back.
    pub(super) fn settle(&mut self, id: u64, actual: u64) -> u64 {
        let Scene { plan, state, now, arena } = &mut self.scene;
        self.line.forget_end();
        plan.settle_receipt(state, id, actual, *now, arena, self.receipts)
    }

    pub(super) fn refund(&mut self, tokens: u64) -> u64 {
        let Scene { plan, state, now, arena } = &mut self.scene;
        self.line.forget_end();
        plan.refund_with(state, tokens, *now, arena, self.receipts)
    }

    /// Forgets what the key has spent.
    pub(super) fn reset(&mut self) {
        let Scene { plan, state, now, arena } = &mut self.scene;
        self.line.forget_end();
        self.receipts.clear();
        plan.release(state, arena);
        **state = State::new(*now);
    }

    /// What one who waits was told, and what it was granted is spent.
    fn take(&mut self, id: u64) -> Option<Decision> {
        let decision = self.told.take(id)?;
        self.receipts.keep(id);
        Some(decision)
    }
}

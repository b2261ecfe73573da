//! Those who wait for the tokens of one key, in the order in which they came.
//!
//! Nothing here waits, and nothing has to come by at any time: as a bucket is refilled when it is next
//! looked at, so whoever has the key's set locked first grants what has become due ([`Line::grant`]).
//! It is always those at the head who are granted, and while anybody waits nobody else is charged, so that
//! it is known when each will be.
//!
//! A waiter comes by itself at that time ([`Waiter::rings_at`]). It is woken before only when it was granted
//! or refused by somebody else, or when it stands at the head and would come too late, because others gave up
//! or tokens were given back, or to look for log entries. (Those behind it are not woken then: each learns it
//! when it gets there.)

use std::collections::VecDeque;
use std::task::Waker;

use super::beside::Told;
use crate::algorithm::arena::Arena;
use crate::decision::{Decision, Denial, Retry};
use crate::step::{Plan, Receipts, State};
use crate::time::{Nanos, span};

/// A key's limits and its state, with its set locked.
pub(super) struct Scene<'a> {
    pub(super) plan: &'a Plan,
    pub(super) state: &'a mut State,
    pub(super) now: Nanos,
    pub(super) arena: &'a mut Arena,
}

/// Those who wait, the first one first. Their numbers grow.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiters: VecDeque<Waiter>,
    /// How it will be after all of them; `None` when that is to be worked out again.
    end: Option<Box<End>>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    cost: u64,
    /// When it will ask again by itself.
    rings_at: Nanos,
    waker: Option<Waker>,
}

/// What the state will be once all who wait are granted, if nobody gives up.
#[derive(Debug)]
struct End {
    /// The last change of the state from which it was worked out.
    from: Nanos,
    /// When the last of them is granted.
    at: Nanos,
    /// What the first waits for that is not due yet.
    limit: Option<u8>,
    state: State,
    /// Of its logs.
    arena: Arena,
}

/// There are no log entries for the first in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRuns;

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Something has changed by which others may be granted sooner or later.
    pub(super) fn forget_end(&mut self) {
        self.end = None;
    }

    /// Charges those who are due, in their order. Those who can never be granted are refused; so are those for
    /// whom there are no log entries, if that is wanted.
    pub(super) fn grant(
        &mut self,
        scene: &mut Scene<'_>,
        receipts: &mut Receipts,
        told: &mut Told<'_>,
        refuse_without_runs: bool,
    ) -> Result<(), NoRuns> {
        while let Some(first) = self.waiters.front_mut() {
            let Scene { plan, state, now, arena } = scene;
            let step = plan.decide(state, first.cost, *now, arena);
            let (id, mut decision) = (first.id, step.decision);
            match decision.retry {
                Retry::Now if step.ruling.runs > arena.room() => {
                    if !refuse_without_runs {
                        // Whoever asks in the queue looks for some elsewhere; who is called does not.
                        if first.rings_at > *now {
                            first.rings_at = *now;
                            told.wake(first.waker.take());
                        }
                        return Err(NoRuns);
                    }
                    let wait = span(plan.longest_period().into());
                    decision = Decision::store_full(wait, plan.origin);
                }
                Retry::Now => {
                    plan.apply_with(state, &step.ruling, arena, receipts, Some(id));
                    // Granted at another time than it was due, it can put the others off.
                    self.end = None;
                }
                Retry::Never => {}
                Retry::After(wait) => {
                    if step.ruling.is_written() {
                        // The time of a clock that was stepped back.
                        plan.apply_with(state, &step.ruling, arena, receipts, None);
                        self.end = None;
                    }
                    let due = *now + wait;
                    if first.rings_at > due {
                        first.rings_at = due;
                        told.wake(first.waker.take());
                    }
                    break;
                }
            }
            told.tell(id, decision, first.waker.take());
            self.waiters.pop_front();
        }
        if self.waiters.is_empty() {
            // Nothing is kept for a key without any.
            self.waiters = VecDeque::new();
            self.end = None;
        }
        Ok(())
    }

    /// What a newcomer is told who does not wait.
    pub(super) fn deny(&mut self, scene: &Scene<'_>, cost: u64) -> Decision {
        match self.end(scene) {
            Some(end) => end.say(scene.plan, cost, scene.now),
            None => without_memory(scene.plan),
        }
    }

    /// What a look is told, and a call that would change nothing: as after those who are due now were
    /// granted.
    pub(super) fn look(&self, scene: &Scene<'_>, cost: u64) -> Decision {
        let Scene { plan, now, .. } = scene;
        match self.forecast(scene, self.waiters.len()) {
            Some(end) if end.at > *now => end.say(plan, cost, *now),
            Some(end) => plan.decide(&end.state, cost, *now, &end.arena).decision,
            None => without_memory(plan),
        }
    }

    /// As [`deny`](Self::deny), with nothing kept for the next.
    pub(super) fn denial(&self, scene: &Scene<'_>, cost: u64) -> Decision {
        match self.forecast(scene, self.waiters.len()) {
            Some(end) => end.say(scene.plan, cost, scene.now),
            None => without_memory(scene.plan),
        }
    }

    /// Puts a newcomer at the end, who is told to come after `wait`.
    pub(super) fn push(&mut self, scene: &Scene<'_>, id: u64, cost: u64, rings_at: Nanos) {
        self.waiters.push_back(Waiter { id, cost, rings_at, waker: None });
        let plan = scene.plan;
        let is_added =
            self.end.as_mut().is_some_and(|end| end.has_room(plan) && end.add(plan, cost));
        if !is_added {
            self.end = None;
        }
    }

    /// When a waiter is to come again, unless its waker is called before; `None` when it does not wait here.
    /// That is as it was told before, unless the time has come or it is to be told anew. The waker is exchanged
    /// for the one that it had: none is dropped under a lock, where its task may go with it.
    pub(super) fn arm(
        &mut self,
        scene: &Scene<'_>,
        id: u64,
        is_anew: bool,
        waker: &mut Option<Waker>,
    ) -> Option<Nanos> {
        let place = self.place(id)?;
        let mut rings_at = self.waiters.get(place)?.rings_at;
        if is_anew || rings_at <= scene.now {
            // It came as it was told, and those before it were late; or its limits are others.
            let due = self.forecast(scene, place + 1).map_or(scene.now, |end| end.at);
            rings_at = due.max(scene.now.plus_nanos(1));
        }
        let waiter = self.waiters.get_mut(place)?;
        waiter.rings_at = rings_at;
        std::mem::swap(&mut waiter.waker, waker);
        Some(rings_at)
    }

    /// Takes the waker of a waiter.
    pub(super) fn disarm(&mut self, id: u64) -> Option<Waker> {
        let place = self.place(id)?;
        self.waiters.get_mut(place)?.waker.take()
    }

    /// Lets a waiter go, if it waits here, and hands out its waker.
    pub(super) fn leave(&mut self, id: u64) -> Option<Waker> {
        let waiter = self.waiters.remove(self.place(id)?)?;
        self.end = None;
        waiter.waker
    }

    /// Takes the wakers of all.
    pub(super) fn wakers(&mut self) -> impl Iterator<Item = Waker> {
        self.waiters.iter_mut().filter_map(|waiter| waiter.waker.take())
    }

    /// Lets all go.
    pub(super) fn close(&mut self, told: &mut Told<'_>) {
        for mut waiter in std::mem::take(&mut self.waiters) {
            told.tell(waiter.id, Decision::CLOSED, waiter.waker.take());
        }
        self.end = None;
    }

    /// When the first is granted.
    pub(super) fn first_due(&self, scene: &Scene<'_>) -> Option<Nanos> {
        let first = self.waiters.front()?;
        Some(scene.now + first.alone(scene).retry_after()?)
    }

    /// What its limits say to that one, if it is the first, so that nobody else is in its way.
    pub(super) fn first(&self, scene: &Scene<'_>, id: u64) -> Option<Decision> {
        let first = self.waiters.front().filter(|first| first.id == id)?;
        Some(first.alone(scene))
    }

    fn place(&self, id: u64) -> Option<usize> {
        self.waiters.binary_search_by_key(&id, |waiter| waiter.id).ok()
    }

    fn end(&mut self, scene: &Scene<'_>) -> Option<&End> {
        let is_known = self.end.as_ref().is_some_and(|end| end.from == scene.state.last);
        if !is_known {
            self.end = self.forecast(scene, self.waiters.len()).map(Box::new);
        }
        self.end.as_deref()
    }

    /// How it will be after so many of the first; `None` when there is not enough memory for their logs.
    fn forecast(&self, scene: &Scene<'_>, count: usize) -> Option<End> {
        let Scene { plan, state, now, arena } = scene;
        let (copy, own) = match plan.has_log() {
            true => {
                // With room for as many more, so that a long queue is not gone through for each of them.
                let more = count.saturating_mul(2).saturating_add(8);
                plan.copied(state, plan.logs().saturating_mul(more), arena)?
            }
            false => (**state, Arena::empty()),
        };
        let mut end = End { from: state.last, at: *now, limit: None, state: copy, arena: own };
        for waiter in self.waiters.iter().take(count) {
            end.add(plan, waiter.cost);
        }
        Some(end)
    }
}

/// There is not enough memory to tell when.
fn without_memory(plan: &Plan) -> Decision {
    Decision::store_full(span(plan.longest_period().max(1).into()), plan.origin)
}

impl Waiter {
    /// What its limits say, as if nobody else waited.
    fn alone(&self, Scene { plan, state, now, arena }: &Scene<'_>) -> Decision {
        plan.decide(state, self.cost, *now, arena).decision
    }
}

impl End {
    /// Whether one more can be added, whatever it costs.
    fn has_room(&self, plan: &Plan) -> bool {
        plan.logs() <= self.arena.room()
    }

    /// Grants one more, at the time at which it is due; false when it never is.
    fn add(&mut self, plan: &Plan, cost: u64) -> bool {
        // A clock that was stepped back counts from the first denial on; then the wait is exact.
        for _ in 0..2 {
            let ruling = plan.rule(&self.state, cost, self.at, &self.arena);
            // Said of the state as it is before.
            let denied = match ruling.is_admitted() {
                true => None,
                false => Some(plan.decision(&ruling, cost, &self.arena)),
            };
            if ruling.is_written() && ruling.runs <= self.arena.room() {
                plan.apply(&mut self.state, &ruling, &mut self.arena);
            }
            let Some(denied) = denied else { return true };
            let Some(wait) = denied.retry_after() else { return false };
            self.at = self.at + wait;
            self.limit = self.limit.or(denied.limit);
        }
        false
    }

    /// What one more is told at `now`.
    fn say(&self, plan: &Plan, cost: u64, now: Nanos) -> Decision {
        let ruling = plan.rule(&self.state, cost, self.at, &self.arena);
        // What is left then is told without its own cost, which is not charged.
        let left = match ruling.is_admitted() {
            true => plan.decide(&self.state, 0, self.at, &self.arena).decision,
            false => plan.decision(&ruling, cost, &self.arena),
        };
        let Decision { retry, limit: own, refused_by, .. } = left;
        let before = self.at.since(now);
        let before_ns = self.at.nanos_since(now);
        let decision = Decision {
            retry,
            // Those who wait have a claim to all of them.
            remaining: 0,
            reset_after: left.reset_after.saturating_add(before),
            // What they leave can be spent as soon as the last of them is granted.
            next_after_ns: match left.remaining {
                0 => left.next_after_ns.saturating_add(before_ns),
                _ => before_ns,
            },
            // It is they who are in its way.
            refused_by: 0,
            limit: if retry == Retry::Now { self.limit } else { own },
            denial: Some(Denial::Queued),
            would_deny: false,
            origin: plan.origin,
        };
        match retry {
            _ if cost == 0 => Decision { retry: Retry::Now, denial: None, ..decision },
            Retry::Never => Decision { denial: Some(Denial::Limit), refused_by, ..decision },
            Retry::Now => Decision { retry: Retry::After(before.max(span(1))), ..decision },
            Retry::After(wait) => {
                Decision { retry: Retry::After(wait.saturating_add(before)), ..decision }
            }
        }
    }
}

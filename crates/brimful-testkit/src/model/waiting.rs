//! One key with reservations, and with those who wait for it.
//!
//! All that was ever charged, given back and learnt about the clock is kept in the order in which it
//! happened, and the state is what that comes to when it happens again from the beginning. To settle
//! a reservation is to write another cost into that history. Those who wait are a list; when one of
//! them is due is found by granting all before it, each at its time.
//!
//! What was refunded while reservations are open is history too: it happens again after one of them
//! was settled, to what is left then. For windows and logs that says more than is promised (which
//! tokens a refund took is not known later), so refund those only without open reservations.

use brimful::{Denial, Nanos, Policy};
use num_bigint::BigInt;

use super::bucket::Rational;
use super::change::{Counted, Spent};
use super::{Model, Rule};
use crate::Outcome;

/// What a call is told, and why it is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The figures.
    pub outcome: Outcome,
    /// As [`brimful::Decision::denial`].
    pub denial: Option<Denial>,
}

/// What came of a call that wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It need not.
    Granted(Answer),
    /// It waits: its number, and when it is due.
    Waiting(u64, Nanos),
    /// It would have to wait too long, or for ever, or there is no place in the queue.
    Refused(Answer),
}

/// How it stands with one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// It was granted, and told so.
    Granted(Answer),
    /// It would be too late: when it could be granted, and whether others stand before it.
    Refused(u128, Denial),
    /// It is to ask again after so many nanoseconds.
    Waiting(u64),
}

/// One key.
#[derive(Clone, Debug)]
pub struct WaitingModel {
    policy: Policy,
    history: Vec<Event>,
    /// What the history comes to.
    state: Model,
    waiters: Vec<Waiter>,
    /// Those who were granted, and do not know it yet.
    granted: Vec<(u64, Answer)>,
    next: u64,
    /// How many may wait.
    places: usize,
    /// The longest that one may have to wait, in nanoseconds.
    longest: u128,
    /// Whose waker was called, in this order.
    woken: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Admitted. With an id while it can still be settled.
    Charge {
        id: Option<u64>,
        cost: u64,
        reading: Nanos,
    },
    Refund {
        tokens: u64,
        reading: Nanos,
    },
    /// Changed in some other way, which counts as the last change.
    Touch {
        reading: Nanos,
    },
    /// Nothing, but the clock was seen to be stepped.
    Step {
        reading: Nanos,
    },
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    id: u64,
    cost: u64,
    until: Nanos,
    /// When it will ask again by itself.
    comes: Nanos,
    /// Whether it can be woken.
    is_armed: bool,
}

impl WaitingModel {
    /// A key that was never seen, for which so many may wait, and each at most so many nanoseconds.
    #[must_use]
    pub fn new(policy: &Policy, places: usize, longest: u128) -> Self {
        Self {
            policy: policy.clone(),
            history: Vec::new(),
            state: Model::new(policy),
            waiters: Vec::new(),
            granted: Vec::new(),
            next: 0,
            places,
            longest,
            woken: Vec::new(),
        }
    }

    /// Spends `cost` if it is admitted and nobody waits.
    pub fn acquire(&mut self, cost: u64, now: Nanos) -> Answer {
        self.call(cost, now, false).0
    }

    /// What [`acquire`](Self::acquire) would answer.
    #[must_use]
    pub fn peek(&self, cost: u64, now: Nanos) -> Answer {
        self.clone().call(cost, now, false).0
    }

    /// As [`acquire`](Self::acquire), with a number by which it can be settled.
    pub fn reserve(&mut self, cost: u64, now: Nanos) -> (Answer, Option<u64>) {
        self.call(cost, now, true)
    }

    /// Leaves `actual` of a reservation of `cost` charged: how many tokens were given back, and how many
    /// were not there.
    pub fn commit(&mut self, id: Option<u64>, cost: u64, actual: u64, now: Nanos) -> (u64, u64) {
        let mut given = 0;
        if let Some(id) = id {
            if actual < cost {
                given = self.settle(id, actual, now);
                self.grant(now);
            } else {
                self.close(id);
            }
        }
        let more = actual.saturating_sub(cost);
        if more == 0 {
            return (given, 0);
        }
        self.grant(now);
        let charged = more.min(self.state.peek(0, now).remaining);
        if charged > 0 {
            self.happen(Event::Charge { id: None, cost: charged, reading: now });
        }
        (given, more - charged)
    }

    /// Spends `cost`, or waits for it.
    pub fn enqueue(&mut self, cost: u64, within: Option<u128>, now: Nanos) -> Enqueued {
        let (answer, _) = self.call(cost, now, false);
        if answer.outcome.allowed {
            return Enqueued::Granted(answer);
        }
        let Some(wait) = answer.outcome.retry else { return Enqueued::Refused(answer) };
        if wait > within.unwrap_or(u128::MAX).min(self.longest) {
            return Enqueued::Refused(answer);
        }
        if self.waiters.len() >= self.places {
            let first = self.dues(now).first().map_or(wait, |due| after(*due, now));
            let outcome = Outcome { retry: Some(first), refused_by: 0, ..answer.outcome };
            return Enqueued::Refused(Answer { outcome, denial: Some(Denial::QueueFull) });
        }
        let (id, due) = (self.number(), later(now, wait));
        let until = within.map_or(Nanos::MAX, |within| later(now, within));
        self.waiters.push(Waiter { id, cost, until, comes: due, is_armed: false });
        Enqueued::Waiting(id, due)
    }

    /// What became of one who waits, with a waker.
    pub fn poll(&mut self, id: u64, now: Nanos) -> Polled {
        // Who asks need not be woken to hear of it.
        self.waiters
            .iter_mut()
            .filter(|waiter| waiter.id == id)
            .for_each(|waiter| waiter.is_armed = false);
        self.grant(now);
        if let Some(place) = self.granted.iter().position(|(known, _)| *known == id) {
            self.close(id);
            return Polled::Granted(self.granted.remove(place).1);
        }
        let dues = self.dues(now);
        let place = self.waiters.iter().position(|waiter| waiter.id == id).expect("it waits");
        let waiter = &mut self.waiters[place];
        if waiter.comes <= now {
            waiter.comes = dues[place].max(later(now, 1));
        }
        if waiter.comes > waiter.until {
            let denial = if place == 0 { Denial::Limit } else { Denial::Queued };
            let wait = after(waiter.comes, now);
            self.waiters.remove(place);
            self.grant(now);
            return Polled::Refused(wait, denial);
        }
        waiter.is_armed = true;
        Polled::Waiting(waiter.comes.as_nanos() - now.as_nanos())
    }

    /// Gives up the place, or what was granted.
    pub fn leave(&mut self, id: u64, now: Nanos) {
        self.waiters.retain(|waiter| waiter.id != id);
        self.granted.retain(|(known, _)| *known != id);
        self.settle(id, 0, now);
        self.grant(now);
    }

    /// Grants those who are due, as any call does that would spend.
    pub fn visit(&mut self, now: Nanos) {
        self.grant(now);
    }

    /// As [`Model::refund`].
    pub fn refund(&mut self, tokens: u64, now: Nanos) -> u64 {
        let before = self.state.last();
        let mut after = self.state.clone();
        let given = after.refund(tokens, now);
        if given > 0 || after.last() != before {
            self.happen(Event::Refund { tokens, reading: now });
        }
        self.grant(now);
        given
    }

    /// Forgets all that was spent. Those who wait go on.
    pub fn reset(&mut self, now: Nanos) {
        self.history.clear();
        self.again();
        if !self.waiters.is_empty() {
            self.happen(Event::Touch { reading: now });
        }
        self.grant(now);
    }

    /// How many wait.
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.waiters.len()
    }

    /// Whether it waits, and was not granted yet.
    #[must_use]
    pub fn waits(&self, id: u64) -> bool {
        self.waiters.iter().any(|waiter| waiter.id == id)
    }

    /// What can still be settled, grants included of which nobody knows yet.
    #[must_use]
    pub fn reservations(&self) -> usize {
        let open = |event: &&Event| matches!(event, Event::Charge { id: Some(_), .. });
        self.history.iter().filter(open).count()
    }

    /// Whether anything would come back if only `actual` of it stayed charged.
    #[must_use]
    pub fn would_give_back(&self, id: u64, actual: u64, now: Nanos) -> bool {
        self.clone().settle(id, actual, now) > 0
    }

    /// How many of them would get anything back if they were cancelled now. Others may be forgotten.
    #[must_use]
    pub fn worth_keeping(&self, now: Nanos) -> usize {
        let ids = self.history.iter().filter_map(|event| match event {
            Event::Charge { id, .. } => *id,
            _ => None,
        });
        ids.filter(|id| self.would_give_back(*id, 0, now)).count()
    }

    /// When each of those who wait is granted if nobody gives up.
    #[must_use]
    pub fn dues(&self, now: Nanos) -> Vec<Nanos> {
        self.then(now).2
    }

    /// The state without those who wait.
    #[must_use]
    pub fn state(&self) -> &Model {
        &self.state
    }

    /// Whose waker was called since this was asked last.
    pub fn woken(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.woken)
    }

    fn call(&mut self, cost: u64, now: Nanos, reserves: bool) -> (Answer, Option<u64>) {
        let mut looked = self.clone();
        looked.grant(now);
        if cost > 0 {
            *self = looked.clone();
        }
        if !looked.waiters.is_empty() {
            return (looked.stand_back(cost, now), None);
        }
        let outcome = looked.state.peek(cost, now);
        let denial = if outcome.allowed { None } else { Some(Denial::Limit) };
        let mut id = None;
        if cost > 0 {
            if outcome.allowed {
                id = reserves.then(|| self.number());
                self.happen(Event::Charge { id, cost, reading: now });
            } else {
                self.step(now);
            }
        }
        (Answer { outcome, denial }, id)
    }

    /// What a newcomer is told that does not wait while others do.
    fn stand_back(&self, cost: u64, now: Nanos) -> Answer {
        let (then, at, _) = self.then(now);
        let own = then.peek(cost, at);
        let left = then.peek(0, at);
        let before = u128::from(at.as_nanos()) - u128::from(now.as_nanos());
        let first = self.state.peek(self.waiters[0].cost, now);
        let outcome = Outcome {
            allowed: cost == 0,
            remaining: 0,
            retry: match own.never || cost == 0 {
                true => None,
                false => Some((own.retry.unwrap_or(0) + before).max(1)),
            },
            never: own.never,
            reset_after: left.reset_after + before,
            // At `at` all are granted; what they leave is free, and nothing is before.
            next_after: before + if left.remaining > 0 { 0 } else { left.next_after },
            refused_by: if own.never { own.refused_by } else { 0 },
            limit: if own.allowed { first.limit } else { own.limit },
        };
        let denial = if own.never { Denial::Limit } else { Denial::Queued };
        Answer { outcome, denial: (cost > 0).then_some(denial) }
    }

    /// The state after all who wait were granted, each when it was due, and these times; the last or
    /// now.
    fn then(&self, now: Nanos) -> (Model, Nanos, Vec<Nanos>) {
        let (mut state, mut at, mut dues) = (self.state.clone(), now, Vec::new());
        for waiter in &self.waiters {
            // A clock that was stepped back counts from the first denial on.
            for _ in 0..2 {
                let Some(wait) = state.acquire(waiter.cost, at).retry else { break };
                at = later(at, wait);
                if state.peek(waiter.cost, at).allowed {
                    state.acquire(waiter.cost, at);
                    break;
                }
            }
            dues.push(at);
        }
        (state, at, dues)
    }

    fn grant(&mut self, now: Nanos) {
        while let Some(first) = self.waiters.first().copied() {
            let outcome = self.state.peek(first.cost, now);
            if !outcome.allowed {
                self.step(now);
                let due = later(now, outcome.retry.expect("who waits in vain was refused"));
                if first.comes > due {
                    self.waiters[0].comes = due;
                    self.wake(first);
                    self.waiters[0].is_armed = false;
                }
                return;
            }
            self.happen(Event::Charge { id: Some(first.id), cost: first.cost, reading: now });
            self.granted.push((first.id, Answer { outcome, denial: None }));
            self.wake(first);
            self.waiters.remove(0);
        }
    }

    fn wake(&mut self, waiter: Waiter) {
        self.woken.extend(waiter.is_armed.then_some(waiter.id));
    }

    /// A denied call shows that the clock was stepped.
    fn step(&mut self, now: Nanos) {
        if self.state.is_stepped(now) {
            self.happen(Event::Step { reading: now });
        }
    }

    fn settle(&mut self, id: u64, actual: u64, now: Nanos) -> u64 {
        let Some(place) = self.place(id) else { return 0 };
        let Event::Charge { cost, reading, .. } = self.history[place] else { return 0 };
        let owes = self.state.peek(0, now).reset_after > 0;
        if actual >= cost || !(owes || self.state.is_stepped(now)) {
            self.close(id);
            return 0;
        }
        let before = self.state.counted(now);
        self.history[place] = Event::Charge { id: None, cost: actual, reading };
        self.history.push(Event::Touch { reading: now });
        self.again();
        let after = self.state.counted(now);
        let back = before.iter().zip(&after).map(|(before, after)| (before - after).ceil());
        let most = back.max().map(|most| most.to_integer());
        most.and_then(|most| u64::try_from(most).ok()).unwrap_or(0)
    }

    /// What it cost stays spent.
    fn close(&mut self, id: u64) {
        if let Some(place) = self.place(id)
            && let Event::Charge { id, .. } = &mut self.history[place]
        {
            *id = None;
        }
    }

    fn place(&self, wanted: u64) -> Option<usize> {
        let is_it =
            |event: &Event| matches!(event, Event::Charge { id: Some(id), .. } if *id == wanted);
        self.history.iter().position(is_it)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn happen(&mut self, event: Event) {
        self.history.push(event);
        self.state.happen(event);
    }

    fn again(&mut self) {
        self.state = Model::new(&self.policy);
        for event in &self.history {
            self.state.happen(*event);
        }
    }
}

impl Model {
    /// As it once happened, whatever this is now.
    fn happen(&mut self, event: Event) {
        let (Event::Charge { reading, .. }
        | Event::Refund { reading, .. }
        | Event::Touch { reading }
        | Event::Step { reading }) = event;
        let (at, _) = self.meet(i128::from(reading.as_nanos()));
        match event {
            Event::Charge { cost: 1.., .. } => {
                let Event::Charge { cost, .. } = event else { return };
                self.charge(cost, at);
            }
            Event::Refund { tokens, .. } => {
                for rule in &mut self.rules {
                    rule.refund(tokens, at);
                }
            }
            Event::Charge { .. } | Event::Touch { .. } => {}
            Event::Step { .. } => return,
        }
        self.last = Some(at);
    }

    /// Whether a reading shows that the clock was stepped.
    #[must_use]
    pub fn is_stepped(&self, now: Nanos) -> bool {
        self.clone().meet(i128::from(now.as_nanos())).1
    }

    /// The tokens that count, limit by limit.
    fn counted(&self, now: Nanos) -> Vec<Rational> {
        let mut settled = self.clone();
        let (at, _) = settled.meet(i128::from(now.as_nanos()));
        settled.rules.iter().map(|rule| counted(rule.as_ref(), at)).collect()
    }
}

fn counted(rule: &dyn Rule, at: i128) -> Rational {
    let Spent { fraction, counted } = rule.spent(at);
    let tokens = match counted {
        Counted::Nothing => return fraction * BigInt::from(rule.capacity()),
        Counted::Fixed(count) => count,
        Counted::Log { entries, .. } => entries.iter().map(|(_, cost)| cost).sum(),
        Counted::Counter { before, present, .. } => before + present,
    };
    Rational::from_integer(tokens.into())
}

fn later(time: Nanos, wait: u128) -> Nanos {
    Nanos::from_nanos(time.as_nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
}

/// How long it is until then, at least 1 ns.
fn after(then: Nanos, now: Nanos) -> u128 {
    then.since(now).as_nanos().max(1)
}

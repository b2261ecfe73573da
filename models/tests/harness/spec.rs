//! What whole calls, one after the other, would answer.

use std::collections::BTreeMap;
use std::time::Duration;

use brimful::{Decision, Denial, Meter, Nanos, Policy, Progress, Queued, Retry, Rules};

use super::NOW;
use super::world::World;

/// One call. Times are nanoseconds after [`NOW`].
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Acquire(&'static str, u64, u64),
    Peek(&'static str, u64, u64),
    Refund(&'static str, u64, u64),
    Reset(&'static str),
    /// All or nothing.
    All(&'static [(&'static str, u64)]),
    /// By a limit that comes with the call.
    With(&'static str, &'static str, u64),
    /// Puts other limits in force for every key.
    Rules(&'static Rules),
    /// The same for new keys only.
    RulesForNew(&'static Rules),
    /// Makes the reservation of that number, at the beginning.
    Reserve(usize, &'static str, u64),
    /// Settles it, so that so much stays charged.
    Settle(usize, u64, u64),
    /// Takes the turn of that number, at the beginning.
    Enqueue(usize, &'static str, u64),
    /// Asks it, with a waker that counts.
    Poll(usize, u64),
    /// Gives it up.
    Leave(usize, u64),
    /// Ends all waiting.
    Close,
    /// How many wait, and how many reservations are open.
    Kept,
}

/// One limit for every key. (Built outside of the threads of a model, whose stacks are small.)
pub fn rules(limit: &str) -> &'static Rules {
    Box::leak(Box::new(Policy::parse([limit]).unwrap().into()))
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Decided {
        allowed: bool,
        remaining: u64,
        retry: Option<u128>,
        reset_after: u128,
    },
    /// There was no place.
    Full,
    /// Nobody waits any more.
    Closed,
    /// It waits, and is to ask then.
    Waits(u128),
    Settled {
        given_back: u64,
        shortfall: u64,
    },
    Kept {
        waiters: u64,
        reservations: u64,
    },
    /// Nothing is told.
    Done,
    /// There is no such turn or reservation (any more).
    NotThere,
    AllAllowed(bool),
    GivenBack(u64),
    WasThere(bool),
    /// No place for the limits that came.
    Refused,
    Replaced,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        match decision.denial() {
            Some(Denial::StoreFull) => return Self::Full,
            Some(Denial::Closed) => return Self::Closed,
            _ => {}
        }
        let retry = match decision.retry() {
            Retry::After(wait) => Some(wait.as_nanos()),
            Retry::Now | Retry::Never => None,
        };
        Self::Decided {
            allowed: decision.is_allowed(),
            remaining: decision.remaining(),
            retry,
            reset_after: decision.reset_after().as_nanos(),
        }
    }
}

impl Answer {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Decided { allowed: true, .. } | Self::AllAllowed(true))
    }
}

/// All answers of one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    pub threads: Vec<Vec<Answer>>,
    pub after: Vec<Answer>,
}

pub fn at(nanos: u64) -> Nanos {
    NOW + Duration::from_nanos(nanos)
}

impl Op {
    pub fn run(&self, world: &World) -> Answer {
        let limiter = &world.limiter;
        match *self {
            Self::Acquire(key, cost, now) => limiter.try_acquire_at(key, cost, at(now)).into(),
            Self::Peek(key, cost, now) => limiter.peek_at(key, cost, at(now)).into(),
            Self::Refund(key, tokens, now) => {
                Answer::GivenBack(limiter.refund_at(key, tokens, at(now)))
            }
            Self::Reset(key) => Answer::WasThere(limiter.reset(key)),
            Self::All(charges) => {
                let decision = limiter.try_acquire_all_at(charges, at(0)).unwrap();
                Answer::AllAllowed(decision.is_allowed())
            }
            Self::With(key, limit, cost) => {
                let policy = Policy::parse([limit]).unwrap();
                let decision = limiter.try_acquire_with(key, &policy, cost, at(0));
                decision.map_or(Answer::Refused, Answer::from)
            }
            Self::Rules(rules) => {
                let replaced = limiter.set_rules_at(rules.clone(), at(0));
                replaced.map_or(Answer::Refused, |_| Answer::Replaced)
            }
            Self::RulesForNew(rules) => {
                let replaced = limiter.set_rules_for_new_keys_at(rules.clone(), at(0));
                replaced.map_or(Answer::Refused, |_| Answer::Replaced)
            }
            Self::Reserve(number, key, cost) => match limiter.reserve_owned(key, cost) {
                Ok(reservation) => {
                    let answer = (*reservation.decision()).into();
                    world.reserved(number, reservation);
                    answer
                }
                Err(denied) => denied.into(),
            },
            Self::Settle(number, actual, now) => {
                let Some(reservation) = world.reservation(number) else { return Answer::NotThere };
                let settled = reservation.commit_at(actual, at(now));
                let (given_back, shortfall) = (settled.given_back(), settled.shortfall());
                Answer::Settled { given_back, shortfall }
            }
            Self::Enqueue(number, key, cost) => match limiter.enqueue_owned(key, cost, None) {
                Ok(Queued::Granted(decision)) => decision.into(),
                Ok(Queued::Waiting(turn)) => {
                    let due = turn.due();
                    world.waits(number, turn);
                    Answer::Waits(due.since(NOW).as_nanos())
                }
                Err(denied) => denied.into(),
            },
            Self::Poll(number, now) => match world.poll(number, at(now)) {
                Some(Progress::Granted(decision) | Progress::Refused(decision)) => decision.into(),
                Some(Progress::Waiting(wait)) => Answer::Waits(u128::from(now) + wait.as_nanos()),
                None => Answer::NotThere,
            },
            Self::Leave(number, now) => match world.turn(number) {
                Some(turn) => {
                    turn.leave_at(at(now));
                    Answer::Done
                }
                None => Answer::NotThere,
            },
            Self::Close => {
                limiter.close();
                Answer::Done
            }
            Self::Kept => {
                let stats = limiter.stats();
                Answer::Kept { waiters: stats.waiters, reservations: stats.reservations }
            }
        }
    }

    /// Its time.
    pub fn time(&self) -> u64 {
        match *self {
            Self::Acquire(_, _, now) | Self::Peek(_, _, now) | Self::Refund(_, _, now) => now,
            Self::Settle(_, _, now) | Self::Poll(_, now) | Self::Leave(_, now) => now,
            _ => 0,
        }
    }

    /// How many admissions and denials it counts for.
    pub fn counts(&self, answer: &Answer) -> (u64, u64) {
        let cost = match self {
            Self::Acquire(_, cost, _) | Self::With(_, _, cost) => *cost,
            Self::Reserve(_, _, cost) | Self::Enqueue(_, _, cost) => *cost,
            Self::All(charges) => charges.iter().map(|(_, cost)| cost).sum(),
            // (Nobody waits without a cost.)
            Self::Poll(..) => 1,
            Self::Peek(..) | Self::Refund(..) | Self::Reset(_) => 0,
            Self::Rules(_) | Self::RulesForNew(_) => 0,
            Self::Settle(..) | Self::Leave(..) | Self::Close | Self::Kept => 0,
        };
        match (self, answer) {
            (_, Answer::Waits(_) | Answer::NotThere) => (0, 0),
            _ if cost == 0 || *answer == Answer::Refused => (0, 0),
            // (No race names a key twice, or one with cost 0 beside others.)
            (Self::All(charges), Answer::AllAllowed(true)) => (charges.len() as u64, 0),
            _ if answer.is_allowed() => (1, 0),
            _ => (0, 1),
        }
    }
}

/// Every order of the threads' calls, each with the number of its thread.
pub fn orders(threads: &[Vec<Op>]) -> Vec<Vec<(usize, Op)>> {
    if threads.iter().all(Vec::is_empty) {
        return vec![vec![]];
    }
    let mut found = vec![];
    for (thread, calls) in threads.iter().enumerate() {
        let Some((op, rest)) = calls.split_first() else { continue };
        let mut left = threads.to_vec();
        left[thread] = rest.to_vec();
        let first = (thread, *op);
        found.extend(orders(&left).into_iter().map(|rest| [vec![first], rest].concat()));
    }
    found
}

/// One meter for each key that owes.
#[derive(Clone)]
pub struct Spec {
    policy: Policy,
    keys: BTreeMap<&'static str, Meter>,
}

impl Spec {
    pub fn new(policy: &Policy) -> Self {
        Self { policy: policy.clone(), keys: BTreeMap::new() }
    }

    pub fn run(&mut self, op: &Op) -> Answer {
        match *op {
            Op::Acquire(key, cost, now) => {
                let mut meter = self.meter(key);
                let decision = meter.try_acquire_at(cost, at(now));
                if decision.is_allowed() && cost > 0 {
                    self.keys.insert(key, meter);
                }
                decision.into()
            }
            Op::Peek(key, cost, now) => self.meter(key).peek_at(cost, at(now)).into(),
            Op::Refund(key, tokens, now) => {
                let given = self.keys.get_mut(key).map_or(0, |key| key.refund_at(tokens, at(now)));
                Answer::GivenBack(given)
            }
            Op::Reset(key) => Answer::WasThere(self.keys.remove(key).is_some()),
            Op::All(charges) => {
                let mut after = self.clone();
                let allowed = charges
                    .iter()
                    .all(|(key, cost)| after.run(&Op::Acquire(key, *cost, 0)).is_allowed());
                if allowed {
                    *self = after;
                }
                Answer::AllAllowed(allowed)
            }
            _ => panic!("more than the meters of single keys say: `must_be_as_in_turn`"),
        }
    }

    fn meter(&self, key: &str) -> Meter {
        self.keys.get(key).cloned().unwrap_or_else(|| Meter::new(&self.policy))
    }
}

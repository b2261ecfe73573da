//! The slow, obviously right limiter, in exact rationals.
//!
//! It shares nothing with the library but the policies it reads. Where the library keeps a debt in
//! ticks, packed counts and a linked list, the model keeps tokens as a rational number, a map from
//! window numbers to counts, and a plain list. Where the library subtracts to find a hint, the
//! model tries times. Times are signed and have room to spare, so nothing here saturates.

mod bucket;
mod change;
mod keyed;
mod log;
mod memory;
#[cfg(test)]
mod tests;
mod waiting;
mod windows;

use std::fmt;
use std::sync::Arc;

use brimful::{Algorithm, Limit, Nanos, Policy};

use crate::Outcome;
use crate::outcome::places;
use bucket::Bucket;
use change::Spent;
use log::Log;
use windows::{Counter, Fixed};

pub use keyed::KeyedModel;
pub(crate) use keyed::{Known, Whose};
pub(crate) use memory::Debt;
pub use waiting::{Answer, Enqueued, Polled, WaitingModel};

/// What one limit remembers of one key. Times are nanoseconds since the epoch.
trait Rule: fmt::Debug {
    /// The longest that anything spent is remembered.
    fn memory(&self) -> i128;
    /// No cost above this is ever admitted.
    fn capacity(&self) -> u64;
    /// Whether `cost` more may be spent.
    fn admits(&self, cost: u64, at: i128) -> bool;
    /// The least wait, at least 1, after which a cost that is refused now, but is within the
    /// capacity, is admitted.
    fn wait(&self, cost: u64, at: i128) -> i128;
    /// The largest cost that is admitted.
    fn remaining(&self, at: i128) -> u64;
    /// The least wait after which more is left; `None` when that is never.
    fn next(&self, at: i128) -> Option<i128> {
        let more = self.remaining(at) + 1;
        (more <= self.capacity()).then(|| self.wait(more, at))
    }
    /// How long until nothing that was spent counts any more; 0 when nothing does.
    fn reset_after(&self, at: i128) -> i128;
    /// Spends.
    fn charge(&mut self, cost: u64, at: i128);
    /// Gives back what it can of `tokens`, and says how many that was.
    fn refund(&mut self, tokens: u64, at: i128) -> u64;
    /// The clock was stepped: what was so at `from` shall be so at `to`.
    fn shift(&mut self, from: i128, to: i128);
    /// What is remembered, in numbers that mean the same wherever on the time line the last
    /// change lies, but for the phase of a window.
    fn canonical(&self, last: i128) -> Vec<i128>;
    /// What was spent and counts still.
    fn spent(&self, at: i128) -> Spent;
    /// Goes on, as good as new, from what was spent under another limit.
    fn take_over(&mut self, spent: &Spent, at: i128);
    /// When entries that are remembered one by one stop counting.
    fn expiries(&self) -> Vec<i128> {
        Vec::new()
    }
    /// Forgets such entries as do not count at `at`, also for times before it.
    fn trim(&mut self, _at: i128) {}
    /// A copy.
    fn copy(&self) -> Box<dyn Rule>;
}

impl Clone for Box<dyn Rule> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// Readings up to this much before the last change are never taken for a stepped clock.
const ORDINARY_DISORDER: i128 = 10_000_000_000;

/// One key under one policy.
#[derive(Clone, Debug)]
pub struct Model {
    /// The answer of a policy that is a word.
    word: Option<Outcome>,
    rules: Vec<Box<dyn Rule>>,
    /// When the key was last changed; `None`: never, or it was reset.
    last: Option<i128>,
    policy: Arc<Policy>,
}

impl Model {
    /// A key that was never seen.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let rules = policy.limits().iter().map(rule).collect();
        Self { word: word(policy), rules, last: None, policy: Arc::new(policy.clone()) }
    }

    /// Spends `cost` at `now` if every limit admits it.
    pub fn acquire(&mut self, cost: u64, now: Nanos) -> Outcome {
        if let Some(word) = self.word {
            return word;
        }
        let reading = i128::from(now.as_nanos());
        let mut after = self.clone();
        let (at, stepped) = after.meet(reading);
        let behind = at - reading;

        let refusing: Vec<usize> = (0..self.rules.len())
            .filter(|i| cost > 0 && !after.rules[*i].admits(cost, at))
            .collect();
        let allowed = refusing.is_empty();
        if allowed && cost > 0 {
            after.charge(cost, at);
        }

        let remaining: Vec<u64> = after.rules.iter().map(|rule| rule.remaining(at)).collect();
        let least = remaining.iter().copied().min().unwrap_or(u64::MAX);
        let reset = after.rules.iter().map(|rule| rule.reset_after(at)).max().unwrap_or(0);
        let next = after.next(least, at);
        let mut outcome = Outcome {
            allowed,
            remaining: least,
            retry: None,
            never: false,
            reset_after: if reset == 0 { 0 } else { (reset + behind).unsigned_abs() },
            next_after: next.map_or(0, |next| (next + behind).unsigned_abs()),
            limit: remaining.iter().position(|r| *r == least),
            refused_by: places(refusing.iter().copied()),
        };
        if let Some(never) = refusing.iter().find(|i| cost > after.rules[**i].capacity()) {
            outcome.never = true;
            outcome.limit = Some(*never);
        } else if !allowed {
            let waits: Vec<i128> =
                refusing.iter().map(|i| after.rules[*i].wait(cost, at)).collect();
            let longest = waits.iter().copied().max().unwrap_or(0);
            outcome.retry = Some((longest + behind).unsigned_abs());
            outcome.limit = waits.iter().position(|w| *w == longest).map(|place| refusing[place]);
        }
        if cost > 0 && (allowed || stepped) {
            *self = after;
        }
        outcome
    }

    /// The first wait after which more than the `least` is left of all limits: then one of those that have just
    /// that has more.
    fn next(&self, least: u64, at: i128) -> Option<i128> {
        let has_more =
            |wait: &i128| self.rules.iter().all(|rule| rule.remaining(at + wait) > least);
        let with_least = self.rules.iter().filter(|rule| rule.remaining(at) == least);
        with_least.filter_map(|rule| rule.next(at)).filter(has_more).min()
    }

    /// Whether the key is under that policy.
    pub(crate) fn is_by(&self, policy: &Policy) -> bool {
        *self.policy == *policy
    }

    /// What [`acquire`](Self::acquire) would answer.
    #[must_use]
    pub fn peek(&self, cost: u64, now: Nanos) -> Outcome {
        self.clone().acquire(cost, now)
    }

    /// Gives back at most what is owed; the most that one of the limits took.
    pub fn refund(&mut self, tokens: u64, now: Nanos) -> u64 {
        if tokens == 0 || self.last.is_none() {
            return 0;
        }
        let mut after = self.clone();
        let (at, stepped) = after.meet(i128::from(now.as_nanos()));
        let owes = after.rules.iter().any(|rule| rule.reset_after(at) > 0);
        if !owes && !stepped {
            return 0;
        }
        let given = after.rules.iter_mut().map(|rule| rule.refund(tokens, at)).max().unwrap_or(0);
        after.last = Some(at);
        *self = after;
        given
    }

    /// Forgets all that was spent.
    pub fn reset(&mut self) {
        *self = Self::new(&self.policy);
    }

    /// How far back a reading may lie before the last change without meaning a stepped clock.
    #[must_use]
    pub fn tolerance(&self) -> u128 {
        let longest = self.rules.iter().map(|rule| rule.memory()).max().unwrap_or(0);
        longest.max(ORDINARY_DISORDER).unsigned_abs()
    }

    /// The state in numbers that are equal for states that no sequence of operations can tell
    /// apart, when times are counted from the last change. Empty for a key that was never changed.
    #[must_use]
    pub fn canonical(&self) -> Vec<i128> {
        let Some(last) = self.last else { return Vec::new() };
        let mut numbers = Vec::new();
        for rule in &self.rules {
            let part = rule.canonical(last);
            // The length keeps the parts apart.
            numbers.push(i128::try_from(part.len()).unwrap_or(i128::MAX));
            numbers.extend(part);
        }
        numbers
    }

    /// The policy that the key is under.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// When the key was last changed.
    #[must_use]
    pub fn last(&self) -> Option<Nanos> {
        self.last.and_then(|last| u64::try_from(last).ok()).map(Nanos::from_nanos)
    }

    /// The time that a reading counts as, and whether it shows that the clock was stepped.
    fn meet(&mut self, reading: i128) -> (i128, bool) {
        let Some(last) = self.last else { return (reading, false) };
        let behind = last - reading;
        if behind <= 0 {
            return (reading, false);
        }
        if behind.unsigned_abs() <= self.tolerance() {
            return (last, false);
        }
        for rule in &mut self.rules {
            rule.shift(last, reading);
        }
        self.last = Some(reading);
        (reading, true)
    }

    fn charge(&mut self, cost: u64, at: i128) {
        for rule in &mut self.rules {
            rule.charge(cost, at);
        }
        self.last = Some(at);
    }
}

/// The answer of a policy that is a word.
fn word(policy: &Policy) -> Option<Outcome> {
    if policy.is_unlimited() {
        Some(Outcome::UNLIMITED)
    } else if policy.is_blocked() {
        Some(Outcome::BLOCKED)
    } else {
        None
    }
}

fn rule(limit: &Limit) -> Box<dyn Rule> {
    let tokens = limit.tokens();
    let period = i128::try_from(limit.period().as_nanos()).unwrap_or(i128::MAX);
    match limit.chosen_algorithm() {
        Algorithm::TokenBucket => Box::new(Bucket::new(tokens, period, limit.capacity())),
        Algorithm::FixedWindow => Box::new(Fixed::new(tokens, period)),
        Algorithm::SlidingLog => Box::new(Log::new(tokens, period)),
        Algorithm::SlidingWindow => Box::new(Counter::new(tokens, period)),
    }
}

//! What threads asked of a limiter at the same time and what they were told, and whether some order
//! explains it.
//!
//! A history is **linearizable** when its calls can be put in one order in which the exact
//! [`Model`](crate::Model) gives every answer, and in which a call that had ended before another
//! began stands before it. Each call then took effect at one moment between its beginning and its
//! end. Keys are independent, so a history is linearizable exactly when the part of each key is, and
//! [`check`] looks for an order of each part.
//!
//! [`witness`] is a second opinion, for one token bucket, that needs no search.

mod search;
#[cfg(test)]
mod tests;
pub mod witness;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use brimful::{Limiter, Nanos, Policy};

use crate::Outcome;
use crate::trace::Verb;

/// What a call was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All about it.
    Decision(Outcome),
    /// Whether it was admitted, and no more.
    Allowed(bool),
    /// So many tokens were given back.
    Given(u64),
    /// Whether the store held anything of the key that was to be forgotten.
    Held(bool),
}

/// One call of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Who called. Calls of one thread for one key do not overlap.
    pub thread: usize,
    /// For which key.
    pub key: u64,
    /// What was asked.
    pub verb: Verb,
    /// The cost, or the tokens to give back.
    pub amount: u64,
    /// The reading that the call was decided by; for a reset, which has none, a time at which it
    /// was made.
    pub now: Nanos,
    /// What it was told.
    pub answer: Answer,
    /// When it began, and when it had ended: stamps of the [`Recorder`]. One call precedes another
    /// when its end lies before the other's beginning.
    pub invoked: u64,
    /// See [`invoked`](Self::invoked).
    pub responded: u64,
}

impl Call {
    /// Whether two calls ask the same and are told the same.
    fn is_like(&self, other: &Self) -> bool {
        let face = |call: &Self| (call.verb, call.amount, call.now, call.answer);
        face(self) == face(other)
    }
}

/// Hands out stamps. They come from one counter: of two stamps the one that was taken first is the
/// lower, whichever threads took them.
#[derive(Debug, Default)]
pub struct Recorder {
    stamps: AtomicU64,
}

impl Recorder {
    /// A recorder that has recorded nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Who writes down what one thread does.
    #[must_use]
    pub fn scribe(&self, thread: usize) -> Scribe<'_> {
        Scribe { recorder: self, thread, calls: Vec::new() }
    }

    /// Nothing that a thread does after it took a stamp happens before, and nothing from before
    /// happens after.
    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::AcqRel)
    }
}

/// Writes down the calls of one thread.
#[derive(Debug)]
pub struct Scribe<'a> {
    recorder: &'a Recorder,
    thread: usize,
    calls: Vec<Call>,
}

impl Scribe<'_> {
    /// Makes a call and writes it down; `call` says by which reading it was decided.
    pub fn record(
        &mut self,
        key: u64,
        verb: Verb,
        amount: u64,
        call: impl FnOnce() -> (Answer, Nanos),
    ) -> Answer {
        let invoked = self.recorder.stamp();
        let (answer, now) = call();
        let responded = self.recorder.stamp();
        let thread = self.thread;
        self.calls.push(Call { thread, key, verb, amount, now, answer, invoked, responded });
        answer
    }

    /// The same by the verbs that are given the time.
    pub fn ask_at(
        &mut self,
        limiter: &Limiter,
        key: u64,
        verb: Verb,
        amount: u64,
        now: Nanos,
    ) -> Answer {
        self.record(key, verb, amount, || {
            let answer = match verb {
                Verb::Acquire => Answer::Decision(limiter.try_acquire_at(key, amount, now).into()),
                Verb::Peek => Answer::Decision(limiter.peek_at(key, amount, now).into()),
                Verb::Refund => Answer::Given(limiter.refund_at(key, amount, now)),
                Verb::Reset => Answer::Held(limiter.reset(key)),
            };
            (answer, now)
        })
    }

    /// The same by the verbs that read the clock; `noted` says what it last read for this thread.
    pub fn ask(
        &mut self,
        limiter: &Limiter,
        key: u64,
        verb: Verb,
        amount: u64,
        noted: impl FnOnce() -> Nanos,
    ) -> Answer {
        self.record(key, verb, amount, || {
            let answer = match verb {
                Verb::Acquire => Answer::Decision(limiter.try_acquire_n(key, amount).into()),
                Verb::Peek => Answer::Decision(limiter.peek(key, amount).into()),
                Verb::Refund => Answer::Given(limiter.refund(key, amount)),
                Verb::Reset => Answer::Held(limiter.reset(key)),
            };
            (answer, noted())
        })
    }

    /// Spends one token of the key by the clock, and is told no more than whether.
    pub fn allow(&mut self, limiter: &Limiter, key: u64, noted: impl FnOnce() -> Nanos) -> Answer {
        let call = || (Answer::Allowed(limiter.allow(key)), noted());
        self.record(key, Verb::Acquire, 1, call)
    }

    /// Spends one token of each of some keys by the clock. They are decided one after the other, and no
    /// two are the same, so that it is written down as a call for each, of the same beginning and end.
    pub fn ask_many(&mut self, limiter: &Limiter, keys: &[u64], noted: impl FnOnce() -> Nanos) {
        let mut out = Vec::with_capacity(keys.len());
        let invoked = self.recorder.stamp();
        limiter.try_acquire_many(keys, &mut out);
        let now = noted();
        let responded = self.recorder.stamp();
        assert_eq!(out.len(), keys.len());
        let (thread, verb, amount) = (self.thread, Verb::Acquire, 1);
        for (&key, decision) in keys.iter().zip(&out) {
            let answer = Answer::Decision(decision.into());
            self.calls.push(Call { thread, key, verb, amount, now, answer, invoked, responded });
        }
    }

    /// What was written down.
    #[must_use]
    pub fn calls(self) -> Vec<Call> {
        self.calls
    }
}

/// What a store may do with a key that owes nothing at the time of a call for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It has room for all, so that every key which was charged is held until it is reset.
    Keeps,
    /// It may have forgotten it. Readings of such a history never go back, else a key could be
    /// forgotten that owes something at an earlier one.
    Forgets,
}

/// An order was found for every key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// Keys that were called.
    pub keys: usize,
    /// Their calls.
    pub calls: usize,
    /// How often a call was tried as the next one.
    pub tries: u64,
}

/// No order was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// Whether there is none. Otherwise the search was given up; that is no verdict, and a test
    /// that gets there has failed.
    pub is_certain: bool,
    /// What was found out, in words.
    pub why: String,
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.why)
    }
}

/// Looks for an order of the calls for each key in which the model of `policy` gives every answer.
///
/// # Errors
/// There is no order for some key; or none was found within fifty tries for each call and 100,000.
///
/// # Panics
/// The calls of a thread for a key overlap.
pub fn check(policy: &Policy, memory: Memory, calls: &[Call]) -> Result<Explained, Unexplained> {
    let mut keys: BTreeMap<u64, Vec<Call>> = BTreeMap::new();
    for call in calls {
        keys.entry(call.key).or_default().push(*call);
    }
    let mut explained = Explained { keys: keys.len(), calls: calls.len(), tries: 0 };
    for calls in keys.values() {
        explained.tries += search::search(policy, memory, calls)?;
    }
    Ok(explained)
}

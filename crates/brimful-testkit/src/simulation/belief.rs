//! What may be known of a key from outside.
//!
//! Nearly always that is one state, the model's. But a store may forget what owed nothing at a time
//! that was passed for another key, and when time goes back then, the key may be found as it was or
//! new. So a belief is a list of the states that are allowed; each answer strikes out those that
//! would have answered otherwise, and a seed fails when none is left.

use brimful::Nanos;

use crate::model::Known;

/// The tolerance of limits that forget quickly: a key is anchored by no smaller step back.
const LEAST_TOLERANCE: i128 = 10_000_000_000;

/// A key in a slot.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) known: Known,
    last: i128,
    full_at: i128,
}

impl Candidate {
    fn of(known: Known) -> Self {
        let (last, full_at) = (known.model.last_ns(), known.model.full_at());
        Self { known, last, full_at }
    }

    /// Whether it owes at `now`. (At a time before its last change it owes what it did then.)
    pub(super) fn owes(&self, now: Nanos) -> bool {
        self.full_at > self.last.max(ns(now))
    }

    fn is(&self, other: &Self) -> bool {
        self.last == other.last
            && self.known.whose == other.known.whose
            && self.known.model.canonical() == other.known.model.canonical()
    }
}

/// The states that a key may be in; `None` is that of a key that has no slot.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    pub(super) may_be: Vec<Option<Candidate>>,
    /// The step after which all that others may have done to it is in the list.
    pub(super) since: usize,
}

/// What others may have done to a key: the latest readings of calls that forgot keys or trimmed
/// logs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub(super) forgot: Option<Nanos>,
    pub(super) trimmed: Option<Nanos>,
}

impl Belief {
    /// A key that has no slot.
    pub(super) fn absent(since: usize) -> Self {
        Self { may_be: vec![None], since }
    }

    /// Whether it owes at `now` for certain.
    pub(super) fn owes(&self, now: Nanos) -> bool {
        self.may_be.iter().all(|it| it.as_ref().is_some_and(|it| it.owes(now)))
    }

    /// Whether it may owe.
    pub(super) fn may_owe(&self, now: Nanos) -> bool {
        self.may_be.iter().flatten().any(|it| it.owes(now))
    }

    /// Whether it may have no slot.
    pub(super) fn may_be_absent(&self) -> bool {
        self.may_be.iter().any(Option::is_none)
    }

    pub(super) fn is_absent(&self) -> bool {
        self.may_be.iter().all(Option::is_none)
    }

    pub(super) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.may_be.iter().flatten()
    }

    /// Allows what calls for other keys may have done:
    ///
    /// * what owed nothing at their reading may be forgotten;
    /// * entries of logs that had expired by their reading may be gone, all that had or those that
    ///   had by an earlier reading. The search for them forgets keys that owe nothing under limits
    ///   that came with a call.
    pub(super) fn allow(&mut self, past: Past) {
        let mut more = Vec::new();
        for it in self.may_be.iter().flatten() {
            more.push(Some(it.clone()));
            let Some(reading) = past.trimmed else { continue };
            let gone = it.known.model.expiries().into_iter();
            for expiry in gone.filter(|expiry| (it.last + 1..=ns(reading)).contains(expiry)) {
                let model = it.known.model.trimmed(expiry);
                more.push(Some(Candidate::of(Known { model, ..it.known.clone() })));
            }
        }
        let may_be_forgotten = more.iter().flatten().any(|it| {
            let swept = past.trimmed.filter(|_| it.known.whose.given().is_some());
            past.forgot.max(swept).is_some_and(|reading| !it.owes(reading))
        });
        if may_be_forgotten {
            more.push(None);
        }
        more.into_iter().for_each(|it| self.add(it));
    }

    /// Allows that a store without a place made the key refill from `now` on, where `now` means
    /// that the clock was stepped back; says whether it can have.
    pub(super) fn allow_anchor(&mut self, now: Nanos) -> bool {
        let mut anchored = Vec::new();
        for it in self.candidates().filter(|it| it.last - ns(now) > LEAST_TOLERANCE) {
            if let Some(model) = it.known.model.anchored(now) {
                anchored.push(Some(Candidate::of(Known { model, ..it.known.clone() })));
            }
        }
        let is_some = !anchored.is_empty();
        anchored.into_iter().for_each(|it| self.add(it));
        is_some
    }

    /// Allows one state more.
    pub(super) fn add(&mut self, more: Option<Candidate>) {
        let is_there = self.may_be.iter().any(|it| match (it, &more) {
            (None, None) => true,
            (Some(it), Some(more)) => it.is(more),
            _ => false,
        });
        if !is_there {
            self.may_be.push(more);
        }
    }

    /// The same for a key in a slot.
    pub(super) fn add_known(&mut self, more: Known) {
        self.add(Some(Candidate::of(more)));
    }

    /// Keeps the states that answer as was `seen`, each as the act leaves it; false when none does,
    /// and then nothing changes.
    pub(super) fn observe<T: PartialEq>(
        &mut self,
        seen: &T,
        act: impl Fn(&mut Option<Known>) -> T,
    ) -> bool {
        let mut after = Self { may_be: Vec::new(), since: self.since };
        for it in &self.may_be {
            let mut known = it.as_ref().map(|it| it.known.clone());
            if act(&mut known) == *seen {
                after.add(known.map(Candidate::of));
            }
        }
        if after.may_be.is_empty() {
            return false;
        }
        *self = after;
        true
    }

    /// The same for an act that changes nothing.
    pub(super) fn confirm<T: PartialEq>(
        &mut self,
        seen: &T,
        act: impl Fn(&mut Option<Known>) -> T,
    ) -> bool {
        let mut is_so = self.answers(act).into_iter().map(|answer| answer == *seen);
        let before = self.may_be.clone();
        self.may_be.retain(|_| is_so.next().unwrap_or(false));
        if self.may_be.is_empty() {
            self.may_be = before;
            return false;
        }
        true
    }

    /// What the states would answer.
    pub(super) fn answers<T>(&self, act: impl Fn(&mut Option<Known>) -> T) -> Vec<T> {
        let known = self.may_be.iter().map(|it| it.as_ref().map(|it| it.known.clone()));
        known.map(|mut known| act(&mut known)).collect()
    }
}

fn ns(now: Nanos) -> i128 {
    now.as_nanos().into()
}

//! What a key keeps when its limits change, as the documentation tells it.
//!
//! Everything is settled under the old limits first. Then each new limit looks for an old one that
//! it goes on from: by name, else by period, else, the longest periods first, one of those left.
//! Windows and logs keep what those of their kind counted, also above a lower limit; when the widths
//! differ, as spent now. Whatever else follows on something keeps the fraction of the capacity that
//! was spent there, at most all of it.

use std::cmp::Reverse;
use std::sync::Arc;

use brimful::{Limit, Nanos, Policy};
use num_bigint::BigInt;

use super::bucket::Rational;
use super::{Model, word};
use crate::Outcome;

/// What was spent under a limit that counts still, at some moment.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    /// The part of the capacity. More than all of it, when a window was lowered.
    pub(super) fraction: Rational,
    pub(super) counted: Counted,
}

/// What windows keep for windows of their kind.
#[derive(Clone, Debug)]
pub(super) enum Counted {
    /// A bucket counts nothing.
    Nothing,
    /// In the present fixed window.
    Fixed(u64),
    /// The entries of a log that have not expired, oldest first.
    Log { width: i128, entries: Vec<(i128, u64)> },
    /// In the window before and in the present one, and the estimate, rounded up.
    Counter { width: i128, before: u64, present: u64, estimate: u64 },
}

impl Spent {
    /// So many of `of` tokens, whole ones, for something that cannot keep parts.
    pub(super) fn tokens(&self, of: u64) -> u64 {
        let tokens = (&self.fraction * BigInt::from(of)).ceil().to_integer();
        u64::try_from(tokens).unwrap_or(u64::MAX).min(of)
    }

    /// `part` of `of`.
    pub(super) fn of(part: u64, of: u64, counted: Counted) -> Self {
        Self { fraction: Rational::new(part.into(), of.into()), counted }
    }
}

impl Model {
    /// The key under `policy` from now on. Without state it is new; a policy that is a word has no
    /// use for one.
    #[must_use]
    pub fn changed(&self, policy: &Policy, now: Nanos) -> Self {
        let mut new = Self::new(policy);
        let mut old = self.clone();
        if old.last.is_none() || new.word.is_some() {
            return new;
        }
        let (at, _) = old.meet(i128::from(now.as_nanos()));
        let spent: Vec<Spent> = old.rules.iter().map(|rule| rule.spent(at)).collect();
        let followed = followed(policy.limits(), old.policy.limits());
        for (rule, from) in new.rules.iter_mut().zip(followed) {
            if let Some(place) = from {
                rule.take_over(&spent[place], at);
            }
        }
        new.last = Some(at);
        new
    }

    /// As [`acquire`](Self::acquire), by `policy` instead of the policy so far. A call that would
    /// spend changes the policy for good, also when it is denied; a look changes nothing, and a
    /// word answers without a glance at the state, which stays under its limits.
    pub fn acquire_by(&mut self, policy: &Policy, cost: u64, now: Nanos) -> Outcome {
        if let Some(word) = word(policy) {
            return word;
        }
        // Limits that are as before go on.
        let same = policy.limits() == self.policy.limits();
        let mut after = if same { self.clone() } else { self.changed(policy, now) };
        after.policy = Arc::new(policy.clone());
        let outcome = after.acquire(cost, now);
        if cost > 0 {
            *self = after;
        }
        outcome
    }
}

/// For each new limit the place of the old one that it goes on from.
fn followed(new: &[Limit], old: &[Limit]) -> Vec<Option<usize>> {
    let mut left: Vec<usize> = (0..old.len()).collect();
    let mut followed = vec![None; new.len()];
    let alike: [fn(&Limit, &Limit) -> bool; 2] =
        [|new, old| new.name() == old.name(), |new, old| new.period() == old.period()];
    for alike in alike {
        for (limit, from) in new.iter().zip(&mut followed) {
            if from.is_none() {
                let found = left.iter().position(|place| alike(limit, &old[*place]));
                *from = found.map(|found| left.remove(found));
            }
        }
    }
    // Both sorts are stable.
    left.sort_by_key(|place| Reverse(old[*place].period()));
    let mut alone: Vec<usize> = (0..new.len()).filter(|place| followed[*place].is_none()).collect();
    alone.sort_by_key(|place| Reverse(new[*place].period()));
    for (place, from) in alone.into_iter().zip(left) {
        followed[place] = Some(from);
    }
    followed
}

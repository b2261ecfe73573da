//! What a store may do to a key behind its back, and what it weighs before it does.

use brimful::Nanos;
use num_bigint::BigInt;

use super::Model;
use super::bucket::Rational;

/// How much a key owes: the order in which full stores choose their victims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Debt {
    /// The largest fraction of a capacity over the limits, in units of 2^-32, rounded down.
    pub(crate) share: u64,
    /// The most tokens over the limits, each rounded up.
    pub(crate) tokens: u64,
}

impl Model {
    /// The time from which on nothing counts any more, if readings only go on from the last change;
    /// the last change itself when nothing does now.
    pub(crate) fn full_at(&self) -> i128 {
        let Some(last) = self.last else { return i128::MIN };
        last + self.rules.iter().map(|rule| rule.reset_after(last)).max().unwrap_or(0)
    }

    /// How long from `now` until nothing counts any more.
    pub(crate) fn full_after(&self, now: Nanos) -> u128 {
        let reading = i128::from(now.as_nanos());
        let mut settled = self.clone();
        let (at, _) = settled.meet(reading);
        match settled.rules.iter().map(|rule| rule.reset_after(at)).max() {
            None | Some(0) => 0,
            Some(longest) => (longest + at - reading).unsigned_abs(),
        }
    }

    /// What is owed at `now`.
    pub(crate) fn debt(&self, now: Nanos) -> Debt {
        let mut settled = self.clone();
        let (at, _) = settled.meet(i128::from(now.as_nanos()));
        settled.rules.iter().fold(Debt::default(), |most, rule| {
            let fraction = rule.spent(at).fraction;
            let whole = |number: Rational| u64::try_from(number.to_integer()).unwrap_or(u64::MAX);
            let tokens = whole((&fraction * BigInt::from(rule.capacity())).ceil());
            let share = whole((fraction * BigInt::from(1_u64 << 32)).floor());
            Debt { share: most.share.max(share), tokens: most.tokens.max(tokens) }
        })
    }

    /// The same key after a stepped clock was made to count for it, if `now` shows one.
    pub(crate) fn anchored(&self, now: Nanos) -> Option<Self> {
        let mut after = self.clone();
        let (_, stepped) = after.meet(i128::from(now.as_nanos()));
        stepped.then_some(after)
    }

    /// The same key without the entries of its logs that do not count at `at`.
    pub(crate) fn trimmed(&self, at: i128) -> Self {
        let mut after = self.clone();
        after.rules.iter_mut().for_each(|rule| rule.trim(at));
        after
    }

    /// When the entries of its logs stop counting.
    pub(crate) fn expiries(&self) -> Vec<i128> {
        self.rules.iter().flat_map(|rule| rule.expiries()).collect()
    }

    /// The key's last change, in nanoseconds.
    pub(crate) fn last_ns(&self) -> i128 {
        self.last.unwrap_or(i128::MIN)
    }
}

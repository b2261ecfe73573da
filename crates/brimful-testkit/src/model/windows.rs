//! The two algorithms that count by window: how much was spent in window 0, 1, 2, ... since the
//! epoch. A clock that is stepped back to soon after the epoch can leave a count in window -1.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::Ratio;

use super::Rule;
use super::bucket::Rational;
use super::change::{Counted, Spent};

/// What was spent in each window.
#[derive(Clone, Debug)]
struct Counts {
    width: i128,
    spent: BTreeMap<i128, u64>,
}

impl Counts {
    fn window(&self, at: i128) -> i128 {
        at.div_euclid(self.width)
    }

    fn of(&self, window: i128) -> u64 {
        self.spent.get(&window).copied().unwrap_or(0)
    }

    fn charge(&mut self, cost: u64, at: i128) {
        let window = self.window(at);
        // Nothing asks about older windows any more.
        self.spent.retain(|past, _| *past >= window - 1);
        *self.spent.entry(window).or_insert(0) += cost;
    }

    fn refund(&mut self, tokens: u64, at: i128) -> u64 {
        let count = self.spent.entry(self.window(at)).or_insert(0);
        let given = tokens.min(*count);
        *count -= given;
        given
    }

    /// The windows that count at `from`, and the one before, become those of `to`.
    fn shift(&mut self, from: i128, to: i128) {
        let (old, new) = (self.window(from), self.window(to));
        self.spent = BTreeMap::from([(new - 1, self.of(old - 1)), (new, self.of(old))]);
    }

    fn phase(&self, at: i128) -> i128 {
        at.rem_euclid(self.width)
    }
}

/// Fixed window.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    limit: u64,
    counts: Counts,
}

impl Fixed {
    pub(super) fn new(limit: u64, width: i128) -> Self {
        Self { limit, counts: Counts { width, spent: BTreeMap::new() } }
    }

    fn count(&self, at: i128) -> u64 {
        self.counts.of(self.counts.window(at))
    }

    fn next_window(&self, at: i128) -> i128 {
        (self.counts.window(at) + 1) * self.counts.width
    }
}

impl Rule for Fixed {
    fn memory(&self) -> i128 {
        self.counts.width
    }

    fn capacity(&self) -> u64 {
        self.limit
    }

    fn admits(&self, cost: u64, at: i128) -> bool {
        u128::from(self.count(at)) + u128::from(cost) <= u128::from(self.limit)
    }

    fn wait(&self, _: u64, at: i128) -> i128 {
        self.next_window(at) - at
    }

    fn remaining(&self, at: i128) -> u64 {
        // More may have been admitted under another limit.
        self.limit.saturating_sub(self.count(at))
    }

    fn reset_after(&self, at: i128) -> i128 {
        if self.count(at) == 0 { 0 } else { self.next_window(at) - at }
    }

    fn charge(&mut self, cost: u64, at: i128) {
        self.counts.charge(cost, at);
    }

    fn refund(&mut self, tokens: u64, at: i128) -> u64 {
        self.counts.refund(tokens, at)
    }

    fn shift(&mut self, from: i128, to: i128) {
        self.counts.shift(from, to);
    }

    fn canonical(&self, last: i128) -> Vec<i128> {
        vec![self.count(last).into(), self.counts.phase(last)]
    }

    fn spent(&self, at: i128) -> Spent {
        let count = self.count(at);
        Spent::of(count, self.limit, Counted::Fixed(count))
    }

    fn take_over(&mut self, spent: &Spent, at: i128) {
        let count = match spent.counted {
            Counted::Fixed(count) => count,
            _ => spent.tokens(self.limit),
        };
        self.counts.charge(count, at);
    }

    fn copy(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

/// Sliding window counter.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    limit: u64,
    counts: Counts,
}

impl Counter {
    pub(super) fn new(limit: u64, width: i128) -> Self {
        Self { limit, counts: Counts { width, spent: BTreeMap::new() } }
    }

    /// What was spent in the last `width` nanoseconds if the window before was spent evenly. Not
    /// reduced to lowest terms: nothing here needs it. At most 2 * 10^12 * 2^55 over 2^55.
    fn estimate(&self, at: i128) -> Ratio<i128> {
        let window = self.counts.window(at);
        let width = self.counts.width;
        let overlap = width - self.counts.phase(at);
        let previous = Ratio::new_raw(i128::from(self.counts.of(window - 1)) * overlap, width);
        previous + i128::from(self.counts.of(window))
    }
}

impl Rule for Counter {
    fn memory(&self) -> i128 {
        self.counts.width
    }

    fn capacity(&self) -> u64 {
        self.limit
    }

    fn admits(&self, cost: u64, at: i128) -> bool {
        self.estimate(at) <= Ratio::from_integer(i128::from(self.limit) - i128::from(cost))
    }

    /// The estimate never rises while nothing is spent, and two windows on it is zero: halving
    /// finds the first time at which the cost is admitted.
    fn wait(&self, cost: u64, at: i128) -> i128 {
        let (mut refused, mut admitted) = (0, 2 * self.counts.width);
        while admitted - refused > 1 {
            let middle = refused + (admitted - refused) / 2;
            if self.admits(cost, at + middle) {
                admitted = middle;
            } else {
                refused = middle;
            }
        }
        admitted
    }

    fn remaining(&self, at: i128) -> u64 {
        let left = Ratio::from_integer(i128::from(self.limit)) - self.estimate(at);
        // A clock that was stepped to an earlier part of a window can leave less than nothing, and
        // so can another limit.
        u64::try_from(left.floor().to_integer()).unwrap_or(0)
    }

    /// What was spent in a window counts until the end of the one after it.
    fn reset_after(&self, at: i128) -> i128 {
        let window = self.counts.window(at);
        let spent = [window - 1, window].into_iter().filter(|w| self.counts.of(*w) > 0);
        spent.map(|w| (w + 2) * self.counts.width - at).max().unwrap_or(0)
    }

    fn charge(&mut self, cost: u64, at: i128) {
        self.counts.charge(cost, at);
    }

    fn refund(&mut self, tokens: u64, at: i128) -> u64 {
        self.counts.refund(tokens, at)
    }

    fn shift(&mut self, from: i128, to: i128) {
        self.counts.shift(from, to);
    }

    fn canonical(&self, last: i128) -> Vec<i128> {
        let window = self.counts.window(last);
        let (previous, current) = (self.counts.of(window - 1), self.counts.of(window));
        vec![previous.into(), current.into(), self.counts.phase(last)]
    }

    fn spent(&self, at: i128) -> Spent {
        let window = self.counts.window(at);
        let estimate = self.estimate(at);
        let counted = Counted::Counter {
            width: self.counts.width,
            before: self.counts.of(window - 1),
            present: self.counts.of(window),
            estimate: u64::try_from(estimate.ceil().to_integer()).unwrap_or(u64::MAX),
        };
        let of = BigInt::from(*estimate.denom()) * self.limit;
        Spent { fraction: Rational::new((*estimate.numer()).into(), of), counted }
    }

    fn take_over(&mut self, spent: &Spent, at: i128) {
        match spent.counted {
            Counted::Counter { width, before, present, .. } if width == self.counts.width => {
                self.counts.charge(before, at - width);
                self.counts.charge(present, at);
            }
            Counted::Counter { estimate, .. } => self.counts.charge(estimate, at),
            _ => self.counts.charge(spent.tokens(self.limit), at),
        }
    }

    fn copy(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

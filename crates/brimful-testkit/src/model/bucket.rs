//! The token bucket as the textbooks draw it: tokens that drip in up to the brim.

use num_bigint::BigInt;
use num_rational::Ratio;

use super::Rule;
use super::change::{Counted, Spent};

pub(super) type Rational = Ratio<BigInt>;

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// Tokens in the bucket at `as_of`.
    tokens: Rational,
    as_of: i128,
    capacity: u64,
    /// Tokens per nanosecond.
    rate: Rational,
}

impl Bucket {
    pub(super) fn new(tokens: u64, period: i128, capacity: u64) -> Self {
        let rate = Rational::new(tokens.into(), period.into());
        Self { tokens: whole(capacity), as_of: 0, capacity, rate }
    }

    fn tokens_at(&self, at: i128) -> Rational {
        let full = whole(self.capacity);
        if self.tokens == full {
            // Nothing drips into a full one.
            return full;
        }
        let dripped = &self.rate * BigInt::from(at - self.as_of);
        let tokens = &self.tokens + dripped;
        if tokens > full { full } else { tokens }
    }

    fn missing_at(&self, at: i128) -> Rational {
        whole(self.capacity) - self.tokens_at(at)
    }

    /// For n tokens per P ns with g = gcd(n, P), a tick is the P/g-th part of a token: the least that
    /// drips in any number of nanoseconds. (The rate is n/P in lowest terms.)
    fn up_to_a_tick(&self, tokens: Rational) -> Rational {
        let ticks = self.rate.denom();
        (tokens * ticks).ceil() / ticks
    }

    /// Whole nanoseconds until so many tokens have dripped in.
    fn time_for(&self, tokens: Rational) -> i128 {
        up(&(tokens / &self.rate))
    }
}

impl Rule for Bucket {
    fn memory(&self) -> i128 {
        self.time_for(whole(self.capacity))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn admits(&self, cost: u64, at: i128) -> bool {
        self.tokens_at(at) >= whole(cost)
    }

    fn wait(&self, cost: u64, at: i128) -> i128 {
        self.time_for(whole(cost) - self.tokens_at(at))
    }

    fn remaining(&self, at: i128) -> u64 {
        u64::try_from(self.tokens_at(at).floor().to_integer()).unwrap_or(u64::MAX)
    }

    fn reset_after(&self, at: i128) -> i128 {
        self.time_for(self.missing_at(at))
    }

    fn charge(&mut self, cost: u64, at: i128) {
        self.tokens = self.tokens_at(at) - whole(cost);
        self.as_of = at;
    }

    fn refund(&mut self, tokens: u64, at: i128) -> u64 {
        let missing = u64::try_from(up(&self.missing_at(at))).unwrap_or(u64::MAX);
        let poured = self.tokens_at(at) + whole(tokens);
        let full = whole(self.capacity);
        self.tokens = if poured > full { full } else { poured };
        self.as_of = at;
        tokens.min(missing)
    }

    fn shift(&mut self, from: i128, to: i128) {
        self.tokens = self.tokens_at(from);
        self.as_of = to;
    }

    fn canonical(&self, last: i128) -> Vec<i128> {
        let tokens = self.tokens_at(last);
        [tokens.numer(), tokens.denom()].map(|n| i128::try_from(n).unwrap_or(i128::MAX)).into()
    }

    fn spent(&self, at: i128) -> Spent {
        let fraction = self.missing_at(at) / whole(self.capacity);
        Spent { fraction, counted: Counted::Nothing }
    }

    fn take_over(&mut self, spent: &Spent, at: i128) {
        let full = whole(self.capacity);
        let missing = self.up_to_a_tick(&spent.fraction * &full);
        self.tokens = full.clone() - missing.min(full);
        self.as_of = at;
    }

    fn copy(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

fn whole(tokens: u64) -> Rational {
    Rational::from_integer(tokens.into())
}

fn up(number: &Rational) -> i128 {
    i128::try_from(number.ceil().to_integer()).unwrap_or(i128::MAX)
}

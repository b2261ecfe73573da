//! Limits of a few tokens in a few nanoseconds, in the fewest whole numbers.
//!
//! So few states can all be visited. Each form says what a limit remembers as of one nanosecond,
//! how that changes, and what the documentation states as its worst burst.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use brimful::{Algorithm, Limit};

/// A limit in whole numbers: what it remembers as of one nanosecond, and its worst burst.
pub trait Form {
    /// What is remembered.
    type State: Clone + Debug + Eq + Hash;

    /// The limit itself.
    fn limit(&self) -> Limit;
    /// After how many nanoseconds the time of day looks the same.
    fn phases(&self) -> u64;
    /// What a key that was never seen has.
    fn fresh(&self) -> Self::State;
    /// One token more, if there is room.
    fn spend(&self, state: &Self::State, phase: u64) -> Option<Self::State>;
    /// One nanosecond later, when the phase is `phase`.
    fn tick(&self, state: &Self::State, phase: u64) -> Self::State;
    /// The most that may be admitted from one nanosecond to `t` later, both included; and whether
    /// someone who tries gets that much.
    fn worst(&self, t: u64) -> (u64, bool);
}

/// A token bucket: the level, in units of `1/period` tokens.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Tokens per period.
    pub tokens: u64,
    /// In nanoseconds.
    pub period: u64,
    /// The most at once.
    pub capacity: u64,
}

impl Form for Bucket {
    type State = u64;

    fn limit(&self) -> Limit {
        let limit = Limit::new(self.tokens, Duration::from_nanos(self.period));
        limit.and_then(|limit| limit.burst(self.capacity)).expect("a small limit")
    }

    fn phases(&self) -> u64 {
        1
    }

    fn fresh(&self) -> u64 {
        self.capacity * self.period
    }

    fn spend(&self, level: &u64, _: u64) -> Option<u64> {
        level.checked_sub(self.period)
    }

    fn tick(&self, level: &u64, _: u64) -> u64 {
        self.fresh().min(level + self.tokens)
    }

    fn worst(&self, t: u64) -> (u64, bool) {
        let Self { tokens, period, capacity } = *self;
        let divisor = gcd(tokens, period);
        let (refill, token) = (tokens / divisor, period / divisor);
        let bound = capacity + tokens * t / period;
        // A bucket that is nearly too small to hold what drips in between two whole nanoseconds
        // loses some of it. With room for one token, tokens come every ceil(P/n) ns.
        let roomy = capacity * token + 1 >= token + refill;
        let single = t / period.div_ceil(tokens) + 1;
        if capacity == 1 && !roomy { (single, true) } else { (bound, roomy) }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A fixed window: how many in this window.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    /// Tokens per window.
    pub limit: u64,
    /// In nanoseconds.
    pub width: u64,
}

impl Form for FixedWindow {
    type State = u64;

    fn limit(&self) -> Limit {
        windowed(self.limit, self.width, Algorithm::FixedWindow)
    }

    fn phases(&self) -> u64 {
        self.width
    }

    fn fresh(&self) -> u64 {
        0
    }

    fn spend(&self, count: &u64, _: u64) -> Option<u64> {
        (*count < self.limit).then_some(count + 1)
    }

    fn tick(&self, count: &u64, phase: u64) -> u64 {
        if phase == 0 { 0 } else { *count }
    }

    fn worst(&self, t: u64) -> (u64, bool) {
        (self.limit * (t.div_ceil(self.width) + 1), true)
    }
}

fn windowed(limit: u64, width: u64, algorithm: Algorithm) -> Limit {
    let limit = Limit::new(limit, Duration::from_nanos(width));
    limit.and_then(|limit| limit.algorithm(algorithm)).expect("a small limit")
}

/// A sliding log: the age of each token spent, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct SlidingLog {
    /// Tokens per window.
    pub limit: u64,
    /// In nanoseconds.
    pub width: u64,
}

impl Form for SlidingLog {
    type State = Vec<u8>;

    fn limit(&self) -> Limit {
        windowed(self.limit, self.width, Algorithm::SlidingLog)
    }

    fn phases(&self) -> u64 {
        1
    }

    fn fresh(&self) -> Vec<u8> {
        Vec::new()
    }

    fn spend(&self, ages: &Vec<u8>, _: u64) -> Option<Vec<u8>> {
        ((ages.len() as u64) < self.limit).then(|| [ages.as_slice(), &[0]].concat())
    }

    fn tick(&self, ages: &Vec<u8>, _: u64) -> Vec<u8> {
        ages.iter().map(|age| age + 1).filter(|age| u64::from(*age) < self.width).collect()
    }

    fn worst(&self, t: u64) -> (u64, bool) {
        (self.limit * (t / self.width + 1), true)
    }
}

/// A sliding window counter: how many in the window before, and in this one.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    /// Tokens per window.
    pub limit: u64,
    /// In nanoseconds.
    pub width: u64,
}

impl Form for SlidingWindow {
    type State = (u64, u64);

    fn limit(&self) -> Limit {
        windowed(self.limit, self.width, Algorithm::SlidingWindow)
    }

    fn phases(&self) -> u64 {
        self.width
    }

    fn fresh(&self) -> (u64, u64) {
        (0, 0)
    }

    fn spend(&self, (previous, current): &(u64, u64), phase: u64) -> Option<(u64, u64)> {
        let weight = previous * (self.width - phase) + (current + 1) * self.width;
        (weight <= self.limit * self.width).then_some((*previous, current + 1))
    }

    fn tick(&self, (previous, current): &(u64, u64), phase: u64) -> (u64, u64) {
        if phase == 0 { (*current, 0) } else { (*previous, *current) }
    }

    fn worst(&self, t: u64) -> (u64, bool) {
        (self.limit + self.limit * t.saturating_sub(1) / self.width, t <= self.width)
    }
}

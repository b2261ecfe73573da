//! Operations, limits and keys drawn from a seed.
//!
//! The generator is written out here, in integers alone, so that a seed means the same trace on
//! every machine and with every version of every dependency. Golden tests rest on that: a change
//! to what is drawn changes their constants.

mod limits;
mod random;
#[cfg(test)]
mod tests;

use brimful::{Algorithm, Nanos, Policy};

use crate::Outcome;
pub use limits::{limit, nearest_limit, policy, policy_of, small_limit};
pub use random::{SplitMix64, mix};

/// Which of the keys 0, 1, 2, ... an operation is about.
#[derive(Clone, Copy, Debug)]
pub enum Keys {
    /// So many keys, all as likely.
    Uniform(u32),
    /// So many keys, key `k` about as likely as `1 / (k + 1)`: each doubling of the rank is as
    /// likely as any other, and within it all ranks are.
    Zipf(u32),
}

impl Keys {
    /// A key.
    pub fn draw(self, rng: &mut SplitMix64) -> u32 {
        let key = match self {
            Self::Uniform(count) => rng.below(count.into()),
            Self::Zipf(count) => {
                let count = u64::from(count.max(1));
                let octave = 1_u64 << rng.below(u64::from(count.ilog2()) + 1);
                rng.between(octave, (2 * octave - 1).min(count)) - 1
            }
        };
        u32::try_from(key).unwrap_or(0)
    }
}

/// What is asked of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Spend.
    Acquire,
    /// Say what spending would say.
    Peek,
    /// Give back.
    Refund,
    /// Forget.
    Reset,
}

/// When an operation happens, seen from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// At the same reading.
    Stay,
    /// So many nanoseconds later.
    Forward(u64),
    /// So many nanoseconds earlier.
    Back(u64),
    /// Just before the next multiple of this width (`true`), or right at it.
    Edge(u64, bool),
    /// At the latest reading there was.
    Return,
    /// As the last denial advised, with the same cost.
    Hint,
    /// One nanosecond before that, with the same cost.
    HintEarly,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What is asked.
    pub verb: Verb,
    /// The cost, or the tokens to give back.
    pub amount: u64,
    /// When.
    pub time: Time,
}

/// Which amounts and spans of time matter to a policy.
#[derive(Clone, Debug)]
pub struct Scale {
    limits: Vec<LimitScale>,
    tolerance: u64,
}

#[derive(Clone, Copy, Debug)]
struct LimitScale {
    capacity: u64,
    token_ns: u64,
    period_ns: u64,
    fill_ns: u64,
}

impl Scale {
    /// Times in a trace move by at most this much at once, so that hundreds of them stay below
    /// the end of time.
    const LONGEST_STEP: u64 = 1 << 55;

    /// The scale of `policy`; for a policy without limits that of `1/s`.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let short = |ns: u128| u64::try_from(ns).unwrap_or(u64::MAX).min(Self::LONGEST_STEP);
        let mut limits: Vec<LimitScale> = Vec::new();
        let mut tolerance = 10_000_000_000;
        for limit in policy.limits() {
            let (tokens, period) = (u128::from(limit.tokens()), limit.period().as_nanos());
            let fill = match limit.chosen_algorithm() {
                Algorithm::TokenBucket => (u128::from(limit.capacity()) * period).div_ceil(tokens),
                _ => period,
            };
            tolerance = tolerance.max(short(fill));
            limits.push(LimitScale {
                capacity: limit.capacity(),
                token_ns: short(period.div_ceil(tokens)),
                period_ns: short(period),
                fill_ns: short(fill),
            });
        }
        if limits.is_empty() {
            let second = 1_000_000_000;
            let [token_ns, period_ns, fill_ns] = [second; 3];
            limits.push(LimitScale { capacity: 1, token_ns, period_ns, fill_ns });
        }
        Self { limits, tolerance }
    }
}

/// An operation before it is fitted to a policy: five small numbers, each simpler the smaller it
/// is, so that a test that shrinks them shrinks the operation.
#[derive(Clone, Copy, Debug)]
pub struct Draft {
    /// Which verb, below [`Draft::VERBS`].
    pub verb: u8,
    /// Which kind of amount, below [`Draft::KINDS`].
    pub amount: u8,
    /// How much of it.
    pub much: u16,
    /// Which kind of step in time, below [`Draft::KINDS`].
    pub time: u8,
    /// How far.
    pub far: u16,
}

impl Draft {
    /// How many values [`verb`](Self::verb) has.
    pub const VERBS: u8 = 64;
    /// How many kinds of amounts and of steps there are.
    pub const KINDS: u8 = 32;

    /// A random draft.
    pub fn draw(rng: &mut SplitMix64) -> Self {
        let bits = rng.next_u64();
        let [a, b, c, d, e, f, g, _] = bits.to_le_bytes();
        Self {
            verb: a % Self::VERBS,
            amount: b % Self::KINDS,
            much: u16::from_le_bytes([c, d]),
            time: e % Self::KINDS,
            far: u16::from_le_bytes([f, g]),
        }
    }

    /// The operation for a policy of this scale.
    #[must_use]
    pub fn fit(self, scale: &Scale) -> Op {
        let verb = match self.verb {
            0..=43 => Verb::Acquire,
            44..=52 => Verb::Peek,
            53..=62 => Verb::Refund,
            _ => Verb::Reset,
        };
        let pick = |fine: u16| scale.limits[usize::from(fine) % scale.limits.len()];
        Op {
            verb,
            amount: self.amount_of(pick(self.much).capacity),
            time: self.time_of(pick(self.far), scale.tolerance),
        }
    }

    fn amount_of(self, capacity: u64) -> u64 {
        let much = u64::from(self.much);
        match self.amount {
            0 => 0,
            1..=9 => 1,
            10..=15 => 1 + much % 8,
            // From a sixteenth of the capacity to all of it.
            kind @ 16..=25 => part(capacity, self.much, 16 + (kind - 16) / 2),
            26 | 27 => capacity,
            28 => capacity.saturating_sub(much % 4),
            29 => capacity + 1,
            30 => capacity + 1 + part(capacity, self.much, 12),
            _ => u64::MAX - much,
        }
    }

    fn time_of(self, limit: LimitScale, tolerance: u64) -> Time {
        let far = self.far;
        let few = 1 + u64::from(far % 16);
        match self.time {
            0..=6 => Time::Stay,
            7 => Time::Return,
            8..=11 => Time::Forward(few),
            12..=15 => Time::Forward(part(limit.token_ns, far, 14)),
            16..=18 => Time::Forward(part(limit.period_ns, far, 15)),
            19 | 20 => Time::Edge(limit.period_ns, far.is_multiple_of(2)),
            21 => Time::Forward(part(limit.fill_ns, far, 15)),
            22..=25 => Time::Hint,
            26 => Time::HintEarly,
            27 => Time::Back(few),
            28 => Time::Back(part(tolerance, far, 16)),
            // One less than the tolerance, the tolerance, one more.
            29 => Time::Back(tolerance - 1 + u64::from(far % 3)),
            30 => Time::Back(tolerance + 1 + part(tolerance, far, 16)),
            _ if far < 2048 => Time::Forward(part(Scale::LONGEST_STEP, far, 11)),
            _ => Time::Back(part(limit.token_ns, far, 14)),
        }
    }
}

/// `of * (fine + 1) / 2^shift`.
fn part(of: u64, fine: u16, shift: u8) -> u64 {
    let part = (u128::from(of) * (u128::from(fine) + 1)) >> shift;
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The clock of one key's trace: turns steps into readings, and remembers the last advice.
#[derive(Clone, Debug)]
pub struct Cursor {
    now: Nanos,
    latest: Nanos,
    /// Readings earlier than the one before are raised to it.
    forward: bool,
    /// A cost that was denied, and when it should be admitted.
    advice: Option<(u64, Nanos)>,
}

impl Cursor {
    /// A clock that reads `now`.
    #[must_use]
    pub const fn new(now: Nanos) -> Self {
        Self { now, latest: now, forward: false, advice: None }
    }

    /// A clock that reads `now` and never goes back, whatever the steps say.
    #[must_use]
    pub const fn forward(now: Nanos) -> Self {
        Self { forward: true, ..Self::new(now) }
    }

    /// The verb, amount and reading of the next operation.
    pub fn next(&mut self, op: Op) -> (Verb, u64, Nanos) {
        let ns = self.now.as_nanos();
        let (verb, amount, to) = match (op.time, self.advice) {
            (Time::Hint, Some((cost, then))) => (Verb::Acquire, cost, then.as_nanos()),
            (Time::HintEarly, Some((cost, then))) => (Verb::Acquire, cost, then.as_nanos() - 1),
            (Time::Stay | Time::Hint | Time::HintEarly, _) => (op.verb, op.amount, ns),
            (Time::Forward(by), _) => (op.verb, op.amount, ns.saturating_add(by)),
            (Time::Back(by), _) => (op.verb, op.amount, ns.saturating_sub(by)),
            (Time::Edge(width, early), _) => {
                let edge = (ns / width + 1).saturating_mul(width);
                (op.verb, op.amount, if early { edge - 1 } else { edge })
            }
            (Time::Return, _) => (op.verb, op.amount, self.latest.as_nanos()),
        };
        let earliest = if self.forward { self.now } else { Nanos::ZERO };
        self.now = Nanos::from_nanos(to).max(earliest);
        self.latest = self.latest.max(self.now);
        (verb, amount, self.now)
    }

    /// Takes note of what a limiter answered to `cost` at the present reading.
    pub fn saw(&mut self, cost: u64, outcome: &Outcome) {
        if let Some(wait) = outcome.retry {
            let then = u128::from(self.now.as_nanos()) + wait;
            let then = u64::try_from(then).ok().map(Nanos::from_nanos);
            self.advice = then.filter(|then| *then < Nanos::MAX).map(|then| (cost, then));
        }
    }
}

/// Operations on many keys under one policy, without end.
#[derive(Clone, Debug)]
pub struct Trace {
    rng: SplitMix64,
    keys: Keys,
    scale: Scale,
}

impl Trace {
    /// The trace of `seed`.
    #[must_use]
    pub fn new(seed: u64, keys: Keys, policy: &Policy) -> Self {
        Self { rng: SplitMix64::new(seed), keys, scale: Scale::of(policy) }
    }
}

impl Iterator for Trace {
    type Item = (u32, Op);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.keys.draw(&mut self.rng);
        Some((key, Draft::draw(&mut self.rng).fit(&self.scale)))
    }
}

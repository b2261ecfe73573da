//! Token bucket: a level that refills at a constant rate up to a capacity.
//!
//! The state is one number, the **debt**: what is missing from a full bucket, in ticks. For `n`
//! tokens per `P` ns with `g = gcd(n, P)`, one tick is `g/n` ns; a nanosecond refills `n/g` ticks
//! and a token is worth `P/g` ticks. Both are whole, so nothing is ever rounded: not by polling
//! often, not over any number of calls.
//!
//! The generic cell rate algorithm (GCRA) is the same machine seen from the other side: its
//! theoretical arrival time is `last + debt`, its emission interval is one token's ticks, its
//! tolerance `capacity - 1` emission intervals. `tests/exhaustive.rs` walks all three forms
//! (tokens with last refill, full-at time, debt) through every reachable state side by side.

use core::num::NonZero;

use super::{Owed, Verdict, divided, gcd, product, share};

/// The constants of one token-bucket limit.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    /// Ticks refilled in one nanosecond, at most 10^12.
    refill: NonZero<u64>,
    /// Ticks that one token is worth, at most 365 days in nanoseconds (below 2^55).
    token: NonZero<u64>,
    /// Ticks of a full bucket: `capacity * token`, below 2^95.
    brim: u128,
    /// Whole tokens of a full bucket, at most 10^12.
    capacity: u64,
}

impl TokenBucket {
    pub(crate) fn new(tokens: NonZero<u64>, period: NonZero<u64>, capacity: u64) -> Self {
        let divisor = gcd(tokens, period);
        // A divisor is not above the number it divides: neither quotient is zero.
        let refill = NonZero::new(tokens.get() / divisor).unwrap_or(NonZero::<u64>::MIN);
        let token = NonZero::new(period.get() / divisor).unwrap_or(NonZero::<u64>::MIN);
        Self::of_constants(refill, token, capacity)
    }

    /// From ticks refilled in one nanosecond, ticks that one token is worth, and whole tokens.
    #[inline(always)]
    pub(crate) fn of_constants(refill: NonZero<u64>, token: NonZero<u64>, capacity: u64) -> Self {
        Self { refill, token, brim: product(capacity, token.get()), capacity }
    }

    /// What [`of_constants`](Self::of_constants) makes the bucket from.
    pub(crate) fn constants(&self) -> [u64; 3] {
        [self.refill.get(), self.token.get(), self.capacity]
    }

    /// The longest that an empty bucket takes to fill, in nanoseconds, rounded up.
    pub(crate) fn fill_time(&self) -> u128 {
        self.time_to_refill(self.brim)
    }

    /// The debt after `elapsed` nanoseconds.
    #[inline]
    pub(crate) fn settle(&self, debt: u128, elapsed: u64) -> u128 {
        debt.saturating_sub(product(self.refill.get(), elapsed))
    }

    /// Whether the debt with `cost` is at most a full bucket. (A cost above the capacity alone is
    /// worth more than that.)
    #[inline]
    pub(crate) fn admits(&self, debt: u128, cost: u64) -> bool {
        self.charge(debt, cost) <= self.brim
    }

    pub(crate) fn verdict(&self, debt: u128, cost: u64) -> Verdict {
        if self.admits(debt, cost) {
            Verdict::Admit
        } else if cost > self.capacity {
            Verdict::Never
        } else {
            let excess = self.charge(debt, cost).saturating_sub(self.brim);
            Verdict::Wait(self.time_to_refill(excess))
        }
    }

    /// The debt with `cost` more tokens owed. At most `2 * brim`, below 2^96.
    #[inline]
    pub(crate) fn charge(&self, debt: u128, cost: u64) -> u128 {
        // A debt is below 2^96, and the product below 2^64 * 2^55.
        debt.wrapping_add(product(cost, self.token.get()))
    }

    /// Gives `tokens` back, at most what is owed, and says how many of them found a debt to pay;
    /// the last of these may have paid only a part of a token.
    pub(crate) fn refund(&self, debt: u128, tokens: u64) -> (u128, u64) {
        let paid = product(tokens, self.token.get());
        (debt.saturating_sub(paid), self.owed_tokens(debt).min(tokens))
    }

    /// Ticks of a full bucket.
    pub(crate) fn brim(&self) -> u128 {
        self.brim
    }

    /// Whole tokens left, and nanoseconds until one more is; zero when the bucket is full.
    #[inline]
    pub(crate) fn left(&self, debt: u128) -> (u64, u64) {
        let (left, rest) = divided(self.brim.saturating_sub(debt), self.token);
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        if left == self.capacity {
            return (left, 0);
        }
        // What is missing of a token, of which `rest` is a part; rounded up. The sum is below 2^55 + 2^40.
        let missing = self.token.get().wrapping_sub(rest);
        (left, missing.wrapping_add(self.refill.get()).wrapping_sub(1) / self.refill)
    }

    pub(crate) fn reset_after(&self, debt: u128) -> u128 {
        self.time_to_refill(debt)
    }

    pub(crate) fn owed(&self, debt: u128) -> Owed {
        Owed { share: share(debt, self.brim), tokens: self.owed_tokens(debt) }
    }

    fn owed_tokens(&self, debt: u128) -> u64 {
        u64::try_from(debt.div_ceil(self.token.get().into())).unwrap_or(u64::MAX)
    }

    /// Nanoseconds until `ticks` are refilled, rounded up: tight, because one nanosecond less
    /// refills fewer.
    fn time_to_refill(&self, ticks: u128) -> u128 {
        let (whole, rest) = divided(ticks, self.refill);
        whole.saturating_add(u128::from(rest > 0))
    }
}

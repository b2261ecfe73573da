//! The worst bursts by formula. `brimful-testkit/tests/exhaustive.rs` finds them to be the worst
//! over every reachable state of small limits.

use brimful::{Algorithm, Limit};

/// How the bound reads, for N tokens per period W, capacity C, and a time T of at least 1 ns from
/// the first to the last request.
pub(super) const fn formula(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::TokenBucket => "C + floor(N T / W)",
        Algorithm::FixedWindow => "N (ceil(T / W) + 1)",
        Algorithm::SlidingLog => "N (floor(T / W) + 1)",
        Algorithm::SlidingWindow => "N + floor(N (T - 1ns) / W)",
    }
}

/// The most tokens that can be admitted from one time to another that is `t` nanoseconds later,
/// both included.
pub(super) fn admitted(limit: &Limit, t: u64) -> u64 {
    // Tokens are at most 10^12 < 2^40, times below 2^64, and a period is not zero.
    let (tokens, period) = (u128::from(limit.tokens()), limit.period().as_nanos().max(1));
    let t = u128::from(t);
    let most = match limit.chosen_algorithm() {
        Algorithm::TokenBucket => u128::from(limit.capacity()) + tokens * t / period,
        Algorithm::FixedWindow => tokens * (t.div_ceil(period) + 1),
        Algorithm::SlidingLog => tokens * (t / period + 1),
        Algorithm::SlidingWindow => tokens + tokens * t.saturating_sub(1) / period,
    };
    u64::try_from(most).unwrap_or(u64::MAX)
}

//! Limits and policies drawn at random.

use std::time::Duration;

use brimful::{Algorithm, Limit, Policy};

use super::SplitMix64;

const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
/// The longest that an empty bucket may take to fill.
const MAX_FILL: u128 = 1_000_000_000 * YEAR as u128;

/// The valid limit nearest to `tokens` per `period_ns` with `burst`. Only a token bucket has the
/// burst; 0 means none.
///
/// # Panics
/// The ranges of [`Limit`] have changed and this has not.
#[must_use]
pub fn nearest_limit(algorithm: Algorithm, tokens: u64, period_ns: u64, burst: u64) -> Limit {
    let period = period_ns.clamp(1, YEAR);
    let most = match algorithm {
        Algorithm::SlidingLog => Limit::MAX_LOG_TOKENS,
        _ => Limit::MAX_TOKENS,
    };
    let tokens = tokens.clamp(1, most.min(period));
    let limit = Limit::new(tokens, Duration::from_nanos(period)).expect("a limit within range");
    if algorithm == Algorithm::TokenBucket && burst > 0 {
        let filled_in_time = MAX_FILL * u128::from(tokens) / u128::from(period);
        let most = u64::try_from(filled_in_time).unwrap_or(u64::MAX).min(Limit::MAX_TOKENS);
        return limit.burst(burst.min(most)).expect("a burst within range");
    }
    limit.algorithm(algorithm).expect("an algorithm without burst")
}

/// A limit from anywhere in the range.
pub fn limit(rng: &mut SplitMix64, algorithm: Algorithm) -> Limit {
    let tokens = rng.magnitude(Limit::MAX_TOKENS);
    let period = match rng.below(4) {
        0 => rng.magnitude(YEAR / 1_000_000_000) * 1_000_000_000,
        _ => rng.magnitude(YEAR),
    };
    let burst = match rng.below(2) {
        0 => 0,
        _ => rng.magnitude(Limit::MAX_TOKENS),
    };
    nearest_limit(algorithm, tokens, period, burst)
}

/// A limit of a few tokens in a few nanoseconds, whose states can be counted.
pub fn small_limit(rng: &mut SplitMix64, algorithm: Algorithm) -> Limit {
    nearest_limit(algorithm, rng.between(1, 6), rng.between(1, 12), rng.below(6))
}

/// A policy of `limits`, each with a name of its own.
///
/// # Panics
/// There are no limits, or more than 8.
#[must_use]
pub fn policy_of(limits: Vec<Limit>) -> Policy {
    let named = limits.into_iter().enumerate().map(|(i, limit)| {
        limit.named(&format!("limit-{i}")).expect("a name of letters and digits")
    });
    Policy::new(named).expect("1 to 8 limits")
}

/// A policy of `count` (1 to 8) limits from anywhere in the range, the algorithms mixed.
pub fn policy(rng: &mut SplitMix64, count: usize) -> Policy {
    let mut draw = || {
        let algorithm = match rng.below(4) {
            0 => Algorithm::TokenBucket,
            1 => Algorithm::FixedWindow,
            2 => Algorithm::SlidingLog,
            _ => Algorithm::SlidingWindow,
        };
        limit(rng, algorithm)
    };
    policy_of((0..count).map(|_| draw()).collect())
}

//! The material of [`trace`](crate::trace) as `proptest` strategies.

use brimful::{Algorithm, Limit, Nanos, Policy};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use crate::trace::{Draft, nearest_limit, policy_of};

/// 100 years.
const CENTURY: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// A number of up to `bits` bits, each number of bits as likely.
fn magnitude(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>()).prop_map(|(bits, raw)| if bits == 0 { 0 } else { raw >> (64 - bits) })
}

/// A limit of `algorithm` from anywhere in the range: 1 per year to 10^9 per second, capacity up
/// to 10^12. Half of the periods are whole seconds; half of the buckets have no burst.
pub fn limit(algorithm: Algorithm) -> impl Strategy<Value = Limit> {
    const SECOND: u64 = 1_000_000_000;
    let period = prop_oneof![magnitude(55), magnitude(25).prop_map(|secs| secs * SECOND)];
    let burst = prop_oneof![Just(0), magnitude(40)];
    (magnitude(40), period, burst)
        .prop_map(move |(tokens, period, burst)| nearest_limit(algorithm, tokens, period, burst))
}

/// A policy of so many limits, of any algorithms.
pub fn policy(limits: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Policy> {
    let any_limit = prop_oneof![
        limit(Algorithm::TokenBucket),
        limit(Algorithm::FixedWindow),
        limit(Algorithm::SlidingLog),
        limit(Algorithm::SlidingWindow),
    ];
    proptest::collection::vec(any_limit, limits).prop_map(policy_of)
}

/// A time within 100 years of the epoch.
pub fn now() -> impl Strategy<Value = Nanos> {
    prop_oneof![0..=CENTURY, magnitude(60)].prop_map(|ns| Nanos::from_nanos(ns.min(CENTURY)))
}

/// An operation, to be fitted to a policy.
pub fn draft() -> impl Strategy<Value = Draft> {
    (0..Draft::VERBS, 0..Draft::KINDS, any::<u16>(), 0..Draft::KINDS, any::<u16>())
        .prop_map(|(verb, amount, much, time, far)| Draft { verb, amount, much, time, far })
}

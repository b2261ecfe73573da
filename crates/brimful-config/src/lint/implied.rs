//! Which limits of a policy never refuse what another of its limits admits.

use brimful::{Algorithm, Limit};

/// Whether `limit` admits whatever `other` admits, when both stand in one policy from the first
/// request of a key on, so that they are charged alike and see the same times.
///
/// Only pairs of one algorithm are told, because a clock that is stepped and tokens that are refunded
/// act on them alike:
///
/// * **Token buckets**, when neither the capacity nor the rate is smaller. What can be spent of `limit`
///   is never less than of `other`: both start full; a charge takes the same from both; a refund
///   fills both by the same up to their capacity; and in a time in which `other` gains `r`, `limit`
///   gains at least `r` or becomes full, which is at least the capacity of `other`.
/// * **Fixed windows and sliding windows** of the same period, when the tokens are not fewer. Both count
///   the same requests in the same windows, so that their counts, and their estimates, are equal.
/// * **Sliding logs**, when the period is not longer and the tokens are not fewer. The requests in the
///   last shorter period are among those in the last longer one.
pub(super) fn is_implied(limit: &Limit, other: &Limit) -> bool {
    if limit.chosen_algorithm() != other.chosen_algorithm() {
        return false;
    }
    let as_many = limit.tokens() >= other.tokens();
    match limit.chosen_algorithm() {
        Algorithm::TokenBucket => limit.capacity() >= other.capacity() && is_as_fast(limit, other),
        Algorithm::FixedWindow | Algorithm::SlidingWindow => {
            limit.period() == other.period() && as_many
        }
        Algorithm::SlidingLog => limit.period() <= other.period() && as_many,
    }
}

/// Whether the rate is at least the other's. Tokens are below 2^40 and periods below 2^55.
fn is_as_fast(limit: &Limit, other: &Limit) -> bool {
    let left = u128::from(limit.tokens()).saturating_mul(other.period().as_nanos());
    let right = u128::from(other.tokens()).saturating_mul(limit.period().as_nanos());
    left >= right
}

//! What a limit admits at worst, in words.

use brimful::{Algorithm, Limit};

/// The bound of one limit, as the crate page of [`brimful`] has it.
pub(crate) fn of(limit: &Limit) -> String {
    let tokens = limit.tokens();
    let quota = quota(limit);
    let period = period(&quota);
    match limit.chosen_algorithm() {
        Algorithm::TokenBucket => {
            let capacity = limit.capacity();
            format!("at most {capacity} at once, and {capacity} + ({quota}) x T in any time T")
        }
        Algorithm::FixedWindow => {
            let twice = tokens.saturating_mul(2);
            format!(
                "at most {tokens} in each window of {period}, and {twice} at once where two windows meet"
            )
        }
        Algorithm::SlidingLog => format!("at most {tokens} in any {period}"),
        Algorithm::SlidingWindow => {
            let most = tokens.saturating_mul(2).saturating_sub(1);
            format!("at most {tokens} in any {period} by its own estimate, and {most} in truth")
        }
    }
}

/// `100/min`, `5 per 30s`: the limit without its name, its burst and its algorithm.
fn quota(limit: &Limit) -> String {
    let plain = Limit::new(limit.tokens(), limit.period());
    plain.map_or_else(|_| limit.to_string(), |plain| plain.to_string())
}

/// `1min`, `30s`.
fn period(quota: &str) -> String {
    match quota.split_once('/') {
        Some((_, unit)) => format!("1{unit}"),
        None => quota.split_once(" per ").map_or("", |(_, period)| period).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn each_algorithm_has_its_bound() {
        let cases = [
            ("name: 100/min burst 20", "at most 20 at once, and 20 + (100/min) x T in any time T"),
            ("5 per 30s", "at most 5 at once, and 5 + (5 per 30s) x T in any time T"),
            (
                "100/min fixed-window",
                "at most 100 in each window of 1min, and 200 at once where two windows meet",
            ),
            ("5 per 30s sliding-log", "at most 5 in any 30s"),
            (
                "100/day sliding-window",
                "at most 100 in any 1day by its own estimate, and 199 in truth",
            ),
        ];
        for (limit, bound) in cases {
            assert_eq!(of(&limit.parse().unwrap()), bound, "{limit}");
        }
    }
}

//! What a limit promises in the worst case, in words.

use brimful::{Algorithm, Limit, Policy};

/// One phrase for one limit.
pub(crate) fn of(limit: &Limit) -> String {
    let tokens = limit.tokens();
    // The quota alone is the name of the same limit without its name and burst.
    let plain = Limit::new(tokens, limit.period());
    let quota = plain.as_ref().map_or_else(|_| limit.name(), Limit::name);
    let period = match quota.split_once('/') {
        Some((_, unit)) => format!("1{unit}"),
        None => quota.rsplit(' ').next().unwrap_or(quota).to_owned(),
    };
    let twice = tokens.saturating_mul(2);
    match limit.chosen_algorithm() {
        Algorithm::TokenBucket => {
            let capacity = limit.capacity();
            format!("at most {capacity} at once, and {capacity} + T x {quota} in any time T")
        }
        Algorithm::FixedWindow => format!(
            "at most {tokens} in each {period} of the clock; across its boundary {twice}, in as \
             short a time as you like"
        ),
        Algorithm::SlidingLog => format!("at most {tokens} in any {period}, exactly"),
        Algorithm::SlidingWindow => format!(
            "at most {tokens} in any {period} by its own estimate; in truth up to about {twice}"
        ),
    }
}

/// A limit with its algorithm, without which a token bucket is written.
pub(crate) fn spec(limit: &Limit) -> String {
    let (spec, algorithm) = (limit.to_string(), limit.chosen_algorithm().name());
    if spec.ends_with(algorithm) { spec } else { format!("{spec} {algorithm}") }
}

/// One phrase for a policy that is a word.
pub(crate) fn of_word(policy: &Policy) -> Option<(&'static str, &'static str)> {
    if policy.is_unlimited() {
        Some(("unlimited", "everything is admitted"))
    } else if policy.is_blocked() {
        Some(("blocked", "nothing is admitted"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_worst_case_in_words() {
        for (limit, words) in [
            ("10/min burst 20", "at most 20 at once, and 20 + T x 10/min in any time T"),
            ("api: 5 per 30s", "at most 5 at once, and 5 + T x 5 per 30s in any time T"),
            ("10/s sliding-log", "at most 10 in any 1s, exactly"),
            ("10 per 30s sliding-log", "at most 10 in any 30s, exactly"),
            (
                "10/day fixed-window",
                "at most 10 in each 1day of the clock; across its boundary 20, in as short a time \
                 as you like",
            ),
            (
                "10/h sliding-window",
                "at most 10 in any 1h by its own estimate; in truth up to about 20",
            ),
        ] {
            assert_eq!(super::of(&limit.parse().unwrap()), words);
        }
    }
}

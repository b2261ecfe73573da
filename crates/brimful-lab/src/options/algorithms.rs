//! One policy under each algorithm.

use brimful::{Algorithm, Limit, Policy};

use super::policy;
use crate::error::Error;

/// The policy that the specs name, for a replay under all algorithms: no limit names its own.
///
/// # Errors
/// As [`policy`](super::policy()); a limit names an algorithm, or the policy is a word.
pub fn policy_of_any_algorithm(specs: &[impl AsRef<str>]) -> Result<Policy, Error> {
    let whole = policy(specs, None)?;
    for spec in specs.iter().map(|spec| spec.as_ref().trim()) {
        let own = spec.split_whitespace().last().and_then(|word| word.parse::<Algorithm>().ok());
        if let Some(own) = own {
            return Err(Error::usage(format!(
                "the limit `{spec}` names {own}, and the replay is for all algorithms; leave it out"
            )));
        }
    }
    AllAlgorithms::of(&whole)?;
    Ok(whole)
}

/// A policy as each algorithm can enforce it.
#[derive(Clone, Debug)]
pub(crate) struct AllAlgorithms {
    /// Those that can, and the policy for each.
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) policies: Vec<Policy>,
    /// Those that cannot, and why.
    pub(crate) left_out: Vec<(Algorithm, String)>,
    /// Some limit has a burst, which only the token bucket keeps.
    pub(crate) has_burst: bool,
}

impl AllAlgorithms {
    pub(crate) fn of(policy: &Policy) -> Result<Self, Error> {
        if policy.is_unlimited() || policy.is_blocked() {
            let word = if policy.is_blocked() { "blocked" } else { "unlimited" };
            return Err(Error::usage(format!(
                "the policy `{word}` is the same under all algorithms; expected a limit"
            )));
        }
        let own = policy.limits().iter().find(|l| l.chosen_algorithm() != Algorithm::TokenBucket);
        if let Some(own) = own {
            let (name, algorithm) = (own.name(), own.chosen_algorithm());
            return Err(Error::usage(format!(
                "the limit `{name}` names {algorithm}, and the replay is for all algorithms"
            )));
        }
        let has_burst = policy.limits().iter().any(|limit| limit.capacity() != limit.tokens());
        let mut all =
            Self { algorithms: Vec::new(), policies: Vec::new(), left_out: Vec::new(), has_burst };
        for algorithm in Algorithm::ALL {
            match under(policy, algorithm) {
                Ok(policy) => {
                    all.algorithms.push(algorithm);
                    all.policies.push(policy);
                }
                Err(fault) => all.left_out.push((algorithm, fault.to_string())),
            }
        }
        Ok(all)
    }
}

/// The tokens per period of `policy`, and for the token bucket its bursts, under `algorithm`.
fn under(policy: &Policy, algorithm: Algorithm) -> Result<Policy, brimful::Error> {
    let mut limits = Vec::with_capacity(policy.limits().len());
    for limit in policy.limits() {
        let limit = limit_under(limit, algorithm)?;
        // Two that differ in nothing but their burst are one without it.
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    Policy::new(limits)?.named(policy.name())
}

fn limit_under(limit: &Limit, algorithm: Algorithm) -> Result<Limit, brimful::Error> {
    if algorithm == Algorithm::TokenBucket {
        return Ok(limit.clone());
    }
    let plain = Limit::new(limit.tokens(), limit.period())?;
    let unnamed = plain.clone().burst(limit.capacity())?.name() == limit.name();
    let plain = plain.algorithm(algorithm)?;
    if unnamed { Ok(plain) } else { plain.named(limit.name()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(of: &[&str]) -> AllAlgorithms {
        AllAlgorithms::of(&policy_of_any_algorithm(of).unwrap()).unwrap()
    }

    #[test]
    fn only_the_bucket_keeps_its_burst_and_names_stay() {
        let all = specs(&["10/min burst 20", "api: 5 per 30s burst 9", "7/h"]);
        assert!(all.has_burst && all.left_out.is_empty());
        assert_eq!(all.algorithms, Algorithm::ALL);
        for (policy, algorithm) in all.policies.iter().zip(all.algorithms) {
            let limits: Vec<String> = policy.limits().iter().map(Limit::to_string).collect();
            let expected = match algorithm {
                Algorithm::TokenBucket => {
                    ["10/min burst 20", "api: 5 per 30s burst 9", "7/h"].map(str::to_owned)
                }
                _ => ["10/min", "api: 5 per 30s", "7/h"].map(|spec| format!("{spec} {algorithm}")),
            };
            assert_eq!(limits, expected);
        }
        assert!(!specs(&["10/min"]).has_burst);
        let twice = specs(&["10/min burst 20", "10/min burst 30"]);
        let counts: Vec<usize> = twice.policies.iter().map(|p| p.limits().len()).collect();
        assert_eq!(counts, [2, 1, 1, 1]);
        // A burst of the tokens themselves is none.
        assert!(!specs(&["10/min burst 10"]).has_burst);
    }

    #[test]
    fn what_a_log_cannot_hold_is_left_out() {
        let all = specs(&["100000/h"]);
        assert_eq!(all.algorithms.len(), 3);
        let (algorithm, why) = &all.left_out[0];
        assert_eq!(*algorithm, Algorithm::SlidingLog);
        assert!(why.contains("65536"), "{why}");
    }

    #[test]
    fn an_own_algorithm_and_words_are_refused() {
        for (spec, part) in [
            ("10/s token-bucket", "names token-bucket"),
            ("10/s fixed-window", "names fixed-window"),
            ("blocked", "is the same under all"),
            ("unlimited", "is the same under all"),
        ] {
            let fault = policy_of_any_algorithm(&[spec]).unwrap_err();
            assert!(fault.is_usage() && fault.to_string().contains(part), "{spec}: {fault}");
        }
        assert!(policy_of_any_algorithm(&["10/minn"]).unwrap_err().is_limit());
    }
}

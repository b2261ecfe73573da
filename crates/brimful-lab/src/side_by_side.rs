//! What each algorithm would have done to one log.

mod json;
mod text;

use std::cmp::Reverse;

use brimful::Algorithm;

use crate::decider::Decider;
use crate::keys::Keys;
use crate::options::AllAlgorithms;
use crate::summary::{LogFacts, Summary};

/// What the same limits would have done to a log under each algorithm. Printed with `{}` it is a
/// table for people; [`to_json`](Self::to_json) is the same for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SideBySide {
    /// One summary for each algorithm, in the order of [`Algorithm::ALL`]. All that is about the
    /// log alone is the same in each.
    pub summaries: Vec<Summary>,
    /// The algorithms that cannot enforce the limits.
    pub left_out: Vec<LeftOut>,
    /// A limit has a burst, which the token bucket alone has kept.
    pub has_burst: bool,
    /// The keys that were denied most under some algorithm; of equals the one denied most in all,
    /// then with fewer requests, then by name.
    pub top_denied: Vec<DeniedUnder>,
}

/// An algorithm that cannot enforce the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Which.
    pub algorithm: Algorithm,
    /// Why.
    pub reason: String,
}

/// A key that was denied under some algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedUnder {
    /// The key.
    pub key: String,
    /// All its requests.
    pub requests: u64,
    /// Those that were denied, in the order of the summaries.
    pub denied: Vec<u64>,
}

impl SideBySide {
    pub(crate) fn new(
        all: AllAlgorithms,
        deciders: &[Decider],
        log: &LogFacts,
        keys: &Keys,
        top: usize,
    ) -> Self {
        let left_out = all.left_out.into_iter();
        Self {
            summaries: deciders.iter().map(|decider| decider.summary(log, keys, top)).collect(),
            left_out: left_out.map(|(algorithm, reason)| LeftOut { algorithm, reason }).collect(),
            has_burst: all.has_burst,
            top_denied: top_denied(deciders, keys, top),
        }
    }

    /// The algorithm of each summary.
    pub(crate) fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        let limits = self.summaries.iter().map(|summary| summary.limits().next());
        limits.map(|limit| limit.map_or(Algorithm::default(), |limit| limit.chosen_algorithm()))
    }
}

fn top_denied(deciders: &[Decider], keys: &Keys, top: usize) -> Vec<DeniedUnder> {
    let denied = |id| deciders.iter().map(move |decider| decider.denied(id));
    let mut rows: Vec<_> = keys
        .iter()
        .map(|(id, name, requests)| {
            // Each is at most the number of lines.
            let (most, sum) = denied(id).fold((0, 0), |(most, sum), n| (n.max(most), sum + n));
            (Reverse(most), Reverse(sum), requests, name, id)
        })
        .filter(|(Reverse(most), ..)| *most > 0)
        .collect();
    rows.sort_unstable();
    rows.truncate(top);
    let rows = rows.into_iter().map(|(_, _, requests, name, id)| DeniedUnder {
        key: name.to_owned(),
        requests,
        denied: denied(id).collect(),
    });
    rows.collect()
}

//! The sliding log as a plain list.

use super::Rule;
use super::change::{Counted, Spent};

#[derive(Clone, Debug)]
pub(super) struct Log {
    limit: u64,
    width: i128,
    /// When, and how much; oldest first. A time can lie before the epoch.
    entries: Vec<(i128, u64)>,
}

impl Log {
    pub(super) fn new(limit: u64, width: i128) -> Self {
        Self { limit, width, entries: Vec::new() }
    }

    /// The entries that count: each does for `width` nanoseconds, its own first one included.
    fn counted(&self, at: i128) -> impl Iterator<Item = &(i128, u64)> {
        self.entries.iter().filter(move |(time, _)| at < time + self.width)
    }

    fn total(&self, at: i128) -> u64 {
        self.counted(at).map(|(_, cost)| cost).sum()
    }

    fn forget(&mut self, at: i128) {
        self.entries = self.counted(at).copied().collect();
    }
}

impl Rule for Log {
    fn memory(&self) -> i128 {
        self.width
    }

    fn capacity(&self) -> u64 {
        self.limit
    }

    fn admits(&self, cost: u64, at: i128) -> bool {
        u128::from(self.total(at)) + u128::from(cost) <= u128::from(self.limit)
    }

    /// Something changes only when an entry expires: the first such time that will do.
    fn wait(&self, cost: u64, at: i128) -> i128 {
        let expiries = self.counted(at).map(|(time, _)| time + self.width);
        expiries.filter(|then| self.admits(cost, *then)).min().unwrap_or(i128::MAX) - at
    }

    fn remaining(&self, at: i128) -> u64 {
        // More may have been admitted under another limit.
        self.limit.saturating_sub(self.total(at))
    }

    fn reset_after(&self, at: i128) -> i128 {
        self.counted(at).map(|(time, _)| time + self.width - at).max().unwrap_or(0)
    }

    fn charge(&mut self, cost: u64, at: i128) {
        self.forget(at);
        self.entries.push((at, cost));
    }

    fn refund(&mut self, tokens: u64, at: i128) -> u64 {
        self.forget(at);
        let mut given = 0;
        while given < tokens {
            let Some((time, cost)) = self.entries.pop() else { break };
            let back = cost.min(tokens - given);
            given += back;
            if back < cost {
                self.entries.push((time, cost - back));
            }
        }
        given
    }

    fn shift(&mut self, from: i128, to: i128) {
        self.forget(from);
        for (time, _) in &mut self.entries {
            *time += to - from;
        }
    }

    fn canonical(&self, last: i128) -> Vec<i128> {
        let mut runs: Vec<i128> = Vec::new();
        for (time, cost) in self.counted(last) {
            let age = last - time;
            match runs.as_mut_slice() {
                [.., before, count] if *before == age => *count += i128::from(*cost),
                _ => runs.extend([age, i128::from(*cost)]),
            }
        }
        runs
    }

    fn spent(&self, at: i128) -> Spent {
        let entries = self.counted(at).copied().collect();
        Spent::of(self.total(at), self.limit, Counted::Log { width: self.width, entries })
    }

    fn take_over(&mut self, spent: &Spent, at: i128) {
        self.entries = match &spent.counted {
            Counted::Log { width, entries } if *width == self.width => entries.clone(),
            Counted::Log { entries, .. } => vec![(at, entries.iter().map(|(_, cost)| cost).sum())],
            _ => vec![(at, spent.tokens(self.limit))],
        };
        self.entries.retain(|(_, cost)| *cost > 0);
    }

    fn expiries(&self) -> Vec<i128> {
        self.entries.iter().map(|(time, _)| time + self.width).collect()
    }

    fn trim(&mut self, at: i128) {
        self.forget(at);
    }

    fn copy(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

//! What was decided by policy.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use brimful::Policy;

/// What one policy decided. Policies of one name are counted together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfPolicy {
    /// The name.
    pub policy: String,
    /// The requests of its keys.
    pub requests: u64,
    /// Those that were denied, or of a policy on trial, those that it would have denied.
    pub denied: u64,
}

/// Counts by policy, those that decide or those on trial.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    rows: Vec<OfPolicy>,
    by_name: HashMap<String, usize>,
    /// The policy of the request before, which is most often that of the next, and its row.
    last: Option<(Arc<Policy>, usize)>,
}

impl Policies {
    pub(crate) fn count(&mut self, policy: &Arc<Policy>, denied: bool) {
        let place = match &self.last {
            Some((last, place)) if Arc::ptr_eq(last, policy) => *place,
            _ => self.place(policy),
        };
        if let Some(row) = self.rows.get_mut(place) {
            row.requests += 1;
            row.denied += u64::from(denied);
        }
    }

    fn place(&mut self, policy: &Arc<Policy>) -> usize {
        let name = policy.name();
        let place = self.by_name.get(name).copied().unwrap_or_else(|| {
            self.by_name.insert(name.to_owned(), self.rows.len());
            self.rows.push(OfPolicy { policy: name.to_owned(), ..OfPolicy::default() });
            self.rows.len() - 1
        });
        self.last = Some((Arc::clone(policy), place));
        place
    }

    /// Those with the most denials first; of equals the one with more requests, then by name.
    pub(crate) fn sorted(&self) -> Vec<OfPolicy> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| {
            let rank = |row: &OfPolicy| (Reverse(row.denied), Reverse(row.requests));
            rank(a).cmp(&rank(b)).then_with(|| a.policy.cmp(&b.policy))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_one_name_are_counted_together() {
        let named = |limit: &str, name: &str| {
            let limit: brimful::Limit = limit.parse().unwrap();
            Arc::new(Policy::from(limit).named(name).unwrap())
        };
        let (one, same, other) = (named("1/s", "b"), named("2/s", "b"), named("1/s", "a"));
        let mut policies = Policies::default();
        for (policy, denied) in
            [(&one, false), (&one, true), (&other, true), (&same, false), (&other, false)]
        {
            policies.count(policy, denied);
        }
        let rows = policies.sorted();
        let rows: Vec<_> =
            rows.iter().map(|row| (&*row.policy, row.requests, row.denied)).collect();
        assert_eq!(rows, [("b", 3, 1), ("a", 2, 1)]);
    }
}

//! Which policy a key gets: an exact override, else the default.

use std::collections::HashMap;

use crate::error::Error;
use crate::hash::KeyHash;
use crate::policy::Policy;
use crate::step::Plan;

/// The rules of a limiter. A **row** is one interned policy; slots name theirs by its number, so
/// that a key is resolved once, when its state is first created.
#[derive(Debug)]
pub(crate) struct Rules {
    default: Policy,
    /// By row; the first is the default again.
    policies: Box<[Policy]>,
    plans: Box<[Plan]>,
    /// Row of each key with a policy of its own, by the keyed hash of the key.
    exact: HashMap<KeyHash, u32>,
}

impl Rules {
    /// The row of the default policy.
    pub(crate) const DEFAULT: u32 = 0;

    pub(crate) fn new(
        default: Policy,
        overrides: impl IntoIterator<Item = (KeyHash, Policy)>,
    ) -> Result<Self, Error> {
        let mut interned = HashMap::from([(default.clone(), Self::DEFAULT)]);
        let mut policies = vec![default.clone()];
        let mut exact = HashMap::new();
        for (key, policy) in overrides {
            let next = u32::try_from(policies.len())
                .map_err(|_| Error::range("policies", policies.len(), "at most 2^32"))?;
            let row = *interned.entry(policy).or_insert_with_key(|policy| {
                policies.push(policy.clone());
                next
            });
            if let Some(other) = exact.insert(key, row) {
                let name = |row: u32| {
                    let row = usize::try_from(row).unwrap_or(usize::MAX);
                    policies.get(row).map_or("", Policy::name).to_owned()
                };
                let what = format!(
                    "one key has two exact overrides, policies `{}` and `{}`",
                    name(other),
                    name(row)
                );
                return Err(Error::conflict(what, "give each key one override"));
            }
        }
        let plans =
            policies.iter().zip(Self::DEFAULT..).map(|(policy, row)| Plan::new(policy, row));
        let plans = plans.collect();
        Ok(Self { default, policies: policies.into(), plans, exact })
    }

    /// The row of a key that has no state yet.
    pub(crate) fn resolve(&self, key: KeyHash) -> u32 {
        self.exact.get(&key).copied().unwrap_or(Self::DEFAULT)
    }

    pub(crate) fn policy(&self, row: u32) -> &Policy {
        let row = usize::try_from(row).unwrap_or(usize::MAX);
        // Rows come from here, so one that is not there is never asked for.
        self.policies.get(row).unwrap_or(&self.default)
    }

    pub(crate) fn policies(&self) -> &[Policy] {
        &self.policies
    }

    pub(crate) fn plans(&self) -> &[Plan] {
        &self.plans
    }
}

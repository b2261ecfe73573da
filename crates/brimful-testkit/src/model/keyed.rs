//! Many keys, and whose limits each of them is under.

use std::collections::HashMap;

use brimful::{Nanos, Policy};

use super::{Model, word};
use crate::Outcome;

/// Any number of keys: no bound, and nothing is ever evicted.
#[derive(Clone, Debug)]
pub struct KeyedModel {
    default: Policy,
    overrides: HashMap<String, Policy>,
    tiers: HashMap<String, Policy>,
    /// Keys with state.
    keys: HashMap<String, Known>,
}

/// A key with state, and whose limits it is under.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) whose: Whose,
    pub(crate) model: Model,
}

/// Whose limits a key was last charged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Its own, for callers of every tier.
    Own,
    /// Those of a tier, or of callers without one.
    Tier(Option<String>),
    /// Those that came with the call.
    Given(Policy),
}

impl Whose {
    /// The policy, when it came with the call.
    pub(crate) fn given(&self) -> Option<&Policy> {
        match self {
            Self::Given(policy) => Some(policy),
            Self::Own | Self::Tier(_) => None,
        }
    }
}

impl KeyedModel {
    /// Every key gets `default`.
    #[must_use]
    pub fn new(default: &Policy) -> Self {
        Self {
            default: default.clone(),
            overrides: HashMap::new(),
            tiers: HashMap::new(),
            keys: HashMap::new(),
        }
    }

    /// This one key gets `policy`, from callers of every tier.
    #[must_use]
    pub fn with(mut self, key: &str, policy: &Policy) -> Self {
        self.overrides.insert(key.into(), policy.clone());
        self
    }

    /// Callers of this tier get `policy`.
    #[must_use]
    pub fn with_tier(mut self, tier: &str, policy: &Policy) -> Self {
        self.tiers.insert(tier.into(), policy.clone());
        self
    }

    /// Puts the rules of another model in force; every key keeps its state.
    pub fn set_rules(&mut self, rules: &Self) {
        let Self { default, overrides, tiers, .. } = rules.clone();
        *self = Self { default, overrides, tiers, keys: std::mem::take(&mut self.keys) };
    }

    /// As [`Model::acquire`].
    pub fn acquire(&mut self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.acquire_as(None, key, cost, now)
    }

    /// As [`acquire`](Self::acquire), from a caller of a tier. One that nobody has is none.
    pub fn acquire_as(&mut self, tier: Option<&str>, key: &str, cost: u64, now: Nanos) -> Outcome {
        let (whose, policy) = self.resolve(tier, key);
        self.decide(whose, &policy, key, cost, now)
    }

    /// As [`acquire`](Self::acquire), by a policy that comes with the call.
    pub fn acquire_with(&mut self, policy: &Policy, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.decide(Whose::Given(policy.clone()), policy, key, cost, now)
    }

    /// As [`Model::peek`].
    #[must_use]
    pub fn peek(&self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.peek_as(None, key, cost, now)
    }

    /// What [`acquire_as`](Self::acquire_as) would answer.
    #[must_use]
    pub fn peek_as(&self, tier: Option<&str>, key: &str, cost: u64, now: Nanos) -> Outcome {
        let (whose, policy) = self.resolve(tier, key);
        let mut only = Self::new(&policy);
        if let Some(state) = self.keys.get(key) {
            only.keys.insert(key.into(), state.clone());
        }
        only.decide(whose, &policy, key, cost, now)
    }

    /// As [`Model::refund`], under whatever limits the key has now.
    pub fn refund(&mut self, key: &str, tokens: u64, now: Nanos) -> u64 {
        self.keys.get_mut(key).map_or(0, |known| known.model.refund(tokens, now))
    }

    /// As [`Model::reset`]. The key is under nobody's limits then.
    pub fn reset(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// The key's state under the limits that it has now; `None` when it has none.
    #[must_use]
    pub fn state(&self, key: &str) -> Option<&Model> {
        self.keys.get(key).map(|known| &known.model)
    }

    fn resolve(&self, tier: Option<&str>, key: &str) -> (Whose, Policy) {
        if let Some(own) = self.overrides.get(key) {
            return (Whose::Own, own.clone());
        }
        match tier.and_then(|name| self.tiers.get_key_value(name)) {
            Some((name, policy)) => (Whose::Tier(Some(name.clone())), policy.clone()),
            None => (Whose::Tier(None), self.default.clone()),
        }
    }

    fn decide(
        &mut self,
        whose: Whose,
        policy: &Policy,
        key: &str,
        cost: u64,
        now: Nanos,
    ) -> Outcome {
        let mut known = self.keys.remove(key);
        let outcome = Known::decide(&mut known, &whose, policy, cost, now);
        if let Some(known) = known {
            self.keys.insert(key.into(), known);
        }
        outcome
    }
}

impl Known {
    /// Decides for a key, with or without state, by `policy`.
    pub(crate) fn decide(
        known: &mut Option<Self>,
        whose: &Whose,
        policy: &Policy,
        cost: u64,
        now: Nanos,
    ) -> Outcome {
        if let Some(word) = word(policy) {
            return word;
        }
        match known {
            Some(Self { whose: same, model }) if same == whose && model.is_by(policy) => {
                model.acquire(cost, now)
            }
            Some(Self { whose: other, model }) => {
                let outcome = model.acquire_by(policy, cost, now);
                if cost > 0 {
                    *other = whose.clone();
                }
                outcome
            }
            None => {
                let mut model = Model::new(policy);
                let outcome = model.acquire(cost, now);
                if model.last.is_some() {
                    *known = Some(Self { whose: whose.clone(), model });
                }
                outcome
            }
        }
    }
}

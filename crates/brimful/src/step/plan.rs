//! The policies of a key, ready to decide.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Deref;

use super::{MIN_TOLERANCE, Terms};
use crate::algorithm::Machine;
use crate::decision::{Decision, Origin};
use crate::limit::Limit;
use crate::policy::Policy;

/// The policies of a key, and their limits ready to decide. No limits for `unlimited` and `blocked`.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    terms: Terms,
    policy: Arc<Policy>,
    /// The policy on trial beside it.
    shadow: Option<Arc<Policy>>,
    /// The longest period of the limits, in nanoseconds.
    longest_period: u64,
}

impl Deref for Plan {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

impl Plan {
    /// For a policy that is enforced, and one on trial beside it. They have limits enough for one key.
    pub(crate) fn new(policy: &Policy, shadow: Option<&Policy>) -> Self {
        // What is blocked is not tried.
        let tried = shadow.filter(|_| !policy.is_blocked());
        let limits = policy.limits().iter().chain(tried.map_or(&[][..], Policy::limits));
        let machines: Box<[Machine]> = limits.clone().map(Limit::machine).collect();
        // What is on trial has no say in when a clock was stepped, unless it stands alone.
        let enforced = policy.limits().len();
        let deciding = if enforced > 0 { enforced } else { machines.len() };
        let longest = |of: fn(&Limit, &Machine) -> u128| {
            let all = limits.clone().zip(&machines).map(|(limit, machine)| of(limit, machine));
            u64::try_from(all.take(deciding).max().unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let tolerance =
            longest(|limit, machine| machine.fill_time().unwrap_or(limit.period().as_nanos()));
        Self {
            longest_period: longest(|limit, _| limit.period().as_nanos()),
            terms: Terms {
                origin: Origin::NONE,
                enforced,
                has_trial: shadow.is_some(),
                would_block: shadow.is_some_and(Policy::is_blocked),
                tolerance: tolerance.max(MIN_TOLERANCE),
                has_log: machines.iter().any(Machine::is_log),
                machines,
            },
            policy: Arc::new(policy.clone()),
            shadow: shadow.map(|shadow| Arc::new(shadow.clone())),
        }
    }

    /// For a policy that stands alone: enforced, or on trial.
    pub(crate) fn alone(policy: &Policy) -> Self {
        match policy.is_shadow() {
            true => Self::new(&Policy::unlimited(), Some(policy)),
            false => Self::new(policy, None),
        }
    }

    /// The same with that origin.
    pub(crate) fn with_origin(self, origin: Origin) -> Self {
        Self { terms: Terms { origin, ..self.terms }, ..self }
    }

    /// The policy that is enforced.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The policy on trial.
    pub(crate) fn shadow(&self) -> Option<&Arc<Policy>> {
        self.shadow.as_ref()
    }

    /// The limits, in the order of the levels.
    pub(super) fn limits(&self) -> impl Iterator<Item = &Limit> + Clone {
        let shadow = self.shadow.as_deref().map_or(&[][..], Policy::limits);
        let limits = self.policy.limits().iter().chain(shadow);
        limits.take(self.width())
    }

    /// What every request is told when there are no limits to remember anything for.
    pub(crate) fn fixed(&self) -> Option<Decision> {
        let would_deny = self.would_block;
        if self.policy.is_blocked() {
            return Some(Decision { would_deny, origin: self.origin, ..Decision::BLOCKED });
        }
        let is_free = self.width() == 0;
        is_free.then_some(Decision { would_deny, origin: self.origin, ..Decision::UNLIMITED })
    }

    /// The longest period of the limits, in nanoseconds.
    pub(crate) fn longest_period(&self) -> u64 {
        self.longest_period
    }
}

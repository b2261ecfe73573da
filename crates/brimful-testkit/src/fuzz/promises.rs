//! What is promised of every store, however full it is.

use brimful::{AllDecision, Decision, Denial, Nanos, Overflow, Policy, Retry, Stats};

use super::setup::{Setup, later};

/// What the counters should say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    admitted: u64,
    denied: u64,
    store_full: u64,
    pub(super) unknown_tier: u64,
}

impl Tally {
    /// Counts the answer to one key.
    pub(super) fn one(&mut self, cost: u64, decision: &Decision) {
        if cost > 0 {
            self.admitted += u64::from(decision.is_allowed());
            self.denied += u64::from(decision.is_denied());
            self.store_full += u64::from(decision.denial() == Some(Denial::StoreFull));
        }
    }

    /// Counts the answer to several keys: their places, they, and what each costs.
    pub(super) fn all(&mut self, merged: &[(usize, usize, u64)], all: &AllDecision) {
        let charged = merged.iter().filter(|(_, _, cost)| *cost > 0).count() as u64;
        if all.is_allowed() {
            self.admitted += charged;
        } else {
            self.denied += charged.min(1);
            let is_full = all.decision().denial() == Some(Denial::StoreFull);
            self.store_full += u64::from(is_full);
        }
    }
}

/// What one decision says about itself is so.
pub(super) fn answers(policy: &Policy, cost: u64, decision: &Decision) {
    let capacities = policy.limits().iter().map(|limit| limit.capacity());
    let capacity = capacities.min().unwrap_or(if policy.is_unlimited() { u64::MAX } else { 0 });
    assert!(decision.remaining() <= capacity, "{decision:?}");
    assert!(decision.limit().is_none_or(|limit| limit < policy.limits().len()), "{decision:?}");
    assert_eq!(decision.is_allowed(), decision.denial().is_none(), "{decision:?}");
    assert_eq!(decision.is_allowed(), decision.retry() == Retry::Now, "{decision:?}");
    assert_eq!(decision.is_denied(), !decision.is_allowed());
    assert_eq!(policy.is_blocked(), decision.denial() == Some(Denial::Blocked), "{decision:?}");
    if policy.is_blocked() {
        assert!(decision.is_never());
    } else {
        assert_eq!(decision.is_never(), cost > capacity, "{cost}: {decision:?}");
    }
    assert!(cost > 0 || decision.denial() != Some(Denial::Limit), "a look was denied");
    match decision.denial() {
        Some(Denial::Limit) => assert!(decision.limit().is_some(), "{decision:?}"),
        Some(Denial::StoreFull) => {
            assert_eq!((decision.limit(), decision.remaining()), (None, 0));
        }
        _ => {}
    }
    if let Some(wait) = decision.retry_after() {
        let secs = decision.retry_after_secs().unwrap_or(0);
        assert!(!wait.is_zero() && u128::from(secs) * 1_000_000_000 >= wait.as_nanos());
        assert!(secs.saturating_sub(1) <= wait.as_secs(), "{decision:?}");
    }
}

/// A hint is true to the nanosecond, as far as the documentation says so.
pub(super) fn tight(
    setup: &Setup,
    decision: &Decision,
    now: Nanos,
    again: impl Fn(Nanos) -> Option<Decision>,
) {
    let Some(then) = decision.retry_after().and_then(|wait| later(now, wait)) else { return };
    let early = Nanos::from_nanos(then.as_nanos() - 1);
    let (Some(early), Some(there)) = (again(early), again(then)) else { return };
    let lacks_entries = setup.has_logs()
        && !setup.is_roomy
        && [decision, &there].map(Decision::denial).contains(&Some(Denial::StoreFull));
    assert!(there.is_allowed() || lacks_entries, "{decision:?} at {now:?}: too short");
    // A slot, or one of its own instead of a shared state, may be had sooner.
    let shares = setup.overflow == Overflow::Share && !setup.is_roomy;
    let sooner = shares || decision.denial() == Some(Denial::StoreFull);
    assert!(early.is_denied() || sooner, "{decision:?} at {now:?}: too long");
}

/// The counters are within their bounds, and add up.
pub(super) fn bounds(setup: &Setup, stats: &Stats, tally: &Tally) {
    assert!(stats.max_keys <= stats.slots && stats.occupied <= stats.slots, "{stats:?}");
    assert!(stats.log_entries <= stats.max_log_entries, "{stats:?}");
    assert!(stats.given_policies <= stats.max_given_policies, "{stats:?}");
    assert_eq!(stats.max_given_policies, setup.max_given);
    let counted = (stats.admitted, stats.denied, stats.store_full, stats.unknown_tier);
    let expected = (tally.admitted, tally.denied, tally.store_full, tally.unknown_tier);
    assert_eq!(counted, expected, "{stats:?}");
    let by_policy: u64 = stats.denied_by_policy.iter().map(|(_, count)| count).sum();
    assert_eq!(by_policy, stats.denied, "{stats:?}");
    assert!(setup.overflow == Overflow::Evict || stats.evicted_forced == 0, "{stats:?}");
    assert!(setup.overflow == Overflow::Share || stats.shared == 0, "{stats:?}");
    assert!(stats.forgiven_tokens >= stats.evicted_forced, "{stats:?}");
}

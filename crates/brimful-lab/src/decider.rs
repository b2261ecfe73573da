//! Asks one limiter about every event, and counts the answers.

use std::cmp::Reverse;
use std::sync::Arc;

use brimful::{Limiter, Policy};

use crate::busiest::Busiest;
use crate::decided::Decided;
use crate::event::Op;
use crate::keys::{KeyId, Keys};
use crate::policies::Policies;
use crate::reorder::Held;
use crate::source::Ask;
use crate::summary::{DeniedKey, LogFacts, Summary};

/// A limiter and what it answered.
#[derive(Debug)]
pub(crate) struct Decider {
    /// That of all keys; `None` when there are rules.
    policy: Option<Policy>,
    limiter: Limiter,
    busiest: Busiest,
    by_policy: Policies,
    on_trial: Policies,
    counts: Counts,
    /// By key; as long as the last key that was denied.
    denied: Vec<u64>,
}

/// What was decided, in all.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    admitted: u64,
    denied: u64,
    denied_never: u64,
    would_deny: u64,
    peeks: u64,
    refunds: u64,
    refunded_tokens: u128,
}

impl Decider {
    pub(crate) fn new(policy: Option<Policy>, limiter: Limiter) -> Self {
        Self {
            policy,
            limiter,
            busiest: Busiest::default(),
            by_policy: Policies::default(),
            on_trial: Policies::default(),
            counts: Counts::default(),
            denied: Vec::new(),
        }
    }

    /// Decides an event of the key that is called `name`.
    pub(crate) fn decide<'a>(&'a mut self, event: Held<Ask>, name: &'a str) -> Decided<'a> {
        let Held { at, line, what: Ask { key, cost, op } } = event;
        let mut refunded = None;
        let decision = match op {
            Op::Acquire => self.limiter.try_acquire_at(name, cost, at),
            Op::Peek => self.limiter.peek_at(name, cost, at),
            Op::Refund => {
                refunded = Some(self.limiter.refund_at(name, cost, at));
                self.limiter.peek_at(name, 0, at)
            }
        };
        // No policy comes with a call here.
        let policy = self.limiter.policy_of(&decision);
        let policy =
            policy.unwrap_or_else(|| Arc::new(self.limiter.rules().policy_for(name, None).clone()));
        let counts = &mut self.counts;
        match op {
            Op::Acquire => {
                counts.requests += 1;
                counts.denied_never += u64::from(decision.is_never());
                counts.would_deny += u64::from(decision.would_deny());
                self.by_policy.count(&policy, decision.is_denied());
                if let Some(shadow) = self.limiter.shadow_of(&decision) {
                    self.on_trial.count(&shadow, decision.would_deny());
                }
                self.busiest.add(at, decision.is_allowed());
                if decision.is_denied() {
                    counts.denied += 1;
                    count_denied(&mut self.denied, key);
                } else {
                    counts.admitted += 1;
                }
            }
            Op::Peek => counts.peeks += 1,
            Op::Refund => {
                counts.refunds += 1;
                counts.refunded_tokens += u128::from(refunded.unwrap_or(0));
            }
        }
        Decided { line, at, key: name, cost, op, decision, refunded, policy }
    }

    /// How often the limiter denied a key.
    pub(crate) fn denied(&self, key: KeyId) -> u64 {
        self.denied.get(key.place()).copied().unwrap_or(0)
    }

    /// What became of the log, with the `top` most denied keys: of equals the one with fewer
    /// requests first, then by name.
    pub(crate) fn summary(&self, log: &LogFacts, keys: &Keys, top: usize) -> Summary {
        let mut rows: Vec<DeniedRow<'_>> = keys
            .iter()
            .map(|(id, name, requests)| DeniedRow { name, requests, denied: self.denied(id) })
            .filter(|row| row.denied > 0)
            .collect();
        let denied_keys = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        rows.sort_unstable_by_key(|row| (Reverse(row.denied), row.requests, row.name));
        let top_denied = rows.into_iter().take(top).map(|row| DeniedKey {
            key: row.name.to_owned(),
            denied: row.denied,
            requests: row.requests,
        });
        Summary {
            policy: self.policy.clone(),
            format: log.format,
            lines: log.lines,
            span: log.span,
            reorder_ns: log.reorder_ns,
            disorder: log.disorder,
            bad_lines: log.bad_lines.clone(),
            requests: self.counts.requests,
            keys: u64::try_from(keys.len()).unwrap_or(u64::MAX),
            admitted: self.counts.admitted,
            denied: self.counts.denied,
            denied_never: self.counts.denied_never,
            denied_keys,
            would_deny: self.counts.would_deny,
            policies: self.by_policy.sorted(),
            on_trial: self.on_trial.sorted(),
            peeks: self.counts.peeks,
            refunds: self.counts.refunds,
            refunded_tokens: self.counts.refunded_tokens,
            busiest: self.busiest.second(),
            busiest_reopened: self.busiest.reopened(),
            top_denied: top_denied.collect(),
            store: self.limiter.stats(),
        }
    }
}

struct DeniedRow<'a> {
    name: &'a str,
    requests: u64,
    denied: u64,
}

fn count_denied(denied: &mut Vec<u64>, key: KeyId) {
    let place = key.place();
    if denied.len() <= place {
        denied.resize(place + 1, 0);
    }
    if let Some(count) = denied.get_mut(place) {
        *count += 1;
    }
}

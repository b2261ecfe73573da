//! The summary as one JSON object.

use brimful::{Limit, Policy};
use serde::Serialize;

use super::{Summary, bound, per_mille};
use crate::policies::OfPolicy;

#[derive(Serialize)]
struct Fields<'a> {
    format: Option<&'static str>,
    lines: u64,
    requests: u64,
    keys: u64,
    admitted: u64,
    denied: u64,
    denied_per_mille: u64,
    denied_never: u64,
    denied_keys: u64,
    would_deny: u64,
    peeks: u64,
    refunds: u64,
    refunded_tokens: u128,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    busiest_second: Option<BusiestSecond>,
    out_of_order: OutOfOrder,
    bad_lines: BadLines<'a>,
    policy: Option<&'a str>,
    limits: Vec<LimitFields<'a>>,
    policies: Vec<ByPolicy<'a>>,
    on_trial: Vec<OnTrial<'a>>,
    top_denied: Vec<TopDenied<'a>>,
    store: Store,
}

#[derive(Serialize)]
pub(crate) struct BusiestSecond {
    at_ns: u64,
    requests: u64,
    admitted: u64,
    denied: u64,
    reopened: u64,
}

#[derive(Serialize)]
pub(crate) struct OutOfOrder {
    lines: u64,
    most_ns: u64,
    buffer_ns: u64,
    late: u64,
    released_early: u64,
}

#[derive(Serialize)]
pub(crate) struct BadLines<'a> {
    count: u64,
    first: Vec<BadLine<'a>>,
}

#[derive(Serialize)]
struct BadLine<'a> {
    line: u64,
    reason: &'a str,
}

#[derive(Serialize)]
pub(crate) struct LimitFields<'a> {
    name: &'a str,
    spec: String,
    algorithm: &'static str,
    tokens: u64,
    period_ns: u128,
    capacity: u64,
    bound: String,
}

#[derive(Serialize)]
pub(crate) struct TopDenied<'a> {
    key: &'a str,
    denied: u64,
    requests: u64,
    denied_per_mille: u64,
}

#[derive(Serialize)]
struct ByPolicy<'a> {
    policy: &'a str,
    requests: u64,
    denied: u64,
    denied_per_mille: u64,
}

#[derive(Serialize)]
struct OnTrial<'a> {
    policy: &'a str,
    requests: u64,
    would_deny: u64,
    would_deny_per_mille: u64,
}

#[derive(Serialize)]
pub(crate) struct Store {
    max_keys: u64,
    slots: u64,
    occupied: u64,
    bytes: u64,
    evicted_lossless: u64,
    evicted_forced: u64,
    forgiven_tokens: u64,
    store_full: u64,
    shared: u64,
    left_shared: u64,
    log_entries: u64,
    max_log_entries: u64,
}

impl Summary {
    /// One JSON object without a line end. All numbers are exact integers, all times are
    /// nanoseconds since the Unix epoch. `docs/replay-json.md` says what each field means; a test
    /// holds that page and this output together.
    #[must_use]
    pub fn to_json(&self) -> String {
        let fields = Fields {
            format: self.format.map(|format| format.name()),
            lines: self.lines,
            requests: self.requests,
            keys: self.keys,
            admitted: self.admitted,
            denied: self.denied,
            denied_per_mille: per_mille(self.denied, self.requests),
            denied_never: self.denied_never,
            denied_keys: self.denied_keys,
            would_deny: self.would_deny,
            peeks: self.peeks,
            refunds: self.refunds,
            refunded_tokens: self.refunded_tokens,
            first_ns: self.span.map(|(first, _)| first.as_nanos()),
            last_ns: self.span.map(|(_, last)| last.as_nanos()),
            busiest_second: self.busiest_fields(),
            out_of_order: self.order_fields(),
            bad_lines: self.bad_line_fields(),
            policy: self.policy.as_ref().map(word_or_name),
            limits: self.limits().map(limit).collect(),
            policies: self.policies.iter().map(by_policy).collect(),
            on_trial: self.on_trial.iter().map(on_trial).collect(),
            top_denied: self.top_fields(),
            store: self.store_fields(),
        };
        // Plain structs of numbers and text have nothing that could fail.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    pub(crate) fn busiest_fields(&self) -> Option<BusiestSecond> {
        self.busiest.map(|second| BusiestSecond {
            at_ns: second.at.as_nanos(),
            requests: second.requests,
            admitted: second.admitted,
            denied: second.denied,
            reopened: self.busiest_reopened,
        })
    }

    pub(crate) fn order_fields(&self) -> OutOfOrder {
        OutOfOrder {
            lines: self.disorder.lines,
            most_ns: self.disorder.most_ns,
            buffer_ns: self.reorder_ns,
            late: self.disorder.late,
            released_early: self.disorder.released_early,
        }
    }

    pub(crate) fn bad_line_fields(&self) -> BadLines<'_> {
        let first = self.bad_lines.first.iter();
        let first = first.map(|bad| BadLine { line: bad.line, reason: &bad.reason }).collect();
        BadLines { count: self.bad_lines.count, first }
    }

    pub(crate) fn top_fields(&self) -> Vec<TopDenied<'_>> {
        let top = self.top_denied.iter().map(|row| TopDenied {
            key: &row.key,
            denied: row.denied,
            requests: row.requests,
            denied_per_mille: per_mille(row.denied, row.requests),
        });
        top.collect()
    }

    pub(crate) fn store_fields(&self) -> Store {
        let stats = &self.store;
        Store {
            max_keys: stats.max_keys,
            slots: stats.slots,
            occupied: stats.occupied,
            bytes: stats.bytes,
            evicted_lossless: stats.evicted_lossless,
            evicted_forced: stats.evicted_forced,
            forgiven_tokens: stats.forgiven_tokens,
            store_full: stats.store_full,
            shared: stats.shared,
            left_shared: stats.left_shared,
            log_entries: stats.log_entries,
            max_log_entries: stats.max_log_entries,
        }
    }
}

fn word_or_name(policy: &Policy) -> &str {
    bound::of_word(policy).map_or(policy.name(), |(word, _)| word)
}

fn by_policy(row: &OfPolicy) -> ByPolicy<'_> {
    let OfPolicy { policy, requests, denied } = row;
    let denied_per_mille = per_mille(*denied, *requests);
    ByPolicy { policy, requests: *requests, denied: *denied, denied_per_mille }
}

fn on_trial(row: &OfPolicy) -> OnTrial<'_> {
    let OfPolicy { policy, requests, denied } = row;
    let would_deny_per_mille = per_mille(*denied, *requests);
    OnTrial { policy, requests: *requests, would_deny: *denied, would_deny_per_mille }
}

pub(crate) fn limit(limit: &Limit) -> LimitFields<'_> {
    LimitFields {
        name: limit.name(),
        spec: limit.to_string(),
        algorithm: limit.chosen_algorithm().name(),
        tokens: limit.tokens(),
        period_ns: limit.period().as_nanos(),
        capacity: limit.capacity(),
        bound: bound::of(limit),
    }
}

//! The same as one JSON object.

use brimful::{Algorithm, Policy};
use serde::Serialize;

use super::SideBySide;
use crate::summary::Summary;
use crate::summary::json::{
    BadLines, BusiestSecond, LimitFields, OutOfOrder, Store, TopDenied, limit,
};
use crate::summary::per_mille;

#[derive(Serialize)]
struct Fields<'a> {
    format: Option<&'static str>,
    lines: u64,
    requests: u64,
    keys: u64,
    peeks: u64,
    refunds: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    out_of_order: OutOfOrder,
    bad_lines: BadLines<'a>,
    algorithms: Vec<Under<'a>>,
    left_out: Vec<LeftOut<'a>>,
    top_denied: Vec<TopDeniedUnder<'a>>,
}

/// What one algorithm did.
#[derive(Serialize)]
struct Under<'a> {
    algorithm: &'static str,
    admitted: u64,
    denied: u64,
    denied_per_mille: u64,
    denied_never: u64,
    denied_keys: u64,
    refunded_tokens: u128,
    busiest_second: Option<BusiestSecond>,
    policy: &'a str,
    limits: Vec<LimitFields<'a>>,
    top_denied: Vec<TopDenied<'a>>,
    store: Store,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    algorithm: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
struct TopDeniedUnder<'a> {
    key: &'a str,
    requests: u64,
    denied: Vec<DeniedBy>,
}

#[derive(Serialize)]
struct DeniedBy {
    algorithm: &'static str,
    denied: u64,
    denied_per_mille: u64,
}

impl SideBySide {
    /// One JSON object without a line end. `docs/replay-json.md` says what each field means; a
    /// test holds that page and this output together.
    #[must_use]
    pub fn to_json(&self) -> String {
        // There is a bucket for every limit, so there is a first.
        let Some(log) = self.summaries.first() else { return String::new() };
        let fields = Fields {
            format: log.format.map(|format| format.name()),
            lines: log.lines,
            requests: log.requests,
            keys: log.keys,
            peeks: log.peeks,
            refunds: log.refunds,
            first_ns: log.span.map(|(first, _)| first.as_nanos()),
            last_ns: log.span.map(|(_, last)| last.as_nanos()),
            out_of_order: log.order_fields(),
            bad_lines: log.bad_line_fields(),
            algorithms: self
                .algorithms()
                .zip(&self.summaries)
                .map(|(algorithm, summary)| under(algorithm, summary))
                .collect(),
            left_out: self.left_out_fields(),
            top_denied: self.top_fields(),
        };
        // Plain structs of numbers and text have nothing that could fail.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    fn left_out_fields(&self) -> Vec<LeftOut<'_>> {
        let left_out = self.left_out.iter();
        left_out
            .map(|left| LeftOut { algorithm: left.algorithm.name(), reason: &left.reason })
            .collect()
    }

    fn top_fields(&self) -> Vec<TopDeniedUnder<'_>> {
        let top = self.top_denied.iter().map(|row| TopDeniedUnder {
            key: &row.key,
            requests: row.requests,
            denied: self
                .algorithms()
                .zip(&row.denied)
                .map(|(algorithm, denied)| DeniedBy {
                    algorithm: algorithm.name(),
                    denied: *denied,
                    denied_per_mille: per_mille(*denied, row.requests),
                })
                .collect(),
        });
        top.collect()
    }
}

fn under(algorithm: Algorithm, summary: &Summary) -> Under<'_> {
    Under {
        algorithm: algorithm.name(),
        admitted: summary.admitted,
        denied: summary.denied,
        denied_per_mille: per_mille(summary.denied, summary.requests),
        denied_never: summary.denied_never,
        denied_keys: summary.denied_keys,
        refunded_tokens: summary.refunded_tokens,
        busiest_second: summary.busiest_fields(),
        policy: summary.policy.as_ref().map_or("", Policy::name),
        limits: summary.limits().map(limit).collect(),
        top_denied: summary.top_fields(),
        store: summary.store_fields(),
    }
}

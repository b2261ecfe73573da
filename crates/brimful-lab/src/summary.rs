//! What a replay found.

pub(crate) mod bound;
pub(crate) mod json;
pub(crate) mod text;

use brimful::{Limit, Nanos, Policy, Stats};

use crate::busiest::Second;
use crate::event::Reason;
use crate::options::Format;
use crate::policies::OfPolicy;
use crate::reorder::Disorder;

/// Bad lines that are kept to be shown.
const SHOWN_BAD: usize = 5;

/// What a limit would have done to a log. Printed with `{}` it is a table for people;
/// [`to_json`](Self::to_json) is the same for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The policy that every key got; `None` when there were rules.
    pub policy: Option<Policy>,
    /// How the log is written; `None` when nothing was in it.
    pub format: Option<Format>,
    /// Lines read, blank and bad ones included.
    pub lines: u64,
    /// Events that asked for tokens (`acquire`).
    pub requests: u64,
    /// Different keys among all good events.
    pub keys: u64,
    /// Requests that were admitted.
    pub admitted: u64,
    /// Requests that were denied.
    pub denied: u64,
    /// Those of them that no wait would have helped.
    pub denied_never: u64,
    /// Keys that were denied at least once.
    pub denied_keys: u64,
    /// Requests that a policy on trial would have denied.
    pub would_deny: u64,
    /// Requests by the policy that decided: those with the most denials first, of equals the one with
    /// more requests, then by name.
    pub policies: Vec<OfPolicy>,
    /// Requests by the policy that was on trial, in the same order.
    pub on_trial: Vec<OfPolicy>,
    /// Events that only looked (`peek`).
    pub peeks: u64,
    /// Events that gave tokens back (`refund`).
    pub refunds: u64,
    /// What they gave back.
    pub refunded_tokens: u128,
    /// The earliest and the latest time of a good event.
    pub span: Option<(Nanos, Nanos)>,
    /// The first of the seconds with the most requests.
    pub busiest: Option<Second>,
    /// Seconds that came up again, or may have, after requests in more than 4,096 others, and so
    /// may be counted in parts, of which the largest stands. When 0, `busiest` is exact.
    pub busiest_reopened: u64,
    /// How long events were held back to be put in order, in nanoseconds.
    pub reorder_ns: u64,
    /// What was seen of the order of the lines.
    pub disorder: Disorder,
    /// Lines that gave no decision.
    pub bad_lines: BadLines,
    /// The keys with the most denials, at most ten unless told otherwise; of equals the one with fewer requests first,
    /// then by name.
    pub top_denied: Vec<DeniedKey>,
    /// The limiter's own counters.
    pub store: Stats,
}

impl Summary {
    /// The limits of the policy that every key got.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.policy.iter().flat_map(Policy::limits)
    }
}

/// Lines that gave no decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadLines {
    /// How many.
    pub count: u64,
    /// The first five.
    pub first: Vec<BadLine>,
}

/// A line that gave no decision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// A key that was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedKey {
    /// The key.
    pub key: String,
    /// Its requests that were denied.
    pub denied: u64,
    /// All its requests.
    pub requests: u64,
}

/// What was seen of a log, whatever was decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFacts {
    pub(crate) format: Option<Format>,
    pub(crate) lines: u64,
    pub(crate) span: Option<(Nanos, Nanos)>,
    pub(crate) reorder_ns: u64,
    pub(crate) disorder: Disorder,
    pub(crate) bad_lines: BadLines,
}

impl BadLines {
    pub(crate) fn add(&mut self, line: u64, reason: Reason) {
        self.count += 1;
        if self.first.len() < SHOWN_BAD {
            self.first.push(BadLine { line, reason: reason.to_string() });
        }
    }
}

impl LogFacts {
    /// Widens the span of the log.
    pub(crate) fn saw(&mut self, at: Nanos) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }
}

/// `part` of `whole` in thousandths, rounded to the nearest, a half up; 0 of 0 is 0.
pub(crate) fn per_mille(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    u64::try_from((part * 2000 + whole) / (whole * 2)).unwrap_or(u64::MAX)
}

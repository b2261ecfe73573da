//! What a response tells of a decision: the `RateLimit` fields, `Retry-After`, and the older `x-ratelimit-*`.
//!
//! `RateLimit` and `RateLimit-Policy` are those of draft-ietf-httpapi-ratelimit-headers-10: structured fields
//! (RFC 9651), each a list with an item for each limit that is told of.

mod policies;

use std::sync::Arc;
use std::time::Duration;

use brimful::{Decision, Limit, Policy, Retry};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};

use policies::Policies;

/// `RateLimit`: what is left, and when there is more.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// `RateLimit-Policy`: the limits.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `x-ratelimit-limit`: the capacity of the limit that decided.
pub const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// `x-ratelimit-remaining`: the whole tokens that are left of it.
pub const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// `x-ratelimit-reset`: the seconds until every limit is as good as new, rounded up.
pub const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// All headers that the layer writes, for `Access-Control-Expose-Headers`: without that, scripts in browsers do
/// not see them.
pub const HEADERS: [HeaderName; 6] = [
    RETRY_AFTER,
    RATELIMIT,
    RATELIMIT_POLICY,
    X_RATELIMIT_LIMIT,
    X_RATELIMIT_REMAINING,
    X_RATELIMIT_RESET,
];

/// The greatest integer of a structured field.
const MOST: u64 = 999_999_999_999_999;

/// What one layer told of a request.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) decision: Decision,
    pub(crate) policy: Arc<Policy>,
    /// Tokens that were given back since.
    pub(crate) given_back: u64,
}

/// Which of the headers are written.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) standard: bool,
    pub(crate) legacy: bool,
    /// What a token stands for, where it is not a request: an item's `qu`, already written.
    pub(crate) unit: Option<Box<str>>,
    policies: Policies,
}

impl Default for Fields {
    /// Those of the draft.
    fn default() -> Self {
        Self { standard: true, legacy: false, unit: None, policies: Policies::default() }
    }
}

impl Fields {
    /// Whether there are any.
    pub(crate) const fn are_written(&self) -> bool {
        self.standard || self.legacy
    }

    /// Writes what all layers around a request told, the outermost first, in place of what is there.
    pub(crate) fn write(&self, told: &[Told], headers: &mut HeaderMap) {
        if self.standard {
            let make = || field(policies(told, self.unit.as_deref()));
            let policies = match told {
                [alone] => self.policies.field(&alone.policy, make),
                _ => make(),
            };
            insert(headers, RATELIMIT_POLICY, policies);
            insert(headers, RATELIMIT, field(limits(told)));
        }
        if self.legacy
            && let Some((told, limit)) = binding(told)
        {
            headers.insert(X_RATELIMIT_LIMIT, limit.capacity().into());
            headers.insert(X_RATELIMIT_REMAINING, told.remaining().into());
            headers.insert(X_RATELIMIT_RESET, told.reset_secs().into());
        }
    }
}

/// Writes when to come again, unless the response says so itself. Nothing when no wait can help.
pub(crate) fn write_retry_after(decision: &Decision, headers: &mut HeaderMap) {
    if let Some(secs) = decision.retry_after_secs() {
        headers.entry(RETRY_AFTER).or_insert_with(|| secs.into());
    }
}

impl Told {
    /// The limit that decided.
    fn limit(&self) -> Option<&Limit> {
        self.limits().get(self.decision.limit()?)
    }

    fn remaining(&self) -> u64 {
        let capacity = self.limit().map_or(u64::MAX, Limit::capacity);
        self.decision.remaining().saturating_add(self.given_back).min(capacity)
    }

    /// The limits that clients are told of: none of a policy on trial.
    fn limits(&self) -> &[Limit] {
        if self.policy.is_shadow() { &[] } else { self.policy.limits() }
    }

    fn reset_secs(&self) -> u64 {
        secs(self.decision.reset_after())
    }
}

/// `RateLimit-Policy`: every limit of every policy. `q` is the capacity and `w` the time that fills it, so that what
/// remains is never more than `q`, and q / w is the rate.
fn policies(told: &[Told], unit: Option<&str>) -> String {
    let mut text = String::with_capacity(ITEM);
    for (name, limit) in items(told).map(|(name, _, limit)| (name, limit)) {
        item(&mut text, name, (";q=", limit.capacity()), (";w=", fill_secs(limit)));
        text.extend(unit);
    }
    text
}

/// `RateLimit`: of each policy the limit that decided.
fn limits(told: &[Told]) -> String {
    let mut text = String::with_capacity(ITEM);
    for (name, told, _) in items(told).filter(|(_, told, limit)| told.limit() == Some(*limit)) {
        let next = secs(told.decision.next_after());
        item(&mut text, name, (";r=", told.remaining()), (";t=", next));
    }
    text
}

/// Room for an item with a name and numbers of the usual length.
const ITEM: usize = 64;

/// What tells one limit from those that were told before it: its name, and when that was taken, the how many-th.
type Name<'a> = (&'a str, usize);

/// All limits that are told of, with their names.
fn items(told: &[Told]) -> impl Iterator<Item = (Name<'_>, &Told, &Limit)> {
    told.iter().enumerate().flat_map(|(place, one)| {
        let before = told.get(..place).unwrap_or(&[]);
        one.limits().iter().map(move |limit| {
            let others = before.iter().flat_map(Told::limits);
            let same = others.filter(|other| other.name() == limit.name()).count();
            ((limit.name(), same.saturating_add(1)), one, limit)
        })
    })
}

/// Adds an item. (A limit's name has nothing that a structured string would have to escape.)
fn item(text: &mut String, (name, nth): Name<'_>, first: (&str, u64), second: (&str, u64)) {
    let mut digits = itoa::Buffer::new();
    text.push_str(if text.is_empty() { "\"" } else { ", \"" });
    text.push_str(name);
    if nth > 1 {
        text.push('#');
        text.push_str(digits.format(nth));
    }
    text.push('"');
    for (parameter, value) in [first, second] {
        text.push_str(parameter);
        text.push_str(digits.format(value.min(MOST)));
    }
}

/// What binds the client most: a denial that waits longest, else the least remaining; the first of equals.
fn binding(told: &[Told]) -> Option<(&Told, &Limit)> {
    let weight = |told: &Told| match told.decision.retry() {
        Retry::Never => (0, Duration::ZERO, 0),
        Retry::After(wait) => (1, Duration::MAX.saturating_sub(wait), 0),
        Retry::Now => (2, Duration::ZERO, told.remaining()),
    };
    let limited = told.iter().filter_map(|told| Some((told, told.limit()?)));
    limited.min_by_key(|(told, _)| weight(told))
}

/// The time that fills the limit, at least a second.
fn fill_secs(limit: &Limit) -> u64 {
    let nanos = u128::from(limit.capacity()).saturating_mul(limit.period().as_nanos());
    let secs = nanos.div_ceil(u128::from(limit.tokens().max(1)).saturating_mul(1_000_000_000));
    u64::try_from(secs).unwrap_or(MOST).clamp(1, MOST)
}

/// Whole seconds, rounded up.
fn secs(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// `None` when there is nothing to say.
fn field(text: String) -> Option<HeaderValue> {
    // (What a text has room for beyond its length would be given back for one more allocation.)
    HeaderValue::from_bytes(text.as_bytes()).ok().filter(|value| !value.is_empty())
}

/// Writes the field in place of what is there, or nothing when there is nothing to say.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

//! What a response tells of a decision: the `RateLimit` fields, `Retry-After`, and the older `x-ratelimit-*`.
//!
//! `RateLimit` and `RateLimit-Policy` are those of draft-ietf-httpapi-ratelimit-headers-10: structured fields
//! (RFC 9651), each a list with an item for each limit that is told of.

mod policies;

use std::borrow::Cow;
use std::slice;
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
    /// What was enforced, never what is on trial.
    pub(crate) policy: Arc<Policy>,
    pub(crate) style: Style,
}

/// Which of the headers a layer writes, and how.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) standard: bool,
    pub(crate) legacy: bool,
    /// What a token stands for, where it is not a request: an item's `qu`, already written.
    pub(crate) unit: Option<Arc<str>>,
}

/// The headers of one layer.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) style: Style,
    policies: Policies,
}

impl Default for Fields {
    /// Those of the draft.
    fn default() -> Self {
        let style = Style { standard: true, legacy: false, unit: None };
        Self { style, policies: Policies::default() }
    }
}

impl Fields {
    /// Whether there are any.
    pub(crate) const fn are_written(&self) -> bool {
        self.style.standard || self.style.legacy
    }

    /// Writes what this layer told, in place of what is there.
    pub(crate) fn write_alone(&self, told: &Told, headers: &mut HeaderMap) {
        let told = slice::from_ref(told);
        if self.style.standard {
            let policies = |policy| self.policies.field(policy, || field(policies(told)));
            insert(headers, RATELIMIT_POLICY, told.first().and_then(|told| policies(&told.policy)));
            insert(headers, RATELIMIT, field(limits(told)));
        }
        write_legacy(told, headers);
    }
}

/// Writes what all layers around a request told, the outermost first, in place of what is there.
pub(crate) fn write(told: &[Told], headers: &mut HeaderMap) {
    insert(headers, RATELIMIT_POLICY, field(policies(told)));
    insert(headers, RATELIMIT, field(limits(told)));
    write_legacy(told, headers);
}

/// These have room for one limit: that which binds, whoever of the layers wants them.
fn write_legacy(told: &[Told], headers: &mut HeaderMap) {
    let is_wanted = told.iter().any(|told| told.style.legacy);
    if let Some((told, limit)) = binding(told).filter(|_| is_wanted) {
        headers.insert(X_RATELIMIT_LIMIT, limit.capacity().into());
        headers.insert(X_RATELIMIT_REMAINING, told.decision.remaining().into());
        headers.insert(X_RATELIMIT_RESET, secs(told.decision.reset_after()).into());
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
        self.policy.limits().get(self.decision.limit()?)
    }
}

/// `RateLimit-Policy`: every limit of every policy. `q` is the capacity and `w` the time that fills it, so that what
/// remains is never more than `q`, and q / w is the rate.
fn policies(told: &[Told]) -> String {
    let mut text = String::with_capacity(ITEM);
    for (name, told, limit) in named(told) {
        item(&mut text, &name, (";q=", limit.capacity()), (";w=", fill_secs(limit)));
        text.extend(told.style.unit.as_deref());
    }
    text
}

/// `RateLimit`: of each policy the limit that decided.
fn limits(told: &[Told]) -> String {
    let mut text = String::with_capacity(ITEM);
    for (name, told, limit) in named(told) {
        if told.limit() == Some(limit) {
            let next = secs(told.decision.next_after());
            item(&mut text, &name, (";r=", told.decision.remaining()), (";t=", next));
        }
    }
    text
}

/// All limits that are told of in these fields, with the names that they have there: their own, and when one further in
/// has it, a number behind it. So what a denial further in says of itself stays right.
fn named(told: &[Told]) -> Vec<(Cow<'_, str>, &Told, &Limit)> {
    let told = told.iter().filter(|told| told.style.standard);
    let limits = told.flat_map(|told| told.policy.limits().iter().map(move |limit| (told, limit)));
    let limits: Vec<(&Told, &Limit)> = limits.collect();
    let mut named: Vec<(Cow<'_, str>, &Told, &Limit)> = Vec::with_capacity(limits.len());
    for (told, limit) in limits.into_iter().rev() {
        let mut name = Cow::Borrowed(limit.name());
        // One of these is free: there are more of them than names.
        for number in 2..=named.len().saturating_add(2) {
            if !named.iter().any(|(taken, ..)| *taken == name) {
                break;
            }
            name = Cow::Owned(format!("{}#{number}", limit.name()));
        }
        named.push((name, told, limit));
    }
    named.reverse();
    named
}

/// Room for an item with a name and numbers of the usual length.
const ITEM: usize = 64;

/// Adds an item. (A limit's name has nothing that a structured string would have to escape.)
fn item(text: &mut String, name: &str, first: (&str, u64), second: (&str, u64)) {
    let mut digits = itoa::Buffer::new();
    text.push_str(if text.is_empty() { "\"" } else { ", \"" });
    text.push_str(name);
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
        Retry::Now => (2, Duration::ZERO, told.decision.remaining()),
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

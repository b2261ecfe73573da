//! Counters and limiters as metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use brimful::{Limiter, Stats};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::counters::Counters;
use crate::event::Outcome;

/// [`Counters`] and limiters as a collector for a `prometheus_client::registry::Registry`.
///
/// ```
/// use brimful::Limiter;
/// use brimful_observe::{Counters, Event, Observer, Outcome, PrometheusMetrics};
/// use prometheus_client::registry::Registry;
/// use std::sync::Arc;
///
/// let counters = Arc::new(Counters::new());
/// let limiter = Arc::new(Limiter::per_second(10)?);
/// let metrics = PrometheusMetrics::new()
///     .counters(counters.clone())
///     .limiter("clients", limiter.clone());
/// let mut registry = Registry::default();
/// registry.register_collector(Box::new(metrics));
///
/// let decision = limiter.try_acquire("ann");
/// counters.observe(&Event::new("api", "default", Outcome::of(&decision)));
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains(r#"brimful_requests_total{scope="api",policy="default",outcome="admitted"} 1"#));
/// assert!(text.contains(r#"brimful_keys{limiter="clients"} 1"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Register one for all limiters of a registry: each metric may be described there only once. What each means
/// is said in `docs/operators.md`.
///
/// Numbers are read when they are asked for; nothing is kept beside what limiters and counters keep. A limiter
/// that is registered is not dropped before the registry.
#[derive(Debug, Default)]
pub struct PrometheusMetrics {
    counters: Option<Arc<Counters>>,
    limiters: BTreeMap<String, Arc<Limiter>>,
}

impl PrometheusMetrics {
    /// Nothing to collect yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows requests and tokens, in place of those of other counters.
    #[must_use]
    pub fn counters(self, counters: Arc<Counters>) -> Self {
        Self { counters: Some(counters), ..self }
    }

    /// Shows what the limiter says of itself ([`Limiter::stats`]), with a label `limiter` that has that name. A
    /// limiter that had the name is no longer shown.
    #[must_use]
    pub fn limiter(mut self, name: impl Into<String>, limiter: Arc<Limiter>) -> Self {
        self.limiters.insert(name.into(), limiter);
        self
    }
}

impl Collector for PrometheusMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(counters) = &self.counters {
            encode_counters(counters, &mut encoder)?;
        }
        if self.limiters.is_empty() {
            return Ok(());
        }
        let stats: Vec<(&str, Stats)> =
            self.limiters.iter().map(|(name, limiter)| (name.as_str(), limiter.stats())).collect();
        encode_gauges(&stats, &mut encoder)?;
        encode_sums(&stats, &mut encoder)?;
        encode_evictions(&stats, &mut encoder)
    }
}

const REQUESTS: &str = "Requests by what became of them";
const TOKENS: &str = "Tokens that requests asked for, by what became of them";

fn encode_counters(counters: &Counters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut rows = Vec::new();
    counters.visit(|scope, policy, outcome, requests, tokens| {
        // These two are there from the start, so that the first of them is seen as a rise from 0.
        let is_usual = matches!(outcome, Outcome::Admitted | Outcome::Denied);
        if requests > 0 || (is_usual && policy != Counters::OTHERS) {
            rows.push((
                [("scope", scope), ("policy", policy), ("outcome", outcome.name())],
                requests,
                tokens,
            ));
        }
    });
    // A metric without a series is not described.
    if rows.is_empty() {
        return Ok(());
    }
    let mut family = |name, help, value: fn(u64, u64) -> u64| {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        rows.iter().try_for_each(|(labels, requests, tokens)| {
            ConstCounter::new(value(*requests, *tokens)).encode(metric.encode_family(labels)?)
        })
    };
    family("brimful_requests", REQUESTS, |requests, _| requests)?;
    family("brimful_tokens", TOKENS, |_, tokens| tokens)
}

/// Name, help, and where the number stands.
type Figure = (&'static str, &'static str, fn(&Stats) -> u64);

const GAUGES: &[Figure] = &[
    ("brimful_keys", "Keys that have a slot", |s| s.occupied),
    ("brimful_max_keys", "Keys that the limiter was built for", |s| s.max_keys),
    ("brimful_slots", "Slots for keys", |s| s.slots),
    ("brimful_waiters", "Those who wait for tokens", |s| s.waiters),
    ("brimful_reservations", "Open reservations", |s| s.reservations),
    ("brimful_log_entries", "Entries that sliding logs hold", |s| s.log_entries),
    ("brimful_max_log_entries", "Entries that sliding logs can hold", |s| s.max_log_entries),
    ("brimful_generation", "Which rules are in force, from 1", |s| s.generation),
    ("brimful_retired_policies", "Policies of replaced rules under which keys still owed", |s| {
        s.retired_policies
    }),
    ("brimful_given_policies", "Policies that came with calls and are kept", |s| s.given_policies),
    ("brimful_max_given_policies", "Policies from calls that can be kept", |s| {
        s.max_given_policies
    }),
];

const SUMS: &[Figure] = &[
    ("brimful_admitted", "Requests with a cost above 0 that the limiter allowed", |s| s.admitted),
    ("brimful_denied", "Requests with a cost above 0 that the limiter denied", |s| s.denied),
    (
        "brimful_would_deny",
        "Requests with a cost above 0 that policies on trial would have denied",
        |s| sum(&s.would_deny_by_policy),
    ),
    ("brimful_forgiven_tokens", "Tokens owed by keys that were forgotten, rounded up", |s| {
        s.forgiven_tokens
    }),
    ("brimful_store_full", "Denials because there was no place", |s| s.store_full),
    ("brimful_shared", "Decisions against a state shared by keys without a slot", |s| s.shared),
    ("brimful_left_shared", "Keys that got a slot while the shared state was owing", |s| {
        s.left_shared
    }),
    ("brimful_resolved", "Times the rules were asked for a key", |s| s.resolved),
    ("brimful_unknown_tier", "Requests of tiers that the rules do not know", |s| s.unknown_tier),
];

fn sum(by_policy: &[(String, u64)]) -> u64 {
    by_policy.iter().fold(0, |sum, (_, count)| count.saturating_add(sum))
}

fn encode_gauges(stats: &[(&str, Stats)], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Memory of slots, shared states and log entries";
    let mut metric =
        encoder.encode_descriptor("brimful_memory", help, Some(&Unit::Bytes), MetricType::Gauge)?;
    for (limiter, stats) in stats {
        ConstGauge::new(stats.bytes).encode(metric.encode_family(&[("limiter", *limiter)])?)?;
    }
    for (name, help, value) in GAUGES {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (limiter, stats) in stats {
            ConstGauge::new(value(stats))
                .encode(metric.encode_family(&[("limiter", *limiter)])?)?;
        }
    }
    Ok(())
}

fn encode_sums(stats: &[(&str, Stats)], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, value) in SUMS {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (limiter, stats) in stats {
            let labels = [("limiter", *limiter)];
            ConstCounter::new(value(stats)).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_evictions(stats: &[(&str, Stats)], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Keys that gave their slot to another: lossless owed nothing, forced were in debt";
    let mut metric =
        encoder.encode_descriptor("brimful_evictions", help, None, MetricType::Counter)?;
    for (limiter, stats) in stats {
        let kinds = [("lossless", stats.evicted_lossless), ("forced", stats.evicted_forced)];
        for (kind, count) in kinds {
            let labels = [("limiter", *limiter), ("kind", kind)];
            ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

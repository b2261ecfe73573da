//! A registry with all that there is.

use std::sync::Arc;

use brimful::{Algorithm, Limit, Limiter, ManualClock, Nanos, Overflow, Policy};
use brimful_observe::{Counters, Event, Observer, Outcome, PrometheusMetrics};
use prometheus_client::registry::Registry;

/// Names that a text has to escape, or that look like text of another kind.
pub const NAMES: [&str; 6] =
    ["api", "", "quo\"te", "back\\slash\\", "two\nlines", "ü {a=\"b\"} 1 # EOF"];

/// By name.
pub type Limiters = Vec<(&'static str, Arc<Limiter>)>;

pub fn limiter(policy: impl Into<Policy>) -> brimful::LimiterBuilder {
    Limiter::builder(policy.into()).clock(ManualClock::new(Nanos::from_secs(1_000_000)))
}

/// Counts of all outcomes under all names, up to the highest number; limiters in different states.
pub fn registry() -> (Registry, Arc<Counters>, Limiters) {
    let counters = Arc::new(Counters::new());
    for scope in NAMES {
        for policy in NAMES {
            for (cost, outcome) in (1..).zip(Outcome::ALL) {
                counters.observe(&Event::new(scope, policy, outcome).cost(cost));
            }
        }
    }
    counters.observe(&Event::new("big", "big", Outcome::Denied).cost(u64::MAX));
    counters.declare("quiet", "never seen");

    let limiters = vec![
        ("busy", Arc::new(busy())),
        (
            "trial",
            Arc::new(limiter(Policy::from(Limit::per_hour(1).unwrap()).shadow()).build().unwrap()),
        ),
        (NAMES[5], Arc::new(limiter(Limit::per_hour(1).unwrap()).max_keys(8).build().unwrap())),
        ("log", Arc::new(shared_log())),
        (NAMES[4], Arc::new(limiter(Policy::blocked()).build().unwrap())),
    ];
    for (_, limiter) in &limiters {
        for key in 0..100_u32 {
            for _ in 0..2 {
                let _ = limiter.try_acquire(key % 50);
            }
        }
    }
    let metrics = PrometheusMetrics::new().counters(counters.clone());
    let metrics = limiters
        .iter()
        .fold(metrics, |metrics, (name, limiter)| metrics.limiter(*name, limiter.clone()));
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    (registry, counters, limiters)
}

/// Full, and asked in ways that rules do not know.
fn busy() -> Limiter {
    let limit = Limit::per_hour(1).unwrap();
    let limiter = limiter(limit.clone()).max_keys(8).overflow(Overflow::Refuse).build().unwrap();
    let _ = limiter.tier("unheard of").try_acquire(1_000_u32);
    let given = Policy::from(Limit::per_hour(7).unwrap());
    let _ = limiter.try_acquire_with(1_001_u32, &given, 1, Nanos::from_secs(1_000_000));
    limiter
}

/// The text for those who ask for OpenMetrics.
pub fn open_metrics(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
    text
}

/// The text for those who ask for that of Prometheus.
pub fn prometheus_text(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::prometheus_text::encode(&mut text, registry).unwrap();
    text
}

/// Keys without a slot share a state.
fn shared_log() -> Limiter {
    let limit = Limit::per_hour(3).unwrap().algorithm(Algorithm::SlidingLog).unwrap();
    let limiter = limiter(limit).max_keys(8).overflow(Overflow::Share).max_log_entries(64).build();
    let limiter = limiter.unwrap();
    limiter
        .set_rules(Limit::per_hour(2).unwrap().algorithm(Algorithm::SlidingLog).unwrap())
        .unwrap();
    limiter
}

//! The text that Prometheus reads is of its form, and its numbers are those of counters and limiters.

#![cfg(feature = "prometheus")]

#[path = "common/metrics.rs"]
#[allow(dead_code, unreachable_pub, reason = "another test uses the rest")]
mod metrics;
#[path = "common/openmetrics.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod openmetrics;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use brimful::{Limit, Stats};
use brimful_observe::{Counters, Event, Observer, Outcome, PrometheusMetrics};
use openmetrics::{Family, read};
use prometheus_client::registry::Registry;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn collect(metrics: PrometheusMetrics) -> BTreeMap<String, Family> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    read(&metrics::open_metrics(&registry)).unwrap()
}

#[test]
fn the_text_is_of_its_form_whatever_names_there_are() {
    let (registry, counters, limiters) = metrics::registry();
    let families = read(&metrics::open_metrics(&registry)).unwrap();

    let (requests, tokens) = (&families["brimful_requests"], &families["brimful_tokens"]);
    assert_eq!((&*requests.kind, &*tokens.kind), ("counter", "counter"));
    let counts = counters.snapshot();
    assert_eq!(counts.len(), 6 * 6 * Outcome::ALL.len() + 1);
    for count in &counts {
        let labels = labels(&[
            ("scope", &count.scope),
            ("policy", &count.policy),
            ("outcome", count.outcome.name()),
        ]);
        assert_eq!(requests.series[&labels], count.requests, "{labels:?}");
        assert_eq!(tokens.series[&labels], count.tokens, "{labels:?}");
    }
    // What did not occur yet: one half of the big one, both of the quiet one.
    assert_eq!(requests.series.len(), counts.len() + 3);
    assert_eq!(
        requests.series.keys().collect::<Vec<_>>(),
        tokens.series.keys().collect::<Vec<_>>()
    );

    for (name, family) in &families {
        if name != "brimful_requests" && name != "brimful_tokens" {
            let per_limiter = if name == "brimful_evictions" { 2 } else { 1 };
            assert_eq!(family.series.len(), limiters.len() * per_limiter, "{name}");
        }
    }
}

#[test]
fn what_is_rare_is_seen_rising_from_nothing() {
    let counters = Arc::new(Counters::new());
    counters.observe(&Event::new("api", "default", Outcome::Admitted));
    let families = collect(PrometheusMetrics::new().counters(counters));
    let denied = labels(&[("scope", "api"), ("policy", "default"), ("outcome", "denied")]);
    assert_eq!(families["brimful_requests"].series[&denied], 0);
    assert_eq!(families["brimful_requests"].series.len(), 2);
    assert_eq!(families.len(), 2, "nothing of limiters where there are none");
}

type Figure = fn(&Stats) -> u64;

const GAUGES: [(&str, Figure); 12] = [
    ("brimful_keys", |s| s.occupied),
    ("brimful_max_keys", |s| s.max_keys),
    ("brimful_slots", |s| s.slots),
    ("brimful_memory_bytes", |s| s.bytes),
    ("brimful_waiters", |s| s.waiters),
    ("brimful_reservations", |s| s.reservations),
    ("brimful_log_entries", |s| s.log_entries),
    ("brimful_max_log_entries", |s| s.max_log_entries),
    ("brimful_generation", |s| s.generation),
    ("brimful_retired_policies", |s| s.retired_policies),
    ("brimful_given_policies", |s| s.given_policies),
    ("brimful_max_given_policies", |s| s.max_given_policies),
];

const COUNTERS: [(&str, Figure); 9] = [
    ("brimful_admitted", |s| s.admitted),
    ("brimful_denied", |s| s.denied),
    ("brimful_would_deny", |s| s.would_deny_by_policy.iter().map(|one| one.1).sum()),
    ("brimful_forgiven_tokens", |s| s.forgiven_tokens),
    ("brimful_store_full", |s| s.store_full),
    ("brimful_shared", |s| s.shared),
    ("brimful_left_shared", |s| s.left_shared),
    ("brimful_resolved", |s| s.resolved),
    ("brimful_unknown_tier", |s| s.unknown_tier),
];

/// What takes more than some calls to come about.
const UNSEEN: [&str; 2] = ["brimful_left_shared", "brimful_retired_policies"];

#[test]
fn figures_of_limiters_are_those_of_their_stats() {
    let (registry, _, limiters) = metrics::registry();
    let _open = limiters[1].1.reserve("ann", 1).unwrap();
    let hour = Some(Duration::from_secs(3_600));
    let _waits = limiters[0].1.enqueue(1_000_u32, 1, hour).unwrap();
    let mut families = read(&metrics::open_metrics(&registry)).unwrap();
    for (kind, figures) in [("gauge", &GAUGES[..]), ("counter", &COUNTERS[..])] {
        for (name, figure) in figures {
            let family = families.remove(*name).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(family.kind, kind, "{name}");
            for (limiter, values) in &limiters {
                let labels = labels(&[("limiter", limiter)]);
                assert_eq!(family.series[&labels], figure(&values.stats()), "{name} of {limiter}");
            }
            let seen = family.series.values().any(|value| *value > 0);
            assert!(seen || UNSEEN.contains(name), "{name} is 0 everywhere");
            assert_eq!(family.unit.as_deref(), name.ends_with("_bytes").then_some("bytes"));
        }
    }
    let evictions = families.remove("brimful_evictions").unwrap();
    let mut forced = 0;
    for (limiter, values) in &limiters {
        let stats = values.stats();
        for (kind, count) in
            [("lossless", stats.evicted_lossless), ("forced", stats.evicted_forced)]
        {
            let labels = labels(&[("limiter", limiter), ("kind", kind)]);
            assert_eq!(evictions.series[&labels], count, "{limiter}");
        }
        forced += stats.evicted_forced;
    }
    assert!(forced > 0, "a store was full");
    let left: Vec<_> = families.into_keys().collect();
    assert_eq!(left, ["brimful_requests", "brimful_tokens"], "all is compared");
}

#[test]
fn a_name_that_is_given_again_is_that_of_the_later() {
    let build = || Arc::new(metrics::limiter(Limit::per_hour(1).unwrap()).build().unwrap());
    let (first, second) = (build(), build());
    let _ = second.try_acquire("ann");
    let metrics = PrometheusMetrics::new().limiter("one", first).limiter("one", second);
    let families = collect(metrics.counters(Arc::default()));
    assert_eq!(
        families["brimful_admitted"].series,
        BTreeMap::from([(labels(&[("limiter", "one")]), 1)])
    );
}

/// The prefix and the labels of a registry go before those of the collector.
#[test]
fn a_registry_adds_its_own_names() {
    let mut registry =
        Registry::with_prefix_and_labels("edge", [("host".into(), "a".into())].into_iter());
    let limiter = Arc::new(metrics::limiter(Limit::per_hour(1).unwrap()).build().unwrap());
    registry.register_collector(Box::new(PrometheusMetrics::new().limiter("one", limiter)));
    let families = read(&metrics::open_metrics(&registry)).unwrap();
    let labels = labels(&[("host", "a"), ("limiter", "one")]);
    assert_eq!(families["edge_brimful_generation"].series[&labels], 1);
}

#[test]
fn nothing_to_collect_is_a_text_without_families() {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(PrometheusMetrics::new()));
    assert_eq!(metrics::open_metrics(&registry), "# EOF\n");
}

//! `docs/operators.md` shows the example as it is, and says of each metric, outcome and field what it means.

#![cfg(all(feature = "prometheus", feature = "tracing"))]

#[path = "common/metrics.rs"]
#[allow(dead_code, unreachable_pub, reason = "another test uses the rest")]
mod metrics;

use std::collections::BTreeSet;

use brimful_observe::Outcome;

const PAGE: &str = include_str!("../../../docs/operators.md");
const EXAMPLE: &str = include_str!("../examples/service.rs");

/// What stands first in the rows of tables, between backticks.
fn rows() -> impl Iterator<Item = &'static str> {
    PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let block = PAGE.split("```rust\n").nth(1).and_then(|rest| rest.split("```\n").next());
    assert!(block == Some(EXAMPLE), "docs/operators.md and examples/service.rs differ");
    assert_eq!(PAGE.matches("```").count(), 2, "a block that nobody checks");
}

/// Each name with the ending that samples have, and its kind.
#[test]
fn the_page_has_a_row_for_each_metric() {
    let (registry, ..) = metrics::registry();
    let text = metrics::prometheus_text(&registry);
    let described = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let described: BTreeSet<&str> = described.collect();
    let on_page = PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `brimful_")?.split('|');
        let (name, kind) = (cells.next()?.trim().trim_end_matches('`'), cells.next()?.trim());
        Some(format!("brimful_{name} {kind}"))
    });
    let on_page: Vec<String> = on_page.collect();
    assert_eq!(on_page.len(), described.len(), "a metric twice");
    assert_eq!(on_page.iter().map(String::as_str).collect::<BTreeSet<_>>(), described);
}

#[test]
fn the_page_has_a_row_for_each_outcome() {
    let outcomes: Vec<&str> = rows().filter(|name| !name.starts_with("brimful_")).collect();
    assert_eq!(outcomes, Outcome::ALL.map(Outcome::name));
}

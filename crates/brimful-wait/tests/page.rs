//! `docs/verbs.md` shows the examples as they are. (The testkit compiles and runs them from there.)

use std::path::Path;

const PAGE: &str = include_str!("../../../docs/verbs.md");

const EXAMPLES: [&str; 4] = [
    "brimful/examples/service.rs",
    "brimful-wait/examples/job.rs",
    "brimful/examples/gateway.rs",
    "brimful/examples/login.rs",
];

#[test]
fn the_page_shows_the_examples_as_they_are() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut blocks =
        PAGE.split("```rust\n").skip(1).map(|rest| rest.split("```\n").next().unwrap());
    for example in EXAMPLES {
        let text = std::fs::read_to_string(crates.join(example)).unwrap();
        assert!(blocks.next() == Some(&text), "docs/verbs.md and {example} differ");
    }
    assert_eq!(blocks.next(), None);
    assert_eq!(PAGE.matches("```").count(), 2 * EXAMPLES.len(), "a block that nobody checks");
}

#[test]
fn the_page_names_the_bounds_that_are_there() {
    let builder = format!("{:?}", brimful::Limiter::builder(brimful::Policy::unlimited()));
    for (bound, words) in [
        ("max_waiters: 100000", "At most 100,000 wait in all"),
        ("max_waiters_per_key: 1000", "1,000 of them for one key"),
        ("max_wait: 3600s", "nobody for longer than an hour"),
    ] {
        assert!(builder.contains(bound) && PAGE.contains(words), "{bound}: {builder}");
    }
}

//! The README shows what the tool prints.

const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_shows_the_summary_of_the_example() {
    let summary = include_str!("access-log-summary.txt");
    assert!(README.contains(summary), "README.md and access-log-summary.txt differ");
    // The command above it is the one that the summary is a snapshot of.
    let command = "cargo run --release -- replay examples/access.log --limit '10/min burst 20'";
    assert!(README.contains(command));
}

#[test]
fn the_readme_shows_what_rules_would_have_done() {
    let summary = include_str!("access-log-by-rules.txt");
    let from = summary.find("policies\n").expect("what each policy decided");
    let to = summary.find("\ntop denied keys\n").expect("what comes after it");
    assert!(README.contains(&format!("```text\n{}```\n", &summary[from..to])));
    assert!(README.contains("replay examples/access.log --config examples/limits.toml"));
}

#[test]
fn the_readme_shows_the_four_algorithms_side_by_side() {
    let table = include_str!("compare-100-per-min.txt");
    assert!(README.contains(table), "README.md and compare-100-per-min.txt differ");
    assert!(README.contains("cargo run --release -- compare --limit '100/min'"));
}

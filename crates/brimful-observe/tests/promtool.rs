//! What Prometheus itself says of the text that it is given (`scripts/test servers`).

#![cfg(feature = "prometheus")]

#[path = "common/metrics.rs"]
#[allow(dead_code, unreachable_pub, reason = "another test uses the rest")]
mod metrics;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// Runs `promtool` with that as its input. Never skipped: without the tool it fails.
fn promtool(arguments: &[&str], input: &str) -> Output {
    let started = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut running = started.unwrap_or_else(|fault| {
        panic!("promtool cannot be run ({fault}); `scripts/test --install servers` gets it")
    });
    // It may end before it has read all, when it does not like the beginning.
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    running.wait_with_output().unwrap()
}

/// What it says of a text of Prometheus; empty when all is right.
fn check(text: &str) -> String {
    let output = promtool(&["check", "metrics"], text);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{}: {said}", output.status);
    said
}

/// What it says of a text of OpenMetrics, which it reads where it makes blocks of samples; those need a time.
fn import(text: &str, name: &str) -> Result<(), String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    let mut timed = String::new();
    for line in text.lines() {
        let time = if line.starts_with('#') { "" } else { " 1700000000" };
        writeln!(timed, "{line}{time}").unwrap();
    }
    let (file, blocks) = (directory.join("text"), directory.join("blocks"));
    fs::write(&file, timed).unwrap();
    let paths = [file.to_str().unwrap(), blocks.to_str().unwrap()];
    let output = promtool(&["tsdb", "create-blocks-from", "openmetrics", paths[0], paths[1]], "");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn promtool_has_nothing_to_say_of_the_metrics() {
    let (registry, ..) = metrics::registry();
    let text = metrics::prometheus_text(&registry);
    assert_eq!(check(&text), "");
    // It would have: a metric without help, a counter without its ending, a text that is none.
    for wrong in ["# TYPE a gauge\na 1\n", "# HELP a A\n# TYPE a counter\na 1\n", "a{b=\"c} 1\n"] {
        assert_ne!(check(&format!("{text}{wrong}")), "", "{wrong}");
    }
}

#[test]
fn prometheus_reads_the_open_metrics() {
    let (registry, ..) = metrics::registry();
    let text = metrics::open_metrics(&registry);
    import(&text, "right").unwrap();
    let unended = text.replace("# EOF\n", "");
    let unescaped = text.replace("quo\\\"te", "quo\"te");
    for (name, wrong) in [("unended", unended), ("unescaped", unescaped)] {
        assert!(wrong != text && import(&wrong, name).is_err(), "{name}");
    }
}

/// The questions of `docs/operators.md`, as rules that Prometheus would load.
#[test]
fn prometheus_understands_the_questions_of_the_page() {
    let page = include_str!("../../../docs/operators.md");
    let questions: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once("? | `")?.1.strip_suffix("` |"))
        .collect();
    assert!(questions.len() >= 5, "{questions:?}");
    let rules = |questions: &[&str]| {
        let mut text = String::from("groups:\n- name: page\n  rules:\n");
        for (number, question) in questions.iter().enumerate() {
            writeln!(text, "  - record: question:{number}\n    expr: '{question}'").unwrap();
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("questions.yml");
        fs::write(&file, text).unwrap();
        promtool(&["check", "rules", file.to_str().unwrap()], "")
    };
    let output = rules(&questions);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!rules(&["sum by (policy) (rate("]).status.success());
}

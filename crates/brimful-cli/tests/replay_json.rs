//! `docs/replay-json.md` and what `replay` prints as JSON are held together: every field of a real
//! output is on the page with its type and with whether it can be null, and every field of the page
//! is in an output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/replay-json.md");

/// Requests, looks and refunds; a bad line; a key that is denied, and one that can never be.
const EVENTS: &str = r#"{"at_ns": 0, "key": "k", "cost": 64}
{"at_ns": 1, "key": "k", "cost": 64}
{"at_ns": 1, "key": "k", "cost": 500}
{"at_ns": 2, "key": "k", "cost": 1, "op": "peek"}
{"at_ns": 3, "key": "k", "cost": 3, "op": "refund"}
x
"#;

/// What is known of one field.
#[derive(Debug, Default, PartialEq, Eq)]
struct Field {
    types: BTreeSet<String>,
    null: bool,
    /// Some object of its kind does not have it.
    absent: bool,
}

type Fields = BTreeMap<String, Field>;

/// The table under a heading.
fn section(heading: &str) -> Fields {
    let from = PAGE.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let text = &PAGE[from + 4..];
    let text = text.split("\n## ").next().unwrap();
    let mut fields = Fields::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, kind, meaning, null] = cells[..] else { panic!("{row}") };
        assert!(!meaning.is_empty() && !null.is_empty(), "{row}");
        // Whether a number needs more than 64 bits hangs on the log.
        let kind = kind.strip_suffix(" (128 bits)").unwrap_or(kind);
        let field = Field {
            types: [kind.to_owned()].into(),
            null: null != "never" && !null.starts_with("absent"),
            absent: null.starts_with("absent"),
        };
        let twice = fields.insert(name.trim_matches('`').to_owned(), field);
        assert!(twice.is_none(), "{name} is there twice");
    }
    assert!(!fields.is_empty());
    fields
}

/// Adds what `value` shows of the fields in and below it.
fn collect(value: &Value, path: &str, fields: &mut Fields) {
    let Value::Object(object) = value else { return };
    for (name, value) in object {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let field = fields.entry(path.clone()).or_default();
        let kind = match value {
            Value::Null => {
                field.null = true;
                continue;
            }
            Value::Bool(_) => "true or false",
            Value::Number(number) => {
                assert!(!number.to_string().contains(['.', 'e', '-']), "{path}: {number}");
                "integer"
            }
            Value::String(_) => "text",
            Value::Array(_) => "list of objects",
            Value::Object(_) => "object",
        };
        field.types.insert(kind.to_owned());
        match value {
            Value::Array(all) => {
                all.iter().for_each(|inner| collect(inner, &format!("{path}[]"), fields));
            }
            value => collect(value, &path, fields),
        }
    }
}

fn run(args: &[&str], log: &str) -> Vec<Value> {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let output = command.args(["replay", "-"]).args(args).write_stdin(log).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fields that the outputs of these arguments show, for a full log and an empty one.
fn found(runs: &[&[&str]]) -> Fields {
    let mut fields = Fields::new();
    let mut objects = Vec::new();
    for args in runs {
        objects.extend(run(args, EVENTS));
        objects.extend(run(args, ""));
    }
    objects.iter().for_each(|object| collect(object, "", &mut fields));
    for (path, field) in &mut fields {
        field.absent = !path.contains('.') && objects.iter().any(|o| o.get(path).is_none());
    }
    fields
}

fn assert_same(heading: &str, found: &Fields) {
    let page = section(heading);
    let names = |fields: &Fields| fields.keys().cloned().collect::<BTreeSet<_>>();
    let (on_page, in_output) = (names(&page), names(found));
    let missing: Vec<_> = in_output.difference(&on_page).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let unknown: Vec<_> = on_page.difference(&in_output).collect();
    assert!(unknown.is_empty(), "not in any output: {unknown:?}");
    for (path, field) in &page {
        assert_eq!(field, &found[path], "{path}: the page, and the output");
    }
}

/// A file with a rule on trial beside the one that decides.
fn rules() -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay-json.toml");
    let rule = "[[default]]\nlimit = \"10/s burst 100\"\n";
    std::fs::write(&path, format!("{rule}\n[[default]]\nlimit = \"1/s\"\nshadow = true\n"))
        .unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_summary() {
    let by_limit: &[&str] = &["--json", "--limit", "10/s burst 100"];
    assert_same("The summary", &found(&[by_limit, &["--json", "--config", &rules()]]));
}

#[test]
fn all_algorithms() {
    let all: &[&str] = &["--json", "--algorithm", "all", "--limit", "100/s"];
    // One that a log cannot hold, so that something is left out.
    let left: &[&str] = &["--json", "--algorithm", "all", "--limit", "100000/s"];
    assert_same("All algorithms", &found(&[all, left]));
}

#[test]
fn decisions() {
    let limit: &[&str] = &["--decisions", "--limit", "10/s burst 100"];
    let unlimited: &[&str] = &["--decisions", "--limit", "unlimited"];
    let by_rules: &[&str] = &["--decisions", "--config", &rules()];
    assert_same("A decision", &found(&[limit, unlimited, by_rules]));
}

/// What the page says of single values.
#[test]
fn words_and_sums() {
    for (args, word) in [(&["--limit", "10/s"], "default"), (&["--limit", "blocked"], "blocked")] {
        let summary = &run(&[&["--json"], &args[..]].concat(), EVENTS)[0];
        assert_eq!(summary["policy"], word);
        let (admitted, denied) = (summary["admitted"].as_u64(), summary["denied"].as_u64());
        assert_eq!(Some(admitted.unwrap() + denied.unwrap()), summary["requests"].as_u64());
        let decision = &run(&[&["--decisions"], &args[..]].concat(), EVENTS)[0];
        assert_eq!(decision["policy"], "default");
    }
    let all = &run(&["--json", "--algorithm", "all", "--limit", "100/s burst 200"], EVENTS)[0];
    let names = ["token-bucket", "fixed-window", "sliding-log", "sliding-window"];
    let under = all["algorithms"].as_array().unwrap();
    assert_eq!(under.iter().map(|u| u["algorithm"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let specs: Vec<_> = under.iter().map(|u| u["limits"][0]["spec"].as_str().unwrap()).collect();
    let without = ["100/s fixed-window", "100/s sliding-log", "100/s sliding-window"];
    assert_eq!((specs[0], &specs[1..]), ("100/s burst 200", &without[..]));
    let denied = all["top_denied"][0]["denied"].as_array().unwrap();
    for (under, denied) in under.iter().zip(denied) {
        assert_eq!(under["algorithm"], denied["algorithm"]);
        assert_eq!(under["top_denied"][0]["denied"], denied["denied"]);
        assert_eq!(under["denied"], denied["denied"]);
    }
}

//! `brimful compare` as its users see it: what is on stdout, what on stderr, and the exit code.

use std::collections::BTreeSet;

use assert_cmd::Command;
use serde_json::Value;

/// Exit code, stdout, stderr.
fn compare(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let output = command.arg("compare").args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What a run that goes well prints.
fn printed(args: &[&str]) -> String {
    let (code, out, words) = compare(args);
    assert_eq!((code, &*words), (0, ""), "{args:?}");
    out
}

/// After a change that is meant, write the file anew from the root of the repository:
///
/// ```text
/// cargo run -- compare --limit '100/min' > crates/brimful-cli/tests/compare-100-per-min.txt
/// ```
#[test]
fn the_table_is_the_one_that_is_kept() {
    assert_eq!(printed(&["--limit", "100/min"]), include_str!("compare-100-per-min.txt"));
}

#[test]
fn several_limits_have_a_table_each() {
    let (first, second) = ("100/min", "api: 10/s burst 20");
    let both = printed(&["--limit", first, "--limit", second]);
    let each = [first, second].map(|limit| printed(&["--limit", limit]));
    assert_eq!(both, each.join("\n"));
    let json = printed(&["--json", "--limit", first, "--limit", second]);
    let specs =
        json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["spec"].clone());
    assert_eq!(specs.collect::<Vec<_>>(), [first, second]);
}

#[test]
fn the_comparison_as_json() {
    let out = printed(&["--json", "--limit", "api: 100000/min burst 20"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    for (pointer, expected) in [
        ("/name", "\"api\""),
        ("/spec", "\"api: 100000/min burst 20\""),
        ("/tokens", "100000"),
        ("/period_ns", "60000000000"),
        ("/capacity", "20"),
        ("/algorithms/0/algorithm", "\"token-bucket\""),
        ("/algorithms/0/cannot", "null"),
        (
            "/algorithms/0/state",
            r#"{"bytes":32,"log_entries":0,"log_entry_bytes":0,"slot_bytes":32}"#,
        ),
        ("/algorithms/0/in_period/bound", "100019"),
        ("/algorithms/0/in_period/measured", "100019"),
        ("/algorithms/0/in_period/complete", "true"),
        (
            "/algorithms/1/at_once",
            r#"{"bound":200000,"complete":true,"extent_ns":1,"measured":200000,"parts":[{"from_ns":59999999999,"to_ns":59999999999,"tokens":100000},{"from_ns":60000000000,"to_ns":60000000000,"tokens":100000}]}"#,
        ),
        ("/algorithms/1/formula", "\"N (ceil(T / W) + 1)\""),
        ("/algorithms/2/cannot", "\"tokens is 100000, expected at most 65536 for a sliding log\""),
        ("/algorithms/2/state", "null"),
        ("/algorithms/2/at_once", "null"),
        ("/algorithms/2/in_period", "null"),
        ("/algorithms/3/in_period/measured", "199999"),
    ] {
        let value = found.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {out}"));
        assert_eq!(value.to_string(), expected, "{pointer}");
    }
}

/// The fields in the long help are those of the output, no fewer and no more.
#[test]
fn the_help_names_every_field_and_no_other() {
    fn names(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, inner)| {
                into.insert(name.clone());
                names(inner, into);
            }),
            Value::Array(all) => all.iter().for_each(|inner| names(inner, into)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    names(&serde_json::from_str(&printed(&["--json", "--limit", "2/s"])).unwrap(), &mut found);
    let help = printed(&["--help"]);
    let (_, fields) = help.split_once("Fields of --json").unwrap();
    let (_, fields) = fields.split_once(":\n").unwrap();
    let (fields, exit_codes) = fields.split_once("\n\n").unwrap();
    // What stands in parentheses says what a field means.
    let plain = fields.split(')').map(|part| part.split('(').next().unwrap_or(part));
    let plain: String = plain.collect();
    let words = plain.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let said: BTreeSet<_> = words.filter(|word| !word.is_empty()).map(String::from).collect();
    assert_eq!(said, found);
    for line in ["  0  done", "  2  the arguments"] {
        assert!(exit_codes.contains(line) && printed(&["-h"]).contains(line), "{line}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_printed() {
    for (args, part) in [
        (&["--limit", "unlimited"][..], "`unlimited` admits everything under every algorithm"),
        (&["--limit", "blocked"], "`blocked` admits nothing under every algorithm"),
        (&["--limit", "100/min", "--limit", "blocked"], "expected a limit to compare"),
        (&["--limit", "10/minn"], "\n  10/minn\n     ^^^^\n"),
        (&["--limit", ""], "is missing"),
        (&["--limit", "-1/s"], "is negative"),
        (&["--limit", "2/ns"], "rate is 2 per 1 ns"),
        (&["--limit", "10/s burst 20 fixed-window"], "has no burst"),
        (&["--limit", "10/s\u{1b}[2J"], "error: "),
        (&["100/min"], "unexpected argument"),
        (&[], "--limit <SPEC>"),
    ] {
        let (code, out, words) = compare(args);
        assert_eq!((code, &*out), (2, ""), "{args:?}: {words}");
        assert!(words.starts_with("error: ") && words.contains(part), "{args:?}: {words}");
        assert!(!words.contains("panicked"), "{args:?}: {words}");
    }
}

#[test]
fn an_output_that_is_full_is_a_fault() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let output = command.args(["compare", "--limit", "10/s"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"error: the output cannot be written"));
}

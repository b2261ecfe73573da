//! `brimful replay` as its users see it: what is on stdout, what on stderr, and the exit code.

use std::path::Path;

use assert_cmd::Command;

const ACCESS_LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");

/// The sentence of the design: of 100 tokens at 10/s, 36 are left; 5.3 seconds later there are 89.
const SENTENCE: &str = r#"{"at_ns": 0, "key": "k", "cost": 64}
{"at_ns": 5300000000, "key": "k", "cost": 0}
{"at": "5.3", "key": "k", "cost": 1}
{"at": "5.3", "key": "k", "cost": 89, "op": "peek"}
{"at": "5.3", "key": "k", "cost": 3, "op": "refund"}
"#;

/// Exit code, stdout, stderr.
type Output = (i32, String, String);

fn run_bytes(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let output = command.args(args).write_stdin(stdin).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn run(args: &[&str], stdin: &str) -> Output {
    run_bytes(args, stdin.as_bytes())
}

/// `brimful replay - --limit '10/s burst 100'` and more.
fn replay(more: &[&str], stdin: &str) -> Output {
    run(&[&["replay", "-", "--limit", "10/s burst 100"], more].concat(), stdin)
}

/// A run that must fail with exit code 2, nothing on stdout, and words on stderr; the words.
fn refused(args: &[&str], stdin: &str) -> String {
    let (code, out, words) = run(args, stdin);
    assert_eq!((code, &*out), (2, ""), "{args:?}: {words}");
    assert!(words.starts_with("error: ") && !words.contains("panicked"), "{args:?}: {words}");
    words
}

#[test]
fn decisions_are_exact_to_the_byte() {
    let (code, out, words) = replay(&["--decisions"], SENTENCE);
    assert_eq!(
        out,
        r#"{"at_ns":0,"key":"k","cost":64,"allowed":true,"remaining":36,"retry_after_ns":null,"never":false,"reset_after_ns":6400000000,"policy":"default","limit":"10/s burst 100","line":1}
{"at_ns":5300000000,"key":"k","cost":0,"allowed":true,"remaining":89,"retry_after_ns":null,"never":false,"reset_after_ns":1100000000,"policy":"default","limit":"10/s burst 100","line":2}
{"at_ns":5300000000,"key":"k","cost":1,"allowed":true,"remaining":88,"retry_after_ns":null,"never":false,"reset_after_ns":1200000000,"policy":"default","limit":"10/s burst 100","line":3}
{"at_ns":5300000000,"key":"k","cost":89,"allowed":false,"remaining":88,"retry_after_ns":100000000,"never":false,"reset_after_ns":1200000000,"policy":"default","limit":"10/s burst 100","line":4,"op":"peek"}
{"at_ns":5300000000,"key":"k","cost":3,"allowed":true,"remaining":91,"retry_after_ns":null,"never":false,"reset_after_ns":900000000,"policy":"default","limit":"10/s burst 100","line":5,"op":"refund","refunded":3}
"#
    );
    assert_eq!((code, &*words), (0, ""));
}

/// After a change that is meant, write the file anew from the root of the repository:
///
/// ```text
/// cargo run -- replay examples/access.log --limit '10/min burst 20' \
///     > crates/brimful-cli/tests/access-log-summary.txt
/// ```
#[test]
fn the_summary_of_the_example_is_the_one_that_is_kept() {
    let expected = include_str!("access-log-summary.txt");
    let (code, out, words) = run(&["replay", ACCESS_LOG, "--limit", "10/min burst 20"], "");
    assert_eq!(out, expected);
    assert_eq!((code, &*words), (0, ""));
    // The same from standard input.
    let log = std::fs::read(ACCESS_LOG).unwrap();
    assert_eq!(run_bytes(&["replay", "-", "--limit", "10/min burst 20"], &log).1, expected);
}

#[test]
fn the_summary_as_json() {
    let (code, out, words) = replay(&["--json"], &format!("{SENTENCE}x\n"));
    assert_eq!((code, words.lines().count(), out.lines().count()), (0, 1, 1));
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    for (pointer, expected) in [
        ("/format", "\"jsonl\""),
        ("/lines", "6"),
        ("/requests", "3"),
        ("/keys", "1"),
        ("/admitted", "3"),
        ("/denied_per_mille", "0"),
        ("/peeks", "1"),
        ("/refunded_tokens", "3"),
        ("/first_ns", "0"),
        ("/last_ns", "5300000000"),
        (
            "/busiest_second",
            r#"{"admitted":2,"at_ns":5000000000,"denied":0,"reopened":0,"requests":2}"#,
        ),
        ("/out_of_order", r#"{"buffer_ns":0,"late":0,"lines":0,"most_ns":0,"released_early":0}"#),
        (
            "/bad_lines",
            r#"{"count":1,"first":[{"line":6,"reason":"not JSON: expected value at column 1"}]}"#,
        ),
        ("/policy", "\"default\""),
        ("/limits/0/spec", "\"10/s burst 100\""),
        ("/limits/0/algorithm", "\"token-bucket\""),
        ("/limits/0/period_ns", "1000000000"),
        ("/top_denied", "[]"),
        ("/store/max_keys", "100000"),
    ] {
        let value = found.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {out}"));
        assert_eq!(value.to_string(), expected, "{pointer}");
    }
}

/// Every field of the summary, at every depth, is named in the long help, and so is every field of
/// a decision.
#[test]
fn the_help_names_every_field_and_exit_code() {
    fn names(value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, inner) in fields {
                    into.push(name.clone());
                    names(inner, into);
                }
            }
            serde_json::Value::Array(all) => all.iter().for_each(|inner| names(inner, into)),
            _ => {}
        }
    }
    let (code, help, words) = run(&["replay", "--help"], "");
    assert_eq!((code, &*words), (0, ""));
    let denied = format!("{SENTENCE}x\n{}", r#"{"at": 6, "key": "k", "cost": 101}"#);
    let mut all = Vec::new();
    let all_json = ["--json", "--algorithm", "all"];
    for how in [&["--json"][..], &["--decisions"], &all_json] {
        for line in replay(how, &denied).1.lines() {
            names(&serde_json::from_str(line).unwrap(), &mut all);
        }
    }
    assert!(all.len() > 200);
    all.push("left_out".into());
    all.push("reason".into());
    let words: Vec<&str> = help.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let missing: Vec<_> = all.iter().filter(|name| !words.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for line in ["  0  done", "  1  --strict", "  2  the arguments"] {
        assert!(help.contains(line), "{line}");
        assert!(run(&["--help"], "").1.contains(line), "{line}");
    }
}

#[test]
fn a_fault_in_a_limit_is_shown_with_a_caret_and_an_example() {
    let words = refused(&["replay", "-", "--limit", "10/minn"], SENTENCE);
    assert_eq!(
        words,
        "error: unknown unit `minn`; did you mean `min`?
  10/minn
     ^^^^
  expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`
"
    );
    for (limit, part) in [
        ("", "is missing"),
        ("10", "the period is missing"),
        ("NaN/s", "is not a number"),
        ("inf/s", "use the policy `unlimited`"),
        ("-1/s", "is negative"),
        ("1.5/s", "is not a whole number"),
        ("0/s", "use the policy `blocked`"),
        ("10 per 0s", "period is 0ns"),
        ("10/s burst 0", "burst is 0"),
        ("1000000000001/s", "tokens is 1000000000001"),
        ("99999999999999999999999/s", "is too large"),
        ("10/s burst 1000000000001", "burst is 1000000000001"),
        ("10 per 366day", "period is"),
        ("2/ns", "rate is 2 per 1 ns"),
        ("10/s fixed", "found `fixed`"),
        ("10/s fixed-window x", "after the end of the limit"),
        ("10/s burst 20 fixed-window", "has no burst"),
        ("\u{1f980}/s", "is not a number"),
    ] {
        let words = refused(&["replay", "-", "--limit", limit], SENTENCE);
        assert!(words.contains(part) && words.contains("^"), "{limit}: {words}");
    }
}

#[test]
fn limits_that_do_not_go_together() {
    for (args, part) in [
        (&["--limit", "10/s", "--limit", "unlimited"][..], "it must stand alone"),
        (&["--limit", "10/s", "--limit", "10/s"], "two limits of a policy are named `10/s`"),
        (&["--limit", "10/s burst 20", "--algorithm", "sliding-log"], "has no burst"),
        (&["--limit", "10/s burst 10", "--algorithm", "sliding-log"], "has no burst"),
        (&["--limit", "10/s fixed-window", "--algorithm", "sliding-log"], "names fixed-window"),
        (&["--limit", "10/s token-bucket", "--algorithm", "sliding-log"], "names token-bucket"),
        (&["--limit", "65537/s", "--algorithm", "sliding-log"], "at most 65536"),
        (&["--limit", "10/s", "--algorithm", "leaky"], "sliding-window"),
        (&["--limit", "10/s", "--max-keys", "0"], "max_keys is 0, expected 1 to"),
        (&["--limit", "10/s", "--max-keys", "99999999999999999999"], "expected 1 to"),
        (&["--limit", "10/s", "--max-keys", "-5"], "whole number"),
        (&["--limit", "10/s", "--max-keys", "NaN"], "whole number"),
        (&["--limit", "10/s", "--max-keys", "1.5"], "whole number"),
        (&["--limit", "10/s", "--overflow", "drop"], "evict, refuse, share"),
        (&["--limit", "10/s", "--format", "xml"], "combined, jsonl, csv"),
        (&["--limit", "10/s", "--reorder", "5m"], "expected `min` for minutes"),
        (&["--limit", "10/s", "--reorder", "-1s"], "for example `60s`"),
        (&["--limit", "10/s", "--json", "--decisions"], "cannot be used with"),
        (&[], "--limit <SPEC>"),
    ] {
        let words = refused(&[&["replay", "-"], args].concat(), SENTENCE);
        assert!(words.contains(part), "{args:?}: {words}");
    }
    let nine: Vec<String> = (1..=9).map(|n| format!("{n}/s")).collect();
    let args = nine.iter().flat_map(|limit| ["--limit", limit]);
    let words = refused(&["replay", "-"].into_iter().chain(args).collect::<Vec<_>>(), "");
    assert!(words.contains("1 to 8"), "{words}");
}

#[test]
fn limits_that_do() {
    for args in [
        &["--limit", "unlimited"][..],
        &["--limit", "blocked"],
        &["--limit", "blocked", "--algorithm", "sliding-log"],
        &["--limit", "10/s", "--limit", "1000/h"],
        &["--limit", "10/s sliding-log", "--algorithm", "sliding-log"],
        &["--limit", "10/s", "--algorithm", "sliding-window", "--reorder", "0"],
        &["--limit", "10/s", "--overflow", "share", "--max-keys", "1"],
    ] {
        let (code, out, words) = run(&[&["replay", "-"], args].concat(), SENTENCE);
        assert_eq!((code, &*words), (0, ""), "{args:?}");
        assert!(out.starts_with("requests "), "{args:?}: {out}");
    }
}

#[test]
fn logs_that_cannot_be_read() {
    let directory = env!("CARGO_MANIFEST_DIR");
    let words = refused(&["replay", directory, "--limit", "10/s"], "");
    assert_eq!(words, format!("error: `{directory}` is a directory, expected a log\n"));
    let words = refused(&["replay", "no/such.log", "--limit", "10/s"], "");
    assert!(words.contains("`no/such.log` cannot be opened: "), "{words}");
    let (code, out, words) =
        run_bytes(&["replay", "-", "--limit", "10/s"], b"\x28\xb5\x2f\xfd\x00");
    assert_eq!((code, &*out), (2, ""));
    assert!(words.contains("zstd -dc FILE"), "{words}");
    // A file that opens and cannot be read.
    if Path::new("/proc/self/mem").exists() {
        let words = refused(&["replay", "/proc/self/mem", "--limit", "10/s"], "");
        assert!(words.contains("the log cannot be read at line 1: "), "{words}");
    }
}

#[test]
fn bad_lines_are_shown_and_stop_nothing_unless_strict() {
    let bad = r#"{"at_ns": 0, "key": "k", "cost": 0.5}"#;
    let log = format!("{SENTENCE}{}", format!("{bad}\n").repeat(7));
    let (code, out, words) = replay(&[], &log);
    assert_eq!(code, 0);
    assert!(out.contains("  bad lines       7\n"), "{out}");
    let expected =
        "bad line 6: cost is `0.5`, expected a whole number from 0 to 18446744073709551615";
    assert_eq!(words.lines().next(), Some(expected));
    assert_eq!(words.lines().count(), 6);
    assert_eq!(words.lines().last(), Some("and 2 more bad lines"));
    let (code, strict, _) = replay(&["--strict"], &log);
    assert_eq!((code, strict), (1, out));
    assert_eq!(replay(&["--strict"], SENTENCE).0, 0);
    let (code, decisions, _) = replay(&["--decisions"], &log);
    assert_eq!((code, decisions), (0, replay(&["--decisions"], SENTENCE).1));
}

#[test]
fn an_empty_log_is_no_fault() {
    for how in [&["--strict"][..], &["--json"], &["--decisions"]] {
        let (code, out, words) = replay(how, "");
        assert_eq!((code, &*words), (0, ""));
        assert_eq!(out.is_empty(), how == ["--decisions"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    use std::process::{Command, Stdio};
    // Enough that it does not fit into a pipe that nobody reads.
    let log = SENTENCE.lines().next().unwrap().to_owned() + "\n";
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long.jsonl");
    std::fs::write(&path, log.repeat(10_000)).unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("brimful"))
        .arg("replay")
        .arg(&path)
        .args(["--limit", "10/s", "--decisions"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn an_output_that_is_full_is_a_fault() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let command = command.args(["replay", ACCESS_LOG, "--limit", "10/s"]).stdout(full);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"error: the output cannot be written"));
}

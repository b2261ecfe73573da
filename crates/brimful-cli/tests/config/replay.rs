//! `brimful replay --config`.

use serde_json::Value;

use super::{good, refused, run, written};

const LOG: &str = "examples/access.log";

/// After a change that is meant, write the file anew from the root of the repository:
///
/// ```text
/// cargo run -- replay --config examples/limits.toml examples/access.log \
///     > crates/brimful-cli/tests/access-log-by-rules.txt
/// ```
#[test]
fn the_summary_of_the_example_is_the_one_that_is_kept() {
    let out = good(&["replay", "--config", "examples/limits.toml", LOG], "");
    assert_eq!(out, include_str!("../access-log-by-rules.txt"));
}

/// What everyone gets by a file is what everyone gets by an option.
#[test]
fn a_file_of_one_limit_decides_as_the_limit() {
    let file = written("replay", "one.toml", "[default]\nlimit = \"10/min burst 20\"\n");
    for how in ["--decisions", "--json"] {
        let by_file = good(&["replay", LOG, "--config", &file, how], "");
        let by_limit = good(&["replay", LOG, "--limit", "10/min burst 20", how], "");
        if how == "--decisions" {
            assert!(by_file == by_limit, "a decision differs");
            continue;
        }
        let [mut by_file, mut by_limit] =
            [by_file, by_limit].map(|out| serde_json::from_str::<Value>(&out).unwrap());
        assert_eq!(by_file["policies"][0]["denied"], 74);
        assert_eq!(
            (by_file["policy"].take(), by_file["limits"].take()),
            (Value::Null, Value::Array(vec![]))
        );
        (by_limit["policy"], by_limit["limits"]) = (Value::Null, Value::Null);
        assert_eq!(by_file, by_limit);
    }
}

#[test]
fn the_store_is_as_the_file_says() {
    let file = written(
        "replay",
        "store.toml",
        "[store]\nmax_keys = 10\noverflow = \"refuse\"\n[default]\nlimit = \"1/day\"\n",
    );
    let out = good(&["replay", LOG, "--config", &file, "--json"], "");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["store"]["max_keys"], 10);
    assert!(json["store"]["store_full"].as_u64().unwrap() > 0, "{out}");
}

#[test]
fn keys_have_the_form_of_the_file() {
    let log = r#"{"at": 0, "key": "Ann"}
{"at": 0, "key": " ann "}
{"at": 0, "key": "BOB"}
"#;
    let rules = "[default]\nlimit = \"1/h\"\n[tiers.gold]\nunlimited = true\nmembers = [\"bob\"]\n";
    let with =
        written("replay", "keys.toml", format!("[keys]\ntrim = true\nfold_case = true\n{rules}"));
    let without = written("replay", "no-keys.toml", rules);
    let decided = |file: &str| -> Vec<(String, bool, String)> {
        let out = good(&["replay", "-", "--config", file, "--decisions"], log);
        let objects = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        objects
            .map(|o| (text(&o["key"]), o["allowed"].as_bool().unwrap(), text(&o["policy"])))
            .collect()
    };
    let row = |key: &str, allowed, policy: &str| (key.to_owned(), allowed, policy.to_owned());
    assert_eq!(
        decided(&with),
        [row("ann", true, "default"), row("ann", false, "default"), row("bob", true, "unlimited")]
    );
    assert_eq!(
        decided(&without),
        [row("Ann", true, "default"), row(" ann ", true, "default"), row("BOB", true, "default")]
    );
}

#[test]
fn rules_on_trial_deny_nothing_and_are_counted() {
    let file = written(
        "replay",
        "trial.toml",
        "[[default]]\nunlimited = true\n[[default]]\nlimit = \"2/h\"\nshadow = true\n",
    );
    let log = "{\"at\": 0, \"key\": \"k\"}\n".repeat(5);
    let out = good(&["replay", "-", "--config", &file, "--decisions"], &log);
    let told: Vec<bool> = out.lines().map(|l| l.ends_with(",\"would_deny\":true}")).collect();
    assert_eq!(told, [false, false, true, true, true]);
    assert_eq!(out.matches("\"allowed\":true").count(), 5);
    let json: Value =
        serde_json::from_str(&good(&["replay", "-", "--config", &file, "--json"], &log)).unwrap();
    assert_eq!((&json["denied"], &json["would_deny"]), (&0.into(), &3.into()));
    assert_eq!(json["on_trial"][0]["would_deny"], 3);
    assert_eq!(json["on_trial"][0]["would_deny_per_mille"], 600);
}

#[test]
fn what_does_not_go_with_a_file() {
    for (more, part) in [
        (&["--limit", "1/s"][..], "'--config <FILE>' cannot be used with '--limit <SPEC>'"),
        (&["--algorithm", "all"], "'--config <FILE>' cannot be used with '--algorithm <A>'"),
        (&["--algorithm", "sliding-log"], "cannot be used with '--algorithm <A>'"),
        (&["--max-keys", "100000"], "cannot be used with '--max-keys <N>'"),
        (&["--overflow", "evict"], "cannot be used with '--overflow <HOW>'"),
        (&["--max-log-entries", "9"], "cannot be used with '--max-log-entries <N>'"),
    ] {
        let args = [&["replay", LOG, "--config", "examples/limits.toml"], more].concat();
        let words = refused(&args, "");
        assert!(words.contains(part), "{more:?}: {words}");
    }
    let words = refused(&["replay", LOG], "");
    assert!(words.contains("<--limit <SPEC>|--config <FILE>>"), "{words}");
    let words = refused(&["replay", "-", "--config", "-"], "");
    assert!(words.contains("named twice"), "{words}");
    let words = refused(&["replay", LOG, "--config", "-"], "[default]\nlimit = \"1/sek\"\n");
    assert!(words.starts_with("error: -:2:12: unknown unit `sek`"), "{words}");
    let (code, out, _) = run(&["replay", LOG, "--config", "-"], "[default]\nblocked = true\n");
    assert!(code == 0 && out.contains("\n  blocked    2000      2000  100.0%\n"), "{out}");
}

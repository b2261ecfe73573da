//! `brimful config explain`.

use serde_json::{Value, json};

use super::{good, refused, run, unnamed};

const FILE: &str = r#"[keys]
trim = true
fold_case = true

[default]
limit = "100/min burst 20"

[tiers.gold]
limits = ["10/s", "1000/h fixed-window"]
members = ["ann"]

[[exact]]
key = 42
blocked = true

[[exact]]
key = { ip = "192.0.2.0/24" }
limit = "5/s"

[[pattern]]
match = "tenant:*"
limit = "1/s sliding-log"

[[pattern]]
match = "tenant:*"
limit = "2/s"
shadow = true
"#;

fn explain(more: &[&str]) -> String {
    good(&[&["config", "explain", "-"], more].concat(), FILE)
}

#[test]
fn the_chain_is_shown_with_places_limits_and_bounds() {
    assert_eq!(
        explain(&["--key-json", "[\"Tenant\", 7]", "--tier", "gold"]),
        "key [\"tenant\", 7], tier `gold`
decides: the tier `gold` (-:8:8)
  policy `tier gold`
    10/s: at most 10 at once, and 10 + (10/s) x T in any time T
    1000/h fixed-window: at most 1000 in each window of 1h, and 2000 at once where two windows meet
not heard on trial: the pattern `tenant:*` (-:25:9)
  policy `pattern tenant.* on trial`
    2/s: at most 2 at once, and 2 + (2/s) x T in any time T
not heard: the pattern `tenant:*` (-:21:9)
  policy `pattern tenant.*`
    1/s sliding-log: at most 1 in any 1s
not heard: the default (-:5:2)
  policy `default`
    100/min burst 20: at most 20 at once, and 20 + (100/min) x T in any time T
"
    );
    let trial = explain(&["--key", "tenant:7"]);
    let expected = "on trial: the pattern `tenant:*` (-:25:9)";
    assert_eq!(trial.lines().nth(1), Some(expected), "{trial}");
}

#[test]
fn the_key_is_shown_as_it_is_decided_by() {
    // With [keys] a member is found whatever its case, and the key's one form is shown.
    let found = explain(&["--key", "  ANN "]);
    assert!(
        found
            .starts_with("key \"ann\", no tier\ndecides: the tier `gold`, of which it is a member")
    );
    for (args, first, second) in [
        (["--key-json", "42"], "key 42, no tier", "decides: the key 42 (-:13:7)"),
        (["--key", "42"], "key \"42\", no tier", "decides: the default (-:5:2)"),
        (["--key-json", "\"42\""], "key \"42\", no tier", "decides: the default (-:5:2)"),
        (["--key", "-x"], "key \"-x\", no tier", "decides: the default (-:5:2)"),
        (["--key", ""], "key \"\", no tier", "decides: the default (-:5:2)"),
    ] {
        let out = explain(&args);
        let lines: Vec<&str> = out.lines().take(2).collect();
        assert_eq!(lines, [first, second], "{args:?}");
    }
    let network = explain(&["--key-json", "{\"ip\": \"192.0.2.0/24\"}"]);
    assert!(network.starts_with("key 192.0.2.0/24, no tier\ndecides: the key "), "{network}");
}

#[test]
fn a_tier_that_the_file_has_not() {
    let out = explain(&["--key", "bob", "--tier", "golden"]);
    assert!(
        out.starts_with(
            "key \"bob\", tier `golden`, which is not in the file\ndecides: the default"
        )
    );
}

#[test]
fn it_is_json_too() {
    let (_, help, _) = run(&["config", "explain", "--help"], "");
    let out = explain(&["--key", "tenant:7", "--json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(out.lines().count(), 1);
    assert_eq!(unnamed(&json, &help), [""; 0]);
    assert_eq!((&json["key"], &json["tier"]), (&json!("\"tenant:7\""), &json!(null)));
    let roles: Vec<&Value> = json["rules"].as_array().unwrap().iter().map(|r| &r["role"]).collect();
    assert_eq!(roles, ["on-trial", "decides", "unheard"]);
    let decides = &json["rules"][1];
    assert_eq!((&decides["file"], &decides["line"]), (&json!("-"), &json!(21)));
    assert_eq!(
        decides["limits"],
        json!([{"name": "1/s", "limit": "1/s sliding-log", "bound": "at most 1 in any 1s"}])
    );
}

#[test]
fn a_file_that_is_refused_is_explained_to_nobody() {
    let words =
        refused(&["config", "explain", "-", "--key", "a"], "[default]\nlimit = \"10/minn\"\n");
    assert_eq!(
        words,
        "error: -:2:13: unknown unit `minn`; did you mean `min`?
  limit = \"10/minn\"
              ^^^^
  expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`
"
    );
    let words = refused(&["config", "explain", "no/such.toml", "--key", "a"], "");
    assert!(words.starts_with("error: no/such.toml: the file cannot be read: "), "{words}");
}

#[test]
fn arguments_that_are_wrong() {
    for (args, part) in [
        (&[][..], "<--key <TEXT>|--key-json <JSON>>"),
        (&["--key", "a", "--key-json", "1"], "cannot be used with"),
        (&["--key-json", "tenant"], "--key takes it without"),
        (&["--key-json", "1.5"], "not a whole number"),
        (&["--key-json", "[[1]]"], "a list of these"),
    ] {
        let words = refused(&[&["config", "explain", "-"], args].concat(), FILE);
        assert!(words.contains(part), "{args:?}: {words}");
    }
}

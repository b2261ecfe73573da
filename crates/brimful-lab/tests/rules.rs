//! Replays by rules: which policy decided, what is on trial, and keys of one form.

use std::borrow::Cow;

use brimful::{Limit, Limiter, Overflow, Policy, Rules};
use brimful_lab::{Replay, Summary};

const LOG: &str = r#"{"at": 0, "key": "a"}
{"at": 0, "key": "a"}
{"at": 0, "key": "t:1"}
{"at": 0, "key": "t:1"}
{"at": 0, "key": "T:1"}
{"at": 0, "key": "t:1", "op": "peek"}
{"at": 0, "key": "a", "op": "refund"}
"#;

fn limit(text: &str) -> Limit {
    text.parse().unwrap()
}

fn rules() -> Rules {
    let trial = Policy::from(limit("1/min")).named("trial").unwrap();
    let tenants = Policy::from(limit("2/min")).named("tenants").unwrap();
    Rules::builder()
        .default(limit("1/h"))
        .pattern("t:*", tenants)
        .pattern("**", trial.shadow())
        .build()
        .unwrap()
}

fn replay() -> Replay {
    Replay::with_limiter(|| Limiter::builder(rules()).max_keys(1_000).overflow(Overflow::Refuse))
}

/// The summary, and the lines of the decisions.
fn run(replay: Replay) -> (Summary, Vec<String>) {
    let mut lines = Vec::new();
    let summary = replay
        .run(LOG.as_bytes(), |decided| {
            let mut line = Vec::new();
            decided.write_json(&mut line)?;
            lines.push(String::from_utf8(line).unwrap());
            Ok(())
        })
        .unwrap();
    (summary, lines)
}

fn counts(rows: &[brimful_lab::OfPolicy]) -> Vec<(&str, u64, u64)> {
    rows.iter().map(|row| (&*row.policy, row.requests, row.denied)).collect()
}

#[test]
fn requests_are_counted_by_the_policy_that_decided_and_by_the_one_on_trial() {
    let (summary, lines) = run(replay());
    assert_eq!(summary.policy, None);
    // `a` has 1 an hour, `t:1` 2 a minute, and `T:1` is a key of its own without a rule.
    assert_eq!(counts(&summary.policies), [("default", 3, 1), ("tenants", 2, 0)]);
    assert_eq!((summary.requests, summary.denied), (5, 1));
    // The pattern `**` is not heard where a more specific one is enforced.
    assert_eq!(counts(&summary.on_trial), [("trial", 3, 1)]);
    assert_eq!(summary.would_deny, 1);
    assert_eq!(summary.store.max_keys, 1_000);
    let told: Vec<bool> = lines.iter().map(|l| l.contains(r#","would_deny":true}"#)).collect();
    assert_eq!(told, [false, true, false, false, false, false, false]);
}

#[test]
fn the_tables_name_the_policies() {
    let text = run(replay()).0.to_string();
    let expected = "
policies
  policy   denied  requests   share
  default       1         3   33.3%
  tenants       0         2    0.0%

on trial
  policy  would deny  requests   share
  trial            1         3   33.3%

top denied keys
";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("\nlimits\n"), "{text}");
    let none = replay().run(&b""[..], |_| Ok(())).unwrap().to_string();
    assert!(none.contains("\npolicies\n  none\n\ntop denied keys\n"), "{none}");
}

#[test]
fn keys_are_brought_to_one_form_before_anything_else() {
    let lower = |key: &str| -> String { key.to_ascii_lowercase() };
    let (summary, lines) = run(replay().key_form(move |key| Cow::Owned(lower(key))));
    // `T:1` is `t:1` now, which has 2 a minute.
    assert_eq!(counts(&summary.policies), [("tenants", 3, 1), ("default", 2, 1)]);
    assert_eq!(summary.keys, 2);
    assert!(lines[4].starts_with(r#"{"at_ns":0,"key":"t:1","cost":1,"allowed":false"#));
}

#[test]
fn settings_of_the_replay_stand_above_those_of_the_builder() {
    let (summary, _) = run(replay().max_keys(500));
    assert_eq!(summary.store.max_keys, 500);
}

#[test]
fn algorithms_are_compared_for_one_policy() {
    let fault = replay().run_all(LOG.as_bytes()).unwrap_err();
    assert!(fault.is_usage() && fault.to_string().contains("for one policy"), "{fault}");
}

#[test]
fn a_policy_on_trial_alone_denies_nothing() {
    let trial = Policy::from(limit("1/h")).named("trial").unwrap().shadow();
    let (summary, _) = run(Replay::new(trial));
    assert_eq!((summary.denied, summary.would_deny), (0, 2));
    assert_eq!(counts(&summary.on_trial), [("trial", 5, 2)]);
}

//! Faults that people met in rules of other limiters, and that the tool shows before they hurt; the
//! numbers of a case are a row, under its id in `brimful-testkit/data/field-cases.jsonl`.

use serde_json::Value;

use super::{good, written};

/// The key is what was asked for, and it can be seen.
#[test]
fn the_key_that_was_asked_for_is_the_one_that_decides() {
    // Two tenants from one address, six calls each.
    let line =
        |tenant: &str| format!("{{\"at\": 0, \"ip\": \"192.0.2.1\", \"tenant\": \"{tenant}\"}}\n");
    let log: String = (0..6).flat_map(|_| ["blue", "red"]).map(line).collect();
    let file = written("field", "tenants.toml", "[default]\nlimit = \"5/h\"\n");
    for (case, template, expected) in [
        (177, "{tenant}", &[("blue", 5), ("red", 5)][..]),
        (177, "{ip}", &[("192.0.2.1", 5)]),
        (177, "{ip} {tenant}", &[("192.0.2.1 blue", 5), ("192.0.2.1 red", 5)]),
    ] {
        let args = ["replay", "-", "--config", &file, "--key", template, "--decisions"];
        let out = good(&args, &log);
        let mut admitted: Vec<(String, u64)> = Vec::new();
        for decision in out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let (key, allowed) = (decision["key"].as_str().unwrap(), &decision["allowed"]);
            let place = admitted.iter().position(|(other, _)| other == key);
            let place = place.unwrap_or_else(|| {
                admitted.push((key.to_owned(), 0));
                admitted.len() - 1
            });
            admitted[place].1 += u64::from(allowed.as_bool().unwrap());
        }
        let admitted: Vec<(&str, u64)> = admitted.iter().map(|(k, n)| (&**k, *n)).collect();
        assert_eq!(admitted, expected, "case {case}: {template}");
    }
}

/// Nothing is put in front of a pattern: keys are any texts, and `org/repo` is as good a one as a path.
/// Which rule a path comes to is shown before it matters.
#[test]
fn what_a_path_hits_is_shown() {
    for (case, pattern, key, decides) in [
        (182, "api/account/activate", "/api/account/activate", "the default"),
        (
            182,
            "/api/account/activate",
            "/api/account/activate",
            "the pattern `/api/account/activate`",
        ),
        (182, "/api/account/*", "/api/account/activate", "the pattern `/api/account/*`"),
        (182, "api/account/activate", "api/account/activate", "the pattern `api/account/activate`"),
    ] {
        let file = format!(
            "[default]\nunlimited = true\n[[pattern]]\nmatch = \"{pattern}\"\nlimit = \"1 per 20min\"\n"
        );
        let out = good(&["config", "explain", "-", "--key", key], &file);
        let second = out.lines().nth(1).unwrap();
        assert!(second.starts_with(&format!("decides: {decides} (-:")), "case {case}: {out}");
        // On a log, by how often each policy was asked.
        let path = written("field", "path.toml", &file);
        let log = format!("{{\"at\": 0, \"key\": \"{key}\"}}\n").repeat(3);
        let out = good(&["replay", "-", "--config", &path, "--json"], &log);
        let json: Value = serde_json::from_str(&out).unwrap();
        let denied = if decides == "the default" { 0 } else { 2 };
        assert_eq!(json["denied"], denied, "case {case}: {out}");
    }
}

//! Why a key gets what it gets, in words and in JSON.

use std::net::Ipv4Addr;

use brimful_config::{Config, Role, Syntax};

const FILE: &str = r#"[keys]
fold_case = true

[default]
limit = "100/min burst 20"

[policies.gold]
limits = ["10/s", "1000/h fixed-window"]

[tiers.gold]
policy = "gold"
members = ["tenant:1:search", 7]

[[exact]]
key = "Partner"
unlimited = true

[[exact]]
key = { ip = "192.0.2.1" }
blocked = true

[[exact]]
key = ["Tenant", 9]
limit = "1/day"
shadow = true

[[pattern]]
match = "**"
limit = "5/s"
shadow = true

[[pattern]]
match = "tenant:*:search"
limit = "50/min"

[[pattern]]
match = "tenant:*"
limit = "70/min sliding-log"
"#;

fn config() -> Config {
    Config::parse(FILE, Syntax::Toml, "limits.toml", None)
        .unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn the_chain_is_walked_in_words() {
    assert_eq!(
        config().explain("TENANT:1:search", None).to_string(),
        "key \"tenant:1:search\", no tier
decides: the tier `gold`, of which it is a member (limits.toml:10:8)
  policy `gold`
    10/s: at most 10 at once, and 10 + (10/s) x T in any time T
    1000/h fixed-window: at most 1000 in each window of 1h, and 2000 at once where two windows meet
not heard: the pattern `tenant:*:search` (limits.toml:33:9)
  policy `pattern tenant.*.search`
    50/min: at most 50 at once, and 50 + (50/min) x T in any time T
not heard on trial: the pattern `**` (limits.toml:28:9)
  policy `pattern ** on trial`
    5/s: at most 5 at once, and 5 + (5/s) x T in any time T
not heard: the default (limits.toml:4:2)
  policy `default`
    100/min burst 20: at most 20 at once, and 20 + (100/min) x T in any time T"
    );
}

#[test]
fn every_level_can_decide() {
    let config = config();
    let decides = |explained: brimful_config::Explanation| {
        let rule = explained.decides().unwrap().clone();
        (rule.level().to_owned(), rule.line())
    };
    let cases = [
        (decides(config.explain("PARTNER", Some("gold"))), ("exact", 15)),
        (decides(config.explain(Ipv4Addr::new(192, 0, 2, 1), None)), ("exact", 19)),
        (decides(config.explain("anyone", Some("gold"))), ("tier", 10)),
        (decides(config.explain(7_u8, None)), ("member", 10)),
        (decides(config.explain(7_u8, Some("nobody"))), ("member", 10)),
        (decides(config.explain("7", None)), ("default", 4)),
        (decides(config.explain("tenant:2:search", None)), ("pattern", 33)),
        (decides(config.explain(("TENANT", 2_u8), None)), ("pattern", 37)),
        (decides(config.explain((), None)), ("default", 4)),
    ];
    for (found, (level, line)) in cases {
        assert_eq!(found, (level.to_owned(), line));
    }
}

#[test]
fn what_is_on_trial_stands_beside_what_decides() {
    let explained = config().explain(("tenant", 9_u8), None);
    let roles: Vec<_> = explained.rules().iter().map(|rule| (rule.line(), rule.role())).collect();
    let expected =
        [(23, Role::OnTrial), (37, Role::Decides), (28, Role::Unheard), (4, Role::Unheard)];
    assert_eq!(roles, expected);
    let explained = config().explain("anyone", None);
    assert_eq!(explained.on_trial().unwrap().line(), 28);
    assert_eq!(explained.decides().unwrap().policy(), "default");
}

#[test]
fn a_default_on_trial_alone_leaves_others_unlimited() {
    let file = "default = { limit = '1/s', shadow = true }";
    let config = Config::parse(file, Syntax::Toml, "limits.toml", None).unwrap();
    assert_eq!(
        config.explain("a", Some("b")).to_string(),
        "key \"a\", tier `b`, which is not in the file\non trial: the default (limits.toml:1:1)\n  policy `default on trial`\n    \
           1/s: at most 1 at once, and 1 + (1/s) x T in any time T\ndecides: the default\n  unlimited"
    );
}

#[test]
fn it_is_json_too() {
    let json = serde_json::to_value(config().explain("partner", Some("gold"))).unwrap();
    assert_eq!(json["key"], "\"partner\"");
    assert_eq!(json["tier"], "gold");
    assert_eq!(json["rules"].as_array().unwrap().len(), 4);
    assert_eq!(
        json["rules"][0],
        serde_json::json!({
            "level": "exact", "rule": "the key \"partner\"", "file": "limits.toml", "line": 15,
            "column": 7, "role": "decides", "shadow": false, "policy": "unlimited", "unlimited": true,
            "blocked": false, "limits": []
        })
    );
    let limit = &json["rules"][1]["limits"][0];
    assert_eq!((&limit["name"], &limit["limit"]), (&"10/s".into(), &"10/s".into()));
}

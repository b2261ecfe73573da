//! `Limit` and `Policy` in the data formats of others.

use brimful::{Limit, Policy};

#[test]
fn a_limit_is_its_text() {
    let limit: Limit = "uploads: 5 per 30s burst 8".parse().unwrap();
    let json = serde_json::to_string(&limit).unwrap();
    assert_eq!(json, r#""uploads: 5 per 30s burst 8""#);
    assert_eq!(serde_json::from_str::<Limit>(&json).unwrap(), limit);
    let fault = serde_json::from_str::<Limit>(r#""0/s""#).unwrap_err().to_string();
    assert!(fault.contains("blocked"), "{fault}");
    assert!(serde_json::from_str::<Limit>("10").is_err());
}

#[test]
fn a_policy_is_a_name_and_limits_or_a_word() {
    for policy in [
        Policy::parse(["10/s burst 20", "1000/h sliding-window"]).unwrap().named("gold").unwrap(),
        Policy::unlimited(),
        Policy::blocked().named("banned").unwrap(),
        Policy::parse(["10/s"]).unwrap().shadow(),
    ] {
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy, "{json}");
    }
    let read = |json: &str| serde_json::from_str::<Policy>(json);
    assert_eq!(read(r#"["10/s"]"#).unwrap(), Policy::parse(["10/s"]).unwrap());
    assert_eq!(read(r#""blocked""#).unwrap(), Policy::blocked());
    assert_eq!(read(r#"{"limits": "10/s"}"#).unwrap(), Policy::parse(["10/s"]).unwrap());
    let enforced = r#"{"limits": "10/s", "shadow": false}"#;
    assert_eq!(read(enforced).unwrap(), Policy::parse(["10/s"]).unwrap());
    for wrong in [
        r#"{"name": "x"}"#,
        r#"{"limits": []}"#,
        r#"{"limits": ["blocked", "1/s"]}"#,
        r#"{"limits": ["1/s"], "limit": 1}"#,
        r#"{"limits": ["1/s"], "limits": ["1/s"]}"#,
        r#"{"limits": ["1/s"], "shadow": 1}"#,
        r#"{"limits": ["1/s"], "shadow": true, "shadow": true}"#,
        "0",
        "null",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

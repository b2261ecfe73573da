use serde_json::Value;

use super::schema;
use crate::read::fields;
use crate::{Config, Syntax};

/// The names of the fields of an object.
fn names(object: &Value) -> Vec<String> {
    let properties = object["properties"].as_object().expect("an object with properties");
    assert_eq!(object["additionalProperties"], Value::Bool(false), "{object}");
    properties.keys().cloned().collect()
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

#[test]
fn every_field_that_is_read_is_described_and_the_reverse() {
    let schema = schema();
    assert_eq!(names(&schema), sorted(fields::DOCUMENT));
    let read = [
        ("Store", fields::STORE),
        ("Keys", fields::KEYS),
        ("Requests", fields::REQUESTS),
        ("Policy", fields::POLICY),
        ("Rule", fields::RULE),
        ("Tier", fields::TIER),
        ("Exact", fields::EXACT),
        ("Pattern", fields::PATTERN),
        ("Ip", fields::IP),
    ];
    for (name, known) in read {
        assert_eq!(names(&schema["$defs"][name]), sorted(known), "{name}");
    }
    let objects = schema["$defs"].as_object().unwrap().values();
    let described = objects.filter(|object| object["properties"].is_object()).count();
    assert_eq!(described, read.len());
    assert_eq!(schema["required"], serde_json::json!(["default"]));
}

#[test]
fn the_words_of_overflow_are_those_that_are_read() {
    let words = schema()["$defs"]["Overflow"]["oneOf"].clone();
    let words: Vec<_> =
        words.as_array().unwrap().iter().map(|word| word["const"].clone()).collect();
    assert_eq!(words, fields::OVERFLOWS);
}

/// Whether the schema admits a value. What it does not know makes it fail, so that nothing is passed over.
fn admits(root: &Value, schema: &Value, value: &Value) -> bool {
    let within = |schema: &Value| admits(root, schema, value);
    schema.as_object().expect("a schema").iter().all(|(word, said)| match word.as_str() {
        "$schema" | "$defs" | "title" | "description" | "format" => true,
        "$ref" => {
            let place = said.as_str().and_then(|to| to.strip_prefix('#')).expect("a place in here");
            within(root.pointer(place).expect("it is there"))
        }
        "type" => match said.as_str().expect("one type") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            other => panic!("the type {other}"),
        },
        "anyOf" => said.as_array().unwrap().iter().any(within),
        "oneOf" => said.as_array().unwrap().iter().filter(|way| within(way)).count() == 1,
        "const" => value == said,
        "minimum" => value.as_i64().is_none_or(|number| number >= said.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|number| number <= said.as_i64().unwrap()),
        "minItems" => {
            value.as_array().is_none_or(|list| list.len() as u64 >= said.as_u64().unwrap())
        }
        "maxItems" => {
            value.as_array().is_none_or(|list| list.len() as u64 <= said.as_u64().unwrap())
        }
        "items" => {
            value.as_array().is_none_or(|list| list.iter().all(|item| admits(root, said, item)))
        }
        "required" => value.as_object().is_none_or(|fields| {
            said.as_array().unwrap().iter().all(|name| fields.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|fields| {
            fields.iter().all(|(name, value)| {
                said.get(name).is_none_or(|schema| admits(root, schema, value))
            })
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            fields
                .iter()
                .filter(|(name, _)| schema["properties"].get(name).is_none())
                .all(|(_, value)| said.as_bool().unwrap_or_else(|| admits(root, said, value)))
        }),
        other => panic!("the word {other}"),
    })
}

/// Everything that a file can say, to take parts of it for others.
const WHOLE: &str = r#"{
    "store": {"max_keys": 100, "overflow": "share", "max_log_entries": 10, "max_limits": 8, "max_given": 0},
    "keys": {"trim": true, "fold_case": false, "nfc": true},
    "requests": {"max_cost": 2},
    "default": [{"limit": "1/s", "shadow": false}, {"limits": ["1/s", "5/min"], "shadow": true}],
    "policies": {"a": {"limits": ["1/s"], "shadow": false}, "b": {"blocked": true}},
    "tiers": {"gold": {"policy": "a", "members": ["x", 7, {"ip": "192.0.2.1"}, ["y", 8]]}},
    "exact": [{"key": "k", "unlimited": true, "shadow": true}],
    "pattern": [{"match": "t:*", "limit": "1/s"}]
}"#;

/// The places of all values in a value.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    found.push(place.to_owned());
    match value {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, value)| places(value, &format!("{place}/{name}"), found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, value)| places(value, &format!("{place}/{at}"), found));
        }
        _ => {}
    }
}

/// JSON is YAML, so that both can be asked.
#[test]
fn what_is_of_the_wrong_kind_is_refused_by_the_schema_and_by_the_reader() {
    let schema = schema();
    let both = |value: &Value| {
        let read = Config::parse(&value.to_string(), Syntax::Yaml, "limits.yaml", None);
        (admits(&schema, &schema, value), read.is_ok())
    };
    let whole: Value = serde_json::from_str(WHOLE).unwrap();
    assert_eq!(both(&whole), (true, true));
    let mut found = Vec::new();
    places(&whole, "", &mut found);
    assert!(found.len() > 40, "{found:?}");
    for place in found {
        for other in [Value::Null, 1.5.into(), serde_json::json!({"unknown": null})] {
            let mut value = whole.clone();
            *value.pointer_mut(&place).unwrap() = other.clone();
            assert_eq!(both(&value), (false, false), "{place}: {other}");
        }
    }
}

#[test]
fn no_null_is_described() {
    let text = schema().to_string();
    assert!(!text.contains("\"null\""), "{text}");
    assert!(!text.contains("anyOf\":[]") && !text.contains("type\":[]"), "{text}");
}

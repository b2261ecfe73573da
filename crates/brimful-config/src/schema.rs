//! The JSON Schema of a file of rules, for editors.
//!
//! These types are read by nobody: a test holds their fields equal to those that the reader knows.
#![allow(dead_code, reason = "the types only describe the file")]

use std::collections::BTreeMap;

use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of a file of rules, in TOML and in YAML.
///
/// It describes the fields and the kinds of their values. What a text means (a limit, a pattern) and
/// what needs more than one field are checked when a file is read.
#[must_use]
pub fn schema() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12().with_transform(no_null);
    settings.inline_subschemas = false;
    settings.into_generator().into_root_schema_for::<File>().to_value()
}

/// An optional field can be left out, and has a value where it stands: the reader takes no null.
fn no_null(schema: &mut Schema) {
    transform_subschemas(&mut no_null, schema);
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &mut types[..] {
            let only = only.take();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(ways)) = schema.get_mut("anyOf") {
        ways.retain(|way| way.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = &mut ways[..] {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (name, value) in only {
                schema.insert(name, value);
            }
        }
    }
}

/// Rules of a brimful rate limiter.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "brimful")]
struct File {
    /// Settings of the store.
    store: Option<Store>,
    /// How the text of keys is brought to one form before anything else.
    keys: Option<Keys>,
    /// What requests are like.
    requests: Option<Requests>,
    /// What every key gets that no other rule is about.
    default: OneOrTwo<Rule>,
    /// Policies by name.
    policies: Option<BTreeMap<String, Policy>>,
    /// What callers of a tier get, by its name.
    tiers: Option<BTreeMap<String, OneOrTwo<Tier>>>,
    /// What single keys get.
    exact: Option<Vec<Exact>>,
    /// What keys get that match a pattern.
    pattern: Option<Vec<Pattern>>,
}

/// One rule, or a list of an enforced one and a shadow rule.
#[derive(JsonSchema)]
#[serde(untagged)]
enum OneOrTwo<T> {
    One(T),
    Two(#[schemars(length(min = 1, max = 2))] Vec<T>),
}

/// Settings of the store.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Store {
    /// How many keys can owe at once without any being forgotten; 100000 when not given.
    #[schemars(range(min = 1, max = 4_294_967_296_u64))]
    max_keys: Option<u64>,
    /// What happens to a new key when no slot is free; `evict` when not given.
    overflow: Option<Overflow>,
    /// How many entries all sliding logs together can hold.
    #[schemars(range(min = 1, max = 4_294_967_286_u64))]
    max_log_entries: Option<u64>,
    /// How many limits a key has room for; as many as the widest policy has when not given.
    #[schemars(range(min = 1, max = 8))]
    max_limits: Option<u64>,
    /// How many different policies that come with calls can be in use; 1024 when not given.
    #[schemars(range(max = 65_535))]
    max_given: Option<u64>,
}

/// What happens to a new key when no slot is free.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Overflow {
    /// The key that owes the smallest fraction of its capacity is forgotten.
    Evict,
    /// The newcomer is denied.
    Refuse,
    /// Newcomers share one state for each policy.
    Share,
}

/// How the text of keys is brought to one form. All steps are off when not given.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Keys {
    /// Without white space at the ends.
    trim: Option<bool>,
    /// By Unicode's full case folding.
    fold_case: Option<bool>,
    /// In Unicode's Normalization Form C.
    nfc: Option<bool>,
}

/// What requests are like.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Requests {
    /// The largest cost of one request; 1 when not given. Limits that never admit it are warned of.
    #[schemars(range(min = 1))]
    max_cost: Option<u64>,
}

/// One limit, for example `100/min burst 20`, or a list of 1 to 8 that must all admit; or the word
/// `unlimited` or `blocked`.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Limits {
    One(String),
    Several(#[schemars(length(min = 1, max = 8))] Vec<String>),
}

/// A policy: exactly one of `limit`, `limits`, `unlimited` and `blocked`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Policy {
    /// The limits; `limits` means the same.
    limit: Option<Limits>,
    /// The limits; `limit` means the same.
    limits: Option<Limits>,
    /// Everything is admitted.
    unlimited: Option<True>,
    /// Nothing is admitted.
    blocked: Option<True>,
    /// On trial: it decides and counts, and never denies.
    shadow: Option<bool>,
}

/// What keys get: exactly one of `limit`, `limits`, `policy`, `unlimited` and `blocked`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Rule {
    /// The limits; `limits` means the same.
    limit: Option<Limits>,
    /// The limits; `limit` means the same.
    limits: Option<Limits>,
    /// The name of a policy, or `unlimited` or `blocked`.
    policy: Option<String>,
    /// Everything is admitted.
    unlimited: Option<True>,
    /// Nothing is admitted.
    blocked: Option<True>,
    /// On trial: it decides and counts, and never denies.
    shadow: Option<bool>,
}

/// What callers of a tier get, and whose keys are of it when the caller names none.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Tier {
    /// The limits; `limits` means the same.
    limit: Option<Limits>,
    /// The limits; `limit` means the same.
    limits: Option<Limits>,
    /// The name of a policy, or `unlimited` or `blocked`.
    policy: Option<String>,
    /// Everything is admitted.
    unlimited: Option<True>,
    /// Nothing is admitted.
    blocked: Option<True>,
    /// On trial: it decides and counts, and never denies.
    shadow: Option<bool>,
    /// Keys that are of this tier when the caller names none.
    members: Option<Vec<Key>>,
    /// A file with one such key on a line, relative to the folder of this file.
    members_file: Option<String>,
}

/// What a single key gets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Exact {
    /// The key.
    key: Key,
    /// The limits; `limits` means the same.
    limit: Option<Limits>,
    /// The limits; `limit` means the same.
    limits: Option<Limits>,
    /// The name of a policy, or `unlimited` or `blocked`.
    policy: Option<String>,
    /// Everything is admitted.
    unlimited: Option<True>,
    /// Nothing is admitted.
    blocked: Option<True>,
    /// On trial: it decides and counts, and never denies.
    shadow: Option<bool>,
}

/// What keys get that match a pattern.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Pattern {
    /// The pattern, for example `tenant:*:search`.
    #[schemars(rename = "match")]
    pattern: String,
    /// The limits; `limits` means the same.
    limit: Option<Limits>,
    /// The limits; `limit` means the same.
    limits: Option<Limits>,
    /// The name of a policy, or `unlimited` or `blocked`.
    policy: Option<String>,
    /// Everything is admitted.
    unlimited: Option<True>,
    /// Nothing is admitted.
    blocked: Option<True>,
    /// On trial: it decides and counts, and never denies.
    shadow: Option<bool>,
}

/// `true`; what is not so is left out.
#[derive(JsonSchema)]
#[schemars(extend("const" = true))]
struct True(bool);

/// A key: text, a whole number, an address, or a list of these.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Key {
    Simple(Part),
    Parts(Vec<Part>),
}

/// A key, or a part of one.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Part {
    Text(String),
    Integer(i128),
    Ip(Address),
}

/// A network.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Ip")]
struct Address {
    /// An address such as `192.0.2.1`, or a network such as `192.0.2.0/24`.
    ip: String,
}

#[cfg(test)]
mod tests;

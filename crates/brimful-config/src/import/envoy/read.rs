//! Reads the descriptors of a domain, and refuses what the reference server refuses and what rules
//! cannot say.

use std::collections::BTreeMap;
use std::time::Duration;

use brimful::{Algorithm, Limit};

use super::super::output::Grant;
use super::super::pattern::MAX_SEGMENTS;
use super::super::read::{Fields, Reading, of_entry, of_name};
use super::tree::{Descriptor, Given, Value};
use crate::limiter;
use crate::node::{Entry, Node, Value as Read};
use crate::source::Spot;
use crate::text::near::nearest;

/// The domain takes one segment of a pattern, each level two.
const MAX_LEVELS: usize = (MAX_SEGMENTS - 1) / 2;

const DESCRIPTOR: [&str; 8] = [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
];
const RATE_LIMIT: [&str; 5] = ["unit", "requests_per_unit", "unlimited", "name", "replaces"];

/// In seconds. A month has 30 days and a year 365, as in the reference server.
const UNITS: [(&str, u64); 7] = [
    ("second", 1),
    ("minute", 60),
    ("hour", 3_600),
    ("day", 86_400),
    ("week", 604_800),
    ("month", 2_592_000),
    ("year", 31_536_000),
];

/// The domain and its descriptors.
pub(super) fn domain(reading: &mut Reading, root: &Node) -> Option<(String, Vec<Descriptor>)> {
    let fields = reading.table(root, "the file", &["domain", "descriptors"])?;
    let domain = reading.needed(&fields, "domain", "the file");
    let descriptors = level(reading, &fields, 1);
    Some((domain?, descriptors))
}

/// The descriptors of a level, the first of which is 1. Recurs once for each.
fn level(reading: &mut Reading, fields: &Fields<'_>, number: usize) -> Vec<Descriptor> {
    let Some(entry) = fields.get("descriptors") else { return Vec::new() };
    if matches!(entry.node.value, Read::Null) {
        return Vec::new();
    }
    if number > MAX_LEVELS {
        let found = format!("there are more than {MAX_LEVELS} levels of descriptors");
        let expected = format!("a pattern has at most {MAX_SEGMENTS} segments, 2 for each level");
        reading.faults.note(of_name(entry), found, expected);
        return Vec::new();
    }
    let mut descriptors = Vec::new();
    let mut taken = BTreeMap::new();
    for node in reading.list(&entry.node, "`descriptors`") {
        if let Some(descriptor) = descriptor(reading, node, number) {
            twice(reading, &mut taken, &descriptor);
            descriptors.push(descriptor);
        }
    }
    joined(reading, &descriptors);
    descriptors
}

fn descriptor(reading: &mut Reading, node: &Node, number: usize) -> Option<Descriptor> {
    let fields = reading.table(node, "a descriptor", &DESCRIPTOR)?;
    let key = reading.needed(&fields, "key", "a descriptor");
    let value = match fields.get("value") {
        None => Some(String::new()),
        Some(entry) => reading.scalar(entry),
    };
    let shadow = reading.flag(&fields, "shadow_mode").unwrap_or(false);
    only_metrics(reading, &fields);
    let rule = fields.get("rate_limit").and_then(|entry| rate_limit(reading, entry, shadow));
    useless_shadow(reading, &fields, shadow, rule.as_ref());
    let children = level(reading, &fields, number.saturating_add(1));
    let place = fields.get("key").map_or(fields.place, of_entry);
    let (key, value) = (key?, value?);
    if value.is_empty() && key.ends_with('*') {
        let found = format!("the key `{key}` ends in `*` and has no value");
        let expected = "expected a whole key; `*` can end a value";
        reading.faults.note(place, found, expected);
        return None;
    }
    if value.ends_with("**") {
        let found = format!("the value `{value}` ends in `**`");
        let expected = "expected one `*` at most: the reference server takes a second one before it \
                        as the character itself";
        reading.faults.note(fields.get("value").map_or(place, of_entry), found, expected);
        return None;
    }
    let value = match value.strip_suffix('*') {
        Some(prefix) => Value::Prefix(prefix.to_owned()),
        None if value.is_empty() => Value::Any,
        None => Value::Exact(value),
    };
    Some(Descriptor { key, value, place, rule, children })
}

/// What only changes the reference server's metrics; and what joins counters, which is refused.
fn only_metrics(reading: &mut Reading, fields: &Fields<'_>) {
    for name in ["detailed_metric", "value_to_metric"] {
        if reading.flag(fields, name) == Some(true)
            && let Some(entry) = fields.get(name)
        {
            let found = format!("`{name}` is left out");
            let expected = "it changes metrics of the reference server, and no decision";
            reading.warnings.note(of_name(entry), found, expected);
        }
    }
    if reading.flag(fields, "share_threshold") == Some(true)
        && let Some(entry) = fields.get("share_threshold")
    {
        let found = "`share_threshold` cannot be imported";
        let expected = "each value that fits a `*` has a counter of its own; leave the field out, \
                        or send one value for all";
        reading.faults.note(of_name(entry), found, expected);
    }
}

fn useless_shadow(reading: &mut Reading, fields: &Fields<'_>, shadow: bool, rule: Option<&Given>) {
    let limits = rule.is_some_and(|rule| rule.grant != Grant::Unlimited);
    if let Some(entry) = fields.get("shadow_mode").filter(|_| shadow && !limits) {
        let found = "`shadow_mode` is left out";
        reading.warnings.note(
            of_name(entry),
            found,
            "without a limit beside it, it changes nothing",
        );
    }
}

fn rate_limit(reading: &mut Reading, entry: &Entry, shadow: bool) -> Option<Given> {
    let fields = reading.table(&entry.node, "`rate_limit`", &RATE_LIMIT)?;
    if let Some(entry) = fields.get("replaces") {
        let found = "`replaces` cannot be imported";
        let expected = "rules decide for each descriptor alone, and this one switches off that of \
                        another; leave the field out to enforce both";
        reading.faults.note(of_name(entry), found, expected);
    }
    if reading.flag(&fields, "unlimited")? {
        unlimited(reading, &fields);
        return Some(Given { grant: Grant::Unlimited, shadow: false });
    }
    let period = period(reading, &fields);
    let number = reading.number(&fields, "requests_per_unit", 0..=u32::MAX.into());
    let (period, number) = (period?, number?);
    if number == 0 {
        no_name(reading, &fields, "`0` becomes `blocked`");
        return Some(Given { grant: Grant::Blocked, shadow });
    }
    let limit = Limit::new(number, Duration::from_secs(period))
        .and_then(|limit| limit.algorithm(Algorithm::FixedWindow));
    match limit {
        Ok(limit) => {
            let limit = reading.named(&fields, limit);
            Some(Given { grant: Grant::Limits(vec![limit]), shadow })
        }
        Err(fault) => {
            let place = fields.get("requests_per_unit").map_or(fields.place, of_entry);
            reading.faults.note(place, limiter::found(&fault), limiter::expected(&fault));
            None
        }
    }
}

fn unlimited(reading: &mut Reading, fields: &Fields<'_>) {
    if let Some(entry) = fields.get("unit") {
        let expected = "an unlimited descriptor has no unit; leave out one of the two";
        reading.faults.note(of_name(entry), "`unit` stands beside `unlimited`", expected);
    }
    if let Some(entry) = fields.get("requests_per_unit") {
        let found = "`requests_per_unit` stands beside `unlimited`";
        reading.warnings.note(
            of_name(entry),
            found,
            "it is left out, as the reference server does",
        );
    }
    no_name(reading, fields, "nothing is limited");
}

fn no_name(reading: &mut Reading, fields: &Fields<'_>, why: &str) {
    if let Some(entry) = fields.get("name") {
        let expected = format!("only limits have names, and here {why}");
        reading.warnings.note(of_name(entry), "`name` is left out", expected);
    }
}

/// The unit in seconds.
fn period(reading: &mut Reading, fields: &Fields<'_>) -> Option<u64> {
    let names = "expected second, minute, hour, day, week, month or year";
    let Some(entry) = fields.get("unit") else {
        let expected = format!("{names}; to limit nothing, `unlimited: true`");
        reading.faults.note(fields.place, "`unit` is missing", expected);
        return None;
    };
    let text = reading.scalar(entry)?;
    let word = text.to_ascii_lowercase();
    let unit = UNITS.iter().find(|(name, _)| *name == word);
    if let Some((_, seconds)) = unit {
        return Some(*seconds);
    }
    let names_of = || UNITS.iter().map(|(name, _)| *name);
    let begun = names_of().find(|name| word.len() > 1 && name.starts_with(&word));
    let near = begun.or_else(|| nearest(&word, names_of()));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    reading.faults.note(of_entry(entry), format!("unknown unit `{text}`{near}"), names);
    None
}

/// Key and value as the reference server joins them, which must be given once on a level.
fn twice(reading: &mut Reading, taken: &mut BTreeMap<String, Spot>, descriptor: &Descriptor) {
    let key = &descriptor.key;
    let (joined, shown) = match &descriptor.value {
        Value::Any => (key.clone(), format!("the key `{key}` without a value")),
        Value::Exact(value) => {
            (format!("{key}_{value}"), format!("the key `{key}` with the value `{value}`"))
        }
        Value::Prefix(prefix) => {
            (format!("{key}_{prefix}*"), format!("the key `{key}` with the value `{prefix}*`"))
        }
    };
    match taken.get(&joined) {
        Some(first) => {
            let found = format!("{shown} is given twice on this level");
            let expected = format!("the reference server reads both as `{joined}`; keep one");
            reading.faults.note_second(descriptor.place, found, expected, *first);
        }
        None => {
            taken.insert(joined, descriptor.place);
        }
    }
}

/// Keys of which one is the other with `_` and more.
fn joined(reading: &mut Reading, descriptors: &[Descriptor]) {
    let mut keys: BTreeMap<&str, Spot> = BTreeMap::new();
    for descriptor in descriptors {
        keys.entry(&descriptor.key).or_insert(descriptor.place);
    }
    for (key, place) in &keys {
        let ends = key.match_indices('_').filter_map(|(at, _)| key.get(..at));
        for (shorter, other) in ends.filter_map(|end| keys.get_key_value(end)) {
            let found = format!(
                "the reference server may take `{shorter}` with a value for `{key}`, because it \
                 joins key and value with `_`"
            );
            let expected = "here they are two keys";
            reading.warnings.note_second(*place.max(other), found, expected, *place.min(other));
        }
    }
}

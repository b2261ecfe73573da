//! The rate limits of Envoy's reference server.

mod read;
mod tree;

use super::output::{self, Grant, Rule, printable};
use super::read::Reading;
use crate::node::Node;
use tree::{Found, Hidden, Value};

/// The rules of a file, as TOML; what it says is nothing when there are faults.
pub(super) fn import(reading: &mut Reading, root: &Node) -> String {
    let Some((domain, descriptors)) = read::domain(reading, root) else {
        return String::new();
    };
    let (mut found, hidden) = tree::patterns(&domain, descriptors);
    hidden.iter().for_each(|hidden| warn(reading, hidden));
    // In the order of the file, a fence after the rule that it belongs to.
    found.sort_by_key(|found| (found.place, found.fence));
    let rules: Vec<Rule> = found.into_iter().map(|found| rule(reading, found)).collect();
    output::written(&comments(reading, &domain), &rules)
}

fn warn(reading: &mut Reading, hidden: &Hidden) {
    let (first, second) = (hidden.place.min(hidden.by), hidden.place.max(hidden.by));
    let (found, expected) = match &hidden.value {
        // Only an earlier one hides it.
        Value::Prefix(prefix) => (
            format!("the first takes what begins with `{prefix}`, but for `{prefix}*` itself"),
            "this is imported for that value alone; move it before the first",
        ),
        _ if hidden.by < hidden.place => (
            "nothing comes here: the first takes every value".to_owned(),
            "this is left out; leave out one of the two",
        ),
        _ => (
            "this takes every value, so that nothing comes to the first".to_owned(),
            "the first is left out; leave out one of the two",
        ),
    };
    reading.warnings.note_second(second, found, expected, first);
}

fn rule(reading: &Reading, found: Found) -> Rule {
    let line = reading.line(found.place);
    let about = match (found.fence, &found.given.grant) {
        (true, _) => format!("{line}: no other rule for what is below"),
        (false, Grant::Blocked) => format!("{line}: 0 requests"),
        (false, _) => line,
    };
    Rule { pattern: found.pattern, grant: found.given.grant, shadow: found.given.shadow, about }
}

fn comments(reading: &Reading, domain: &str) -> Vec<String> {
    vec![
        format!("The rate limits of Envoy in {}.", printable(&reading.name())),
        String::new(),
        "The key of a descriptor is a list: the domain, then the key and the value of each".into(),
        format!(
            "entry, for example ({domain:?}, \"key\", \"value\"). Windows are fixed, as in Envoy's"
        ),
        "reference server.".into(),
    ]
}

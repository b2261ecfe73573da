//! Reads the limits of a file, and refuses what rules cannot say exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use brimful::{Algorithm, Limit};

use super::super::pattern::MAX_SEGMENTS;
use super::super::read::{Fields, Reading, of, of_entry, of_name};
use super::combine::Counter;
use super::name::{self, Name, Unread};
use crate::limiter;
use crate::node::{Node, Value};
use crate::source::Spot;

const LIMIT: [&str; 7] =
    ["namespace", "max_value", "seconds", "conditions", "variables", "name", "id"];
/// The namespace takes one segment of a pattern, each name two.
const MAX_NAMES: usize = (MAX_SEGMENTS - 1) / 2;

/// The limits of a file, without those that never apply.
pub(super) fn counters(reading: &mut Reading, root: &Node) -> Vec<Counter> {
    let mut counters = Vec::new();
    let mut all = All::default();
    // A file without a value is an empty list.
    let empty = matches!(&root.value, Value::Table(entries) if entries.is_empty());
    let items = if empty { &[] } else { reading.list(root, "the file") };
    for node in items {
        if let Some(counter) = counter(reading, node, &mut all) {
            counters.push(counter);
        }
    }
    counters
}

/// What is compared between the limits of a file.
#[derive(Default)]
struct All {
    /// The first name of each of the two ways of writing names.
    indexed: Option<Spot>,
    plain: Option<Spot>,
    /// What tells limits from each other in limitador.
    identities: BTreeMap<Identity, Spot>,
}

/// Namespace, seconds, conditions, variables.
type Identity = (String, u64, BTreeSet<(String, String)>, BTreeSet<String>);

fn counter(reading: &mut Reading, node: &Node, all: &mut All) -> Option<Counter> {
    let fields = reading.table(node, "a limit", &LIMIT)?;
    let place = fields.get("namespace").map_or(fields.place, of_entry);
    let namespace = reading.needed(&fields, "namespace", "a limit");
    let conditions = conditions(reading, &fields, all);
    let variables = variables(reading, &fields, all);
    if let Some(entry) = fields.get("id") {
        let expected = "it names the limit in limitador's reports; `name` is carried over";
        reading.warnings.note(of_name(entry), "`id` is left out", expected);
    }
    let quota = quota(reading, &fields);
    let (namespace, (seconds, limit)) = (namespace?, quota?);
    let (conditions, variables) = (conditions?, variables?);
    let identity = (namespace.clone(), seconds, conditions.clone(), variables.clone());
    if let Some(first) = all.identities.get(&identity) {
        let found = "a limit of the same window, conditions and variables is given twice";
        let expected = "limitador keeps one counter for both; keep one of them";
        reading.faults.note_second(place, found, expected, *first);
        return None;
    }
    all.identities.insert(identity, place);
    let mut names = variables;
    names.extend(conditions.iter().map(|(name, _)| name.clone()));
    if names.len() > MAX_NAMES {
        let found = format!("the limit is on {} names", names.len());
        let expected =
            format!("expected at most {MAX_NAMES}: a pattern has {MAX_SEGMENTS} segments");
        reading.faults.note(place, found, expected);
        return None;
    }
    let values: BTreeMap<String, String> = conditions.iter().cloned().collect();
    if values.len() < conditions.len() {
        let entry = fields.get("conditions")?;
        let found = "the conditions ask for two values of one name";
        let expected = "the limit never applies, and is left out";
        reading.warnings.note(of_name(entry), found, expected);
        return None;
    }
    Some(Counter { namespace, conditions: values, names, limit, place })
}

/// The window in seconds, and the limit; none when it admits nothing.
fn quota(reading: &mut Reading, fields: &Fields<'_>) -> Option<(u64, Option<Limit>)> {
    let seconds = reading.number(fields, "seconds", 1..=Limit::MAX_PERIOD.as_secs());
    let most = reading.number(fields, "max_value", 0..=Limit::MAX_TOKENS);
    let (seconds, most) = (seconds?, most?);
    if most == 0 {
        if let Some(entry) = fields.get("name") {
            let expected = "only limits have names, and here `0` becomes `blocked`";
            reading.warnings.note(of_name(entry), "`name` is left out", expected);
        }
        return Some((seconds, None));
    }
    let limit = Limit::new(most, Duration::from_secs(seconds))
        .and_then(|limit| limit.algorithm(Algorithm::FixedWindow));
    match limit {
        Ok(limit) => {
            let limit = reading.named(fields, limit);
            Some((seconds, Some(limit)))
        }
        Err(fault) => {
            let place = fields.get("max_value").map_or(fields.place, of_entry);
            reading.faults.note(place, limiter::found(&fault), limiter::expected(&fault));
            None
        }
    }
}

/// Names with the values that they must have; a name may stand there twice. `None` when one cannot
/// be read.
fn conditions(
    reading: &mut Reading,
    fields: &Fields<'_>,
    all: &mut All,
) -> Option<BTreeSet<(String, String)>> {
    let read = expressions(reading, fields, "conditions", |text| {
        name::condition(text).map(|(name, value)| (name, Some(value)))
    })?;
    let mut conditions = BTreeSet::new();
    for (place, name, value) in read {
        one_way(reading, all, place, &name);
        conditions.insert((name.text, value.unwrap_or_default()));
    }
    Some(conditions)
}

fn variables(
    reading: &mut Reading,
    fields: &Fields<'_>,
    all: &mut All,
) -> Option<BTreeSet<String>> {
    let read = expressions(reading, fields, "variables", |text| {
        name::variable(text).map(|name| (name, None))
    })?;
    let mut variables = BTreeSet::new();
    for (place, name, _) in read {
        one_way(reading, all, place, &name);
        variables.insert(name.text);
    }
    Some(variables)
}

type Expression = (Spot, Name, Option<String>);

/// A list of texts, each of them read; none when the field is not there.
fn expressions(
    reading: &mut Reading,
    fields: &Fields<'_>,
    field: &str,
    read: impl Fn(&str) -> Result<(Name, Option<String>), Unread>,
) -> Option<Vec<Expression>> {
    let Some(entry) = fields.get(field) else { return Some(Vec::new()) };
    if matches!(entry.node.value, Value::Null) {
        return Some(Vec::new());
    }
    if !matches!(entry.node.value, Value::List(_)) {
        let found = format!("`{field}` is {}", entry.node.value.described());
        reading.faults.note(of_entry(entry), found, "expected a list of texts");
        return None;
    }
    let mut expressions = Some(Vec::new());
    for node in reading.list(&entry.node, field) {
        let Value::Text(text) = &node.value else {
            let found = format!("one of `{field}` is {}", node.value.described());
            reading.faults.note(of(node), found, "expected a text");
            expressions = None;
            continue;
        };
        match read(text) {
            Ok((name, value)) => {
                if let Some(expressions) = &mut expressions {
                    expressions.push((of(node), name, value));
                }
            }
            Err(Unread { span, found, expected }) => {
                let place = reading.part(node, text, span);
                reading.faults.note(place, found, expected);
                expressions = None;
            }
        }
    }
    expressions
}

/// Each version of limitador knows one of the two ways, so a file that has both means something
/// else than it says.
fn one_way(reading: &mut Reading, all: &mut All, place: Spot, name: &Name) {
    let (this, other) =
        if name.indexed { (&mut all.indexed, all.plain) } else { (&mut all.plain, all.indexed) };
    if this.is_none()
        && let Some(other) = other
    {
        let found = format!("`{}` is written in another way than names before it", name.text);
        let expected = "expected either `descriptors[0].user` or `user` in the whole file";
        reading.faults.note_second(place, found, expected, other);
    }
    this.get_or_insert(place);
}

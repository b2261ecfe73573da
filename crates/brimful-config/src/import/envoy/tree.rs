//! Envoy's tree of descriptors as patterns that decide alike.
//!
//! On each level Envoy takes the descriptor of the entry's very value, else the first in the file
//! whose `value*` fits, else the one without a value, and it never comes back to a level that it
//! left. A tree of patterns takes the literal, else the longest prefix, else `*`, and does come
//! back when a way leads nowhere. So
//!
//! * descriptors that Envoy never reaches are taken out, and longer prefixes that stand behind
//!   shorter ones with them: among those that remain, the longest that fits is the first that does;
//! * where coming back would find a rule that Envoy does not, the way gets a rule of its own for
//!   all that is below it: `unlimited`, with `**`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::output::Grant;
use super::super::pattern::{Segment, written};
use crate::source::Spot;

/// A descriptor of the file.
pub(super) struct Descriptor {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) place: Spot,
    pub(super) rule: Option<Given>,
    pub(super) children: Vec<Self>,
}

/// Which values of its key a descriptor is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// Only this one.
    Exact(String),
    /// Those that begin so.
    Prefix(String),
    /// Those that no other descriptor of the key is for.
    Any,
}

/// The `rate_limit` of a descriptor.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) grant: Grant,
    pub(super) shadow: bool,
}

/// A descriptor that is never reached, or only by one value, because another stands before it.
pub(super) struct Hidden {
    pub(super) place: Spot,
    pub(super) value: Value,
    pub(super) by: Spot,
}

/// A rule of the result.
pub(super) struct Found {
    pub(super) pattern: String,
    pub(super) given: Given,
    /// The descriptor that it comes from.
    pub(super) place: Spot,
    /// Whether it only keeps keys from the rules of another way.
    pub(super) fence: bool,
}

/// One level, by key and segment. Each of its descriptors is reached.
type Level = BTreeMap<(String, Segment), Node>;

struct Node {
    place: Spot,
    rule: Option<Given>,
    children: Level,
    /// Whether it or any below it has a rule.
    has_rules: bool,
}

/// The patterns of a domain in no particular order, and the descriptors that are not reached.
pub(super) fn patterns(domain: &str, descriptors: Vec<Descriptor>) -> (Vec<Found>, Vec<Hidden>) {
    let mut hidden = Vec::new();
    let level = reached(descriptors, &mut hidden);
    let mut path = vec![Segment::Literal(domain.into())];
    let mut found = Vec::new();
    walk(&level, &mut path, &mut found);
    (found, hidden)
}

/// Takes out what is never reached. Recurs once for each level of the file, of which the reader
/// allows few.
fn reached(descriptors: Vec<Descriptor>, hidden: &mut Vec<Hidden>) -> Level {
    let prefixes = prefixes(&descriptors);
    let mut level = Level::new();
    for descriptor in descriptors {
        let Descriptor { key, value, place, rule, children } = descriptor;
        let before = prefixes.get(&key).and_then(|prefixes| before(prefixes, &value));
        if let Some(by) = before {
            hidden.push(Hidden { place, value: value.clone(), by });
        }
        let segment = match (value, before) {
            (Value::Any, Some(_)) => continue,
            // Envoy looks the text up before it looks at prefixes, and so finds `a*` by itself. (No
            // longer prefix takes that text: it would be written `a**`, which is refused.)
            (Value::Prefix(prefix), Some(_)) => Segment::Literal(format!("{prefix}*")),
            (Value::Any, None) => Segment::ANY,
            (Value::Prefix(prefix), None) => Segment::Prefix(prefix),
            (Value::Exact(text), _) => Segment::Literal(text),
        };
        let children = reached(children, hidden);
        let has_rules = rule.is_some() || children.values().any(|child| child.has_rules);
        level.insert((key, segment), Node { place, rule, children, has_rules });
    }
    level
}

/// The prefixes of a key, each with its number in the file.
#[derive(Default)]
struct Prefixes {
    places: BTreeMap<String, (usize, Spot)>,
    lengths: BTreeSet<usize>,
}

/// The prefixes of each key.
fn prefixes(descriptors: &[Descriptor]) -> BTreeMap<String, Prefixes> {
    let mut all: BTreeMap<String, Prefixes> = BTreeMap::new();
    for (number, descriptor) in descriptors.iter().enumerate() {
        if let Value::Prefix(prefix) = &descriptor.value {
            let of_key = all.entry(descriptor.key.clone()).or_default();
            of_key.places.insert(prefix.clone(), (number, descriptor.place));
            of_key.lengths.insert(prefix.len());
        }
    }
    all
}

/// The prefix that takes all values of another descriptor before it can.
fn before(prefixes: &Prefixes, value: &Value) -> Option<Spot> {
    match value {
        Value::Exact(_) => None,
        Value::Any => prefixes.places.get("").map(|(_, place)| *place),
        Value::Prefix(prefix) => {
            let (number, _) = prefixes.places.get(prefix)?;
            let shorter = prefixes.lengths.range(..prefix.len());
            let shorter = shorter.filter_map(|length| prefixes.places.get(prefix.get(..*length)?));
            let first = shorter.filter(|(at, _)| at < number).min_by_key(|(at, _)| *at);
            first.map(|(_, place)| *place)
        }
    }
}

/// Recurs once for each level.
fn walk(level: &Level, path: &mut Vec<Segment>, found: &mut Vec<Found>) {
    let lengths = prefix_lengths(level);
    for ((key, segment), node) in level {
        path.push(Segment::Literal(key.clone()));
        path.push(segment.clone());
        if let Some(given) = &node.rule {
            let pattern = written(path, false);
            found.push(Found { pattern, given: given.clone(), place: node.place, fence: false });
        }
        let others = lengths.get(key.as_str()).into_iter().flatten();
        let mut others = others.filter_map(|length| less_specific(level, key, segment, *length));
        if others.any(|other| leaks(node, other)) {
            let pattern = written(path, true);
            let given = Given { grant: Grant::Unlimited, shadow: false };
            found.push(Found { pattern, given, place: node.place, fence: true });
        }
        walk(&node.children, path, found);
        path.truncate(path.len().saturating_sub(2));
    }
}

/// Of each key the lengths of its prefixes on this level.
fn prefix_lengths(level: &Level) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut lengths: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (key, segment) in level.keys() {
        if let Segment::Prefix(prefix) = segment {
            lengths.entry(key).or_default().insert(prefix.len());
        }
    }
    lengths
}

/// The descriptor of the level whose prefix has that length and fits all values of another.
fn less_specific<'a>(
    level: &'a Level,
    key: &str,
    segment: &Segment,
    length: usize,
) -> Option<&'a Node> {
    let text = match segment {
        Segment::Literal(text) => text.get(..length)?,
        Segment::Prefix(text) if length < text.len() => text.get(..length)?,
        Segment::Prefix(_) => return None,
    };
    level.get(&(key.to_owned(), Segment::Prefix(text.to_owned())))
}

/// Whether keys that are on the way of `node` may find a rule on the way of `other` when that of
/// `node` has none that decides. It may say yes too often: the fence then changes nothing.
fn leaks(node: &Node, other: &Node) -> bool {
    let decides = node.rule.as_ref().is_some_and(|rule| !rule.shadow);
    if other.rule.is_some() && !decides {
        return true;
    }
    other
        .children
        .iter()
        .filter(|(_, child)| child.has_rules)
        .any(|(way, child)| node.children.get(way).is_none_or(|same| leaks(same, child)))
}

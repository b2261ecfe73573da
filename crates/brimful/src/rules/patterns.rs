//! The patterns of some rules in a tree, so that finding the most specific one hardly takes longer
//! for more of them.
//!
//! The tree is walked segment by segment, the more specific ways first, so the first pattern that
//! is found is the most specific one. A walk goes back when a way leads nowhere; it never comes to
//! a node twice, and only to those whose patterns match the key as far as they have been read.
//!
//! The ways of all nodes are in one table by keyed hash, as keys are: a walk touches two places of
//! memory for each node, however many patterns there are.

use std::collections::HashMap;

use super::pattern::{Part, Pattern};
use super::said::Said;
use super::segments::{Segment, Segments};
use crate::hash::{KeyHash, Secret};
use crate::key::Key;

/// A tree of patterns, each with what is said of the keys that match it.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    /// The first is the root; empty without patterns.
    nodes: Vec<Node>,
    /// From a node by a part of a pattern to another node.
    ways: HashMap<KeyHash, u32>,
    secret: Secret,
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Whether any way is a literal.
    has_literals: bool,
    /// The lengths of the ways that are prefixes, longest first; 0 is `*`.
    lengths: Vec<usize>,
    /// The pattern that ends here.
    end: Option<End>,
    /// The pattern that goes on with `**`.
    open: Option<End>,
}

/// What is known of a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) said: Said,
    /// By which calls of the builder it was given: the enforced rule, and the one on trial.
    pub(super) numbers: Said,
}

impl End {
    pub(super) const NOTHING: Self = Self { said: Said::NOTHING, numbers: Said::NOTHING };
}

impl Patterns {
    pub(super) fn new(secret: Secret) -> Self {
        Self { nodes: Vec::new(), ways: HashMap::new(), secret, count: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a pattern that is not there yet.
    pub(super) fn insert(&mut self, pattern: &Pattern, end: End) {
        let mut at = 0;
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        for part in &pattern.segments {
            let way = match part {
                Part::Literal(text) => self.literal(at, text),
                Part::Prefix(text) => self.prefix(at, text),
            };
            let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
            let to = *self.ways.entry(way).or_insert(next);
            if let Some(node) = self.node_mut(at) {
                node.add(part);
            }
            if to == next {
                self.nodes.push(Node::default());
            }
            at = to;
        }
        if let Some(node) = self.node_mut(at) {
            let place = if pattern.open { &mut node.open } else { &mut node.end };
            *place = Some(end);
            self.count += 1;
        }
    }

    /// What the patterns that match the key say, the more specific ones first.
    pub(super) fn find(&self, key: Key<'_>) -> Said {
        let mut said = Said::NOTHING;
        self.each(key, &mut |end| {
            said = said.then(end.said);
            said.enforced().is_some()
        });
        said
    }

    /// Visits the patterns that match the key, the more specific ones first, up to one for which `visit`
    /// says that it is enough.
    pub(super) fn each(&self, key: Key<'_>, visit: &mut dyn FnMut(&End) -> bool) {
        if !self.nodes.is_empty() {
            self.walk(0, Segments::of(key).as_slice(), visit);
        }
    }

    /// Says whether it was enough. Recurs once for each segment of a pattern, so at most
    /// [`MAX_SEGMENTS`](super::segments::MAX_SEGMENTS) deep.
    fn walk(&self, at: u32, segments: &[Segment<'_>], visit: &mut dyn FnMut(&End) -> bool) -> bool {
        let Some(node) = usize::try_from(at).ok().and_then(|at| self.nodes.get(at)) else {
            return false;
        };
        let Some((segment, rest)) = segments.split_first() else {
            return [&node.end, &node.open].into_iter().flatten().any(&mut *visit);
        };
        let segment = segment.as_bytes();
        let literal = node.has_literals.then(|| self.literal(at, segment));
        let prefixes = node.lengths.iter().filter_map(|length| segment.get(..*length));
        let prefixes = prefixes.map(|prefix| self.prefix(at, prefix));
        let is_enough = literal.into_iter().chain(prefixes).any(|way| {
            let to = self.ways.get(&way);
            to.is_some_and(|to| self.walk(*to, rest, visit))
        });
        is_enough || node.open.iter().any(visit)
    }

    /// The way from a node by a literal.
    fn literal(&self, at: u32, text: &[u8]) -> KeyHash {
        self.secret.hash_about(u64::from(at) << 1, text)
    }

    /// The way from a node by a prefix.
    fn prefix(&self, at: u32, text: &[u8]) -> KeyHash {
        self.secret.hash_about((u64::from(at) << 1) | 1, text)
    }

    fn node_mut(&mut self, at: u32) -> Option<&mut Node> {
        self.nodes.get_mut(usize::try_from(at).ok()?)
    }
}

impl Node {
    fn add(&mut self, part: &Part) {
        match part {
            Part::Literal(_) => self.has_literals = true,
            Part::Prefix(prefix) => {
                let length = prefix.len();
                if let Err(place) = self.lengths.binary_search_by(|other| length.cmp(other)) {
                    self.lengths.insert(place, length);
                }
            }
        }
    }
}

//! The patterns of some rules in a tree, so that finding the most specific one does not take longer
//! for more of them.
//!
//! The tree is walked segment by segment, the more specific ways first, so the first pattern that
//! is found is the most specific one. A walk goes back when a way leads nowhere; it never comes to a
//! node twice, and only to those whose patterns match the key as far as they have been read.

use std::collections::HashMap;

use super::pattern::{Part, Pattern};
use super::segments::{Segment, Segments};
use crate::key::Key;

/// A tree of patterns, each with a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    root: Node,
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    literals: HashMap<Box<[u8]>, Self>,
    /// By prefix; the empty one is `*`.
    prefixes: HashMap<Box<[u8]>, Self>,
    /// The lengths of these prefixes, longest first.
    lengths: Vec<usize>,
    /// The row of the pattern that ends here.
    end: Option<u32>,
    /// The row of the pattern that goes on with `**`.
    open: Option<u32>,
}

impl Patterns {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a pattern that is not there yet.
    pub(super) fn insert(&mut self, pattern: &Pattern, row: u32) {
        let mut node = &mut self.root;
        for part in &pattern.segments {
            node = match part {
                Part::Literal(text) => node.literals.entry(text.clone()).or_default(),
                Part::Prefix(text) => node.with_prefix(text),
            };
        }
        let place = if pattern.open { &mut node.open } else { &mut node.end };
        *place = Some(row);
        self.count += 1;
    }

    /// The row of the most specific pattern that matches the key.
    pub(super) fn find(&self, key: Key<'_>) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        self.root.find(Segments::of(key).as_slice())
    }
}

impl Node {
    fn with_prefix(&mut self, prefix: &[u8]) -> &mut Self {
        if let Err(place) = self.lengths.binary_search_by(|length| prefix.len().cmp(length)) {
            self.lengths.insert(place, prefix.len());
        }
        self.prefixes.entry(prefix.into()).or_default()
    }

    /// Recurs once for each segment of a pattern, so at most
    /// [`MAX_SEGMENTS`](super::segments::MAX_SEGMENTS) deep.
    fn find(&self, segments: &[Segment<'_>]) -> Option<u32> {
        let Some((segment, rest)) = segments.split_first() else {
            return self.end.or(self.open);
        };
        let segment = segment.as_bytes();
        if let Some(found) = self.literals.get(segment).and_then(|node| node.find(rest)) {
            return Some(found);
        }
        for length in &self.lengths {
            let prefix = segment.get(..*length).and_then(|prefix| self.prefixes.get(prefix));
            if let Some(found) = prefix.and_then(|node| node.find(rest)) {
                return Some(found);
            }
        }
        self.open
    }
}

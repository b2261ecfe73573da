//! The keys that were denied most.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brimful::{AsKey, Key};

use crate::error::Error;
use crate::event::Event;
use crate::observer::Observer;
use crate::redact::{Label, Redact, Redactor, write_hash};

/// The keys that were denied most, in fixed memory.
///
/// Nobody keeps keys unless a program makes one of these, and it keeps what [`Redact`] says. It counts
/// [denials](crate::Outcome::is_denial) of requests with a key, and nothing else.
///
/// ```
/// use brimful::Key;
/// use brimful_observe::{Event, Observer, Outcome, Redact, Top, TopKeys};
///
/// let top = TopKeys::new(10, Redact::Plain)?;
/// for name in ["ann", "bob", "ann"] {
///     top.observe(&Event::new("api", "default", Outcome::Denied).key(Key::Text(name)));
/// }
/// let Top { total, keys, .. } = top.take();
/// assert_eq!(total, 3);
/// assert_eq!((keys[0].key.as_str(), keys[0].count, keys[0].error), ("ann", 2, 0));
/// assert_eq!((keys[1].key.as_str(), keys[1].count, keys[1].error), ("bob", 1, 0));
/// assert_eq!(top.list().total, 0);
/// # Ok::<(), brimful_observe::Error>(())
/// ```
///
/// # What is known of a count
///
/// When more keys are denied than there are entries, the one with the least count gives its place to the
/// newcomer, which goes on from that count: the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, 2005).
/// For each entry, the denials of its key since the last [`take`](Self::take) are at most `count` and at least
/// `count - error`; each key of which there were more than [`total`](Top::total)` / k` has an entry
/// (`counts_are_within_their_bounds`, `who_is_denied_often_is_in_the_list`).
///
/// With [`Redact::Truncate`], keys that are shown alike are one.
///
/// # What it costs
///
/// A lock for each denial with a key, held for O(log k) steps. Memory is taken once: from 64 entries on at most
/// 170 bytes an entry with [`Redact::Hash`], and 236 with the others (`memory_is_taken_once`).
pub struct TopKeys {
    redactor: Redactor,
    summary: Mutex<Summary>,
}

/// A list of keys, and how many denials it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Top {
    /// Denials that were counted since the last [`TopKeys::take`], of keys in the list and of others.
    pub total: u64,
    /// The keys, the most denied first.
    pub keys: Vec<TopKey>,
}

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopKey {
    /// What is shown of the key.
    pub key: String,
    /// How often it was denied, at most.
    pub count: u64,
    /// By how much the count may be too high.
    pub error: u64,
}

impl TopKeys {
    /// The most entries.
    pub const MAX_K: usize = 10_000;

    /// `k` entries, 1 to 10,000, that show what `redact` says.
    ///
    /// # Errors
    /// `k` is out of range.
    pub fn new(k: usize, redact: Redact) -> Result<Self, Error> {
        if !(1..=Self::MAX_K).contains(&k) {
            return Err(Error::range("k", k, "1 to 10,000"));
        }
        let with_labels = redact != Redact::Hash;
        let summary = Mutex::new(Summary::new(k, with_labels));
        Ok(Self { redactor: Redactor::new(redact), summary })
    }

    /// The list, the most denied first.
    #[must_use]
    pub fn list(&self) -> Top {
        self.summary().top()
    }

    /// The list, the most denied first; afterwards nothing has been counted. So a program that takes it once a
    /// minute sees who was denied most in that minute.
    #[must_use]
    pub fn take(&self) -> Top {
        let mut summary = self.summary();
        let top = summary.top();
        summary.clear();
        top
    }

    /// Forgets all that was counted.
    pub fn reset(&self) {
        self.summary().clear();
    }

    /// What is shown of a key, to find it in a list.
    #[must_use]
    pub fn shown(&self, key: impl AsKey) -> String {
        key.with_key(|key| self.redactor.label(key).to_string())
    }

    fn count(&self, key: Key<'_>) {
        let id = self.redactor.id(key);
        self.summary().count(id, || self.redactor.label(key));
    }

    fn summary(&self) -> MutexGuard<'_, Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for TopKeys {
    fn observe(&self, event: &Event<'_>) {
        if let Some(key) = event.key.filter(|_| event.outcome.is_denial()) {
            self.count(key);
        }
    }
}

impl fmt::Debug for TopKeys {
    /// No keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { k, total, .. } = *self.summary();
        f.debug_struct("TopKeys").field("k", &k).field("total", &total).finish_non_exhaustive()
    }
}

/// Entries, and a heap of their places with the least count first.
struct Summary {
    k: usize,
    total: u64,
    by_id: HashMap<[u64; 2], usize>,
    entries: Vec<Entry>,
    /// What is shown of each entry; none when that is the id.
    labels: Option<Vec<Label>>,
    /// Each place of `entries` once. No count is below that of its parent, `(i - 1) / 2`.
    heap: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: [u64; 2],
    count: u64,
    error: u64,
    /// The place in the heap.
    rank: usize,
}

impl Summary {
    fn new(k: usize, with_labels: bool) -> Self {
        Self {
            k,
            total: 0,
            // With twice the room it puts itself in order, and never grows, whatever comes and goes.
            by_id: HashMap::with_capacity(k.saturating_mul(2)),
            entries: Vec::with_capacity(k),
            labels: with_labels.then(|| Vec::with_capacity(k)),
            heap: Vec::with_capacity(k),
        }
    }

    fn clear(&mut self) {
        self.total = 0;
        self.by_id.clear();
        self.entries.clear();
        self.labels.iter_mut().for_each(Vec::clear);
        self.heap.clear();
    }

    fn count(&mut self, id: [u64; 2], label: impl FnOnce() -> Label) {
        self.total = self.total.saturating_add(1);
        if let Some(&place) = self.by_id.get(&id) {
            if let Some(entry) = self.entries.get_mut(place) {
                entry.count = entry.count.saturating_add(1);
                let rank = entry.rank;
                self.sink(rank);
            }
        } else if self.entries.len() < self.k {
            self.add(id, label);
        } else {
            self.replace_least(id, label);
        }
    }

    /// A newcomer while there is room. No count is below 1.
    fn add(&mut self, id: [u64; 2], label: impl FnOnce() -> Label) {
        let (place, rank) = (self.entries.len(), self.heap.len());
        self.entries.push(Entry { id, count: 1, error: 0, rank });
        if let Some(labels) = &mut self.labels {
            labels.push(label());
        }
        self.heap.push(place);
        self.by_id.insert(id, place);
        self.rise(rank);
    }

    fn replace_least(&mut self, id: [u64; 2], label: impl FnOnce() -> Label) {
        let Some(&place) = self.heap.first() else { return };
        let Some(entry) = self.entries.get_mut(place) else { return };
        self.by_id.remove(&entry.id);
        self.by_id.insert(id, place);
        entry.id = id;
        entry.error = entry.count;
        entry.count = entry.count.saturating_add(1);
        if let Some(kept) = self.labels.as_mut().and_then(|labels| labels.get_mut(place)) {
            *kept = label();
        }
        self.sink(0);
    }

    /// The count of the entry at that rank.
    fn count_at(&self, rank: usize) -> Option<u64> {
        let place = *self.heap.get(rank)?;
        self.entries.get(place).map(|entry| entry.count)
    }

    fn swap(&mut self, a: usize, b: usize) {
        // Both are ranks that have a count.
        self.heap.swap(a, b);
        for rank in [a, b] {
            let place = self.heap.get(rank).copied();
            if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
                entry.rank = rank;
            }
        }
    }

    /// Moves down what has grown.
    fn sink(&mut self, mut rank: usize) {
        loop {
            let left = rank.saturating_mul(2).saturating_add(1);
            let children = [left, left.saturating_add(1)];
            let counted =
                children.into_iter().filter_map(|child| Some((self.count_at(child)?, child)));
            match (counted.min(), self.count_at(rank)) {
                (Some((least, child)), Some(own)) if least < own => {
                    self.swap(rank, child);
                    rank = child;
                }
                _ => return,
            }
        }
    }

    /// Moves up what is new.
    fn rise(&mut self, mut rank: usize) {
        while let Some(parent) = rank.checked_sub(1).map(|above| above / 2) {
            if self.count_at(parent) <= self.count_at(rank) {
                return;
            }
            self.swap(rank, parent);
            rank = parent;
        }
    }

    fn top(&self) -> Top {
        let entries = self.entries.iter().enumerate();
        let mut keys: Vec<_> = entries.map(|(place, entry)| self.shown(place, entry)).collect();
        // The most certain first among equals, then by what is shown, so that the order is one.
        keys.sort_unstable_by(|a, b| (b.count, a.error, &a.key).cmp(&(a.count, b.error, &b.key)));
        Top { total: self.total, keys }
    }

    fn shown(&self, place: usize, entry: &Entry) -> TopKey {
        let key = match &self.labels {
            Some(labels) => labels.get(place).map(Label::to_string).unwrap_or_default(),
            None => {
                let mut digits = String::new();
                // A string takes all that is written.
                let _ = write_hash(entry.id, &mut digits);
                digits
            }
        };
        TopKey { key, count: entry.count, error: entry.error }
    }
}

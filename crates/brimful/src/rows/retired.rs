//! Rows whose rules are replaced, for as long as keys owe under them, each different one once.
//!
//! An entry counts the slots that hold its number. It is emptied when the rules have been replaced the next
//! time and there are none, so that no more entries are ever kept than slots, and the policies of the last
//! rules. What is looked up by content is with the thread that replaces rules, so that others wait for none
//! of that.

use std::collections::HashMap;
use std::sync::Arc;

use super::{RETIRED, Row, Scope, index};
use crate::decision::Origin;
use crate::policy::Policy;
use crate::sync::{AtomicU64, Ordering};

/// The rows by number.
#[derive(Debug, Default)]
pub(super) struct Retired {
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    row: Option<Row>,
    users: AtomicU64,
}

/// Where each row is, for the thread that replaces rules.
#[derive(Debug, Default)]
pub(crate) struct RetiredIndex {
    by_content: HashMap<Content, usize>,
    /// Places of entries that hold nothing.
    empty: Vec<usize>,
    /// Places that there are.
    places: usize,
}

/// What the rows of some rules become.
#[derive(Debug)]
pub(super) struct Retiring {
    /// For each the number of its retired row.
    pub(super) numbers: Vec<u32>,
    new: Vec<(usize, Row)>,
    places: usize,
}

/// What is the same for all keys of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Content {
    policy: Arc<Policy>,
    shadow: Option<Arc<Policy>>,
    /// Whose calls it goes on answering, and by which rules.
    kept: Option<(Scope, u64)>,
}

impl Content {
    fn of(row: &Row, kept: bool) -> Self {
        let Row { plan, scope, .. } = row;
        let kept = kept.then_some((*scope, plan.origin.generation));
        Self { policy: plan.policy().clone(), shadow: plan.shadow().cloned(), kept }
    }
}

impl RetiredIndex {
    /// The numbers that slots of these rows get. With `kept` they go on answering their calls. (Rows
    /// without limits have no slots.)
    pub(super) fn retire(&mut self, rows: &[Row], kept: bool) -> Retiring {
        let mut new = Vec::new();
        let number = |row: &Row| match row.plan.width() {
            0 => RETIRED,
            _ => number(self.intern(row, kept, &mut new)),
        };
        let numbers = rows.iter().map(number).collect();
        Retiring { numbers, new, places: self.places }
    }

    fn intern(&mut self, row: &Row, kept: bool, new: &mut Vec<(usize, Row)>) -> usize {
        let content = Content::of(row, kept);
        if let Some(place) = self.by_content.get(&content) {
            return *place;
        }
        let place = self.empty.pop().unwrap_or_else(|| {
            self.places = self.places.saturating_add(1);
            self.places.saturating_sub(1)
        });
        let generation = content.kept.map_or(0, |(_, generation)| generation);
        let origin = Origin { generation, row: number(place), label: row.plan.origin.label };
        let scope = content.kept.map_or(Scope::Nobody, |(scope, _)| scope);
        new.push((place, Row { scope, is_kept: kept, ..row.clone().with_origin(origin) }));
        self.by_content.insert(content, place);
        place
    }

    /// Forgets rows that were taken out of their places.
    pub(super) fn forget(&mut self, rows: &[(usize, Row)]) {
        for (place, row) in rows {
            self.by_content.remove(&Content::of(row, row.is_kept));
            self.empty.push(*place);
        }
    }
}

impl Retired {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().filter(|entry| entry.row.is_some()).count()
    }

    /// The row of that number.
    pub(super) fn get(&self, number: u32) -> Option<&Row> {
        self.entry(number)?.row.as_ref()
    }

    /// Puts new rows in their places, and returns the numbers of all.
    pub(super) fn add(&mut self, retiring: Retiring) -> Vec<u32> {
        self.entries.resize_with(retiring.places, Entry::default);
        for (place, row) in retiring.new {
            if let Some(entry) = self.entries.get_mut(place) {
                entry.row = Some(row);
            }
        }
        retiring.numbers
    }

    /// The places of rows whose numbers no slot holds. (After all sets were gone through no slot gets one.)
    pub(super) fn unused(&self) -> Vec<usize> {
        let unused = |entry: &Entry| entry.users.load(Ordering::Relaxed) == 0;
        let entries = self.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| entry.row.is_some() && unused(entry))
            .map(|(place, _)| place)
            .collect()
    }

    /// Empties these places.
    pub(super) fn take(&mut self, places: Vec<usize>) -> Vec<(usize, Row)> {
        let rows = places.into_iter();
        rows.filter_map(|place| Some((place, self.entries.get_mut(place)?.row.take()?))).collect()
    }

    /// One more slot holds the number.
    pub(super) fn add_user(&self, number: u32) {
        if let Some(entry) = self.entry(number) {
            entry.users.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One slot fewer holds it.
    pub(super) fn remove_user(&self, number: u32) {
        if let Some(entry) = self.entry(number) {
            entry.users.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(index(number))
    }
}

fn number(place: usize) -> u32 {
    // There are fewer entries than slots and rows of some rules.
    RETIRED | u32::try_from(place).unwrap_or(super::INDEX)
}

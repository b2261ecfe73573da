//! Rows whose rules are replaced, for as long as keys owe under them: a table interned by content.
//!
//! An entry counts the slots that hold its number. It is emptied when the rules are replaced the next
//! time and there are none, so that no more entries are ever kept than slots, and the policies of the last
//! rules.

use std::collections::HashMap;
use std::sync::Arc;

use super::{RETIRED, Row, Scope, index};
use crate::decision::Origin;
use crate::policy::Policy;
use crate::sync::{AtomicU64, Ordering};

/// The table.
#[derive(Debug, Default)]
pub(super) struct Retired {
    entries: Vec<Entry>,
    by_content: HashMap<Content, usize>,
    /// Places of entries that hold nothing.
    empty: Vec<usize>,
}

#[derive(Debug, Default)]
struct Entry {
    row: Option<Row>,
    users: AtomicU64,
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

impl Retired {
    pub(super) fn len(&self) -> usize {
        self.by_content.len()
    }

    /// The row of that number.
    pub(super) fn get(&self, number: u32) -> Option<&Row> {
        self.entry(number)?.row.as_ref()
    }

    /// The number that slots of a row get. With `kept` the row goes on answering its calls. (Rows
    /// without limits have no slots.)
    pub(super) fn intern(&mut self, row: &Row, kept: bool) -> u32 {
        let content = Content::of(row, kept);
        if row.plan.width() == 0 {
            return RETIRED;
        }
        if let Some(place) = self.by_content.get(&content) {
            return number(*place);
        }
        let place = self.empty.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len().saturating_sub(1)
        });
        let number = number(place);
        let generation = content.kept.map_or(0, |(_, generation)| generation);
        let origin = Origin { generation, row: number, label: row.plan.origin.label };
        let scope = content.kept.map_or(Scope::Nobody, |(scope, _)| scope);
        let row = Row { scope, is_kept: kept, ..row.clone().with_origin(origin) };
        if let Some(entry) = self.entries.get_mut(place) {
            entry.row = Some(row);
        }
        self.by_content.insert(content, place);
        number
    }

    /// Empties the entries whose numbers no slot holds.
    pub(super) fn forget_unused(&mut self) {
        for (place, entry) in self.entries.iter_mut().enumerate() {
            let unused = entry.users.load(Ordering::Relaxed) == 0;
            if let Some(row) = entry.row.take_if(|_| unused) {
                self.by_content.remove(&Content::of(&row, row.is_kept));
                self.empty.push(place);
            }
        }
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

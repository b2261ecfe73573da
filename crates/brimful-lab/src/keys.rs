//! The keys of a log, each with a number and its counts.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// A key's place in [`Keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId(u32);

/// What one key asked for.
#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) name: Arc<str>,
    pub(crate) requests: u64,
    pub(crate) denied: u64,
}

/// Grows with the number of keys, never with the number of lines.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    ids: HashMap<Arc<str>, KeyId>,
    rows: Vec<KeyRow>,
}

impl Keys {
    /// The number of a key, a new one for a new key; `None` after 2^32 keys.
    pub(crate) fn id(&mut self, name: &str) -> Option<KeyId> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = KeyId(u32::try_from(self.rows.len()).ok()?);
        let name: Arc<str> = name.into();
        self.ids.insert(Arc::clone(&name), id);
        self.rows.push(KeyRow { name, requests: 0, denied: 0 });
        Some(id)
    }

    /// The row of a key that [`id`](Self::id) numbered.
    pub(crate) fn row(&mut self, id: KeyId) -> Option<&mut KeyRow> {
        self.rows.get_mut(usize::try_from(id.0).ok()?)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The keys with the most denials, at most `count`; of equals the one with fewer requests
    /// first, then by name.
    pub(crate) fn most_denied(&self, count: usize) -> Vec<&KeyRow> {
        let mut denied: Vec<&KeyRow> = self.rows.iter().filter(|row| row.denied > 0).collect();
        fn rank(row: &KeyRow) -> (Reverse<u64>, u64, &str) {
            (Reverse(row.denied), row.requests, &row.name)
        }
        denied.sort_unstable_by(|one, other| rank(one).cmp(&rank(other)));
        denied.truncate(count);
        denied
    }
}

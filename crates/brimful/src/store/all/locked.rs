//! Many locked sets.

use super::MOST_KEYS;
use crate::store::Store;
use crate::store::sets::{Set, Sets, Slot};

/// Two for each key.
const MOST_SETS: usize = 2 * MOST_KEYS;

/// A slot, by the index of its set and its number there.
pub(super) type At = (usize, usize);

/// Locked sets, in the order of their indices; dropping them unlocks.
pub(super) struct Locked<'a> {
    sets: [Option<Set<'a>>; MOST_SETS],
}

impl<'a> Locked<'a> {
    /// Locks the wanted ones of `sets`, each once and by index. There are at most [`MOST_SETS`].
    pub(super) fn new(sets: &'a Sets, wanted: impl Iterator<Item = usize>) -> Self {
        let mut indices = [usize::MAX; MOST_SETS];
        for (place, index) in indices.iter_mut().zip(wanted) {
            *place = index;
        }
        indices.sort_unstable();
        let mut last = None;
        let each_once = indices
            .into_iter()
            .take_while(|index| *index < sets.count())
            .filter(|index| last.replace(*index) != Some(*index));
        let mut locked = [const { None }; MOST_SETS];
        for (place, index) in locked.iter_mut().zip(each_once) {
            *place = Some(sets.lock(index));
        }
        Self { sets: locked }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Set<'a>> {
        self.sets.iter().flatten().find(|set| set.index() == index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Set<'a>> {
        self.sets.iter_mut().flatten().find(|set| set.index() == index)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Set<'a>> {
        self.sets.iter_mut().flatten()
    }

    /// The slot that holds the key, and what it holds.
    pub(super) fn find(&self, store: &Store, fingerprint: u64) -> Option<(At, Slot)> {
        let (first, second) = store.candidates(fingerprint);
        [first, second].into_iter().find_map(|index| {
            let set = self.get(index)?;
            let slot = set.find(fingerprint)?;
            Some(((index, slot), set.read(slot)?))
        })
    }
}

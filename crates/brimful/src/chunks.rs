//! A table that only grows, and is read without a lock: each of its pieces has room for as many entries
//! as all before it together, and is allocated once.

use std::sync::OnceLock;

use crate::sync;

/// Entries of the first piece, as a power of two.
const FIRST_BITS: u32 = if sync::IS_MODEL { 1 } else { 4 };

/// Pieces enough for 2^31 entries.
const PIECES: usize = 28;

/// The table.
#[derive(Debug)]
pub(crate) struct Chunks<T> {
    pieces: Box<[OnceLock<Box<[T]>>]>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { pieces: (0..PIECES).map(|_| OnceLock::new()).collect() }
    }
}

impl<T: Default> Chunks<T> {
    /// Makes room for `count` entries.
    pub(crate) fn grow(&self, count: usize) {
        let mut room = 0;
        for (number, piece) in self.pieces.iter().enumerate() {
            if room >= count {
                break;
            }
            let entries = 1_usize << (FIRST_BITS + u32::try_from(number).unwrap_or(0));
            piece.get_or_init(|| (0..entries).map(|_| T::default()).collect());
            room += entries;
        }
    }
}

impl<T> Chunks<T> {
    /// The entry of that index, if the table has grown so far.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        // Piece p has the indices from 2^FIRST * (2^p - 1) on.
        let shifted = index.checked_add(1 << FIRST_BITS)?;
        let top = shifted.ilog2();
        let piece = usize::try_from(top - FIRST_BITS).ok()?;
        self.pieces.get(piece)?.get()?.get(shifted - (1 << top))
    }

    /// All entries, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().filter_map(OnceLock::get).flat_map(|piece| piece.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Each index has an entry of its own, which stays where it is while the table grows.
    #[test]
    fn entries_are_kept() {
        let table: Chunks<AtomicUsize> = Chunks::default();
        assert!(table.get(0).is_none());
        let mut known = 0;
        for count in [1, 16, 17, 48, 49, 1_000, 5_000] {
            table.grow(count);
            for index in known..count {
                table.get(index).unwrap().store(index + 1, Ordering::Relaxed);
            }
            known = count;
            for index in 0..count {
                assert_eq!(table.get(index).unwrap().load(Ordering::Relaxed), index + 1);
            }
            let set = table.iter().take(count).map(|entry| entry.load(Ordering::Relaxed));
            assert!(set.eq(1..=count));
        }
        assert!(table.get(10_000).is_none() && table.get(usize::MAX).is_none());
        assert!(table.get(usize::MAX - 15).is_none());
    }
}

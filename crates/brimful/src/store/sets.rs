//! Slots in sets, sets in one row of atomic words. Safe code: a lock bit guards the words of a set,
//! and every access inside is a relaxed load or store.
//!
//! A slot for `w` limits is `4 + (w - 1) + ceil((w - 1) / 2)` words of 64 bits:
//!
//! | word | content |
//! |---|---|
//! | 0 | fingerprint of the key |
//! | 1 | `last`, 63 bits; the top bit is the set's lock in the first slot, unused in the others |
//! | 2 | level of the first limit, low 64 bits |
//! | 3 | its high 32 bits, above the row number plus 1 (0: the slot is empty) |
//! | 4.. | low 64 bits of the other levels, then their high 32 bits, two to a word |
//!
//! A level is below 2^95, so that the top bit of the fourth word is free: it marks a key that has
//! something [beside](super::beside) its slot.

use super::memory::Memory;
use crate::algorithm::MAX_LEVEL_BITS;
use crate::algorithm::arena::Arena;
use crate::error::Error;
use crate::policy::Policy;
use crate::step::State;
use crate::sync::{self, AtomicU64, Ordering};
use crate::time::Nanos;

pub(super) const LOCK: u64 = 1 << 63;
pub(super) const ROW_BITS: u32 = 32;
/// Of the fourth word: the key has something beside its slot.
pub(super) const MARK: u64 = 1 << 63;

const FINGERPRINT: usize = 0;
pub(super) const LAST: usize = 1;
const LOW: usize = 2;
const HIGH_AND_ROW: usize = 3;
pub(super) const MORE: usize = 4;

/// A fixed number of sets, all of one shape, allocated once. Four slots for one limit are 128 bytes,
/// and begin at a multiple of that.
#[derive(Debug)]
pub(crate) struct Sets {
    memory: Memory,
    count: usize,
    slots_per_set: usize,
    /// Levels per slot, 1 to 8.
    width: usize,
    words_per_slot: usize,
    words_per_set: usize,
}

/// What a slot keeps of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<const N: usize = { Policy::MAX_LIMITS }> {
    pub(crate) fingerprint: u64,
    pub(crate) row: u32,
    /// Whether the key may have something beside it.
    pub(crate) is_marked: bool,
    pub(crate) state: State<N>,
}

impl Slot {
    /// A key never seen before.
    pub(crate) fn new(fingerprint: u64, row: u32, now: Nanos) -> Self {
        Self { fingerprint, row, is_marked: false, state: State::new(now) }
    }
}

impl Sets {
    /// `count` empty sets.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn new(count: usize, slots_per_set: usize, width: usize) -> Result<Self, Error> {
        let words_per_slot = words_per_slot(width);
        let words_per_set = slots_per_set.saturating_mul(words_per_slot);
        let words = count.saturating_mul(words_per_set);
        let memory = Memory::new(words).ok_or_else(|| {
            let bytes = words.saturating_mul(size_of::<u64>());
            Error::range("max_keys", format!("worth {bytes} bytes"), "what memory can hold")
        })?;
        Ok(Self { memory, count, slots_per_set, width, words_per_slot, words_per_set })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn slots(&self) -> usize {
        self.count * self.slots_per_set
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.memory.words())
    }

    /// Whether an unlocked set seems to hold the key; only a look with the set locked can tell.
    pub(crate) fn seems_to_hold(&self, index: usize, fingerprint: u64) -> bool {
        let mut slots = self.words_of(index).chunks_exact(self.words_per_slot.max(1));
        slots.any(|slot| {
            slot.first().is_some_and(|word| word.load(Ordering::Relaxed) == fingerprint)
        })
    }

    /// Begins to fetch a set of two cache lines from memory; what it is about to hold does not matter.
    #[inline]
    pub(crate) fn touch(&self, index: usize) {
        let words = self.words_of(index);
        for word in [words.first(), words.get(words.len() / 2)].into_iter().flatten() {
            std::hint::black_box(word.load(Ordering::Relaxed));
        }
    }

    /// Locks one set. Whoever holds several took them in the order of their indices.
    pub(crate) fn lock(&self, index: usize) -> Set<'_> {
        let words = self.words_of(index);
        if let Some(word) = words.get(LAST) {
            lock(word);
        }
        Set { sets: self, index, words }
    }

    /// The words of all sets.
    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    #[inline]
    fn words_of(&self, index: usize) -> &[AtomicU64] {
        let from = index * self.words_per_set;
        self.memory.words().get(from..from + self.words_per_set).unwrap_or(&[])
    }
}

/// Sets the lock bit in a set's second word, and says whether another had it.
#[inline]
pub(super) fn lock(word: &AtomicU64) -> bool {
    let waits = !take(word);
    if waits {
        wait_for(word);
    }
    waits
}

/// Clears it. Only the holder writes the word while the bit is set.
#[inline]
pub(super) fn unlock(word: &AtomicU64) {
    word.store(word.load(Ordering::Relaxed) & !LOCK, Ordering::Release);
}

/// Sets the bit if it is free.
#[inline]
fn take(word: &AtomicU64) -> bool {
    let seen = word.load(Ordering::Relaxed);
    let free = seen & LOCK == 0;
    free && word.compare_exchange(seen, seen | LOCK, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Waits until nobody else holds the set, and takes it.
#[cold]
fn wait_for(word: &AtomicU64) {
    let mut attempts = 0;
    while !take(word) {
        sync::wait(&mut attempts);
    }
}

fn words_per_slot(width: usize) -> usize {
    let more = width.saturating_sub(1);
    MORE + more + more.div_ceil(2)
}

/// A locked set; dropping it unlocks.
#[derive(Debug)]
pub(crate) struct Set<'a> {
    sets: &'a Sets,
    index: usize,
    words: &'a [AtomicU64],
}

impl Set<'_> {
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.sets.slots_per_set
    }

    /// Whether that slot holds the key.
    #[inline]
    pub(crate) fn holds(&self, slot: usize, fingerprint: u64) -> bool {
        self.fingerprint(slot) == Some(fingerprint)
    }

    /// The slot that holds the key.
    #[inline]
    pub(crate) fn find(&self, fingerprint: u64) -> Option<usize> {
        self.slots().find(|slot| self.holds(*slot, fingerprint))
    }

    /// The row of a slot's key; `None` for an empty slot.
    #[inline]
    pub(crate) fn row(&self, slot: usize) -> Option<u32> {
        row(self.slot(slot).high_and_row())
    }

    /// The fingerprint of a slot's key; `None` for an empty slot.
    #[inline]
    pub(crate) fn fingerprint(&self, slot: usize) -> Option<u64> {
        let words = self.slot(slot);
        row(words.high_and_row()).map(|_| words.get(FINGERPRINT))
    }

    /// The fingerprint of a slot's key that may have something beside it.
    #[inline]
    pub(crate) fn marked(&self, slot: usize) -> Option<u64> {
        let words = self.slot(slot);
        is_marked(words.high_and_row()).then(|| words.get(FINGERPRINT))
    }

    /// When the slot's key was last changed.
    #[inline]
    pub(crate) fn last(&self, slot: usize) -> Nanos {
        self.slot(slot).last()
    }

    /// The slot's level for the limit at place `limit`, which is below the sets' width.
    #[inline]
    pub(crate) fn level(&self, slot: usize, limit: usize) -> u128 {
        self.slot(slot).level(limit)
    }

    /// The content of a slot, of its first `N` levels; `None` when it is empty.
    #[inline]
    pub(crate) fn read<const N: usize>(&self, slot: usize) -> Option<Slot<N>> {
        let words = self.slot(slot);
        let [fingerprint, last, low, high_and_row] =
            words.head?.each_ref().map(|word| word.load(Ordering::Relaxed));
        let (row, is_marked) = (row(high_and_row)?, is_marked(high_and_row));
        let mut state = State::new(Nanos::from_nanos(last & !LOCK));
        let (first, others) = state.levels.split_first_mut()?;
        *first = first_level(low, high_and_row);
        if N > 1 {
            // Known when this is compiled: no loop for one.
            for (level, limit) in others.iter_mut().zip(1..self.sets.width) {
                *level = words.level(limit);
            }
        }
        Some(Slot { fingerprint, row, is_marked, state })
    }

    /// Replaces the content of a slot; `N` is at least the width.
    #[inline]
    pub(crate) fn write<const N: usize>(&mut self, slot: usize, content: &Slot<N>) {
        let Slot { fingerprint, row, is_marked, state } = content;
        let words = self.slot(slot);
        words.put(FINGERPRINT, *fingerprint);
        // `last` shares its word with the lock bit, which the holder keeps set.
        let lock = if slot == 0 { LOCK } else { 0 };
        words.put(LAST, state.last.as_nanos() | lock);
        let Some((first, others)) = state.levels.split_first() else { return };
        let (low, high) = halves(*first);
        words.put(LOW, low);
        let mark = if *is_marked { MARK } else { 0 };
        words.put(HIGH_AND_ROW, mark | (high << ROW_BITS) | (u64::from(*row) + 1));
        let more = self.sets.width.saturating_sub(1);
        let mut pair = 0;
        for (i, level) in others.iter().take(more).enumerate() {
            let (low, high) = halves(*level);
            words.put_more(i, low);
            pair = if i % 2 == 0 { high } else { pair | (high << 32) };
            words.put_more(more + i / 2, pair);
        }
    }

    /// Takes the mark from a slot.
    pub(crate) fn unmark(&mut self, slot: usize) {
        let words = self.slot(slot);
        words.put(HIGH_AND_ROW, words.high_and_row() & !MARK);
    }

    /// Empties a slot.
    pub(crate) fn clear(&mut self, slot: usize) {
        let words = self.slot(slot);
        words.put(FINGERPRINT, 0);
        words.put(HIGH_AND_ROW, 0);
    }

    #[inline]
    fn slot(&self, slot: usize) -> Words<'_> {
        let words = self.words.get(slot * self.sets.words_per_slot..).unwrap_or(&[]);
        let (head, more) = words.split_first_chunk().unzip();
        Words { head, more: more.unwrap_or(&[]), width: self.sets.width }
    }
}

/// The words of a slot; `more` goes on to the end of the set.
#[derive(Clone, Copy)]
struct Words<'a> {
    /// `None` is never seen: every slot that is asked for is inside the set.
    head: Option<&'a [AtomicU64; MORE]>,
    more: &'a [AtomicU64],
    width: usize,
}

impl Words<'_> {
    #[inline]
    fn get(self, word: usize) -> u64 {
        self.head.and_then(|head| head.get(word)).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline]
    fn put(self, word: usize, value: u64) {
        if let Some(word) = self.head.and_then(|head| head.get(word)) {
            word.store(value, Ordering::Relaxed);
        }
    }

    #[inline]
    fn get_more(self, word: usize) -> u64 {
        self.more.get(word).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline]
    fn put_more(self, word: usize, value: u64) {
        if let Some(word) = self.more.get(word) {
            word.store(value, Ordering::Relaxed);
        }
    }

    #[inline]
    fn high_and_row(self) -> u64 {
        self.get(HIGH_AND_ROW)
    }

    #[inline]
    fn last(self) -> Nanos {
        Nanos::from_nanos(self.get(LAST) & !LOCK)
    }

    #[inline]
    fn level(self, limit: usize) -> u128 {
        let Some(i) = limit.checked_sub(1) else {
            return first_level(self.get(LOW), self.high_and_row());
        };
        let highs = self.get_more(self.width.saturating_sub(1) + i / 2);
        let high = (highs >> (32 * (i % 2))) & u64::from(u32::MAX);
        u128::from(self.get_more(i)) | (u128::from(high) << 64)
    }
}

/// The row in a slot's fourth word; `None` for an empty slot.
#[inline]
pub(super) fn row(high_and_row: u64) -> Option<u32> {
    u32::try_from(high_and_row & u64::from(u32::MAX)).ok()?.checked_sub(1)
}

/// The level in a slot's third and fourth word.
#[inline]
pub(super) fn first_level(low: u64, high_and_row: u64) -> u128 {
    u128::from(low) | (u128::from((high_and_row & !MARK) >> ROW_BITS) << 64)
}

/// Whether a slot's fourth word has the mark.
#[inline]
pub(super) fn is_marked(high_and_row: u64) -> bool {
    high_and_row & MARK != 0
}

/// The low 64 bits of a level and its high 32.
#[inline]
pub(super) fn halves(level: u128) -> (u64, u64) {
    debug_assert!(level >> MAX_LEVEL_BITS == 0, "a level is below 2^95");
    let low = u64::try_from(level & u128::from(u64::MAX)).unwrap_or(u64::MAX);
    (low, u64::try_from((level >> 64) & u128::from(u32::MAX)).unwrap_or(0))
}

impl Drop for Set<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.words.get(LAST) {
            unlock(word);
        }
    }
}

const _: () = assert!(Policy::MAX_LIMITS == 8);
const _: () = assert!(Policy::MAX_LIMITS == Arena::SPARE as usize);

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of a slot of which no word has its highest bits set.
    fn content(number: u64, width: usize) -> Slot {
        let mut state = State::new(Nanos::from_nanos(number << 20));
        for (limit, level) in state.levels.iter_mut().take(width).enumerate() {
            *level = (u128::from(number + 1) << 70) | u128::from(number * 10 + limit as u64);
        }
        Slot {
            fingerprint: number << 40,
            row: u32::try_from(number).unwrap(),
            is_marked: number.is_multiple_of(3),
            state,
        }
    }

    fn is(set: &Set<'_>, slot: usize, expected: &Slot) -> bool {
        set.read::<{ Policy::MAX_LIMITS }>(slot).is_some_and(|found| {
            (found.fingerprint, found.row) == (expected.fingerprint, expected.row)
                && (found.state, found.is_marked) == (expected.state, expected.is_marked)
                && set.marked(slot) == expected.is_marked.then_some(expected.fingerprint)
                && set.fingerprint(slot) == Some(expected.fingerprint)
                && set.last(slot) == expected.state.last
        })
    }

    fn is_locked(sets: &Sets, index: usize) -> bool {
        let at = index * sets.slots_per_set * words_per_slot(sets.width) + LAST;
        sets.memory.words()[at].load(Ordering::Relaxed) & LOCK != 0
    }

    /// In sets of all widths each slot has words of its own, and the lock bit stays while a set is
    /// held.
    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        for (width, count, slots_per_set) in (1..=8)
            .flat_map(|width| [(1, 1), (5, 4), (7, 15)].map(|(sets, slots)| (width, sets, slots)))
        {
            let sets = Sets::new(count, slots_per_set, width).unwrap();
            assert_eq!((sets.count(), sets.slots()), (count, count * slots_per_set));
            assert!(sets.bytes() >= sets.slots() * words_per_slot(width) * 8);
            let of = |index: usize, slot: usize, round: usize| {
                content((round * sets.slots() + index * slots_per_set + slot) as u64 + 1, width)
            };
            for round in 0..2 {
                for index in 0..count {
                    let mut set = sets.lock(index);
                    for slot in set.slots() {
                        set.write(slot, &of(index, slot, round));
                        assert!(is_locked(&sets, index), "{width}, {slot}");
                    }
                    drop(set);
                    assert!(!is_locked(&sets, index), "{width}, {index}");
                }
                for index in 0..count {
                    let set = sets.lock(index);
                    assert!(set.slots().all(|slot| is(&set, slot, &of(index, slot, round))));
                }
            }
            let mut set = sets.lock(count - 1);
            set.clear(0);
            assert!(
                set.read::<1>(0).is_none()
                    && set.fingerprint(0).is_none()
                    && is_locked(&sets, count - 1)
            );
            assert!(set.slots().skip(1).all(|slot| is(&set, slot, &of(count - 1, slot, 1))));
            assert!(set.find(of(count - 1, 0, 1).fingerprint).is_none());
            for slot in set.slots().skip(1) {
                assert_eq!(set.find(of(count - 1, slot, 1).fingerprint), Some(slot));
            }
            drop(set);
            assert!(!is_locked(&sets, count - 1));
        }
    }

    /// Every value of the range has room.
    #[test]
    fn the_largest_values_are_kept() {
        let sets = Sets::new(2, 2, 8).unwrap();
        let mut set = sets.lock(1);
        let levels = [(1 << MAX_LEVEL_BITS) - 1; Policy::MAX_LIMITS];
        let state = State { last: Nanos::MAX, levels };
        let content = Slot { fingerprint: u64::MAX, row: u32::MAX - 1, is_marked: true, state };
        for slot in set.slots() {
            set.write(slot, &content);
        }
        assert!(set.slots().all(|slot| is(&set, slot, &content)) && is_locked(&sets, 1));
    }
}

//! Slots in sets, sets in lines of atomic words. Safe code: a lock bit guards the words of a set,
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
//! A level is below 2^95; its top bit is kept free, to mark a key that has waiters.

use crate::algorithm::MAX_LEVEL_BITS;
use crate::algorithm::arena::Arena;
use crate::error::Error;
use crate::policy::Policy;
use crate::step::State;
use crate::sync::{self, AtomicU64, Ordering};
use crate::time::Nanos;

const WORDS_PER_LINE: usize = 16;
const LOCK: u64 = 1 << 63;
const ROW_BITS: u32 = 32;

const FINGERPRINT: usize = 0;
const LAST: usize = 1;
const LOW: usize = 2;
const HIGH_AND_ROW: usize = 3;
const MORE: usize = 4;

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Line([AtomicU64; WORDS_PER_LINE]);

/// A fixed number of sets, all of one shape, allocated once.
#[derive(Debug)]
pub(crate) struct Sets {
    lines: Box<[Line]>,
    count: usize,
    slots_per_set: usize,
    /// Levels per slot, 1 to 8.
    width: usize,
}

/// What a slot keeps of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) fingerprint: u64,
    pub(crate) row: u32,
    pub(crate) state: State,
}

impl Sets {
    /// `count` empty sets.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn new(count: usize, slots_per_set: usize, width: usize) -> Result<Self, Error> {
        let words = count.saturating_mul(slots_per_set).saturating_mul(words_per_slot(width));
        let size = words.div_ceil(WORDS_PER_LINE);
        let mut lines = Vec::new();
        lines.try_reserve_exact(size).map_err(|_| {
            let bytes = words.saturating_mul(size_of::<u64>());
            Error::range("max_keys", format!("worth {bytes} bytes"), "what memory can hold")
        })?;
        lines.resize_with(size, || Line([const { AtomicU64::new(0) }; WORDS_PER_LINE]));
        Ok(Self { lines: lines.into(), count, slots_per_set, width })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn slots(&self) -> usize {
        self.count * self.slots_per_set
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Locks one set. Whoever holds several took them in the order of their indices.
    pub(crate) fn lock(&self, index: usize) -> Set<'_> {
        let words_per_slot = words_per_slot(self.width);
        let base = index * self.slots_per_set * words_per_slot;
        let set = Set { sets: self, index, base, words_per_slot };
        let lock = set.word(0, LAST);
        let mut attempts = 0;
        loop {
            let seen = lock.load(Ordering::Relaxed);
            if seen & LOCK == 0
                && lock
                    .compare_exchange_weak(seen, seen | LOCK, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return set;
            }
            sync::wait(&mut attempts);
        }
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
    /// The set's first word.
    base: usize,
    words_per_slot: usize,
}

impl Set<'_> {
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.sets.slots_per_set
    }

    /// The slot that holds the key.
    #[inline]
    pub(crate) fn find(&self, fingerprint: u64) -> Option<usize> {
        self.slots()
            .find(|slot| self.get(*slot, FINGERPRINT) == fingerprint && self.row(*slot).is_some())
    }

    /// The row of a slot's key; `None` for an empty slot.
    #[inline]
    pub(crate) fn row(&self, slot: usize) -> Option<u32> {
        u32::try_from(self.get(slot, HIGH_AND_ROW) & u64::from(u32::MAX)).ok()?.checked_sub(1)
    }

    /// The fingerprint of a slot's key; `None` for an empty slot.
    #[inline]
    pub(crate) fn fingerprint(&self, slot: usize) -> Option<u64> {
        self.row(slot).map(|_| self.get(slot, FINGERPRINT))
    }

    /// When the slot's key was last changed.
    #[inline]
    pub(crate) fn last(&self, slot: usize) -> Nanos {
        Nanos::from_nanos(self.get(slot, LAST) & !LOCK)
    }

    /// The slot's level for the limit at place `limit`, which is below the sets' width.
    #[inline]
    pub(crate) fn level(&self, slot: usize, limit: usize) -> u128 {
        let (low, high) = match limit.checked_sub(1) {
            None => (self.get(slot, LOW), self.get(slot, HIGH_AND_ROW) >> ROW_BITS),
            Some(i) => {
                let more = self.sets.width.saturating_sub(1);
                let highs = self.get(slot, MORE + more + i / 2);
                (self.get(slot, MORE + i), (highs >> (32 * (i % 2))) & u64::from(u32::MAX))
            }
        };
        u128::from(low) | (u128::from(high) << 64)
    }

    /// The content of a slot; `None` when it is empty.
    #[inline]
    pub(crate) fn read(&self, slot: usize) -> Option<Slot> {
        let row = self.row(slot)?;
        let mut state = State::new(self.last(slot));
        for (limit, level) in state.levels.iter_mut().take(self.sets.width).enumerate() {
            *level = self.level(slot, limit);
        }
        Some(Slot { fingerprint: self.get(slot, FINGERPRINT), row, state })
    }

    /// Replaces the content of a slot.
    pub(crate) fn write(&mut self, slot: usize, content: &Slot) {
        let Slot { fingerprint, row, state } = content;
        let more = self.sets.width.saturating_sub(1);
        self.put(slot, FINGERPRINT, *fingerprint);
        self.put_last(slot, state.last.as_nanos());
        let mut pair = 0;
        for (limit, level) in state.levels.iter().take(self.sets.width).enumerate() {
            debug_assert!(level >> MAX_LEVEL_BITS == 0, "a level is below 2^95");
            let low = u64::try_from(level & u128::from(u64::MAX)).unwrap_or(u64::MAX);
            let high = u64::try_from((level >> 64) & u128::from(u32::MAX)).unwrap_or(0);
            match limit.checked_sub(1) {
                None => {
                    self.put(slot, LOW, low);
                    let row = u64::from(*row) + 1;
                    self.put(slot, HIGH_AND_ROW, (high << ROW_BITS) | row);
                }
                Some(i) => {
                    self.put(slot, MORE + i, low);
                    pair = if i % 2 == 0 { high } else { pair | (high << 32) };
                    self.put(slot, MORE + more + i / 2, pair);
                }
            }
        }
    }

    /// Empties a slot.
    pub(crate) fn clear(&mut self, slot: usize) {
        self.put(slot, FINGERPRINT, 0);
        self.put(slot, HIGH_AND_ROW, 0);
    }

    #[inline]
    fn word(&self, slot: usize, word: usize) -> &AtomicU64 {
        // Never seen: every index below is inside by construction of `lines`.
        static OUTSIDE: AtomicU64 = AtomicU64::new(0);
        let at = self.base + slot * self.words_per_slot + word;
        let line = self.sets.lines.get(at / WORDS_PER_LINE);
        line.and_then(|line| line.0.get(at % WORDS_PER_LINE)).unwrap_or(&OUTSIDE)
    }

    #[inline]
    fn get(&self, slot: usize, word: usize) -> u64 {
        self.word(slot, word).load(Ordering::Relaxed)
    }

    #[inline]
    fn put(&mut self, slot: usize, word: usize, value: u64) {
        self.word(slot, word).store(value, Ordering::Relaxed);
    }

    /// `last` shares its word with the lock bit, which the holder keeps set.
    fn put_last(&mut self, slot: usize, last: u64) {
        let lock = if slot == 0 { LOCK } else { 0 };
        self.put(slot, LAST, last | lock);
    }
}

impl Drop for Set<'_> {
    fn drop(&mut self) {
        let lock = self.word(0, LAST);
        // Only the holder writes this word while the bit is set.
        lock.store(lock.load(Ordering::Relaxed) & !LOCK, Ordering::Release);
    }
}

const _: () = assert!(Policy::MAX_LIMITS == 8 && size_of::<Line>() == 128);
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
        Slot { fingerprint: number << 40, row: u32::try_from(number).unwrap(), state }
    }

    fn is(set: &Set<'_>, slot: usize, expected: &Slot) -> bool {
        set.read(slot).is_some_and(|found| {
            (found.fingerprint, found.row) == (expected.fingerprint, expected.row)
                && found.state == expected.state
                && set.fingerprint(slot) == Some(expected.fingerprint)
                && set.last(slot) == expected.state.last
        })
    }

    fn is_locked(sets: &Sets, index: usize) -> bool {
        let at = index * sets.slots_per_set * words_per_slot(sets.width) + LAST;
        sets.lines[at / WORDS_PER_LINE].0[at % WORDS_PER_LINE].load(Ordering::Relaxed) & LOCK != 0
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
                set.read(0).is_none()
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
        let content = Slot { fingerprint: u64::MAX, row: u32::MAX - 1, state };
        for slot in set.slots() {
            set.write(slot, &content);
        }
        assert!(set.slots().all(|slot| is(&set, slot, &content)) && is_locked(&sets, 1));
    }
}

//! The words of a store: allocated once, zero, and touched, so that no call pays for a first touch.
//!
//! A store of several huge pages is mapped and asks for them: most of a call's time is the miss of
//! one line, and without huge pages the miss of its page's address before that (the measurement is
//! in ARCHITECTURE.md). Where that cannot be had, and for small stores, it is the allocator's memory.

use self_cell::{MutBorrow, self_cell};

use crate::sync::AtomicU64;

/// What the first word begins on: two cache lines, because processors fetch them in pairs.
const LINE: usize = 128;

const WORD: usize = size_of::<AtomicU64>();

type Words<'a> = &'a [AtomicU64];

self_cell!(
    /// The words beside what owns them, so that reaching them asks nothing of the owner.
    struct Owned {
        owner: MutBorrow<Owner>,
        #[covariant]
        dependent: Words,
    }
);

/// What gives the memory back.
enum Owner {
    /// With room to begin at a multiple of [`LINE`].
    Heap(Vec<AtomicU64>),
    #[cfg(all(target_os = "linux", not(brimful_model)))]
    Mapped(memmap2::MmapMut),
}

/// A fixed number of words.
pub(super) struct Memory(Owned);

impl Memory {
    /// `count` words, rounded up to whole lines; `None` when there is not enough memory.
    pub(super) fn new(count: usize) -> Option<Self> {
        let count = count.checked_next_multiple_of(LINE / WORD)?;
        let owner = MutBorrow::new(Owner::new(count)?);
        Some(Self(Owned::new(owner, |owner| owner.borrow_mut().words(count))))
    }

    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        self.0.borrow_dependent()
    }
}

impl Owner {
    fn new(count: usize) -> Option<Self> {
        #[cfg(all(target_os = "linux", not(brimful_model)))]
        if let Some(bytes) = count.checked_mul(WORD).filter(|bytes| *bytes >= huge::ENOUGH)
            && let Some(mapped) = huge::map(bytes)
        {
            return Some(Self::Mapped(mapped));
        }
        let size = count.checked_add(LINE / WORD)?;
        let mut words = Vec::new();
        words.try_reserve_exact(size).ok()?;
        words.resize_with(size, || AtomicU64::new(0));
        Some(Self::Heap(words))
    }

    /// The first `count` words at the alignment; fewer only if the owner has not so many.
    fn words(&mut self, count: usize) -> &[AtomicU64] {
        match self {
            Self::Heap(words) => {
                let start = words.as_ptr().align_offset(LINE);
                words.get(start..).and_then(|words| words.get(..count)).unwrap_or(&[])
            }
            #[cfg(all(target_os = "linux", not(brimful_model)))]
            Self::Mapped(mapped) => huge::words(mapped),
        }
    }
}

impl core::fmt::Debug for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} words", self.words().len())
    }
}

#[cfg(all(target_os = "linux", not(brimful_model)))]
mod huge {
    use memmap2::{Advice, MmapMut, MmapOptions};
    use zerocopy::FromBytes as _;

    use super::Words;
    use crate::sync::AtomicU64;

    /// From here on huge pages, of 2 MiB on most machines, are asked for.
    pub(super) const ENOUGH: usize = 4 << 20;

    /// The smallest page: one byte in each is touched.
    const PAGE: usize = 4096;

    pub(super) fn map(bytes: usize) -> Option<MmapMut> {
        let mut mapped = MmapOptions::new().len(bytes).map_anon().ok()?;
        // A kernel without them still gives ordinary pages.
        let _ = mapped.advise(Advice::HugePage);
        mapped.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0);
        Some(mapped)
    }

    /// A mapping begins at a page, and its length is a number of words.
    pub(super) fn words(mapped: &mut MmapMut) -> Words<'_> {
        <[AtomicU64]>::mut_from_bytes(mapped).map_or(&[], |words| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Ordering;

    /// Both kinds give as many words as were asked for, all zero, on whole lines.
    #[test]
    fn words_are_there_and_zero() {
        for count in [0, 1, 15, 16, 5_000, (4 << 20) / WORD - 1, (4 << 20) / WORD, 1_000_001] {
            let memory = Memory::new(count).unwrap();
            let words = memory.words();
            assert_eq!(words.len(), count.next_multiple_of(16));
            assert!(words.as_ptr().addr().is_multiple_of(LINE) || count == 0);
            assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            for word in [words.first(), words.last()].into_iter().flatten() {
                word.store(7, Ordering::Relaxed);
                assert_eq!(word.load(Ordering::Relaxed), 7);
            }
        }
        assert!(Memory::new(usize::MAX / 8).is_none() && Memory::new(usize::MAX / 16).is_none());
    }
}

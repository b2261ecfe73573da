//! The bounded pool of runs that all sliding logs of a store share.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::time::Stamp;

/// `count` tokens charged at `time`; `next` is the index of the next newer run of the same log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) time: Stamp,
    pub(crate) count: u32,
    pub(crate) next: u32,
}

impl Run {
    /// What an index outside the arena reads as.
    const NOTHING: Self = Self { time: Stamp::ZERO, count: 0, next: Arena::NONE };
}

/// A fixed number of runs, allocated once. A run is part of one log, or in the list of free ones.
///
/// Sizes are checked by the caller before a run is taken; an index outside the arena is read as
/// an empty run and written to nowhere, so that no path can panic.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    /// Those that logs can hold, then the spare ones.
    runs: Box<[Run]>,
    /// Runs that logs can hold.
    capacity: u32,
    /// The most recently freed run; the list goes on through `next`.
    free: u32,
    /// Runs in use by logs.
    used: u32,
}

impl Arena {
    /// The index that ends a list.
    pub(crate) const NONE: u32 = u32::MAX;
    /// Runs beside the others that only a look uses, while it has the arena for itself: one for
    /// each limit of a policy.
    pub(crate) const SPARE: u32 = 8;
    /// The most runs that an arena can hold: every index but the spare ones and [`Self::NONE`].
    pub(crate) const MAX_RUNS: u32 = u32::MAX - 1 - Self::SPARE;

    /// An arena of `capacity` runs, at most [`Self::MAX_RUNS`]; `None` when there is not enough
    /// memory. With 0 nothing is allocated.
    pub(crate) fn new(capacity: u32) -> Option<Self> {
        let capacity = capacity.min(Self::MAX_RUNS);
        let mut runs = Vec::new();
        if capacity == 0 {
            return Some(Self::empty());
        }
        let size = capacity.saturating_add(Self::SPARE);
        runs.try_reserve_exact(usize::try_from(size).ok()?).ok()?;
        let next = |next| if next < capacity { next } else { Self::NONE };
        runs.extend((1..=size).map(|index| Run { next: next(index), ..Run::NOTHING }));
        Some(Self { runs: runs.into_boxed_slice(), capacity, free: 0, used: 0 })
    }

    /// An arena without runs.
    pub(crate) fn empty() -> Self {
        Self { runs: Box::default(), capacity: 0, free: Self::NONE, used: 0 }
    }

    /// Runs that can still be taken.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.capacity.saturating_sub(self.used)).unwrap_or(usize::MAX)
    }

    /// Runs that logs hold.
    pub(crate) fn used(&self) -> usize {
        usize::try_from(self.used).unwrap_or(usize::MAX)
    }

    /// Bytes that all runs take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.runs)
    }

    pub(crate) fn run(&self, index: u32) -> Run {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.runs.get(index).copied().unwrap_or(Run::NOTHING)
    }

    pub(crate) fn update(&mut self, index: u32, change: impl FnOnce(&mut Run)) {
        if let Some(run) = usize::try_from(index).ok().and_then(|index| self.runs.get_mut(index)) {
            change(run);
        }
    }

    /// Takes a free run as the newest of a log.
    pub(crate) fn take(&mut self, time: Stamp, count: u32) -> u32 {
        let index = self.free;
        if index != Self::NONE {
            self.free = self.run(index).next;
            self.used = self.used.saturating_add(1);
            self.update(index, |run| *run = Run { time, count, next: Self::NONE });
        }
        index
    }

    /// Writes the spare run of that number, from 0 on, for a look.
    pub(crate) fn lend(&mut self, number: usize, time: Stamp, count: u32) -> u32 {
        let index = u32::try_from(number).ok().and_then(|number| self.capacity.checked_add(number));
        let is_there = |index: &u32| usize::try_from(*index).is_ok_and(|i| i < self.runs.len());
        let Some(index) = index.filter(is_there) else { return Self::NONE };
        self.update(index, |run| *run = Run { time, count, next: Self::NONE });
        index
    }

    /// Frees the runs of a list from `first` up to, not including, `until`.
    pub(crate) fn give_back(&mut self, first: u32, until: u32) {
        let mut index = first;
        while index != until && index != Self::NONE {
            let next = self.run(index).next;
            let free = self.free;
            self.update(index, |run| *run = Run { next: free, ..Run::NOTHING });
            self.free = index;
            self.used = self.used.saturating_sub(1);
            index = next;
        }
    }
}

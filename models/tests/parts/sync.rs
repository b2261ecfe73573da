//! Atomics of which every two uses are tried in both orders.
//!
//! loom looks at one earlier use of an atomic when it decides what to try in another order. A thread that
//! loads a word before it writes it, as whoever takes a version does, hides the loads of others from it.
//! So each use of a word is preceded by a write to another one beside it, which orders nothing else.

pub(crate) use loom::sync::atomic::{Ordering, fence};

#[derive(Debug, Default)]
pub(crate) struct AtomicU64 {
    value: loom::sync::atomic::AtomicU64,
    used: loom::sync::atomic::AtomicU64,
}

impl AtomicU64 {
    pub(crate) fn load(&self, ordering: Ordering) -> u64 {
        self.used().load(ordering)
    }

    pub(crate) fn store(&self, value: u64, ordering: Ordering) {
        self.used().store(value, ordering);
    }

    pub(crate) fn fetch_min(&self, value: u64, ordering: Ordering) -> u64 {
        self.used().fetch_min(value, ordering)
    }

    pub(crate) fn compare_exchange(
        &self,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.used().compare_exchange(expected, new, success, failure)
    }

    fn used(&self) -> &loom::sync::atomic::AtomicU64 {
        self.used.store(0, Ordering::Relaxed);
        &self.value
    }
}

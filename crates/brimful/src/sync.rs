//! The atomics and the way to wait for one: all that threads share goes through here.

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a mutex whose holders cannot panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks for reading what its writers cannot panic over.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks the same for writing.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A number for the calling thread, the same for as long as it runs; others may have it as well.
#[inline]
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.with(|number| {
        number.get().unwrap_or_else(|| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(next));
            next
        })
    })
}

/// How long a waiter spins before it lets another thread run.
const SPINS: u32 = 64;

/// Called between attempts to take a lock bit: spins briefly, then yields, so that a holder which
/// was descheduled can go on.
pub(crate) fn wait(attempts: &mut u32) {
    *attempts = attempts.saturating_add(1);
    if *attempts < SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

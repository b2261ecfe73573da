//! The atomics and the way to wait for one: all that threads share goes through here.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

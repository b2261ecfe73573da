//! The atomics and the way to wait for one: all that threads share goes through here.

use std::cell::Cell;

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

/// The number of the calling thread: threads are counted from 0 on as they ask first, and numbers are
/// not used again. (Giving them back would need memory for each thread.)
#[inline]
pub(crate) fn thread_number() -> u32 {
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(u32::MAX) };
    }
    NUMBER.with(|number| match number.get() {
        u32::MAX => {
            let chosen = next_number();
            number.set(chosen);
            chosen
        }
        chosen => chosen,
    })
}

#[cold]
fn next_number() -> u32 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    u32::try_from(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(u32::MAX - 1)
}

/// Called between attempts to take a lock bit: waits twice as long each time, so that a holder who
/// comes again and again is not slowed down by being asked, and a waiter who met it by chance loses
/// little; after some microseconds it yields, so that a holder who was descheduled can go on.
pub(crate) fn wait(attempts: &mut u32) {
    const DOUBLINGS: u32 = 7;
    if *attempts < DOUBLINGS {
        for _ in 0..1_u32 << *attempts {
            std::hint::spin_loop();
        }
        *attempts += 1;
    } else {
        std::thread::yield_now();
    }
}

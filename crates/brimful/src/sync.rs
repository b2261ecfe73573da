//! The atomics, the locks, and the way to wait for one: all that threads share goes through here.
//!
//! Built with `cfg(brimful_model)`, as the package in `models/` builds the library, they are those of
//! a model checker, which runs threads in every order and shows each of them every value that the
//! orderings allow. Beside that, what has a size is small, waiting is giving way at once ([`IS_MODEL`]),
//! and no memory is mapped.

pub(crate) use source::{
    AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard,
    fence,
};

#[cfg(not(brimful_model))]
mod source {
    use std::cell::Cell;

    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::thread::yield_now;

    std::thread_local! {
        /// The number of this thread; the largest one until it asks.
        pub(super) static NUMBER: Cell<u32> = const { Cell::new(u32::MAX) };
    }

    /// How many threads have asked for a number.
    pub(super) fn asked() -> &'static AtomicU64 {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        &ASKED
    }
}

#[cfg(brimful_model)]
mod source {
    use std::cell::Cell;

    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use loom::thread::yield_now;

    loom::thread_local! {
        pub(super) static NUMBER: Cell<u32> = Cell::new(u32::MAX);
    }

    pub(super) fn asked() -> &'static AtomicU64 {
        loom::lazy_static! {
            static ref ASKED: AtomicU64 = AtomicU64::new(0);
        }
        &ASKED
    }
}

/// Whether a model checker stands in.
pub(crate) const IS_MODEL: bool = cfg!(brimful_model);

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
    source::NUMBER.with(|number| match number.get() {
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
    u32::try_from(source::asked().fetch_add(1, Ordering::Relaxed)).unwrap_or(u32::MAX - 1)
}

/// Called between attempts to take a lock bit: waits twice as long each time, so that a holder who
/// comes again and again is not slowed down by being asked, and a waiter who met it by chance loses
/// little; after some microseconds it yields, so that a holder who was descheduled can go on.
pub(crate) fn wait(attempts: &mut u32) {
    const DOUBLINGS: u32 = if IS_MODEL { 0 } else { 7 };
    if *attempts < DOUBLINGS {
        for _ in 0..1_u32 << *attempts {
            source::spin_loop();
        }
        *attempts += 1;
    } else {
        source::yield_now();
    }
}

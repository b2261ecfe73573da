//! A waker that remembers that it was called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Whether the wakers that are made of it were called.
#[derive(Debug, Default)]
pub struct Called(AtomicBool);

impl Called {
    /// Whether one was, since the last [`take`](Self::take).
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same, and begins anew.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

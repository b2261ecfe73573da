//! How long calls took, in time and in calls that others ended meanwhile. For reading: no test fails by
//! it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::since;

/// The longest of all calls.
#[derive(Debug, Default)]
pub(crate) struct Longest {
    ended: AtomicU64,
    longest: Mutex<(Duration, u64)>,
}

/// The longest of one thread's.
pub(crate) struct Waits<'a> {
    all: &'a Longest,
    time: Duration,
    calls: u64,
}

impl Longest {
    pub(crate) fn waits(&self) -> Waits<'_> {
        Waits { all: self, time: Duration::ZERO, calls: 0 }
    }

    /// Calls that ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn print(&self, name: &str) {
        let (time, calls) = *self.longest.lock().unwrap();
        let ended = self.ended();
        println!("{name}: of {ended} calls the longest took {time:?}, and {calls} calls of others");
    }
}

impl Waits<'_> {
    pub(crate) fn measure<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let before = self.all.ended.load(Ordering::SeqCst);
        let (start, _) = since(None);
        let answer = call();
        let (_, took) = since(Some(start));
        let others = self.all.ended.fetch_add(1, Ordering::SeqCst) - before;
        self.time = self.time.max(took);
        self.calls = self.calls.max(others);
        answer
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Ok(mut longest) = self.all.longest.lock() {
            *longest = (longest.0.max(self.time), longest.1.max(self.calls));
        }
    }
}

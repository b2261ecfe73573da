//! What a fruitless search for room says to the newcomers after it: that until some moment every slot
//! that it saw owes, so that they need not search as well.
//!
//! It is only said as long as it is true. A slot that comes free before that moment ends it
//! ([`Flood::end`]), so does one whose time goes back with a stepped clock, and one that is given to a key
//! that owes for a shorter time ends it with that key's debt ([`Flood::shorten`]); both are called with
//! the slot's set locked. A search that was
//! under way meanwhile may have seen that set before. So it begins by making `soonest` the largest
//! time, before it locks the first set: what it then saw too early is in `soonest` afterwards, because
//! whoever locks a set after it has also seen that. One search at a time takes notes.
//!
//! (`a_search_that_was_overtaken_is_not_believed` in `models/`.)

use crate::sync::{AtomicU64, Ordering, fence};
use crate::time::Nanos;

/// What the last fruitless search has found.
#[derive(Debug, Default)]
pub(super) struct Flood {
    /// Odd while a search takes notes; then the words below do not belong together.
    version: AtomicU64,
    /// When they were taken, and until when all slots that it saw owe, in nanoseconds; 0 for none.
    noted: AtomicU64,
    until: AtomicU64,
    /// The first moment at which a slot can be free that was written since the search began.
    soonest: AtomicU64,
}

/// A search that takes notes; dropping it without any leaves none.
pub(super) struct Noting<'a> {
    flood: &'a Flood,
    version: u64,
}

impl Flood {
    /// Begins to take notes, unless another search does.
    pub(super) fn begin(&self) -> Option<Noting<'_>> {
        let version = self.version.load(Ordering::Relaxed);
        let taken = version.wrapping_add(1);
        let is_free = version & 1 == 0
            && self
                .version
                .compare_exchange(version, taken, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !is_free {
            return None;
        }
        // So that nobody sees the words below without the odd version.
        fence(Ordering::Release);
        self.until.store(0, Ordering::Relaxed);
        self.soonest.store(u64::MAX, Ordering::Relaxed);
        Some(Noting { flood: self, version: taken })
    }

    /// Whether all slots that the last fruitless search saw still owe.
    pub(super) fn is_on(&self, now: impl FnOnce() -> Nanos) -> bool {
        let version = self.version.load(Ordering::Acquire);
        let [noted, until, soonest] =
            [&self.noted, &self.until, &self.soonest].map(|word| word.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let is_whole = version & 1 == 0 && version == self.version.load(Ordering::Relaxed);
        if !is_whole || until == 0 {
            return false;
        }
        let now = now().as_nanos();
        // A clock that was stepped back says nothing about when it was noted.
        noted <= now && now < until.min(soonest)
    }

    /// A slot has come free that a search may have seen owing.
    pub(super) fn end(&self) {
        self.soonest.store(0, Ordering::Relaxed);
    }

    /// A slot was given to a key that owes until then.
    pub(super) fn shorten(&self, until: impl FnOnce() -> Nanos) {
        // Whoever sees that notes were taken sees them.
        let is_noting = self.version.load(Ordering::Acquire) & 1 == 1;
        if is_noting || self.until.load(Ordering::Relaxed) > 0 {
            self.soonest.fetch_min(until().as_nanos(), Ordering::Relaxed);
        }
    }
}

impl Noting<'_> {
    /// All slots owe until then.
    pub(super) fn note(self, noted: Nanos, until: Nanos) {
        self.flood.noted.store(noted.as_nanos(), Ordering::Relaxed);
        self.flood.until.store(until.as_nanos(), Ordering::Relaxed);
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.flood.version.store(self.version.wrapping_add(1), Ordering::Release);
    }
}

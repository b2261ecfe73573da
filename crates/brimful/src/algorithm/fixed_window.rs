//! Fixed window: a count that starts again at every multiple of the period since the Unix epoch.
//!
//! The simplest of the four, and the loosest: a burst at the end of one window and another at the
//! start of the next admit twice the limit in an interval as short as you like.
//!
//! The state is the count of the window in which the key was last charged.

use core::num::NonZero;

use super::{Moment, Owed, Verdict, share};

/// The constants of one fixed-window limit.
#[derive(Clone, Debug)]
pub(crate) struct FixedWindow {
    /// Tokens per window, at most 10^12.
    limit: u64,
    /// The window's length in nanoseconds, below 2^55.
    width: NonZero<u64>,
}

impl FixedWindow {
    pub(crate) fn new(limit: u64, width: NonZero<u64>) -> Self {
        Self { limit, width }
    }

    /// The count as it stands at `at.now`: nothing, once another window has begun.
    pub(crate) fn settle(&self, count: u64, at: Moment) -> u64 {
        if at.last.window(self.width) == at.now.window(self.width) { count } else { 0 }
    }

    pub(crate) fn verdict(&self, count: u64, cost: u64, at: Moment) -> Verdict {
        if cost > self.limit {
            Verdict::Never
        } else if count.saturating_add(cost) <= self.limit {
            Verdict::Admit
        } else {
            // A new window admits any cost up to the limit; this one never again.
            Verdict::Wait(self.time_left(at).into())
        }
    }

    pub(crate) fn charge(&self, count: u64, cost: u64) -> u64 {
        count.saturating_add(cost)
    }

    pub(crate) fn width(&self) -> u64 {
        self.width.get()
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn refund(&self, count: u64, tokens: u64) -> (u64, u64) {
        let given = count.min(tokens);
        (count.saturating_sub(given), given)
    }

    pub(crate) fn remaining(&self, count: u64) -> u64 {
        self.limit.saturating_sub(count)
    }

    pub(crate) fn reset_after(&self, count: u64, at: Moment) -> u128 {
        if count == 0 { 0 } else { self.time_left(at).into() }
    }

    pub(crate) fn owed(&self, count: u64) -> Owed {
        Owed { share: share(count.into(), self.limit.into()), tokens: count }
    }

    /// Nanoseconds until the next window: 1 to the whole width.
    fn time_left(&self, at: Moment) -> u64 {
        self.width.get().saturating_sub(at.now.phase(self.width))
    }
}

//! Sliding window counter: two counts stand in for a log.
//!
//! The estimate of what was spent in the window that ends now is
//! `previous * (W - e) / W + current`, where `e` is how far the clock-aligned window has run. It
//! takes the previous window's requests to have been spread evenly. A request is admitted when
//! the estimate with its cost stays within the limit, in whole numbers:
//! `previous * (W - e) + (current + cost) * W <= limit * W`.
//!
//! By its own estimate it admits `limit` per window; against the truth up to about twice that.
//!
//! The state is the two counts as of the window in which the key was last charged.

use core::num::NonZero;

use super::{Moment, Owed, Verdict, product, share};

/// The constants of one sliding-window-counter limit.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    /// Tokens per window, at most 10^12.
    limit: u64,
    /// The window's length in nanoseconds, below 2^55.
    width: NonZero<u64>,
}

/// What was spent in the window before, and in this one; each at most 10^12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) previous: u64,
    pub(crate) current: u64,
}

impl Counts {
    const BITS: u32 = 48;

    pub(crate) fn unpack(state: u128) -> Self {
        let part = |bits: u128| u64::try_from(bits & ((1 << Self::BITS) - 1)).unwrap_or(0);
        Self { previous: part(state >> Self::BITS), current: part(state) }
    }

    pub(crate) fn pack(self) -> u128 {
        (u128::from(self.previous) << Self::BITS) | u128::from(self.current)
    }
}

impl SlidingWindow {
    pub(crate) fn new(limit: u64, width: NonZero<u64>) -> Self {
        Self { limit, width }
    }

    pub(crate) fn width(&self) -> NonZero<u64> {
        self.width
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The estimate and the limit, in token-nanoseconds.
    pub(crate) fn fraction(&self, counts: Counts, at: Moment) -> (u128, u128) {
        (self.spent(counts, at), product(self.limit, self.width.get()))
    }

    /// The counts as they stand at `at.now`.
    pub(crate) fn settle(&self, counts: Counts, at: Moment) -> Counts {
        let windows_on = at.now.window(self.width).saturating_sub(at.last.window(self.width));
        match windows_on {
            0 => counts,
            1 => Counts { previous: counts.current, current: 0 },
            _ => Counts { previous: 0, current: 0 },
        }
    }

    pub(crate) fn verdict(&self, counts: Counts, cost: u64, at: Moment) -> Verdict {
        if cost > self.limit {
            return Verdict::Never;
        }
        let width = self.width.get();
        // What previous requests may still weigh, in token-nanoseconds.
        let Some(room) = self.limit.checked_sub(counts.current.saturating_add(cost)) else {
            return Verdict::Wait(self.wait_into_next(counts, cost, at));
        };
        let room = product(room, width);
        let weight = product(counts.previous, self.time_left(at));
        if weight <= room {
            return Verdict::Admit;
        }
        // The weight falls by `previous` in each nanosecond; it is not zero, being above the room.
        let excess = weight.saturating_sub(room);
        // That is within this window, or at its end, where nothing of it is left.
        Verdict::Wait(excess.div_ceil(u128::from(counts.previous).max(1)))
    }

    pub(crate) fn charge(&self, counts: Counts, cost: u64) -> Counts {
        Counts { current: counts.current.saturating_add(cost), ..counts }
    }

    /// Only the window counted now gives back; the one before has been rated already.
    pub(crate) fn refund(&self, counts: Counts, tokens: u64) -> (Counts, u64) {
        let given = counts.current.min(tokens);
        (Counts { current: counts.current.saturating_sub(given), ..counts }, given)
    }

    /// What is known to have been charged in the window before, and was not spent after all.
    #[cfg(feature = "std")]
    pub(crate) fn refund_previous(counts: Counts, tokens: u64) -> (Counts, u64) {
        let given = counts.previous.min(tokens);
        (Counts { previous: counts.previous.saturating_sub(given), ..counts }, given)
    }

    pub(crate) fn remaining(&self, counts: Counts, at: Moment) -> u64 {
        let room = product(self.limit, self.width.get()).saturating_sub(self.spent(counts, at));
        u64::try_from(room / NonZero::<u128>::from(self.width)).unwrap_or(u64::MAX)
    }

    /// As good as new when both counts have passed: two windows on, or one with nothing in it.
    pub(crate) fn reset_after(&self, counts: Counts, at: Moment) -> u128 {
        let left = u128::from(self.time_left(at));
        match counts {
            Counts { previous: 0, current: 0 } => 0,
            Counts { current: 0, .. } => left,
            _ => left.saturating_add(self.width.get().into()),
        }
    }

    pub(crate) fn owed(&self, counts: Counts, at: Moment) -> Owed {
        let (spent, limit) = self.fraction(counts, at);
        let tokens = spent.div_ceil(self.width.get().into());
        Owed { share: share(spent, limit), tokens: u64::try_from(tokens).unwrap_or(u64::MAX) }
    }

    /// The estimate in token-nanoseconds: `estimate * W`, at most 2 * 10^12 * 2^55, below 2^96.
    fn spent(&self, counts: Counts, at: Moment) -> u128 {
        product(counts.previous, self.time_left(at))
            .saturating_add(product(counts.current, self.width.get()))
    }

    /// The wait when this window cannot admit the cost any more: its own count then becomes the
    /// previous one, and falls until the cost has room.
    fn wait_into_next(&self, counts: Counts, cost: u64, at: Moment) -> u128 {
        let width = self.width.get();
        let room = product(self.limit.saturating_sub(cost), width);
        let excess = product(counts.current, width).saturating_sub(room);
        let into = excess.div_ceil(u128::from(counts.current).max(1));
        u128::from(self.time_left(at)).saturating_add(into)
    }

    /// Nanoseconds until the next window: 1 to the whole width.
    fn time_left(&self, at: Moment) -> u64 {
        self.width.get().saturating_sub(at.now.phase(self.width))
    }
}

//! What one charge still is in the level of a limit, and how it is taken out again.

use super::arena::Arena;
use super::sliding_log::{Handle, SlidingLog};
use super::sliding_window::{Counts, SlidingWindow};
use super::{Machine, Moment, count};
use crate::time::Nanos;

/// What one charge still is in the level of a window or a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// At most so many tokens.
    pub(crate) tokens: u64,
    /// Nanoseconds since it was charged.
    pub(crate) age: u64,
    /// Whether it is counted with the window before this one.
    pub(crate) is_previous: bool,
}

/// What a window or a log has counted last, from which a refund takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    /// Nanoseconds since all of it was charged; `None` when it is of different times.
    pub(crate) age: Option<u64>,
    pub(crate) tokens: u64,
}

impl Machine {
    /// The debt of an empty bucket; `None` for the other algorithms.
    pub(crate) fn brim(&self) -> Option<u128> {
        match self {
            Self::TokenBucket(bucket) => Some(bucket.brim()),
            _ => None,
        }
    }

    /// Whether what was counted in this window is counted with the one before since the level was
    /// settled. (Nobody needs to know of a level that came to zero.)
    pub(crate) fn has_turned(&self, level: u128, settled: u128) -> bool {
        let current = |level| Counts::unpack(level).current;
        match self {
            Self::SlidingWindow(_) => current(level) > 0 && current(settled) == 0,
            _ => false,
        }
    }

    /// Whether the parts that charges have in a level of `old` are, tick for tick, parts of the level
    /// with which this limit [goes on](Self::take_over); buckets aside.
    pub(crate) fn keeps_parts(&self, old: &Self) -> bool {
        match (self, old) {
            (Self::FixedWindow(_), Self::FixedWindow(_)) => true,
            (Self::SlidingLog(new), Self::SlidingLog(old)) => new.width() == old.width(),
            (Self::SlidingWindow(new), Self::SlidingWindow(old)) => new.width() == old.width(),
            _ => false,
        }
    }

    /// What was counted last in a level that was changed at `last`; `None` for a bucket.
    pub(crate) fn newest(&self, level: u128, last: Nanos, arena: &Arena) -> Option<Newest> {
        match self {
            Self::TokenBucket(_) => None,
            Self::FixedWindow(_) => Some(Newest { age: None, tokens: count(level) }),
            Self::SlidingWindow(_) => {
                Some(Newest { age: None, tokens: Counts::unpack(level).current })
            }
            Self::SlidingLog(_) => {
                let run = arena.run(Handle::unpack(level).newest);
                Some(Newest { age: Some(last.age(run.time)), tokens: run.count.into() })
            }
        }
    }

    /// The level without a part, as far as it is still counted, and how many tokens that was. What a
    /// charge still is in the debt of a bucket is not in its level: nothing comes back here.
    pub(crate) fn take_back(
        &self,
        level: u128,
        settled: u128,
        part: Part,
        at: Moment,
        arena: &mut Arena,
    ) -> (u128, u64) {
        match self {
            Self::TokenBucket(_) => (settled, 0),
            Self::FixedWindow(window) => {
                let (left, given) = window.refund(count(settled), part.tokens);
                (left.into(), given)
            }
            Self::SlidingLog(_) => {
                let (level, settled) = (Handle::unpack(level), Handle::unpack(settled));
                let (log, given) = SlidingLog::take_back(level, settled, part, at, arena);
                (log.pack(), given)
            }
            Self::SlidingWindow(window) => {
                let counts = Counts::unpack(settled);
                let (left, given) = match part.is_previous {
                    true => SlidingWindow::refund_previous(counts, part.tokens),
                    false => window.refund(counts, part.tokens),
                };
                (left.pack(), given)
            }
        }
    }
}

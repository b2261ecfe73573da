//! What a store remembers for one key, measured at stores.

use brimful::{Limit, Limiter, Nanos, Stats};

use crate::error::Error;

/// Memory for one key that has spent all it may, one token at a time.
///
/// Counted from what limiters of two sizes say of themselves: what a further slot and a further
/// log entry add to [`Stats::bytes`], and how many entries the log of one key came to hold
/// ([`Stats::log_entries`]). A store has five slots for four of its
/// [`max_keys`](brimful::LimiterBuilder::max_keys).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// Bytes of a slot.
    pub slot_bytes: u64,
    /// Entries in the log; 0 for the algorithms that have none.
    pub log_entries: u64,
    /// Bytes of a log entry; 0 for the algorithms that have none.
    pub log_entry_bytes: u64,
}

impl State {
    /// Bytes of the slot and the log entries together.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        let log = self.log_entries.saturating_mul(self.log_entry_bytes);
        self.slot_bytes.saturating_add(log)
    }

    pub(super) fn of(limit: &Limit) -> Result<Self, Error> {
        let stats = |keys: u64, entries: u64| -> Result<Stats, Error> {
            let limiter = Limiter::builder(limit.clone()).max_keys(keys).max_log_entries(entries);
            Ok(limiter.build()?.stats())
        };
        let (small, more_keys) = (stats(4_000, 4_000)?, stats(8_000, 4_000)?);
        let more_entries = stats(4_000, 8_000)?;
        let slot_bytes = bytes_of_one(&small, &more_keys, |stats| stats.slots);
        let log_entries = log_entries(limit)?;
        let log_entry_bytes = match log_entries {
            0 => 0,
            _ => bytes_of_one(&small, &more_entries, |stats| stats.max_log_entries),
        };
        Ok(Self { slot_bytes, log_entries, log_entry_bytes })
    }
}

/// Bytes that one more of `number` takes; 0 when neither store has any.
fn bytes_of_one(small: &Stats, large: &Stats, number: impl Fn(&Stats) -> u64) -> u64 {
    let bytes = large.bytes.saturating_sub(small.bytes);
    bytes.checked_div(number(large).saturating_sub(number(small))).unwrap_or(0)
}

/// Entries that the log of one key holds when every token was spent at a time of its own.
fn log_entries(limit: &Limit) -> Result<u64, Error> {
    let limiter = Limiter::builder(limit.clone()).max_keys(1).build()?;
    if limiter.stats().max_log_entries == 0 {
        return Ok(0);
    }
    // At most 65,536 tokens, and never more than the period has nanoseconds.
    for ns in 0..limit.tokens() {
        limiter.try_acquire_at(0_u64, 1, Nanos::from_nanos(ns));
    }
    Ok(limiter.stats().log_entries)
}

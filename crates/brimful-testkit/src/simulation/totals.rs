//! How often each kind of event happened, so that a test can tell that all of them do.

use std::fmt;

/// One kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Steps of all traces.
    Step,
    /// Decisions about single keys, batches taken apart.
    Decision,
    /// Those that were allowed.
    Allowed,
    /// Those that a limit refused for a while.
    Denied,
    /// Those that no wait can help.
    Never,
    /// Hints that were tried, at their time and one nanosecond before.
    Hint,
    /// Looks at a key that change nothing.
    Look,
    /// Slots reused after their key had refilled.
    Lossless,
    /// Keys in debt that were forgotten for another.
    Forced,
    /// The same, where the whole store was compared with the victim.
    Weighed,
    /// Newcomers refused for want of a slot.
    Refused,
    /// The same, where the hint was compared with the whole store.
    Timed,
    /// Calls refused for want of log entries.
    NoEntries,
    /// Decisions against a state that strangers share.
    Shared,
    /// Keys that left such a state while it owed.
    LeftShared,
    /// Readings before the latest, by at most ten seconds.
    Back,
    /// Readings further back.
    Stepped,
    /// Keys that a full store may have made refill from a stepped clock's reading.
    Anchored,
    /// Denials or charges under other limits than the key had.
    Changed,
    /// Calls that brought their limits.
    Given,
    /// The same, refused because the table was full.
    TableFull,
    /// Refunds that gave something back.
    Refund,
    /// Resets of keys that were there.
    Reset,
    /// Batches.
    Batch,
    /// Calls for several keys that charged all.
    Together,
    /// Calls for several keys that charged none.
    Apart,
    /// Newcomers admitted when more than four of five slots of several sets were taken, where keys
    /// are moved for them.
    Crowded,
    /// Decisions for keys that may have been in more than one state.
    Doubt,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 28] = [
        Self::Step,
        Self::Decision,
        Self::Allowed,
        Self::Denied,
        Self::Never,
        Self::Hint,
        Self::Look,
        Self::Lossless,
        Self::Forced,
        Self::Weighed,
        Self::Refused,
        Self::Timed,
        Self::NoEntries,
        Self::Shared,
        Self::LeftShared,
        Self::Back,
        Self::Stepped,
        Self::Anchored,
        Self::Changed,
        Self::Given,
        Self::TableFull,
        Self::Refund,
        Self::Reset,
        Self::Batch,
        Self::Together,
        Self::Apart,
        Self::Crowded,
        Self::Doubt,
    ];
}

/// Counts of all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals([u64; Event::ALL.len()]);

impl Totals {
    pub(super) fn count(&mut self, event: Event) {
        self.count_many(event, 1);
    }

    pub(super) fn count_many(&mut self, event: Event, times: u64) {
        self.0[event as usize] += times;
    }

    /// How often it happened.
    #[must_use]
    pub fn of(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, event) in Event::ALL.into_iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{event:?} {}", self.of(event))?;
        }
        Ok(())
    }
}

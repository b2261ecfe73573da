//! Plain counters, and the snapshot that users see.

use crate::sync::{self, AtomicU64, Ordering};

/// The first threads of a process have a place of their own in each limiter, where nobody else counts;
/// all later ones share some more.
const ALONE: usize = if sync::IS_MODEL { 2 } else { 32 };
const SHARED: usize = if sync::IS_MODEL { 1 } else { 8 };

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds 1, when no other thread does so at the same time. (An addition that may be shared waits for
    /// all that was written before it; this one does not.)
    #[inline]
    fn add_alone(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, by: u64) {
        self.0.fetch_sub(by, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What happens to slots; counted where it happens.
#[derive(Debug, Default)]
pub(crate) struct StoreCounters {
    pub(crate) occupied: Counter,
    pub(crate) evicted_lossless: Counter,
    pub(crate) evicted_forced: Counter,
    pub(crate) forgiven: Counter,
    pub(crate) refused: Counter,
    pub(crate) shared: Counter,
    pub(crate) left_shared: Counter,
}

/// Rows that have counters in each stripe: so many that a stripe is two cache lines.
const NEAR: usize = if sync::IS_MODEL { 1 } else { 15 };

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    admitted: Counter,
    /// By the first rows of the rules; the others have counters that all threads share.
    denied_by_row: [Counter; NEAR],
}

const _: () = assert!(size_of::<Stripe>() == 128 || sync::IS_MODEL);

/// What was decided, in all and by row.
#[derive(Debug)]
pub(crate) struct DecisionCounters {
    stripes: Box<[Stripe]>,
    /// What the stripes do not count. The last is for all rows that come with calls.
    denied_by_row: Box<[Counter]>,
    resolved: Counter,
    unknown_tier: Counter,
}

impl DecisionCounters {
    /// For `rows` rows of the rules.
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            stripes: (0..ALONE + SHARED).map(|_| Stripe::default()).collect(),
            denied_by_row: (0..=rows).map(|_| Counter::default()).collect(),
            resolved: Counter::default(),
            unknown_tier: Counter::default(),
        }
    }

    /// Counts one key that was resolved by the rules.
    pub(crate) fn count_resolved(&self) {
        self.resolved.add(1);
    }

    /// Counts one request of a tier that the rules do not know.
    pub(crate) fn count_unknown_tier(&self) {
        self.unknown_tier.add(1);
    }

    pub(crate) fn resolved(&self) -> u64 {
        self.resolved.value()
    }

    pub(crate) fn unknown_tier(&self) -> u64 {
        self.unknown_tier.value()
    }

    /// Counts one decision.
    #[inline]
    pub(crate) fn count(&self, allowed: bool, row: u32) {
        let number = usize::try_from(sync::thread_number()).unwrap_or(usize::MAX);
        let is_alone = number < ALONE;
        let place = if is_alone { number } else { ALONE + number % SHARED };
        let stripe = self.stripes.get(place);
        let row = usize::try_from(row).unwrap_or(usize::MAX);
        let counter = stripe.and_then(|stripe| match allowed {
            true => Some(&stripe.admitted),
            false => stripe.denied_by_row.get(row),
        });
        match counter {
            Some(own) if is_alone => own.add_alone(),
            Some(shared) => shared.add(1),
            None => self.count_far(row),
        }
    }

    /// Counts a denial by a row without counters in the stripes.
    #[cold]
    fn count_far(&self, row: usize) {
        if let Some(counter) = self.denied_by_row.get(row).or(self.denied_by_row.last()) {
            counter.add(1);
        }
    }

    pub(crate) fn admitted(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.admitted.value()).sum()
    }

    pub(crate) fn denied(&self) -> u64 {
        self.denied_by_row().sum()
    }

    /// By each row of the rules, and last by all that came with calls.
    pub(crate) fn denied_by_row(&self) -> impl Iterator<Item = u64> {
        self.denied_by_row.iter().enumerate().map(|(row, far)| {
            let near = self.stripes.iter().filter_map(move |stripe| stripe.denied_by_row.get(row));
            far.value() + near.map(Counter::value).sum::<u64>()
        })
    }
}

/// A snapshot of a limiter's counters. They are read one after the other while others count on,
/// so sums may be off by the calls in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that the store was built for.
    pub max_keys: u64,
    /// Slots in the store, at most five for four of `max_keys` and never fewer than it.
    pub slots: u64,
    /// Slots that hold a key: one that owes, or one that has refilled and was not yet replaced.
    pub occupied: u64,
    /// Bytes of all slots, shared states and log entries, allocated at construction.
    pub bytes: u64,
    /// Requests that were allowed with a cost above 0. A call that names several keys counts once for
    /// each of them that it charged.
    pub admitted: u64,
    /// Requests that were denied, with a cost above 0. A call that names several keys counts once, for
    /// the one that decided.
    pub denied: u64,
    /// The same by policy name, for the policies that denied any. Those that came with calls are
    /// counted together under the name [`Stats::GIVEN`].
    pub denied_by_policy: Vec<(String, u64)>,
    /// Slots reused for another key after their bucket had refilled: nothing was lost. (A key that
    /// owes nothing under a policy that came with a call may also be forgotten without another.)
    pub evicted_lossless: u64,
    /// Keys in debt that were forgotten for a newcomer.
    pub evicted_forced: u64,
    /// Tokens that those keys owed, each rounded up to whole tokens.
    pub forgiven_tokens: u64,
    /// Denials because there was no place ([`Denial::StoreFull`](crate::Denial::StoreFull)).
    pub store_full: u64,
    /// Decisions against a state shared by keys without a slot.
    pub shared: u64,
    /// Keys that got a slot while their policy's shared state was owing: the most that can have
    /// left that state for a full one of their own.
    pub left_shared: u64,
    /// Entries that sliding logs hold, expired ones that were not yet found included.
    pub log_entries: u64,
    /// Entries that all sliding logs together can hold.
    pub max_log_entries: u64,
    /// How often the rules were asked for a key, peeks included: when it had no state, one of another
    /// tier or of limits that came with a call, or a log that had to look for room.
    pub resolved: u64,
    /// Requests, looks aside, of tiers that the rules do not know.
    pub unknown_tier: u64,
    /// Policies that came with calls and are interned.
    pub given_policies: u64,
    /// How many of these there can be.
    pub max_given_policies: u64,
}

impl Stats {
    /// The name under which denials by policies that came with calls are counted, together with
    /// those of a policy that is named so.
    pub const GIVEN: &str = "given";
}

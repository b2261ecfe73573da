//! Plain counters, and the snapshot that users see.

use std::collections::HashMap;

use crate::chunks::Chunks;
use crate::sync::{self, AtomicU64, Mutex, Ordering};

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

/// Labels that have counters in each stripe: so many that a stripe is two cache lines.
const NEAR: usize = if sync::IS_MODEL { 1 } else { 15 };

/// The most labels; further names are counted together.
const MOST_LABELS: usize = 1 << 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    admitted: Counter,
    /// By the first labels; the others have counters that all threads share.
    denied: [Counter; NEAR],
}

const _: () = assert!(size_of::<Stripe>() == 128 || sync::IS_MODEL);

/// What was decided, in all and by **label**: the number of a policy's name. A name keeps its label
/// when the rules are replaced.
#[derive(Debug)]
pub(crate) struct DecisionCounters {
    stripes: Box<[Stripe]>,
    /// What the stripes do not count.
    denied: Chunks<Counter>,
    would_deny: Chunks<Counter>,
    labels: Mutex<Labels>,
    resolved: Counter,
    unknown_tier: Counter,
}

#[derive(Debug, Default)]
struct Labels {
    by_name: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl DecisionCounters {
    pub(crate) fn new() -> Self {
        let counters = Self {
            stripes: (0..ALONE + SHARED).map(|_| Stripe::default()).collect(),
            denied: Chunks::default(),
            would_deny: Chunks::default(),
            labels: Mutex::default(),
            resolved: Counter::default(),
            unknown_tier: Counter::default(),
        };
        // That of decisions without an origin is 0.
        counters.label(Stats::GIVEN);
        counters
    }

    /// The label of a name.
    pub(crate) fn label(&self, name: &str) -> u32 {
        let mut labels = sync::lock(&self.labels);
        let known = |labels: &Labels, name: &str| labels.by_name.get(name).copied();
        if let Some(label) = known(&labels, name) {
            return label;
        }
        let name = if labels.names.len() < MOST_LABELS { name } else { Stats::OTHERS };
        if let Some(label) = known(&labels, name) {
            return label;
        }
        let label = u32::try_from(labels.names.len()).unwrap_or(u32::MAX);
        labels.names.push(name.into());
        labels.by_name.insert(name.into(), label);
        self.denied.grow(labels.names.len());
        self.would_deny.grow(labels.names.len());
        label
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
    pub(crate) fn count(&self, allowed: bool, label: u32) {
        let number = usize::try_from(sync::thread_number()).unwrap_or(usize::MAX);
        let is_alone = number < ALONE;
        let place = if is_alone { number } else { ALONE + number % SHARED };
        let stripe = self.stripes.get(place);
        let label = usize::try_from(label).unwrap_or(usize::MAX);
        let counter = stripe.and_then(|stripe| match allowed {
            true => Some(&stripe.admitted),
            false => stripe.denied.get(label),
        });
        match counter {
            Some(own) if is_alone => own.add_alone(),
            Some(shared) => shared.add(1),
            None => count_far(&self.denied, label),
        }
    }

    /// Counts one request that the policy on trial of that label would have denied.
    pub(crate) fn count_would_deny(&self, label: u32) {
        count_far(&self.would_deny, usize::try_from(label).unwrap_or(usize::MAX));
    }

    pub(crate) fn admitted(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.admitted.value()).sum()
    }

    pub(crate) fn denied(&self) -> u64 {
        let near = self.stripes.iter().flat_map(|stripe| &stripe.denied);
        near.chain(self.denied.iter()).map(Counter::value).sum()
    }

    /// Denials by policy, in the order in which the names were seen first; those of policies that came
    /// with calls last.
    pub(crate) fn denied_by_policy(&self) -> Vec<(String, u64)> {
        self.by_name(&self.denied, |label| {
            self.stripes
                .iter()
                .filter_map(|stripe| stripe.denied.get(label))
                .map(Counter::value)
                .sum()
        })
    }

    /// The same of what policies on trial would have denied.
    pub(crate) fn would_deny_by_policy(&self) -> Vec<(String, u64)> {
        self.by_name(&self.would_deny, |_| 0)
    }

    fn by_name(
        &self,
        counters: &Chunks<Counter>,
        beside: impl Fn(usize) -> u64,
    ) -> Vec<(String, u64)> {
        let labels = sync::lock(&self.labels);
        let counted = labels.names.iter().zip(counters.iter()).enumerate();
        let mut counted: Vec<(String, u64)> = counted
            .map(|(label, (name, far))| (String::from(&**name), far.value() + beside(label)))
            .collect();
        if !counted.is_empty() {
            counted.rotate_left(1);
        }
        counted.retain(|(_, count)| *count > 0);
        counted
    }
}

/// Counts without a counter in the stripes.
#[cold]
fn count_far(counters: &Chunks<Counter>, label: usize) {
    if let Some(counter) = counters.get(label).or(counters.get(0)) {
        counter.add(1);
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
    /// Requests that policies [on trial](crate::Policy::shadow) would have denied, by policy name, with a
    /// cost above 0.
    pub would_deny_by_policy: Vec<(String, u64)>,
    /// Which rules are in force: 1 for those that the limiter was built with, and one more for each
    /// [`Limiter::set_rules`](crate::Limiter::set_rules).
    pub generation: u64,
    /// Different policies of rules that were replaced, under which keys still owed when they were last
    /// replaced.
    pub retired_policies: u64,
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
    /// Those who wait.
    pub waiters: u64,
    /// Open reservations of which something may still come back, and grants of which those who waited did
    /// not hear yet.
    pub reservations: u64,
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

    /// The name under which policies are counted together, after 65,536 others had names of their own
    /// in one limiter.
    pub const OTHERS: &str = "others";
}

//! The one type that users hold: short verbs over one private primitive.

mod builder;

use std::collections::HashMap;
use std::fmt;

use crate::clock::Source;
use crate::decision::Decision;
use crate::error::Error;
use crate::hash::{KeyHash, Secret};
use crate::key::AsKey;
use crate::limit::Limit;
use crate::policy::{Kind, Policy};
use crate::rules::Rules;
use crate::stats::{DecisionCounters, Stats};
use crate::store::{Request, Store};
use crate::time::Nanos;

pub use builder::LimiterBuilder;

/// A keyed rate limiter with a bounded number of keys.
///
/// Every verb takes `&self` and any [`AsKey`]; share a limiter by reference or in an `Arc`. All
/// memory is allocated when it is built: no verb allocates, starts a thread or sets a timer.
///
/// Verbs without a time read the clock while the key's set is locked (once, for a key that has its
/// slot); their twins ending in `_at` take the time as an argument.
///
/// ```
/// use brimful::Limiter;
///
/// let limiter = Limiter::per_second(10)?;
/// assert!(limiter.allow("198.51.100.7"));
/// assert!(limiter.try_acquire_n(("tenant", 42_u64), 10).is_allowed());
/// # Ok::<(), brimful::Error>(())
/// ```
pub struct Limiter {
    rules: Rules,
    store: Store,
    secret: Secret,
    clock: Source,
    max_keys: u64,
    counters: DecisionCounters,
}

impl Limiter {
    /// A limiter of `tokens` per second for each key, with the defaults of
    /// [`LimiterBuilder`]. `per_second(60)` is sixty a second.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_second(tokens: u64) -> Result<Self, Error> {
        Self::new(Limit::per_second(tokens)?)
    }

    /// A limiter of `tokens` per minute for each key.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_minute(tokens: u64) -> Result<Self, Error> {
        Self::new(Limit::per_minute(tokens)?)
    }

    /// A limiter of `tokens` per hour for each key.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_hour(tokens: u64) -> Result<Self, Error> {
        Self::new(Limit::per_hour(tokens)?)
    }

    /// A limiter of `tokens` per day for each key.
    ///
    /// # Errors
    /// As [`Limit::new`].
    pub fn per_day(tokens: u64) -> Result<Self, Error> {
        Self::new(Limit::per_day(tokens)?)
    }

    /// A limiter that gives every key the same policy, with the defaults of [`LimiterBuilder`].
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(policy: impl Into<Policy>) -> Result<Self, Error> {
        Self::builder(policy).build()
    }

    /// Begins a limiter with `policy` for every key that has no override.
    #[must_use]
    pub fn builder(policy: impl Into<Policy>) -> LimiterBuilder {
        LimiterBuilder::new(policy.into())
    }

    /// Spends one token of the key if every limit admits it.
    #[must_use]
    pub fn allow(&self, key: impl AsKey) -> bool {
        self.try_acquire(key).is_allowed()
    }

    /// Spends one token of the key if every limit admits it, and says all about it.
    pub fn try_acquire(&self, key: impl AsKey) -> Decision {
        self.try_acquire_n(key, 1)
    }

    /// Spends `cost` tokens of the key if every limit admits them; otherwise spends nothing. Cost
    /// 0 is a look: always allowed (unless the key is `blocked`), and nothing changes.
    pub fn try_acquire_n(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, false, || self.clock.now())
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), at a given time.
    ///
    /// A key's own times may go back as the crate page says. Between keys there is one tie: what
    /// owed nothing, or had expired from a log, at a time that was passed for another key may have
    /// been forgotten, and stays forgotten at earlier times. Pass times that do not go back, and
    /// no key sees another.
    pub fn try_acquire_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, false, || now)
    }

    /// What [`try_acquire_n`](Self::try_acquire_n) would answer. Changes nothing.
    #[must_use]
    pub fn peek(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, true, || self.clock.now())
    }

    /// As [`peek`](Self::peek), at a given time.
    #[must_use]
    pub fn peek_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, true, || now)
    }

    /// Gives up to `tokens` back to the key, at most what it owes, and returns how many were given
    /// back; 0 for a key without state. Windows: only the window counted now; the log: newest
    /// entries first. Of several limits the most that one of them took back.
    pub fn refund(&self, key: impl AsKey, tokens: u64) -> u64 {
        self.give_back(key, tokens, || self.clock.now())
    }

    /// As [`refund`](Self::refund), at a given time.
    pub fn refund_at(&self, key: impl AsKey, tokens: u64, now: Nanos) -> u64 {
        self.give_back(key, tokens, || now)
    }

    /// Forgets all that the key spent; false when the store held nothing of it. (It may hold a key
    /// that owes nothing any more.)
    pub fn reset(&self, key: impl AsKey) -> bool {
        let hash = key.with_key(|key| self.secret.hash(key));
        self.store.reset(hash.fingerprint(), self.rules.plans())
    }

    /// The policy that a decision of this limiter was made by.
    #[must_use]
    pub fn policy_of(&self, decision: &Decision) -> &Policy {
        self.rules.policy(decision.row)
    }

    /// The limit that decided; see [`Decision::limit`].
    #[must_use]
    pub fn limit_of(&self, decision: &Decision) -> Option<&Limit> {
        self.policy_of(decision).limits().get(decision.limit()?)
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let figures = self.store.figures();
        let counters = self.store.counters();
        let number = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        let denied_by_policy = self.rules.policies().iter().zip(self.counters.denied_by_row());
        Stats {
            max_keys: self.max_keys,
            slots: number(figures.slots),
            occupied: counters.occupied.value(),
            bytes: number(figures.bytes),
            admitted: self.counters.admitted(),
            denied: self.counters.denied(),
            denied_by_policy: by_name(denied_by_policy),
            evicted_lossless: counters.evicted_lossless.value(),
            evicted_forced: counters.evicted_forced.value(),
            forgiven_tokens: counters.forgiven.value(),
            store_full: counters.refused.value(),
            shared: counters.shared.value(),
            left_shared: counters.left_shared.value(),
            log_entries: number(figures.log_entries),
            max_log_entries: number(figures.max_log_entries),
        }
    }

    /// The primitive: key -> slot or rules -> step -> decision.
    fn decide(&self, key: impl AsKey, cost: u64, peek: bool, now: impl Fn() -> Nanos) -> Decision {
        let hash = key.with_key(|key| self.secret.hash(key));
        let fingerprint = hash.fingerprint();
        let request = Request { fingerprint, cost, peek, now, plans: self.rules.plans() };
        let decision = self.store.known(&request).unwrap_or_else(|| self.unknown(hash, &request));
        if !peek && cost > 0 {
            self.counters.count(decision.is_allowed(), decision.row, fingerprint);
        }
        decision
    }

    /// Decides for a key that has no state: the rules say which policy it gets.
    fn unknown<N: Fn() -> Nanos>(&self, hash: KeyHash, request: &Request<'_, N>) -> Decision {
        let row = self.rules.resolve(hash);
        match self.rules.policy(row).kind() {
            Kind::Limits(_) => self.store.newcomer(row, request),
            Kind::Unlimited => Decision { row, ..Decision::UNLIMITED },
            Kind::Blocked => Decision { row, ..Decision::BLOCKED },
        }
    }

    fn give_back(&self, key: impl AsKey, tokens: u64, now: impl Fn() -> Nanos) -> u64 {
        let hash = key.with_key(|key| self.secret.hash(key));
        let fingerprint = hash.fingerprint();
        let request = Request { fingerprint, cost: 0, peek: false, now, plans: self.rules.plans() };
        self.store.refund(tokens, &request)
    }
}

/// Sums figures of policies that have the same name, in the order of the names' first appearance.
fn by_name<'a>(figures: impl Iterator<Item = (&'a Policy, u64)>) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    let mut places = HashMap::new();
    for (policy, figure) in figures.filter(|(_, figure)| *figure > 0) {
        let place = *places.entry(policy.name()).or_insert_with(|| {
            sums.push((policy.name().to_owned(), 0));
            sums.len().saturating_sub(1)
        });
        if let Some((_, sum)) = sums.get_mut(place) {
            *sum = sum.saturating_add(figure);
        }
    }
    sums
}

impl fmt::Debug for Limiter {
    /// The settings and the counters; no key, and not the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("policies", &self.rules.policies().len())
            .field("clock", &self.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

//! The one type that users hold: short verbs over one private primitive.

mod all;
mod builder;
mod given;
mod many;
#[cfg(brimful_model)]
mod model;
mod tier;

use std::collections::HashMap;
use std::fmt;

use crate::clock::Source;
use crate::decision::Decision;
use crate::error::Error;
use crate::hash::Secret;
use crate::key::AsKey;
use crate::limit::Limit;
use crate::policy::{Kind, Policy};
use crate::rows::{Rows, Tier, Wanted};
use crate::rules::Rules;
use crate::stats::{DecisionCounters, Stats};
use crate::step::{Answer, Outcome};
use crate::store::{Request, Store};
use crate::time::Nanos;

pub use all::AllDecision;
pub use builder::LimiterBuilder;
pub use tier::TierLimiter;

/// A keyed rate limiter with a bounded number of keys.
///
/// Every verb takes `&self` and any [`AsKey`]; share a limiter by reference or in an `Arc`. All
/// memory is allocated when it is built: no verb allocates, but for a policy that is new with
/// [`try_acquire_with`](Self::try_acquire_with), and none starts a thread or sets a timer.
///
/// Verbs without a time read the clock just before the key's set is locked or while it is, and once
/// more when they had to wait for it, or find there that another call was made later: a thread that
/// waited brings no stale time. (A batch has one time, read before it decides.) Their twins ending in
/// `_at` take the time as an argument.
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
    rows: Rows,
    store: Store,
    /// Limits of the widest policy that a slot has room for.
    max_limits: usize,
    /// Entries that all sliding logs together can hold.
    max_log_entries: usize,
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

    /// A limiter by some rules, with the defaults of [`LimiterBuilder`]. A limit or a policy alone
    /// is the same for every key.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(rules: impl Into<Rules>) -> Result<Self, Error> {
        Self::builder(rules).build()
    }

    /// Begins a limiter by some rules. A limit or a policy alone is the same for every key.
    #[must_use]
    pub fn builder(rules: impl Into<Rules>) -> LimiterBuilder {
        LimiterBuilder::new(rules.into())
    }

    /// The limiter as callers of a tier see it: the same keys and the same states, under the tier's
    /// policy unless the key has an exact override. A tier that the rules do not know falls through
    /// to patterns and default; each such request that would spend is counted
    /// ([`Stats::unknown_tier`]).
    ///
    /// Looks the name up; where that matters, keep what it returns.
    #[must_use]
    pub fn tier(&self, name: &str) -> TierLimiter<'_> {
        TierLimiter::new(self, self.rules.tier(name))
    }

    /// The rules that say which policy a key gets.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Spends one token of the key if every limit admits it.
    #[must_use]
    pub fn allow(&self, key: impl AsKey) -> bool {
        self.decide::<Outcome>(key, 1, false, Tier::NONE, || self.clock.now()).is_allowed()
    }

    /// Spends one token of the key if every limit admits it, and says all about it.
    pub fn try_acquire(&self, key: impl AsKey) -> Decision {
        self.try_acquire_n(key, 1)
    }

    /// Spends `cost` tokens of the key if every limit admits them; otherwise spends nothing. Cost
    /// 0 is a look: always allowed (unless the key is `blocked`), and nothing changes.
    pub fn try_acquire_n(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, false, Tier::NONE, || self.clock.now())
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), at a given time.
    ///
    /// A key's own times may go back as the crate page says. Between keys there is one tie: what
    /// owed nothing, or had expired from a log, at a time that was passed for another key may have
    /// been forgotten, and stays forgotten at earlier times. Pass times that do not go back, and
    /// no key sees another.
    pub fn try_acquire_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, false, Tier::NONE, || now)
    }

    /// What [`try_acquire_n`](Self::try_acquire_n) would answer. Changes nothing.
    #[must_use]
    pub fn peek(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, true, Tier::NONE, || self.clock.now())
    }

    /// As [`peek`](Self::peek), at a given time.
    ///
    /// Where the entries of sliding logs are used up, it looks for expired ones as the call would, and
    /// those that have expired at `now` stay forgotten at earlier times.
    #[must_use]
    pub fn peek_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, true, Tier::NONE, || now)
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
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        self.store.reset(fingerprint, &self.rows)
    }

    /// The policy that a decision of this limiter was made by; `None` when it came with the call
    /// ([`try_acquire_with`](Self::try_acquire_with)).
    #[must_use]
    pub fn policy_of(&self, decision: &Decision) -> Option<&Policy> {
        self.rows.policy(decision.row)
    }

    /// The limit that decided; see [`Decision::limit`]. `None` also when the policy came with the
    /// call.
    #[must_use]
    pub fn limit_of(&self, decision: &Decision) -> Option<&Limit> {
        self.policy_of(decision)?.limits().get(decision.limit()?)
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let figures = self.store.figures();
        let counters = self.store.counters();
        let number = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        let policies = self.rows.fixed().iter().map(|row| row.plan.policy().name());
        let denied_by_policy = policies.chain([Stats::GIVEN]).zip(self.counters.denied_by_row());
        let (given_policies, max_given_policies) = self.rows.given();
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
            max_log_entries: number(self.max_log_entries),
            resolved: self.counters.resolved(),
            unknown_tier: self.counters.unknown_tier(),
            given_policies: number(given_policies),
            max_given_policies: number(max_given_policies),
        }
    }

    /// The primitive: key -> slot or rules -> step -> decision.
    #[inline]
    fn decide<A: Answer>(
        &self,
        key: impl AsKey,
        cost: u64,
        peek: bool,
        tier: Tier,
        now: impl Fn() -> Nanos,
    ) -> A {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        self.decide_by(fingerprint, key, (cost, peek), tier, now)
    }

    /// The same for a key of that fingerprint.
    fn decide_by<A: Answer>(
        &self,
        fingerprint: u64,
        key: impl AsKey,
        (cost, peek): (u64, bool),
        tier: Tier,
        now: impl Fn() -> Nanos,
    ) -> A {
        let wanted = Wanted::ByRules(tier);
        let request = || Request { fingerprint, cost, peek, now: &now, rows: &self.rows, wanted };
        let answer: A = match self.store.known_plain(&request()) {
            Some(answer) => answer,
            None => self.decide_any(&key, tier, &request()),
        };
        if !peek && cost > 0 {
            self.counters.count(answer.is_allowed(), answer.row());
        }
        answer
    }

    /// The same when the short way has no answer.
    #[cold]
    fn decide_any<A: Answer, N: Fn() -> Nanos>(
        &self,
        key: impl AsKey,
        tier: Tier,
        request: &Request<'_, N>,
    ) -> A {
        let known = if self.store.is_plain() { None } else { self.store.known(request) };
        known.unwrap_or_else(|| self.resolve(key, tier, request))
    }

    /// Decides for a key that has no state, or one that was resolved for another tier: the rules say
    /// which policy it gets.
    fn resolve<A: Answer, N: Fn() -> Nanos>(
        &self,
        key: impl AsKey,
        tier: Tier,
        request: &Request<'_, N>,
    ) -> A {
        let row = key.with_key(|key| self.rules.resolve(key, tier));
        self.counters.count_resolved();
        let decision = match self.rows.policy(row).map(Policy::kind) {
            Some(Kind::Limits(_)) => match self.store.newcomer_plain(row, request) {
                Some(answer) => return answer,
                None => self.store.newcomer(row, request),
            },
            Some(Kind::Blocked) => Decision { row, ..Decision::BLOCKED },
            // Rows of the rules are always there.
            Some(Kind::Unlimited) | None => Decision { row, ..Decision::UNLIMITED },
        };
        decision.into()
    }

    fn give_back(&self, key: impl AsKey, tokens: u64, now: impl Fn() -> Nanos) -> u64 {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        let wanted = Wanted::ByRules(Tier::NONE);
        let rows = &self.rows;
        let request = Request { fingerprint, cost: 0, peek: false, now, rows, wanted };
        self.store.refund(tokens, &request)
    }
}

/// Sums figures of policies that have the same name, in the order of the names' first appearance.
fn by_name<'a>(figures: impl Iterator<Item = (&'a str, u64)>) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    let mut places = HashMap::new();
    for (name, figure) in figures.filter(|(_, figure)| *figure > 0) {
        let place = *places.entry(name).or_insert_with(|| {
            sums.push((name.to_owned(), 0));
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
            .field("rules", &self.rules)
            .field("clock", &self.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

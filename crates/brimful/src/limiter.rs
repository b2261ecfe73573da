//! The one type that users hold: short verbs over one private primitive.

mod all;
mod builder;
mod given;
mod many;
#[cfg(brimful_model)]
mod model;
mod reserve;
mod rules;
mod tier;
mod wait;

use std::fmt;
use std::sync::Arc;

use crate::clock::Source;
use crate::decision::{Decision, Origin};
use crate::error::Error;
use crate::hash::Secret;
use crate::key::AsKey;
use crate::limit::Limit;
use crate::policy::Policy;
use crate::rows::{self, Caller, Row, Rows, Tier, Wanted};
use crate::rules::Rules;
use crate::stats::{DecisionCounters, Stats};
use crate::step::{Answer, Outcome};
use crate::store::{Aim, Request, Store, Wakes};
use crate::sync::{self, Mutex, RwLock};
use crate::time::Nanos;
use rules::Replacing;

pub use all::AllDecision;
pub use builder::LimiterBuilder;
pub use reserve::{Reservation, Settlement};
pub use tier::TierLimiter;
pub use wait::{Progress, Queued, Turn};

/// A keyed rate limiter with a bounded number of keys.
///
/// Every verb takes `&self` and any [`AsKey`]; share a limiter by reference or in an `Arc`. All
/// memory is allocated when it is built: no verb allocates, but for a policy that is new with
/// [`try_acquire_with`](Self::try_acquire_with), for other [rules](Self::set_rules), and for open
/// [reservations](Self::reserve) and those who [wait](Self::enqueue). None starts a thread or sets a timer.
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
    rules: RwLock<InForce>,
    /// Held while the rules are replaced.
    replacing: Mutex<Replacing>,
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

/// The rules that are in force.
struct InForce {
    rules: Arc<Rules>,
    /// As [`Rows::generation`].
    generation: u64,
    /// The side of their rows.
    side: usize,
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
    /// Looks the name up; where that matters, keep what it returns. Once rules were
    /// [replaced](Self::set_rules), what was kept looks it up with each call; make another then.
    #[must_use]
    pub fn tier<'a>(&'a self, name: &'a str) -> TierLimiter<'a> {
        TierLimiter::new(self, name)
    }

    /// The rules that say which policy a key gets.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        sync::read(&self.rules).rules.clone()
    }

    /// Spends one token of the key if every limit admits it.
    #[must_use]
    pub fn allow(&self, key: impl AsKey) -> bool {
        self.decide::<Outcome>(key, 1, false, self.anybody(), || self.clock.now()).is_allowed()
    }

    /// Spends one token of the key if every limit admits it, and says all about it.
    pub fn try_acquire(&self, key: impl AsKey) -> Decision {
        self.try_acquire_n(key, 1)
    }

    /// Spends `cost` tokens of the key if every limit admits them; otherwise spends nothing. Cost
    /// 0 is a look: always allowed (unless the key is `blocked`), and nothing changes.
    pub fn try_acquire_n(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, false, self.anybody(), || self.clock.now())
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), at a given time.
    ///
    /// A key's own times may go back as the crate page says. Between keys there is one tie: what
    /// owed nothing, or had expired from a log, at a time that was passed for another key may have
    /// been forgotten, and stays forgotten at earlier times. Pass times that do not go back, and
    /// no key sees another.
    pub fn try_acquire_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, false, self.anybody(), || now)
    }

    /// What [`try_acquire_n`](Self::try_acquire_n) would answer. Changes nothing.
    #[must_use]
    pub fn peek(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, true, self.anybody(), || self.clock.now())
    }

    /// As [`peek`](Self::peek), at a given time.
    ///
    /// Where the entries of sliding logs are used up, it looks for expired ones as the call would, and
    /// those that have expired at `now` stay forgotten at earlier times.
    #[must_use]
    pub fn peek_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, true, self.anybody(), || now)
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
        self.store.reset(&self.look_at(fingerprint, || self.clock.now()))
    }

    /// The policy that a decision of this limiter was made by; `None` when it came with the call
    /// ([`try_acquire_with`](Self::try_acquire_with)), or when its rules were replaced since.
    #[must_use]
    pub fn policy_of(&self, decision: &Decision) -> Option<Arc<Policy>> {
        self.row_of(decision, |row| row.plan.policy().clone())
    }

    /// The policy [on trial](Policy::shadow) beside it.
    #[must_use]
    pub fn shadow_of(&self, decision: &Decision) -> Option<Arc<Policy>> {
        self.row_of(decision, |row| row.plan.shadow().cloned())?
    }

    /// The limit that decided; see [`Decision::limit`]. `None` also when there is no
    /// [`policy_of`](Self::policy_of) the decision.
    #[must_use]
    pub fn limit_of(&self, decision: &Decision) -> Option<Limit> {
        self.policy_of(decision)?.limits().get(decision.limit()?).cloned()
    }

    fn row_of<T>(&self, decision: &Decision, of: impl FnOnce(&Row) -> T) -> Option<T> {
        let is_by_rules = decision.origin.generation > 0;
        let rows = self.rows.hold();
        let row = rows.get(decision.origin.row).filter(|_| is_by_rules)?;
        (row.plan.origin == decision.origin).then(|| of(row))
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let figures = self.store.figures();
        let counters = self.store.counters();
        let number = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        let (given_policies, max_given_policies) = self.rows.given();
        let (waiters, reservations) = self.store.beside();
        Stats {
            max_keys: self.max_keys,
            slots: number(figures.slots),
            occupied: counters.occupied.value(),
            bytes: number(figures.bytes),
            admitted: self.counters.admitted(),
            denied: self.counters.denied(),
            denied_by_policy: self.counters.denied_by_policy(),
            would_deny_by_policy: self.counters.would_deny_by_policy(),
            generation: self.rows.generation(),
            retired_policies: number(self.rows.retired()),
            evicted_lossless: counters.evicted_lossless.value(),
            evicted_forced: counters.evicted_forced.value(),
            forgiven_tokens: counters.forgiven.value(),
            store_full: counters.refused.value(),
            shared: counters.shared.value(),
            left_shared: counters.left_shared.value(),
            waiters,
            reservations,
            log_entries: number(figures.log_entries),
            max_log_entries: number(self.max_log_entries),
            resolved: self.counters.resolved(),
            unknown_tier: self.counters.unknown_tier(),
            given_policies: number(given_policies),
            max_given_policies: number(max_given_policies),
        }
    }

    /// Callers who name no tier.
    #[inline]
    fn anybody(&self) -> Caller {
        let (tier, named) = (Tier::NONE, Tier::NONE);
        Caller { tier, named, generation: self.rows.generation() }
    }

    /// The primitive: key -> slot or rules -> step -> decision.
    #[inline]
    fn decide<A: Answer>(
        &self,
        key: impl AsKey,
        cost: u64,
        peek: bool,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> A {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        self.decide_by(fingerprint, key, (cost, peek), caller, now)
    }

    /// The same for a key of that fingerprint.
    fn decide_by<A: Answer>(
        &self,
        fingerprint: u64,
        key: impl AsKey,
        (cost, peek): (u64, bool),
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> A {
        let wanted = Wanted::ByRules(caller);
        let aim = Aim::Charge;
        let request =
            || Request { fingerprint, cost, peek, now: &now, rows: &self.rows, wanted, aim };
        let answer: A = match self.store.known_plain(&request()) {
            Some(answer) => answer,
            None => self.decide_any(&key, caller.named, &request()),
        };
        if !peek && cost > 0 {
            self.count(&answer);
        }
        answer
    }

    /// The same when the short way has no answer.
    #[cold]
    fn decide_any<A: Answer, N: Fn() -> Nanos>(
        &self,
        key: impl AsKey,
        named: Tier,
        request: &Request<'_, N>,
    ) -> A {
        let is_tried = self.store.is_plain()
            && self.rows.are_briefed()
            && self.rows.are_fixed()
            && !self.store.has_beside();
        let known = if is_tried { None } else { self.store.known(request) };
        known.unwrap_or_else(|| self.resolve(key, named, request))
    }

    /// Decides for a key that has no state, or one that was resolved by other rules or for another tier:
    /// the rules say which policy it gets. They are not replaced before the key's slot has its row.
    fn resolve<A: Answer, N: Fn() -> Nanos>(
        &self,
        key: impl AsKey,
        named: Tier,
        request: &Request<'_, N>,
    ) -> A {
        // Dropped when the rules are not held any more.
        let mut wakes;
        let in_force = sync::read(&self.rules);
        let place = key.with_key(|key| in_force.rules.resolve(key, named));
        self.counters.count_resolved();
        let row = rows::number(in_force.side, place);
        if !in_force.has_limits(place) {
            return self.fixed(row).into();
        }
        let wanted = Wanted::ByRules(in_force.caller(named));
        let Request { fingerprint, cost, peek, ref now, rows, aim, .. } = *request;
        let request = Request { fingerprint, cost, peek, now, rows, wanted, aim };
        match self.store.newcomer_plain(row, &request) {
            Some(answer) => answer,
            None => {
                wakes = Wakes::default();
                self.store.newcomer(row, &request, &mut wakes).into()
            }
        }
    }

    /// What every request is told under a row of the rules in force that has no limits.
    #[cold]
    fn fixed(&self, row: u32) -> Decision {
        let rows = self.rows.hold();
        rows.plan(row).and_then(|plan| plan.fixed()).unwrap_or(Decision::UNLIMITED)
    }

    /// Counts a decision about a cost above 0.
    #[inline]
    fn count<A: Answer>(&self, answer: &A) {
        let origin = answer.origin();
        self.counters.count(answer.is_allowed(), origin.label);
        if answer.would_deny() {
            self.count_would_deny(origin);
        }
    }

    #[cold]
    fn count_would_deny(&self, origin: Origin) {
        let rows = self.rows.hold();
        let row = rows.get(origin.row).filter(|row| row.plan.origin == origin);
        // (Rules that were replaced since have no rows any more.)
        let label = row.map_or_else(|| self.counters.label(Stats::OTHERS), |row| row.shadow_label);
        self.counters.count_would_deny(label);
    }

    fn give_back(&self, key: impl AsKey, tokens: u64, now: impl Fn() -> Nanos) -> u64 {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        self.store.refund(tokens, &self.look_at(fingerprint, now))
    }

    /// A request that charges nothing by itself.
    fn look_at<N: Fn() -> Nanos>(&self, fingerprint: u64, now: N) -> Request<'_, N> {
        let (rows, wanted) = (&self.rows, Wanted::ByRules(self.anybody()));
        Request { fingerprint, cost: 0, peek: false, now, rows, wanted, aim: Aim::Charge }
    }

    /// Decides for a key with another aim than to charge it: the long way.
    fn decide_aim(
        &self,
        (fingerprint, key): (u64, impl AsKey),
        cost: u64,
        aim: Aim<'_>,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Decision {
        let (rows, wanted) = (&self.rows, Wanted::ByRules(caller));
        let request = Request { fingerprint, cost, peek: false, now: &now, rows, wanted, aim };
        let known = self.store.known(&request);
        known.unwrap_or_else(|| self.resolve(key, caller.named, &request))
    }

    /// Callers who name that tier, as the rules in force see them.
    fn caller(&self, named: Tier) -> Caller {
        sync::read(&self.rules).caller(named)
    }
}

impl InForce {
    /// Whether there is anything to remember for the keys of a row.
    fn has_limits(&self, place: u32) -> bool {
        let row = usize::try_from(place).ok().and_then(|place| self.rules.rows().get(place));
        row.is_some_and(|row| row.plan.width() > 0)
    }

    /// A caller who names that tier, as these rules see it.
    fn caller(&self, named: Tier) -> Caller {
        let tier = if self.rules.knows(named) { named } else { Tier::NONE };
        Caller { tier, named, generation: self.generation }
    }
}

impl fmt::Debug for Limiter {
    /// The settings and the counters; no key, and not the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("rules", &self.rules())
            .field("clock", &self.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

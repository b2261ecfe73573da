//! A limiter as the callers of one tier see it.

use std::sync::Arc;
use std::time::Duration;

use super::{AllDecision, Limiter, Queued, Reservation};
use crate::decision::Decision;
use crate::error::Error;
use crate::key::AsKey;
use crate::rows::{Caller, Tier};
use crate::step::{Answer, Outcome};
use crate::sync;
use crate::time::Nanos;

/// A limiter as the callers of one tier see it: the verbs of [`Limiter`] that decide, by the tier's
/// policy.
///
/// The key is the same with and without a tier, and so is what it has spent. When a key is seen
/// under another tier than before, it is resolved again, and what it owes goes along:
///
/// * Each limit of the new policy goes on from one of the old: of the same name, else of the same
///   period, else from one of those left, the longest periods first.
/// * It keeps the fraction of the capacity that is owed, rounded up. But fixed windows, logs and
///   counters keep what their like have counted: those of one width as it is, others as spent now.
/// * A limit for which none is left starts full; an old one that is left over is forgotten.
///
/// So a raised limit locks nobody out and a lowered one hands nothing out, and as long as each limit
/// has a counterpart, changing to and fro between two policies gains nothing at any one time.
/// Between calls a key refills by the limits under which it was last asked. Limits of different
/// algorithms keep different things, so with each change between such what is spent is dated anew:
/// a key that is asked under both in turn can wait longer than under either.
///
/// A denied call is resolved too, so that its hint holds; a peek and a cost of 0 change nothing. (Where
/// the entries for a log that would begin are used up, a call that its limits deny takes none from others:
/// it is told that there is no place, and the key stays under its old limits.)
///
/// ```
/// use brimful::{Limit, Limiter, Nanos, Rules};
///
/// let rules = Rules::builder()
///     .default(Limit::per_minute(10)?)
///     .tier("gold", Limit::per_minute(100)?)
///     .build()?;
/// let limiter = Limiter::new(rules)?;
/// let gold = limiter.tier("gold");
///
/// let now = Nanos::from_secs(1);
/// assert_eq!(limiter.try_acquire_at("k", 5, now).remaining(), 5); // half of 10
/// assert_eq!(gold.try_acquire_at("k", 20, now).remaining(), 30); // half of 100, and 20 less
/// assert_eq!(limiter.peek_at("k", 0, now).remaining(), 3);
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TierLimiter<'a> {
    limiter: &'a Limiter,
    name: &'a str,
    seen: Seen,
}

/// The tier as the rules of a generation see it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    caller: Caller,
    is_known: bool,
}

impl<'a> TierLimiter<'a> {
    pub(super) fn new(limiter: &'a Limiter, name: &'a str) -> Self {
        Self { limiter, name, seen: Seen::by(limiter, name) }
    }

    /// Whether the rules have this tier.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.seen().is_known
    }

    /// The tier as the rules in force see it. It is looked up once, and again when they were replaced.
    fn seen(&self) -> Seen {
        match self.limiter.rows.generation() == self.seen.caller.generation {
            true => self.seen,
            false => Seen::by(self.limiter, self.name),
        }
    }

    /// As [`Limiter::allow`].
    #[must_use]
    pub fn allow(&self, key: impl AsKey) -> bool {
        self.decide::<Outcome>(key, 1, false, || self.limiter.clock.now()).is_allowed()
    }

    /// As [`Limiter::try_acquire`].
    pub fn try_acquire(&self, key: impl AsKey) -> Decision {
        self.try_acquire_n(key, 1)
    }

    /// As [`Limiter::try_acquire_n`].
    pub fn try_acquire_n(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, false, || self.limiter.clock.now())
    }

    /// As [`Limiter::try_acquire_at`].
    pub fn try_acquire_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, false, || now)
    }

    /// As [`Limiter::peek`].
    #[must_use]
    pub fn peek(&self, key: impl AsKey, cost: u64) -> Decision {
        self.decide(key, cost, true, || self.limiter.clock.now())
    }

    /// As [`Limiter::peek_at`].
    #[must_use]
    pub fn peek_at(&self, key: impl AsKey, cost: u64, now: Nanos) -> Decision {
        self.decide(key, cost, true, || now)
    }

    /// As [`Limiter::reserve`].
    ///
    /// # Errors
    /// As [`Limiter::reserve`].
    pub fn reserve(&self, key: impl AsKey, cost: u64) -> Result<Reservation<'a>, Decision> {
        self.limiter.reserve_for(key, cost, self.caller(cost), || self.limiter.clock.now())
    }

    /// As [`Limiter::reserve_at`].
    ///
    /// # Errors
    /// As [`Limiter::reserve`].
    pub fn reserve_at(
        &self,
        key: impl AsKey,
        cost: u64,
        now: Nanos,
    ) -> Result<Reservation<'a>, Decision> {
        self.limiter.reserve_for(key, cost, self.caller(cost), || now)
    }

    /// As [`Limiter::enqueue`].
    ///
    /// # Errors
    /// As [`Limiter::enqueue`].
    pub fn enqueue(
        &self,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
    ) -> Result<Queued<'a>, Decision> {
        let now = || self.limiter.clock.now();
        self.limiter.enqueue_for(key, (cost, within), self.caller(cost), now)
    }

    /// As [`Limiter::enqueue_at`].
    ///
    /// # Errors
    /// As [`Limiter::enqueue`].
    pub fn enqueue_at(
        &self,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
        now: Nanos,
    ) -> Result<Queued<'a>, Decision> {
        self.limiter.enqueue_for(key, (cost, within), self.caller(cost), || now)
    }

    /// As [`Limiter::try_acquire_all`].
    ///
    /// # Errors
    /// As [`Limiter::try_acquire_all`].
    pub fn try_acquire_all<K: AsKey>(&self, keys: &[K]) -> Result<AllDecision, Error> {
        self.decide_all(keys.iter().map(|key| (key, 1)), || self.limiter.clock.now())
    }

    /// As [`Limiter::try_acquire_all_n`].
    ///
    /// # Errors
    /// As [`Limiter::try_acquire_all`].
    pub fn try_acquire_all_n<K: AsKey>(&self, charges: &[(K, u64)]) -> Result<AllDecision, Error> {
        let charges = charges.iter().map(|(key, cost)| (key, *cost));
        self.decide_all(charges, || self.limiter.clock.now())
    }

    /// As [`Limiter::try_acquire_all_at`].
    ///
    /// # Errors
    /// As [`Limiter::try_acquire_all`].
    pub fn try_acquire_all_at<K: AsKey>(
        &self,
        charges: &[(K, u64)],
        now: Nanos,
    ) -> Result<AllDecision, Error> {
        self.decide_all(charges.iter().map(|(key, cost)| (key, *cost)), || now)
    }

    fn decide_all<'k, K: AsKey + 'k>(
        &self,
        keys: impl ExactSizeIterator<Item = (&'k K, u64)> + Clone,
        now: impl Fn() -> Nanos,
    ) -> Result<AllDecision, Error> {
        let is_charged = keys.clone().any(|(_, cost)| cost > 0);
        let seen = self.seen();
        let decision = self.limiter.decide_all(keys, seen.caller, now)?;
        if !seen.is_known && is_charged {
            self.limiter.counters.count_unknown_tier();
        }
        Ok(decision)
    }

    fn decide<A: Answer>(
        &self,
        key: impl AsKey,
        cost: u64,
        peek: bool,
        now: impl Fn() -> Nanos,
    ) -> A {
        let caller = self.caller(if peek { 0 } else { cost });
        self.limiter.decide(key, cost, peek, caller, now)
    }

    /// Who calls, counted when the rules do not know the tier and something is to be charged.
    fn caller(&self, cost: u64) -> Caller {
        let seen = self.seen();
        if !seen.is_known && cost > 0 {
            self.limiter.counters.count_unknown_tier();
        }
        seen.caller
    }
}

/// What outlives the call cannot borrow the name of its tier, as a [`TierLimiter`] does.
impl Limiter {
    /// As [`TierLimiter::reserve`] of [`tier(name)`](Self::tier), for a reservation that goes elsewhere, such as
    /// into a task or the body of a response. It keeps the limiter, and not the name.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Rules};
    /// use std::sync::Arc;
    ///
    /// let rules = Rules::builder()
    ///     .default(Limit::per_day(1_000)?)
    ///     .tier("paid", Limit::per_day(100_000)?)
    ///     .build()?;
    /// let limiter = Arc::new(Limiter::new(rules)?);
    /// let answer = limiter.reserve_owned_in("paid", "ann", 20_000).expect("100,000 are there");
    /// let body = std::thread::spawn(move || answer.commit(1_200).given_back());
    /// assert_eq!(body.join().expect("it ended"), 18_800);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn reserve_owned_in(
        self: &Arc<Self>,
        tier: &str,
        key: impl AsKey,
        cost: u64,
    ) -> Result<Reservation<'static>, Decision> {
        self.reserve_owned_for(key, cost, self.tier(tier).caller(cost))
    }

    /// As [`TierLimiter::enqueue`] of [`tier(name)`](Self::tier), for a turn that goes elsewhere, such as into a
    /// task. It keeps neither the limiter (when that is dropped, waiting ends) nor the name.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Queued, Rules};
    /// use std::sync::Arc;
    ///
    /// let rules = Rules::builder()
    ///     .default(Limit::per_hour(1)?)
    ///     .tier("paid", Limit::per_hour(2)?)
    ///     .build()?;
    /// let limiter = Arc::new(Limiter::new(rules)?);
    /// assert!(limiter.allow("ann"));
    /// let queued = limiter.enqueue_owned_in("paid", "ann", 1, None);
    /// assert!(matches!(queued, Ok(Queued::Waiting(_)))); // all of 1 is spent, so all of 2 is
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn enqueue_owned_in(
        self: &Arc<Self>,
        tier: &str,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
    ) -> Result<Queued<'static>, Decision> {
        self.enqueue_owned_for(key, (cost, within), self.tier(tier).caller(cost))
    }
}

impl Seen {
    #[cold]
    fn by(limiter: &Limiter, name: &str) -> Self {
        let in_force = sync::read(&limiter.rules);
        let tier = in_force.rules.tier(name);
        let named = tier.unwrap_or_else(|| Tier::named(name));
        Self { caller: in_force.caller(named), is_known: tier.is_some() }
    }
}

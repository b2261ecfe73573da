//! Reservations: charged now, settled when it is known what the request cost.

use core::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::Limiter;
use crate::decision::Decision;
use crate::key::{AsKey, OwnedKey};
use crate::rows::{Caller, Tier};
use crate::store::Aim;
use crate::time::Nanos;

/// Tokens that are charged, and not yet known to be spent.
///
/// [`commit`](Self::commit) says what the request really cost; [`cancel`](Self::cancel), and dropping it, that it
/// cost nothing. Either leaves **what there would be if that had been charged at the time of the reservation**: what
/// was refilled, or has passed out of its window, since then is not given back once more, and what others
/// were charged meanwhile is not paid with it.
///
/// | algorithm | what comes back of a reservation |
/// |---|---|
/// | token bucket | what is not refilled since, exactly: in the bucket that would have been |
/// | fixed window | all of it while its window lasts, then nothing |
/// | sliding log | its entry, until that is as old as the window |
/// | sliding window counter | from the count of its window, until the end of the window after it |
///
/// What is [refunded](Limiter::refund) while reservations are open comes, in windows and logs, from what none of
/// them holds first, and then from the newest: it is not given back once more.
///
/// Nothing comes back to a key that was [reset](Limiter::reset), or forgotten by a full store
/// ([`Overflow::Evict`](crate::Overflow::Evict)), since the reservation; nor from a state that keys without a slot
/// share. When limits change ([`Limiter::set_rules`], tiers), those that are as before keep it, buckets scale it
/// with what they owe, and others keep what was charged.
///
/// While a key has open reservations, calls for it take a longer way. They are bounded
/// ([`LimiterBuilder::max_reservations`](crate::LimiterBuilder::max_reservations)).
///
/// ```
/// use brimful::{Limit, Limiter, Nanos};
///
/// let limiter = Limiter::per_minute(1_000)?;
/// let now = Nanos::from_secs(1);
/// let reserved = limiter.reserve_at("tenant", 600, now).expect("600 of 1,000 are there");
/// assert_eq!(limiter.peek_at("tenant", 0, now).remaining(), 400);
///
/// // It cost 150.
/// assert_eq!(reserved.commit_at(150, now).given_back(), 450);
/// assert_eq!(limiter.peek_at("tenant", 0, now).remaining(), 850);
/// # Ok::<(), brimful::Error>(())
/// ```
#[must_use = "dropping it gives the tokens back"]
pub struct Reservation<'a> {
    limiter: Holder<'a>,
    fingerprint: u64,
    /// `None` when there is nothing to give back.
    id: Option<u64>,
    key: OwnedKey,
    tier: Tier,
    cost: u64,
    decision: Decision,
    is_settled: bool,
}

/// The limiter of a reservation.
enum Holder<'a> {
    Borrowed(&'a Limiter),
    Shared(Arc<Limiter>),
}

impl Deref for Holder<'_> {
    type Target = Limiter;

    fn deref(&self) -> &Limiter {
        match self {
            Self::Borrowed(limiter) => limiter,
            Self::Shared(limiter) => limiter,
        }
    }
}

/// What became of a reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    given_back: u64,
    shortfall: u64,
}

impl Settlement {
    /// Tokens that found something to pay, as [`Limiter::refund`] counts them.
    #[must_use]
    pub const fn given_back(&self) -> u64 {
        self.given_back
    }

    /// Tokens of the cost beyond the reserved one that were not left. Debt is not carried: they are not charged
    /// later.
    #[must_use]
    pub const fn shortfall(&self) -> u64 {
        self.shortfall
    }
}

impl Limiter {
    /// Spends `cost` tokens of the key if every limit admits them, until it is known what the request really
    /// costs: for language models, for bytes, for logins that only count when they fail.
    ///
    /// A cost of 0 reserves nothing, and is charged when it is committed.
    ///
    /// # Errors
    /// The denial, when a limit refuses, or as many reservations are open as there may be
    /// ([`Denial::StoreFull`](crate::Denial::StoreFull)).
    ///
    /// ```
    /// use brimful::Limiter;
    ///
    /// let failures = Limiter::per_hour(5)?;
    /// let password_is_right = true;
    /// match failures.reserve("ann", 1) {
    ///     Err(denied) => println!("try again in {:?}", denied.retry_after()),
    ///     Ok(attempt) if password_is_right => {
    ///         attempt.cancel();
    ///     }
    ///     Ok(attempt) => {
    ///         attempt.commit(1);
    ///     }
    /// }
    /// assert_eq!(failures.peek("ann", 0).remaining(), 5);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn reserve(&self, key: impl AsKey, cost: u64) -> Result<Reservation<'_>, Decision> {
        let limiter = Holder::Borrowed(self);
        Reservation::new(limiter, key, cost, self.anybody(), || self.clock.now())
    }

    /// As [`reserve`](Self::reserve), at a given time. (Dropping it reads the clock.)
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_at(
        &self,
        key: impl AsKey,
        cost: u64,
        now: Nanos,
    ) -> Result<Reservation<'_>, Decision> {
        Reservation::new(Holder::Borrowed(self), key, cost, self.anybody(), || now)
    }

    /// As [`reserve`](Self::reserve), for a reservation that goes elsewhere, such as into a task. It keeps the
    /// limiter.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_owned(
        self: &Arc<Self>,
        key: impl AsKey,
        cost: u64,
    ) -> Result<Reservation<'static>, Decision> {
        self.reserve_owned_for(key, cost, self.anybody())
    }

    pub(super) fn reserve_owned_for(
        self: &Arc<Self>,
        key: impl AsKey,
        cost: u64,
        caller: Caller,
    ) -> Result<Reservation<'static>, Decision> {
        Reservation::new(Holder::Shared(self.clone()), key, cost, caller, || self.clock.now())
    }

    pub(super) fn reserve_for<'a>(
        &'a self,
        key: impl AsKey,
        cost: u64,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Result<Reservation<'a>, Decision> {
        Reservation::new(Holder::Borrowed(self), key, cost, caller, now)
    }
}

impl<'a> Reservation<'a> {
    fn new(
        limiter: Holder<'a>,
        key: impl AsKey,
        cost: u64,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Result<Self, Decision> {
        let fingerprint = key.with_key(|key| limiter.secret.fingerprint(key));
        let id = Cell::new(None);
        let decision =
            limiter.decide_aim((fingerprint, &key), cost, Aim::Reserve(&id), caller, now);
        if cost > 0 {
            limiter.count(&decision);
        }
        if decision.is_denied() {
            return Err(decision);
        }
        let key = key.with_key(OwnedKey::new);
        let (id, tier, is_settled) = (id.get(), caller.named, false);
        Ok(Self { limiter, fingerprint, id, key, tier, cost, decision, is_settled })
    }

    /// The tokens that were reserved.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// What the request was told.
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Leaves `actual` tokens charged, and gives the others back. What it is above the reserved cost is charged
    /// now, as far as tokens are left, also such as others [wait](Limiter::enqueue) for; the rest is the
    /// [`shortfall`](Settlement::shortfall).
    pub fn commit(mut self, actual: u64) -> Settlement {
        self.settle(actual, |limiter| limiter.clock.now())
    }

    /// As [`commit`](Self::commit), and says what the key has left then, as a [`peek`](Limiter::peek) of cost 0 does.
    ///
    /// ```
    /// use brimful::Limiter;
    ///
    /// let limiter = Limiter::per_hour(5)?;
    /// let reservation = limiter.reserve("ann", 3).expect("5 are left");
    /// let (settlement, left) = reservation.commit_and_look(1);
    /// assert_eq!((settlement.given_back(), left.remaining()), (2, 4));
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn commit_and_look(mut self, actual: u64) -> (Settlement, Decision) {
        let settlement = self.settle(actual, |limiter| limiter.clock.now());
        let Self { limiter, fingerprint, key, tier, .. } = &self;
        let mut left = self.decision;
        key.lend(&mut |key| {
            let caller = limiter.caller(*tier);
            left = limiter.decide_by(*fingerprint, key, (0, true), caller, || limiter.clock.now());
        });
        (settlement, left)
    }

    /// As [`commit`](Self::commit), at a given time.
    pub fn commit_at(mut self, actual: u64, now: Nanos) -> Settlement {
        self.settle(actual, |_| now)
    }

    /// Gives all of it back, and says how many tokens found something to pay. Dropping it does the same.
    pub fn cancel(mut self) -> u64 {
        self.settle(0, |limiter| limiter.clock.now()).given_back
    }

    /// As [`cancel`](Self::cancel), at a given time.
    pub fn cancel_at(mut self, now: Nanos) -> u64 {
        self.settle(0, |_| now).given_back
    }

    fn settle(&mut self, actual: u64, now: impl Fn(&Limiter) -> Nanos) -> Settlement {
        let Self { limiter, fingerprint, id, key, tier, cost, .. } = &*self;
        let now = || now(limiter);
        let mut settlement = Settlement::default();
        match (id, actual.checked_sub(*cost)) {
            (Some(id), Some(_)) => limiter.store.keep(*fingerprint, *id),
            (Some(id), None) => {
                let request = limiter.look_at(*fingerprint, now);
                settlement.given_back = limiter.store.settle(*id, actual, &request);
            }
            (None, _) => {}
        }
        if let Some(more) = actual.checked_sub(*cost).filter(|more| *more > 0) {
            let charged = Cell::new(more);
            key.lend(&mut |key| {
                let aim = Aim::UpTo(&charged);
                let caller = limiter.caller(*tier);
                let decision = limiter.decide_aim((*fingerprint, key), more, aim, caller, now);
                if decision.is_denied() {
                    charged.set(0);
                }
            });
            settlement.shortfall = more.saturating_sub(charged.get());
        }
        self.is_settled = true;
        settlement
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.settle(0, |limiter| limiter.clock.now());
        }
    }
}

impl fmt::Debug for Reservation<'_> {
    /// Not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("cost", &self.cost)
            .field("decision", &self.decision)
            .finish_non_exhaustive()
    }
}

//! Several keys in one call, all or nothing.

use std::time::Duration;

use super::{InForce, Limiter};
use crate::decision::{Decision, Retry};
use crate::error::Error;
use crate::key::AsKey;
use crate::rows::{self, Caller, Tier, Wanted};
use crate::store::{Call, Charge, MOST_KEYS, Ruled, Wakes};
use crate::sync;
use crate::time::Nanos;

/// What became of a call that names several keys ([`Limiter::try_acquire_all`]): all were charged,
/// or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllDecision {
    decision: Decision,
    key: Option<usize>,
    remaining: u64,
    reset_after: Duration,
}

impl AllDecision {
    /// Every key admitted the request, and all were charged.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        self.decision.is_allowed()
    }

    /// A key refused the request; none was charged.
    #[must_use]
    pub const fn is_denied(&self) -> bool {
        self.decision.is_denied()
    }

    /// What was said to the key that decided: on a denial that of the refusing keys which has to
    /// wait longest (never is longest), else that of all which has the least remaining; the first
    /// of equals. A key that was named twice has the place of its first mention.
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The place in the call of the key that decided; `None` only when no key was named.
    #[must_use]
    pub const fn key(&self) -> Option<usize> {
        self.key
    }

    /// When the same request may go ahead: the longest over the keys that refused it. It is exact
    /// as [`Decision::retry`] is.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.decision.retry()
    }

    /// The least whole tokens left over all keys: after the charge when allowed, before it on a
    /// denial.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// How long until every limit of every key is as good as new if nothing more is spent.
    #[must_use]
    pub const fn reset_after(&self) -> Duration {
        self.reset_after
    }

    /// From what was said to each key, and its place in the call.
    fn of(decisions: impl Iterator<Item = (usize, Decision)>) -> Self {
        // (A call without keys is admitted by all of them. No row decided.)
        let nothing = Decision::UNLIMITED;
        let (remaining, reset_after) = (nothing.remaining, Duration::ZERO);
        let mut sum = Self { decision: nothing, key: None, remaining, reset_after };
        for (place, decision) in decisions {
            let decides = match (sum.key, patience(&decision), patience(&sum.decision)) {
                (None, ..) => true,
                (_, None, None) => decision.remaining < sum.decision.remaining,
                (_, wait, longest) => wait > longest,
            };
            if decides {
                (sum.decision, sum.key) = (decision, Some(place));
            }
            sum.remaining = sum.remaining.min(decision.remaining);
            sum.reset_after = sum.reset_after.max(decision.reset_after);
        }
        sum
    }
}

/// How long a denied key has to wait, the longest last; `None` when it was allowed.
fn patience(decision: &Decision) -> Option<(bool, Duration)> {
    match decision.retry {
        Retry::Now => None,
        Retry::After(wait) => Some((false, wait)),
        Retry::Never => Some((true, Duration::ZERO)),
    }
}

impl Limiter {
    /// The most keys that one call of [`try_acquire_all`](Self::try_acquire_all) may name.
    pub const MAX_KEYS_AT_ONCE: usize = MOST_KEYS;

    /// Spends one token of each key if every limit of every key admits it; otherwise spends
    /// nothing. For a request that must pass the limits of its user, its tenant and its address.
    ///
    /// No other thread sees some of the keys charged and others not. As long as the store has
    /// places, the request is allowed exactly when a [`peek`](Self::peek) of each key allows it,
    /// and leaves what a call for each would. A key that is named several times is charged the sum.
    /// Keys of different types are named as [`Key`](crate::Key)s. A call may name up to
    /// [`MAX_KEYS_AT_ONCE`](Self::MAX_KEYS_AT_ONCE); one that names none is allowed.
    ///
    /// A denial charges no key, takes no slot and forgets nobody. (By a clock that was stepped
    /// back, or under a new tier, a key that refuses keeps what its own denial would leave, because
    /// its hint depends on it; the others do not.)
    ///
    /// Slots are looked for only when all limits admit. Where there are too few,
    /// [`Overflow`](crate::Overflow) says what happens, as for single keys:
    ///
    /// * Nobody whom the call charges is forgotten for another key of the call.
    /// * A refusal of one key is a denial of all.
    /// * Keys that share a state are charged there with their sum. When that is more than the state can
    ///   ever hold, the denial is for good, although slots of their own may be free later.
    ///
    /// With fewer slots in reach than keys, and no state to share, the call is denied for good
    /// ([`Retry::Never`]). When log entries are used up, it is denied by every overflow policy:
    /// nobody is forgotten for entries.
    ///
    /// # Errors
    /// Too many keys. Nothing was charged then.
    ///
    /// ```
    /// use brimful::{Key, Limit, Limiter, Nanos, Rules};
    ///
    /// let rules = Rules::builder()
    ///     .default(Limit::per_minute(100)?)
    ///     .pattern("user:*", Limit::per_minute(2)?)
    ///     .build()?;
    /// let limiter = Limiter::new(rules)?;
    /// let user = [Key::Text("user"), Key::Text("ann")];
    /// let keys = [Key::Parts(&user), Key::Unsigned(7), Key::Text("192.0.2.1")];
    /// assert!(limiter.try_acquire_all(&keys)?.is_allowed());
    /// assert!(limiter.try_acquire_all(&keys)?.is_allowed());
    ///
    /// let denied = limiter.try_acquire_all(&keys)?;
    /// assert!(denied.is_denied());
    /// assert_eq!(denied.key(), Some(0)); // the user's limit
    /// assert_eq!(limiter.peek(7_u64, 0).remaining(), 98); // the tenant was not charged again
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn try_acquire_all<K: AsKey>(&self, keys: &[K]) -> Result<AllDecision, Error> {
        self.decide_all(keys.iter().map(|key| (key, 1)), self.anybody(), || self.clock.now())
    }

    /// As [`try_acquire_all`](Self::try_acquire_all), with a cost for each key. A key that costs 0 is
    /// looked at: it refuses only when it is `blocked`.
    ///
    /// # Errors
    /// As [`try_acquire_all`](Self::try_acquire_all).
    pub fn try_acquire_all_n<K: AsKey>(&self, charges: &[(K, u64)]) -> Result<AllDecision, Error> {
        let charges = charges.iter().map(|(key, cost)| (key, *cost));
        self.decide_all(charges, self.anybody(), || self.clock.now())
    }

    /// As [`try_acquire_all_n`](Self::try_acquire_all_n), at a given time.
    ///
    /// # Errors
    /// As [`try_acquire_all`](Self::try_acquire_all).
    ///
    /// ```
    /// use brimful::{Limiter, Nanos};
    ///
    /// let limiter = Limiter::per_second(10)?;
    /// let now = Nanos::from_secs(1);
    /// let decision = limiter.try_acquire_all_at(&[("ann", 4), ("bob", 1), ("ann", 3)], now)?;
    /// assert_eq!((decision.key(), decision.remaining()), (Some(0), 3));
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn try_acquire_all_at<K: AsKey>(
        &self,
        charges: &[(K, u64)],
        now: Nanos,
    ) -> Result<AllDecision, Error> {
        self.decide_all(charges.iter().map(|(key, cost)| (key, *cost)), self.anybody(), || now)
    }

    pub(super) fn decide_all<'k, K: AsKey + 'k>(
        &self,
        keys: impl ExactSizeIterator<Item = (&'k K, u64)> + Clone,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Result<AllDecision, Error> {
        if keys.len() > MOST_KEYS {
            let expected = format!("at most {MOST_KEYS} in one call");
            return Err(Error::range("the number of keys", keys.len(), expected));
        }
        let mut merged = self.merge(keys.clone());
        // Called when the rules are not held any more.
        let mut wakes = Wakes::default();
        let mut call = |merged: &Merged, caller| {
            let charges = merged.charges.get(..merged.known).unwrap_or(&[]);
            let wanted = Wanted::ByRules(caller);
            let call = Call { charges, now: &now, rows: &self.rows, wanted };
            self.store.acquire_all(&call, &mut wakes)
        };
        let decisions = match call(&merged, caller) {
            Ok(decisions) => decisions,
            Err(mut asked) => {
                // The rules are not replaced before what they said is written.
                let in_force = sync::read(&self.rules);
                let named = caller.named;
                let caller = in_force.caller(named);
                loop {
                    // Each round asks for at least one key more, so that there are few.
                    for (place, _) in asked.iter().enumerate().filter(|(_, asked)| **asked) {
                        self.ask(&mut merged, place, keys.clone(), (&in_force, named));
                    }
                    match call(&merged, caller) {
                        Ok(decisions) => break decisions,
                        Err(more) => asked = more,
                    }
                }
            }
        };
        let Merged { charges, places, known } = merged;
        let sum = AllDecision::of(places.into_iter().zip(decisions).take(known));
        self.count_all(charges.iter().zip(decisions).take(known), &sum);
        Ok(sum)
    }

    /// Sums what each key is charged, in the order of their first mention.
    fn merge<'k, K: AsKey + 'k>(&self, keys: impl Iterator<Item = (&'k K, u64)>) -> Merged {
        const NOTHING: Charge = Charge { fingerprint: 0, cost: 0, ruled: Ruled::Unasked };
        let mut merged = Merged { charges: [NOTHING; MOST_KEYS], places: [0; MOST_KEYS], known: 0 };
        let Merged { charges, places, known } = &mut merged;
        for (place, (key, cost)) in keys.enumerate() {
            let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
            let mut mentioned = charges.iter_mut().take(*known);
            if let Some(charge) = mentioned.find(|charge| charge.fingerprint == fingerprint) {
                charge.cost = charge.cost.saturating_add(cost);
            } else if let Some((charge, first)) =
                charges.get_mut(*known).zip(places.get_mut(*known))
            {
                *charge = Charge { fingerprint, cost, ..NOTHING };
                *first = place;
                *known += 1;
            }
        }
        merged
    }

    /// Asks the rules which policy the key at `number` gets. (Not with its sets locked: a key is
    /// told by code of its own type.)
    fn ask<'k, K: AsKey + 'k>(
        &self,
        merged: &mut Merged,
        number: usize,
        mut keys: impl Iterator<Item = (&'k K, u64)>,
        (in_force, named): (&InForce, Tier),
    ) {
        let Merged { charges, places, .. } = merged;
        let Some((charge, place)) = charges.get_mut(number).zip(places.get(number)) else { return };
        let Some((key, _)) = keys.nth(*place) else { return };
        let index = key.with_key(|key| in_force.rules.resolve(key, named));
        self.counters.count_resolved();
        let row = rows::number(in_force.side, index);
        charge.ruled = match in_force.has_limits(index) {
            true => Ruled::Row(row),
            false => Ruled::NoLimits(self.fixed(row)),
        };
    }

    /// Counts what each key was charged; a denial once, for the key that decided.
    fn count_all<'c>(
        &self,
        charges: impl Iterator<Item = (&'c Charge, Decision)> + Clone,
        sum: &AllDecision,
    ) {
        let mut charged = charges.filter(|(charge, _)| charge.cost > 0);
        if sum.is_allowed() {
            charged.for_each(|(_, decision)| self.count(&decision));
        } else if charged.next().is_some() {
            self.count(&sum.decision);
        }
    }
}

/// The different keys of a call, in the order of their first mention.
struct Merged {
    charges: [Charge; MOST_KEYS],
    /// The places in the call of their first mention.
    places: [usize; MOST_KEYS],
    /// How many there are.
    known: usize,
}

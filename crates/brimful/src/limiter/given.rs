//! Limits that come with the call.

use super::Limiter;
use crate::decision::Decision;
use crate::error::Error;
use crate::key::AsKey;
use crate::policy::Policy;
use crate::rows::Wanted;
use crate::step::Plan;
use crate::store::{Aim, Request, Wakes};
use crate::time::Nanos;

impl Limiter {
    /// As [`try_acquire_at`](Self::try_acquire_at), by a policy that comes with the call instead of
    /// the rules: for protocols whose clients bring their own limits.
    ///
    /// Policies are interned by content in a table of bounded size
    /// ([`LimiterBuilder::max_given`](crate::LimiterBuilder::max_given)). A place there is in use as
    /// long as any slot holds a key of its policy, and slots whose keys owe nothing any more are
    /// looked for: by each new policy while more than half of the places are in use, and in up to 1,024
    /// sets by a call that finds none, which is refused only if that does not help. When a key comes with another policy
    /// than before, or without one, what it has spent goes along, as for
    /// [`TierLimiter`](crate::TierLimiter).
    ///
    /// # Errors
    /// All places are in use, the policy has more limits than the widest that the limiter was built for
    /// ([`LimiterBuilder::max_limits`](crate::LimiterBuilder::max_limits)), or a sliding log and the
    /// limiter has no entries for one
    /// ([`LimiterBuilder::max_log_entries`](crate::LimiterBuilder::max_log_entries)). Nothing was
    /// charged then.
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Nanos, Policy};
    ///
    /// let limiter = Limiter::per_second(10)?;
    /// let theirs = Policy::from(Limit::per_minute(2)?);
    /// let now = Nanos::from_secs(1);
    /// assert_eq!(limiter.try_acquire_with("k", &theirs, 1, now)?.remaining(), 1);
    /// assert!(limiter.try_acquire_with("k", &theirs, 3, now)?.is_never());
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn try_acquire_with(
        &self,
        key: impl AsKey,
        policy: &Policy,
        cost: u64,
        now: Nanos,
    ) -> Result<Decision, Error> {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        let decision = self.decide_with(fingerprint, policy, cost, now)?;
        if cost > 0 {
            self.count(&decision);
        }
        Ok(decision)
    }

    fn decide_with(
        &self,
        fingerprint: u64,
        policy: &Policy,
        cost: u64,
        now: Nanos,
    ) -> Result<Decision, Error> {
        if policy.limits().is_empty() {
            return Ok(Plan::alone(policy).fixed().unwrap_or(Decision::UNLIMITED));
        }
        if !self.rows.knows(policy) {
            self.has_room_for(&Plan::alone(policy))?;
        }
        let given = match self.rows.give(policy) {
            Ok(given) => given,
            Err(_) => {
                self.store.tidy_rows(&self.rows, now, true);
                self.rows.give(policy)?
            }
        };
        if given.is_new && self.rows.is_half_given() {
            self.store.tidy_rows(&self.rows, now, false);
        }
        let (row, rows) = (given.row, &self.rows);
        let wanted = Wanted::Given(row);
        let aim = Aim::Charge;
        let request = Request { fingerprint, cost, peek: false, now: || now, rows, wanted, aim };
        let known = self.store.known(&request);
        Ok(known.unwrap_or_else(|| self.store.newcomer(row, &request, &mut Wakes::default())))
    }

    /// Whether the slots and the arena were built for so many limits, and logs among them.
    pub(super) fn has_room_for(&self, plan: &Plan) -> Result<(), Error> {
        let (limits, logs) = (plan.width(), plan.logs());
        if limits > self.max_limits {
            let expected = format!(
                "at most {}, the widest that the limiter was built for (`max_limits`)",
                self.max_limits
            );
            return Err(Error::range("the number of limits", limits, expected));
        }
        let entries = self.max_log_entries;
        if logs > entries {
            let expected = format!("at least {logs}, one for each sliding log of the policy");
            return Err(Error::range("max_log_entries", entries, expected));
        }
        Ok(())
    }
}

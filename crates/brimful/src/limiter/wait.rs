//! Waiting: a place in the queue of a key, for whoever can be woken.

use core::cell::Cell;
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use super::Limiter;
use crate::decision::{Decision, Denial, Origin};
use crate::key::{AsKey, OwnedKey};
use crate::rows::{Caller, Tier, Wanted};
use crate::store::{self, Aim, Asking, Request, Wait};
use crate::time::Nanos;

/// What came of a call that wants to wait.
#[derive(Debug)]
pub enum Queued<'a> {
    /// It need not: its cost is charged.
    Granted(Decision),
    /// It waits.
    Waiting(Turn<'a>),
}

/// How it stands with one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its cost is charged: it may go ahead.
    Granted(Decision),
    /// It waits no longer, and nothing is charged: the time that it was given, or the clock, or its limits, have
    /// changed so that it would be too late, or its cost can never be admitted; or it is due, and there are no log
    /// entries for it ([`Denial::StoreFull`](crate::Denial::StoreFull): nobody's are taken for it); or waiting has
    /// [ended](Limiter::close).
    Refused(Decision),
    /// It waits on. It is to ask again after this long, unless its waker is called before. At least 1 ns.
    Waiting(Duration),
}

/// A place in the queue of a key. Dropping it gives up the place, and, if it was granted and did not hear of it
/// yet, its tokens; those behind it move up.
///
/// When the rules are [replaced](Limiter::set_rules), all who wait are woken, and are judged by the new ones when they
/// ask (after [`set_rules_for_new_keys`](Limiter::set_rules_for_new_keys) they go on as before).
///
/// A queue is a list, and nothing that runs: whoever asks for the key, for whatever reason, grants those who
/// are due first. One who waits asks by itself when it is due, as [`poll`](Self::poll) says, and has its waker called
/// when it was granted before. This is what runtimes are built on (crate `brimful-wait`); it knows none.
///
/// ```
/// use brimful::{Limiter, Nanos, Progress, Queued};
/// use std::task::Waker;
/// use std::time::Duration;
///
/// let limiter = Limiter::per_second(1)?;
/// let now = Nanos::from_secs(100);
/// assert!(limiter.try_acquire_at("k", 1, now).is_allowed());
///
/// let Ok(Queued::Waiting(mut turn)) = limiter.enqueue_at("k", 1, None, now) else { panic!() };
/// let second = Duration::from_secs(1);
/// assert_eq!(turn.poll_at(Waker::noop(), now), Progress::Waiting(second));
/// // Who does not wait is told to come after those who do.
/// assert_eq!(limiter.try_acquire_at("k", 1, now).retry_after(), Some(2 * second));
///
/// assert!(matches!(turn.poll_at(Waker::noop(), now + second), Progress::Granted(_)));
/// # Ok::<(), brimful::Error>(())
/// ```
#[must_use = "dropping it gives up the place"]
pub struct Turn<'a> {
    limiter: Holder<'a>,
    fingerprint: u64,
    id: u64,
    until: Nanos,
    /// When it is to ask, as it was told last.
    due: Nanos,
    /// By what it waits.
    origin: Origin,
    key: OwnedKey,
    tier: Tier,
    /// By which rules its limits are.
    generation: u64,
    /// What became of it.
    end: Option<Progress>,
}

/// How often one who asks begins again because the rules were replaced meanwhile.
const MOST_RULES: usize = 16;

/// The limiter of a turn.
enum Holder<'a> {
    Borrowed(&'a Limiter),
    Shared(Weak<Limiter>),
}

impl Limiter {
    /// Spends `cost` tokens of the key now, or puts the call at the end of the key's queue: those who wait are
    /// granted in the order in which they came, each as soon as its cost is admitted. Until then calls that do
    /// not wait are denied ([`Denial::Queued`](crate::Denial::Queued)), with the hint of a newcomer at the end
    /// of the queue.
    ///
    /// It is refused at once when it is known that it would have to wait longer than `within`, if that is given,
    /// or than [`LimiterBuilder::max_wait`](crate::LimiterBuilder::max_wait).
    ///
    /// Keys without a slot, whose policy's state is shared ([`Overflow::Share`](crate::Overflow::Share)), have no
    /// queue: there it is granted or refused at once.
    ///
    /// # Errors
    /// The refusal: it would have to wait too long, or for ever; the queue is full
    /// ([`Denial::QueueFull`](crate::Denial::QueueFull)); there is no place for the key, or waiting has
    /// [ended](Self::close).
    pub fn enqueue(
        &self,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
    ) -> Result<Queued<'_>, Decision> {
        let call = Call { cost, within, caller: self.anybody() };
        call.enqueue(self, Holder::Borrowed(self), key, || self.clock.now())
    }

    /// As [`enqueue`](Self::enqueue), at a given time. (Dropping a turn reads the clock.)
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_at(
        &self,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
        now: Nanos,
    ) -> Result<Queued<'_>, Decision> {
        let call = Call { cost, within, caller: self.anybody() };
        call.enqueue(self, Holder::Borrowed(self), key, || now)
    }

    /// As [`enqueue`](Self::enqueue), for a turn that goes elsewhere, such as into a task. It does not keep the
    /// limiter: when that is dropped, waiting ends.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_owned(
        self: &Arc<Self>,
        key: impl AsKey,
        cost: u64,
        within: Option<Duration>,
    ) -> Result<Queued<'static>, Decision> {
        self.enqueue_owned_for(key, (cost, within), self.anybody())
    }

    /// Ends all waiting, for good: all who wait are woken and [refused](Progress::Refused) with
    /// [`Denial::Closed`](crate::Denial::Closed), and so is who would have to wait from now on. Calls that do not
    /// wait go on as before. Doing so again does nothing; dropping the limiter does the same.
    pub fn close(&self) {
        self.store.close();
    }

    /// Gives a key for which others wait the limits that the rules in force have for it; what all requests are told,
    /// when there are none.
    fn touch(
        &self,
        (fingerprint, key): (u64, &OwnedKey),
        tier: Tier,
        now: impl Fn() -> Nanos,
    ) -> Option<Decision> {
        let has_limits = Cell::new(false);
        let mut fixed = None;
        key.lend(&mut |key| {
            let aim = Aim::Touch(&has_limits);
            fixed = Some(self.decide_aim((fingerprint, key), 1, aim, self.caller(tier), &now));
        });
        // Without log entries for its new limits it goes on under the old ones.
        fixed.filter(|fixed| !has_limits.get() && fixed.denial != Some(Denial::StoreFull))
    }

    /// The answer of the short way, if it admits.
    fn try_at_once(
        &self,
        fingerprint: u64,
        cost: u64,
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Option<Decision> {
        let (rows, wanted, aim) = (&self.rows, Wanted::ByRules(caller), Aim::Charge);
        let request = Request { fingerprint, cost, peek: false, now, rows, wanted, aim };
        let decision: Decision = self.store.known_plain(&request)?;
        if decision.is_denied() {
            return None;
        }
        if cost > 0 {
            self.count(&decision);
        }
        Some(decision)
    }

    pub(super) fn enqueue_owned_for(
        self: &Arc<Self>,
        key: impl AsKey,
        (cost, within): (u64, Option<Duration>),
        caller: Caller,
    ) -> Result<Queued<'static>, Decision> {
        let holder = Holder::Shared(Arc::downgrade(self));
        Call { cost, within, caller }.enqueue(self, holder, key, || self.clock.now())
    }

    pub(super) fn enqueue_for<'a>(
        &'a self,
        key: impl AsKey,
        (cost, within): (u64, Option<Duration>),
        caller: Caller,
        now: impl Fn() -> Nanos,
    ) -> Result<Queued<'a>, Decision> {
        Call { cost, within, caller }.enqueue(self, Holder::Borrowed(self), key, now)
    }
}

/// A call that wants to wait.
struct Call {
    cost: u64,
    within: Option<Duration>,
    caller: Caller,
}

impl Call {
    fn enqueue<'a>(
        self,
        limiter: &Limiter,
        holder: Holder<'a>,
        key: impl AsKey,
        now: impl Fn() -> Nanos,
    ) -> Result<Queued<'a>, Decision> {
        let Self { cost, within, caller } = self;
        let fingerprint = key.with_key(|key| limiter.secret.fingerprint(key));
        let within = within.map_or(u128::MAX, |within| within.as_nanos());
        if let Some(decision) = limiter.try_at_once(fingerprint, cost, caller, &now) {
            return Ok(Queued::Granted(decision));
        }
        let asked = Cell::new(Nanos::ZERO);
        let wait = Wait { within, place: Cell::new(None) };
        let aim = Aim::Wait(&wait);
        let now = || {
            let now = now();
            asked.set(now);
            now
        };
        let decision = limiter.decide_aim((fingerprint, &key), cost, aim, caller, now);
        if let Some((id, due)) = wait.place.get() {
            let within = Duration::from_nanos(u64::try_from(within).unwrap_or(u64::MAX));
            let until = asked.get() + within;
            return Ok(Queued::Waiting(Turn {
                limiter: holder,
                fingerprint,
                id,
                until,
                due,
                origin: decision.origin,
                key: key.with_key(OwnedKey::new),
                tier: caller.named,
                generation: caller.generation,
                end: None,
            }));
        }
        if cost > 0 {
            limiter.count(&decision);
        }
        match decision.is_allowed() {
            true => Ok(Queued::Granted(decision)),
            false => Err(decision),
        }
    }
}

impl Turn<'_> {
    /// How it stands. While it [waits](Progress::Waiting) it is to be asked again after the time that this says, or
    /// when the waker is called, whichever comes first; who never asks holds up those behind it until somebody
    /// else asks for the key. What became of it is said again and again.
    pub fn poll(&mut self, waker: &Waker) -> Progress {
        self.poll_by(waker, |limiter| limiter.clock.now())
    }

    /// As [`poll`](Self::poll), at a given time.
    pub fn poll_at(&mut self, waker: &Waker, now: Nanos) -> Progress {
        self.poll_by(waker, |_| now)
    }

    /// Gives up the place at a given time. Dropping it does the same, and reads the clock.
    pub fn leave_at(mut self, now: Nanos) {
        self.leave_by(|_| now);
    }

    /// When it was to be granted, as far as was known when it was last asked.
    #[must_use]
    pub const fn due(&self) -> Nanos {
        self.due
    }

    fn poll_by(&mut self, waker: &Waker, now: impl Fn(&Limiter) -> Nanos) -> Progress {
        if let Some(end) = self.end {
            return end;
        }
        let Self { fingerprint, id, until, origin, .. } = *self;
        let Self { key, tier, generation, .. } = self;
        let asked = Cell::new(Nanos::ZERO);
        let progress = self.limiter.with(|limiter| {
            let now = || {
                let now = now(limiter);
                asked.set(now);
                now
            };
            for _ in 0..MOST_RULES {
                let other = limiter.rows.generation();
                let is_anew = std::mem::replace(generation, other) != other;
                if is_anew && let Some(fixed) = limiter.touch((fingerprint, key), *tier, now) {
                    // Its key has no limits any more, or is blocked.
                    limiter.store.leave(id, &limiter.look_at(fingerprint, &now));
                    limiter.count(&fixed);
                    return store::Progress::Told(fixed);
                }
                let request = limiter.look_at(fingerprint, &now);
                match limiter.store.poll(Asking { id, until, is_anew }, waker, &request) {
                    store::Progress::Told(mut decision) => {
                        if decision.denial == Some(Denial::Closed) {
                            decision.origin = origin;
                        }
                        limiter.count(&decision);
                        return store::Progress::Told(decision);
                    }
                    // Who wakes all because rules were replaced may have come by before the waker was there.
                    waits if limiter.rows.generation() == other => return waits,
                    store::Progress::Waits(_) => {}
                }
            }
            // Rules follow each other faster than it can ask.
            store::Progress::Waits(asked.get())
        });
        let end = match progress {
            Some(store::Progress::Waits(due)) => {
                self.due = due;
                let wait = due.since(asked.get());
                return Progress::Waiting(wait.max(Duration::from_nanos(1)));
            }
            Some(store::Progress::Told(decision)) if decision.is_allowed() => {
                Progress::Granted(decision)
            }
            Some(store::Progress::Told(decision)) => Progress::Refused(decision),
            None => Progress::Refused(Decision::CLOSED),
        };
        self.end = Some(end);
        end
    }

    fn leave_by(&mut self, now: impl Fn(&Limiter) -> Nanos) {
        if self.end.is_none() {
            let Self { fingerprint, id, .. } = *self;
            self.limiter.with(|limiter| {
                limiter.store.leave(id, &limiter.look_at(fingerprint, || now(limiter)));
            });
            self.end = Some(Progress::Refused(Decision::CLOSED));
        }
    }
}

impl Holder<'_> {
    /// Does something with the limiter, unless it was dropped.
    fn with<R>(&self, f: impl FnOnce(&Limiter) -> R) -> Option<R> {
        match self {
            Self::Borrowed(limiter) => Some(f(limiter)),
            Self::Shared(limiter) => limiter.upgrade().map(|limiter| f(&limiter)),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.leave_by(|limiter| limiter.clock.now());
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, due, end, .. } = self;
        f.debug_struct("Turn")
            .field("id", id)
            .field("due", due)
            .field("end", end)
            .finish_non_exhaustive()
    }
}

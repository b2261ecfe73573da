//! The way of one request: skip? -> key, tier, cost -> limiter -> let through, or a response in its place.

use std::fmt;
use std::slice;
use std::sync::Arc;
#[cfg(feature = "wait")]
use std::time::Duration;

use brimful::{AllDecision, Decision, Key, Limiter, Policy, Reservation};
#[cfg(feature = "wait")]
use brimful::{Queued, Turn};
use brimful_observe::{Event, Observer, Outcome};
use bytes::Bytes;
use http::{Extensions, Request, Response};

use crate::answer;
use crate::denied::{Cause, Denied};
use crate::head::{Head, ResponseHead};
use crate::key::{Missing, RequestKey};
use crate::told::{Fields, Told, write_retry_after};

pub(crate) type TierOf = Arc<dyn for<'a> Fn(Head<'a>) -> Option<&'a str> + Send + Sync>;
pub(crate) type CostOf = Arc<dyn Fn(Head<'_>) -> u64 + Send + Sync>;
pub(crate) type Skip = Arc<dyn Fn(Head<'_>) -> bool + Send + Sync>;
pub(crate) type Respond = Arc<dyn Fn(&Denied<'_>) -> Response<Bytes> + Send + Sync>;
pub(crate) type ChargeWhen = Arc<dyn Fn(ResponseHead<'_>) -> bool + Send + Sync>;

/// What becomes of a request that has no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// It is not let through: 400 when the client did not say who it is, 500 when the server does not provide it,
    /// such as the address of its peer.
    #[default]
    Deny,
    /// All of them are one client, with one budget: that of the key `()`.
    Shared,
    /// It is let through without a limit.
    Allow,
}

/// What a layer does with requests; shared by all its clones.
pub(crate) struct Gate {
    pub(crate) limiter: Arc<Limiter>,
    /// What observers call the layer.
    pub(crate) name: Box<str>,
    /// At least one; all are charged, or none.
    pub(crate) keys: Box<[Arc<dyn RequestKey>]>,
    pub(crate) tier: Option<TierOf>,
    pub(crate) cost: Option<CostOf>,
    pub(crate) skip: Box<[Skip]>,
    pub(crate) missing_key: MissingKey,
    pub(crate) is_shadow: bool,
    pub(crate) fields: Fields,
    pub(crate) respond: Option<Respond>,
    pub(crate) charge_when: Option<ChargeWhen>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// What becomes of a request.
pub(crate) enum Passage {
    /// It goes on.
    Through(Followup),
    /// It does not.
    Stopped(Response<Bytes>),
}

/// What is still to be done with the response of a request that was let through.
#[derive(Default)]
pub(crate) struct Followup {
    told: Option<Told>,
    reservation: Option<Held>,
    place: Place,
}

/// What becomes of a request that may wait.
#[cfg(feature = "wait")]
pub(crate) enum Line {
    Decided(Passage),
    Waiting(Turn<'static>, Charge),
}

/// What is asked of the limiter while a request waits.
#[cfg(feature = "wait")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    cost: u64,
    place: Place,
}

/// How a layer stands to others around the same request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// There is none around it: it writes what all of them told.
    #[default]
    Outermost,
    /// One is around it.
    Within,
    /// It is around itself: the request was charged already.
    Again,
}

/// Tokens that are spent until the response says whether they are. What is never answered, because the client went
/// away or the service failed, stays spent: nobody gets round a limit by hanging up.
struct Held(Option<Box<Reservation<'static>>>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(reservation) = self.0.take() {
            let cost = reservation.cost();
            (*reservation).commit(cost);
        }
    }
}

/// The layers that a request went through, the last first.
#[derive(Clone)]
struct Passed {
    gate: usize,
    before: Option<Arc<Passed>>,
}

/// What layers further in told of a request, for those around them.
#[derive(Clone, Default)]
pub(crate) struct Deposit {
    told: Vec<Told>,
    /// One of them did not let it through.
    pub(crate) is_denied: bool,
}

impl Gate {
    /// Where the layer stands, and leaves word of it for those within.
    fn enter(self: &Arc<Self>, extensions: &mut Extensions) -> Place {
        // Alive as long as the layer, so no other has it.
        let gate = Arc::as_ptr(self).addr();
        let before = extensions.remove::<Passed>().map(Arc::new);
        let mut next = before.as_ref();
        let mut place = if before.is_some() { Place::Within } else { Place::Outermost };
        while let Some(passed) = next {
            if passed.gate == gate {
                place = Place::Again;
            }
            next = passed.before.as_ref();
        }
        extensions.insert(Passed { gate, before });
        place
    }

    /// Whether the request is none of this layer's business.
    fn skips(&self, head: Head<'_>) -> bool {
        let is_skipped = self.skip.iter().any(|skip| skip(head));
        if is_skipped {
            self.observe(&Event::new(&self.name, "", Outcome::Skipped));
        }
        is_skipped
    }

    /// Decides for a request, and charges it.
    pub(crate) fn judge<B>(self: &Arc<Self>, request: &mut Request<B>) -> Passage {
        let place = self.enter(request.extensions_mut());
        let head = Head::of(request);
        if place == Place::Again || self.skips(head) {
            return Passage::Through(Followup { place, ..Followup::default() });
        }
        match self.with_keys(head, |keys| self.decide(head, keys)) {
            Ok(ruled) => self.pass(head, ruled, place),
            Err(unkeyed) => self.pass_unkeyed(head, &unkeyed, place),
        }
    }

    /// The same for a request that may wait.
    #[cfg(feature = "wait")]
    pub(crate) fn line_up<B>(self: &Arc<Self>, request: &mut Request<B>, within: Duration) -> Line {
        let place = self.enter(request.extensions_mut());
        let head = Head::of(request);
        if place == Place::Again || self.skips(head) {
            return Line::Decided(Passage::Through(Followup { place, ..Followup::default() }));
        }
        let cost = self.cost_of(head);
        let queued = self.with_keys(head, |keys| {
            // (The builder takes no more than one.)
            let key = keys.first().copied().unwrap_or(Key::Parts(&[]));
            let queued = match self.tier_of(head) {
                Some(tier) => self.limiter.enqueue_owned_in(tier, key, cost, Some(within)),
                None => self.limiter.enqueue_owned(key, cost, Some(within)),
            };
            match queued {
                Ok(Queued::Waiting(turn)) => InLine::Waiting(turn),
                Ok(Queued::Granted(decision)) | Err(decision) => {
                    InLine::Ruled(self.rule(decision, Some(key), cost, None))
                }
            }
        });
        match queued {
            Ok(InLine::Ruled(ruled)) => Line::Decided(self.pass(head, ruled, place)),
            Ok(InLine::Waiting(turn)) => Line::Waiting(turn, Charge { cost, place }),
            Err(unkeyed) => Line::Decided(self.pass_unkeyed(head, &unkeyed, place)),
        }
    }

    /// What becomes of a request that waited.
    #[cfg(feature = "wait")]
    pub(crate) fn waited<B>(
        &self,
        request: &Request<B>,
        charge: &Charge,
        decision: Decision,
    ) -> Passage {
        let head = Head::of(request);
        let mut ruled = None;
        let mut rule = |keys: &[Key<'_>]| {
            ruled = Some(self.rule(decision, keys.first().copied(), charge.cost, None));
        };
        // Observers are told of its key. (One without is one of those who share.)
        if with_each(&self.keys, head, &[], &mut rule).is_err() {
            rule(&[]);
        }
        let ruled = ruled.unwrap_or_else(|| self.rule(decision, None, charge.cost, None));
        self.pass(head, ruled, charge.place)
    }

    /// What `f` says of the keys of the request, or of those that stand for a missing one.
    fn with_keys<T>(
        &self,
        head: Head<'_>,
        mut f: impl FnMut(&[Key<'_>]) -> T,
    ) -> Result<T, Unkeyed> {
        let mut said = None;
        let missing = with_each(&self.keys, head, &[], &mut |keys| said = Some(f(keys))).err();
        if let (None, Some(said)) = (&missing, said) {
            return Ok(said);
        }
        self.observe(&Event::new(&self.name, "", Outcome::MissingKey));
        match self.missing_key {
            _ if self.is_shadow => Err(Unkeyed::Allowed),
            MissingKey::Allow => Err(Unkeyed::Allowed),
            MissingKey::Shared => Ok(f(&[Key::Parts(&[])])),
            MissingKey::Deny => {
                let unsaid = || Missing::from_server("key, although its extractor found one");
                Err(Unkeyed::Denied(missing.unwrap_or_else(unsaid)))
            }
        }
    }

    /// Asks the limiter.
    fn decide(&self, head: Head<'_>, keys: &[Key<'_>]) -> Ruled {
        let cost = self.cost_of(head);
        let tier = self.tier_of(head);
        let (decision, key, reservation) = match (keys, &self.charge_when) {
            ([key], None) => {
                let decision = match tier {
                    Some(tier) => self.limiter.tier(tier).try_acquire_n(key, cost),
                    None => self.limiter.try_acquire_n(key, cost),
                };
                (decision, Some(key), None)
            }
            ([key], Some(_)) => {
                let reserved = match tier {
                    Some(tier) => self.limiter.reserve_owned_in(tier, key, cost),
                    None => self.limiter.reserve_owned(key, cost),
                };
                match reserved {
                    Ok(reservation) => {
                        (*reservation.decision(), Some(key), Some(Box::new(reservation)))
                    }
                    Err(denied) => (denied, Some(key), None),
                }
            }
            (keys, _) => {
                let charges: Vec<(Key<'_>, u64)> = keys.iter().map(|key| (*key, cost)).collect();
                let all = match tier {
                    Some(tier) => self.limiter.tier(tier).try_acquire_all_n(&charges),
                    None => self.limiter.try_acquire_all_n(&charges),
                };
                // (The builder takes no more keys than one call may name.)
                let decision = all.as_ref().map_or(Decision::CLOSED, |all| *all.decision());
                let key = all.ok().as_ref().and_then(AllDecision::key);
                (decision, key.and_then(|place| keys.get(place)), None)
            }
        };
        self.rule(decision, key.copied(), cost, reservation)
    }

    /// What follows from a decision, which observers are told.
    fn rule(
        &self,
        decision: Decision,
        key: Option<Key<'_>>,
        cost: u64,
        reservation: Option<Box<Reservation<'static>>>,
    ) -> Ruled {
        let is_told = self.observer.is_some() || decision.is_denied() || self.fields.are_written();
        let policy = if is_told { self.limiter.policy_of(&decision) } else { None };
        if let Some(observer) = &self.observer {
            let outcome = match self.is_shadow && decision.is_denied() {
                true => Outcome::WouldDeny,
                false => Outcome::of(&decision),
            };
            // A policy on trial, if that is what would have denied it.
            let tried = match decision.would_deny() {
                true => self.limiter.shadow_of(&decision),
                false => None,
            };
            let name = tried.as_ref().or(policy.as_ref()).map_or("", |policy| policy.name());
            let event = Event::new(&self.name, name, outcome).cost(cost).decision(&decision);
            let event = match key {
                Some(key) => event.key(key),
                None => event,
            };
            observer.observe(&event);
        }
        Ruled { decision, policy, reservation }
    }

    /// Lets a request through, or not.
    fn pass(&self, head: Head<'_>, ruled: Ruled, place: Place) -> Passage {
        let Ruled { decision, policy, reservation } = ruled;
        if self.is_shadow {
            let reservation = reservation.map(|reservation| Held(Some(reservation)));
            return Passage::Through(Followup { told: None, reservation, place });
        }
        if decision.is_denied() {
            let denied = Denied { head, cause: Cause::Limiter(&decision, policy.as_deref()) };
            let mut response = self.response(&denied);
            write_retry_after(&decision, response.headers_mut());
            let told = policy.map(|policy| Told { decision, policy, given_back: 0 });
            self.tell(told, place, &mut response);
            return stopped(response, place);
        }
        let told = policy.map(|policy| Told { decision, policy, given_back: 0 });
        let reservation = reservation.map(|reservation| Held(Some(reservation)));
        Passage::Through(Followup { told, reservation, place })
    }

    /// Lets a request without a key through, or not.
    fn pass_unkeyed(&self, head: Head<'_>, unkeyed: &Unkeyed, place: Place) -> Passage {
        match unkeyed {
            Unkeyed::Allowed => Passage::Through(Followup { place, ..Followup::default() }),
            Unkeyed::Denied(missing) => {
                let denied = Denied { head, cause: Cause::Missing(missing) };
                stopped(self.response(&denied), place)
            }
        }
    }

    /// The cost of a request.
    fn cost_of(&self, head: Head<'_>) -> u64 {
        self.cost.as_ref().map_or(1, |cost| cost(head))
    }

    /// The tier of its caller.
    fn tier_of<'a>(&self, head: Head<'a>) -> Option<&'a str> {
        self.tier.as_ref().and_then(|tier| tier(head))
    }

    /// Completes the response of a request that was let through.
    pub(crate) fn complete<B>(&self, followup: Followup, response: &mut Response<B>) {
        let Followup { mut told, reservation, place } = followup;
        if let (Some(mut held), Some(charge_when)) = (reservation, &self.charge_when)
            && !charge_when(ResponseHead::of(response))
            && let Some(reservation) = held.0.take()
        {
            let given_back = (*reservation).cancel();
            if let Some(told) = &mut told {
                told.given_back = given_back;
            }
        }
        self.tell(told, place, response);
    }

    /// Writes what this layer and those within told, and leaves word of it for those around.
    fn tell<B>(&self, told: Option<Told>, place: Place, response: &mut Response<B>) {
        let within = response.extensions_mut().remove::<Deposit>();
        match (&told, &within, place) {
            (None, None, _) => return,
            // The usual case: there is no other.
            (Some(told), None, Place::Outermost) => {
                return self.fields.write(slice::from_ref(told), response.headers_mut());
            }
            _ => {}
        }
        let Deposit { told: inner, is_denied } = within.unwrap_or_default();
        let all: Vec<Told> = told.into_iter().chain(inner).collect();
        self.fields.write(&all, response.headers_mut());
        if place != Place::Outermost {
            response.extensions_mut().insert(Deposit { told: all, is_denied });
        }
    }

    fn response(&self, denied: &Denied<'_>) -> Response<Bytes> {
        match &self.respond {
            Some(respond) => respond(denied),
            None => answer::answer(denied),
        }
    }

    fn observe(&self, event: &Event<'_>) {
        if let Some(observer) = &self.observer {
            observer.observe(event);
        }
    }
}

/// What the limiter says to who may wait.
#[cfg(feature = "wait")]
enum InLine {
    Ruled(Ruled),
    Waiting(Turn<'static>),
}

/// What becomes of a request without a key.
enum Unkeyed {
    Allowed,
    Denied(Missing),
}

/// A decision and what belongs to it.
struct Ruled {
    decision: Decision,
    /// If anybody is to be told of it.
    policy: Option<Arc<Policy>>,
    /// Large, and rare.
    reservation: Option<Box<Reservation<'static>>>,
}

/// Leaves word for layers around, if there are any.
fn stopped(mut response: Response<Bytes>, place: Place) -> Passage {
    if place != Place::Outermost {
        let mut deposit = response.extensions_mut().remove::<Deposit>().unwrap_or_default();
        deposit.is_denied = true;
        response.extensions_mut().insert(deposit);
    }
    Passage::Stopped(response)
}

/// Calls `f` with the keys already lent and those of the rest. (Each is borrowed inside the one before.)
fn with_each(
    keys: &[Arc<dyn RequestKey>],
    head: Head<'_>,
    lent: &[Key<'_>],
    f: &mut dyn FnMut(&[Key<'_>]),
) -> Result<(), Missing> {
    let Some((first, rest)) = keys.split_first() else {
        f(lent);
        return Ok(());
    };
    let mut inside = Ok(());
    first.with_key(head, &mut |key| {
        inside = match (lent, rest) {
            ([], []) => {
                f(&[key]);
                Ok(())
            }
            _ => {
                let lent: Vec<Key<'_>> = lent.iter().copied().chain([key]).collect();
                with_each(rest, head, &lent, f)
            }
        };
    })?;
    inside
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limiter, missing_key, is_shadow, .. } = self;
        f.debug_struct("RateLimit")
            .field("name", name)
            .field("limiter", limiter)
            .field("missing_key", missing_key)
            .field("is_shadow", is_shadow)
            .finish_non_exhaustive()
    }
}

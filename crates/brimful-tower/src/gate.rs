//! The way of one request: skip? -> key, tier, cost -> limiter -> let through, or a response in its place.

mod held;
mod keys;
mod passed;
#[cfg(feature = "wait")]
mod wait;

use std::fmt;
use std::sync::Arc;

use brimful::{AllDecision, Decision, Key, Limiter, Policy, Reservation};
use brimful_observe::{Event, Observer, Outcome};
use bytes::Bytes;
use http::{Request, Response};

use crate::answer;
use crate::denied::{Cause, Denied};
use crate::head::{Head, ResponseHead};
use crate::key::{Missing, RequestKey};
use crate::told::{self, Fields, Told, write_retry_after};
use held::Held;
use keys::Keys;

pub(crate) use keys::MOST as MOST_KEYS;
pub(crate) use passed::{Id, Place};
#[cfg(feature = "wait")]
pub(crate) use wait::{Charge, Line};

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
    /// All of them are one client, with one budget: that of the key `()`, in place of the one that is missing.
    Shared,
    /// It is let through without the limit of that key; keys that it has are charged.
    Allow,
}

/// What a layer does with requests; shared by all its clones.
pub(crate) struct Gate {
    pub(crate) id: Id,
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

impl Passage {
    /// It goes on, and its limiter was not asked.
    fn unasked(place: Place) -> Self {
        Self::Through(Followup { place, ..Followup::default() })
    }
}

/// What is still to be done with the response of a request that was let through.
#[derive(Default)]
pub(crate) struct Followup {
    told: Option<Told>,
    held: Option<Held>,
    place: Place,
}

/// What layers further in told of a request, for those around them.
#[derive(Clone, Default)]
pub(crate) struct Deposit {
    told: Vec<Told>,
    /// One of them did not let it through.
    pub(crate) is_denied: bool,
}

/// A decision and what belongs to it.
struct Ruled {
    decision: Decision,
    /// If anybody is to be told of it.
    policy: Option<Arc<Policy>>,
    /// Large, and rare.
    reservation: Option<Box<Reservation<'static>>>,
}

impl Gate {
    /// Decides for a request, and charges it.
    pub(crate) fn judge<B>(self: &Arc<Self>, request: &mut Request<B>) -> Passage {
        let place = passed::place(self.id, request.extensions());
        if place == Place::Again {
            passed::leave_word(self.id, request.extensions_mut());
            return Passage::unasked(place);
        }
        let head = Head::of(request);
        if self.skips(head) {
            return Passage::unasked(place);
        }
        let decide = |keys: &[Key<'_>]| match keys {
            [] => None,
            keys => Some(self.decide(head, keys)),
        };
        match self.keys().with(head, decide) {
            Ok(Some(ruled)) => self.pass(request, ruled, place),
            Ok(None) => self.pass_unkeyed(head, None, place),
            Err(missing) => self.pass_unkeyed(head, Some(&missing), place),
        }
    }

    /// Whether the request is none of this layer's business.
    fn skips(&self, head: Head<'_>) -> bool {
        let is_skipped = self.skip.iter().any(|skip| skip(head));
        if is_skipped {
            self.observe(&Event::new(&self.name, "", Outcome::Skipped));
        }
        is_skipped
    }

    fn keys(&self) -> Keys<'_> {
        Keys { all: &self.keys, missing: self.missing_key }
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

    /// What follows from a decision, which observers are told; of one that is settled later, then.
    fn rule(
        &self,
        decision: Decision,
        key: Option<Key<'_>>,
        cost: u64,
        reservation: Option<Box<Reservation<'static>>>,
    ) -> Ruled {
        if self.observer.is_some() && reservation.is_none() {
            let outcome = match self.is_shadow && decision.is_denied() {
                true => Outcome::WouldDeny,
                false => Outcome::of(&decision),
            };
            let name = self.policy_name(&decision);
            let event = Event::new(&self.name, &name, outcome).cost(cost).decision(&decision);
            self.observe(&match key {
                Some(key) => event.key(key),
                None => event,
            });
        }
        let is_told = !self.is_shadow && (decision.is_denied() || self.fields.are_written());
        let policy = if is_told { self.limiter.policy_of(&decision) } else { None };
        Ruled { decision, policy, reservation }
    }

    /// The policy that observers are told of: one on trial, if that is what would have denied the request.
    fn policy_name(&self, decision: &Decision) -> PolicyName {
        let tried = match decision.would_deny() {
            true => self.limiter.shadow_of(decision),
            false => None,
        };
        PolicyName(tried.or_else(|| self.limiter.policy_of(decision)))
    }

    /// Lets a request through, or not.
    fn pass<B>(self: &Arc<Self>, request: &mut Request<B>, ruled: Ruled, place: Place) -> Passage {
        let Ruled { decision, policy, reservation } = ruled;
        if decision.is_denied() && !self.is_shadow {
            let head = Head::of(request);
            let denied = Denied { head, cause: Cause::Limiter(&decision, policy.as_deref()) };
            let mut response = self.response(&denied);
            write_retry_after(&decision, response.headers_mut());
            self.tell(policy.map(|policy| self.told(decision, policy)), place, &mut response);
            return stopped(response, place);
        }
        passed::leave_word(self.id, request.extensions_mut());
        Passage::Through(Followup {
            told: policy.map(|policy| self.told(decision, policy)),
            held: reservation.map(|reservation| Held::new(self.clone(), reservation)),
            place,
        })
    }

    fn told(&self, decision: Decision, policy: Arc<Policy>) -> Told {
        Told { decision, policy, style: self.fields.style.clone() }
    }

    /// Lets a request without a key through, or not when one must be there.
    fn pass_unkeyed(&self, head: Head<'_>, missing: Option<&Missing>, place: Place) -> Passage {
        self.observe(&Event::new(&self.name, "", Outcome::MissingKey));
        match missing.filter(|_| !self.is_shadow) {
            None => Passage::unasked(place),
            Some(missing) => {
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
        let Followup { mut told, held, place } = followup;
        if let (Some(held), Some(charge_when)) = (held, &self.charge_when)
            && !charge_when(ResponseHead::of(response))
            && let (Some(left), Some(told)) = (held.give_back(), &mut told)
        {
            told.decision = left;
        }
        self.tell(told, place, response);
    }

    /// Writes what this layer and those within told, and leaves word of it for those around.
    fn tell<B>(&self, told: Option<Told>, place: Place, response: &mut Response<B>) {
        let within = response.extensions_mut().remove::<Deposit>();
        match (told, within) {
            (None, None) => {}
            // The usual case: there is no other.
            (Some(told), None) if place == Place::Outermost => {
                self.fields.write_alone(&told, response.headers_mut());
            }
            (told, within) => {
                let Deposit { told: inner, is_denied } = within.unwrap_or_default();
                let all: Vec<Told> = told.into_iter().chain(inner).collect();
                told::write(&all, response.headers_mut());
                if place != Place::Outermost {
                    response.extensions_mut().insert(Deposit { told: all, is_denied });
                }
            }
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

/// A policy's name; none when it is not known.
struct PolicyName(Option<Arc<Policy>>);

impl std::ops::Deref for PolicyName {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_deref().map_or("", Policy::name)
    }
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

//! What is known of a request that is not let through.

use std::time::Duration;

use brimful::{Decision, Denial, Policy};
use http::StatusCode;

use crate::head::Head;
use crate::key::Missing;

/// A request that is not let through: what a response of one's own ([`respond`](crate::RateLimitBuilder::respond))
/// is made of.
#[derive(Clone, Copy, Debug)]
pub struct Denied<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) cause: Cause<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause<'a> {
    /// The limiter denied it, by that policy when it is known.
    Limiter(&'a Decision, Option<&'a Policy>),
    Missing(&'a Missing),
}

impl<'a> Denied<'a> {
    /// The request.
    #[must_use]
    pub const fn head(&self) -> Head<'a> {
        self.head
    }

    /// What the limiter said; `None` for a request without a key.
    #[must_use]
    pub const fn decision(&self) -> Option<&'a Decision> {
        match self.cause {
            Cause::Limiter(decision, _) => Some(decision),
            Cause::Missing(_) => None,
        }
    }

    /// The policy that it was denied by. `None` for a request without a key, and when the rules were replaced at
    /// this moment.
    #[must_use]
    pub const fn policy(&self) -> Option<&'a Policy> {
        match self.cause {
            Cause::Limiter(_, policy) => policy,
            Cause::Missing(_) => None,
        }
    }

    /// What the request lacks to have a key.
    #[must_use]
    pub const fn missing(&self) -> Option<&'a Missing> {
        match self.cause {
            Cause::Limiter(..) => None,
            Cause::Missing(missing) => Some(missing),
        }
    }

    /// The names of the limits that refused it; where others wait already, of the one that they wait for.
    pub fn violated(&self) -> impl Iterator<Item = &'a str> {
        let decision = self.decision();
        let refused = move |place: usize| {
            decision.is_some_and(|decision| {
                decision.refused_by(place) || decision.limit() == Some(place)
            })
        };
        let limits = self.policy().map_or(&[][..], Policy::limits).iter().enumerate();
        limits.filter(move |(place, _)| refused(*place)).map(|(_, limit)| limit.name())
    }

    /// How long to wait before the same request is let through; `None` when no wait can help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.decision()?.retry_after()
    }

    /// 429; 503 when there is no place to remember the client, which is not its fault; 400 when the client did not
    /// say who it is, and 500 when the server does not provide it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self.cause {
            Cause::Limiter(decision, _) if is_servers_fault(decision) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Cause::Limiter(..) => StatusCode::TOO_MANY_REQUESTS,
            Cause::Missing(missing) if missing.is_servers_fault() => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Cause::Missing(_) => StatusCode::BAD_REQUEST,
        }
    }

    /// In words, for people.
    pub(crate) fn detail(&self) -> String {
        let decision = match self.cause {
            // What a server lacks is for its log.
            Cause::Missing(missing) if missing.is_servers_fault() => {
                return "the server cannot tell whose limit the request falls under".into();
            }
            Cause::Missing(missing) => return missing.to_string(),
            Cause::Limiter(decision, _) => decision,
        };
        let why = match decision.denial() {
            Some(Denial::Blocked) => "no requests are admitted",
            Some(Denial::StoreFull) => "the server has no room to count more clients",
            Some(Denial::Queued | Denial::QueueFull) => "too many requests wait already",
            Some(Denial::Closed) => "the server is shutting down",
            _ if decision.is_never() => "the request costs more than its limit ever admits",
            _ => "too many requests",
        };
        match decision.retry_after_secs() {
            Some(secs) => format!("{why}; retry after {secs} s"),
            None => why.into(),
        }
    }
}

/// Whether nothing that the client does is the reason.
pub(crate) const fn is_servers_fault(decision: &Decision) -> bool {
    matches!(decision.denial(), Some(Denial::StoreFull | Denial::Closed))
}

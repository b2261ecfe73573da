//! Who takes part: the bare service, and the layers around it. All answer with axum's body.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{Route, get_service};
use brimful::{Limit, Limiter};
use brimful_observe::Counters;
use brimful_tower::{PeerIp, RateLimitBuilder, RateLimitLayer};
use governor::clock::QuantaInstant;
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tower::{Layer, Service, ServiceExt};
use tower_governor::GovernorLayer;
use tower_governor::governor::{GovernorConfig, GovernorConfigBuilder};
use tower_governor::key_extractor::PeerIpKeyExtractor;

use super::Outcome;

/// Clients that a limiter has room for.
pub const LIVE: u32 = 10_000;

/// A service that can be called directly.
pub trait Direct: Send + Sync {
    /// Calls it with each of the requests. How many were let through.
    fn run(&self, requests: Vec<Request>) -> usize;
}

/// A contender that can be made.
pub struct Entrant {
    pub name: &'static str,
    /// To be called directly.
    pub direct: fn(Outcome) -> Box<dyn Direct>,
    /// In a server.
    pub served: Option<fn(Outcome) -> Router>,
    /// What to know beside its figures.
    pub note: &'static str,
}

/// The bare service is the first.
pub const ENTRANTS: [Entrant; 7] = [
    Entrant {
        name: "bare",
        direct: |_| Box::new(Called(Bare)),
        served: Some(|_| Router::new().route("/", get_service(Bare))),
        note: "the service that all the others are around: a short text with its type",
    },
    Entrant {
        name: "brimful",
        direct: |outcome| Box::new(Called(built(brimful(outcome)).layer(Bare))),
        served: Some(|outcome| router(built(brimful(outcome)))),
        note: "`RateLimitLayer::new(limiter, PeerIp::new())`: the default, with `RateLimit` and \
               `RateLimit-Policy` in every response, and problem details in denials",
    },
    Entrant {
        name: "brimful-silent",
        direct: |outcome| Box::new(Called(built(silent(outcome)).layer(Bare))),
        served: Some(|outcome| router(built(silent(outcome)))),
        note: "`ratelimit_fields(false)`: nothing in what is let through; denials have problem \
               details and `Retry-After`",
    },
    Entrant {
        name: "brimful-counted",
        direct: |outcome| Box::new(Called(built(counted(outcome)).layer(Bare))),
        served: Some(|outcome| router(built(counted(outcome)))),
        note: "the default with an observer, `Counters` of brimful-observe",
    },
    Entrant {
        name: "brimful-boxed",
        direct: |outcome| Box::new(Called(boxed(built(brimful(outcome)).layer(Bare)))),
        served: None,
        note: "the default, and the body of its response made one of axum's, as axum's router does \
               with that of every layer whose body is of another type",
    },
    Entrant {
        name: "tower-governor",
        direct: |outcome| Box::new(Called(GovernorLayer::new(governor(outcome)).layer(Bare))),
        served: Some(|outcome| router(GovernorLayer::new(governor(outcome)))),
        note: "tower_governor 0.8.0, `PeerIpKeyExtractor`: nothing in what is let through; denials \
               have a text, `retry-after` and `x-ratelimit-after`",
    },
    Entrant {
        name: "tower-governor-headers",
        direct: |outcome| {
            Box::new(Called(GovernorLayer::new(governor_with_headers(outcome)).layer(Bare)))
        },
        served: Some(|outcome| router(GovernorLayer::new(governor_with_headers(outcome)))),
        note: "the same with `use_headers()`: `x-ratelimit-limit` and `x-ratelimit-remaining` in \
               every response",
    },
];

fn brimful(outcome: Outcome) -> RateLimitBuilder {
    let limit = match outcome {
        Outcome::Allowed => Limit::per_second(1_000_000_000),
        Outcome::Denied => Limit::per_hour(1),
    };
    let limit = limit.expect("a limit within range");
    let limiter = Limiter::builder(limit).max_keys(LIVE.into()).build().expect("enough memory");
    RateLimitLayer::builder(limiter, PeerIp::new())
}

fn silent(outcome: Outcome) -> RateLimitBuilder {
    brimful(outcome).ratelimit_fields(false)
}

fn counted(outcome: Outcome) -> RateLimitBuilder {
    brimful(outcome).observer(Counters::new())
}

fn built(builder: RateLimitBuilder) -> RateLimitLayer {
    builder.build().expect("settings that go together")
}

/// The same limits as brimful's.
fn governor_builder(
    outcome: Outcome,
) -> GovernorConfigBuilder<PeerIpKeyExtractor, NoOpMiddleware<QuantaInstant>> {
    let (interval, burst) = match outcome {
        Outcome::Allowed => (Duration::from_nanos(1), 1_000_000_000),
        Outcome::Denied => (Duration::from_secs(3600), 1),
    };
    GovernorConfigBuilder::default().const_period(interval).const_burst_size(burst)
}

fn governor(outcome: Outcome) -> GovernorConfig<PeerIpKeyExtractor, NoOpMiddleware<QuantaInstant>> {
    governor_builder(outcome).finish().expect("neither is zero")
}

fn governor_with_headers(
    outcome: Outcome,
) -> GovernorConfig<PeerIpKeyExtractor, StateInformationMiddleware> {
    governor_builder(outcome).use_headers().finish().expect("neither is zero")
}

/// A server's router with a layer around the bare service.
fn router<L>(layer: L) -> Router
where
    L: Layer<Route> + Clone + Send + Sync + 'static,
    L::Service: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    <L::Service as Service<Request>>::Response: IntoResponse + 'static,
    <L::Service as Service<Request>>::Future: Send + 'static,
{
    Router::new().route("/", get_service(Bare)).layer(layer)
}

/// The service that is limited.
#[derive(Clone, Copy)]
struct Bare;

impl Service<Request> for Bare {
    type Response = Response;
    type Error = Infallible;
    type Future = Ready<Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        let mut response = Response::new(Body::from("ok"));
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, text);
        ready(Ok(response))
    }
}

/// A service whose response gets axum's body.
fn boxed<S>(
    service: S,
) -> impl Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync
where
    S: Service<Request, Response: IntoResponse, Error = Infallible> + Clone + Send + Sync,
{
    service.map_response(IntoResponse::into_response)
}

/// A service as a contender.
struct Called<S>(S);

impl<S, B> Direct for Called<S>
where
    S: Service<Request, Response = http::Response<B>, Error = Infallible> + Clone + Send + Sync,
{
    fn run(&self, requests: Vec<Request>) -> usize {
        // A clone for each thread, as a server has one for each connection.
        let mut service = self.0.clone();
        let mut context = Context::from_waker(Waker::noop());
        let mut let_through = 0;
        for request in requests {
            assert!(service.poll_ready(&mut context).is_ready());
            let Poll::Ready(Ok(response)) =
                pin!(service.call(black_box(request))).poll(&mut context)
            else {
                unreachable!("the service answers at once")
            };
            let_through += usize::from(black_box(&response).status() == StatusCode::OK);
        }
        let_through
    }
}

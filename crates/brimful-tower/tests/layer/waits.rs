//! Requests that wait for their tokens, in Tokio's paused time.
#![cfg(feature = "wait")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::{Client, get, secs};
use brimful::{Limit, Limiter, LimiterBuilder, Rules};
use brimful_tower::{RateLimitBuilder, RateLimitLayer};
use brimful_wait::tokio::TokioClock;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

/// One a second, one at once.
fn limiter() -> LimiterBuilder {
    let limit = Limit::per_second(1).and_then(|limit| limit.burst(1)).expect("a limit");
    Limiter::builder(limit).clock(TokioClock::new())
}

fn layer(limiter: LimiterBuilder) -> (Arc<Limiter>, RateLimitBuilder) {
    let limiter = Arc::new(limiter.build().expect("a limiter"));
    (limiter.clone(), RateLimitLayer::builder(limiter, Client))
}

#[tokio::test(start_paused = true)]
async fn requests_go_on_in_line_and_those_that_would_wait_too_long_are_denied_at_once() {
    let (limiter, layer) = layer(limiter());
    let layer = layer.build_waiting(secs(2)).expect("a layer");
    let service = layer.layer(crate::common::service(&Arc::default()));
    let started = Instant::now();
    let calls = (0..5).map(|_| {
        let call = service.clone().oneshot(get("ann", "/"));
        async move {
            let response = call.await.expect("an answer");
            let retry = response.headers().get("retry-after").cloned();
            (response.status().as_u16(), retry, started.elapsed().as_millis())
        }
    });
    let mut tasks = Vec::new();
    for call in calls {
        tasks.push(tokio::spawn(call));
        tokio::task::yield_now().await;
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.expect("a task"));
    }
    let three: http::HeaderValue = 3.into();
    assert_eq!(
        answers,
        [
            (200, None, 0),
            (200, None, 1_000),
            (200, None, 2_000),
            (429, Some(three.clone()), 0),
            (429, Some(three), 0),
        ]
    );
    assert_eq!((limiter.stats().waiters, limiter.stats().reservations), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_leaves_its_place_and_its_tokens() {
    let (limiter, layer) = layer(limiter());
    let service = layer.build_waiting(secs(60)).expect("a layer");
    let service = service.layer(crate::common::service(&Arc::default()));
    let started = Instant::now();
    service.clone().oneshot(get("ann", "/")).await.expect("an answer");
    for _ in 0..10 {
        let call = service.clone().oneshot(get("ann", "/"));
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    }
    assert_eq!(limiter.stats().waiters, 0);
    let answer = service.clone().oneshot(get("ann", "/")).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), started.elapsed()), (200, secs(1)));
    assert_eq!(answer.headers()["ratelimit"], "\"1/s\";r=0;t=1");
}

/// Says how often it was called without having been ready, and takes as many calls at once as it has room for.
#[derive(Clone)]
struct Strict {
    is_ready: bool,
    misuse: Arc<AtomicU64>,
}

impl Service<Request<()>> for Strict {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        if std::mem::replace(&mut self.is_ready, true) {
            return Poll::Ready(Ok(()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        if !std::mem::take(&mut self.is_ready) {
            self.misuse.fetch_add(1, Ordering::Relaxed);
        }
        std::future::ready(Ok(Response::new("served".into())))
    }
}

#[tokio::test(start_paused = true)]
async fn the_service_inside_is_called_only_when_it_is_ready() {
    let misuse = Arc::new(AtomicU64::new(0));
    let (_, layer) = layer(limiter());
    let layer = layer.build_waiting(secs(10)).expect("a layer");
    let mut service = layer.layer(Strict { is_ready: false, misuse: misuse.clone() });
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(service.ready().await.expect("ready").call(get("ann", "/")));
    }
    for call in calls {
        let body = call.await.expect("an answer").into_body();
        assert_eq!(body.collect().await.expect("a body").to_bytes(), "served");
    }
    assert_eq!(misuse.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn tiers_wait_by_their_own_limits() {
    let slow = Limit::per_minute(1).expect("a limit");
    let rules =
        Rules::builder().default(slow).tier("gold", Limit::per_minute(60).expect("a limit"));
    let limiter = Limiter::builder(rules.build().expect("rules")).clock(TokioClock::new());
    let (_, layer) = layer(limiter);
    let layer = layer.tier(|head| head.headers().get("x-plan")?.to_str().ok()).cost(|_| 1);
    let service = layer.build_waiting(secs(5)).expect("a layer");
    let service = service.layer(crate::common::service(&Arc::default()));
    let mut codes = Vec::new();
    for plan in ["none", "none", "gold"] {
        let mut request = get(plan, "/");
        request.headers_mut().insert("x-plan", plan.parse().expect("a value"));
        let response = service.clone().oneshot(request).await.expect("an answer");
        codes.push(response.status().as_u16());
    }
    assert_eq!(codes, [200, 429, 200]);
    let gold = || {
        let mut request = get("rich", "/");
        request.headers_mut().insert("x-plan", "gold".parse().expect("a value"));
        service.clone().oneshot(request)
    };
    let started = Instant::now();
    for _ in 0..62 {
        assert_eq!(gold().await.expect("an answer").status(), 200);
    }
    assert_eq!(started.elapsed(), secs(2));
}

#[tokio::test(start_paused = true)]
async fn when_waiting_ends_those_who_wait_are_told() {
    let (limiter, layer) = layer(limiter());
    let layer = layer.build_waiting(secs(60)).expect("a layer");
    let service = layer.layer(crate::common::service(&Arc::default()));
    service.clone().oneshot(get("ann", "/")).await.expect("an answer");
    let waiting = tokio::spawn(service.clone().oneshot(get("ann", "/")));
    tokio::task::yield_now().await;
    assert_eq!(limiter.stats().waiters, 1);
    limiter.close();
    let response = waiting.await.expect("a task").expect("an answer");
    assert_eq!(response.status(), 503);
}

#[test]
fn what_cannot_wait_is_refused() {
    let built = |more: fn(RateLimitBuilder) -> RateLimitBuilder| {
        let limiter = Limiter::per_second(1).expect("a limiter");
        more(RateLimitLayer::builder(limiter, Client)).build_waiting(secs(1))
    };
    for (more, name) in [
        ((|layer| layer.also_key(Client)) as fn(RateLimitBuilder) -> RateLimitBuilder, "also_key"),
        (|layer| layer.shadow(true), "shadow"),
        (|layer| layer.charge_when(|_| true), "charge_when"),
    ] {
        let fault = built(more).expect_err(name);
        assert!(fault.is_conflict());
        assert!(fault.to_string().starts_with(&format!("`{name}` stands beside `build_waiting`")));
    }
    assert!(built(|layer| layer).is_ok());
}

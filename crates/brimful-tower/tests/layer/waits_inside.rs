//! What a service inside may do to requests that waited.
#![cfg(feature = "wait")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::common::{get, secs};
use brimful::{Limit, Limiter};
use brimful_observe::{Counters, Outcome};
use brimful_tower::{RateLimitLayer, WaitLayer};
use brimful_wait::tokio::TokioClock;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt};

fn layer(tokens: u64) -> (Arc<Limiter>, WaitLayer) {
    let limit = Limit::per_second(1).and_then(|limit| limit.burst(tokens)).expect("a limit");
    let limiter = Limiter::builder(limit).clock(TokioClock::new()).build().expect("a limiter");
    let limiter = Arc::new(limiter);
    let layer = RateLimitLayer::builder(limiter.clone(), "everybody");
    (limiter, layer.build_waiting(secs(60)).expect("a layer"))
}

#[tokio::test(start_paused = true)]
async fn one_service_used_again_and_again_does_not_wait_for_what_it_holds_itself() {
    let (_, layer) = layer(1);
    let inside = ConcurrencyLimitLayer::new(1).layer(crate::common::service(&Arc::default()));
    let mut service = layer.layer(inside);
    for _ in 0..3 {
        let call = service.ready().await.expect("ready").call(get("ann", "/"));
        let answer = tokio::time::timeout(secs(600), call).await.expect("an answer in ten minutes");
        assert_eq!(answer.expect("no error").status(), 200);
    }
}

/// Is ready for the service that is there first, and for none of its clones.
struct First {
    is_clone: bool,
    fails: bool,
    calls: Arc<AtomicU64>,
}

impl Clone for First {
    fn clone(&self) -> Self {
        Self { is_clone: true, fails: self.fails, calls: self.calls.clone() }
    }
}

impl Service<Request<()>> for First {
    type Response = Response<Full<Bytes>>;
    type Error = String;
    type Future = std::future::Ready<Result<Self::Response, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        match (self.is_clone, self.fails) {
            (false, _) => Poll::Ready(Ok(())),
            (true, true) => Poll::Ready(Err("broken".into())),
            (true, false) => Poll::Pending,
        }
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        self.calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Response::new("served".into())))
    }
}

async fn left_after_a_request_that_was_never_called(fails: bool) -> u64 {
    let (limiter, layer) = layer(5);
    let calls = Arc::new(AtomicU64::new(0));
    let mut service = layer.layer(First { is_clone: false, fails, calls: calls.clone() });
    assert!(limiter.try_acquire_n("everybody", 5).is_allowed());
    service.ready().await.expect("ready");
    let call = service.call(get("ann", "/"));
    let _ = tokio::time::timeout(secs(4), call).await;
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    if fails {
        tokio::time::sleep(secs(3)).await;
    }
    limiter.peek("everybody", 0).remaining()
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_before_the_service_inside_is_ready_is_not_charged() {
    assert_eq!(left_after_a_request_that_was_never_called(false).await, 4);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_served_because_the_service_inside_failed_is_not_charged() {
    assert_eq!(left_after_a_request_that_was_never_called(true).await, 4);
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_while_waiting_is_counted() {
    let limit = Limit::per_second(1).and_then(|limit| limit.burst(1)).expect("a limit");
    let limiter = Limiter::builder(limit).clock(TokioClock::new()).build().expect("a limiter");
    let counters = Arc::new(Counters::new());
    let layer = RateLimitLayer::builder(limiter, "everybody").observer(counters.clone());
    let layer = layer.build_waiting(secs(60)).expect("a layer");
    let service = layer.layer(crate::common::service(&Arc::default()));
    for _ in 0..5 {
        let call = service.clone().oneshot(get("ann", "/"));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(5), call).await;
    }
    let counts = counters.snapshot();
    let counts: Vec<_> = counts.iter().map(|row| (row.outcome, row.requests)).collect();
    // Those without a policy come first.
    assert_eq!(counts, [(Outcome::GaveUp, 4), (Outcome::Admitted, 1)]);
}

//! What clients and handlers may try.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::common::{Client, Server, built, get, layer, limiter, per_minute};
use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::any;
use brimful::Rules;
use brimful_observe::{Event, Observer};
use brimful_tower::{ApiKey, MissingKey, PeerIp, RateLimitLayer};
use http::Request;
use tower::{Layer, Service, ServiceExt};

#[tokio::test]
async fn what_a_client_writes_does_not_choose_the_policy() {
    let rules = Rules::builder()
        .default(per_minute(2))
        .pattern("partner:*", per_minute(1_000))
        .pattern("GET:/x:*", per_minute(1_000))
        .build()
        .expect("rules");
    let server = Server::new(&built(RateLimitLayer::builder(limiter(rules).0, ApiKey::new())));
    for key in ["partner:made-up", "GET:/x:1"] {
        let mut request = get("ann", "/");
        request.headers_mut().insert("x-api-key", key.parse().expect("a value"));
        let answer = server.send(request).await;
        assert_eq!(answer.header("ratelimit"), Some("\"2/min\";r=1;t=30"), "{key}");
    }
}

#[tokio::test]
async fn nothing_that_is_printed_has_the_secrets_of_a_request() {
    let layer = layer(per_minute(1)).respond(|denied| {
        assert!(!format!("{denied:?}").contains("secret"), "{denied:?}");
        http::Response::new(bytes::Bytes::new())
    });
    let server = Server::new(&built(layer));
    for _ in 0..2 {
        let mut request = get("ann", "/");
        request.headers_mut().insert("authorization", "Bearer secret".parse().expect("a value"));
        server.send(request).await;
    }
}

struct Panics;
impl Observer for Panics {
    fn observe(&self, _: &Event<'_>) {
        panic!("an observer");
    }
}

#[tokio::test]
async fn panics_leave_nothing_open() {
    let (limiter, _) = limiter(per_minute(10));
    let make = || RateLimitLayer::builder(limiter.clone(), Client);
    let layers = [
        make().observer(Panics),
        make().charge_when(|_| true).observer(Panics),
        make().charge_when(|_| panic!("a predicate")),
        make().cost(|_| panic!("a cost")),
    ];
    for (n, layer) in layers.into_iter().enumerate() {
        let mut service = built(layer).layer(crate::common::service(&Arc::default()));
        let key = format!("c{n}");
        let task = tokio::spawn(async move { service.call(get(&key, "/")).await });
        assert!(task.await.is_err());
        assert_eq!(limiter.stats().reservations, 0);
    }
}

#[tokio::test]
async fn a_header_that_is_there_twice_is_not_one_that_is_missing() {
    // The service takes the first, as many do.
    for missing in [MissingKey::Allow, MissingKey::Shared] {
        let rules = Rules::builder()
            .default(per_minute(2))
            .exact((), per_minute(1_000))
            .build()
            .expect("it");
        let layer = RateLimitLayer::builder(limiter(rules).0, ApiKey::new())
            .missing_key(missing)
            .build()
            .expect("it");
        let service = layer.layer(crate::common::service(&Arc::default()));
        let mut served = 0;
        for _ in 0..10 {
            let request = Request::get("/")
                .header("x-api-key", "k-1")
                .header("x-api-key", "k-1")
                .body(())
                .expect("it");
            served +=
                u32::from(service.clone().oneshot(request).await.expect("it").status() == 200);
        }
        assert!(served <= 2, "{missing:?}: {served}");
    }
}

#[tokio::test]
async fn a_batch_that_is_dispatched_again_is_charged_for_each() {
    let (limiter, _) = limiter(per_minute(5));
    let layer = RateLimitLayer::new(limiter.clone(), PeerIp::new());
    let work = Router::new().route("/work", any(async || "work")).layer(layer.clone());
    let inner = work.clone();
    let router = Router::new()
        .route(
            "/batch",
            any(move |request: axum::extract::Request| {
                let inner = inner.clone();
                async move {
                    let (parts, _) = request.into_parts();
                    let mut served = 0;
                    for _ in 0..100 {
                        let mut one = Request::new(axum::body::Body::empty());
                        *one.uri_mut() = "/work".parse().expect("it");
                        *one.extensions_mut() = parts.extensions.clone();
                        served += u32::from(
                            inner.clone().oneshot(one).await.expect("it").status() == 200,
                        );
                    }
                    served.to_string()
                }
            }),
        )
        .layer(layer);
    let mut request = Request::post("/batch").body(axum::body::Body::empty()).expect("it");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 5))));
    let answer = router.oneshot(request).await.expect("it");
    let text = axum::body::to_bytes(answer.into_body(), 99).await.expect("it");
    // One of them is the batch itself, which is charged.
    assert_eq!(text, "5");
}

#[tokio::test]
async fn what_a_client_writes_is_no_key_of_the_servers() {
    let rules = Rules::builder().default(per_minute(2)).exact("all", per_minute(500));
    let layer = RateLimitLayer::builder(limiter(rules.build().expect("rules")).0, ApiKey::new());
    let server = Server::new(&built(layer.also_key("all")));
    let mut served = 0;
    for _ in 0..10 {
        let mut request = get("ann", "/");
        request.headers_mut().insert("x-api-key", "all".parse().expect("a value"));
        served += u32::from(server.send(request).await.code() == 200);
    }
    assert_eq!(served, 2);
}

//! axum, and services of tower between layers.
mod common;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, MatchedPath};
use axum::routing::{any, get as on_get};
use brimful::{Key, Limit, Rules};
use brimful_tower::{
    ApiKey, Head, Header, MissingKey, PeerIp, RateLimitLayer, RequestKey, Route, from_fn,
};
use common::limiter;
use http::Request;
use tower::{Layer, ServiceBuilder, ServiceExt};

fn per_minute(tokens: u64) -> Limit {
    Limit::per_minute(tokens).expect("a limit")
}

async fn code(router: &Router, method: &str, path: &str) -> (u16, Option<String>) {
    let mut request = Request::builder().method(method).uri(path).body(axum::body::Body::empty()).expect("it");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 5))));
    let answer = router.clone().oneshot(request).await.expect("it");
    (answer.status().as_u16(), answer.headers().get("ratelimit").map(|v| v.to_str().expect("t").to_owned()))
}

#[tokio::test]
async fn which_keys_routes_have() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let tell = |seen: &Arc<std::sync::Mutex<Vec<String>>>| {
        let seen = seen.clone();
        from_fn("it", move |head: Head<'_>| {
            let route = Route::new().or("unmatched").with_method();
            route.with_key(head, &mut |key| seen.lock().expect("p").push(format!("{key:?}"))).ok()?;
            Some(head.extensions().get::<MatchedPath>().map_or("none".into(), |m| m.as_str().to_owned()))
        })
    };
    let layer = RateLimitLayer::new(limiter(per_minute(100)).0, tell(&seen));
    let inner = Router::new()
        .route("/x/{id}", any(async || "x"))
        .route("/all/{*rest}", any(async || "all"))
        .fallback(async || "inner fallback");
    let router = Router::new()
        .route("/y", on_get(async || "y"))
        .nest("/api", inner.clone())
        .nest("/t/{tenant}", inner.clone())
        .nest_service("/svc", inner)
        .fallback(async || "fallback")
        .layer(layer);
    for (method, path) in [
        ("GET", "/y"), ("POST", "/y"), ("GET", "/nowhere"), ("GET", "/api/x/1"), ("GET", "/api/nowhere/2"),
        ("GET", "/t/ann/x/1"), ("GET", "/t/bob/zzz"), ("GET", "/svc/x/1"), ("GET", "/svc/nothing"), ("FOO", "/api/x/1"),
        ("HEAD", "/y"), ("GET", "/api/all/a/b/c"), ("GET", "/api"), ("GET", "/api/"), ("GET", "/y/"), ("GET", "//y"),
    ] {
        let got = code(&router, method, path).await;
        println!("{method} {path} {got:?} {:?}", seen.lock().expect("p").drain(..).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_header_that_is_there_twice_is_not_one_that_is_missing() {
    // The service takes the first, as many do.
    for missing in [MissingKey::Allow, MissingKey::Shared] {
        let rules = Rules::builder().default(per_minute(2)).exact((), per_minute(1_000)).build().expect("it");
        let layer = RateLimitLayer::builder(limiter(rules).0, ApiKey::new()).missing_key(missing).build().expect("it");
        let service = layer.layer(common::service(&Arc::default()));
        let mut served = 0;
        for _ in 0..10 {
            let request = Request::get("/").header("x-api-key", "k-1").header("x-api-key", "k-1").body(()).expect("it");
            served += u32::from(service.clone().oneshot(request).await.expect("it").status() == 200);
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
        .route("/batch", any(move |request: axum::extract::Request| {
            let inner = inner.clone();
            async move {
                let (parts, _) = request.into_parts();
                let mut served = 0;
                for _ in 0..100 {
                    let mut one = Request::new(axum::body::Body::empty());
                    *one.uri_mut() = "/work".parse().expect("it");
                    *one.extensions_mut() = parts.extensions.clone();
                    served += u32::from(inner.clone().oneshot(one).await.expect("it").status() == 200);
                }
                served.to_string()
            }
        }))
        .layer(layer);
    let mut request = Request::post("/batch").body(axum::body::Body::empty()).expect("it");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 5))));
    let answer = router.oneshot(request).await.expect("it");
    let text = axum::body::to_bytes(answer.into_body(), 99).await.expect("it");
    println!("served of 100 at 5/min: {}", String::from_utf8_lossy(&text));
    assert_ne!(text, "100");
}

#[tokio::test]
async fn stacks_of_tower() {
    let (limiter, _) = limiter(per_minute(100));
    let layer = RateLimitLayer::builder(limiter.clone(), "all").build().expect("it");
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(4)
        .layer(layer.clone())
        .timeout(Duration::from_secs(1))
        .service(common::service(&Arc::default()));
    for _ in 0..3 {
        assert_eq!(service.clone().oneshot(common::get("ann", "/")).await.expect("it").status(), 200);
    }
    assert_eq!(limiter.peek("all", 0).remaining(), 97);
    let _ = Header::new("x").expect("it").with_key(Head::of(&Request::new(())), &mut |_: Key<'_>| ());
}

//! The layer in servers on the loopback interface: what it admits over many connections, and what is answered.
#![cfg(feature = "axum")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::wire::{Answer, Client, limiter, listen, run, serve};
use axum::error_handling::HandleErrorLayer;
use axum::extract::ConnectInfo;
use axum::routing::{MethodRouter, get};
use axum::{Extension, Router};
use brimful::{Limit, Limiter};
use brimful_tower::{PeerIp, RateLimitLayer};
use http::{Method, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::time::Instant;
use tower::{BoxError, ServiceBuilder};

/// What a server says when it answers.
const SERVED: &str = "served";

fn limit(spec: &str) -> Limit {
    spec.parse().expect("a limit")
}

fn layer(spec: &str) -> RateLimitLayer {
    RateLimitLayer::new(limiter(limit(spec)).0, PeerIp::new())
}

fn router() -> Router {
    Router::new().route("/", get(async || SERVED))
}

/// Serves what `make` makes for each connection.
async fn serve_each(make: impl Fn() -> Router + Send + 'static) -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let service = TowerToHyperService::new(make().layer(Extension(ConnectInfo(peer))));
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

/// HTTP/1 and HTTP/2 in turn.
fn version(nth: usize) -> Version {
    if nth.is_multiple_of(2) { Version::HTTP_11 } else { Version::HTTP_2 }
}

/// Sends requests over so many connections, a group of them open and busy at once, and counts those that were
/// served and those that were denied.
async fn count(address: SocketAddr, connections: usize, requests: usize) -> [usize; 2] {
    let [mut served, mut denied] = [0; 2];
    let all: Vec<usize> = (0..connections).collect();
    for group in all.chunks(crate::wire::most_connections()) {
        let mut clients = Vec::new();
        for nth in group {
            clients.push((version(*nth), Client::connect(address, version(*nth)).await));
        }
        let tasks = clients.into_iter().map(|(version, mut client)| {
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for _ in 0..requests {
                    let answer = client.get("/").await;
                    assert_eq!(answer.version, version);
                    answers.push(answer);
                }
                // Open until all have been answered.
                (client, answers)
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut open = Vec::new();
        for task in tasks {
            let (client, answers) = task.await.expect("answers");
            open.push(client);
            for answer in answers {
                if answer.code() == 200 {
                    assert_eq!(answer.body, SERVED);
                    served += 1;
                } else {
                    whole_denial(&answer);
                    denied += 1;
                }
            }
        }
    }
    [served, denied]
}

/// A denial by one spent limit, with all that belongs to it.
fn whole_denial(answer: &Answer) {
    assert_eq!(answer.code(), 429);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.number("content-length"), Some(answer.body.len() as u64));
    let secs = answer.number("retry-after").expect("Retry-After");
    assert!(secs >= 1);
    let [policies, limits] = [answer.policies(), answer.limits()];
    assert_eq!((policies.len(), limits.len()), (1, 1));
    assert_eq!((&limits[0].0, limits[0].1), (&policies[0].0, 0));
    let problem = answer.json();
    let members: Vec<&str> = problem.as_object().expect("an object").keys().map(|k| &**k).collect();
    let mut expected = ["type", "title", "status", "detail", "violated-policies", "retry-after-ms"];
    expected.sort_unstable();
    assert_eq!(members, expected);
    assert_eq!((&problem["status"], &problem["title"]), (&429.into(), &"Too Many Requests".into()));
    assert_eq!(problem["violated-policies"], serde_json::json!([policies[0].0]));
    let millis = problem["retry-after-ms"].as_u64().expect("a number");
    assert_eq!(millis.div_ceil(1_000), secs);
    let detail = format!("too many requests; retry after {secs} s");
    assert_eq!(problem["detail"], detail);
}

#[test]
fn over_all_connections_as_many_requests_are_served_as_there_are_tokens() {
    run(async {
        let address = serve(router().layer(layer("1/day burst 100"))).await;
        assert_eq!(count(address, 50, 10).await, [100, 400]);
        let layer = layer("1/day burst 100");
        let address = serve_each(move || router().layer(layer.clone())).await;
        assert_eq!(count(address, 50, 10).await, [100, 400]);
    });
}

#[test]
fn a_limit_is_one_however_often_a_server_clones_it() {
    // The case, its limit, connections, served and denied.
    let (case, spec, connections, expected) = (144, "5/s", 1_500, [5, 1_495]);
    // By axum, which clones the router for each connection; cloned by hand; and the layer put around anew.
    let whole = router().layer(layer(spec));
    let (cloned, layered) = (router().layer(layer(spec)), layer(spec));
    run(async {
        let address = serve(whole).await;
        assert_eq!(count(address, connections, 1).await, expected, "case {case}: axum");
        let address = serve_each(move || cloned.clone()).await;
        assert_eq!(count(address, connections, 1).await, expected, "case {case}: clones");
        let address = serve_each(move || router().layer(layered.clone())).await;
        assert_eq!(count(address, connections, 1).await, expected, "case {case}: layers");
    });
}

#[test]
fn in_real_time_no_more_is_served_than_capacity_and_rate() {
    let limit = limit("50/s");
    let (capacity, rate) = (u128::from(limit.capacity()), 50);
    let limiter = Limiter::new(limit).expect("a limiter");
    let layer = RateLimitLayer::new(limiter, PeerIp::new());
    run(async {
        let address = serve(router().layer(layer)).await;
        let mut clients = Vec::new();
        for nth in 0..4 {
            clients.push(Client::connect(address, version(nth)).await);
        }
        let begun = Instant::now();
        let tasks = clients.into_iter().map(|mut client| {
            tokio::spawn(async move {
                let mut served: u128 = 0;
                // Enough to spend the capacity, then as many as a second takes.
                for nth in 0..100_000 {
                    if nth > 50 && begun.elapsed() > Duration::from_secs(1) {
                        break;
                    }
                    served += u128::from(client.get("/").await.code() == 200);
                }
                served
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut served = 0;
        for task in tasks {
            served += task.await.expect("a count");
        }
        // All of it lies between these two readings, so a slow machine only widens the bound.
        let elapsed = begun.elapsed().as_nanos();
        println!("{served} served in {elapsed} ns");
        assert!(served >= capacity, "{served}");
        let most = capacity * 1_000_000_000 + rate * elapsed;
        assert!(served * 1_000_000_000 <= most, "{served} in {elapsed} ns");
    });
}

/// Puts layers around what a router has.
type Around = fn(Router) -> Router;

#[test]
fn a_denial_is_whole_whatever_layers_are_around() {
    let failed = |fault: BoxError| async move { (StatusCode::BAD_GATEWAY, fault.to_string()) };
    let around: [(&str, Around); 4] = [
        ("nothing", |router| router),
        ("headers for browsers", |router| router.layer(tower_http::cors::CorsLayer::permissive())),
        ("a function", |router| {
            router.layer(axum::middleware::from_fn(
                |request: axum::extract::Request, next: axum::middleware::Next| next.run(request),
            ))
        }),
        ("a router", |router| Router::new().fallback_service(router)),
    ];
    // The case, its limit, how many are served.
    let (case, spec, served) = (147, "1/min burst 20", 20);
    let mut routers: Vec<(&str, Router)> =
        around.map(|(name, around)| (name, around(router().layer(layer(spec))))).into();
    let stack = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(failed))
        .load_shed()
        .concurrency_limit(10)
        .timeout(crate::wire::PATIENCE);
    routers.push(("errors", router().layer(layer(spec)).layer(stack)));
    let within = ServiceBuilder::new()
        .layer(layer(spec))
        .layer(HandleErrorLayer::new(failed))
        .load_shed()
        .concurrency_limit(10);
    routers.push(("errors within", router().layer(within)));
    run(async {
        for (name, router) in routers {
            let address = serve(router).await;
            for version in [Version::HTTP_11, Version::HTTP_2] {
                let mut client = Client::connect(address, version).await;
                for nth in 0..served {
                    let answer = client.get("/").await;
                    let is_first = version == Version::HTTP_11;
                    let code = if is_first { 200 } else { 429 };
                    assert_eq!(answer.code(), code, "case {case}: {name}, {nth}");
                }
                whole_denial(&client.get("/").await);
            }
        }
    });
}

#[test]
fn a_layer_that_is_applied_twice_charges_once() {
    // The case, the limit of all and of the route, requests, what the limit of all has left.
    let (case, all, route, requests, left) = (151, "600/min", "300/min", 300, 300);
    let (limiter_of_all, _) = limiter(limit(all));
    let layer_of_all = RateLimitLayer::new(limiter_of_all.clone(), PeerIp::new());
    let served = Arc::new(AtomicU64::new(0));
    let counter = served.clone();
    let handler = async move || counter.fetch_add(1, Ordering::Relaxed).to_string();
    let both = ServiceBuilder::new().layer(layer_of_all.clone()).layer(layer(route));
    let decorated: MethodRouter = get(handler).layer(both);
    let router = Router::new().route("/", decorated).layer(layer_of_all.clone());
    let router = router.layer(layer_of_all);
    run(async {
        let mut client = Client::connect(serve(router).await, Version::HTTP_2).await;
        for nth in 0..requests {
            assert_eq!(client.get("/").await.code(), 200, "case {case}, {nth}");
        }
        let peer = std::net::IpAddr::from([127, 0, 0, 1]);
        assert_eq!(limiter_of_all.peek(peer, 0).remaining(), left, "case {case}");
        // The route's own limit is the one that denies then.
        let denied = client.get("/").await;
        assert_eq!((denied.code(), served.load(Ordering::Relaxed)), (429, requests));
        let violated = denied.json()["violated-policies"].clone();
        assert_eq!(violated, serde_json::json!(["300/min"]), "case {case}");
    });
}

#[test]
fn a_connection_goes_on_after_a_denial() {
    run(async {
        let (limiter, clock) = limiter(limit("1 per 10s"));
        let router = router().layer(RateLimitLayer::new(limiter, PeerIp::new()));
        let address = serve(router).await;
        for version in [Version::HTTP_11, Version::HTTP_2] {
            clock.advance(Duration::from_secs(10));
            let mut client = Client::connect(address, version).await;
            for _ in 0..3 {
                assert_eq!(client.get("/").await.code(), 200);
                whole_denial(&client.get("/").await);
                // Without a body, and with what describes it.
                let head = client.send(Method::HEAD, "/", &[]).await;
                assert_eq!((head.code(), head.body.len()), (429, 0));
                assert_eq!(head.header("content-type"), Some("application/problem+json"));
                assert_eq!(head.number("retry-after"), Some(10));
                whole_denial(&client.get("/").await);
                clock.advance(Duration::from_secs(10));
                let head = client.send(Method::HEAD, "/", &[]).await;
                assert_eq!((head.code(), head.body.len()), (200, 0));
                assert_eq!(head.limits()[0].1, 0);
                clock.advance(Duration::from_secs(10));
            }
        }
    });
}

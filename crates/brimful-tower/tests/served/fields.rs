//! What responses tell of limits, as clients read it from a connection.
#![cfg(feature = "axum")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::wire::{Answer, Client, Named, limiter, run, serve};
use axum::Router;
use axum::routing::{MethodRouter, get};
use brimful::{Algorithm, Limit, Nanos, Policy, Rules};
use brimful_tower::{HEADERS, PeerIp, RateLimitBuilder, RateLimitLayer};
use http::{Method, Version};
use tower_http::cors::CorsLayer;

fn limit(spec: &str) -> Limit {
    spec.parse().expect("a limit")
}

fn windowed(spec: &str) -> Limit {
    limit(spec).algorithm(Algorithm::FixedWindow).expect("an algorithm")
}

/// A layer of its own limiter that also writes the older headers.
fn layer(policy: impl Into<Policy>) -> RateLimitLayer {
    let rules = Rules::builder().default(policy).build().expect("rules");
    built(RateLimitLayer::builder(limiter(rules).0, PeerIp::new()))
}

fn built(builder: RateLimitBuilder) -> RateLimitLayer {
    builder.legacy_fields(true).build().expect("a layer")
}

fn router() -> Router {
    Router::new().route("/", get(async || "served"))
}

/// What holds of every response that tells of limits, allowed or denied.
fn check(answer: &Answer) {
    let [policies, limits] = [answer.policies(), answer.limits()];
    let names: BTreeSet<&str> = policies.iter().map(|(name, ..)| &**name).collect();
    assert_eq!(names.len(), policies.len(), "{answer:?}");
    let told: BTreeSet<&str> = limits.iter().map(|(name, ..)| &**name).collect();
    assert_eq!(told.len(), limits.len(), "{answer:?}");
    for (name, q, w) in &policies {
        assert!(*q >= 1 && *w >= 1, "{name}: {answer:?}");
    }
    for (name, r, _) in &limits {
        let (_, q, _) = policies.iter().find(|policy| policy.0 == *name).expect("its policy");
        assert!(r <= q, "{answer:?}");
    }
    // The older ones are those of one of the limits.
    let [most, left, reset] = ["limit", "remaining", "reset"]
        .map(|name| answer.number(&format!("x-ratelimit-{name}")).expect("a number"));
    assert!(policies.iter().any(|policy| policy.1 == most), "{answer:?}");
    assert!(limits.iter().any(|limit| limit.1 == left), "{answer:?}");
    assert!(left <= most && (left == most || reset >= 1), "{answer:?}");
    match answer.code() {
        200 => assert_eq!(answer.header("retry-after"), None, "{answer:?}"),
        429 => assert!(answer.number("retry-after").is_none_or(|secs| secs >= 1), "{answer:?}"),
        code => panic!("{code}: {answer:?}"),
    }
}

/// So many requests over both versions of HTTP, each checked.
async fn answers(router: Router, requests: usize) -> Vec<Answer> {
    let address = serve(router).await;
    let mut clients = Vec::new();
    for version in [Version::HTTP_11, Version::HTTP_2] {
        clients.push(Client::connect(address, version).await);
    }
    let mut answers = Vec::new();
    for nth in 0..requests {
        let answer = clients[nth % 2].get("/").await;
        check(&answer);
        answers.push(answer);
    }
    answers
}

fn codes(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(Answer::code).collect()
}

#[test]
fn every_response_has_one_set_of_fields_however_layers_are_stacked() {
    let policy = |specs: &[&str]| Policy::parse(specs.iter().copied()).expect("a policy");
    let stacks = [
        vec![policy(&["3/min"])],
        vec![policy(&["3/min", "100/h", "1000/day"])],
        vec![policy(&["3/min"]), policy(&["5/min"])],
        vec![policy(&["5/min"]), policy(&["3/min"])],
        // Limits of one name, each with its own count.
        vec![policy(&["3/min"]), policy(&["3/min"])],
        vec![policy(&["5/min", "9/h"]), policy(&["4/min"]), policy(&["3/min"])],
        vec![policy(&["3/min"]), policy(&["3/min"]), policy(&["3/min", "3/h"])],
        // A name of what separates items and parameters elsewhere.
        vec![policy(&["a,b;c'=: 3/min"])],
    ];
    run(async {
        for policies in stacks {
            let total: usize = policies.iter().map(|policy| policy.limits().len()).sum();
            let layers = policies.len();
            // The first is the outermost.
            let layers_of = policies.iter().rev();
            let router =
                layers_of.fold(router(), |router, policy| router.layer(layer(policy.clone())));
            let answers = answers(router, 6).await;
            assert_eq!(codes(&answers), [200, 200, 200, 429, 429, 429], "{policies:?}");
            // Those that were served went through all layers, the others through those up to the one that denied.
            for answer in &answers[..3] {
                assert_eq!((answer.policies().len(), answer.limits().len()), (total, layers));
            }
            for answer in &answers[3..] {
                assert!((1..=total).contains(&answer.policies().len()));
            }
        }
    });
}

#[test]
fn a_hint_is_not_earlier_than_the_end_of_the_window() {
    // Of every algorithm and of several limits, for a request of one and for one of two.
    let with = |algorithm| limit("3 per 10s").algorithm(algorithm).expect("an algorithm");
    let alone = [
        Algorithm::TokenBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingWindow,
    ];
    let alone = alone.map(|algorithm| Policy::from(with(algorithm)));
    let several = Policy::parse(["2/s", "3 per 10s", "4/min"]).expect("a policy");
    run(async {
        for policy in alone.into_iter().chain([several]) {
            for cost in [1, 2] {
                let rules = Rules::builder().default(policy.clone()).build().expect("rules");
                let layer = RateLimitLayer::builder(limiter(rules).0, PeerIp::new());
                let layer = built(layer.cost(move |_| cost));
                let answers = answers(router().layer(layer), 6).await;
                let denied = answers.iter().filter(|answer| answer.code() == 429);
                assert!(denied.clone().count() >= 3, "{policy:?}");
                for answer in denied {
                    let secs = answer.number("retry-after").expect("a hint");
                    let limits = answer.limits();
                    assert!(limits.iter().all(|(_, _, t)| *t <= secs), "{answer:?}");
                }
            }
        }
    });
}

#[test]
fn what_no_wait_can_help_has_no_hint() {
    let (limiter, _) = limiter(limit("5/min"));
    let never = RateLimitLayer::builder(limiter, PeerIp::new()).cost(|_| 6);
    run(async {
        for answer in answers(router().layer(built(never)), 2).await {
            assert_eq!((answer.code(), answer.header("retry-after")), (429, None));
            assert_eq!(
                (answer.limits()[0].1, answer.json()["retry-after-ms"].is_null()),
                (5, true)
            );
        }
    });
}

#[test]
fn a_wait_is_rounded_up_and_told_exactly_beside() {
    // The case, the limit, milliseconds between two requests, the hint, and what is exact in the body.
    for (case, spec, between, secs, millis) in [
        (67, "5/s burst 1", 1, 1, 199),
        (67, "5/s burst 1", 199, 1, 1),
        (67, "1/s burst 1", 0, 1, 1_000),
        (67, "1/min burst 1", 1, 60, 59_999),
    ] {
        let (limiter, clock) = limiter(limit(spec));
        let router = router().layer(RateLimitLayer::new(limiter, PeerIp::new()));
        run(async {
            let mut client = Client::connect(serve(router).await, Version::HTTP_11).await;
            assert_eq!(client.get("/").await.code(), 200);
            clock.advance(Duration::from_millis(between));
            let denied = client.get("/").await;
            assert_eq!(
                (denied.code(), denied.number("retry-after")),
                (429, Some(secs)),
                "case {case}"
            );
            assert_eq!(denied.json()["retry-after-ms"], millis, "case {case}");
        });
    }
}

#[test]
fn what_is_served_tells_what_is_left_and_nothing_below_zero() {
    // The case, the limit, what is left after the first request, when it is as before at the latest.
    for (case, spec, left, within) in [(80, "2/min", 1, 60), (80, "2/min burst 2", 1, 60)] {
        for limit in [limit(spec), windowed("2/min")] {
            run(async {
                let answer = answers(router().layer(layer(limit)), 1).await.remove(0);
                assert_eq!(
                    (answer.code(), answer.header("retry-after")),
                    (200, None),
                    "case {case}"
                );
                let (_, r, t) = answer.limits().remove(0);
                assert_eq!((r, answer.number("x-ratelimit-remaining")), (left, Some(left)));
                assert!((1..=within).contains(&t), "case {case}: {t}");
                let reset = answer.number("x-ratelimit-reset").expect("a number");
                assert!((1..=within).contains(&reset), "case {case}: {reset}");
            });
        }
    }
}

#[test]
fn a_time_of_zero_is_told_too() {
    // The case, and what is told of a key that owes nothing.
    let (case, left) = (85, 2);
    let (limiter, _) = limiter(limit("2/min"));
    let looking = RateLimitLayer::builder(limiter, PeerIp::new()).cost(|_| 0);
    run(async {
        for answer in answers(router().layer(built(looking)), 2).await {
            let limits = answer.limits();
            assert_eq!((limits.len(), limits[0].1), (1, left), "case {case}");
            assert_eq!(answer.number("x-ratelimit-reset"), Some(0), "case {case}");
        }
    });
}

#[test]
fn the_limit_that_binds_is_told() {
    // The case, the limits around and within, and what is told of three requests: limit and what is left.
    let rows = [
        (101, "10 per 60s", "2 per 50s", [(2, 1), (2, 0), (2, 0)]),
        (102, "20/min", "2/min", [(2, 1), (2, 0), (2, 0)]),
    ];
    for (case, around, within, told) in rows {
        // One layer around another, and one that has both limits.
        let both = Policy::new([windowed(around), windowed(within)]).expect("a policy");
        let within_route: MethodRouter = get(async || "served").layer(begun(windowed(within)));
        let stacked = Router::new().route("/", within_route).layer(begun(windowed(around)));
        for router in [stacked, router().layer(begun(both))] {
            run(async {
                let answers = answers(router, 3).await;
                let older = |name: &str, answer: &Answer| answer.number(name).expect("a number");
                let of = |answer: &Answer| {
                    let names = ["x-ratelimit-limit", "x-ratelimit-remaining"];
                    let [limit, left] = names.map(|name| older(name, answer));
                    (limit, left)
                };
                assert_eq!(answers.iter().map(of).collect::<Vec<_>>(), told, "case {case}");
                assert_eq!(codes(&answers), [200, 200, 429], "case {case}");
                for (answer, (_, left)) in answers.iter().zip(told) {
                    let name = limit(within).name().to_owned();
                    let binding = answer.limits().into_iter().find(|item| item.0 == name);
                    assert_eq!(binding.expect("the limit that binds").1, left, "case {case}");
                }
                if case == 101 {
                    let resets =
                        [&answers[0], &answers[2]].map(|answer| older("x-ratelimit-reset", answer));
                    assert!(resets.iter().all(|reset| *reset >= 50), "case {case}: {resets:?}");
                    assert_eq!(older("retry-after", &answers[2]), 50, "case {case}");
                }
            });
        }
    }
}

/// A layer whose time stands at the beginning of a window, of 50 as of 60 seconds.
fn begun(policy: impl Into<Policy>) -> RateLimitLayer {
    let rules = Rules::builder().default(policy).build().expect("rules");
    let (limiter, clock) = limiter(rules);
    clock.set(Nanos::from_secs(300 * 10_000));
    built(RateLimitLayer::builder(limiter, PeerIp::new()))
}

#[test]
fn a_denial_can_be_read_by_scripts_of_other_origins() {
    // The case, and the origin that asks.
    let (case, origin) = (104, "https://page.test");
    let cors = CorsLayer::new()
        .allow_origin([origin.parse().expect("an origin")])
        .allow_headers(["x-client".parse().expect("a name")])
        .expose_headers(HEADERS);
    let limited = RateLimitLayer::new(limiter(limit("1/min")).0, Named);
    // What is added last is the outermost.
    let router = router().layer(limited).layer(cors);
    run(async {
        let address = serve(router).await;
        for (version, code) in [(Version::HTTP_11, 200), (Version::HTTP_2, 429)] {
            let mut client = Client::connect(address, version).await;
            let headers = [("origin", origin), ("x-client", "ann")];
            let answer = client.send(Method::GET, "/", &headers).await;
            assert_eq!(answer.code(), code, "case {case}");
            assert_eq!(answer.header("access-control-allow-origin"), Some(origin), "case {case}");
            let exposed = answer.header("access-control-expose-headers").expect("names");
            let exposed: BTreeSet<&str> = exposed.split(',').map(str::trim).collect();
            for name in answer.headers.keys() {
                let is_limits = name.as_str().contains("ratelimit") || name == "retry-after";
                assert!(!is_limits || exposed.contains(name.as_str()), "case {case}: {name}");
            }
            assert_eq!(answer.header("retry-after").is_some(), code == 429, "case {case}");
            // A browser asks before it asks, without the key, and is answered before the limit.
            let headers = [
                ("origin", origin),
                ("access-control-request-method", "GET"),
                ("access-control-request-headers", "x-client"),
            ];
            let asked = client.send(Method::OPTIONS, "/", &headers).await;
            assert_eq!((asked.code(), asked.header("ratelimit")), (200, None), "case {case}");
        }
    });
}

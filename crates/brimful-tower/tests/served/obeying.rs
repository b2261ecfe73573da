//! A client that does what it is told is never denied again, over a real connection, by a clock that stands still
//! in between.
#![cfg(feature = "axum")]

use std::sync::Arc;
use std::time::Duration;

use crate::wire::{Answer, Client, Named, limiter, run, serve};
use axum::Router;
use axum::routing::get;
use brimful::{Algorithm, Clock, Limit, ManualClock, Nanos, Policy, Rules};
use brimful_tower::RateLimitLayer;
use http::{Method, Version};

/// Requests that are served of each limit.
const REQUESTS: u64 = 1_000;

fn limit(spec: &str, algorithm: Algorithm) -> Limit {
    let limit: Limit = spec.parse().expect("a limit");
    limit.algorithm(algorithm).expect("an algorithm")
}

/// Limits of every algorithm, with and without a burst, slower and faster than whole seconds, alone and together.
fn policies() -> Vec<(String, Policy)> {
    use Algorithm::{FixedWindow, SlidingLog, SlidingWindow, TokenBucket};
    let alone = [
        ("1/s", TokenBucket),
        ("7/s burst 1", TokenBucket),
        ("3 per 10s", TokenBucket),
        ("3 per 10s burst 5", TokenBucket),
        ("7/min burst 20", TokenBucket),
        ("1/day burst 3", TokenBucket),
        ("1/s", FixedWindow),
        ("3 per 10s", FixedWindow),
        ("1/s", SlidingLog),
        ("3 per 10s", SlidingLog),
        ("1/s", SlidingWindow),
        ("3 per 10s", SlidingWindow),
        ("7 per 1500ms", SlidingWindow),
    ];
    let alone = alone.map(|(spec, algorithm)| {
        (format!("{spec} {algorithm:?}"), Policy::from(limit(spec, algorithm)))
    });
    let together = Policy::new([
        limit("2/s", TokenBucket),
        limit("5 per 10s", FixedWindow),
        limit("9 per 30s", SlidingLog),
    ]);
    let together = ("three limits".to_owned(), together.expect("a policy"));
    alone.into_iter().chain([together]).collect()
}

/// A server of one policy, a connection to it, and its clock.
async fn server(policy: Policy) -> (Client, Arc<ManualClock>) {
    let rules = Rules::builder().default(policy).build().expect("rules");
    let (limiter, clock) = limiter(rules);
    let layer = RateLimitLayer::new(limiter, Named);
    let address = serve(Router::new().route("/", get(async || "served")).layer(layer)).await;
    (Client::connect(address, Version::HTTP_2).await, clock)
}

async fn ask(client: &mut Client, name: &str) -> Answer {
    client.send(Method::GET, "/", &[("x-client", name)]).await
}

#[test]
fn who_waits_for_retry_after_is_served() {
    run(async {
        for (name, policy) in policies() {
            let (mut client, clock) = server(policy).await;
            let mut denials = 0;
            for nth in 0..REQUESTS {
                let mut answer = ask(&mut client, "ann").await;
                if answer.code() == 429 {
                    denials += 1;
                    let secs = answer.number("retry-after").expect("a hint");
                    assert!(secs >= 1, "{name}, {nth}: {answer:?}");
                    clock.advance(Duration::from_secs(secs));
                    answer = ask(&mut client, "ann").await;
                }
                assert_eq!(answer.code(), 200, "{name}, {nth}: {answer:?}");
                assert_eq!(answer.header("retry-after"), None);
            }
            // It asked for more than there was.
            assert!(denials > REQUESTS / 10, "{name}: {denials}");
        }
    });
}

#[test]
fn who_waits_for_the_exact_wait_is_served_and_a_millisecond_sooner_is_not() {
    run(async {
        for (name, policy) in policies() {
            let (mut client, clock) = server(policy).await;
            let millis = Duration::from_millis;
            let mut hasty = 0;
            for nth in 0..REQUESTS / 4 {
                let denied = ask(&mut client, "ann").await;
                if denied.code() == 200 {
                    continue;
                }
                // Rounded up: the wait lies within the last millisecond of it.
                let wait = denied.json()["retry-after-ms"].as_u64().expect("a hint");
                clock.advance(millis(wait - 1));
                let sooner = ask(&mut client, "ann").await;
                assert_eq!(sooner.code(), 429, "{name}, {nth}: {denied:?}");
                assert_eq!(sooner.json()["retry-after-ms"], 1, "{name}, {nth}: {denied:?}");
                hasty += 1;
                clock.advance(millis(1));
                assert_eq!(ask(&mut client, "ann").await.code(), 200, "{name}, {nth}: {denied:?}");
            }
            assert!(hasty > REQUESTS / 100, "{name}: {hasty}");
        }
    });
}

#[test]
fn several_clients_that_obey_are_never_denied_twice() {
    run(async {
        for (name, policy) in policies() {
            let (mut client, clock) = server(policy).await;
            let clients = ["ann", "bob", "eve", "joe", "zoe"];
            // When they may come again.
            let mut waits = [None::<Nanos>; 5];
            let mut denials = 0;
            for nth in 0..REQUESTS {
                let who = usize::try_from(nth % 5).expect("small");
                let told = waits[who].take();
                if let Some(time) = told {
                    // It may be later already, as the others waited too.
                    clock.set(time.max(clock.now()));
                }
                let answer = ask(&mut client, clients[who]).await;
                if answer.code() == 429 {
                    assert!(told.is_none(), "{name}, {nth}: {answer:?}");
                    let secs = answer.number("retry-after").expect("a hint");
                    waits[who] = Some(clock.now() + Duration::from_secs(secs));
                    denials += 1;
                }
            }
            assert!(denials > REQUESTS / 10, "{name}: {denials}");
        }
    });
}

#[test]
fn who_waits_for_t_when_nothing_is_left_is_never_denied() {
    run(async {
        for (name, policy) in policies() {
            let (mut client, clock) = server(policy).await;
            let mut waits = 0;
            for nth in 0..REQUESTS {
                let answer = ask(&mut client, "ann").await;
                assert_eq!(answer.code(), 200, "{name}, {nth}: {answer:?}");
                // The limit that has the least.
                let limits = answer.limits();
                if let Some((_, 0, t)) = limits.iter().min_by_key(|(_, r, _)| *r) {
                    assert!(*t >= 1, "{name}, {nth}: {answer:?}");
                    clock.advance(Duration::from_secs(*t));
                    waits += 1;
                }
            }
            assert!(waits > REQUESTS / 30, "{name}: {waits}");
        }
    });
}

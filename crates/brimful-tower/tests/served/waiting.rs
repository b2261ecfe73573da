//! Requests that wait at a server for their tokens, in real time: what holds on any machine.
#![cfg(all(feature = "axum", feature = "wait"))]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::wire::{Answer, Client, run, serve};
use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use brimful::{Limit, Limiter};
use brimful_tower::{ApiKey, RateLimitLayer};
use http::{Method, Version};
use tokio::time::Instant;

/// The clients that were served, in the order in which they were.
type Served = Arc<Mutex<Vec<String>>>;

struct Server {
    address: std::net::SocketAddr,
    limiter: Arc<Limiter>,
    served: Served,
}

async fn server(spec: &str, most: u64, most_per_key: u64, within: Duration) -> Server {
    let limit: Limit = spec.parse().expect("a limit");
    let limiter = Limiter::builder(limit).max_waiters(most).max_waiters_per_key(most_per_key);
    let limiter = limiter.max_wait(Duration::MAX).build().expect("a limiter");
    let limiter = Arc::new(limiter);
    let layer = RateLimitLayer::builder(limiter.clone(), ApiKey::new()).build_waiting(within);
    let served = Served::default();
    let seen = served.clone();
    let handler = async move |headers: HeaderMap| {
        let client = headers["x-api-key"].to_str().expect("text").to_owned();
        seen.lock().expect("no panics").push(client);
        "served"
    };
    let router = Router::new().route("/", get(handler)).layer(layer.expect("a layer"));
    Server { address: serve(router).await, limiter, served }
}

impl Server {
    /// Requests at once, each over a connection of its own, and their answers in the same order.
    async fn ask(&self, names: &[&str]) -> Vec<Answer> {
        let mut clients = Vec::new();
        for nth in 0..names.len() {
            let version = [Version::HTTP_11, Version::HTTP_2][nth % 2];
            clients.push(Client::connect(self.address, version).await);
        }
        let tasks = clients.into_iter().zip(names).map(|(mut client, name)| {
            let name = (*name).to_owned();
            tokio::spawn(
                async move { client.send(Method::GET, "/", &[("x-api-key", &name)]).await },
            )
        });
        let tasks: Vec<_> = tasks.collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.expect("an answer"));
        }
        answers
    }

    /// Goes on when so many wait. (It is the patience of the test that ends it otherwise.)
    async fn waiters_are(&self, waiters: u64) {
        while self.limiter.stats().waiters != waiters {
            tokio::task::yield_now().await;
        }
    }

    /// Nobody waits any more, and nothing is held.
    fn is_at_rest(&self) -> bool {
        let stats = self.limiter.stats();
        (stats.waiters, stats.reservations) == (0, 0)
    }
}

#[test]
fn requests_beyond_the_limit_are_served_when_their_turn_comes() {
    run(async {
        let server = server("100/s burst 1", 1_000, 1_000, crate::wire::PATIENCE).await;
        let begun = Instant::now();
        let answers = server.ask(&["ann"; 50]).await;
        let elapsed = begun.elapsed();
        assert!(answers.iter().all(|answer| answer.code() == 200 && answer.body == "served"));
        assert!(answers.iter().all(|answer| answer.header("retry-after").is_none()));
        // One at once, the others 10 ms apart: they cannot have been faster, however slow the machine. (What is missing
        // from 490 ms is more than two clocks differ by.)
        assert!(elapsed >= Duration::from_millis(485), "{elapsed:?}");
        assert_eq!(server.served.lock().expect("no panics").len(), 50);
        assert!(server.is_at_rest());
    });
}

#[test]
fn those_that_wait_delay_no_other_client() {
    run(async {
        // A token a day: who waits for one is still waiting when the others were served.
        let server = Arc::new(server("1/day", 1_000, 1_000, Duration::MAX).await);
        assert_eq!(server.ask(&["ann"]).await[0].code(), 200);
        let waiting = tokio::spawn({
            let server = server.clone();
            async move { server.ask(&["ann"; 10]).await }
        });
        server.waiters_are(10).await;
        let names: Vec<String> = (0..20).map(|nth| nth.to_string()).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        assert!(server.ask(&names).await.iter().all(|answer| answer.code() == 200));
        assert_eq!(server.served.lock().expect("no panics").len(), 21);
        assert_eq!(server.limiter.stats().waiters, 10);
        // The limiter ends, and so does the waiting.
        server.limiter.close();
        let answers = waiting.await.expect("answers");
        assert!(answers.iter().all(|answer| answer.code() == 503), "{answers:?}");
        assert!(server.is_at_rest());
    });
}

#[test]
fn beyond_the_bounds_requests_are_denied_at_once() {
    run(async {
        // Five may wait, for a token that comes in a day: the others are answered, while they wait.
        for (most, most_per_key, within) in [(1_000, 5, Duration::MAX), (5, 1_000, Duration::MAX)] {
            let server = Arc::new(server("1/day", most, most_per_key, within).await);
            assert_eq!(server.ask(&["ann"]).await[0].code(), 200);
            let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
            for _ in 0..50 {
                let (server, send) = (server.clone(), send.clone());
                tokio::spawn(async move { send.send(server.ask(&["ann"]).await.remove(0)) });
            }
            for _ in 0..45 {
                let answer = receive.recv().await.expect("an answer");
                assert_eq!(answer.code(), 429, "{answer:?}");
            }
            assert_eq!(server.limiter.stats().waiters, 5);
            server.limiter.close();
            for _ in 0..5 {
                assert_eq!(receive.recv().await.expect("an answer").code(), 503);
            }
            assert!(server.is_at_rest());
        }
        // A wait that is known to be too long is none.
        let server = server("1/day", 1_000, 1_000, Duration::from_secs(3_600)).await;
        assert_eq!(server.ask(&["ann"]).await[0].code(), 200);
        for answer in server.ask(&["ann"; 50]).await {
            assert_eq!(answer.code(), 429);
            assert!(answer.number("retry-after").is_some_and(|secs| secs > 3_600), "{answer:?}");
        }
        assert!(server.is_at_rest());
    });
}

#[test]
fn who_hangs_up_gives_up_its_place() {
    run(async {
        let server = Arc::new(server("1/day", 1_000, 1_000, Duration::MAX).await);
        assert_eq!(server.ask(&["ann"]).await[0].code(), 200);
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let mut client = Client::connect(server.address, version).await;
            let waiting = tokio::spawn(async move {
                client.send(Method::GET, "/", &[("x-api-key", "ann")]).await
            });
            server.waiters_are(1).await;
            waiting.abort();
            server.waiters_are(0).await;
        }
        assert_eq!(server.served.lock().expect("no panics").len(), 1);
        assert!(server.is_at_rest());
    });
}

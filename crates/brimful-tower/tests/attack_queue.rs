//! Waiting and what may come in its way.
#![cfg(feature = "wait")]
mod common;
use std::sync::Arc;
use std::task::{Context, Waker};

use brimful::{Key, Limit, Limiter, Overflow, Policy, Rules};
use brimful_observe::{Counters, Outcome};
use brimful_tower::{Head, Missing, RateLimitLayer, RequestKey};
use brimful_wait::tokio::TokioClock;
use common::{get, secs};
use http::Request;
use tower::{Layer, Service, ServiceExt};

struct Client;
impl RequestKey for Client {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let value = head.headers().get("x-client").and_then(|value| value.to_str().ok());
        f(Key::Text(value.ok_or_else(|| Missing::from_client("header x-client"))?));
        Ok(())
    }
}
fn limiter() -> Arc<Limiter> {
    let limit = Limit::per_second(1).and_then(|limit| limit.burst(1)).expect("a limit");
    Arc::new(Limiter::builder(limit).clock(TokioClock::new()).build().expect("a limiter"))
}

#[tokio::test(start_paused = true)]
async fn rules_replaced_while_requests_wait() {
    for after in [Policy::unlimited(), Policy::blocked(), Policy::from(Limit::per_hour(1).expect("l"))] {
        let limiter = limiter();
        let counters = Arc::new(Counters::new());
        let layer = RateLimitLayer::builder(limiter.clone(), Client).observer(counters.clone());
        let service = layer.build_waiting(secs(60)).expect("it").layer(common::service(&Arc::default()));
        let started = tokio::time::Instant::now();
        assert_eq!(service.clone().oneshot(get("ann", "/")).await.expect("it").status(), 200);
        let waits: Vec<_> = (0..3).map(|_| tokio::spawn(service.clone().oneshot(get("ann", "/")))).collect();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        assert_eq!(limiter.stats().waiters, 3);
        limiter.set_rules(Rules::from(after.clone())).expect("rules");
        for wait in waits {
            let answer = tokio::time::timeout(secs(100_000), wait).await.expect("an end").expect("no panic").expect("it");
            println!("{:?} {} {:?} after {:?}", after.limits().len(), answer.status(), answer.headers(), started.elapsed());
        }
        println!("{:?} waiters {}", counters.snapshot().iter().map(|r| (r.outcome, r.requests)).collect::<Vec<_>>(), limiter.stats().waiters);
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_denies_beside_one_that_waits() {
    let limiter = limiter();
    let waits = RateLimitLayer::builder(limiter.clone(), Client).build_waiting(secs(60)).expect("it").layer(common::service(&Arc::default()));
    let denies = RateLimitLayer::new(limiter.clone(), Client).layer(common::service(&Arc::default()));
    waits.clone().oneshot(get("ann", "/")).await.expect("it");
    let waiting: Vec<_> = (0..3).map(|_| tokio::spawn(waits.clone().oneshot(get("ann", "/")))).collect();
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    let answer = denies.clone().oneshot(get("ann", "/")).await.expect("it");
    println!("{} {:?}", answer.status(), answer.headers());
    let wait: u64 = answer.headers()["retry-after"].to_str().expect("t").parse().expect("n");
    tokio::time::sleep(secs(wait)).await;
    let answer = denies.clone().oneshot(get("ann", "/")).await.expect("it");
    println!("{} {:?}", answer.status(), answer.headers());
    assert_eq!(answer.status(), 200);
    for w in waiting { w.await.expect("p").expect("it"); }
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_while_waiting_is_counted() {
    let limiter = limiter();
    let counters = Arc::new(Counters::new());
    let layer = RateLimitLayer::builder(limiter.clone(), Client).observer(counters.clone());
    let service = layer.build_waiting(secs(60)).expect("it").layer(common::service(&Arc::default()));
    for _ in 0..5 {
        let call = service.clone().oneshot(get("ann", "/"));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(5), call).await;
    }
    let sum: u64 = counters.snapshot().iter().map(|row| row.requests).sum();
    println!("{:?}", counters.snapshot().iter().map(|r| (r.outcome, r.requests)).collect::<Vec<_>>());
    assert_eq!(sum, 5);
}

#[tokio::test(start_paused = true)]
async fn closing_and_full_stores() {
    for overflow in [Overflow::Evict, Overflow::Refuse, Overflow::Share] {
        let limit = Limit::per_second(1).and_then(|limit| limit.burst(1)).expect("a limit");
        let limiter = Arc::new(Limiter::builder(limit).clock(TokioClock::new()).max_keys(1).overflow(overflow).max_waiters(10).build().expect("l"));
        let service = RateLimitLayer::builder(limiter.clone(), Client).build_waiting(secs(600)).expect("it").layer(common::service(&Arc::default()));
        let mut tasks = Vec::new();
        for n in 0..40 { tasks.push(tokio::spawn(service.clone().oneshot(get(&format!("c{}", n % 20), "/")))); }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        let mut codes = std::collections::BTreeMap::<String, u32>::new();
        println!("{overflow:?} waiters {}", limiter.stats().waiters);
        for t in tasks {
            let a = tokio::time::timeout(secs(10_000), t).await.expect("an end").expect("p").expect("it");
            *codes.entry(format!("{} {:?}", a.status().as_u16(), a.headers().get("retry-after"))).or_default() += 1;
        }
        println!("{codes:?} waiters {}", limiter.stats().waiters);
        limiter.close();
        let a = service.clone().oneshot(get("c1", "/")).await.expect("it");
        println!("closed {} {:?}", a.status(), a.headers());
    }
}

#[tokio::test(start_paused = true)]
async fn order_and_cancelling_at_each_poll() {
    // Dropped after k polls, for all k: no waiter stays, no token is lost.
    for k in 0..6 {
        let limiter = limiter();
        let mut service = RateLimitLayer::builder(limiter.clone(), Client).build_waiting(secs(60)).expect("it").layer(common::service(&Arc::default()));
        service.ready().await.expect("r").call(get("ann", "/")).await.expect("it");
        let mut call = Box::pin(service.call(get("ann", "/")));
        let mut ended = false;
        for _ in 0..k {
            let mut context = Context::from_waker(Waker::noop());
            if call.as_mut().poll(&mut context).is_ready() { ended = true; break; }
            tokio::time::advance(std::time::Duration::from_millis(400)).await;
        }
        drop(call);
        assert_eq!(limiter.stats().waiters, 0);
        tokio::time::advance(secs(1)).await;
        println!("k {k} ended {ended} left {}", limiter.peek("ann", 0).remaining());
        let _ = Outcome::Admitted;
    }
    // In order of coming, through clones.
    let limiter = limiter();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = order.clone();
    let inside = tower::service_fn(move |r: Request<()>| {
        kept.lock().expect("p").push(r.uri().path().to_owned());
        async { Ok::<_, std::convert::Infallible>(http::Response::new(http_body_util::Full::<bytes::Bytes>::from("x"))) }
    });
    let service = RateLimitLayer::builder(limiter, Client).build_waiting(secs(600)).expect("it").layer(inside);
    let mut tasks = Vec::new();
    for n in 0..50 { tasks.push(tokio::spawn(service.clone().oneshot(get("ann", &format!("/{n:02}"))))); tokio::task::yield_now().await; }
    for t in tasks { t.await.expect("p").expect("it"); }
    let order = order.lock().expect("p").clone();
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(order, sorted);
}

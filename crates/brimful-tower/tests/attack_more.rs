//! More.
mod common;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use brimful::{Key, Limit, Limiter, Policy, Rules};
use brimful_observe::{Event, Observer, Redact, TopKeys};
use brimful_tower::{ApiKey, Head, Missing, RateLimitBuilder, RateLimitLayer, RequestKey};
use common::{Server, get, limiter, secs};
use http::Request;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt};

struct Client;

impl RequestKey for Client {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let value = head.headers().get("x-client").and_then(|value| value.to_str().ok());
        f(Key::Text(value.ok_or_else(|| Missing::from_client("header x-client"))?));
        Ok(())
    }
}

fn per_minute(tokens: u64) -> Limit {
    Limit::per_minute(tokens).expect("a limit")
}

fn layer(rules: impl Into<Rules>) -> RateLimitBuilder {
    RateLimitLayer::builder(limiter(rules).0, Client)
}

fn built(builder: RateLimitBuilder) -> RateLimitLayer {
    builder.build().expect("a layer")
}

#[tokio::test]
async fn who_is_denied_keeps_nothing_of_the_service_inside_from_others() {
    let inside = ConcurrencyLimitLayer::new(1).layer(common::service(&Arc::default()));
    let mut one = built(layer(per_minute(1))).layer(inside);
    let mut other = one.clone();
    for code in [200, 429] {
        let answer = one.ready().await.expect("ready").call(get("ann", "/")).await.expect("it");
        assert_eq!(answer.status(), code);
    }
    let ready = tokio::time::timeout(std::time::Duration::from_millis(200), other.ready());
    assert!(ready.await.is_ok(), "a denied request holds the only place");
}

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
        println!("{key} {:?}", answer.header("ratelimit"));
        assert_eq!(answer.header("ratelimit"), Some("\"2/min\";r=1;t=30"), "{key}");
    }
}

#[tokio::test]
async fn parts_with_colons() {
    let rules = Rules::builder()
        .default(per_minute(2))
        .pattern("a:b:c", per_minute(1_000))
        .pattern("p:*", per_minute(500))
        .build()
        .expect("rules");
    let of = |parts: &[Key<'_>]| rules.policy_for(Key::Parts(parts), None).limits()[0].to_string();
    println!("{}", of(&[Key::Text("a:b"), Key::Text("c")]));
    println!("{}", of(&[Key::Text("a"), Key::Text("b"), Key::Text("c")]));
    println!("{}", of(&[Key::Text("p:x"), Key::Text("c")]));
    println!("{}", rules.policy_for(Key::Text("p:x"), None).limits()[0]);
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
        let mut service = built(layer).layer(common::service(&Arc::default()));
        let key = format!("c{n}");
        let task = tokio::spawn(async move {
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| ()));
            service.call(get(&key, "/")).await
        });
        assert!(task.await.is_err());
        let left = limiter.peek(&*format!("c{n}"), 0).remaining();
        println!("case {n}: {left} left, {} open", limiter.stats().reservations);
        assert_eq!(limiter.stats().reservations, 0);
    }
}

#[tokio::test]
async fn rules_replaced_while_a_request_is_under_way() {
    for after in [Policy::unlimited(), Policy::blocked(), Policy::from(per_minute(7))] {
        for charges in [true, false] {
            let (limiter, _) = limiter(per_minute(3));
            let other = limiter.clone();
            let after = after.clone();
            let inside = tower::service_fn(move |_: Request<()>| {
                let (other, after) = (other.clone(), after.clone());
                async move {
                    other.set_rules(Rules::from(after)).expect("rules");
                    Ok::<_, std::convert::Infallible>(http::Response::new(
                        http_body_util::Full::<bytes::Bytes>::from("x"),
                    ))
                }
            });
            let layer = RateLimitLayer::builder(limiter.clone(), Client)
                .charge_when(move |_| charges)
                .legacy_fields(true);
            let answer = built(layer).layer(inside).oneshot(get("ann", "/")).await.expect("it");
            println!("{charges} {:?} left {}", answer.headers(), limiter.peek("ann", 0).remaining());
            assert_eq!(limiter.stats().reservations, 0);
        }
    }
}

#[tokio::test]
async fn costs_at_the_edges() {
    let layer = layer(Policy::new([per_minute(5), Limit::per_hour(9).expect("a limit")]).expect("p"))
        .legacy_fields(true)
        .cost(|head| head.uri().query().and_then(|q| q.parse().ok()).unwrap_or(1));
    let server = Server::new(&built(layer));
    for path in ["/?0", "/?18446744073709551615", "/?6", "/?5", "/?0", "/?1"] {
        let answer = server.get("ann", path).await;
        println!("{path} {} {:?} {}", answer.code(), answer.headers, String::from_utf8_lossy(&answer.body));
    }
}

#[tokio::test]
async fn long_names() {
    let limits: Vec<Limit> = (0..8)
        .map(|n| per_minute(5).named(&format!("{}{n}", "~".repeat(63))).expect("a name"))
        .collect();
    let one = built(layer(Policy::new(limits.clone()).expect("p")));
    let two = built(layer(Policy::new(limits).expect("p")));
    let server = Server::new(&one).around(&two);
    for _ in 0..6 {
        let answer = server.get("ann", "/").await;
        for name in ["ratelimit", "ratelimit-policy"] {
            let line = answer.header(name).expect("a line");
            let list: sfv::List = sfv::Parser::new(line).parse().expect("a list");
            println!("{} {name} {} items {} bytes", answer.code(), list.len(), line.len());
        }
    }
    #[cfg(feature = "tonic")]
    {
        let mut request = get("ann", "/");
        request.headers_mut().insert("content-type", "application/grpc".parse().expect("v"));
        let answer = server.send(request).await;
        println!("{:?}", answer.headers.get("grpc-status-details-bin").map(|v| v.len()));
        let grpc = answer.headers.iter().map(|(n, v)| n.as_str().len() + v.len() + 32).sum::<usize>();
        println!("all headers {grpc}");
    }
}

#[tokio::test]
async fn one_limiter_in_two_layers() {
    let (limiter, _) = limiter(per_minute(10));
    let make = || built(RateLimitLayer::builder(limiter.clone(), Client));
    let answer = Server::new(&make()).around(&make()).get("ann", "/").await;
    println!("{:?} left {}", answer.headers, limiter.peek("ann", 0).remaining());
}

#[test]
fn parts_of_keys_are_shown_as_parts() {
    let top = TopKeys::new(4, Redact::Truncate { chars: 4 }).expect("it");
    for text in ["203.0.113.77:443", "203.0.113.77", "::ffff:203.0.113.77", "[2001:db8::1]", "2001:db8::1%eth0", "abcd", "abc\u{301}\u{301}def"] {
        println!("{text:?} {}", top.shown(text));
    }
    let hash = TopKeys::new(4, Redact::Hash).expect("it");
    println!("{}", hash.shown(("a", 1_u64)));
    println!("{}", top.shown(("a", 1_u64, "203.0.113.77")));
    let _ = secs(1);
    let _: Option<Limiter> = None;
}

//! What becomes of a request at the layer, in standing time.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::common::{Client, Server, built, get, layer, limiter, per_minute, secs};
use brimful::{Key, Policy, Rules};
use brimful_observe::{Event, Observer};
use brimful_tower::{Head, Missing, MissingKey, PeerAddr, PeerIp, RateLimitLayer, RequestKey};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tower::{Layer, Service};

/// A key that no request has.
struct Nobody;
impl RequestKey for Nobody {
    fn with_key(&self, _: Head<'_>, _: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        Err(Missing::from_server("secret of the server"))
    }
}

#[tokio::test]
async fn requests_within_the_limit_go_on_and_others_are_told_when_to_come_again() {
    let (limiter, clock) = limiter(per_minute(2));
    let server = Server::new(&RateLimitLayer::new(limiter, Client));

    let first = server.get("ann", "/").await;
    assert_eq!((first.code(), &*first.body), (200, &b"served"[..]));
    assert_eq!(first.header("ratelimit-policy"), Some("\"2/min\";q=2;w=60"));
    assert_eq!(first.header("ratelimit"), Some("\"2/min\";r=1;t=30"));
    assert_eq!(first.header("retry-after"), None);

    clock.advance(secs(1));
    let second = server.get("ann", "/").await;
    assert_eq!(second.header("ratelimit"), Some("\"2/min\";r=0;t=29"));

    let third = server.get("ann", "/").await;
    assert_eq!(third.code(), 429);
    assert_eq!(third.header("retry-after"), Some("29"));
    assert_eq!(third.header("ratelimit"), Some("\"2/min\";r=0;t=29"));
    assert_eq!(third.header("ratelimit-policy"), Some("\"2/min\";q=2;w=60"));
    assert_eq!(third.header("content-type"), Some("application/problem+json"));
    let problem = third.json();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["title"], "Too Many Requests");
    assert_eq!(problem["detail"], "too many requests; retry after 29 s");
    assert_eq!(problem["violated-policies"], serde_json::json!(["2/min"]));
    assert_eq!(problem["retry-after-ms"], 29_000);
    assert_eq!(server.served(), 2);

    // Another client has a budget of its own, and who comes when it was told to is let through.
    assert_eq!(server.get("bob", "/").await.code(), 200);
    clock.advance(secs(29));
    assert_eq!(server.get("ann", "/").await.code(), 200);
}

#[tokio::test]
async fn clones_and_all_services_of_a_layer_share_its_limiter() {
    let layer = built(layer(per_minute(2)));
    let [one, two] = [Server::new(&layer), Server::new(&layer.clone())];
    assert_eq!(one.get("ann", "/").await.code(), 200);
    assert_eq!(two.get("ann", "/").await.code(), 200);
    assert_eq!(one.get("ann", "/").await.code(), 429);
    assert_eq!(two.get("ann", "/").await.code(), 429);
}

#[tokio::test]
async fn a_layer_around_itself_charges_once() {
    let outer = built(layer(per_minute(10)));
    let server = Server::new(&outer).around(&outer).around(&outer.clone());
    for left in (0..10).rev() {
        let answer = server.get("ann", "/").await;
        assert_eq!(answer.header("ratelimit"), Some(&*format!("\"10/min\";r={left};t=6")));
    }
    let denied = server.get("ann", "/").await;
    assert_eq!((denied.code(), server.served()), (429, 10));
}

#[tokio::test]
async fn stacked_layers_tell_one_set_of_headers() {
    let outer = built(layer(per_minute(10)).legacy_fields(true));
    let inner = built(layer(per_minute(2)));
    let server = Server::new(&inner).around(&outer);
    let first = server.get("ann", "/").await;
    assert_eq!(first.header("ratelimit-policy"), Some("\"10/min\";q=10;w=60, \"2/min\";q=2;w=60"));
    assert_eq!(first.header("ratelimit"), Some("\"10/min\";r=9;t=6, \"2/min\";r=1;t=30"));
    // The older fields have room for one: that which binds.
    assert_eq!(first.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(first.header("x-ratelimit-reset"), Some("30"));

    server.get("ann", "/").await;
    let denied = server.get("ann", "/").await;
    assert_eq!((denied.code(), denied.header("retry-after")), (429, Some("30")));
    assert_eq!(denied.header("ratelimit"), Some("\"10/min\";r=7;t=6, \"2/min\";r=0;t=30"));
    assert_eq!(denied.header("x-ratelimit-remaining"), Some("0"));
}

#[tokio::test]
async fn what_is_denied_within_can_be_free_of_charge() {
    let (limiter, _) = limiter(per_minute(10));
    let outer = RateLimitLayer::builder(limiter.clone(), Client)
        .charge_when(|response| !response.is_denied_within());
    let inner = built(layer(per_minute(2)));
    let server = Server::new(&inner).around(&built(outer));
    let codes = [200, 200, 429, 429];
    for code in codes {
        assert_eq!(server.get("ann", "/").await.code(), code);
    }
    assert_eq!(limiter.peek("ann", 0).remaining(), 8);
    // Also what has no key within.
    let keyed = Server::new(&RateLimitLayer::new(limiter.clone(), Nobody));
    let outer = RateLimitLayer::builder(limiter.clone(), "all");
    let outer = outer.charge_when(|response| !response.is_denied_within());
    let server = keyed.around(&built(outer));
    assert_eq!(server.get("ann", "/").await.code(), 500);
    assert_eq!(limiter.peek("all", 0).remaining(), 10);
}

#[tokio::test]
async fn limits_of_one_name_are_told_apart() {
    let (outer, inner) = (built(layer(per_minute(9))), built(layer(per_minute(9))));
    let server = Server::new(&inner).around(&outer);
    let answer = server.get("ann", "/").await;
    assert_eq!(answer.header("ratelimit-policy"), Some("\"9/min#2\";q=9;w=60, \"9/min\";q=9;w=60"));
    assert_eq!(answer.header("ratelimit"), Some("\"9/min#2\";r=8;t=7, \"9/min\";r=8;t=7"));
}

#[tokio::test]
async fn a_missing_key_is_what_was_chosen() {
    let keyless = || Request::get("/").body(()).expect("a request");
    for (choice, codes, ratelimit) in [
        (MissingKey::Deny, [400, 400], None),
        (MissingKey::Shared, [200, 429], Some("\"1/min\";r=0;t=60")),
        (MissingKey::Allow, [200, 200], None),
    ] {
        let server = Server::new(&built(layer(per_minute(1)).missing_key(choice)));
        for code in codes {
            let answer = server.send(keyless()).await;
            assert_eq!(
                (answer.code(), answer.header("ratelimit")),
                (code, ratelimit),
                "{choice:?}"
            );
            if choice == MissingKey::Deny {
                assert_eq!(answer.json()["detail"], "the request has no header x-client");
                assert_eq!(answer.json()["violated-policies"], serde_json::Value::Null);
            }
        }
        // Who has a key has a budget of its own.
        assert_eq!(server.get("ann", "/").await.code(), 200);
    }
    let server = Server::new(&RateLimitLayer::new(limiter(per_minute(1)).0, Nobody));
    let answer = server.send(keyless()).await;
    assert_eq!(answer.code(), 500);
    assert!(!String::from_utf8_lossy(&answer.body).contains("secret"));
}

#[tokio::test]
async fn tiers_costs_and_skip_rules_are_read_from_the_request() {
    let rules = Rules::builder().default(per_minute(10)).tier("gold", per_minute(100));
    let layer = layer(rules.build().expect("rules"))
        .tier(|head| head.headers().get("x-plan")?.to_str().ok())
        .cost(|head| head.uri().query().map_or(1, |query| query.len() as u64))
        .skip_options()
        .skip_paths(["/healthz"]);
    let server = Server::new(&built(layer));
    let answer = server.get("ann", "/?12345").await;
    assert_eq!(answer.header("ratelimit"), Some("\"10/min\";r=5;t=6"));
    let mut gold = get("ann", "/");
    gold.headers_mut().insert("x-plan", "gold".parse().expect("a value"));
    // Half of it is spent already.
    assert_eq!(server.send(gold).await.header("ratelimit"), Some("\"100/min\";r=49;t=1"));

    for request in [
        Request::options("/").body(()).expect("a request"),
        Request::get("/healthz").body(()).expect("a request"),
    ] {
        let answer = server.send(request).await;
        assert_eq!((answer.code(), answer.header("ratelimit")), (200, None));
    }
    assert_eq!(
        server.send(Request::get("/healthz/x").body(()).expect("a request")).await.code(),
        400
    );
    assert_eq!(server.get("bob", "/?12345678901").await.header("retry-after"), None); // never
}

#[tokio::test]
async fn several_keys_are_charged_together_or_not_at_all() {
    let rules = Rules::builder().default(per_minute(100)).pattern("path:*", per_minute(3));
    struct Path;
    impl RequestKey for Path {
        fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
            f(Key::Parts(&[Key::Text("path"), Key::Text(head.uri().path())]));
            Ok(())
        }
    }
    let (limiter, _) = limiter(rules.build().expect("rules"));
    let layer = RateLimitLayer::builder(limiter.clone(), Client).also_key(Path).cost(|_| 2);
    let server = Server::new(&built(layer));
    assert_eq!(server.get("ann", "/a").await.header("ratelimit"), Some("\"3/min\";r=1;t=20"));
    assert_eq!(server.get("ann", "/a").await.code(), 429);
    assert_eq!(limiter.peek("ann", 0).remaining(), 98);
    assert_eq!(server.get("ann", "/b").await.code(), 200);
    assert_eq!(limiter.peek("ann", 0).remaining(), 96);
}

#[tokio::test]
async fn a_layer_on_trial_denies_nothing_and_says_nothing() {
    let seen = Seen::default();
    let layer = layer(per_minute(1)).shadow(true).observer(seen.clone()).name("api");
    let server = Server::new(&built(layer));
    for _ in 0..3 {
        let answer = server.get("ann", "/").await;
        assert_eq!((answer.code(), answer.header("ratelimit")), (200, None));
        assert_eq!(answer.header("ratelimit-policy"), None);
    }
    let keyless = server.send(Request::get("/").body(()).expect("a request")).await;
    assert_eq!(keyless.code(), 200);
    let said =
        ["admitted", "would_deny", "would_deny"].map(|what| format!("api default {what} ann 1"));
    assert_eq!(seen.take()[..3], said);
}

/// An observer that remembers.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("the lock"))
    }
}

impl Observer for Seen {
    fn observe(&self, event: &Event<'_>) {
        let key = match event.key {
            Some(Key::Text(text)) => text,
            Some(_) => "(other)",
            None => "-",
        };
        let (scope, policy, outcome) = (event.scope, event.policy, event.outcome.name());
        let line = format!("{scope} {policy} {outcome} {key} {}", event.cost);
        self.0.lock().expect("the lock").push(line);
    }
}

#[tokio::test]
async fn observers_hear_of_each_request_once() {
    let seen = Seen::default();
    let policy = Policy::from(per_minute(2)).named("free").expect("a name");
    let rules = Rules::builder().default(policy).exact("eve", Policy::blocked());
    let layer = layer(rules.build().expect("rules")).observer(seen.clone()).skip_options();
    let layer = built(layer.cost(|_| 2));
    let server = Server::new(&layer).around(&layer);
    server.get("ann", "/").await;
    server.get("ann", "/").await;
    server.get("eve", "/").await;
    server.send(Request::get("/").body(()).expect("a request")).await;
    server.send(Request::options("/").body(()).expect("a request")).await;
    assert_eq!(
        seen.take(),
        [
            "http free admitted ann 2",
            "http free denied ann 2",
            "http default blocked eve 2",
            "http  missing_key - 1",
            // By each of the two.
            "http  skipped - 1",
            "http  skipped - 1",
        ]
    );
}

#[tokio::test]
async fn a_policy_on_trial_is_named_for_what_it_would_have_denied() {
    let named = |tokens, name| Policy::from(per_minute(tokens)).named(name).expect("a name");
    let rules = Rules::builder().default(named(5, "free")).default(named(1, "stricter").shadow());
    let seen = Seen::default();
    let layer = layer(rules.build().expect("rules")).observer(seen.clone());
    let server = Server::new(&built(layer));
    for left in [4, 3] {
        let answer = server.get("ann", "/").await;
        // Clients are told of what is in force alone.
        let line = answer.header("ratelimit").expect("the field");
        assert!(line.starts_with(&format!("\"5/min\";r={left};")), "{line}");
    }
    assert_eq!(seen.take(), ["http free admitted ann 1", "http stricter would_deny ann 1"]);
}

#[tokio::test]
async fn only_chosen_responses_are_charged() {
    let (limiter, _) = limiter(per_minute(3));
    let layer = RateLimitLayer::builder(limiter.clone(), Client)
        .charge_when(|response| response.status() == StatusCode::UNAUTHORIZED);
    let layer = built(layer);
    let server = Server::new(&layer);
    for _ in 0..10 {
        let answer = server.get("ann", "/200").await;
        assert_eq!(answer.header("ratelimit").map(|line| &line[..11]), Some("\"3/min\";r=3"));
    }
    for left in [2, 1, 0] {
        let answer = server.get("ann", "/401").await;
        assert_eq!(answer.code(), 401);
        assert_eq!(answer.header("ratelimit"), Some(&*format!("\"3/min\";r={left};t=20")));
    }
    // Whether the next would fail is not known before it is tried.
    assert_eq!(server.get("ann", "/200").await.code(), 429);
    assert_eq!(limiter.stats().reservations, 0);

    // What was never answered is charged: nobody gets round the limit by hanging up.
    let hanging = tower::service_fn(|_: Request<()>| {
        std::future::pending::<Result<Response<http_body_util::Full<Bytes>>, std::io::Error>>()
    });
    let mut service = layer.layer(hanging);
    for left in [2, 1, 0] {
        let mut call = Box::pin(service.call(get("bob", "/")));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert_eq!(limiter.peek("bob", 0).remaining(), left);
        drop(call);
        assert_eq!(limiter.peek("bob", 0).remaining(), left);
    }
    let failing = tower::service_fn(|_: Request<()>| async {
        Err::<Response<http_body_util::Full<Bytes>>, _>(std::io::Error::other("broken"))
    });
    assert!(layer.layer(failing).call(get("eve", "/")).await.is_err());
    assert_eq!(limiter.peek("eve", 0).remaining(), 2);
}

#[tokio::test]
async fn a_response_of_ones_own_gets_the_headers_too() {
    let layer = layer(per_minute(1)).legacy_fields(true).respond(|denied| {
        assert_eq!(denied.head().uri().path(), "/x");
        let violated: Vec<&str> = denied.violated().collect();
        let text = format!("{} {:?} {violated:?}", denied.status(), denied.retry_after());
        Response::builder().status(418).body(text.into()).expect("a response")
    });
    let server = Server::new(&built(layer));
    server.get("ann", "/x").await;
    let denied = server.get("ann", "/x").await;
    assert_eq!(denied.code(), 418);
    assert_eq!(denied.body, "429 Too Many Requests Some(60s) [\"1/min\"]");
    assert_eq!(denied.header("retry-after"), Some("60"));
    assert_eq!(denied.header("ratelimit"), Some("\"1/min\";r=0;t=60"));
    let legacy = ["limit", "remaining", "reset"].map(|name| format!("x-ratelimit-{name}"));
    assert_eq!(
        legacy.map(|name| denied.header(&name).map(str::to_owned)),
        ["1", "0", "60"].map(|v| Some(v.into()))
    );
}

/// A service that counts how often it is asked whether it is ready, and is when it is told so.
#[derive(Clone)]
struct Gated {
    is_ready: bool,
    asked: usize,
}

impl Service<Request<()>> for Gated {
    type Response = Response<http_body_util::Full<Bytes>>;
    type Error = String;
    type Future = std::future::Ready<Result<Self::Response, String>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), String>> {
        self.asked += 1;
        if self.is_ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        assert!(self.is_ready, "called without being ready");
        std::future::ready(Ok(Response::new("served".into())))
    }
}

#[tokio::test]
async fn it_is_ready_when_the_service_inside_is() {
    let layer = built(layer(per_minute(1)));
    let mut service = layer.layer(Gated { is_ready: false, asked: 0 });
    let mut context = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut context).is_pending());
    service.get_mut().is_ready = true;
    assert!(service.poll_ready(&mut context).is_ready());
    assert_eq!(service.get_ref().asked, 2);
    // A spent budget is no reason not to be ready: the next request may be another's.
    assert_eq!(service.call(get("ann", "/")).await.expect("an answer").status(), 200);
    assert_eq!(service.call(get("ann", "/")).await.expect("an answer").status(), 429);
    assert!(service.poll_ready(&mut context).is_ready());
    assert_eq!(service.call(get("bob", "/")).await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn blocked_and_impossible_requests_get_no_hint() {
    let rules = Rules::builder().default(per_minute(5)).exact("eve", Policy::blocked());
    let server = Server::new(&built(layer(rules.build().expect("rules")).cost(|_| 6)));
    for (client, detail) in [
        ("eve", "no requests are admitted"),
        ("ann", "the request costs more than its limit ever admits"),
    ] {
        let denied = server.get(client, "/").await;
        assert_eq!((denied.code(), denied.header("retry-after")), (429, None));
        assert_eq!(denied.json()["detail"], detail);
        assert_eq!(denied.json()["retry-after-ms"], serde_json::Value::Null);
    }
}

#[tokio::test]
async fn a_full_store_is_the_servers_fault() {
    let clock = Arc::new(brimful::ManualClock::new(brimful::Nanos::from_secs(1_000)));
    let limiter = brimful::Limiter::builder(per_minute(1));
    let limiter = limiter.max_keys(1).overflow(brimful::Overflow::Refuse).clock(clock);
    let layer = RateLimitLayer::new(limiter.build().expect("a limiter"), Client);
    let server = Server::new(&layer);
    let mut refused = 0;
    for client in 0..100 {
        let answer = server.get(&client.to_string(), "/").await;
        if answer.code() != 200 {
            assert_eq!((answer.code(), answer.header("retry-after")), (503, Some("60")));
            assert!(
                answer.json()["type"]
                    .as_str()
                    .expect("text")
                    .ends_with("#temporary-reduced-capacity")
            );
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    for (fault, said) in [
        (
            layer(per_minute(1)).also_key(Client).charge_when(|_| true).build(),
            "`charge_when` stands beside `also_key`; expected one key; several cannot be reserved together",
        ),
        (
            layer(per_minute(1)).quota_unit("a\"b").build(),
            "the quota unit is `a\"b`, expected printable ASCII without `\"` and `\\`, such as `content-bytes`",
        ),
    ] {
        assert_eq!(fault.expect_err(said).to_string(), said);
    }
    let many = (0..64).fold(layer(per_minute(1)), |layer, _| layer.also_key(Client));
    assert!(many.build().expect_err("too many").is_range());
}

/// An address alone is one of 2^64 that a subscriber has, and one network of 65,536 that a larger one has.
#[test]
fn networks_around_an_address_have_limits_of_their_own() {
    let client = || PeerIp::new();
    let around = |length| client().ipv6_prefix(length).expect("a length");
    let rules = || {
        Rules::builder()
            .default(per_minute(10))
            .pattern("net48:*", per_minute(100))
            .pattern("net32:*", per_minute(1_000))
            .build()
            .expect("rules")
    };
    let (limiter, _) = limiter(rules());
    let all = RateLimitLayer::builder(limiter.clone(), client())
        .also_key(("net48", around(48)))
        .also_key(("net32", around(32)));
    let alone = RateLimitLayer::builder(limiter, ("alone", client()));
    let rows = [
        // id, layer, networks of /64 in one of /48, requests from each, admitted
        (200, built(alone), 200, 1, 200),
        (200, built(all), 200, 1, 100),
    ];
    for (id, layer, networks, each, right) in rows {
        let server = Server::new(&layer);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut admitted = 0;
        for network in 0..networks {
            let peer = format!("[2001:db8:7:{network:x}::1]:50000").parse().expect("an address");
            for _ in 0..each {
                let mut request = Request::get("/").body(()).expect("a request");
                request.extensions_mut().insert(PeerAddr(peer));
                admitted += u32::from(runtime.block_on(server.send(request)).code() == 200);
            }
        }
        assert_eq!(admitted, right, "case {id}");
    }
}

#[tokio::test]
async fn each_policy_is_told_as_it_is_now() {
    // More than are kept.
    let client = |number: u64| format!("client {number}");
    let rules = |more: u64| {
        let rules = (0..200).fold(Rules::builder().default(per_minute(1)), |rules, number| {
            rules.exact(client(number), per_minute(number + more))
        });
        rules.build().expect("rules")
    };
    let (limiter, _) = limiter(rules(1_000));
    let server = Server::new(&RateLimitLayer::new(limiter.clone(), Client));
    for more in [1_000, 1_000, 2_000] {
        limiter.set_rules(rules(more)).expect("room");
        for number in (0..200).chain([7, 7]) {
            let answer = server.get(&client(number), "/").await;
            let tokens = number + more;
            let right = format!("\"{tokens}/min\";q={tokens};w=60");
            assert_eq!(answer.header("ratelimit-policy"), Some(&*right));
        }
    }
}

#[tokio::test]
async fn all_limits_that_refused_are_named_and_windows_are_rounded_up() {
    let policy = Policy::parse(["3 per 10s burst 4", "4/h", "100/h"]).expect("a policy");
    let server = Server::new(&built(layer(policy)));
    for _ in 0..4 {
        assert_eq!(server.get("ann", "/").await.code(), 200);
    }
    let denied = server.get("ann", "/").await;
    let right = serde_json::json!(["3 per 10s burst 4", "4/h"]);
    assert_eq!(denied.json()["violated-policies"], right);
    let policies = denied.header("ratelimit-policy").expect("the field");
    assert!(
        policies.starts_with("\"3 per 10s burst 4\";q=4;w=14, \"4/h\";q=4;w=3600"),
        "{policies}"
    );
    // The one that has to wait longest decides.
    assert_eq!(denied.header("retry-after"), Some("900"));
}

#[tokio::test]
async fn clients_hear_nothing_of_a_policy_that_is_only_on_trial() {
    let server = Server::new(&built(layer(Policy::from(per_minute(1)).shadow())));
    for _ in 0..2 {
        let answer = server.get("ann", "/").await;
        assert_eq!((answer.code(), answer.header("ratelimit-policy")), (200, None));
        assert_eq!(answer.header("ratelimit"), None);
    }
}

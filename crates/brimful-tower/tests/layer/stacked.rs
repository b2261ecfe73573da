//! Layers around each other, and what is told and charged then.

use std::sync::{Arc, Mutex};

use crate::common::{Server, built, get, layer, limiter, per_minute};
use brimful::Rules;
use brimful_observe::{Counters, Event, Observer, Outcome};
use brimful_tower::{Header, MissingKey, PeerAddr, PeerIp, RateLimitLayer};
use http::Request;

/// Changes a request on its way.
#[derive(Clone)]
struct Change<S>(S, fn(&mut Request<()>));
impl<S: tower::Service<Request<()>>> tower::Service<Request<()>> for Change<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;
    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }
    fn call(&mut self, mut request: Request<()>) -> S::Future {
        (self.1)(&mut request);
        self.0.call(request)
    }
}

async fn twice(layer: RateLimitLayer, change: fn(&mut Request<()>)) -> Vec<u16> {
    use tower::{Layer, ServiceExt};
    let service = layer.layer(Change(layer.layer(crate::common::service(&Arc::default())), change));
    let mut codes = Vec::new();
    for _ in 0..3 {
        let request = Request::get("/public").body(()).expect("a request");
        codes.push(service.clone().oneshot(request).await.expect("an answer").status().as_u16());
    }
    codes
}

#[tokio::test]
async fn what_the_outer_of_two_skipped_the_inner_charges() {
    let layer = layer(per_minute(1)).skip_paths(["/public"]).missing_key(MissingKey::Shared);
    let codes = twice(built(layer), |request| {
        *request.uri_mut() = "/login".parse().expect("an address");
    })
    .await;
    assert_eq!(codes, [200, 429, 429]);
}

#[tokio::test]
async fn what_had_no_key_at_the_outer_of_two_is_charged_by_the_inner() {
    let layer = layer(per_minute(1)).missing_key(MissingKey::Allow);
    let codes = twice(built(layer), |request| {
        request.headers_mut().insert("x-client", "ann".parse().expect("a value"));
    })
    .await;
    assert_eq!(codes, [200, 429, 429]);
}

#[tokio::test]
async fn each_limit_is_told_in_its_own_unit() {
    let inner = built(layer(per_minute(9)).quota_unit("content-bytes"));
    let outer = built(layer(per_minute(5)));
    let answer = Server::new(&inner).around(&outer).get("ann", "/").await;
    assert_eq!(
        answer.header("ratelimit-policy"),
        Some(r#""5/min";q=5;w=60, "9/min";q=9;w=60;qu="content-bytes""#)
    );
    let answer = Server::new(&outer).around(&inner).get("ann", "/").await;
    assert_eq!(
        answer.header("ratelimit-policy"),
        Some(r#""9/min";q=9;w=60;qu="content-bytes", "5/min";q=5;w=60"#)
    );
}

#[tokio::test]
async fn a_layer_that_is_to_be_silent_is_not_told_by_those_around_it() {
    let inner = built(layer(per_minute(9)).ratelimit_fields(false));
    let outer = built(layer(per_minute(5)));
    let answer = Server::new(&inner).around(&outer).get("ann", "/").await;
    assert_eq!(answer.header("ratelimit-policy"), Some(r#""5/min";q=5;w=60"#));
}

#[tokio::test]
async fn who_leaves_out_one_of_two_keys_is_charged_for_the_other() {
    for missing in [MissingKey::Allow, MissingKey::Shared] {
        let rules = Rules::builder()
            .default(per_minute(2))
            .exact((), per_minute(1_000))
            .build()
            .expect("rules");
        let layer = RateLimitLayer::builder(limiter(rules).0, PeerIp::new())
            .also_key(Header::new("x-tenant").expect("a header"))
            .missing_key(missing);
        let server = Server::new(&built(layer));
        let mut served = 0;
        for _ in 0..10 {
            let mut request = Request::get("/").body(()).expect("a request");
            request.extensions_mut().insert(PeerAddr(([192, 0, 2, 1], 50_000).into()));
            served += u32::from(server.send(request).await.code() == 200);
        }
        assert_eq!(served, 2, "{missing:?}");
    }
}

#[tokio::test]
async fn an_ipv4_client_is_charged_once_where_ipv6_clients_have_two_networks() {
    let layer = RateLimitLayer::builder(limiter(per_minute(10)).0, PeerIp::new())
        .also_key(PeerIp::new().ipv6_prefix(48).expect("a length"));
    let server = Server::new(&built(layer));
    let mut served = 0;
    for _ in 0..20 {
        let mut request = Request::get("/").body(()).expect("a request");
        request.extensions_mut().insert(PeerAddr(([192, 0, 2, 1], 50_000).into()));
        served += u32::from(server.send(request).await.code() == 200);
    }
    assert_eq!(served, 10);
}

#[tokio::test]
async fn numbers_of_names_do_not_meet_names_that_look_like_them() {
    let named = |name| per_minute(5).named(name).expect("a name");
    let one = built(layer(named("a")));
    let two = built(layer(named("a")));
    let three = built(layer(named("a#2")));
    let answer = Server::new(&three).around(&two).around(&one).get("ann", "/").await;
    let line = answer.header("ratelimit").expect("a line");
    let mut names: Vec<&str> = line.split(", ").filter_map(|item| item.split(';').next()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 3, "{line}");
}

#[tokio::test]
async fn what_was_given_back_is_told_with_its_time() {
    let layer = built(layer(per_minute(3)).legacy_fields(true).charge_when(|_| false));
    let answer = Server::new(&layer).get("ann", "/").await;
    assert_eq!(answer.header("ratelimit"), Some("\"3/min\";r=3;t=0"));
    assert_eq!(answer.header("x-ratelimit-reset"), Some("0"));
}

#[tokio::test]
async fn what_is_told_when_others_spent_meanwhile() {
    // The response takes its time; meanwhile another request is charged.
    use tower::{Layer, ServiceExt};
    let layer = built(layer(per_minute(3)).charge_when(|r| r.status() == 401));
    let limiter = layer.limiter().clone();
    let other = limiter.clone();
    let inside = tower::service_fn(move |_: Request<()>| {
        let other = other.clone();
        async move {
            assert!(other.try_acquire_n("ann", 2).is_allowed());
            Ok::<_, std::convert::Infallible>(http::Response::new(http_body_util::Full::<
                bytes::Bytes,
            >::from("x")))
        }
    });
    let answer = layer.layer(inside).oneshot(get("ann", "/")).await.expect("an answer");
    let left = limiter.peek("ann", 0).remaining();
    let line = answer.headers()["ratelimit"].to_str().expect("text").to_owned();
    assert!(line.contains(&format!("r={left};")), "{line}, {left} left");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Outcome, u64)>>>);
impl Observer for Log {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().expect("no panics").push((event.outcome, event.cost));
    }
}

#[tokio::test]
async fn a_request_without_a_key_is_one_event() {
    let log = Log::default();
    let layer = layer(per_minute(3)).missing_key(MissingKey::Shared).observer(log.clone());
    let server = Server::new(&built(layer));
    server.send(Request::get("/").body(()).expect("a request")).await;
    assert_eq!(log.0.lock().expect("no panics").len(), 1, "{log:?}", log = log.0);
}

#[tokio::test]
async fn tokens_that_were_given_back_do_not_count_as_charged() {
    let counters = Arc::new(Counters::new());
    let layer = layer(per_minute(30)).charge_when(|_| false).observer(counters.clone());
    let layer = built(layer);
    let server = Server::new(&layer);
    for _ in 0..5 {
        server.get("ann", "/").await;
    }
    let charged = 30 - layer.limiter().peek("ann", 0).remaining();
    let counted: u64 = counters
        .snapshot()
        .iter()
        .filter(|row| row.outcome == Outcome::Admitted)
        .map(|row| row.tokens)
        .sum();
    assert_eq!(counted, charged);
}

#[cfg(feature = "tonic")]
#[tokio::test]
async fn kinds_of_grpc_in_any_case() {
    let server = Server::new(&built(layer(per_minute(1))));
    for kind in ["application/grpc", "Application/GRPC", "application/grpc-web+proto"] {
        let mut last = None;
        for _ in 0..2 {
            let mut request = get(kind, "/a.B/C");
            request.headers_mut().insert("content-type", kind.parse().expect("a value"));
            last = Some(server.send(request).await);
        }
        let last = last.expect("an answer");
        assert_eq!(last.header("grpc-status"), Some("8"), "{kind}");
    }
}

#[tokio::test]
async fn older_fields_are_those_of_the_limit_that_binds() {
    let inner = built(layer(per_minute(9)).legacy_fields(true));
    let outer = built(layer(per_minute(2)));
    let answer = Server::new(&inner).around(&outer).get("ann", "/").await;
    assert_eq!(answer.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("1"));
}

#[tokio::test]
async fn a_request_that_passes_a_layer_again_and_again_is_charged_once() {
    use tower::{Layer, ServiceExt};
    let layer = built(layer(per_minute(1)));
    let kept: Arc<Mutex<Option<Request<()>>>> = Arc::default();
    let keeper = kept.clone();
    let service = layer.layer(tower::service_fn(move |request: Request<()>| {
        *keeper.lock().expect("no panics") = Some(request);
        async {
            Ok::<_, std::convert::Infallible>(http::Response::new(http_body_util::Full::<
                bytes::Bytes,
            >::from("x")))
        }
    }));
    let mut request = get("ann", "/");
    // (So many words within each other could not be dropped.)
    for _ in 0..100_000 {
        let answer = service.clone().oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        request = kept.lock().expect("no panics").take().expect("the request");
    }
}

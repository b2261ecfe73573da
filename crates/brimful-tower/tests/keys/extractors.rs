//! Keys from peers, headers, extensions and routes; and what a request that has none is told.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use brimful::{Decision, Key, Limit, Limiter, Nanos, Rules};
use brimful_tower::{
    ApiKey, ClientIp, Extension, Head, Header, Missing, Path, PeerAddr, PeerIp, RequestKey, Route,
    RouteTemplate, from_fn,
};
use http::{Method, Request, StatusCode};
use tonic::transport::server::TcpConnectInfo;
use tower::ServiceExt as _;

const START: Nanos = Nanos::from_secs(1_000);

/// The key, as `Debug` prints it, found by exactly one call; or what is missing, found by none.
fn key(by: &dyn RequestKey, request: &Request<()>) -> Result<String, Missing> {
    let mut found = Vec::new();
    let result = by.with_key(Head::of(request), &mut |key| found.push(shown(key)));
    assert_eq!(found.len(), usize::from(result.is_ok()), "{found:?}");
    result.map(|()| found.remove(0))
}

fn shown(key: Key<'_>) -> String {
    match key {
        Key::Ip(network) => network.to_string(),
        Key::Parts(parts) => {
            let parts: Vec<String> = parts.iter().copied().map(shown).collect();
            format!("({})", parts.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn request(headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder();
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Asserts the key, and prints it.
#[track_caller]
fn is(by: &dyn RequestKey, request: &Request<()>, expected: &str) {
    let found = key(by, request);
    println!("{expected}");
    assert_eq!(found.as_deref(), Ok(expected));
}

/// Asserts what is missing, whose fault it is, and prints it.
#[track_caller]
fn misses(by: &dyn RequestKey, request: &Request<()>, is_servers_fault: bool, words: &str) {
    let missing = key(by, request).expect_err("nothing to count by");
    println!("{missing}");
    assert_eq!(missing.is_servers_fault(), is_servers_fault, "{missing}");
    assert!(missing.to_string().starts_with(words), "{missing}");
}

#[test]
fn the_peer_is_found_where_each_server_leaves_it() {
    let by = PeerIp::new();
    let mut request = request(&[]);
    misses(&by, &request, true, "the request has no peer address; with axum, serve");
    let client = ClientIp::x_forwarded_for(["10.0.0.0/8"]).expect("a network");
    misses(&client, &request, true, "the request has no peer address");

    // Case 205: tonic, as its server leaves it.
    let tonic = |remote_addr| TcpConnectInfo { local_addr: None, remote_addr };
    request.extensions_mut().insert(tonic(None));
    misses(&by, &request, true, "the request has no peer address");
    request.extensions_mut().insert(tonic(Some(socket("192.0.2.3:1"))));
    is(&by, &request, "192.0.2.3/32");
    request.extensions_mut().insert(ConnectInfo(socket("192.0.2.2:1")));
    is(&by, &request, "192.0.2.2/32");
    request.extensions_mut().insert(PeerAddr(socket("192.0.2.1:1")));
    is(&by, &request, "192.0.2.1/32");
}

#[test]
fn prefixes_are_as_long_as_asked() {
    let mut request = request(&[("x-forwarded-for", "198.51.100.7")]);
    request.extensions_mut().insert(PeerAddr(socket("[2001:db8:1:2::3]:1")));
    let v4 = |length| PeerIp::new().ipv4_prefix(length);
    let v6 = |length| PeerIp::new().ipv6_prefix(length);
    is(&v6(48).expect("in range"), &request, "2001:db8:1::/48");
    is(&v6(0).expect("in range"), &request, "::/0");
    is(&v6(128).expect("in range"), &request, "2001:db8:1:2::3/128");
    is(&v4(8).expect("in range"), &request, "2001:db8:1:2::/64");

    let client = || ClientIp::x_forwarded_for(["2001:db8::/32"]).expect("a network");
    is(&client().ipv4_prefix(24).expect("in range"), &request, "198.51.100.0/24");
    is(&client().ipv6_prefix(48).expect("in range"), &request, "198.51.100.7/32");

    let faults = [
        (v4(33).err(), "ipv4_prefix is 33, expected 0 to 32"),
        (v6(129).err(), "ipv6_prefix is 129, expected 0 to 128"),
        (client().ipv4_prefix(255).err(), "ipv4_prefix is 255, expected 0 to 32"),
        (client().ipv6_prefix(129).err(), "ipv6_prefix is 129, expected 0 to 128"),
    ];
    for (fault, expected) in faults {
        let fault = fault.expect("out of range");
        println!("{fault}");
        assert!(fault.is_range());
        assert_eq!(fault.to_string(), expected);
    }
}

#[test]
fn networks_that_cannot_be_trusted_are_named() {
    let expected =
        "expected a network or an address, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`";
    let rows = [
        ("", expected),
        ("10.0.0.0/8 ", "expected a prefix length of 0 to 32"),
        (" 10.0.0.0/8", expected),
        ("10.0.0.0/33", "expected a prefix length of 0 to 32"),
        ("10.0.0.0/+8", "expected a prefix length of 0 to 32"),
        ("10.0.0.0/", "expected a prefix length of 0 to 32"),
        ("10.0.0.0/255.0.0.0", "expected a prefix length of 0 to 32"),
        ("10.0.0/8", expected),
        ("10.0.0.1:80", expected),
        ("[::1]", expected),
        ("proxy.example", expected),
        ("::/129", "expected a prefix length of 0 to 128"),
        ("::ffff:10.0.0.0/8", "expected a prefix length of 96 to 128"),
        ("10.0.0.1/8", "expected `10.0.0.0/8` for the network, `10.0.0.1` for the address"),
        (
            "2001:db8::1/32",
            "expected `2001:db8::/32` for the network, `2001:db8::1` for the address",
        ),
    ];
    for (entry, expected) in rows {
        for fault in [
            ClientIp::x_forwarded_for(["10.0.0.0/8", entry]).err(),
            ClientIp::forwarded([entry]).err(),
            ClientIp::header("x-real-ip", [entry]).err(),
        ] {
            let fault = fault.unwrap_or_else(|| panic!("`{entry}` is taken")).to_string();
            assert_eq!(fault, format!("trusted is `{entry}`, {expected}"));
        }
    }
    let none: [&str; 0] = [];
    let fault = ClientIp::x_forwarded_for(none).expect_err("nobody is trusted").to_string();
    assert!(fault.starts_with("trusted is empty, expected at least one network"), "{fault}");
    let fault = ClientIp::header("not a name", ["10.0.0.0/8"]).expect_err("no name").to_string();
    assert!(fault.starts_with("header is `not a name`, expected the name of a header"), "{fault}");

    for entry in ["0.0.0.0/0", "::/0", "::ffff:10.0.0.0/104", "192.0.2.7", "192.0.2.7/32", "::1"] {
        assert!(ClientIp::forwarded([entry]).is_ok(), "{entry}");
    }
    let printed = brimful::IpPrefix::new(Ipv4Addr::new(10, 0, 0, 0).into(), 8).expect("a network");
    assert!(ClientIp::forwarded([printed.to_string()]).is_ok());
}

#[test]
fn a_header_counts_when_it_is_there_once_and_not_empty() {
    let tenant = Header::new("X-Tenant").expect("a name");
    is(&tenant, &request(&[("x-tenant", "acme")]), r#"(Text("acme"))"#);
    is(&tenant, &request(&[("x-tenant", "\t acme a\u{e9} ")]), "(Text(\"acme a\u{e9}\"))");
    misses(&tenant, &request(&[]), false, "the request has no header x-tenant");
    misses(&tenant, &request(&[("x-tenant", "")]), false, "the request has no value in its header");
    misses(&tenant, &request(&[("x-tenant", " \t")]), false, "the request has no value in its");
    let twice = request(&[("x-tenant", "acme"), ("x-tenant", "acme")]);
    misses(&tenant, &twice, false, "the request has no single value of x-tenant");

    let mut latin = request(&[]);
    let value = http::HeaderValue::from_bytes(b"caf\xe9").expect("a value");
    latin.headers_mut().insert("x-tenant", value);
    is(&tenant, &latin, "(Bytes([99, 97, 102, 233]))");
    assert!(Header::new("").is_err() && Header::new("a b").is_err());
}

#[test]
fn an_api_key_is_found_where_it_was_asked_for() {
    let shown = request(&[("x-api-key", "k"), ("x-key", "other"), ("authorization", "Bearer t")]);
    is(&ApiKey::new(), &shown, r#"(Text("k"))"#);
    is(&ApiKey::header("X-Key").expect("a name"), &shown, r#"(Text("other"))"#);
    is(&ApiKey::bearer(), &shown, r#"(Text("t"))"#);
    misses(&ApiKey::new(), &request(&[]), false, "the request has no header x-api-key");
    misses(&ApiKey::bearer(), &request(&[]), false, "the request has no header authorization");

    for credentials in ["bearer t", "BEARER t", "bEaReR   t", " Bearer t "] {
        is(&ApiKey::bearer(), &request(&[("authorization", credentials)]), r#"(Text("t"))"#);
    }
    let none = ["Bearer", "Bearer ", "Bearert", "Basic dDp0", "t", "Bearer\tt", "Bear er t"];
    for credentials in none {
        let shown = request(&[("authorization", credentials)]);
        misses(&ApiKey::bearer(), &shown, false, "the request has no bearer token in its header");
    }
    let twice = request(&[("authorization", "Bearer t"), ("authorization", "Bearer u")]);
    misses(&ApiKey::bearer(), &twice, false, "the request has no single value of authorization");
}

#[test]
fn extensions_are_keys_or_become_them() {
    #[derive(Clone)]
    struct User(u64, Arc<str>);

    let by_id = Extension::with("user", |user: &User| user.0);
    let by_both = Extension::with("user", |user: &User| (user.1.clone(), user.0));
    let mut request = request(&[]);
    let what = "the request has no user; the layer that finds it out has to run before the limit";
    misses(&by_id, &request, true, what);
    misses(&by_id.clone().from_client(), &request, false, "the request has no user");
    misses(&Extension::<u64>::new("user's number"), &request, true, "the request has no user's");
    let named = Extension::<u64>::new("user's number").from_client();
    misses(&named, &request, false, "the request has no user's number");

    request.extensions_mut().insert(User(7, "ada".into()));
    request.extensions_mut().insert(8_u64);
    is(&by_id, &request, "Unsigned(7)");
    is(&by_both, &request, r#"(Text("ada"), Unsigned(7))"#);
    is(&named, &request, "Unsigned(8)");
}

#[test]
fn a_route_is_its_template_and_never_the_path() {
    let of = |method: &str, template: Option<&str>| {
        let request = Request::builder().method(method).uri("/verify/1");
        let mut request = request.body(()).expect("a request");
        if let Some(template) = template {
            request.extensions_mut().insert(RouteTemplate(template.into()));
        }
        request
    };
    let verify = Some("/verify/{code}");
    is(&Route::new(), &of("GET", verify), r#"Text("/verify/{code}")"#);
    is(&Route::new().or("none"), &of("GET", verify), r#"Text("/verify/{code}")"#);
    is(&Route::new().or("none"), &of("GET", None), r#"Text("none")"#);
    misses(&Route::new(), &of("GET", None), true, "the request has no path template; with axum");

    let by = Route::new().with_method().or(String::from("none"));
    is(&by, &of("POST", None), r#"(Text("POST"), Text("none"))"#);
    let standard = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"];
    for method in standard {
        let expected = format!(r#"(Text("{method}"), Text("/verify/{{code}}"))"#);
        is(&by, &of(method, verify), &expected);
    }
    is(&by, &of("HEAD", verify), r#"(Text("GET"), Text("/verify/{code}"))"#);
    for method in ["PROPFIND", "get", "X-1", "X-2"] {
        assert!(Method::from_bytes(method.as_bytes()).is_ok());
        is(&by, &of(method, verify), r#"(Text("other"), Text("/verify/{code}"))"#);
    }
}

#[test]
fn paths_outside_the_list_are_one_key() {
    let by = Path::exactly(["/shop.Orders/Place", "/shop.Orders/List"]);
    let at = |uri: &str| Request::builder().uri(uri).body(()).expect("a request");
    is(&by, &at("/shop.Orders/Place?x=1"), r#"Text("/shop.Orders/Place")"#);
    is(&by, &at("/shop.Orders/List"), r#"Text("/shop.Orders/List")"#);
    for uri in ["/shop.Orders/place", "/shop.Orders/Place/", "/", "/a", "//shop.Orders/List"] {
        is(&by, &at(uri), r#"Text("other")"#);
    }
}

#[test]
fn tuples_are_lists_and_miss_what_the_first_of_them_misses() {
    let tenant = || Header::new("x-tenant").expect("a name");
    let with = request(&[("x-tenant", "acme"), ("x-api-key", "k")]);
    is(&("a", "b"), &with, r#"(Text("a"), Text("b"))"#);
    is(&("a", tenant(), ApiKey::new()), &with, r#"(Text("a"), (Text("acme")), (Text("k")))"#);
    is(&("a", "b", "c", tenant()), &with, r#"(Text("a"), Text("b"), Text("c"), (Text("acme")))"#);
    is(&("a", ("b", tenant())), &with, r#"(Text("a"), (Text("b"), (Text("acme"))))"#);

    let shared: Arc<dyn RequestKey> = Arc::new(tenant());
    let boxed: Box<dyn RequestKey> = Box::new(("a", Arc::clone(&shared)));
    is(&(shared, boxed), &with, r#"((Text("acme")), (Text("a"), (Text("acme"))))"#);

    let without = request(&[("x-api-key", "k")]);
    misses(&("a", tenant(), ApiKey::bearer()), &without, false, "the request has no header x-te");
    misses(
        &("a", ApiKey::new(), ApiKey::bearer()),
        &without,
        false,
        "the request has no header au",
    );
    misses(&(tenant(), "a", "b", "c"), &without, false, "the request has no header x-tenant");
    misses(&("a", "b", "c", tenant()), &without, false, "the request has no header x-tenant");
}

#[test]
fn functions_say_what_they_like() {
    let by = from_fn("length", |head: Head<'_>| {
        head.headers().get("content-length")?.to_str().ok()?.parse::<u64>().ok()
    });
    is(&by, &request(&[("content-length", "12")]), "Unsigned(12)");
    misses(&by, &request(&[]), false, "the request has no length");
}

/// The keys of case 200: networks of several widths, each with rules of its own.
#[test]
fn rules_tell_networks_of_several_widths_apart() {
    let limit = |text: &str| -> Limit { text.parse().expect("a limit") };
    let rules = Rules::builder()
        .default(limit("1000/h"))
        .pattern("net64:*", limit("10/h"))
        .pattern("net48:*", limit("100/h"))
        .build()
        .expect("rules");
    let limiter = Limiter::builder(rules).max_keys(1_000).build().expect("a small limiter");
    let proxies = || ClientIp::x_forwarded_for(["10.0.0.0/8"]).expect("a network");
    let by_48 = ("net48", proxies().ipv6_prefix(48).expect("in range"));
    let by_64 = ("net64", proxies());
    let by_32 = ("net32", proxies().ipv6_prefix(32).expect("in range"));
    let from = |subnet: u16| {
        let mut request = request(&[("x-forwarded-for", &format!("2001:db8:1:{subnet:x}::5"))]);
        request.extensions_mut().insert(PeerAddr(socket("10.0.0.1:1")));
        request
    };
    is(&by_48, &from(1), r#"(Text("net48"), 2001:db8:1::/48)"#);
    let admitted = |by: &dyn RequestKey| {
        (0..200).filter(|subnet| acquire(&limiter, by, &from(*subnet))).count()
    };
    assert_eq!(admitted(&by_48), 100, "one /48");
    assert_eq!(admitted(&by_64), 200, "200 of /64");
    assert_eq!(admitted(&by_32), 200, "one /32");
    assert_eq!(
        (0..20).filter(|_| acquire(&limiter, &("net64", proxies()), &from(999))).count(),
        10
    );
}

fn acquire(limiter: &Limiter, by: &dyn RequestKey, request: &Request<()>) -> bool {
    decide(limiter, by, Head::of(request)).expect("it has a key").is_allowed()
}

fn decide(limiter: &Limiter, by: &dyn RequestKey, head: Head<'_>) -> Result<Decision, Missing> {
    let mut decision = None;
    by.with_key(head, &mut |key| decision = Some(limiter.try_acquire_at(key, 1, START)))?;
    Ok(decision.expect("a key was found"))
}

/// A router of axum's, limited by its routes.
struct Site {
    limiter: Arc<Limiter>,
    router: Router,
}

impl Site {
    fn new(router: Router, limit: &str, by: impl RequestKey) -> Self {
        let limit: Limit = limit.parse().expect("a limit");
        let limiter = Limiter::builder(limit).max_keys(1_000).build().expect("a small limiter");
        let limiter = Arc::new(limiter);
        let state: (Arc<Limiter>, Arc<dyn RequestKey>) = (Arc::clone(&limiter), Arc::new(by));
        let router = router.layer(middleware::from_fn_with_state(state, Self::limited));
        Self { limiter, router }
    }

    async fn limited(
        State((limiter, by)): State<(Arc<Limiter>, Arc<dyn RequestKey>)>,
        request: Request<Body>,
        next: Next,
    ) -> Response {
        match decide(&limiter, &*by, Head::of(&request)) {
            Ok(decision) if decision.is_allowed() => next.run(request).await,
            Ok(_) => StatusCode::TOO_MANY_REQUESTS.into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    fn status(&self, uri: &str) -> StatusCode {
        let request = Request::builder().uri(uri).body(Body::empty()).expect("a request");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(self.router.clone().oneshot(request)).expect("infallible").status()
    }

    /// How many of these are let through.
    fn admitted<T: AsRef<str>>(&self, uris: impl IntoIterator<Item = T>) -> usize {
        let uris = uris.into_iter();
        uris.filter(|uri| self.status(uri.as_ref()) != StatusCode::TOO_MANY_REQUESTS).count()
    }
}

async fn handler() -> &'static str {
    "hello"
}

#[test]
fn routes_with_the_same_handler_have_budgets_of_their_own() {
    let router = Router::new().route("/a", get(handler)).route("/b", get(handler));
    let site = Site::new(router, "5/min", Route::new());
    // Case 152.
    assert_eq!(site.admitted(["/a", "/a"]), 2);
    assert_eq!(site.admitted(["/b"]), 1);
    assert_eq!(site.admitted(["/a"; 5]), 3, "5 in all");
    assert_eq!(site.admitted(["/b"; 5]), 4, "5 in all");
    assert_eq!(site.status("/c"), StatusCode::INTERNAL_SERVER_ERROR, "no route matched");
}

#[test]
fn spellings_of_a_path_make_no_budget() {
    let router =
        Router::new().route("/api/check", any(handler)).route("/files/{*path}", any(handler));
    let site = Site::new(router, "5/h", Route::new().or("unmatched"));
    // Case 206: the router takes none of the others for the route.
    assert_eq!(site.admitted(["/api/check"; 6]), 5);
    let spellings = [
        "//api//check",
        "/api/./check",
        "/api/check/",
        "/API/check",
        "/api/check;x",
        "/api/%63heck",
    ];
    assert_eq!(site.admitted(spellings), 5, "no route matches them: they share a budget");
    for spelling in spellings {
        assert_eq!(site.status(spelling), StatusCode::TOO_MANY_REQUESTS, "and it is spent");
    }
    // What one route takes for its own is one budget, however it is spelled.
    let files =
        ["/files/a", "/files//a", "/files/./a", "/files/%61", "/files/a/?x=1", "/files/a?y"];
    assert_eq!(site.admitted(files), 5);
    assert_eq!(site.limiter.stats().occupied, 3);
}

#[test]
fn a_parameter_in_the_path_makes_no_budget() {
    let router = Router::new().route("/verify/{code}", get(handler));
    let site = Site::new(router, "10 per 5min", Route::new());
    // Case 207.
    let codes = (0..1_000).map(|code| format!("/verify/{code:06}"));
    assert_eq!(site.admitted(codes), 10);
    assert_eq!(site.limiter.stats().occupied, 1);
}

#[test]
fn routes_of_nested_routers_are_known_inside_and_around_and_those_of_services_are_not() {
    let inner = || Router::new().route("/users/{id}", get(handler));
    let users = ["/a/users/1", "/a/users/2", "/a/users/3"];
    let limited = Site::new(inner(), "2/h", Route::new());
    let inside =
        Site { router: Router::new().nest("/a", limited.router.clone()), limiter: limited.limiter };
    assert_eq!(inside.admitted(users), 2);

    let around = Site::new(Router::new().nest("/a", inner()), "2/h", Route::new());
    assert_eq!(around.admitted(users), 2);

    let service = Site::new(Router::new().nest_service("/a", inner()), "2/h", Route::new());
    assert_eq!(service.status(users[0]), StatusCode::INTERNAL_SERVER_ERROR);
}

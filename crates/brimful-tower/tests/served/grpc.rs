//! The layer before a gRPC server, as its clients see it.
#![cfg(feature = "tonic")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::wire::{limiter, run};
use brimful::{Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Rules};
use brimful_tower::{ApiKey, MissingKey, PeerIp, RateLimitLayer, RequestKey};
use http::Request;
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Response, Status};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_types::StatusExt;
use tower::{Layer, ServiceExt};

type Reply = Result<Response<HealthCheckResponse>, Status>;

fn limit(spec: &str) -> Limit {
    spec.parse().expect("a limit")
}

/// A server of the health service behind a layer, and a connection to it.
async fn serve(layer: RateLimitLayer) -> HealthClient<Channel> {
    let (_, service) = tonic_health::server::health_reporter();
    let incoming = TcpIncoming::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let incoming = incoming.expect("a free port").with_nodelay(Some(true));
    let address = incoming.local_addr().expect("an address");
    let server = Server::builder().layer(layer).add_service(service);
    tokio::spawn(server.serve_with_incoming(incoming));
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    HealthClient::new(endpoint.connect().await.expect("a connection"))
}

async fn ask(client: &mut HealthClient<Channel>) -> Reply {
    client.check(HealthCheckRequest::default()).await
}

async fn ask_as(client: &mut HealthClient<Channel>, name: &str) -> Reply {
    let mut request = tonic::Request::new(HealthCheckRequest::default());
    request.metadata_mut().insert("x-api-key", name.parse().expect("a value"));
    client.check(request).await
}

/// Code, exact wait, names of the limits that refused.
fn told(status: &Status) -> (Code, Option<Duration>, Vec<String>) {
    let details = status.check_error_details().expect("details");
    let wait = details.retry_info().and_then(|info| info.retry_delay);
    let violations = details.quota_failure().map_or(&[][..], |quota| &quota.violations);
    let names = violations.iter().map(|violation| violation.subject.clone()).collect();
    (status.code(), wait, names)
}

#[test]
fn who_waits_as_long_as_retry_info_says_is_served() {
    run(async {
        for (spec, name) in [
            ("1/min burst 1", "1/min"),
            ("3 per 10s", "3 per 10s"),
            ("calls: 7/s burst 2", "calls"),
            ("1/day", "1/day"),
        ] {
            let limit = limit(spec);
            let capacity = limit.capacity();
            let (limiter, clock) = limiter(limit);
            let mut client = serve(RateLimitLayer::new(limiter.clone(), PeerIp::new())).await;
            for left in (0..capacity).rev() {
                let reply = ask(&mut client).await.expect("served");
                let field = reply.metadata().get("ratelimit").expect("RateLimit");
                let field = field.to_str().expect("text");
                assert!(field.starts_with(&format!("\"{name}\";r={left};t=")), "{field}");
                let policy = reply.metadata().get("ratelimit-policy").expect("RateLimit-Policy");
                assert!(
                    policy
                        .to_str()
                        .expect("text")
                        .starts_with(&format!("\"{name}\";q={capacity};"))
                );
            }
            let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
            for _ in 0..50 {
                let exact = limiter.peek(peer, 1).retry_after().expect("a wait");
                let denied = ask(&mut client).await.expect_err("denied");
                assert_eq!(
                    told(&denied),
                    (Code::ResourceExhausted, Some(exact), vec![name.into()])
                );
                let secs = exact.as_nanos().div_ceil(1_000_000_000);
                assert_eq!(denied.message(), format!("too many requests; retry after {secs} s"));
                let hint = denied.metadata().get("retry-after").expect("a hint");
                assert_eq!(hint.to_str().expect("text"), secs.to_string());

                clock.advance(exact - Duration::from_nanos(1));
                let sooner = ask(&mut client).await.expect_err("a nanosecond early");
                assert_eq!(
                    sooner.get_details_retry_info().and_then(|info| info.retry_delay),
                    Some(Duration::from_nanos(1))
                );
                clock.advance(Duration::from_nanos(1));
                ask(&mut client).await.expect("served");
            }
        }
    });
}

#[test]
fn what_no_wait_can_help_has_no_retry_info() {
    run(async {
        let costly = RateLimitLayer::builder(limiter(limit("5/min")).0, PeerIp::new()).cost(|_| 6);
        let mut client = serve(costly.build().expect("a layer")).await;
        let denied = ask(&mut client).await.expect_err("denied");
        assert_eq!(told(&denied), (Code::ResourceExhausted, None, vec!["5/min".into()]));
        assert_eq!(denied.message(), "the request costs more than its limit ever admits");
        assert!(denied.metadata().get("retry-after").is_none());

        let rules = Rules::builder().default(Policy::blocked()).build().expect("rules");
        let mut client = serve(RateLimitLayer::new(limiter(rules).0, PeerIp::new())).await;
        let denied = ask(&mut client).await.expect_err("denied");
        assert_eq!(told(&denied), (Code::ResourceExhausted, None, vec![]));
        assert_eq!(denied.message(), "no requests are admitted");
    });
}

#[test]
fn a_full_store_is_unavailable() {
    run(async {
        let clock = Arc::new(ManualClock::new(Nanos::from_secs(1_000)));
        let limiter = Limiter::builder(limit("1/min")).max_keys(1).overflow(Overflow::Refuse);
        let limiter = limiter.clock(clock).build().expect("a limiter");
        let mut client = serve(RateLimitLayer::new(limiter, ApiKey::new())).await;
        let mut full = 0;
        for nth in 0..100 {
            if let Err(denied) = ask_as(&mut client, &nth.to_string()).await {
                let wait = Some(Duration::from_secs(60));
                assert_eq!(told(&denied), (Code::Unavailable, wait, vec![]));
                full += 1;
            }
        }
        assert!(full > 50, "{full}");
    });
}

#[test]
fn a_request_without_a_key_is_told_whose_fault_it_is() {
    run(async {
        let mut client = serve(RateLimitLayer::new(limiter(limit("1/min")).0, ApiKey::new())).await;
        let denied = ask(&mut client).await.expect_err("denied");
        assert_eq!(told(&denied), (Code::InvalidArgument, None, vec![]));
        assert!(denied.message().starts_with("the request has no "), "{}", denied.message());
        // Who says it is served, each by a budget of its own.
        for name in ["ann", "bob"] {
            ask_as(&mut client, name).await.expect("served");
            assert_eq!(
                ask_as(&mut client, name).await.expect_err("denied").code(),
                Code::ResourceExhausted
            );
        }
    });
}

/// The status that a service behind a layer answers to a request that came over no connection.
async fn called(key: impl RequestKey, missing: MissingKey, content_type: &str) -> Option<Status> {
    let (_, service) = tonic_health::server::health_reporter();
    let layer = RateLimitLayer::builder(limiter(limit("1/min")).0, key).missing_key(missing);
    let service = layer.build().expect("a layer").layer(service);
    let request =
        Request::post("/grpc.health.v1.Health/Check").header("content-type", content_type);
    // The message that says nothing.
    let message = http_body_util::Full::from(&[0_u8; 5][..]);
    let response = service.oneshot(request.body(Body::new(message)).expect("a request")).await;
    let response = response.expect("a response");
    assert_eq!(response.status(), 200, "gRPC has statuses of its own");
    // Clients of gRPC-Web want their own kind.
    let is_web = content_type.to_ascii_lowercase().starts_with("application/grpc-web");
    let kind = if is_web { content_type } else { "application/grpc" };
    assert_eq!(response.headers()["content-type"], kind);
    Status::from_header_map(response.headers())
}

#[test]
fn the_peer_is_found_on_a_server_and_its_absence_is_loud() {
    // The case, and how many of three requests are served.
    let (case, spec, served) = (205, "2/min", 2);
    run(async {
        let (limiter, _) = limiter(limit(spec));
        let mut client = serve(RateLimitLayer::new(limiter.clone(), PeerIp::new())).await;
        for nth in 0..3 {
            let code = ask(&mut client).await.map_or_else(|status| status.code(), |_| Code::Ok);
            let expected = if nth < served { Code::Ok } else { Code::ResourceExhausted };
            assert_eq!(code, expected, "case {case}, {nth}");
        }
        // By the address of the connection and nothing else.
        let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!((limiter.peek(peer, 0).remaining(), limiter.stats().occupied), (0, 1));

        // Without a connection there is none, and the request is not served, nor told what the server lacks.
        let lacking = called(PeerIp::new(), MissingKey::Deny, "application/grpc").await;
        let lacking = lacking.expect("a status");
        assert_eq!(told(&lacking), (Code::Internal, None, vec![]), "case {case}");
        let said = "the server cannot tell whose limit the request falls under";
        assert_eq!(lacking.message(), said, "case {case}");
        // Unless that is wanted.
        let open = called(PeerIp::new(), MissingKey::Allow, "application/grpc").await;
        assert_eq!(open.map_or(Code::Ok, |status| status.code()), Code::Ok, "case {case}");
    });
}

#[test]
fn a_denial_is_a_status_for_every_kind_of_grpc() {
    run(async {
        for kind in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;charset=utf-8",
            "Application/gRPC",
            "application/grpc-web",
            "application/grpc-web+proto",
            "application/grpc-web-text",
        ] {
            let status = called(ApiKey::new(), MissingKey::Deny, kind).await.expect("a status");
            assert_eq!(status.code(), Code::InvalidArgument, "{kind}");
        }
    });
}

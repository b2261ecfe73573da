//! Requests through the layer and nothing else, for counting instructions: `hot_layer CASE CALLS`.
//! `scripts/instructions` runs it under callgrind, as `hot_path`.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use brimful::{Limit, Limiter, ManualClock, Nanos};
use brimful_observe::Counters;
use brimful_tower::{PeerAddr, PeerIp, RateLimitBuilder, RateLimitLayer};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use tower::{Layer, Service, service_fn};

/// Clients, and as many requests of a run at most: all are made before the first is sent, and those
/// that are left over are dropped after the last, so that two runs differ by the sent ones alone.
const LIVE: u32 = 2_000;
const MOST: u32 = 4 * LIVE;

const NAMES: [&str; 6] = [
    "tower-bare",
    "tower-silent",
    "tower-allowed",
    "tower-legacy",
    "tower-counted",
    "tower-denied",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, calls] = arguments.as_slice() else { return usage() };
    let Some(calls) = calls.parse::<u32>().ok().filter(|calls| *calls <= MOST) else {
        return usage();
    };
    let large = Limit::per_second(1_000_000_000).unwrap();
    let calls = calls as usize;
    let admitted = match case.as_str() {
        "tower-bare" => send(bare(), calls),
        // Without fields in responses.
        "tower-silent" => send(limited(layer(large).ratelimit_fields(false)), calls),
        "tower-allowed" => send(limited(layer(large)), calls),
        "tower-legacy" => send(limited(layer(large).legacy_fields(true)), calls),
        "tower-counted" => send(limited(layer(large).observer(Counters::new())), calls),
        "tower-denied" => send(limited(layer(Limit::per_day(1).unwrap())), calls),
        _ => return usage(),
    };
    println!("{admitted}");
    ExitCode::SUCCESS
}

/// Every client sends one request, then `calls` requests are sent, by one client after the other. How
/// many of these were admitted.
fn send<S, B>(mut service: S, calls: usize) -> usize
where
    S: Service<Request<()>, Response = Response<B>, Error = Infallible>,
{
    for request in requests(LIVE) {
        assert_eq!(answer(&mut service, request).status(), StatusCode::OK, "one for each client");
    }
    let mut requests = requests(MOST).into_iter();
    let answers = requests.by_ref().take(calls).map(|sent| answer(&mut service, black_box(sent)));
    answers.filter(|answer| black_box(answer).status().is_success()).count()
}

fn answer<S, B>(service: &mut S, request: Request<()>) -> Response<B>
where
    S: Service<Request<()>, Response = Response<B>, Error = Infallible>,
{
    let mut context = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut context).is_ready());
    match pin!(service.call(request)).poll(&mut context) {
        Poll::Ready(Ok(response)) => response,
        _ => unreachable!("the service answers at once"),
    }
}

fn requests(count: u32) -> Vec<Request<()>> {
    (0..count)
        .map(|n| {
            let mut request = Request::new(());
            let [_, a, b, c] = (n % LIVE).to_be_bytes();
            request.extensions_mut().insert(PeerAddr(SocketAddr::from(([10, a, b, c], 50_001))));
            request
        })
        .collect()
}

/// The service that is limited: a short text.
fn bare() -> impl Service<
    Request<()>,
    Response = Response<Full<Bytes>>,
    Error = Infallible,
    Future = Ready<Result<Response<Full<Bytes>>, Infallible>>,
> {
    service_fn(|_: Request<()>| {
        let mut response = Response::new(Full::from("ok"));
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, text);
        ready(Ok(response))
    })
}

fn layer(limit: Limit) -> RateLimitBuilder {
    let limiter = Limiter::builder(limit)
        .max_keys(LIVE.into())
        .max_wait(Duration::MAX)
        .secret([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908])
        .clock(ManualClock::new(Nanos::from_secs(1_800_000_000)))
        .build()
        .unwrap();
    RateLimitLayer::builder(limiter, PeerIp::new())
}

fn limited(
    layer: RateLimitBuilder,
) -> impl Service<Request<()>, Response = Response<impl Sized>, Error = Infallible> {
    layer.build().unwrap().layer(bare())
}

fn usage() -> ExitCode {
    eprintln!("usage: hot_layer CASE CALLS; at most {MOST} calls; cases: {}", NAMES.join(", "));
    ExitCode::from(2)
}

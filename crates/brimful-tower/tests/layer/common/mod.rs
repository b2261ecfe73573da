//! What the tests of the layer share: a service that counts, requests, and readings of responses.
#![allow(dead_code, reason = "each test uses a part")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brimful::{Key, Limit, Limiter, ManualClock, Nanos, Rules};
use brimful_tower::{Head, Missing, RateLimitBuilder, RateLimitLayer, RequestKey, ResponseBody};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

/// A limiter whose time the test moves.
pub(crate) fn limiter(rules: impl Into<Rules>) -> (Arc<Limiter>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Nanos::from_secs(1_000_000)));
    let limiter = Limiter::builder(rules).clock(clock.clone()).build().expect("a limiter");
    (Arc::new(limiter), clock)
}

/// A service that answers with the status that the request's path ends in, or 200, and counts.
pub(crate) fn service(
    calls: &Arc<AtomicU64>,
) -> impl Service<Request<()>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ Sync
+ use<> {
    let calls = calls.clone();
    tower::service_fn(move |request: Request<()>| {
        calls.fetch_add(1, Ordering::Relaxed);
        let last = request.uri().path().rsplit('/').next().and_then(|last| last.parse().ok());
        let mut response = Response::new(Full::new(Bytes::from_static(b"served")));
        *response.status_mut() = StatusCode::from_u16(last.unwrap_or(200)).expect("a status");
        async { Ok(response) }
    })
}

/// Such a service behind layers that are put around it one after the other, the last outermost.
pub(crate) struct Server<B> {
    pub(crate) calls: Arc<AtomicU64>,
    service: BoxCloneSyncService<Request<()>, Response<B>, Infallible>,
}

impl Server<ResponseBody<Full<Bytes>>> {
    pub(crate) fn new<L>(layer: &L) -> Self
    where
        L: Layer<BoxCloneSyncService<Request<()>, Response<Full<Bytes>>, Infallible>>,
        L::Service: Service<
                Request<()>,
                Response = Response<ResponseBody<Full<Bytes>>>,
                Error = Infallible,
                Future: Send,
            > + Clone
            + Send
            + Sync
            + 'static,
    {
        let calls = Arc::new(AtomicU64::new(0));
        let service = layer.layer(BoxCloneSyncService::new(service(&calls)));
        Self { calls, service: BoxCloneSyncService::new(service) }
    }
}

impl<B> Server<B>
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug> + Send + 'static,
{
    /// Puts one more layer around it.
    pub(crate) fn around<L>(self, layer: &L) -> Server<ResponseBody<B>>
    where
        L: Layer<BoxCloneSyncService<Request<()>, Response<B>, Infallible>>,
        L::Service: Service<
                Request<()>,
                Response = Response<ResponseBody<B>>,
                Error = Infallible,
                Future: Send,
            > + Clone
            + Send
            + Sync
            + 'static,
    {
        let service = BoxCloneSyncService::new(layer.layer(self.service));
        Server { calls: self.calls, service }
    }

    /// A request by `GET` of a client and a path.
    pub(crate) async fn get(&self, client: &str, path: &str) -> Answer {
        self.send(get(client, path)).await
    }

    pub(crate) async fn send(&self, request: Request<()>) -> Answer {
        let response = self.service.clone().oneshot(request).await.expect("no errors");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// How often the service inside was called.
    pub(crate) fn served(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

pub(crate) fn get(client: &str, path: &str) -> Request<()> {
    Request::get(path).header("x-client", client).body(()).expect("a request")
}

/// A response that was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn code(&self) -> u16 {
        self.status.as_u16()
    }

    /// The only line of a header; `None` when there is none.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines: Vec<_> = self.headers.get_all(name).iter().collect();
        assert!(lines.len() <= 1, "several lines of {name}: {lines:?}");
        lines.first().map(|line| line.to_str().expect("text"))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The client as the header `x-client` names it.
pub(crate) struct Client;

impl RequestKey for Client {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let value = head.headers().get("x-client").and_then(|value| value.to_str().ok());
        f(Key::Text(value.ok_or_else(|| Missing::from_client("header x-client"))?));
        Ok(())
    }
}

pub(crate) fn per_minute(tokens: u64) -> Limit {
    Limit::per_minute(tokens).expect("a limit")
}

pub(crate) fn layer(rules: impl Into<Rules>) -> RateLimitBuilder {
    RateLimitLayer::builder(limiter(rules).0, Client)
}

pub(crate) fn built(builder: RateLimitBuilder) -> RateLimitLayer {
    builder.build().expect("a layer")
}

//! What the tests over sockets share: servers on the loopback interface, clients of both versions of HTTP, and
//! readings of the fields that describe limits.
#![allow(dead_code, reason = "each test uses a part")]

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use brimful::{Key, Limiter, ManualClock, Nanos, Rules};
use brimful_tower::{Head, Missing, RequestKey};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sfv::{BareItem, List, ListEntry, Parser};
use tokio::net::{TcpListener, TcpStream};

/// What hangs fails after this long; nothing else is judged by it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test with servers and clients beside it, and ends them all with it.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("in time") })
}

/// A limiter whose time the test moves. (It begins at the beginning of no unit but the second's, and not of that.)
pub(crate) fn limiter(rules: impl Into<Rules>) -> (Arc<Limiter>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Nanos::from_secs(1_000_003) + Duration::from_nanos(7)));
    let limiter = Limiter::builder(rules).clock(clock.clone()).build().expect("a limiter");
    (Arc::new(limiter), clock)
}

/// The client as the header `x-client` names it.
pub(crate) struct Named;

impl RequestKey for Named {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let value = head.headers().get("x-client").and_then(|value| value.to_str().ok());
        f(Key::Text(value.ok_or_else(|| Missing::from_client("header x-client"))?));
        Ok(())
    }
}

/// A port of its own on the loopback interface.
pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Serves a router as axum does.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let (listener, address) = listen().await;
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

/// A connection.
pub(crate) enum Client {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    /// Connects and says which version of HTTP it speaks, without asking (HTTP/2 by prior knowledge).
    pub(crate) async fn connect(address: SocketAddr, version: Version) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let io = TokioIo::new(stream);
        if version == Version::HTTP_2 {
            let shaken = http2::handshake(TokioExecutor::new(), io).await;
            let (sender, connection) = shaken.expect("HTTP/2");
            tokio::spawn(connection);
            Self::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await.expect("HTTP/1");
            tokio::spawn(connection);
            Self::One(sender)
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, &[]).await
    }

    /// Sends a request over this connection, which must still be open, and reads the whole response.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let host = "limited.test";
        let request = match self {
            Self::One(_) => Request::builder().uri(path).header("host", host),
            Self::Two(_) => Request::builder().uri(format!("http://{host}{path}")),
        };
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.method(method).body(Full::default()).expect("a request");
        let response = match self {
            Self::One(sender) => {
                sender.ready().await.expect("an open connection");
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await.expect("an open connection");
                sender.send_request(request).await
            }
        };
        let (parts, body) = response.expect("a response").into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        Answer { status: parts.status, version: parts.version, headers: parts.headers, body }
    }
}

/// A response that was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) version: Version,
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

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.header(name).map(|value| value.parse().expect("an integer"))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// `RateLimit-Policy`: name, `q`, `w`.
    pub(crate) fn policies(&self) -> Vec<(String, u64, u64)> {
        items(self.header("ratelimit-policy").expect("RateLimit-Policy"), ["q", "w"])
    }

    /// `RateLimit`: name, `r`, `t`.
    pub(crate) fn limits(&self) -> Vec<(String, u64, u64)> {
        items(self.header("ratelimit").expect("RateLimit"), ["r", "t"])
    }
}

/// A structured field that is a list of strings, each with exactly these integers.
fn items(field: &str, names: [&str; 2]) -> Vec<(String, u64, u64)> {
    let list: List = Parser::new(field).parse().expect("a structured field");
    assert!(!list.is_empty(), "an empty list is no field");
    let read = |entry: &ListEntry| {
        let ListEntry::Item(item) = entry else { panic!("a list in {field}") };
        let BareItem::String(name) = &item.bare_item else { panic!("no string in {field}") };
        let there: Vec<&str> = item.params.keys().map(|name| name.as_str()).collect();
        assert_eq!(there, names, "{field}");
        let numbers = names.map(|name| {
            let number = item.params[name].as_integer().expect("an integer");
            u64::try_from(i64::from(number)).expect("not negative")
        });
        (name.as_str().to_owned(), numbers[0], numbers[1])
    };
    list.iter().map(read).collect()
}

/// How many connections may be open at once, both ends of each in this process.
pub(crate) fn most_connections() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = files.and_then(|line| line.split_whitespace().next()?.parse().ok());
    // Some are left to the other tests of this process. Where it is not known: few, as some systems allow 256.
    soft.map_or(50, |files: usize| (files.saturating_sub(700) / 2).clamp(50, 1_500))
}

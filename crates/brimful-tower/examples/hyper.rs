//! A server of hyper alone that answers each client ten times a minute.
//!
//! ```text
//! cargo run --example hyper           # on port 3000
//! cargo run --example hyper -- 8080
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::pin::pin;

use brimful::{Limit, Limiter};
use brimful_tower::{PeerAddr, PeerIp, RateLimitLayer};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::ServiceBuilder;

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new("hello\n".into()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Ten a minute, three of them at once.
    let limiter = Limiter::new(Limit::per_minute(10)?.burst(3)?)?;
    let limited = RateLimitLayer::new(limiter, PeerIp::new());

    let port = std::env::args().nth(1).map_or(Ok(3000), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}; to try it:");
    println!("  for i in 1 2 3 4 5; do curl -i http://{address}/; done");

    // One for all rounds: a signal between two rounds would be lost to a new one.
    let mut stop = pin!(tokio::signal::ctrl_c());
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => accepted?,
            stopped = &mut stop => return Ok(stopped?),
        };
        // Each connection has a service of its own; all of them have the layer's one limiter.
        let service = ServiceBuilder::new()
            .map_request(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(PeerAddr(peer));
                request
            })
            .layer(limited.clone())
            .service_fn(hello);
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            let service = TowerToHyperService::new(service);
            // A connection that breaks is the client's business.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

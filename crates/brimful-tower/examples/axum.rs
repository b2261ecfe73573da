//! An axum server that answers each client ten times a minute.
//!
//! ```text
//! cargo run --example axum            # on port 3000
//! cargo run --example axum -- 8080
//! ```

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::routing::get;
use brimful::{Limit, Limiter};
use brimful_tower::{PeerIp, RateLimitLayer};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Ten a minute, three of them at once.
    let limiter = Limiter::new(Limit::per_minute(10)?.burst(3)?)?;
    // Behind a proxy all peers are the proxy: `ClientIp` is the key there.
    let limited =
        RateLimitLayer::builder(limiter, PeerIp::new()).skip_paths(["/healthz"]).build()?;
    let router = Router::new()
        .route("/", get(async || "hello\n"))
        .route("/healthz", get(async || "well\n"))
        // What is added last is outermost: a layer for CORS or tracing comes after this one.
        .layer(limited);

    let port = std::env::args().nth(1).map_or(Ok(3000), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}; to try it:");
    println!("  for i in 1 2 3 4 5; do curl -i http://{address}/; done");

    // Without the connection's address a request has no key, and is answered with 500.
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, service).with_graceful_shutdown(stop).await?;
    Ok(())
}

//! A gRPC server, of the standard health service, that answers each client ten times a minute.
//!
//! ```text
//! cargo run --example tonic           # on port 3000
//! cargo run --example tonic -- 50051
//! ```

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use brimful::{Limit, Limiter};
use brimful_tower::{PeerIp, RateLimitLayer};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Ten a minute, three of them at once.
    let limiter = Limiter::new(Limit::per_minute(10)?.burst(3)?)?;
    // The feature `tonic` of brimful-tower finds the peer, and answers with statuses of gRPC: RESOURCE_EXHAUSTED
    // with RetryInfo and QuotaFailure, which generated clients understand.
    let limited = RateLimitLayer::new(limiter, PeerIp::new());
    // Any generated service stands here.
    let (_reporter, health) = tonic_health::server::health_reporter();

    let port = std::env::args().nth(1).map_or(Ok(3000), |port| port.parse())?;
    let incoming = TcpIncoming::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    let address = incoming.local_addr()?;
    println!("listening on http://{address}; to try it, five times:");
    println!("  grpc-health-probe -addr {address}");
    println!("or, with five zeros as the message that says nothing:");
    println!(
        "  printf '\\0\\0\\0\\0\\0' | curl -is --http2-prior-knowledge -H 'content-type: application/grpc' \
         -H 'te: trailers' --data-binary @- http://{address}/grpc.health.v1.Health/Check"
    );

    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let server = Server::builder().layer(limited).add_service(health);
    server.serve_with_incoming_shutdown(incoming, stop).await?;
    Ok(())
}

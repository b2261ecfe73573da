//! The other end of the connection.

use std::net::{IpAddr, SocketAddr};

use brimful::Key;

use super::prefixes::Prefixes;
use super::{Missing, RequestKey};
use crate::error::Error;
use crate::head::Head;

/// The address of a request's peer: an extension for servers that leave none themselves.
///
/// axum's `ConnectInfo<SocketAddr>` (with the feature `axum`) and what tonic's server leaves (with `tonic`) are found
/// without this. It goes before them, and spares the copy of all extensions that finding the peer of a tonic server with
/// TLS costs. Whatever accepts connections inserts it, never something that a client wrote:
///
/// ```
/// use brimful_tower::PeerAddr;
///
/// # let peer: std::net::SocketAddr = "192.0.2.1:50001".parse()?;
/// # let mut request = http::Request::new(());
/// // where `peer` came with the connection
/// request.extensions_mut().insert(PeerAddr(peer));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

/// The address of the other end of the connection: one IPv4 address, or the /64 network of an IPv6 address, of which
/// one subscriber holds all.
///
/// Behind a proxy that is the proxy: use [`ClientIp`](super::ClientIp) there. An IPv4 address mapped into IPv6
/// (`::ffff:192.0.2.1`), as dual-stack sockets report it, is the IPv4 address. The key is a network, and
/// patterns of rules see it written out: an address alone as `192.0.2.1`, a network as `2001:db8:1:2::/64`.
///
/// A request without a peer's address is the server's fault ([`Missing::is_servers_fault`]).
///
/// ```
/// use brimful::{Key, IpPrefix};
/// use brimful_tower::{Head, PeerAddr, PeerIp, RequestKey};
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(PeerAddr("[2001:db8:1:2::9]:50001".parse()?));
///
/// let home = IpPrefix::new("2001:db8:1:2::".parse()?, 64)?;
/// PeerIp::new().with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Ip(home)))?;
///
/// let site = IpPrefix::new("2001:db8:1::".parse()?, 48)?;
/// let by_site = PeerIp::new().ipv6_prefix(48)?;
/// by_site.with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Ip(site)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PeerIp {
    prefixes: Prefixes,
}

impl PeerIp {
    /// By whole IPv4 addresses and IPv6 networks of 64 bits.
    #[must_use]
    pub const fn new() -> Self {
        Self { prefixes: Prefixes::new() }
    }

    /// How many bits of an IPv4 address count: 0 to 32, by default 32.
    ///
    /// # Errors
    /// `length` is out of range.
    pub fn ipv4_prefix(self, length: u8) -> Result<Self, Error> {
        Ok(Self { prefixes: self.prefixes.ipv4(length)? })
    }

    /// How many bits of an IPv6 address count: 0 to 128, by default 64.
    ///
    /// # Errors
    /// `length` is out of range.
    pub fn ipv6_prefix(self, length: u8) -> Result<Self, Error> {
        Ok(Self { prefixes: self.prefixes.ipv6(length)? })
    }

    /// Whether an address in `64:ff9b::/96` counts as the IPv4 address in it; by default not.
    ///
    /// Through a NAT64 that translates IPv4 clients for a server that has IPv6 alone, all of them share one /64, and
    /// so one budget. Where there is none, leave it off.
    #[must_use]
    pub const fn nat64(self, nat64: bool) -> Self {
        Self { prefixes: self.prefixes.nat64(nat64) }
    }
}

impl Default for PeerIp {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestKey for PeerIp {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        f(Key::Ip(self.prefixes.of(peer(head)?)));
        Ok(())
    }
}

/// The address of the peer; the first of those that servers left.
pub(super) fn peer(head: Head<'_>) -> Result<IpAddr, Missing> {
    let own = head.extensions().get::<PeerAddr>().map(|peer| peer.0);
    let peer = own.or_else(|| of_axum(head)).or_else(|| of_tonic(head)).ok_or_else(|| {
        Missing::from_server(
            "peer address; with axum, serve `into_make_service_with_connect_info::<SocketAddr>()` and enable the \
             feature `axum` of brimful-tower; with tonic, enable `tonic` and serve over TCP; with \
             other servers, insert `PeerAddr` into each request",
        )
    })?;
    Ok(peer.ip().to_canonical())
}

#[cfg(feature = "axum")]
fn of_axum(head: Head<'_>) -> Option<SocketAddr> {
    head.extensions().get::<axum::extract::ConnectInfo<SocketAddr>>().map(|info| info.0)
}

#[cfg(not(feature = "axum"))]
const fn of_axum(_head: Head<'_>) -> Option<SocketAddr> {
    None
}

#[cfg(feature = "tonic")]
fn of_tonic(head: Head<'_>) -> Option<SocketAddr> {
    use tonic::metadata::MetadataMap;
    use tonic::transport::server::TcpConnectInfo;

    let extensions = head.extensions();
    if let Some(info) = extensions.get::<TcpConnectInfo>() {
        return info.remote_addr();
    }
    // What a server with TLS leaves has a type that is there only with one of tonic's features for TLS. A request of
    // tonic's knows it where the server has one, but wants the extensions as its own.
    tonic::Request::from_parts(MetadataMap::new(), extensions.clone(), ()).remote_addr()
}

#[cfg(not(feature = "tonic"))]
const fn of_tonic(_head: Head<'_>) -> Option<SocketAddr> {
    None
}

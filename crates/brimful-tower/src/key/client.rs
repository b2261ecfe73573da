//! The client behind proxies.

use std::net::IpAddr;

use brimful::Key;
use http::header::{FORWARDED, HeaderMap, HeaderName};

use super::forwarded::Elements;
use super::header::header_name;
use super::node::{read, trim};
use super::peer::peer;
use super::prefixes::Prefixes;
use super::trusted::Trusted;
use super::{Missing, RequestKey};
use crate::error::Error;
use crate::head::Head;

/// The address of the client, as far as proxies that are trusted vouch for it: one IPv4 address, or the /64 network of
/// an IPv6 address.
///
/// What says who the client is, is one header, and no other is looked at: of two, a client could fill the one that
/// the proxy does not write. Name the one that *your* proxy writes, and the networks that your proxies are in.
///
/// It starts from the peer, the other end of the connection. As long as the address reached is one of a trusted
/// proxy, the next entry of the header, from right to left, says for whom that one spoke. So
///
/// * a peer that is not trusted is the client, whatever it writes into headers;
/// * the first address from the right that is not trusted is the client; what stands to the left of it
///   it may have made up itself;
/// * when all are trusted, the leftmost is the client;
/// * an entry that cannot be read (`unknown`, `_hidden`, anything else that is no address) ends the walk: the client is
///   the proxy that reported it, the last one that was vouched for.
///
/// All lines of the header, in their order, are one list. Empty entries are left out. Ports and brackets are
/// cut. An IPv4 address mapped into IPv6 is the IPv4 address. The work is linear in the length of the header, and
/// nothing is allocated. (`tests/keys/spoofing.rs` has a table of what is believed and what is not;
/// `tests/keys/forwarded.rs` compares with a slower reading of the same rules.)
///
/// ```
/// use brimful_tower::{ClientIp, Head, PeerAddr};
///
/// let client = ClientIp::x_forwarded_for(["10.0.0.0/8", "192.0.2.7"])?;
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(PeerAddr("10.0.0.1:50001".parse()?));
/// // The first address is what the client sent; the proxy wrote the second behind it.
/// request.headers_mut().insert("x-forwarded-for", "203.0.113.66, 198.51.100.7".parse()?);
/// assert_eq!(client.address(Head::of(&request))?.to_string(), "198.51.100.7");
///
/// // A peer that is no proxy may write what it likes.
/// request.extensions_mut().insert(PeerAddr("198.51.100.99:50001".parse()?));
/// assert_eq!(client.address(Head::of(&request))?.to_string(), "198.51.100.99");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientIp {
    source: Source,
    trusted: Trusted,
    prefixes: Prefixes,
}

/// What says who the client is.
#[derive(Clone, Debug)]
enum Source {
    XForwardedFor,
    Forwarded,
    /// A header with one address.
    Single(HeaderName),
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

impl ClientIp {
    /// From `X-Forwarded-For`, of which each proxy writes the address of its peer at the end.
    ///
    /// `trusted` are the networks and addresses of the proxies, such as `10.0.0.0/8`, `::1/128` or `192.0.2.7`. (Other
    /// types of networks can be given as they print themselves: an `IpPrefix`, or an `IpNet` of the crate ipnet.)
    ///
    /// # Errors
    /// An entry of `trusted` cannot be read or has bits beyond its prefix, or there is none. The error names it.
    pub fn x_forwarded_for<T: AsRef<str>>(
        trusted: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        Self::new(Source::XForwardedFor, trusted)
    }

    /// From `Forwarded` (RFC 7239), by the `for` of each element. An element without one or with two cannot be read,
    /// nor can one that is not well-formed.
    ///
    /// # Errors
    /// As [`x_forwarded_for`](Self::x_forwarded_for).
    ///
    /// ```
    /// use brimful_tower::{ClientIp, Head, PeerAddr};
    ///
    /// let client = ClientIp::forwarded(["10.0.0.0/8"])?;
    ///
    /// let mut request = http::Request::new(());
    /// request.extensions_mut().insert(PeerAddr("10.0.0.1:50001".parse()?));
    /// let value = r#"for=203.0.113.66, for="[2001:db8::7]:4711";proto=https"#;
    /// request.headers_mut().insert("forwarded", value.parse()?);
    /// assert_eq!(client.address(Head::of(&request))?.to_string(), "2001:db8::7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forwarded<T: AsRef<str>>(trusted: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        Self::new(Source::Forwarded, trusted)
    }

    /// From a header with one address that the proxy sets in place of what the client sent, such as `CF-Connecting-IP`
    /// or `X-Real-IP`. It is believed from trusted peers alone. Absent, unreadable, or standing there several
    /// times, it leaves the peer as the client.
    ///
    /// # Errors
    /// `name` is not the name of a header; else as [`x_forwarded_for`](Self::x_forwarded_for).
    ///
    /// ```
    /// use brimful_tower::{ClientIp, Head, PeerAddr};
    ///
    /// let client = ClientIp::header("cf-connecting-ip", ["192.0.2.0/24"])?;
    ///
    /// let mut request = http::Request::new(());
    /// request.extensions_mut().insert(PeerAddr("192.0.2.1:50001".parse()?));
    /// request.headers_mut().insert("cf-connecting-ip", "198.51.100.7".parse()?);
    /// assert_eq!(client.address(Head::of(&request))?.to_string(), "198.51.100.7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header<T: AsRef<str>>(
        name: &str,
        trusted: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        Self::new(Source::Single(header_name(name)?), trusted)
    }

    fn new<T: AsRef<str>>(
        source: Source,
        trusted: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        Ok(Self { source, trusted: Trusted::new(trusted)?, prefixes: Prefixes::new() })
    }

    /// How many bits of an IPv4 address count: 0 to 32, by default 32.
    ///
    /// # Errors
    /// `length` is out of range.
    pub fn ipv4_prefix(self, length: u8) -> Result<Self, Error> {
        Ok(Self { prefixes: self.prefixes.ipv4(length)?, ..self })
    }

    /// How many bits of an IPv6 address count: 0 to 128, by default 64.
    ///
    /// # Errors
    /// `length` is out of range.
    pub fn ipv6_prefix(self, length: u8) -> Result<Self, Error> {
        Ok(Self { prefixes: self.prefixes.ipv6(length)?, ..self })
    }

    /// Whether an address in `64:ff9b::/96` counts as the IPv4 address in it; by default not. (See
    /// [`PeerIp::nat64`](super::PeerIp::nat64). Who is trusted does not depend on it.)
    #[must_use]
    pub fn nat64(self, nat64: bool) -> Self {
        Self { prefixes: self.prefixes.nat64(nat64), ..self }
    }

    /// The address of the client, all of it: for logs, and for what else depends on it.
    ///
    /// # Errors
    /// The request has no peer address: the server's fault.
    pub fn address(&self, head: Head<'_>) -> Result<IpAddr, Missing> {
        let (peer, headers) = (peer(head)?, head.headers());
        Ok(match &self.source {
            Source::XForwardedFor => self.walk(peer, x_forwarded_for(headers)),
            Source::Forwarded => self.walk(peer, forwarded(headers)),
            Source::Single(name) if self.trusted.has(peer) => single(headers, name).unwrap_or(peer),
            Source::Single(_) => peer,
        })
    }

    /// From hop to hop; `reported`, from right to left, is for whom each of them spoke.
    fn walk(&self, peer: IpAddr, reported: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        // Vouched for: the peer by its connection, every other one by a trusted hop.
        let mut client = peer;
        for entry in reported {
            match entry {
                Some(address) if self.trusted.has(client) => client = address,
                _ => break,
            }
        }
        client
    }
}

impl RequestKey for ClientIp {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        f(Key::Ip(self.prefixes.of(self.address(head)?)));
        Ok(())
    }
}

fn x_forwarded_for(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = headers.get_all(X_FORWARDED_FOR).into_iter().rev();
    let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    entries.map(trim).filter(|entry| !entry.is_empty()).map(read)
}

fn forwarded(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = headers.get_all(FORWARDED).into_iter().rev();
    lines.flat_map(|line| Elements::of(line.as_bytes()))
}

fn single(headers: &HeaderMap, name: &HeaderName) -> Option<IpAddr> {
    let mut lines = headers.get_all(name).into_iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => read(trim(line.as_bytes())),
        _ => None,
    }
}

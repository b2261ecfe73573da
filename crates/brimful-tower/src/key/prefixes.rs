//! How much of an address is one client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use brimful::IpPrefix;

use crate::error::Error;

/// The prefix lengths by which addresses become keys. They are in range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefixes {
    ipv4: u8,
    ipv6: u8,
    nat64: bool,
}

impl Prefixes {
    /// An IPv4 address, or the /64 of an IPv6 address.
    pub(super) const fn new() -> Self {
        Self { ipv4: 32, ipv6: 64, nat64: false }
    }

    pub(super) fn ipv4(self, length: u8) -> Result<Self, Error> {
        match length {
            0..=32 => Ok(Self { ipv4: length, ..self }),
            _ => Err(Error::range("ipv4_prefix", length, "0 to 32")),
        }
    }

    pub(super) fn ipv6(self, length: u8) -> Result<Self, Error> {
        match length {
            0..=128 => Ok(Self { ipv6: length, ..self }),
            _ => Err(Error::range("ipv6_prefix", length, "0 to 128")),
        }
    }

    pub(super) const fn nat64(self, nat64: bool) -> Self {
        Self { nat64, ..self }
    }

    /// The network that counts as one client.
    pub(super) fn of(&self, address: IpAddr) -> IpPrefix {
        let address = match address.to_canonical() {
            IpAddr::V6(v6) if self.nat64 => translated(v6).map_or(IpAddr::V6(v6), IpAddr::V4),
            other => other,
        };
        let length = if address.is_ipv4() { self.ipv4 } else { self.ipv6 };
        // The lengths are in range: an error cannot be.
        IpPrefix::new(address, length).unwrap_or_else(|_| IpPrefix::host(address))
    }
}

/// The IPv4 address in one of 64:ff9b::/96 (RFC 6052, section 2.1).
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.octets() {
        [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

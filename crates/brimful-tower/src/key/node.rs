//! One address as proxies write it: with or without a port, in brackets or not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest address, in brackets and with a port, has 53 bytes; what is longer hides its port in a long name, and is
/// not read.
pub(super) const LONGEST: usize = 64;

/// Reads `198.51.100.7`, `198.51.100.7:50001`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:443`. An address in
/// a zone (`fe80::1%eth0`) means nothing on another machine: it cannot be read.
///
/// An IPv4 address mapped into IPv6 is the IPv4 address.
pub(super) fn read(bytes: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST)?;
    if let Some(bracketed) = text.strip_prefix('[') {
        let (address, after) = bracketed.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let ends = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
        return ends.then(|| IpAddr::V6(address).to_canonical());
    }
    let with_port = text.split_once(':').filter(|(_, port)| is_port(port));
    let ipv4 = with_port.and_then(|(address, _)| address.parse::<Ipv4Addr>().ok());
    let address = ipv4.map(IpAddr::V4).or_else(|| text.parse().ok())?;
    Some(address.to_canonical())
}

/// One to five digits, or what hides them: `_` and letters, digits, `.`, `_` and `-` (RFC 7239, section 6).
fn is_port(text: &str) -> bool {
    let hides = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match text.strip_prefix('_') {
        Some(hidden) => !hidden.is_empty() && hidden.bytes().all(hides),
        None => matches!(text.len(), 1..=5) && text.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Without the spaces and tabs around it.
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

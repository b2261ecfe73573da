//! Which peers may say whom they speak for.

use std::net::IpAddr;

use brimful::IpPrefix;

use crate::error::Error;

const EXPECTED: &str =
    "a network or an address, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`";

/// Networks of proxies; at least one.
#[derive(Clone, Debug)]
pub(super) struct Trusted(Box<[IpPrefix]>);

impl Trusted {
    pub(super) fn new<T: AsRef<str>>(networks: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let networks: Result<Vec<_>, _> =
            networks.into_iter().map(|network| read(network.as_ref())).collect();
        let networks = networks?;
        if networks.is_empty() {
            let expected = "at least one network; without proxies the client is the peer: PeerIp";
            return Err(Error::range("trusted", "empty", expected));
        }
        Ok(Self(networks.into()))
    }

    /// Whether one of the networks has this address. An IPv4 address mapped into IPv6 is the IPv4 address.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| {
            // A length is asked only of its own family: the error of another one would cost an allocation.
            address.is_ipv4() == network.network().is_ipv4()
                && IpPrefix::new(address, network.length()).is_ok_and(|of| of == *network)
        })
    }
}

fn read(text: &str) -> Result<IpPrefix, Error> {
    let unreadable = |expected: String| Error::range("trusted", format!("`{text}`"), expected);
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| unreadable(EXPECTED.into()))?;
    let Some(length) = length else { return Ok(IpPrefix::host(address)) };

    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse().ok().filter(|_| digits);
    let network = length.and_then(|length| IpPrefix::new(address, length).ok());
    let network = network.ok_or_else(|| {
        let range = match address {
            IpAddr::V4(_) => "0 to 32",
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => "96 to 128",
            IpAddr::V6(_) => "0 to 128",
        };
        unreadable(format!("a prefix length of {range}"))
    })?;
    // It could mean the network or the one host: a wrong guess would trust too many.
    if network.network() != address.to_canonical() {
        let host = IpPrefix::host(address).network();
        return Err(unreadable(format!("`{network}` for the network, `{host}` for the address")));
    }
    Ok(network)
}

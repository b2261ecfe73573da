//! Any bytes as the headers that say who a client is, beside a slower reading of the same rules.
//!
//! The first byte says which peer sent them, the rest are the lines of the header: each of `X-Forwarded-For` and of
//! `Forwarded`.

pub(crate) mod oracle;

use std::net::IpAddr;
use std::sync::LazyLock;

use brimful_tower::{ClientIp, Head, PeerAddr};
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use oracle::Syntax;

/// Networks of proxies, for both readings. (Short, so that a fuzzer finds addresses in them and beside them.)
const TRUSTED: [&str; 4] = ["10.0.0.0/8", "1.2.3.4", "2001::/16", "::1/128"];

const PEERS: [&str; 6] = ["10.0.0.1", "::ffff:10.0.0.1", "::1", "2001::2", "1.2.3.4", "1.2.3.5"];

static BY: LazyLock<[(HeaderName, ClientIp, Syntax); 2]> = LazyLock::new(|| {
    let networks = "networks";
    let x_forwarded_for = ClientIp::x_forwarded_for(TRUSTED).expect(networks);
    let forwarded = ClientIp::forwarded(TRUSTED).expect(networks);
    [
        (HeaderName::from_static("x-forwarded-for"), x_forwarded_for, Syntax::XForwardedFor),
        (HeaderName::from_static("forwarded"), forwarded, Syntax::Forwarded),
    ]
});

/// Both readings find the same client, and it is the peer or stands in the header with only trusted addresses on its
/// right.
///
/// # Panics
/// They do not.
pub(crate) fn check(bytes: &[u8]) {
    let Some((peer, text)) = bytes.split_first() else { return };
    let peer: IpAddr = PEERS[usize::from(*peer) % PEERS.len()].parse().expect("an address");
    // What HTTP does not allow in a value cannot arrive.
    let lines: Vec<HeaderValue> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    for (name, by, syntax) in &*BY {
        let mut headers = HeaderMap::new();
        for line in &lines {
            headers.append(name, line.clone());
        }
        let mut request = Request::new(());
        *request.headers_mut() = headers;
        request.extensions_mut().insert(PeerAddr((peer, 443).into()));
        let found = by.address(Head::of(&request)).expect("it has a peer");

        let entries = oracle::entries(*syntax, lines.iter().map(HeaderValue::as_bytes));
        let expected = oracle::client(peer, &entries);
        assert_eq!(found, expected, "{name} from {peer}: {lines:?} has the entries {entries:?}");
    }
}

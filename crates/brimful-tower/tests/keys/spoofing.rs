//! What is believed of who a client is: each row is a peer, the headers that it sent, and the key that results.
//!
//! `cargo test -p brimful-tower --test spoofing -- --show-output` prints the table.

use std::iter;
use std::net::{IpAddr, SocketAddr};

use brimful::{Key, Limit, Limiter, Nanos};
use brimful_tower::{ClientIp, Head, PeerAddr, PeerIp, RequestKey};
use http::{HeaderName, HeaderValue, Request};

/// Two networks of proxies, and single ones.
const TRUSTED: [&str; 4] = ["10.0.0.0/8", "192.0.2.7", "2001:db8:aaaa::/48", "::1/128"];

const START: Nanos = Nanos::from_secs(1_000);

#[derive(Clone, Copy, Debug)]
enum By {
    Peer,
    PeerNat64,
    XForwardedFor,
    XForwardedForNat64,
    Forwarded,
    CfConnectingIp,
}

impl By {
    fn key(self) -> Box<dyn RequestKey> {
        let client = |client: Result<ClientIp, _>| client.expect("networks and a header's name");
        match self {
            Self::Peer => Box::new(PeerIp::new()),
            Self::PeerNat64 => Box::new(PeerIp::new().nat64(true)),
            Self::XForwardedFor => Box::new(client(ClientIp::x_forwarded_for(TRUSTED))),
            Self::XForwardedForNat64 => {
                Box::new(client(ClientIp::x_forwarded_for(TRUSTED)).nat64(true))
            }
            Self::Forwarded => Box::new(client(ClientIp::forwarded(TRUSTED))),
            Self::CfConnectingIp => Box::new(client(ClientIp::header("cf-connecting-ip", TRUSTED))),
        }
    }

    /// The header that it looks at.
    fn header(self) -> &'static str {
        match self {
            Self::Peer | Self::PeerNat64 => "(none)",
            Self::XForwardedFor | Self::XForwardedForNat64 => "x-forwarded-for",
            Self::Forwarded => "forwarded",
            Self::CfConnectingIp => "cf-connecting-ip",
        }
    }
}

struct Row {
    why: &'static str,
    by: By,
    peer: &'static str,
    lines: Vec<(&'static str, Vec<u8>)>,
    /// The key, as rules see it: a network with its length.
    key: &'static str,
}

/// A row whose lines are all of the header that is looked at.
fn row(by: By, peer: &'static str, lines: &[&str], key: &'static str, why: &'static str) -> Row {
    let lines = lines.iter().map(|line| (by.header(), line.as_bytes().to_vec())).collect();
    Row { why, by, peer, lines, key }
}

/// A row with lines of any headers.
fn mixed(
    by: By,
    peer: &'static str,
    lines: &[(&'static str, &[u8])],
    key: &'static str,
    why: &'static str,
) -> Row {
    let lines = lines.iter().map(|(name, value)| (*name, value.to_vec())).collect();
    Row { why, by, peer, lines, key }
}

const STRANGER: &str = "203.0.113.5";
const PROXY: &str = "10.0.0.1";
const X: By = By::XForwardedFor;
const F: By = By::Forwarded;
const CF: By = By::CfConnectingIp;

#[rustfmt::skip] // One row a line, as far as it goes.
fn strangers() -> Vec<Row> {
    vec![
        row(X, STRANGER, &[], "203.0.113.5/32", "the peer is the client"),
        row(X, STRANGER, &["198.51.100.7"], "203.0.113.5/32", "forged: nobody vouches for a stranger's header"),
        row(X, STRANGER, &["198.51.100.7, 10.0.0.9"], "203.0.113.5/32", "forged: a trusted address in it vouches for nothing"),
        row(X, STRANGER, &["10.0.0.9"], "203.0.113.5/32", "forged: it does not become a proxy by saying so"),
        row(X, "192.0.2.8", &["198.51.100.7"], "192.0.2.8/32", "the neighbour of a trusted address is not trusted"),
        row(X, "11.0.0.1", &["198.51.100.7"], "11.0.0.1/32", "next to a trusted network, not in it"),
        row(X, "2001:db8:aaab::1", &["198.51.100.7"], "2001:db8:aaab::/64", "next to a trusted network of IPv6"),
        row(F, STRANGER, &["for=198.51.100.7"], "203.0.113.5/32", "forged Forwarded"),
        row(CF, STRANGER, &["198.51.100.7"], "203.0.113.5/32", "forged header with one address: believed from proxies alone"),
        row(By::Peer, STRANGER, &[], "203.0.113.5/32", "by peers no header counts"),
        mixed(By::Peer, PROXY, &[("x-forwarded-for", b"198.51.100.7"), ("forwarded", b"for=198.51.100.8")],
            "10.0.0.1/32", "by peers no header counts, from whomever"),
    ]
}

#[rustfmt::skip]
fn proxies() -> Vec<Row> {
    vec![
        row(X, PROXY, &["198.51.100.7"], "198.51.100.7/32", "one proxy: it wrote its peer"),
        row(X, PROXY, &[], "10.0.0.1/32", "the proxy speaks for itself, such as when it checks health"),
        row(X, "192.0.2.7", &["198.51.100.7"], "198.51.100.7/32", "a proxy trusted by its address alone"),
        row(X, "::1", &["198.51.100.7"], "198.51.100.7/32", "a proxy on the same machine"),
        row(X, "2001:db8:aaaa:1::9", &["2001:db8:1:2::3"], "2001:db8:1:2::/64", "all IPv6"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7"], "198.51.100.7/32", "prepended by the client: left of the first stranger nothing counts"),
        row(X, PROXY, &["10.0.0.9, 198.51.100.7"], "198.51.100.7/32", "a trusted address prepended by the client"),
        row(X, PROXY, &["198.51.100.66, 10.0.0.9, 198.51.100.7"], "198.51.100.7/32", "a whole chain prepended by the client"),
        row(X, PROXY, &["unknown, 198.51.100.7"], "198.51.100.7/32", "garbage prepended by the client is not reached"),
        row(X, PROXY, &["198.51.100.7, 10.0.0.2"], "198.51.100.7/32", "two proxies"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7, 10.0.0.2"], "198.51.100.7/32", "two proxies, prepended"),
        row(X, PROXY, &["10.0.0.9, 198.51.100.7, 10.0.0.2"], "198.51.100.7/32", "two proxies, a trusted address prepended"),
        row(X, PROXY, &["198.51.100.7, 192.0.2.7, 2001:db8:aaaa::1, 10.0.0.2"], "198.51.100.7/32", "four proxies of three networks"),
        row(X, PROXY, &["198.51.100.7, 203.0.113.1"], "203.0.113.1/32", "a proxy that is not in the list is the client"),
        row(X, PROXY, &["10.0.0.4, 10.0.0.3, 10.0.0.2"], "10.0.0.4/32", "all are trusted: the one on the left asked"),
        row(CF, PROXY, &["198.51.100.7"], "198.51.100.7/32", "the proxy set one address"),
        row(CF, PROXY, &["10.0.0.4"], "10.0.0.4/32", "one address, also of a trusted one: it is not a list"),
        row(CF, PROXY, &[], "10.0.0.1/32", "the proxy set none"),
        row(CF, PROXY, &[" 198.51.100.7:50001\t"], "198.51.100.7/32", "a port and spaces are cut"),
        row(CF, PROXY, &["198.51.100.66, 198.51.100.7"], "10.0.0.1/32", "two addresses where one belongs"),
        row(CF, PROXY, &["198.51.100.66", "198.51.100.7"], "10.0.0.1/32", "two lines where one belongs: which did the proxy write?"),
        row(CF, PROXY, &["unknown"], "10.0.0.1/32", "unreadable"),
        row(CF, PROXY, &[""], "10.0.0.1/32", "empty"),
    ]
}

#[rustfmt::skip]
fn other_headers() -> Vec<Row> {
    let all: &[(&str, &[u8])] = &[
        ("x-forwarded-for", b"198.51.100.1"),
        ("forwarded", b"for=198.51.100.2"),
        ("cf-connecting-ip", b"198.51.100.3"),
        ("x-real-ip", b"198.51.100.4"),
        ("true-client-ip", b"198.51.100.5"),
        ("x-client-ip", b"198.51.100.6"),
    ];
    vec![
        mixed(X, PROXY, all, "198.51.100.1/32", "one header counts, the others are the client's"),
        mixed(F, PROXY, all, "198.51.100.2/32", "one header counts, the others are the client's"),
        mixed(CF, PROXY, all, "198.51.100.3/32", "one header counts, the others are the client's"),
        mixed(X, PROXY, &all[1..], "10.0.0.1/32", "without the one, no other stands in for it"),
        mixed(F, PROXY, &all[..1], "10.0.0.1/32", "without the one, no other stands in for it"),
        mixed(CF, PROXY, &all[..2], "10.0.0.1/32", "without the one, no other stands in for it"),
        mixed(X, PROXY, &[("x-forwarded-for", b"unknown"), ("forwarded", b"for=198.51.100.2")],
            "10.0.0.1/32", "when the one is unreadable, no other stands in for it"),
    ]
}

#[rustfmt::skip]
fn spellings() -> Vec<Row> {
    vec![
        // Case 196: ports.
        row(X, PROXY, &["198.51.100.7:50001"], "198.51.100.7/32", "case 196: the port of one connection is cut"),
        row(X, PROXY, &["198.51.100.7:50002"], "198.51.100.7/32", "case 196: and of the next"),
        row(X, PROXY, &["[2001:db8::1]:443"], "2001:db8::/64", "case 196: brackets and port"),
        row(X, PROXY, &["[2001:db8::1]"], "2001:db8::/64", "brackets alone"),
        row(X, PROXY, &["2001:db8::1"], "2001:db8::/64", "bare"),
        row(X, PROXY, &["2001:db8::1:443"], "2001:db8::/64", "bare: the end is no port"),
        row(X, PROXY, &["2001:DB8:0:0:0:0:0:1"], "2001:db8::/64", "another spelling of the same"),
        row(X, PROXY, &["198.51.100.7:50001, 10.0.0.2:50002"], "198.51.100.7/32", "a proxy with a port is that proxy"),
        row(X, PROXY, &["198.51.100.7, [2001:db8:aaaa::1]:50002"], "198.51.100.7/32", "a proxy in brackets with a port"),
        // Case 197: mapped addresses and those that look alike.
        row(X, PROXY, &["::ffff:1.2.3.4"], "1.2.3.4/32", "case 197: mapped IPv4 is IPv4"),
        row(X, PROXY, &["::ffff:102:304"], "1.2.3.4/32", "case 197: in either spelling"),
        row(X, PROXY, &["[::ffff:1.2.3.4]:50001"], "1.2.3.4/32", "in brackets with a port"),
        row(X, PROXY, &["2001:db8:1234:5678::1.2.3.4"], "2001:db8:1234:5678::/64", "case 197: not mapped, only written so"),
        row(X, PROXY, &["2001:db8:1234:5678::102:304"], "2001:db8:1234:5678::/64", "case 197: in either spelling"),
        row(X, "::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7/32", "a proxy on a dual-stack socket is trusted"),
        row(X, "::ffff:203.0.113.5", &["198.51.100.7"], "203.0.113.5/32", "a stranger on a dual-stack socket is not"),
        row(X, PROXY, &["198.51.100.7, ::ffff:10.0.0.2"], "198.51.100.7/32", "a mapped entry is a trusted proxy"),
        // Case 198: a dual-stack socket.
        row(By::Peer, "::ffff:192.0.2.1", &[], "192.0.2.1/32", "case 198: clients of a dual-stack socket are told apart"),
        row(By::Peer, "::ffff:192.0.2.2", &[], "192.0.2.2/32", "case 198"),
        // Case 199: rotation within a home's network, and beyond.
        row(By::Peer, "2001:db8:1:2::1", &[], "2001:db8:1:2::/64", "case 199: one home"),
        row(By::Peer, "2001:db8:1:2:0:0:1:0", &[], "2001:db8:1:2::/64", "case 199: the same home"),
        row(By::Peer, "2001:db8:1:2:ffff:ffff:ffff:ffff", &[], "2001:db8:1:2::/64", "the last address of that home"),
        row(By::Peer, "2001:db8:1:3::", &[], "2001:db8:1:3::/64", "another home"),
        row(X, PROXY, &["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64", "rotation behind a proxy"),
        // Case 201: IPv4 behind a NAT64.
        row(By::Peer, "64:ff9b::808:808", &[], "64:ff9b::/64", "case 201: by default as any IPv6 address"),
        row(By::Peer, "64:ff9b::909:909", &[], "64:ff9b::/64", "case 201: by default one with all others there"),
        row(By::PeerNat64, "64:ff9b::808:808", &[], "8.8.8.8/32", "case 201: where it was asked for, the address inside"),
        row(By::PeerNat64, "64:ff9b::909:909", &[], "9.9.9.9/32", "case 201"),
        row(By::PeerNat64, "64:ff9b:0:0:1::808:808", &[], "64:ff9b::/64", "not in the /96"),
        row(By::PeerNat64, "2001:db8::808:808", &[], "2001:db8::/64", "not in the /96"),
        row(By::XForwardedForNat64, PROXY, &["64:ff9b::808:808"], "8.8.8.8/32", "case 201, behind a proxy"),
        row(By::XForwardedForNat64, "64:ff9b::a00:1", &["198.51.100.7"], "10.0.0.1/32", "but trust does not look inside"),
    ]
}

#[rustfmt::skip]
fn lists() -> Vec<Row> {
    vec![
        row(X, PROXY, &["198.51.100.66", "198.51.100.7"], "198.51.100.7/32", "two lines are one list, the last line on its right"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7", "10.0.0.3, 10.0.0.2"], "198.51.100.7/32", "across lines"),
        row(X, PROXY, &["198.51.100.7", ""], "198.51.100.7/32", "an empty line"),
        row(X, PROXY, &[""], "10.0.0.1/32", "empty"),
        row(X, PROXY, &[" , ,\t,"], "10.0.0.1/32", "nothing but commas"),
        row(X, PROXY, &["198.51.100.7,,\t, 10.0.0.2 , "], "198.51.100.7/32", "empty entries are left out"),
        row(X, PROXY, &["198.51.100.7\t,10.0.0.2"], "198.51.100.7/32", "with and without spaces"),
        row(X, PROXY, &["198.51.100.66, unknown"], "10.0.0.1/32", "`unknown`: the proxy that wrote it, nothing left of it"),
        row(X, PROXY, &["198.51.100.66, unknown, 10.0.0.2"], "10.0.0.2/32", "the proxy that wrote it is the second"),
        row(X, PROXY, &["198.51.100.66, _hidden, 10.0.0.2"], "10.0.0.2/32", "hidden"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.256"], "10.0.0.1/32", "no address"),
        row(X, PROXY, &["198.51.100.66, 198.051.100.7"], "10.0.0.1/32", "octal or decimal? no address"),
        row(X, PROXY, &["198.51.100.66, 0x0a000002"], "10.0.0.1/32", "no address"),
        row(X, PROXY, &["198.51.100.66, 198.51.100"], "10.0.0.1/32", "cut short"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7:"], "10.0.0.1/32", "a port is missing"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7:http"], "10.0.0.1/32", "no port"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7:500010"], "10.0.0.1/32", "no port"),
        row(X, PROXY, &["198.51.100.66, 198.51.100.7 10.0.0.2"], "10.0.0.1/32", "two addresses in one entry"),
        row(X, PROXY, &["198.51.100.66, [2001:db8::1"], "10.0.0.1/32", "a bracket is open"),
        row(X, PROXY, &["198.51.100.66, [2001:db8::1]443"], "10.0.0.1/32", "something behind the bracket"),
        row(X, PROXY, &["198.51.100.66, [198.51.100.7]"], "10.0.0.1/32", "brackets are for IPv6"),
        row(X, PROXY, &["198.51.100.66, fe80::1%eth0"], "10.0.0.1/32", "a zone"),
        row(X, PROXY, &["198.51.100.66, [fe80::1%251]:80"], "10.0.0.1/32", "a zone"),
        row(X, PROXY, &["198.51.100.66, localhost"], "10.0.0.1/32", "a name"),
        row(X, PROXY, &["198.51.100.66, \"198.51.100.7\""], "10.0.0.1/32", "X-Forwarded-For has no quotation marks"),
        row(X, PROXY, &["for=198.51.100.7"], "10.0.0.1/32", "the other header's syntax"),
        mixed(X, PROXY, &[("x-forwarded-for", b"198.51.100.66, \xe9\xff")], "10.0.0.1/32", "bytes above 127"),
        mixed(X, PROXY, &[("x-forwarded-for", b"\xe9\xff, 198.51.100.7")], "198.51.100.7/32", "bytes above 127 on the left"),
        mixed(X, PROXY, &[("x-forwarded-for", "198.51.100.66, \u{661}.2.3.4".as_bytes())], "10.0.0.1/32", "other digits"),
    ]
}

#[rustfmt::skip]
fn forwarded() -> Vec<Row> {
    vec![
        row(F, PROXY, &["for=198.51.100.7"], "198.51.100.7/32", "one proxy"),
        row(F, PROXY, &["For=198.51.100.7"], "198.51.100.7/32", "names in any case"),
        row(F, PROXY, &["FOR=\"198.51.100.7\""], "198.51.100.7/32", "quoted"),
        row(F, PROXY, &["for=\"198.51.100.7:50001\""], "198.51.100.7/32", "case 196: with a port"),
        row(F, PROXY, &["for=198.51.100.7:50001"], "198.51.100.7/32", "not as the standard has it, but often"),
        row(F, PROXY, &["for=\"198.51.100.7:_port\""], "198.51.100.7/32", "with a hidden port"),
        row(F, PROXY, &["for=\"[2001:db8::7]\""], "2001:db8::/64", "IPv6"),
        row(F, PROXY, &["for=\"[2001:db8::7]:443\""], "2001:db8::/64", "case 196: IPv6 with a port"),
        row(F, PROXY, &["for=[2001:db8::7]:443"], "2001:db8::/64", "not as the standard has it, but often"),
        row(F, PROXY, &["for=\"198\\.51.100.\\7\""], "198.51.100.7/32", "escapes"),
        row(F, PROXY, &["for=\"[::ffff:198.51.100.7]\""], "198.51.100.7/32", "case 197: mapped"),
        row(F, PROXY, &["proto=https;for=198.51.100.7;by=10.0.0.1;host=a.example"], "198.51.100.7/32", "among others"),
        row(F, PROXY, &["by=10.0.0.1 ; for=198.51.100.7\t; "], "198.51.100.7/32", "spaces, and nothing behind the last `;`"),
        row(F, PROXY, &[";;for=198.51.100.7"], "198.51.100.7/32", "empty pairs"),
        row(F, PROXY, &["for=198.51.100.66, for=198.51.100.7"], "198.51.100.7/32", "prepended by the client"),
        row(F, PROXY, &["for=10.0.0.9, for=198.51.100.7"], "198.51.100.7/32", "a trusted address prepended by the client"),
        row(F, PROXY, &["for=198.51.100.66,for=198.51.100.7;proto=https , for=\"10.0.0.2:1\""], "198.51.100.7/32", "two proxies, prepended"),
        row(F, PROXY, &["for=198.51.100.66", "for=198.51.100.7", "for=10.0.0.2"], "198.51.100.7/32", "lines"),
        row(F, PROXY, &["for=10.0.0.4, for=10.0.0.3"], "10.0.0.4/32", "all are trusted"),
        row(F, PROXY, &["for=198.51.100.7, , "], "198.51.100.7/32", "empty elements"),
        row(F, PROXY, &["for=198.51.100.7;host=\"a,b\""], "198.51.100.7/32", "a comma in a quoted string"),
        row(F, PROXY, &["for=198.51.100.7;host=\"a, for=198.51.100.66\""], "198.51.100.7/32", "an element in a quoted string is none"),
        row(F, PROXY, &["for=198.51.100.7;host=\"a\\\", for=198.51.100.66;x=\\\"\""], "198.51.100.7/32", "nor behind an escaped mark"),
        row(F, PROXY, &["for=198.51.100.7;host=\"\\\\\""], "198.51.100.7/32", "an escaped `\\` at the end"),
        row(F, PROXY, &["for=198.51.100.66;host=\", for=198.51.100.7"], "198.51.100.7/32", "a mark that the client leaves open swallows nothing"),
        row(F, PROXY, &["for=198.51.100.66;x=\", for=\"[2001:db8::7]\""], "2001:db8::/64", "nor does it pair with a mark of the proxy"),
        row(F, PROXY, &["for=198.51.100.66;x=\"\\, for=\"198.51.100.7\""], "198.51.100.7/32", "nor with an escape"),
        row(F, PROXY, &["for=198.51.100.66, for=unknown"], "10.0.0.1/32", "`unknown`"),
        row(F, PROXY, &["for=198.51.100.66, for=unknown, for=10.0.0.2"], "10.0.0.2/32", "`unknown`, told by the second proxy"),
        row(F, PROXY, &["for=198.51.100.66, for=_hidden"], "10.0.0.1/32", "hidden"),
        row(F, PROXY, &["for=198.51.100.66, for=\"_gazonk:_7\""], "10.0.0.1/32", "hidden with a hidden port"),
        row(F, PROXY, &["for=198.51.100.66, by=10.0.0.2"], "10.0.0.1/32", "no `for`"),
        row(F, PROXY, &["for=198.51.100.66, for=198.51.100.7;for=198.51.100.8"], "10.0.0.1/32", "`for` twice"),
        row(F, PROXY, &["for=198.51.100.66, for=198.51.100.7;FOR=198.51.100.7"], "10.0.0.1/32", "`for` twice, in another case"),
        row(F, PROXY, &["for=198.51.100.66, for="], "10.0.0.1/32", "nothing behind the `=`"),
        row(F, PROXY, &["for=198.51.100.66, for=\"\""], "10.0.0.1/32", "nothing in the quotation marks"),
        row(F, PROXY, &["for=198.51.100.66, for"], "10.0.0.1/32", "no `=`"),
        row(F, PROXY, &["for=198.51.100.66, =x;for=198.51.100.7"], "10.0.0.1/32", "no name"),
        row(F, PROXY, &["for=198.51.100.66, for = 198.51.100.7"], "10.0.0.1/32", "spaces around the `=`"),
        row(F, PROXY, &["for=198.51.100.66, 198.51.100.7"], "10.0.0.1/32", "the other header's syntax"),
        row(F, PROXY, &["for=198.51.100.66, for=\"198.51.100.7"], "10.0.0.1/32", "a mark without an end"),
        row(F, PROXY, &["for=198.51.100.66, for=198.51.100.7\""], "10.0.0.1/32", "a mark without a beginning"),
        row(F, PROXY, &["for=198.51.100.66, for=\"198.51.100.7\\\""], "10.0.0.1/32", "an end that is escaped"),
        row(F, PROXY, &["for=198.51.100.66, for=\"198.51.100.7\"x"], "10.0.0.1/32", "something behind the mark"),
        row(F, PROXY, &["for=198.51.100.66, for=198.51.100.7 x=y"], "10.0.0.1/32", "no `;` between pairs"),
        row(F, PROXY, &["for=198.51.100.66, for=\"[fe80::1%25eth0]\""], "10.0.0.1/32", "a zone"),
        row(F, PROXY, &["for=198.51.100.66, forr=198.51.100.7"], "10.0.0.1/32", "another name"),
        mixed(F, PROXY, &[("forwarded", b"for=198.51.100.7;host=\"\xe9\"")], "198.51.100.7/32", "bytes above 127 in another pair"),
        mixed(F, PROXY, &[("forwarded", b"for=198.51.100.66, for=\xe9")], "10.0.0.1/32", "bytes above 127"),
    ]
}

fn table() -> Vec<Row> {
    let mut rows = strangers();
    rows.extend(proxies());
    rows.extend(other_headers());
    rows.extend(spellings());
    rows.extend(lists());
    rows.extend(forwarded());
    rows
}

fn request(row: &Row) -> Request<()> {
    let mut request = Request::new(());
    let peer: IpAddr = row.peer.parse().expect("an address");
    request.extensions_mut().insert(PeerAddr(SocketAddr::new(peer, 50_001)));
    for (name, value) in &row.lines {
        let value = HeaderValue::from_bytes(value).expect("a value that HTTP allows");
        request.headers_mut().append(HeaderName::from_static(name), value);
    }
    request
}

/// The key, as rules see it; found by exactly one call.
fn key(by: &dyn RequestKey, request: &Request<()>) -> String {
    let mut found = Vec::new();
    by.with_key(Head::of(request), &mut |key| match key {
        Key::Ip(network) => found.push(network.to_string()),
        other => found.push(format!("{other:?}")),
    })
    .expect("it has a peer");
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn print(row: &Row, key: &str) {
    let lines: Vec<String> =
        row.lines.iter().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
    println!("{:?}: {} -> {key}\n    from {}; {}", row.by, row.why, row.peer, lines.join(" | "));
}

#[test]
fn a_client_is_who_trusted_proxies_say_it_is() {
    let rows = table();
    let mut faults = Vec::new();
    for row in &rows {
        let found = key(&row.by.key(), &request(row));
        print(row, &found);
        if found != row.key {
            faults.push(format!(
                "{} {:?}: {found}, expected {}",
                row.by.header(),
                row.why,
                row.key
            ));
        }
    }
    println!("{} rows", rows.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The cases that stand among them: 196, 197, 198, 199, 201.
    for case in ["case 196", "case 197", "case 198", "case 199", "case 201"] {
        assert!(rows.iter().any(|row| row.why.starts_with(case)), "{case}");
    }
}

/// Limit 1 for each row's key: whoever forges is refused the second time, and who is another client is admitted.
#[test]
fn a_limiter_of_one_admits_each_key_of_the_table_once() {
    let limit: Limit = "1/h".parse().expect("a limit");
    let limiter = Limiter::builder(limit).max_keys(1_000).build().expect("a small limiter");
    let mut seen = Vec::new();
    for row in table() {
        let mut admitted = None;
        let request = request(&row);
        row.by
            .key()
            .with_key(Head::of(&request), &mut |key| {
                admitted = Some(limiter.try_acquire_at(key, 1, START).is_allowed());
            })
            .expect("it has a peer");
        let is_new = !seen.contains(&row.key);
        println!("{:?}: {} -> {}", row.by, row.why, if is_new { "admitted" } else { "denied" });
        assert_eq!(admitted, Some(is_new), "{:?}: {}", row.by, row.why);
        seen.push(row.key);
    }
}

/// 10,000 entries in one line or in lines of their own, readable or not.
#[test]
fn long_headers_are_read_to_where_trust_ends() {
    let many = |entry: &str, end: &str| {
        let entries: Vec<&str> = iter::repeat_n(entry, 10_000).chain([end]).collect();
        entries.join(", ")
    };
    let lines = [
        (X, many("198.51.100.66", "198.51.100.7"), "198.51.100.7/32"),
        (X, many("10.0.0.9", "198.51.100.7"), "198.51.100.7/32"),
        (X, many("10.0.0.9", "10.0.0.2"), "10.0.0.9/32"),
        (X, format!("198.51.100.7, {}", many("10.0.0.9", "10.0.0.2")), "198.51.100.7/32"),
        (X, many("", "198.51.100.7"), "198.51.100.7/32"),
        (X, many("198.51.100.7", ""), "198.51.100.7/32"),
        (
            F,
            format!("for=198.51.100.7, {}", many("for=10.0.0.9", "for=10.0.0.2")),
            "198.51.100.7/32",
        ),
        (F, many("x=\"", "for=198.51.100.7"), "198.51.100.7/32"),
        (F, many("\\\"\\\"", "for=\"\\198.51.100.7\""), "198.51.100.7/32"),
        (F, "\\".repeat(40_000) + "\"", "10.0.0.1/32"),
        (F, format!("for=\"{}\"", "\\\\".repeat(20_000)), "10.0.0.1/32"),
    ];
    for (by, line, expected) in &lines {
        let shown: String = line.chars().take(40).collect();
        let row = mixed(*by, PROXY, &[(by.header(), line.as_bytes())], expected, "");
        assert_eq!(key(&by.key(), &request(&row)), *expected, "{shown}");
        println!("{by:?}: {} bytes, {shown}.. -> {expected}", line.len());
    }

    let lines = ["198.51.100.7"].into_iter().chain(iter::repeat_n("10.0.0.9", 10_000));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(key(&X.key(), &request(&row(X, PROXY, &lines, "", ""))), "198.51.100.7/32");
}

//! Whatever stands in `X-Forwarded-For` and `Forwarded`: the client is the one that a slower reading finds.

use std::net::IpAddr;

use crate::any_headers::oracle::{self, Syntax};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// Pieces that matter in either header, readable or not.
const PIECES: &[&str] = &[
    "for=",
    "FOR=",
    "for",
    "by=",
    "host=x",
    "=",
    ";",
    ",",
    ", ",
    " ",
    "\t",
    "\"",
    "\"",
    "\\",
    "\\\"",
    "\n",
    "\n",
    "10.0.0.2",
    "10.0.0.3:80",
    "1.2.3.4",
    "1.2.3.5",
    "198.51.100.7",
    "::ffff:10.0.0.4",
    "2001::3",
    "2002::3",
    "::1",
    "[2001::3]",
    "[2002::3]:443",
    "[",
    "]",
    ":",
    ":80",
    ":_p",
    "unknown",
    "_hidden",
    "\u{e9}",
    "%1",
    "for=10.0.0.5, ",
    "for=\"[2001::4]\", ",
    "for=1.2.3.5",
    "10.0.0.6, ",
    ";for=10.0.0.5",
];

/// The entries of one line of `Forwarded`, as the slower reading has them.
fn entries_of(line: &[u8]) -> Vec<Option<IpAddr>> {
    oracle::entries(Syntax::Forwarded, [line].into_iter())
}

/// Seeds are fixed: each run checks the same texts.
fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn any_bytes_give_the_client_of_the_slower_reading() {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    runner(2_000)
        .run(&bytes, |bytes| {
            crate::any_headers::check(&bytes);
            Ok(())
        })
        .expect("the same client");
}

#[test]
fn any_pieces_give_the_client_of_the_slower_reading() {
    let pieces = prop::collection::vec(select(PIECES), 0..24);
    let from_a_peer = (any::<u8>(), pieces);
    runner(50_000)
        .run(&from_a_peer, |(peer, pieces)| {
            let mut bytes = vec![peer];
            bytes.extend(pieces.concat().bytes());
            crate::any_headers::check(&bytes);
            Ok(())
        })
        .expect("the same client");
}

/// What a proxy appends is what is read, whatever the client sent before it.
#[test]
fn nothing_on_the_left_changes_what_stands_on_the_right() {
    let appended = select(vec![
        ("for=198.51.100.7", "198.51.100.7"),
        ("for=\"[2002::7]:443\";by=\"10.0.0.1\";proto=https", "2002::7"),
        ("host=\"a,\\\"b\\\\\";for=198.51.100.7", "198.51.100.7"),
    ]);
    let sent = prop::collection::vec(select(PIECES), 0..24);
    runner(20_000)
        .run(&(sent, appended), |(sent, (appended, address))| {
            let line = format!("{},{appended}", sent.concat().replace('\n', ""));
            let address: IpAddr = address.parse().expect("an address");
            let last = entries_of(line.as_bytes()).pop();
            prop_assert_eq!(last, Some(Some(address)), "{}", line);
            crate::any_headers::check(&[&[0], line.as_bytes()].concat());
            Ok(())
        })
        .expect("what was appended");
}

#[test]
fn the_slower_reading_reads_what_the_standard_shows() {
    let line = br#"For="[2001:db8:cafe::17]:4711", for=192.0.2.60;proto=http;by=203.0.113.43, for=_x, for=192.0.2.43"#;
    let addresses = entries_of(line);
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let expected =
        [address("2001:db8:cafe::17"), address("192.0.2.60"), None, address("192.0.2.43")];
    assert_eq!(addresses, expected);
}

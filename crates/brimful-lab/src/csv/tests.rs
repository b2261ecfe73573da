use brimful::Nanos;
use proptest::prelude::*;

use super::*;
use crate::event::Op;
use crate::lines::Lines;

fn wanted(key: &str, time: &str, cost: &str) -> Wanted {
    let said = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    let key = said(key).map(|key| key.parse().unwrap());
    Wanted { key, time: said(time), cost: said(cost), unit: None }
}

/// Line, and what it says or why it is bad.
type Found = (u64, Result<(u64, String, u64, Op), String>);

fn read_with(wanted: &Wanted, log: impl AsRef<[u8]>) -> Result<Vec<Found>, String> {
    let words = |fault: Error| {
        assert!(fault.is_usage());
        fault.to_string()
    };
    let mut reader = Reader::new(wanted).map_err(words)?;
    let mut lines = Lines::new(log.as_ref());
    let mut found = Vec::new();
    let mut add = |row: Option<Row<'_>>| {
        let Some(Row { line, event }) = row else { return };
        let event = event.map(|e| (e.at.as_nanos(), e.key.into_owned(), e.cost, e.op));
        found.push((line, event.map_err(|reason| reason.to_string())));
    };
    while let Some(line) = lines.next_line().unwrap() {
        add(reader.read(&line).map_err(words)?);
    }
    add(reader.finish().map_err(words)?);
    Ok(found)
}

fn read(log: impl AsRef<[u8]>) -> Result<Vec<Found>, String> {
    read_with(&Wanted::default(), log)
}

fn good(line: u64, at: u64, key: &str, cost: u64) -> Found {
    (line, Ok((at, key.to_owned(), cost, Op::Acquire)))
}

fn bad(line: u64, reason: &str) -> Found {
    (line, Err(reason.to_owned()))
}

#[test]
fn rows_as_their_header_says() {
    const MS: u64 = 1_000_000;
    for (log, expected) in [
        ("at_ns,key\n5,k\n", good(2, 5, "k", 1)),
        ("key,at_ns,x\r\nk,5,\r\n", good(2, 5, "k", 1)),
        (" Key , AT_NS ,Cost\nk, 5 , 7 ", good(2, 5, "k", 7)),
        ("\n \nat,key\n\n5.3,k\n", good(5, 5300 * MS, "k", 1)),
        ("\"at\",\"key\"\n\"5.3\",\"a,b\"\n", good(2, 5300 * MS, "a,b", 1)),
        ("at,key\n1,\"a \"\"b\"\"\"\n", good(2, 1000 * MS, "a \"b\"", 1)),
        ("at,key\n1,\"a\nb\n\n c\"\n", good(2, 1000 * MS, "a\nb\n\n c", 1)),
        ("at,\"k\ney\",key\n1,,k\n", good(3, 1000 * MS, "k", 1)),
        ("at,key\n1, k \n", good(2, 1000 * MS, " k ", 1)),
        ("at,key\n1,a\rb\n", good(2, 1000 * MS, "a\rb", 1)),
        ("at,key\n1,\n", good(2, 1000 * MS, "", 1)),
        ("key,at\n\u{feff}k,1\n", good(2, 1000 * MS, "\u{feff}k", 1)),
        ("time,timestamp,key\n1,2,k\n", good(2, 2000 * MS, "k", 1)),
        ("ts,key\n1431857103250,k\n", good(2, 1_431_857_103_250 * MS, "k", 1)),
        ("time,key\n2015-05-17T10:05:03Z,k\n", good(2, 1_431_857_103_000 * MS, "k", 1)),
        ("time,key\n17/May/2015:10:05:03 +0000,k\n", good(2, 1_431_857_103_000 * MS, "k", 1)),
    ] {
        assert_eq!(read(log), Ok(vec![expected]), "{log:?}");
    }
    let peek = (2, Ok((0, "k".to_owned(), 3, Op::Peek)));
    assert_eq!(read("at,key,cost,op\n0,k,3,peek\n"), Ok(vec![peek]));
    assert_eq!(read(""), Ok(vec![]));
    assert_eq!(read("at,key\n"), Ok(vec![]));
}

#[test]
fn columns_that_are_named() {
    let log = "sent,at,key,a b,bytes_ms\n4,9,k,x:y,7\n";
    for (wanted, expected) in [
        (wanted("{key}", "sent", ""), good(2, 4_000_000_000, "k", 1)),
        (wanted("{a b}:{key}/", "bytes_ms", "sent"), good(2, 7_000_000, r"x\:y:k/", 4)),
    ] {
        assert_eq!(read_with(&wanted, log), Ok(vec![expected]));
    }
    let there = "there are sent, at, key, a b, bytes_ms";
    for (wanted, words) in [
        (wanted("{Key}", "", ""), format!("there is no column `Key`; {there}")),
        (wanted("", "when", ""), format!("there is no time column `when`; {there}")),
        (wanted("", "", "cost"), format!("there is no cost column `cost`; {there}")),
    ] {
        assert_eq!(read_with(&wanted, log), Err(words));
    }
    let mut seconds = wanted("", "bytes_ms", "");
    seconds.unit = Some(crate::TimeUnit::Seconds);
    let words = "times in `bytes_ms` are in ms, and the unit of time is said to be s";
    assert_eq!(read_with(&seconds, log), Err(words.to_owned()));
}

#[test]
fn headers_that_are_refused() {
    let many = (0..50).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let open = format!("at,\"key\n{}", "x".repeat(MAX_LINE));
    for (log, part) in [
        ("at,cost\n", "no column `key`; there are at, cost; say which is the key"),
        ("key,cost\n", "no column `timestamp`; there are key, cost; say which is the time"),
        ("at,at_ns,key\n", "both `at_ns` and `at` are in the CSV header"),
        ("at,key,Key\n", "the CSV header has the column `key` twice"),
        ("at,\"key\n", "the CSV header cannot be read: the row has a quote that is not closed"),
        (&open, "lines 1 to 2 is longer than 1048576 bytes; is a quote not closed?"),
        (&many, "c38, c39 and 10 more"),
        ("\u{feff}key,at\n", "no column `key`; there are \u{feff}key, at;"),
        ("a\u{1b}[2J,b\n", "there are a\\u{1b}[2J, b;"),
    ] {
        let words = read(log).unwrap_err();
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(read(b"\xff,b\n"), Err("the CSV header is not UTF-8".to_owned()));
}

#[test]
fn rows_that_are_bad() {
    for (row, reason) in [
        ("1,k", "the row has 2 values, the header 4"),
        ("1,k,1,acquire,", "the row has 5 values, the header 4"),
        (
            "1.5,k,1,acquire",
            "at_ns is `1.5`, expected a whole number from 0 to 9223372036854775807",
        ),
        (",k,1,acquire", "at_ns is ``, expected a whole number from 0 to 9223372036854775807"),
        ("1,k,-1,acquire", "cost is `-1`, expected a whole number from 0 to 18446744073709551615"),
        ("1,k,,acquire", "cost is ``, expected a whole number from 0 to 18446744073709551615"),
        ("1,k,1,take", "op is `take`, expected `acquire`, `peek` or `refund`"),
    ] {
        let log = format!("at_ns,key,cost,op\n{row}\n2,k,3,acquire\n");
        assert_eq!(read(log), Ok(vec![bad(2, reason), good(3, 2, "k", 3)]), "{row}");
    }
    let log = b"at_ns,key\n1,\xff\n2,k\n";
    assert_eq!(
        read(log),
        Ok(vec![bad(2, "key is `\u{fffd}`, expected UTF-8"), good(3, 2, "k", 1)])
    );
}

#[test]
fn rows_over_several_lines_have_the_number_of_their_first_and_an_end() {
    let log = "at_ns,key\n1,\"a\nb\"\n2,\"c\n\n\n\",\n3,d\n4,\"open\n5,e\n";
    let expected = vec![
        good(2, 1, "a\nb", 1),
        bad(4, "the row has 3 values, the header 2"),
        good(8, 3, "d", 1),
        bad(9, "the row has a quote that is not closed"),
    ];
    assert_eq!(read(log), Ok(expected));
    // What is lost to a quote is bounded, and said.
    let filler = format!("2,{}\n", "x".repeat(MAX_LINE / 2));
    let log = format!("at_ns,key\n1,\"open\n{filler}{filler}3,k\n");
    let lost = "the row of lines 2 to 4 is longer than 1048576 bytes; is a quote not closed?";
    assert_eq!(read(log), Ok(vec![bad(2, lost), good(5, 3, "k", 1)]));
    let log = format!("at_ns,key\n1,{}\n3,k\n", "x".repeat(MAX_LINE));
    let lost = "the row of lines 2 to 2 is longer than 1048576 bytes; is a quote not closed?";
    assert_eq!(read(log), Ok(vec![bad(2, lost), good(3, 3, "k", 1)]));
    let log = format!("at_ns,key\n1{}\n3,k\n", ",".repeat(MAX_LINE - 1));
    assert_eq!(read(log).unwrap()[1], good(3, 3, "k", 1));
}

/// A value as RFC 4180 writes it, in quotes whether they are needed or not.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

proptest! {
    #[test]
    fn random_bytes_never_panic(log in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&log);
        let _ = read([&b"at,key\n"[..], &*log].concat());
    }

    #[test]
    fn nearly_good_rows_never_panic(log in "(at|key|cost|op|\"|,|\n|[0-9]){0,40}") {
        let _ = read(&log);
        let _ = read(format!("at,key,cost\n{log}"));
    }

    /// Every row is read back from what is written of it.
    #[test]
    fn rows_are_read_back(
        rows in prop::collection::vec((0..=Nanos::MAX.as_nanos(), "[a-c\",\n é\u{feff}]{0,12}", any::<u64>(), any::<bool>()), 0..5),
    ) {
        let mut log = "key,cost,at_ns\n".to_owned();
        let (mut line, mut expected) = (2, Vec::new());
        for (at, key, cost, plain) in rows {
            // Without quotes, what is special in a row is still itself in the others.
            let plain = plain && !key.contains(['"', ',', '\n']);
            let written = if plain { key.clone() } else { quoted(&key) };
            log += &format!("{written},{cost},{at}\n");
            expected.push(good(line, at, &key, cost));
            line += 1 + key.matches('\n').count() as u64;
        }
        prop_assert_eq!(read(log), Ok(expected));
    }
}

use proptest::prelude::*;

use super::*;
use crate::civil;
use crate::template::Template;
use crate::wanted::Wanted;

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// 2015-05-17T10:05:03Z.
const AT: u64 = 1_431_857_103;

fn read(line: &[u8]) -> Result<(u64, String), String> {
    let event = parse(line).map_err(|reason| reason.to_string())?;
    assert_eq!((event.cost, event.op), (1, Op::Acquire));
    Ok((event.at.as_nanos() / 1_000_000_000, event.key.into_owned()))
}

#[test]
fn good_lines() {
    let common = r#"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12"#;
    let good: &[(&[u8], &str)] = &[
        (common.as_bytes(), "h"),
        (
            br#"198.18.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "-" "-""#,
            "198.18.0.1",
        ),
        (
            br#"2001:db8::1 - ann [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 304 -"#,
            "2001:db8::1",
        ),
        (br#"host.example - ann lee [17/May/2015:10:05:03 +0000] "-" 408 0"#, "host.example"),
        (br#"h - [x] [y [17/May/2015:10:05:03 +0000] "" - -"#, "h"),
        // Only the last bracket before the request is the server's.
        (br#"h - [1/Jan/1999:00:00:00 +0000] [17/May/2015:10:05:03 +0000] "" 200 1"#, "h"),
        (br#"h - a\"b [17/May/2015:10:05:03 +0000] "GET /\" [x] HTTP/1.1" 200 1"#, "h"),
        (b"h - - [17/May/2015:10:05:03 +0000] \"GET /\xff\xfe\" 200 1 \"\xff\" \"\x00\"", "h"),
        (br#"h - - [17/May/2015:12:05:03 +0200] "GET /" 200 1"#, "h"),
        (br#"h - - [17/May/2015:05:35:03 -0430] "GET /" 200 1"#, "h"),
        (br#"h - - [16/May/2015:10:06:03 -2359] "GET /" 200 1"#, "h"),
    ];
    for (line, key) in good {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(read(line), Ok((AT, (*key).to_owned())), "{shown}");
    }
}

#[test]
fn times_at_the_ends() {
    let at = |time: &str| read(format!("h - - [{time}] \"-\" 200 1").as_bytes()).map(|(at, _)| at);
    assert_eq!(at("01/Jan/1970:00:00:00 +0000"), Ok(0));
    assert_eq!(at("31/Dec/1969:23:59:59 -0001"), Ok(59));
    assert_eq!(at("29/Feb/2016:23:59:59 +0000"), Ok(1_456_790_399));
    assert_eq!(at("11/Apr/2262:23:47:16 +0000"), Ok(9_223_372_036));
    for (time, expected) in [
        ("01/Jan/1970:00:00:00 +0001", "1970 to 2262"),
        ("31/Dec/1969:23:59:59 +0000", "1970 to 2262"),
        ("01/Jan/0000:00:00:00 +0000", "1970 to 2262"),
        ("11/Apr/2262:23:47:17 +0000", "1970 to 2262"),
        ("31/Dec/9999:23:59:59 -2359", "1970 to 2262"),
        ("31/Feb/2015:10:05:03 +0000", "a date of the calendar"),
        ("29/Feb/2015:10:05:03 +0000", "a date of the calendar"),
        ("00/May/2015:10:05:03 +0000", "a date of the calendar"),
        ("17/Mai/2015:10:05:03 +0000", "one of the months Jan to Dec"),
        ("17/may/2015:10:05:03 +0000", "one of the months Jan to Dec"),
        ("17/nFe/2015:10:05:03 +0000", "one of the months Jan to Dec"),
        ("17/May/2015:24:00:00 +0000", "a time of day from 00:00:00 to 23:59:59"),
        ("17/May/2015:10:60:00 +0000", "a time of day from 00:00:00 to 23:59:59"),
        ("30/Jun/2015:23:59:60 +0000", "a time of day from 00:00:00 to 23:59:59"),
        ("17/May/2015:10:05:03 +2400", "an offset up to 23:59"),
        ("17/May/2015:10:05:03 +0060", "an offset up to 23:59"),
        ("17/May/2015:10:05:03", "the form `17/May/2015:10:05:03 +0000`"),
        ("17/May/2015:10:05:03 0000", "the form `17/May/2015:10:05:03 +0000`"),
        ("17/May/2015:10:05:03 *0000", "the form `17/May/2015:10:05:03 +0000`"),
        ("7/May/2015:10:05:03 +0000", "the form `17/May/2015:10:05:03 +0000`"),
        ("-1/May/2015:10:05:03 +0000", "the form `17/May/2015:10:05:03 +0000`"),
        ("17/May/2015:10:05:0x +0000", "the form `17/May/2015:10:05:03 +0000`"),
        ("2015-05-17T10:05:03+00:00", "the form `17/May/2015:10:05:03 +0000`"),
        ("", "the form `17/May/2015:10:05:03 +0000`"),
    ] {
        assert_eq!(at(time), Err(format!("the time is `{time}`, expected {expected}")));
    }
}

#[test]
fn bad_lines_and_why() {
    const TIME: &str = "[17/May/2015:10:05:03 +0000]";
    let bad: &[(&str, &str)] = &[
        ("x", "the line is `x`, expected `host ident user [time] \"request\" status size`"),
        (" - - T \"-\" 200 1", "the host is missing"),
        ("h -", "the user and the time are missing"),
        ("h - - \"-\" 200 1", "the time is missing, expected ` [day/Mon/year:…]`"),
        ("h - -[x] \"-\" 200 1", "the time is missing, expected ` [day/Mon/year:…]`"),
        ("h - - [17/May", "the time is `17/May`, expected `]` at its end"),
        (
            "h - - [17/May/2015:10:05:03 +0000 \"-\" 200 1",
            "the time is `17/May/2015:10:05:03 +0000`, expected `]` at its end",
        ),
        ("h - - T", "the request is missing, expected ` \"…\"` after the time"),
        ("h - - T \"GET /", "the request has no closing quote"),
        ("h - - T \"GET /\\\" 200 1", "the request has no closing quote"),
        ("h - - T \"-\"", "the status is missing"),
        ("h - - T \"-\"200 1", "the status is missing"),
        ("h - - T \"-\" ", "the status is ``, expected three digits or `-`"),
        ("h - - T \"-\" 20 1", "the status is `20`, expected three digits or `-`"),
        ("h - - T \"-\" 2x0 1", "the status is `2x0`, expected three digits or `-`"),
        ("h - - T \"-\" 200", "the size is missing"),
        ("h - - T \"-\" 200 ", "the size is ``, expected digits or `-`"),
        ("h - - T \"-\" 200 -1", "the size is `-1`, expected digits or `-`"),
    ];
    for (line, reason) in bad {
        let line = line.replace('T', TIME);
        assert_eq!(read(line.as_bytes()), Err((*reason).to_owned()), "{line}");
    }
    let host = b"\xff\x1b - - [17/May/2015:10:05:03 +0000] \"-\" 200 1";
    assert_eq!(read(host), Err("the host is `\u{fffd}\\u{1b}`, expected UTF-8".to_owned()));
}

fn reader(key: &str) -> Result<Reader, String> {
    let template: Template = key.parse().unwrap();
    Reader::new(&Wanted { key: Some(template), ..Wanted::default() }).map_err(|e| e.to_string())
}

fn key_of(template: &str, line: &[u8]) -> Result<String, String> {
    let reader = reader(template).unwrap();
    reader.read(line).map(|event| event.key.into_owned()).map_err(|reason| reason.to_string())
}

#[test]
fn every_field_has_its_name() {
    let line = br#"198.18.0.1 id ann lee [17/May/2015:10:05:03 +0200] "GET /a b?x=1?2 HTTP/1.1" 200 12 "http://r/\"q" "agent \\ x" more"#;
    for (field, value) in [
        ("remote_addr", "198.18.0.1"),
        ("ident", "id"),
        ("remote_user", "ann lee"),
        ("time_local", "17/May/2015:10:05:03 +0200"),
        ("request", "GET /a b?x=1?2 HTTP/1.1"),
        ("method", "GET"),
        ("path", "/a b"),
        ("query", "x=1?2"),
        ("protocol", "HTTP/1.1"),
        ("status", "200"),
        ("body_bytes_sent", "12"),
        ("referer", r#"http://r/\"q"#),
        ("user_agent", r"agent \\ x"),
    ] {
        assert_eq!(key_of(&format!("{{{field}}}"), line), Ok(value.to_owned()), "{field}");
    }
    // A template of the default is the default.
    assert_eq!(parse(line).unwrap(), reader("{remote_addr}").unwrap().read(line).unwrap());
    let words = "there is no field `pat`; there are virtual_host, remote_addr, ident, remote_user, \
                 time_local, request, method, path, query, protocol, status, body_bytes_sent, \
                 referer, user_agent";
    assert_eq!(reader("{pat}").unwrap_err(), words);
}

/// The key is never the virtual host, and never the ident of a client that is logged with its port.
#[test]
fn a_virtual_host_may_stand_before_the_host() {
    let behind = r#"[17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12"#;
    let all = "{virtual_host},{remote_addr},{ident},{remote_user}";
    let none = "there is no virtual host, as `www.example:443 `, before the host";
    for (before, expected) in [
        ("www.example:443 198.18.0.1 - -", Some("www.example:443,198.18.0.1,-,-")),
        ("www.example:80 2001:db8::1 - ann lee", Some("www.example:80,2001:db8::1,-,ann lee")),
        (
            "[2001:db8::2]:8443 client.example id ann",
            Some("[2001:db8::2]:8443,client.example,id,ann"),
        ),
        ("198.18.0.1:50123 - -", None),
        ("198.18.0.1:50123 - ann lee", None),
        ("198.18.0.1:50123 id ann", None),
        ("[2001:db8::1]:50123 - -", None),
        ("2001:db8::1 id ann lee", None),
        ("2001:db8:443 id ann lee", None),
        ("client.example id ann lee", None),
        ("www.example: 198.18.0.1 - -", None),
        ("www.example:443x 198.18.0.1 - -", None),
        ("www.example:123456 198.18.0.1 - -", None),
    ] {
        let line = format!("{before} {behind}");
        let expected = expected.ok_or_else(|| none.to_owned()).map(str::to_owned);
        assert_eq!(key_of(all, line.as_bytes()), expected, "{line}");
        let first = before.split(' ').next().unwrap().to_owned();
        let host = expected.map_or(first, |all| all.split(',').nth(1).unwrap().to_owned());
        assert_eq!(read(line.as_bytes()), Ok((AT, host)), "{line}");
    }
    for line in ["www.example:443 h", "www.example:443 h -", "www.example:443 h - -"] {
        assert!(read(line.as_bytes()).unwrap_err().contains("missing"), "{line}");
    }
}

#[test]
fn requests_of_all_kinds() {
    let fault = |request: &str, expected: &str| {
        Err(format!("the request is `{request}`, expected {expected}"))
    };
    let (parts, protocol) = ("`METHOD TARGET PROTOCOL`", "a protocol like `HTTP/1.1` at its end");
    let good = |key: &str| Ok(key.to_owned());
    for (request, template, expected) in [
        ("GET / HTTP/1.1", "{method} {path}", good("GET /")),
        ("GET / HTTP/1.1", "[{query}]", good("[]")),
        ("GET /? HTTP/1.1", "[{query}]", good("[]")),
        // HTTP/0.9 has no protocol; it is not taken from the target.
        ("GET /a b", "{method} {path}", good("GET /a b")),
        ("GET /a", "{protocol}", fault("GET /a", protocol)),
        ("OPTIONS * HTTP/1.1", "{path}", good("*")),
        ("GET http://h/p?q HTTP/1.1", "{path} {query}", good("http://h/p q")),
        ("-", "{request}", good("-")),
        ("-", "{path}", fault("-", parts)),
        ("", "{method}", fault("", parts)),
        (" /", "{method}", fault(" /", parts)),
        ("GET ", "{method}", fault("GET ", parts)),
        (r"\x16\x03\x01", "{method}", fault(r"\x16\x03\x01", parts)),
    ] {
        let line = format!("h - - [17/May/2015:10:05:03 +0000] \"{request}\" 200 1");
        assert_eq!(key_of(template, line.as_bytes()), expected, "{request} {template}");
    }
}

#[test]
fn what_a_line_does_not_have() {
    let common = br#"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#;
    let missing = "the referer and the user agent are not there in quotes";
    for field in ["{referer}", "{user_agent}"] {
        assert_eq!(key_of(field, common), Err(missing.to_owned()));
    }
    let latin = b"h - - [17/May/2015:10:05:03 +0000] \"GET /\xe9 HTTP/1.1\" 200 1";
    assert_eq!(key_of("{path}", latin), Err("path is `/\u{fffd}`, expected UTF-8".to_owned()));
    assert_eq!(key_of("{method}", latin), Ok("GET".to_owned()));
}

#[test]
fn the_size_can_be_the_cost() {
    let wanted = |cost: &str| Wanted { cost: Some(cost.to_owned()), ..Wanted::default() };
    let reader = Reader::new(&wanted("body_bytes_sent")).unwrap();
    let cost = |size: &str| {
        let line = format!("h - - [17/May/2015:10:05:03 +0000] \"-\" 200 {size} \"-\" \"-\"");
        reader.read(line.as_bytes()).map(|event| event.cost).map_err(|reason| reason.to_string())
    };
    assert_eq!((cost("-"), cost("0"), cost("1234")), (Ok(0), Ok(0), Ok(1234)));
    assert_eq!(cost("18446744073709551615"), Ok(u64::MAX));
    assert!(cost("18446744073709551616").unwrap_err().starts_with("the size is `18446744073709"));
    let fault = Reader::new(&wanted("status")).unwrap_err();
    assert_eq!(fault.to_string(), "there is no cost field `status`; there are body_bytes_sent");
    let fault = Reader::new(&Wanted { time: Some("t".into()), ..Wanted::default() }).unwrap_err();
    assert!(fault.is_usage() && fault.to_string().contains("no time field `t`"), "{fault}");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&line);
    }

    /// A good line with some bytes changed, lost or put in.
    #[test]
    fn every_field_of_nearly_good_lines_never_panics(
        changes in prop::collection::vec((0..90_usize, any::<u8>(), 0..3), 0..6),
    ) {
        let all = "{virtual_host} {remote_addr} {ident} {remote_user} {time_local} {request} {method} {path} \
                   {query} {protocol} {status} {body_bytes_sent} {referer} {user_agent}";
        let all = reader(all).unwrap();
        let mut line = br#"h:80 198.18.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "-" "agent x""#.to_vec();
        for (place, byte, what) in changes {
            let place = place % line.len();
            match what {
                0 => line[place] = byte,
                1 => line.insert(place, byte),
                _ => drop(line.remove(place)),
            }
        }
        let plain = parse(&line);
        if let Ok(event) = all.read(&line) {
            prop_assert_eq!(Ok(event.at), plain.map(|plain| plain.at));
        }
    }

    #[test]
    fn every_time_is_read_back(seconds in 0..=9_223_372_036_u64, zone in -1439..=1439_i64) {
        let east = seconds as i64 + zone * 60;
        prop_assume!(east >= 0);
        let utc = civil::Utc(Nanos::from_secs(east as u64)).to_string();
        // 2015-05-17T10:05:03Z
        let month = &MONTHS[utc[5..7].parse::<usize>().unwrap() * 3 - 3..][..3];
        let (year, day, clock) = (&utc[..4], &utc[8..10], &utc[11..19]);
        let (sign, offset) = (if zone < 0 { '-' } else { '+' }, zone.abs());
        let line = format!("h - - [{day}/{month}/{year}:{clock} {sign}{:02}{:02}] \"-\" 200 1", offset / 60, offset % 60);
        prop_assert_eq!(read(line.as_bytes()), Ok((seconds, "h".to_owned())));
    }
}

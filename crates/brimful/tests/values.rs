//! Limits, policies and keys: what is accepted, how it is printed, and what is refused.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use brimful::{Algorithm, AsKey, IpPrefix, Key, Limit, Policy};
use proptest::prelude::*;

fn encoded(key: impl AsKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.with_key(|key| key.encode(&mut |part| bytes.extend_from_slice(part)));
    bytes
}

#[test]
fn limits_print_what_they_parse() {
    let table = [
        ("100/min", "100/min"),
        ("10/s burst 20", "10/s burst 20"),
        ("1/day", "1/day"),
        ("5 per 30s", "5 per 30s"),
        ("  5   per 30 s  ", "5 per 30s"),
        ("10 / s burst 10", "10/s"),
        ("60 per 60s", "60/min"),
        ("5 per min", "5/min"),
        ("7/ms", "7/ms"),
        ("2/week", "2/week"),
        ("3/month", "3/month"),
        ("3 per 30day", "3/month"),
        ("1/year", "1/year"),
        ("1 per 365 days", "1/year"),
        ("4 per 14 days", "4 per 14day"),
        ("1 per 90 min", "1 per 90min"),
        ("1 per 1500us", "1 per 1500us"),
        ("9/hour", "9/h"),
        ("9/seconds", "9/s"),
        ("uploads: 5/h", "uploads: 5/h"),
        ("up loads : 5/h burst 6", "up loads: 5/h burst 6"),
        ("5/h fixed-window", "5/h fixed-window"),
        ("a: 5/h sliding-log", "a: 5/h sliding-log"),
        ("5/h sliding-window", "5/h sliding-window"),
        ("5/h token-bucket", "5/h"),
        ("1000000000/s", "1000000000/s"),
        ("1000000000000/day burst 1000000000000", "1000000000000/day"),
    ];
    for (written, printed) in table {
        let limit: Limit = written.parse().unwrap_or_else(|fault| panic!("{written}: {fault}"));
        assert_eq!(limit.to_string(), printed);
        assert_eq!(printed.parse::<Limit>().unwrap(), limit);
    }
    let limit: Limit = "5/h fixed-window".parse().unwrap();
    assert_eq!(limit.name(), "5/h", "the default name is the spec without the algorithm");
}

/// Each fault, the part that the caret must stand under, and a word of the message.
#[test]
fn faults_in_limits_point_at_the_part() {
    let table = [
        ("", "", "the number of tokens is missing"),
        ("ten/s", "ten", "not a number"),
        ("10", "", "the period is missing"),
        ("10/", "", "the unit is missing"),
        ("10/minn", "minn", "did you mean `min`"),
        ("10/Min", "Min", "did you mean `min`"),
        ("10/m", "m", "`min` or `month`"),
        ("10/fortnight", "fortnight", "unknown unit"),
        ("10/30s", "30", "5 per 30s"),
        ("10 every s", "every", "`/` or `per`"),
        ("10 s", "s", "`/` or `per`"),
        ("0/s", "0/s", "blocked"),
        ("10 per 0s", "10 per 0s", "period"),
        ("10/s burst 0", "0", "burst is 0"),
        ("10/s burst", "", "the burst is missing"),
        ("10/s burst many", "many", "not a number"),
        ("-5/s", "-5", "negative"),
        ("10/s burst -1", "-1", "negative"),
        ("0.5/s", "0.5", "1 per 2s"),
        ("1e3/s", "e", "`/` or `per`"),
        ("NaN/s", "NaN", "not a number"),
        ("inf/s", "inf", "unlimited"),
        ("unlimited", "unlimited", "policy `unlimited`"),
        ("blocked", "blocked", "policy `blocked`"),
        ("99999999999999999999/s", "99999999999999999999", "too large"),
        ("1000000000001/day", "1000000000001/day", "unlimited"),
        ("1000000001/s", "1000000001/s", "rate"),
        ("1 per 366 days", "1 per 366 days", "365 days"),
        ("1/year burst 1000000001", "1000000001", "10^9 years"),
        ("10/s burst 20 fixed-window", "burst 20 fixed-window", "only token-bucket"),
        ("10/s burst 10 sliding-log", "burst 10 sliding-log", "only token-bucket"),
        ("10/s leaky", "leaky", "an algorithm"),
        ("65537/h sliding-log", "sliding-log", "65536"),
        ("10/s burst 20 20", "20", "`burst N` or an algorithm"),
        ("10/s fixed-window x", "x", "after the end"),
        (": 10/s", ":", "the name"),
        ("na\"me: 10/s", "na\"me", "printable"),
        ("naïve: 10/s", "naïve", "printable"),
        ("10/ſ", "ſ", "unknown unit"),
    ];
    for (written, part, word) in table {
        let fault = written.parse::<Limit>().expect_err(written);
        assert!(fault.is_syntax(), "{written}: {fault:?}");
        let shown = format!("{fault:#}");
        assert!(shown.contains(word), "{written}:\n{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], format!("  {written}"), "{shown}");
        let carets = lines[2].trim();
        assert!(!carets.is_empty() && carets.chars().all(|c| c == '^'), "{shown}");
        let before = lines[2].chars().take_while(|c| *c == ' ').count() - 2;
        let marked: String = written.chars().skip(before).take(carets.len()).collect();
        assert_eq!(marked, part, "{written}:\n{shown}");
        assert!(
            lines[3].contains("expected")
                || lines[3].contains("example")
                || lines[3].contains("write"),
            "{shown}"
        );
        assert!(!format!("{fault}").contains('\n'), "one line without the caret");
    }
}

#[test]
fn ranges_name_field_value_and_range() {
    let field = |limit: Result<Limit, brimful::Error>| {
        let fault = limit.unwrap_err();
        (fault.field().map(str::to_owned), fault.to_string())
    };
    let second = Duration::from_secs(1);
    for (limit, name, value) in [
        (Limit::new(0, second), "tokens", "0"),
        (Limit::new(u64::MAX, second), "tokens", "18446744073709551615"),
        (Limit::new(1, Duration::ZERO), "period", "0ns"),
        (Limit::new(1, Duration::MAX), "period", "18446744073709551615"),
        (Limit::new(1_000_000_001, second), "rate", "1000000001"),
        (Limit::per_second(1).unwrap().burst(0), "burst", "0"),
        (Limit::per_second(1).unwrap().burst(u64::MAX), "burst", "18446744073709551615"),
        (Limit::per_second(100_000).unwrap().algorithm(Algorithm::SlidingLog), "tokens", "100000"),
    ] {
        let (found, text) = field(limit);
        assert_eq!(found.as_deref(), Some(name), "{text}");
        assert!(text.contains(value) && text.contains("expected"), "{text}");
    }
    let burst = Limit::per_second(1).unwrap().burst(2).unwrap();
    assert!(burst.algorithm(Algorithm::FixedWindow).unwrap_err().is_conflict());
    let window = Limit::per_second(1).unwrap().algorithm(Algorithm::FixedWindow).unwrap();
    assert!(window.burst(1).unwrap_err().is_conflict());
    // The corners of the range are inside.
    let year = Limit::MAX_PERIOD;
    assert!(Limit::new(1, year).unwrap().burst(1_000_000_000).is_ok());
    assert!(Limit::new(Limit::MAX_TOKENS, year).is_ok());
    assert!(Limit::new(1, Duration::from_nanos(1)).is_ok());
}

#[test]
fn policies_have_one_to_eight_limits_of_different_names() {
    let limit = |n: u64| Limit::per_second(n).unwrap();
    assert!(Policy::new([]).unwrap_err().is_range());
    assert!(Policy::new((1..=8).map(limit)).is_ok());
    assert!(Policy::new((1..=9).map(limit)).unwrap_err().is_range());
    assert!(Policy::new((1..).map(limit)).unwrap_err().is_range(), "an endless iterator ends");
    let twice = Policy::new([limit(1), limit(1)]).unwrap_err();
    assert!(twice.is_conflict() && twice.to_string().contains("`1/s`"), "{twice}");
    assert!(Policy::parse(["blocked", "1/s"]).unwrap_err().is_conflict());
    assert!(Policy::from(limit(1)).named("bad\nname").unwrap_err().is_range());
}

#[test]
fn different_keys_have_different_bytes() {
    let address: IpAddr = "192.0.2.1".parse().unwrap();
    let keys = [
        ("empty text", encoded("")),
        ("empty bytes", encoded(*b"")),
        ("no parts", encoded(())),
        ("text 1", encoded("1")),
        ("bytes 1", encoded(*b"1")),
        ("one", encoded(1_u8)),
        ("minus one", encoded(-1_i8)),
        ("most negative", encoded(i128::MIN)),
        ("its distance", encoded(i128::MIN.unsigned_abs())),
        ("ab c", encoded(("ab", "c"))),
        ("a bc", encoded(("a", "bc"))),
        ("abc", encoded("abc")),
        ("one part abc", encoded(("abc",))),
        ("nested left", encoded((("a", "b"), "c"))),
        ("nested right", encoded(("a", ("b", "c")))),
        ("flat", encoded(("a", "b", "c"))),
        ("x:y z", encoded(("x:y", "z"))),
        ("x y:z", encoded(("x", "y:z"))),
        ("address", encoded(address)),
        ("network", encoded(IpPrefix::new(address, 31).unwrap())),
        ("its v6 form", encoded("2001:db8::1".parse::<IpAddr>().unwrap())),
        ("address as text", encoded("192.0.2.1")),
    ];
    let mut seen = HashMap::new();
    for (name, bytes) in keys {
        if let Some(other) = seen.insert(bytes, name) {
            panic!("{name} and {other} are the same bytes");
        }
    }
}

#[test]
fn equal_keys_are_equal_whatever_their_type() {
    assert_eq!(encoded(5_u8), encoded(5_i128));
    assert_eq!(encoded(-5_i8), encoded(-5_i64));
    assert_eq!(encoded("k"), encoded(String::from("k")));
    assert_eq!(encoded("k"), encoded(std::sync::Arc::<str>::from("k")));
    assert_eq!(encoded(b"k"), encoded(vec![b'k']));
    let v4 = Ipv4Addr::new(192, 0, 2, 1);
    for spelled in ["::ffff:192.0.2.1", "::ffff:c000:201"] {
        assert_eq!(encoded(spelled.parse::<IpAddr>().unwrap()), encoded(v4));
    }
    let client = |text: &str| IpPrefix::client(text.parse().unwrap());
    assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:0:0:1:0"));
    assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
    assert_ne!(client("::ffff:192.0.2.1"), client("::ffff:192.0.2.2"));
    assert_eq!(client("::ffff:192.0.2.1").to_string(), "192.0.2.1/32");
}

#[test]
fn prefixes_mask_on_bits() {
    for (address, length, network) in [
        ("255.255.255.255", 0, "0.0.0.0/0"),
        ("255.255.255.255", 9, "255.128.0.0/9"),
        ("255.255.255.255", 32, "255.255.255.255/32"),
        ("2001:db8:ffff::", 33, "2001:db8:8000::/33"),
        ("ffff::1", 0, "::/0"),
        ("ffff::1", 128, "ffff::1/128"),
        ("::ffff:10.1.2.3", 104, "10.0.0.0/8"),
    ] {
        let prefix = IpPrefix::new(address.parse().unwrap(), length).unwrap();
        assert_eq!(prefix.to_string(), network);
    }
    for (address, length) in [("10.0.0.0", 33), ("::1", 129), ("::ffff:10.0.0.0", 95)] {
        let fault = IpPrefix::new(address.parse().unwrap(), length).unwrap_err();
        assert_eq!(fault.field(), Some("prefix length"));
    }
}

/// A key that owns its parts, to generate.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Bytes(Vec<u8>),
    Text(String),
    Int(i128),
    Ip(IpPrefix),
    Parts(Vec<Owned>),
}

fn owned() -> impl Strategy<Value = Owned> {
    let prefix = (any::<u128>(), 0..=128_u8)
        .prop_map(|(bits, length)| IpPrefix::new(IpAddr::V6(bits.into()), length))
        .prop_filter_map("maps no IPv4", Result::ok);
    let leaf = prop_oneof![
        prop::collection::vec(0..3_u8, 0..4).prop_map(Owned::Bytes),
        "[ab]{0,3}".prop_map(Owned::Text),
        (-3..3_i128).prop_map(Owned::Int),
        prefix.prop_map(Owned::Ip),
    ];
    leaf.prop_recursive(3, 12, 3, |part| prop::collection::vec(part, 0..3).prop_map(Owned::Parts))
}

fn encode_owned(key: &Owned) -> Vec<u8> {
    fn with<R>(key: &Owned, f: &mut dyn FnMut(Key<'_>) -> R) -> R {
        match key {
            Owned::Bytes(bytes) => f(Key::Bytes(bytes)),
            Owned::Text(text) => f(Key::Text(text)),
            Owned::Int(number) => f(Key::from(*number)),
            Owned::Ip(prefix) => f(Key::Ip(*prefix)),
            Owned::Parts(parts) => collect(parts, &mut Vec::new(), f),
        }
    }
    fn collect<R>(rest: &[Owned], done: &mut Vec<Key<'_>>, f: &mut dyn FnMut(Key<'_>) -> R) -> R {
        match rest.split_first() {
            None => f(Key::Parts(done)),
            Some((first, rest)) => with(first, &mut |key| {
                let mut done = done.clone();
                done.push(key);
                collect(rest, &mut done, f)
            }),
        }
    }
    with(key, &mut |key| encoded(key))
}

/// 4,000 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 4_000;
    }
    config
}

proptest! {
    #![proptest_config(config())]

    /// No two different keys have the same bytes, nor does one begin with another's.
    #[test]
    fn encoding_is_prefix_free(a in owned(), b in owned()) {
        let (x, y) = (encode_owned(&a), encode_owned(&b));
        prop_assert_eq!(a == b, x == y);
        prop_assert!(a == b || (!x.starts_with(&y) && !y.starts_with(&x)));
    }

    /// Every limit in range prints as a text that parses back to it.
    #[test]
    fn printed_limits_parse_back(
        tokens in prop_oneof![1..2_000_u64, 1..=Limit::MAX_TOKENS],
        period in prop_oneof![
            1..=31_536_000_000_000_000_u64,
            (1..400_u64).prop_map(|days| days * 86_400_000_000_000),
            (1..5_000_u64).prop_map(|ms| ms * 1_000_000),
        ],
        burst in prop::option::of(1..=Limit::MAX_TOKENS),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        name in prop::option::of("[!#-9;-\\[\\]-~]([ !#-9;-\\[\\]-~]{0,62}[!#-9;-\\[\\]-~])?"),
    ) {
        let limit = Limit::new(tokens, Duration::from_nanos(period));
        let limit = burst.into_iter().fold(limit, |limit, burst| limit?.burst(burst));
        let limit = limit.and_then(|limit| limit.algorithm(algorithm));
        let limit = name.iter().fold(limit, |limit, name| limit?.named(name));
        if let Ok(limit) = limit {
            let printed = limit.to_string();
            prop_assert_eq!(printed.parse::<Limit>().unwrap(), limit);
        }
    }

    /// No text makes the parser panic, and every fault can be shown.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".*", "[0-9a-z/: .burstpe-]{0,24}"]) {
        match text.parse::<Limit>() {
            Ok(limit) => prop_assert_eq!(limit.to_string().parse::<Limit>().unwrap(), limit),
            Err(fault) => {
                let shown = format!("{fault:#} {fault}");
                prop_assert!(shown.contains(&text));
            }
        }
    }
}

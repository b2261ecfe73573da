use proptest::prelude::*;

use super::*;

fn event(at_ns: u64, key: &str, cost: u64, op: Op) -> Event<'static> {
    Event { at: Nanos::from_nanos(at_ns), key: Cow::Owned(key.to_owned()), cost, op }
}

#[test]
fn good_lines() {
    let k = |at_ns| event(at_ns, "k", 1, Op::Acquire);
    let good = [
        (r#"{"at_ns": 5300000000, "key": "k", "cost": 1}"#, k(5_300_000_000)),
        (r#"{"at_ns":0,"key":"k"}"#, k(0)),
        (r#" { "key" : "k" , "at_ns" : 7 } "#, k(7)),
        (r#"{"at": "5.3", "key": "k"}"#, k(5_300_000_000)),
        (r#"{"at": 5.3, "key": "k"}"#, k(5_300_000_000)),
        (r#"{"at": "5", "key": "k"}"#, k(5_000_000_000)),
        (r#"{"at": "5\u002e3", "key": "k"}"#, k(5_300_000_000)),
        (r#"{"at": "0.000000001", "key": "k"}"#, k(1)),
        (r#"{"at": "1.00000000100000", "key": "k"}"#, k(1_000_000_001)),
        // A float would make 1 s and 100000000.00000001 s of these.
        (r#"{"at": "0.999999999", "key": "k"}"#, k(999_999_999)),
        (r#"{"at": 100000000.000000012, "key": "k"}"#, k(100_000_000_000_000_012)),
        (r#"{"at": "9223372036.854775807", "key": "k"}"#, k(i64::MAX as u64)),
        (r#"{"at_ns": 9223372036854775807, "key": "k"}"#, k(i64::MAX as u64)),
        (r#"{"at_ns": 9007199254740993, "key": "k"}"#, k((1 << 53) + 1)),
        (r#"{"at_ns": 1, "key": "k", "status": 200, "why": {"a": [null, 1e9]}}"#, k(1)),
        (r#"{"at_ns": 1, "key": "k", "op": "acquire"}"#, k(1)),
        (r#"{"at_ns": 1, "key": "k", "op": "peek"}"#, event(1, "k", 1, Op::Peek)),
        (r#"{"at_ns": 1, "key": "k", "cost": 5, "op": "refund"}"#, event(1, "k", 5, Op::Refund)),
        (r#"{"at_ns": 1, "key": "k", "cost": 0}"#, event(1, "k", 0, Op::Acquire)),
        (
            r#"{"at_ns": 1, "key": "k", "cost": 18446744073709551615}"#,
            event(1, "k", u64::MAX, Op::Acquire),
        ),
        (r#"{"at_ns": 1, "key": ""}"#, event(1, "", 1, Op::Acquire)),
        (r#"{"at_ns": 1, "key": "a\"\\\n\u00e9"}"#, event(1, "a\"\\\né", 1, Op::Acquire)),
        (r#"{"at_ns": 1, "key": "héß 🦀"}"#, event(1, "héß 🦀", 1, Op::Acquire)),
        (r#"{"at\u005fns": 1, "key": "k"}"#, k(1)),
    ];
    for (line, expected) in good {
        assert_eq!(parse(line.as_bytes()), Ok(expected), "{line}");
    }
}

#[test]
fn bad_lines_and_why() {
    let bad: &[(&str, &str)] = &[
        ("k 5.3", "not JSON: expected value at column 1"),
        ("{", "not JSON: EOF while parsing an object at column 1"),
        (r#"{"at_ns": 1, "key": "k"} {}"#, "not JSON: trailing characters at column 26"),
        (r#"{"at_ns": 1, "key": "k",}"#, "not JSON: trailing comma at column 25"),
        (r#"{"at_ns": 01, "key": "k"}"#, "not JSON: invalid number at column 12"),
        (r#"{"at_ns": NaN, "key": "k"}"#, "not JSON: expected value at column 11"),
        (r#"{"at_ns": 1, "key": "\ud800"}"#, "not JSON: unexpected end of hex escape at column 28"),
        ("[1, \"k\"]", "the line is `[1, \"k\"]`, expected an event object"),
        (" \"a\"", "the line is `\"a\"`, expected an event object"),
        ("5", "the line is `5`, expected an event object"),
        ("\"a", "not JSON: EOF while parsing a string at column 2"),
        (r#"{"at_ns": 1}"#, "the key is missing"),
        (
            r#"{"key": "k"}"#,
            "the time is missing, expected one of at_ns, at, timestamp, @timestamp, time, ts, datetime, time_local, time_iso8601, msec",
        ),
        (r#"{"at_ns": 1, "at": "1", "key": "k"}"#, "both `at_ns` and `at` are there"),
        (r#"{"at_ns": 1, "at_ns": 1, "key": "k"}"#, "duplicate field `at_ns`"),
        (r#"{"at_ns": 1, "key": "k", "key": "j"}"#, "duplicate field `key`"),
        (r#"{"at_ns": 1, "key": 5}"#, "key is `5`, expected text"),
        (r#"{"at_ns": 1, "key": null}"#, "key is `null`, expected text"),
        (r#"{"at_ns": 1, "key": "k", "op": 5}"#, "op is `5`, expected text"),
        (
            r#"{"at_ns": 1, "key": "k", "op": "take"}"#,
            "op is `take`, expected `acquire`, `peek` or `refund`",
        ),
    ];
    for (line, reason) in bad {
        let found = parse(line.as_bytes()).expect_err(line);
        assert_eq!(found.to_string(), *reason, "{line}");
    }
    assert_eq!(
        parse(b"{\"at_ns\": 1, \"key\": \"\xff\"}").unwrap_err().to_string(),
        "the line is not UTF-8"
    );
}

#[test]
fn numbers_outside_their_range() {
    let range = [
        ("at_ns", "-1"),
        ("at_ns", "-0"),
        ("at_ns", "1.0"),
        ("at_ns", "1.5"),
        ("at_ns", "1e3"),
        ("at_ns", "\"1\""),
        ("at_ns", "null"),
        ("at_ns", "9223372036854775808"),
        ("at_ns", "99999999999999999999999999"),
        ("cost", "-1"),
        ("cost", "0.5"),
        ("cost", "1.0"),
        ("cost", "1e2"),
        ("cost", "18446744073709551616"),
        ("cost", "null"),
        ("cost", "[]"),
        ("at", "\"-5.3\""),
        ("at", "\"+5\""),
        ("at", "\"5.\""),
        ("at", "\".5\""),
        ("at", "\"5.3.1\""),
        ("at", "\"\""),
        ("at", "\" 5\""),
        ("at", "\"5,3\""),
        ("at", "\"1e3\""),
        ("at", "1e3"),
        ("at", "\"NaN\""),
        ("at", "\"inf\""),
        ("at", "null"),
        ("at", "\"1.0000000001\""),
        ("at", "\"9223372036.854775808\""),
        ("at", "\"99999999999999999999\""),
    ];
    for (field, value) in range {
        let time = if field == "cost" { r#""at_ns": 1, "# } else { "" };
        let line = format!(r#"{{{time}"{field}": {value}, "key": "k"}}"#);
        let found = parse(line.as_bytes()).expect_err(&line).to_string();
        let begins = format!("{field} is `{value}`, expected ");
        assert!(found.starts_with(&begins), "{line}: {found}");
    }
}

#[test]
fn what_is_shown_of_a_bad_line_is_short_and_harmless() {
    let line = format!(r#"{{"at_ns": 1, "key": "k", "op": "\u001b[2J{}"}}"#, "x".repeat(10_000));
    let reason = parse(line.as_bytes()).unwrap_err().to_string();
    assert!(reason.starts_with(r"op is `\u{1b}[2Jxxx") && reason.len() < 120, "{reason}");
}

/// JSON has no control characters inside of its texts, wherever they stand.
#[test]
fn control_characters_are_no_part_of_a_text() {
    for control in (0..0x20).map(char::from) {
        for line in [
            format!("{{\"at_ns\":1,\"key\":\"k{control}\"}}"),
            format!("{{\"at_ns\":1,\"key\":\"{control}k\"}}"),
            format!("{{\"at_ns{control}\":1,\"key\":\"k\"}}"),
            format!("{{\"at_ns\":1,\"key\":\"k\",\"op\":\"peek{control}\"}}"),
            format!("{{\"at_ns\":1,\"key\":\"k\",\"other{control}\":1}}"),
            format!("{{\"at_ns\":1,\"key\":\"k\",\"other\":\"x{control}\"}}"),
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line:?}");
        }
    }
}

#[test]
fn the_short_way_leaves_what_is_not_json_to_the_long_way() {
    for value in [
        "1.",
        "-",
        "- 1",
        "-.5",
        ".5",
        "01",
        "-01",
        "+1",
        "1.2.3",
        "1e",
        "nul",
        "truex",
        "True",
        "x",
        "'x'",
        "\"x",
        "{",
        "[1",
        "",
        "1 2",
        "\"\u{1}\"",
    ] {
        let line = format!(r#"{{"at_ns": 1, "x": {value}, "key": "k"}}"#);
        assert_eq!(plain::parse(line.as_bytes()), None, "{line}");
        assert!(parse(line.as_bytes()).is_err(), "{line}");
    }
    for value in
        ["0", "-0", "-0.50", "12.0", "null", "true", "false", "\"x\"", "1e5", "{}", "[[1]]"]
    {
        let line = format!(r#"{{"at_ns": 1, "x": {value}, "key": "k"}}"#);
        assert_eq!(parse(line.as_bytes()), Ok(event(1, "k", 1, Op::Acquire)), "{line}");
    }
    // A time that is not the time is ignored, and bad when it is there twice, whichever way.
    assert!(parse(br#"{"at_ns": 1, "ts": 1, "key": "k"}"#).is_ok());
    let twice = parse(br#"{"at_ns": 1, "ts": 1, "key": "k", "ts": 1}"#).unwrap_err();
    assert_eq!(twice.to_string(), "duplicate field `ts`");
}

fn reader(key: &str, time: &str, cost: &str) -> Reader {
    let said = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    let key = said(key).map(|key| key.parse().unwrap());
    Reader::new(&Wanted { key, time: said(time), cost: said(cost), unit: None }).unwrap()
}

#[test]
fn keys_of_any_field() {
    let good = |key: &str| Ok(key.to_owned());
    let bad = |reason: &str| Err(reason.to_owned());
    let several = bad("duplicate field `a.b`");
    for (fields, template, expected) in [
        (r#""a": "x""#, "{a}", good("x")),
        (r#""a": "x\n\u00e9""#, "{a}", good("x\né")),
        (r#""a": 1.50"#, "{a}", good("1.50")),
        (r#""a": -1e400"#, "{a}", good("-1e400")),
        (r#""a": true, "b": false"#, "{a}{{{b}", good("true{false")),
        (r#""a": {"b": {"c": "x"}}"#, "{a.b.c}", good("x")),
        (r#""a.b.c": "x""#, "{a.b.c}", good("x")),
        (r#""a.b": {"c": "x"}"#, "{a.b.c}", good("x")),
        (r#""a": {"b.c": "x", "d": 1}"#, "{a.b.c}-{a.d}-{a.b.c}", good("x-1-x")),
        (r#""a": {"\u0062": "x"}"#, "{a.b}", good("x")),
        (r#""a": {"b": "x"}, "a.b": "y""#, "{a.b}", several.clone()),
        (r#""a": {"b": "x", "b": "x"}"#, "{a.b}", bad("duplicate field `b`")),
        (r#""a": {"b": "x"}, "a": {"b": "x"}"#, "{a.b}", several.clone()),
        (r#""b": "x", "b": "x", "a": 1"#, "{a}", good("1")),
        (r#""": "x", "a.": "y""#, "{a.}", good("y")),
        (r#""a": null"#, "{a}", bad("`a` is missing")),
        (r#""a": {"c": 1}"#, "{a.b}", bad("`a.b` is missing")),
        (r#""a": [{"b": 1}]"#, "{a.b}", bad("`a.b` is missing")),
        (r#""a": "x""#, "{a.b}", bad("`a.b` is missing")),
        (r#""a": {}"#, "{a}", bad("a is `{}`, expected text, a number, true or false")),
        (r#""a": ["x"]"#, "{a}", bad("a is `[\"x\"]`, expected text, a number, true or false")),
        (r#""a": "\ud800""#, "{a}", bad("not JSON: unexpected end of hex escape at column 26")),
    ] {
        let line = format!(r#"{{"at_ns": 7, {fields}}}"#);
        let read = reader(template, "", "").read(line.as_bytes());
        let found = read.map(|event| event.key.into_owned()).map_err(|reason| reason.to_string());
        assert_eq!(found, expected, "{line} {template}");
    }
}

#[test]
fn times_and_costs_of_any_field() {
    const AT: u64 = 1_431_857_103_000_000_000;
    let date = r#""2015-05-17T10:05:03Z""#;
    let bad = |reason: &str| Err(reason.to_owned());
    for (fields, time, cost, expected) in [
        (format!(r#""timestamp": {date}"#), "", "", Ok((AT, 1))),
        (format!(r#""time": 5, "timestamp": {date}"#), "", "", Ok((AT, 1))),
        (format!(r#""at": {date}"#), "", "", Ok((AT, 1))),
        (r#""time": "x", "at_ns": 4"#.into(), "", "", Ok((4, 1))),
        (r#""ts": 1431857103.0"#.into(), "", "", Ok((AT, 1))),
        (r#""ts": "1431857103000""#.into(), "", "", Ok((AT, 1))),
        (r#""msec": "1431857103.000""#.into(), "", "", Ok((AT, 1))),
        (r#""time_local": "17/May/2015:10:05:03 +0000""#.into(), "", "", Ok((AT, 1))),
        (r#""a": {"t_ms": 5}, "at_ns": "no""#.into(), "a.t_ms", "", Ok((5_000_000, 1))),
        (r#""at_ns": 5"#.into(), "at_ns", "", Ok((5, 1))),
        (r#""at_ns": 5, "b": {"n": 9}, "cost": 3"#.into(), "", "b.n", Ok((5, 9))),
        (r#""at_ns": 5, "n": "9""#.into(), "", "n", Ok((5, 9))),
        (r#""at_ns": 5, "m": 9"#.into(), "", "n", Ok((5, 1))),
        (r#""at_ns": 5, "cost": "9""#.into(), "", "", bad(r#"cost is `"9"`, expected "#)),
        (r#""at_ns": 5, "n": "9x""#.into(), "", "n", bad("n is `9x`, expected ")),
        (r#""at_ns": 5"#.into(), "t", "", bad("`t` is missing")),
        (r#""t": null"#.into(), "t", "", bad("t is `null`, expected a time like ")),
        (r#""t": {"u": 1}"#.into(), "t", "", bad("t is `{\"u\": 1}`, expected a time like ")),
        (r#""timestamp": "x""#.into(), "", "", bad("timestamp is `\"x\"`, expected a time like ")),
    ] {
        let line = format!(r#"{{"key": "k", {fields}}}"#);
        match (reader("", time, cost).read(line.as_bytes()), expected) {
            (Ok(event), Ok(expected)) => {
                assert_eq!((event.at.as_nanos(), event.cost), expected, "{line}");
            }
            (Err(reason), Err(begins)) => {
                assert!(reason.to_string().starts_with(&begins), "{line}: {reason}");
            }
            (found, _) => panic!("{line}: {found:?}"),
        }
    }
}

/// A unit that was said is the unit, or the line is bad; it is never passed over.
#[test]
fn a_unit_that_was_said_counts_for_every_number() {
    let reader =
        Reader::new(&Wanted { unit: Some(TimeUnit::Millis), ..Wanted::default() }).unwrap();
    let read = |line: &str| {
        let at = reader.read(line.as_bytes()).map(|event| event.at.as_nanos());
        at.map_err(|reason| reason.to_string())
    };
    assert_eq!(read(r#"{"ts": 5, "key": "k"}"#), Ok(5_000_000));
    for (field, named) in [("at", "s"), ("at_ns", "ns")] {
        let words =
            format!("times in `{field}` are in {named}, and the unit of time is said to be ms");
        assert_eq!(read(&format!(r#"{{"{field}": 5, "key": "k"}}"#)), Err(words));
    }
}

#[test]
fn a_name_of_many_parts_is_looked_for_as_deep_as_it_is() {
    let deep = 400;
    let name = format!("a{}", ".a".repeat(deep));
    let line = |inner: &str| {
        let (open, close) = (r#"{"a":"#.repeat(deep), "}".repeat(deep));
        format!(r#"{{"at_ns": 1, "a": {open}{inner}{close}}}"#)
    };
    let reader = reader(&format!("{{{name}}}"), "", "");
    assert_eq!(reader.read(line("\"x\"").as_bytes()).unwrap().key, "x");
    assert!(reader.read(line("null").as_bytes()).is_err());
    let long = "t".repeat(257);
    let fault = Reader::new(&Wanted { time: Some(long), ..Wanted::default() }).unwrap_err();
    assert_eq!(fault.to_string(), "the name of the time field has 257 bytes, expected 1 to 256");
}

proptest! {
    #[test]
    fn lines_with_fields_inside_never_panic(
        line in r#"\{"at_ns": ?1(, ?"(a|b|a\.b|a\\u002eb)": ?(\{"(a|b|b\.c)": ?("x"|1|\{\}|null)\}?|"x"|1)){0,4}\}?"#
    ) {
        let _ = reader("{a} {a.b} {a.b.c}", "", "").read(line.as_bytes());
        let _ = reader("", "a.b", "a").read(line.as_bytes());
    }

    #[test]
    fn random_bytes_never_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&line);
    }

    #[test]
    fn nearly_good_lines_never_panic_and_both_ways_agree(
        line in r#"\{ ?"(at_ns|key|cost|at|op)": ?("?[a-z0-9.\\é-]{0,21}"?)(, ?"(key|cost|at_ns|op|x|time)" ?: ?("[a-z]{0,8}"|-? ?[0-9]{1,21}(\.[0-9]{0,2})?(e1)?|"peek"|true|null|nul|\{\})){0,4} ?\}? ?"#
    ) {
        let long = Reader::usual().read_any(line.as_bytes());
        if let Some(short) = plain::parse(line.as_bytes()) {
            prop_assert_eq!(Ok(short), long);
        }
    }

    /// Every event is read back from what is written of it, the short way and the long way.
    #[test]
    fn events_are_read_back(at in 0..=Nanos::MAX.as_nanos(), key in any::<String>(), cost: u64, op in 0..3_usize) {
        let op = [Op::Acquire, Op::Peek, Op::Refund][op];
        let written = serde_json::json!({"at_ns": at, "key": key, "cost": cost, "op": op.name()}).to_string();
        let expected = Ok(event(at, &key, cost, op));
        prop_assert_eq!(&parse(written.as_bytes()), &expected);
        prop_assert_eq!(&Reader::usual().read_any(written.as_bytes()), &expected);
        let decimal = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
        let written = serde_json::json!({"at": decimal, "key": key, "cost": cost, "op": op.name()}).to_string();
        prop_assert_eq!(&parse(written.as_bytes()), &expected);
    }

    /// Plain lines do take the short way.
    #[test]
    fn plain_lines_are_read_the_short_way(at in 0..=Nanos::MAX.as_nanos(), key in "[a-z0-9.: ]{0,20}", cost in 0..100_u64) {
        let written = format!(r#"{{"at_ns": {at}, "key": "{key}", "cost": {cost}}}"#);
        prop_assert_eq!(plain::parse(written.as_bytes()), Some(event(at, &key, cost, Op::Acquire)));
        let more = format!(r#"{{"s": -1.5, "at_ns": {at}, "t": "{key}", "key": "{key}", "n": {cost}, "w": null, "cost": {cost}, "b": false}}"#);
        prop_assert_eq!(plain::parse(more.as_bytes()), Some(event(at, &key, cost, Op::Acquire)));
    }
}

//! The corners of limits: how long units are, where ranges end, and what a fault does not say.

use std::time::Duration;

use brimful::{Algorithm, Error, Limit};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

fn period_ns(text: &str) -> u128 {
    text.parse::<Limit>().unwrap_or_else(|fault| panic!("{text}: {fault}")).period().as_nanos()
}

#[test]
fn units_are_as_long_as_their_names_say() {
    let units = [
        (1, &["ns", "nanoseconds"][..]),
        (1_000, &["us", "microseconds"]),
        (1_000_000, &["ms", "millisecond", "milliseconds"]),
        (SECOND, &["s", "sec", "secs", "second", "seconds"]),
        (60 * SECOND, &["min", "mins", "minute", "minutes"]),
        (3_600 * SECOND, &["h", "hr", "hrs", "hour", "hours"]),
        (DAY, &["day", "d", "days"]),
        (7 * DAY, &["week", "w", "weeks"]),
        (30 * DAY, &["month", "months"]),
        (365 * DAY, &["year", "y", "years"]),
    ];
    for (ns, names) in units {
        for name in names {
            assert_eq!(period_ns(&format!("1/{name}")), ns.into(), "{name}");
            assert_eq!(period_ns(&format!("1 per {name}")), ns.into(), "{name}");
            if ns <= 100 * DAY {
                assert_eq!(period_ns(&format!("1 per 3 {name}")), u128::from(ns) * 3, "{name}");
            }
        }
    }
}

#[test]
fn constructors_are_the_quotas_of_their_names() {
    for (limit, ns, text) in [
        (Limit::per_second(7), SECOND, "7/s"),
        (Limit::per_minute(7), 60 * SECOND, "7/min"),
        (Limit::per_hour(7), 3_600 * SECOND, "7/h"),
        (Limit::per_day(7), DAY, "7/day"),
    ] {
        let limit = limit.unwrap();
        assert_eq!(limit.period(), Duration::from_nanos(ns), "{text}");
        assert_eq!((limit.tokens(), limit.capacity()), (7, 7), "{text}");
        assert_eq!(limit.chosen_algorithm(), Algorithm::TokenBucket, "{text}");
        assert_eq!((limit.name(), limit.to_string().as_str()), (text, text));
    }
    assert_eq!(Limit::MAX_PERIOD, Duration::from_nanos(365 * DAY));
}

#[test]
fn a_limit_says_what_it_was_made_of() {
    let limit = Limit::per_second(2).unwrap().burst(9).unwrap();
    assert_eq!((limit.tokens(), limit.capacity(), limit.name()), (2, 9, "2/s burst 9"));
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_second(2).unwrap().algorithm(algorithm).unwrap();
        assert_eq!(limit.chosen_algorithm(), algorithm);
        assert_eq!(algorithm.name().parse::<Algorithm>().unwrap(), algorithm);
        // Text that is aligned in a table.
        assert_eq!(format!("{algorithm:16}|"), format!("{:16}|", algorithm.name()));
    }
    assert_eq!("leaky".parse::<Algorithm>().unwrap_err().field(), Some("algorithm"));
    // A bucket whose burst is its quota may become a window, and the other way round.
    let limit = Limit::per_second(2).unwrap().burst(2).unwrap();
    let limit = limit.algorithm(Algorithm::FixedWindow).unwrap();
    assert_eq!(limit.algorithm(Algorithm::TokenBucket).unwrap(), Limit::per_second(2).unwrap());
    // With a burst of its own it stays a bucket, whatever it is told to be.
    let burst = Limit::per_second(2).unwrap().burst(9).unwrap();
    assert_eq!(burst.clone().algorithm(Algorithm::TokenBucket).unwrap(), burst);
    let fault = burst.algorithm(Algorithm::SlidingLog).unwrap_err();
    assert!(fault.is_conflict());
    let text = fault.to_string();
    assert!(text.contains("burst 9") && text.contains("sliding-log"), "{text}");
    assert!(text.contains("admits 2 per period"), "{text}");
}

#[test]
fn the_last_values_of_each_range_are_inside() {
    let ns = Duration::from_nanos;
    let log = |tokens| Limit::per_day(tokens).unwrap().algorithm(Algorithm::SlidingLog);
    let year_burst = |tokens, burst| Limit::new(tokens, Limit::MAX_PERIOD).unwrap().burst(burst);
    let inside = [
        Limit::new(Limit::MAX_TOKENS, Duration::from_secs(1_000)),
        // A token a nanosecond: 10^9 per second.
        Limit::new(5, ns(5)),
        Limit::new(1, ns(365 * DAY)),
        Limit::per_second(1).unwrap().burst(1),
        Limit::per_second(1).unwrap().burst(Limit::MAX_TOKENS),
        // 10^9 years to fill, rounded down.
        year_burst(1, 1_000_000_000),
        year_burst(3, 3_000_000_000),
        log(Limit::MAX_LOG_TOKENS),
    ];
    for limit in inside {
        let limit = limit.unwrap();
        assert_eq!(limit.to_string().parse::<Limit>().unwrap(), limit);
    }
    let outside: [(Result<Limit, Error>, &str); 9] = [
        (Limit::new(Limit::MAX_TOKENS + 1, Duration::from_secs(1_001)), "tokens"),
        (Limit::new(6, ns(5)), "rate"),
        (Limit::new(1, ns(365 * DAY + 1)), "period"),
        (Limit::new(0, ns(1)), "tokens"),
        (Limit::per_second(1).unwrap().burst(0), "burst"),
        (Limit::per_second(1).unwrap().burst(Limit::MAX_TOKENS + 1), "burst"),
        (year_burst(1, 1_000_000_001), "burst"),
        (year_burst(3, 3_000_000_001), "burst"),
        (log(Limit::MAX_LOG_TOKENS + 1), "tokens"),
    ];
    for (limit, field) in outside {
        let fault = limit.unwrap_err();
        assert_eq!(fault.field(), Some(field), "{fault}");
    }
    // Too little and too much get the advice that fits.
    let advice = |tokens| Limit::new(tokens, Limit::MAX_PERIOD).unwrap_err().to_string();
    assert!(advice(0).contains("`blocked`"));
    assert!(advice(Limit::MAX_TOKENS + 1).contains("`unlimited`"));
}

#[test]
fn names_are_printable_and_at_most_64_bytes() {
    let named = |name: &str| Limit::per_second(1).unwrap().named(name);
    let longest = "n".repeat(Limit::MAX_NAME);
    for name in ["a", "two words", "~!#", "[;9]", longest.as_str()] {
        assert_eq!(named(name).unwrap().name(), name);
    }
    let too_long = "n".repeat(Limit::MAX_NAME + 1);
    for name in ["", " a", "a ", " ", "a:b", "a\"b", "a\\b", "a\tb", "a\u{7f}b", "é", &too_long] {
        let fault = named(name).expect_err(name);
        assert_eq!(fault.field(), Some("limit name"), "{name:?}");
    }
    // A name stays when the limit changes; a default name does not.
    let named = named("mine").unwrap().burst(3).unwrap();
    assert_eq!((named.name(), named.to_string().as_str()), ("mine", "mine: 1/s burst 3"));
}

/// The whole fault, on one line.
fn fault(text: &str) -> String {
    text.parse::<Limit>().expect_err(text).to_string()
}

#[test]
fn a_unit_is_suggested_only_when_it_is_near() {
    for (text, unit) in [
        ("10/minn", Some("min")),
        ("10/Min", Some("min")),
        ("10/HOURS", None),
        ("10/H", Some("h")),
        ("10/S", Some("s")),
        ("10/weekly", Some("week")),
        // Begins with `s`, but so do many words.
        ("10/sx", None),
        ("10/hx", None),
        ("10/fortnight", None),
        ("10/mi", None),
        // `us` and `ns` are for periods such as `1 per 1500us`, and are not suggested.
        ("10/NS", None),
    ] {
        let said = fault(text);
        match unit {
            Some(unit) => assert!(said.contains(&format!("did you mean `{unit}`")), "{said}"),
            None => assert!(!said.contains("did you mean"), "{said}"),
        }
        assert!(!said.contains("`min` or `month`") && !said.contains("longer period"), "{said}");
    }
    assert!(fault("10/m").contains("`min` or `month`"));
    assert!(fault("10/30s").contains("a longer period is written `5 per 30s`"));
}

#[test]
fn a_number_that_is_none_gets_the_advice_that_fits() {
    for (text, part) in [
        ("unlimited/s", "use the policy `unlimited`"),
        ("INF/s", "use the policy `unlimited`"),
        ("infinity/s", "use the policy `unlimited`"),
        ("blocked/s", "use the policy `blocked`"),
        ("18446744073709551616/s", "is too large"),
        ("-1/s", "the number of tokens -1 is negative"),
        ("+1/s", "the number of tokens `+1` is not a number"),
        ("0.5/s", "0.5 is not a whole number"),
        ("1_000/s", "the number of tokens `1_000` is not a number"),
        ("1,000/s", "the number of tokens `1,000` is not a number"),
        (".5/s", "the number of tokens `.` is not a number"),
        ("a.b/s", "the number of tokens `a.b` is not a number"),
        ("5 per x", "unknown unit `x`"),
        ("5 per 99999999999999999999s", "the period 99999999999999999999 is too large"),
        ("5 per 1.5s", "the period 1.5 is not a whole number"),
        ("5 per 0s", "period"),
        ("5/s burst /", "the burst `/` is not a number"),
        ("5 // s", "unknown unit `/`"),
        ("5x/s", "found `x` where `/` or `per` should be"),
    ] {
        let said = fault(text);
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn spaces_do_not_move_the_mark() {
    for (text, part) in [
        ("  name :  10  /  parsec  ", "parsec"),
        ("x: 10/s   burst   none", "none"),
        ("x: 10/s burst 20  fixed-window", "burst 20  fixed-window"),
        ("   10/s \u{2003} odd", "odd"),
        ("  1 per 366 days", "1 per 366 days"),
        ("bad\\name : 10/s", "bad\\name "),
        ("a: b: 10/s", "b:"),
    ] {
        let shown = format!("{:#}", text.parse::<Limit>().expect_err(text));
        let carets = shown.lines().nth(2).unwrap_or_default();
        let start = carets.find('^').expect("a mark") - 2;
        let length = carets.trim().len();
        let marked: String = text.chars().skip(start).take(length).collect();
        assert_eq!(marked, part, "{shown}");
    }
}

#[test]
fn an_algorithm_may_be_named_after_a_burst_only_if_it_has_one() {
    let limit: Limit = "5/s burst 9 token-bucket".parse().unwrap();
    assert_eq!(limit, Limit::per_second(5).unwrap().burst(9).unwrap());
    assert!(fault("5/s burst 9 fixed-window").contains("fixed-window has no burst"));
    assert!(fault("5/s burst 5 sliding-log").contains("sliding-log has no burst"));
    assert!(fault("5/s nothing").contains("found `nothing` after the quota"));
    assert!(fault("5/s fixed-window burst 5").contains("found `burst` after the end"));
}

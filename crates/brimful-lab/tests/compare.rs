//! What was measured is what the formulas say.

use std::time::Duration;

use brimful::{Algorithm, Limit, Nanos};
use brimful_lab::{Comparison, Figures};
use brimful_testkit::small::{Bucket, FixedWindow, Form, SlidingLog, SlidingWindow};
use proptest::prelude::*;

const SLOT: u64 = 32;
const LOG_ENTRY: u64 = 16;

/// The figures of one algorithm.
fn figures(comparison: &Comparison, algorithm: Algorithm) -> &Figures {
    let row = comparison.rows.iter().find(|row| row.algorithm == algorithm);
    row.unwrap().figures.as_ref().unwrap()
}

fn parse(spec: &str) -> Comparison {
    Comparison::parse(spec).unwrap()
}

/// N, C, and what the four algorithms admit at worst: at once, and in any period.
#[test]
fn every_measured_figure_is_the_formula() {
    for (spec, n, c) in [
        ("100/min", 100, 100),
        ("10/s burst 20", 10, 20),
        ("1/day", 1, 1),
        ("5 per 30s", 5, 5),
        ("7 per 3s burst 1", 7, 1),
        ("9999/h burst 3", 9_999, 3),
        ("10007/h", 10_007, 10_007),
        ("65536/h", 65_536, 65_536),
        ("65537/h", 65_537, 65_537),
        ("1000000/s burst 1000000000", 1_000_000, 1_000_000_000),
        ("1000000007 per 7s burst 10000", 1_000_000_007, 10_000),
        ("1000000000000/week", 1_000_000_000_000, 1_000_000_000_000),
        ("1 per 365day", 1, 1),
        ("1/year burst 1000000000", 1, 1_000_000_000),
        // In a shorter period the sliding window counter stays below 2N - 1.
        ("5 per 10ns", 5, 5),
    ] {
        let comparison = parse(spec);
        for (algorithm, at_once, in_period) in [
            (Algorithm::TokenBucket, c, c + n - 1),
            (Algorithm::FixedWindow, 2 * n, 2 * n),
            (Algorithm::SlidingLog, n, n),
            (Algorithm::SlidingWindow, n, 2 * n - 1),
        ] {
            if algorithm == Algorithm::SlidingLog && n > Limit::MAX_LOG_TOKENS {
                continue;
            }
            let found = figures(&comparison, algorithm);
            let measured = (found.at_once.measured.tokens, found.in_period.measured.tokens);
            assert_eq!(measured, (at_once, in_period), "{spec} {algorithm}");
            assert_eq!(
                (found.at_once.bound, found.in_period.bound),
                measured,
                "{spec} {algorithm}"
            );
            assert!(found.at_once.complete && found.in_period.complete, "{spec} {algorithm}");
        }
    }
}

/// At rates near one a nanosecond the simple forms do not hold. The testkit states the worst for
/// small limits, of which every reachable state has been walked.
#[test]
fn limits_of_a_few_nanoseconds_are_measured_as_their_states_were_walked() {
    for (tokens, period) in (1..=20).flat_map(|period| (1..=period).map(move |n| (n, period))) {
        for capacity in [1, 2, 3, tokens] {
            let limit = Limit::new(tokens, Duration::from_nanos(period)).unwrap();
            let comparison = Comparison::of(&limit.burst(capacity).unwrap()).unwrap();
            let check = |algorithm, worst: &dyn Fn(u64) -> (u64, bool)| {
                let found = figures(&comparison, algorithm);
                for (admitted, t) in [(found.at_once, 1), (found.in_period, period - 1)] {
                    let ((most, reached), measured) = (worst(t), admitted.measured.tokens);
                    let what = format!("{} {algorithm} in {t} ns", comparison.limit);
                    assert!(measured <= most, "{what}: {most}, {admitted:?}");
                    // With room for one token a bucket may lose parts of a nanosecond's refill.
                    let lossy = algorithm == Algorithm::TokenBucket && capacity == 1;
                    let same = admitted.bound == most || (lossy && admitted.bound > most);
                    assert!(same, "{what}: {most}, {admitted:?}");
                    // What is shown is no less than what was seen to be reached.
                    assert!(!reached || measured == most, "{what}: {most}, {admitted:?}");
                }
            };
            check(Algorithm::TokenBucket, &|t| Bucket { tokens, period, capacity }.worst(t));
            let (limit, width) = (tokens, period);
            check(Algorithm::FixedWindow, &|t| FixedWindow { limit, width }.worst(t));
            check(Algorithm::SlidingLog, &|t| SlidingLog { limit, width }.worst(t));
            check(Algorithm::SlidingWindow, &|t| SlidingWindow { limit, width }.worst(t));
        }
    }
}

/// 200 of 100/min: half of them in the last nanosecond before the boundary, half at it.
#[test]
fn a_fixed_window_admits_twice_across_its_boundary() {
    for (spec, tokens, boundary) in [("100/min", 100, 60), ("1/day", 1, 86_400)] {
        let comparison = parse(spec);
        let found = figures(&comparison, Algorithm::FixedWindow);
        assert_eq!(found.at_once, found.in_period);
        let (burst, rest) = (found.at_once.measured, found.at_once.measured.rest.unwrap());
        assert_eq!((burst.tokens, burst.extent_ns()), (2 * tokens, 1), "{spec}");
        assert_eq!((burst.first.tokens, rest.tokens), (tokens, tokens), "{spec}");
        assert_eq!(rest.from, Nanos::from_secs(boundary), "{spec}");
    }
}

#[test]
fn memory_for_a_key() {
    for (spec, log_entries) in
        [("100/min", Some(100)), ("1/day", Some(1)), ("65536/h", Some(65_536)), ("65537/h", None)]
    {
        let comparison = parse(spec);
        for row in &comparison.rows {
            let entries =
                if row.algorithm == Algorithm::SlidingLog { log_entries } else { Some(0) };
            let bytes = row.figures.as_ref().ok().map(|figures| figures.state.bytes());
            let expected = entries.map(|entries| SLOT + LOG_ENTRY * entries);
            assert_eq!(bytes, expected, "{spec} {}", row.algorithm);
        }
    }
}

#[test]
fn a_limit_that_is_too_large_for_a_log_says_so_and_the_others_go_on() {
    let comparison = parse("65537/h");
    let reason = "tokens is 65537, expected at most 65536 for a sliding log";
    let refused: Vec<_> =
        comparison.rows.iter().filter_map(|row| row.figures.as_ref().err()).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].to_string(), reason);
    let text = comparison.to_string();
    assert!(text.contains(&format!("  sliding-log     not possible: {reason}\n")), "{text}");
    assert!(!text.contains("(bytes: "), "{text}");
}

/// A bucket of one token at a million a second would take a million requests.
#[test]
fn a_measurement_that_was_stopped_says_so() {
    let comparison = parse("1000000/s burst 1");
    let found = figures(&comparison, Algorithm::TokenBucket);
    assert!(found.at_once.complete && !found.in_period.complete);
    assert_eq!((found.at_once.measured.tokens, found.in_period.bound), (1, 1_000_000));
    let seen = found.in_period.measured.tokens;
    assert!((200_000..300_000).contains(&seen), "{seen}");
    assert!(comparison.to_string().contains(&format!(" 1000000  >={seen}\n")), "{comparison}");
    assert!(figures(&comparison, Algorithm::FixedWindow).in_period.complete);
}

#[test]
fn a_burst_is_the_buckets_alone_and_an_algorithm_is_left_out() {
    let (burst, plain) = (parse("10/s burst 20"), parse("10/s"));
    assert_ne!(burst.rows[0], plain.rows[0]);
    assert_eq!(burst.rows[1..], plain.rows[1..]);
    for algorithm in Algorithm::ALL {
        assert_eq!(parse(&format!(" 10/s {algorithm} ")), plain);
    }
    let named = parse("api: 10/s burst 20");
    assert_eq!(named.rows, burst.rows);
    assert_eq!((named.limit.name(), &*named.limit.to_string()), ("api", "api: 10/s burst 20"));
    assert_eq!(parse("api: 10/s sliding-log").limit.to_string(), "api: 10/s");
}

#[test]
fn what_is_no_limit_is_refused() {
    for word in ["unlimited", " blocked "] {
        let fault = Comparison::parse(word).unwrap_err();
        assert!(fault.is_usage(), "{fault}");
        let words = fault.to_string();
        assert!(words.contains(word.trim()) && words.contains("for example `100/min"), "{words}");
    }
    assert!(Comparison::parse("10/minn").unwrap_err().is_limit());
}

proptest! {
    /// Whatever the limit, if a bucket has room for two tokens: the bound is reached, and no more.
    #[test]
    fn every_limit_reaches_its_bound_and_no_more(
        (period, tokens, capacity) in (0_u32..=54).prop_flat_map(|bits| {
            let longest = u64::try_from(Limit::MAX_PERIOD.as_nanos()).unwrap();
            (1_u64 << bits..=(2 << bits)).prop_map(move |period| period.min(longest))
        }).prop_flat_map(|period| {
            let most = period.min(Limit::MAX_TOKENS);
            (Just(period), prop_oneof![1..=most, 1..=most.min(70_000)])
        }).prop_flat_map(|(period, tokens)| {
            // Fewer pieces than those after which a measurement is stopped.
            (Just(period), Just(tokens), tokens.div_ceil(100_000) + 1..=tokens + 1)
        })
    ) {
        let limit = Limit::new(tokens, Duration::from_nanos(period)).unwrap();
        let limit = limit.burst(capacity.min(Limit::MAX_TOKENS)).unwrap();
        let comparison = Comparison::of(&limit).unwrap();
        for row in &comparison.rows {
            let Ok(figures) = &row.figures else {
                prop_assert!(tokens > Limit::MAX_LOG_TOKENS);
                continue;
            };
            for admitted in [figures.at_once, figures.in_period] {
                prop_assert!(admitted.complete);
                prop_assert_eq!(admitted.measured.tokens, admitted.bound, "{}", row.algorithm);
            }
        }
    }
}

#[test]
fn tables_fit_a_page() {
    for spec in ["100/min", "1/year", "1000000000000 per 364day", "65536 per 1001ms", "1/ns"] {
        let text = parse(spec).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= 100 && line.trim_end() == line, "{line:?}");
        }
    }
}

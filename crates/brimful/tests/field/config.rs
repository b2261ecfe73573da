//! Limits as people write them: one reading each, and what cannot be is refused when it is made.

use std::time::Duration;

use brimful::{Limit, Limiter, Policy};

use crate::{START, admitted, asked, limit, meter, ms, secs};

/// The error of what is built, which field it names, and its words.
#[test]
fn what_cannot_be_is_refused_when_it_is_built() {
    let second = Duration::from_secs(1);
    let ten = || Limit::per_second(10).expect("a limit within range");
    let rows = [
        (117, Limit::new(0, Duration::ZERO), "period"),
        (118, Limit::new(0, second), "tokens"),
        (119, Limit::per_second(100).and_then(|limit| limit.burst(0)), "burst"),
        (121, Limit::new(1000, Duration::ZERO), "period"),
        (15, Limit::new(1, Duration::from_secs(100_000_000_000)), "period"),
        (18, Limit::new(u64::MAX, second), "tokens"),
        (18, Limit::per_second(1).and_then(|limit| limit.burst(u64::MAX)), "burst"),
        (40, Limit::per_second(1_000_000_001), "rate"),
    ];
    for (case, limit, field) in rows {
        let fault = limit.expect_err("outside the range");
        assert_eq!(fault.field(), Some(field), "case {case}: {fault}");
        assert!(fault.to_string().contains("expected"), "case {case}: {fault}");
    }
    // The defaults of everything are no limiter either: a policy of no limits.
    assert!(Policy::new([]).expect_err("case 117").is_range());
    let fault = Limiter::builder(ten()).max_keys(0).build().expect_err("case 117");
    assert_eq!(fault.field(), Some("max_keys"));
}

/// The same, as it is written: the fault shows where it is and what would be right.
#[test]
fn what_cannot_be_is_refused_when_it_is_read() {
    for (case, written, words) in [
        (118, "0/s", "blocked"),
        (118, "10/s burst -1", "negative"),
        (118, "-10/s", "negative"),
        (119, "100/s burst 0", "burst is 0"),
        (121, "1000 per 0s", "period"),
        (15, "0.00000000001/s", "whole"),
        (15, "1e-11/s", "`/` or `per`"),
        (15, "1 per 100000000000s", "365 days"),
        (24, "0.5/s", "1 per 2s"),
        (174, "1 per", "missing"),
    ] {
        let fault = written.parse::<Limit>().expect_err(written);
        let shown = format!("{fault:#}");
        assert!(fault.is_syntax() && shown.contains(words), "case {case}:\n{shown}");
    }
}

/// What a limit says is what it admits: calls at an even pace after the burst, and how many of
/// them pass.
#[test]
fn a_written_rate_has_one_reading() {
    let rows = [
        (24, limit("1 per 2s"), 2_000, 2, 2),
        (24, limit("1 per 2s"), 1_000, 20, 10),
        (175, limit("2/s"), 500, 20, 20),
        (175, Limit::per_second(2).expect("in range"), 500, 20, 20),
        (175, Limit::per_second(2).expect("in range"), 250, 20, 10),
        (174, Limit::per_second(4000).expect("in range"), 1, 8_000, 8_000),
        (174, limit("1 per 4000s burst 8000"), 1_000, 8_000, 2),
    ];
    for (case, limit, spacing, calls, expected) in rows {
        let mut meter = brimful::Meter::new(&limit.clone().into());
        assert!(meter.try_acquire_at(limit.capacity(), START).is_allowed());
        let times = (1..=calls).map(|call| ms(call * spacing));
        assert_eq!(admitted(&mut meter, times), expected, "case {case}: {limit}");
    }
    // Case 24: a burst that nobody names is at least 1.
    assert_eq!(asked(&mut meter("1 per 2s"), [secs(0), secs(2)]), "++", "case 24");
    // Case 174: printed, it is what it is.
    assert_eq!(Limit::per_second(4000).expect("in range").to_string(), "4000/s");
    assert_eq!(limit("1 per 4000s burst 8000").to_string(), "1 per 4000s burst 8000");
}

//! What is earned does not depend on who asks how often.

use std::thread;
use std::time::Duration;

use brimful::{Algorithm, KeylessLimiter, Limit, Meter, Nanos, Policy};
use brimful_testkit::trace::nearest_limit;
use brimful_testkit::{Model, Outcome, strategy};
use proptest::prelude::*;

use crate::{START, admitted, asked, config, drained, limit, meter, ms, waited};

/// The most that a bucket can earn, so that none of these is ever full.
const ROOMY: u64 = Limit::MAX_TOKENS;

/// A part of `whole`, in 64ths, up to three times all of it.
fn part(whole: u128, share: u16) -> Duration {
    let ns = whole * u128::from(share % 192) / 64;
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX).min(1 << 54))
}

proptest! {
    #![proptest_config(config())]

    /// Whoever takes all that is there at each poll has had exactly rate times elapsed time,
    /// rounded down once, whatever the spacing of the polls.
    #[test]
    fn polling_takes_exactly_what_time_earns(
        tokens in 1..=1_000_000_u64,
        period in 1..=100_000_000_000_000_u64,
        gaps in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let limit = nearest_limit(Algorithm::TokenBucket, tokens, period, ROOMY);
        let mut meter = Meter::new(&Policy::from(limit.clone()));
        prop_assume!(limit.capacity() > 10_000);
        prop_assert!(meter.try_acquire_at(limit.capacity(), START).is_allowed());
        let (mut now, mut taken) = (START, 0_u128);
        for gap in gaps {
            now = now + part(limit.period().as_nanos() / u128::from(limit.tokens()), gap);
            let there = meter.peek_at(0, now).remaining();
            prop_assert!(meter.try_acquire_at(there, now).is_allowed());
            taken += u128::from(there);
            let elapsed = now.since(START).as_nanos();
            let earned = elapsed * u128::from(limit.tokens()) / limit.period().as_nanos();
            prop_assert_eq!(taken, earned, "{} after {} ns", limit, elapsed);
        }
    }

    /// Whoever asks for one at each poll is answered as the exact model answers, under every
    /// algorithm and over the whole range of limits.
    #[test]
    fn polling_is_answered_as_the_exact_model_answers(
        limit in prop_oneof![
            strategy::limit(Algorithm::TokenBucket),
            strategy::limit(Algorithm::FixedWindow),
            strategy::limit(Algorithm::SlidingLog),
            strategy::limit(Algorithm::SlidingWindow),
        ],
        spent in any::<u16>(),
        gaps in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let policy = Policy::from(limit.clone());
        let (mut meter, mut model) = (Meter::new(&policy), Model::new(&policy));
        let first = limit.capacity() - limit.capacity().min(u64::from(spent % 8));
        let mut now = START;
        prop_assert_eq!(Outcome::from(meter.try_acquire_at(first, now)), model.acquire(first, now));
        for gap in gaps {
            now = now + part(limit.period().as_nanos() / u128::from(limit.tokens()), gap);
            let expected = model.acquire(1, now);
            prop_assert_eq!(Outcome::from(meter.try_acquire_at(1, now)), expected, "{}", limit);
        }
    }

    /// A new bucket is full: its whole capacity is there at once, and not one more.
    #[test]
    fn a_fresh_bucket_is_full(limit in strategy::limit(Algorithm::TokenBucket)) {
        let mut meter = Meter::new(&Policy::from(limit.clone()));
        prop_assert!(meter.try_acquire_at(limit.capacity(), START).is_allowed(), "{}", limit);
        prop_assert!(meter.try_acquire_at(1, START).is_denied(), "{}", limit);
    }
}

/// The first call of all, at rates that no float holds.
#[test]
fn the_first_call_is_admitted() {
    for (case, spec) in [
        (10, "10 per 13s burst 1"),
        (10, "1 per 1300ms"),
        (10, "7 per 13ns burst 1"),
        (10, "1/year"),
        (10, "999999999/s burst 1"),
    ] {
        for now in [Nanos::ZERO, START, Nanos::MAX] {
            let answers = asked(&mut meter(spec), [now; 2]);
            assert_eq!(answers, "+-", "case {case}: {spec} at {now:?}");
        }
    }
}

/// Calls at the millisecond, of a bucket that was drained at second 0 or is fresh.
#[test]
fn parts_of_a_token_are_carried_along() {
    let rows: [(u32, &str, bool, &[u64], &str); 5] = [
        (1, "1/s burst 10", true, &[1_900, 2_000, 2_900], "++-"),
        (1, "1/s burst 10", true, &[1_900, 2_000, 2_900, 3_000], "++-+"),
        (2, "1 per 10s burst 10", true, &[25_000, 29_000, 30_000, 39_999, 40_000], "+++-+"),
        (26, "1/s sliding-window", false, &[900, 1_100, 1_999, 2_000], "+--+"),
        (73, "2/s burst 1", false, &[259, 533, 783, 1035, 1289, 1541, 1790, 2040], "+-+-+-+-"),
    ];
    for (case, spec, empty, times, expected) in rows {
        let mut meter = if empty { drained(spec, START) } else { meter(spec) };
        let answers = asked(&mut meter, times.iter().copied().map(ms));
        assert_eq!(answers, expected, "case {case}: {spec} at {times:?} ms");
    }
}

/// Polls at an even spacing, of a bucket that was drained at second 0.
#[test]
fn fast_polling_neither_starves_nor_mints() {
    let rows = [
        (3, "100/s burst 10", 1_000_000, 1_000, 100),
        (3, "100/s burst 10", 100_000, 10_000, 100),
        (4, "1000/s", 600_000, 600, 360),
        (4, "1000/s", 999_999, 1_000, 999),
    ];
    for (case, spec, spacing_ns, polls, expected) in rows {
        let mut meter = drained(spec, START);
        let times = (1..=polls).map(|poll| START + Duration::from_nanos(poll * spacing_ns));
        let taken = admitted(&mut meter, times);
        assert_eq!(taken, expected, "case {case}: {spec} every {spacing_ns} ns");
    }
}

/// Saturated demand without a burst: one more than the quota at most (the first comes for free),
/// at rates that are no whole number of milliseconds, microseconds or nanoseconds apart.
#[test]
fn throughput_is_the_rate_that_was_asked_for() {
    let rows = [
        (6, "1999/s burst 1", 10, 19_990),
        (6, "2000/s burst 1", 10, 20_000),
        (8, "1500/s burst 1", 10, 15_000),
        (8, "3000/s burst 1", 10, 30_000),
        (7, "700/min burst 1", 60, 700),
        (7, "40000/min burst 1", 60, 40_000),
        (7, "120000/min burst 1", 60, 120_000),
    ];
    for (case, spec, seconds, quota) in rows {
        let (mut meter, end) = (meter(spec), crate::secs(seconds));
        let (mut now, mut taken) = (START, 0);
        while now < end {
            now = waited(&mut meter, 1, now);
            taken += u64::from(now < end);
        }
        assert!((quota..=quota + 1).contains(&taken), "case {case}: {spec}: {taken}");
    }
    // Spacings are exact: nanoseconds, rounded up only where a token ends between two.
    for (case, spec, spacing_ns) in [
        (7, "700/min burst 1", 85_714_286),
        (7, "40000/min burst 1", 1_500_000),
        (7, "120000/min burst 1", 500_000),
        (8, "1500/s burst 1", 666_667),
    ] {
        let next = waited(&mut drained(spec, START), 1, START);
        assert_eq!(next.since(START).as_nanos(), spacing_ns, "case {case}: {spec}");
    }
}

/// Case 40: above 10^9 a second a limit is refused when it is built; at that rate two threads
/// with a million calls each are far from its burst.
#[test]
fn the_highest_rate_is_a_stated_one() {
    let fault = Limit::per_second(1_000_000_001).expect_err("above the range");
    assert_eq!(fault.field(), Some("rate"), "case 40: {fault}");
    let limiter = KeylessLimiter::new(limit("1000000000/s")).expect("the end of the range");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for call in 0..1_000_000 {
                    let decision = limiter.try_acquire();
                    assert!(decision.is_allowed(), "case 40: call {call}: {decision:?}");
                }
            });
        }
    });
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied), (2_000_000, 0));
    // Without a burst, one at each nanosecond.
    let mut meter = meter("1000000000/s burst 1");
    let times = (0..1_000).map(|ns| START + Duration::from_nanos(ns));
    assert_eq!(admitted(&mut meter, times), 1_000);
    assert!(meter.try_acquire_at(1, Nanos::from_nanos(START.as_nanos() + 999)).is_denied());
}

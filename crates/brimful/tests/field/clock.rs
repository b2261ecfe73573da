//! Clocks that are set back, that disagree, and that begin or end anywhere.

use std::time::Duration;

use brimful::{Algorithm, Meter, Nanos, Policy};
use brimful_testkit::{Model, Outcome, strategy};
use proptest::prelude::*;

use crate::{START, asked, config, drained, meter, ms, secs};

fn any_limit() -> impl Strategy<Value = brimful::Limit> {
    prop::sample::select(Algorithm::ALL.to_vec()).prop_flat_map(strategy::limit)
}

proptest! {
    #![proptest_config(config())]

    /// However readings within the tolerance interleave, no more is admitted than between the
    /// earliest and the latest of them time alone would have earned.
    #[test]
    fn disordered_readings_earn_no_time(
        limit in strategy::limit(Algorithm::TokenBucket),
        readings in prop::collection::vec((0..10_000_000_000_u64, 1..4_u64), 1..80),
    ) {
        let mut meter = Meter::new(&Policy::from(limit.clone()));
        let (mut earliest, mut latest, mut taken) = (u64::MAX, 0, 0_u128);
        for (ns, cost) in readings {
            let now = START + Duration::from_nanos(ns);
            (earliest, latest) = (earliest.min(ns), latest.max(ns));
            taken += if meter.try_acquire_at(cost, now).is_allowed() { cost.into() } else { 0 };
        }
        let elapsed = u128::from(latest - earliest);
        let earned = elapsed * u128::from(limit.tokens()) / limit.period().as_nanos();
        prop_assert!(taken <= u128::from(limit.capacity()) + earned, "{}: {}", limit, taken);
    }

    /// Any readings at all are answered, as the exact model answers them.
    #[test]
    fn no_reading_is_an_error(
        limit in any_limit(),
        readings in prop::collection::vec((any::<u64>(), 0..70_u32), 1..60),
    ) {
        let policy = Policy::from(limit.clone());
        let (mut meter, mut model) = (Meter::new(&policy), Model::new(&policy));
        for (raw, shift) in readings {
            // From anywhere, or close to the others; but not from the end of time, where the model,
            // which has no end, goes on.
            let now = match shift {
                0..=31 => Nanos::from_nanos(raw >> 2 >> shift),
                _ => START + Duration::from_nanos(raw >> shift.min(63)),
            };
            let expected = model.acquire(1, now);
            prop_assert_eq!(Outcome::from(meter.try_acquire_at(1, now)), expected, "{}", limit);
        }
    }

    /// A clock that was ahead and is set right locks a key out for at most the tolerance and the
    /// time that its debt takes; if it was ahead by more than the tolerance, for the latter alone.
    #[test]
    fn a_clock_set_back_locks_out_for_a_bounded_time(
        limit in any_limit(),
        ahead in prop_oneof![0..1_000_000_000_000_u64, 0..=Nanos::MAX.as_nanos() / 4],
    ) {
        let policy = Policy::from(limit.clone());
        let mut meter = Meter::new(&policy);
        let spent = meter.try_acquire_at(limit.capacity(), START + Duration::from_nanos(ahead));
        prop_assert!(spent.is_allowed());
        let tolerance = Model::new(&policy).tolerance();
        let behind = if u128::from(ahead) <= tolerance { u128::from(ahead) } else { 0 };
        let denied = meter.try_acquire_at(1, START);
        let wait = denied.retry_after().map(|wait| wait.as_nanos()).unwrap_or_default();
        // A counter's window may have to begin anew, at the new time.
        let memory = match limit.chosen_algorithm() {
            Algorithm::TokenBucket => spent.reset_after().as_nanos(),
            _ => 2 * limit.period().as_nanos(),
        };
        prop_assert!(denied.is_denied() && wait > 0, "{}: a debt was forgotten", limit);
        prop_assert!(wait <= behind + memory, "{}: locked out for {} ns", limit, wait);
    }
}

/// Readings at the millisecond, in the order in which they reach one state.
#[test]
fn readings_from_several_clocks_mint_and_lose_nothing() {
    let stale: Vec<u64> = [10_000, 9_000].into_iter().cycle().take(1_000).collect();
    let around: Vec<u64> = [5_000, 10_000].into_iter().cycle().take(50).collect();
    // Two cores whose cycle counters are 1,606 ms apart; the sixth call is one too many.
    let cores = [100_000, 98_394, 100_001, 98_395, 100_002, 100_002];
    let rows = [
        (36, "1/s", None, &stale[..], 1),
        (38, "1/s burst 10", Some(10_000), &around, 0),
        (39, "1/s burst 5", None, &cores, 5),
    ];
    for (case, spec, drained_at, readings, expected) in rows {
        let mut meter = match drained_at {
            Some(at) => drained(spec, ms(at)),
            None => meter(spec),
        };
        let answers = asked(&mut meter, readings.iter().copied().map(ms));
        let pattern = "+".repeat(expected) + &"-".repeat(readings.len() - expected);
        assert_eq!(answers, pattern, "case {case}: {spec}");
    }
    // Case 39: the wait of the sixth; 2 ms of it have passed.
    let mut meter = meter("1/s burst 5");
    asked(&mut meter, cores[..5].iter().copied().map(ms));
    let wait = meter.try_acquire_at(1, ms(100_002)).retry_after();
    assert_eq!(wait, Some(Duration::from_millis(998)));
}

/// Case 44: readings that decrease, in nanoseconds from the epoch.
#[test]
fn decreasing_ticks_are_no_error() {
    for spec in ["10/s", "10/s fixed-window", "10/s sliding-log", "10/s sliding-window"] {
        let ticks = [5, 4, 6, 0, 1].map(Nanos::from_nanos);
        assert_eq!(asked(&mut meter(spec), ticks), "+++++", "case 44: {spec}");
    }
}

/// Clocks that are set back by far more than a fill: what was owed is owed from the new time on,
/// and no longer than it would have been.
#[test]
fn a_stepped_clock_is_a_new_reference() {
    let ten_at = |at: u64| [at; 10];
    // Case 31: from second 1000 to second 400, by a key that is as good as new, that has spent all
    // at the last moment, and that had spent one a while before and was not asked since.
    for spec in ["10/s", "10/s fixed-window", "10/s sliding-log"] {
        let mut fresh = meter(spec);
        assert!(fresh.peek_at(1, secs(1_000)).is_allowed());
        assert_eq!(asked(&mut fresh, ten_at(400).map(secs)), "++++++++++", "case 31: {spec}");
        assert_eq!(asked(&mut fresh, [secs(400), secs(401)]), "-+", "case 31: {spec}");

        let mut spent = drained(spec, secs(1_000));
        assert_eq!(asked(&mut spent, [secs(400), secs(401)]), "-+", "case 31: {spec}");
    }
    let mut owing = meter("10/s");
    assert_eq!(asked(&mut owing, [secs(990)]), "+");
    assert_eq!(asked(&mut owing, ten_at(400).map(secs)), "+++++++++-", "case 31");
    assert_eq!(asked(&mut owing, [ms(400_100)]), "+", "case 31");

    // Case 33: a use that was recorded an hour ahead.
    for spec in ["1 per 30s", "1 per 30s fixed-window", "1 per 30s sliding-log"] {
        let mut meter = drained(spec, secs(3_600));
        assert_eq!(asked(&mut meter, [secs(0), secs(30)]), "-+", "case 33: {spec}");
    }
}

/// Case 42: only differences count, wherever a clock begins. Times here are never negative, and
/// in 2262 time stands still, instead of beginning anew: then nothing more is earned.
#[test]
fn the_origin_of_a_clock_does_not_matter() {
    let ten = Duration::from_secs(10);
    let end = Nanos::MAX.as_nanos();
    let last_window = end - end % 10_000_000_000;
    for spec in ["3 per 10s", "3 per 10s fixed-window", "3 per 10s sliding-log"] {
        for origin in [0, 5_000_000_000, 1 << 62, last_window - 10_000_000_000] {
            let origin = Nanos::from_nanos(origin);
            let mut meter = meter(spec);
            assert_eq!(asked(&mut meter, [origin; 4]), "+++-", "case 42: {spec} from {origin:?}");
            let next = asked(&mut meter, [origin + ten; 4]);
            assert_eq!(next, "+++-", "case 42: {spec} from {origin:?}");
        }
        // Six seconds before the end, ten seconds do not pass; the last window has no end.
        let late = Nanos::from_nanos(end - 6_000_000_000);
        assert!(late.as_nanos() > last_window && late + ten == Nanos::MAX);
        let mut meter = meter(spec);
        assert_eq!(asked(&mut meter, [late; 4]), "+++-", "case 42: {spec}");
        let expected = if spec == "3 per 10s" { "+---" } else { "----" };
        assert_eq!(asked(&mut meter, [late + ten; 4]), expected, "case 42: {spec}");
    }
}

//! What may pass around the edges of windows, and what users take for a fault there.

use brimful::Nanos;

use crate::{START, admitted, asked, meter, ms, secs, waited};

/// Case 46: 60 just before a minute's end and 60 just after.
#[test]
fn across_a_boundary_each_algorithm_admits_what_it_says() {
    let rows = [
        (46, "60/min fixed-window", 120),
        (46, "60/min sliding-log", 60),
        // 59.9 of the 60 are carried over.
        (46, "60/min sliding-window", 60),
        (46, "60/min", 60),
    ];
    for (case, spec, expected) in rows {
        let mut meter = meter(spec);
        let before = admitted(&mut meter, [ms(59_900); 60]);
        assert_eq!(before, 60, "case {case}: {spec}");
        let after = admitted(&mut meter, [ms(60_100); 60]);
        assert_eq!(before + after, expected, "case {case}: {spec}");
    }
}

/// Callers at an even pace: how many of them are admitted, and how many in the worst window.
#[test]
fn a_steady_caller_gets_capacity_and_rate() {
    let rows = [
        // 3 and 3 a second for 10.4 s: what has leaked is remembered until it is nothing.
        (47, "3/s", 105, 100, 34, 5),
        // The bucket of 60 admits 119 in the first minute: 60 and what 59.5 s bring.
        (61, "60/min", 500, 120, 119, 119),
        (61, "60/min sliding-log", 500, 120, 60, 60),
        (61, "60/min sliding-log", 500, 1_200, 600, 60),
    ];
    for (case, spec, spacing, calls, expected, worst) in rows {
        let mut meter = meter(spec);
        let window = crate::limit(spec).period();
        let mut times: Vec<Nanos> = (0..calls).map(|call| ms(call * spacing)).collect();
        times.retain(|now| meter.try_acquire_at(1, *now).is_allowed());
        assert_eq!(times.len(), expected, "case {case}: {spec}");
        let within = |from: &Nanos| {
            times.iter().filter(|now| *now >= from && now.since(*from) < window).count()
        };
        let most = times.iter().map(within).max();
        assert_eq!(most, Some(worst), "case {case}: {spec}: the worst window");
    }
}

/// Callers who wait for their turn, and when each has it.
#[test]
fn turns_come_as_tokens_do() {
    let rows = [
        (62, "2 per 10s", [0, 10, 5_000, 10_000, 15_000]),
        (62, "2 per 10s sliding-log", [0, 10, 10_000, 10_010, 20_000]),
        (62, "2 per 10s fixed-window", [0, 10, 10_000, 10_000, 20_000]),
    ];
    for (case, spec, turns) in rows {
        let mut meter = meter(spec);
        let mut last = START;
        for (caller, turn) in turns.into_iter().enumerate() {
            let arrival = ms(u64::try_from(caller).unwrap_or(0) * 10);
            last = waited(&mut meter, 1, last.max(arrival));
            assert_eq!(last, ms(turn), "case {case}: {spec}, caller {caller}");
        }
    }
}

/// Case 63: two calls in each of 30 seconds.
#[test]
fn a_bucket_is_not_a_window() {
    for (case, spec, expected) in [
        (63, "17 per 30s", 33),
        (63, "17 per 30s sliding-log", 17),
        (63, "17 per 30s fixed-window", 17),
    ] {
        let times = (0..30).flat_map(|k| [ms(k * 1_000), ms(k * 1_000 + 250)]);
        assert_eq!(admitted(&mut meter(spec), times), expected, "case {case}: {spec}");
    }
}

/// Case 99: a refusal does not begin the window anew; the entry of second 0 expires at second 10.
#[test]
fn a_refusal_restarts_nothing() {
    for (case, spec) in [(99, "10 per 10s sliding-log"), (99, "10 per 10s fixed-window")] {
        let mut meter = meter(spec);
        assert_eq!(asked(&mut meter, (0..10).map(secs)), "++++++++++", "case {case}");
        assert_eq!(asked(&mut meter, [ms(9_500), ms(9_999), ms(10_000)]), "--+", "case {case}");
    }
}

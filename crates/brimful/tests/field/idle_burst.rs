//! After an idle spell: the capacity at once, and then the rate again.

use std::time::Duration;

use brimful::{Algorithm, Meter, Nanos, Policy};
use brimful_testkit::strategy;
use proptest::prelude::*;

use crate::{START, admitted, config, meter, ms, waited};

proptest! {
    #![proptest_config(config())]

    /// However long nobody asked, no more than the capacity is there, and after it as little as
    /// after a start.
    #[test]
    fn an_idle_spell_is_worth_at_most_the_capacity(
        limit in strategy::limit(Algorithm::TokenBucket),
        idle in 0..=Nanos::MAX.as_nanos() - START.as_nanos() - 1,
    ) {
        let mut meter = Meter::new(&Policy::from(limit.clone()));
        prop_assert!(meter.try_acquire_at(1, START).is_allowed());
        let now = START + Duration::from_nanos(idle);
        let more = limit.capacity().saturating_add(1);
        prop_assert!(meter.try_acquire_at(more, now).is_never(), "{}", limit);
        let there = meter.peek_at(0, now).remaining();
        prop_assert!(there <= limit.capacity(), "{}", limit);
        prop_assert!(meter.try_acquire_at(there, now).is_allowed(), "{}", limit);
        prop_assert!(meter.try_acquire_at(1, now).is_denied(), "{}", limit);
    }
}

/// When callers who wait for their turn are admitted after an idle spell.
#[test]
fn a_pacer_goes_on_pacing_after_an_idle_spell() {
    let rows: [(u32, &str, u64, usize, &[u64]); 3] = [
        // One due and one of slack, then one a second.
        (51, "1/s burst 2", 2_000, 24, &[0, 0, 1_000, 2_000, 3_000]),
        (51, "1/s burst 2", 86_400_000, 24, &[0, 0, 1_000, 2_000, 3_000]),
        (54, "1/s burst 1", 4_000, 3, &[0, 1_000, 2_000]),
    ];
    for (case, spec, idle, callers, turns) in rows {
        let mut meter = meter(spec);
        assert!(meter.try_acquire_at(1, START).is_allowed());
        let mut last = ms(idle);
        for caller in 0..callers {
            last = waited(&mut meter, 1, last);
            let turn = turns.get(caller).copied();
            let turn = turn.unwrap_or_else(|| 1_000 * (u64::try_from(caller).unwrap_or(0) - 1));
            assert_eq!(last, ms(idle + turn), "case {case}: {spec}, caller {caller}");
        }
    }
}

/// Case 53: after a minute's gap 200 of 10 are not granted, at once or ever, and 10 are.
#[test]
fn a_long_gap_grants_no_more_than_the_capacity() {
    let mut meter = meter("1 per 100ms burst 10");
    assert!(meter.try_acquire_at(1, START).is_allowed());
    assert!(meter.try_acquire_at(200, ms(60_000)).is_never(), "case 53");
    assert_eq!(admitted(&mut meter, [ms(60_000); 200]), 10, "case 53");
}

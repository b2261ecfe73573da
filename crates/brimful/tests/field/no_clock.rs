//! Where there is no clock (a browser, a microcontroller), the caller says what time it is.
//! That the core builds there without `std` is seen by the lint stage of `scripts/test`.

use brimful::{Clock, Limiter, Meter, Nanos, Overflow};

use crate::{START, asked, policy, secs};

/// A platform whose clock cannot be read.
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Nanos {
        panic!("time not implemented on this platform")
    }
}

/// Case 248: verbs that are given the time read no clock: with a slot, as a newcomer, in a full
/// store, and when they look, give back and forget.
#[test]
fn verbs_with_a_time_read_no_clock() {
    for overflow in Overflow::ALL {
        let limiter = Limiter::builder(policy(&["2/s", "3/min sliding-log"]))
            .max_keys(4)
            .overflow(overflow)
            .clock(NoClock)
            .build()
            .expect("a small limiter");
        for second in 0..3 {
            for key in 0..20_u64 {
                let look = limiter.peek_at(key, 1, secs(second));
                assert_eq!(limiter.try_acquire_at(key, 1, secs(second)), look, "case 248");
                limiter.refund_at(key, key % 2, secs(second));
            }
            limiter.reset(0_u64);
        }
        assert!(limiter.stats().admitted > 0, "case 248");
    }
}

/// Case 248: a builder reads no clock before it is told which: where there is none, the default one
/// panics as soon as it is made.
#[test]
fn a_builder_reads_no_clock() {
    let shown = format!("{:?}", Limiter::builder(policy(&["1/s"])));
    assert!(!shown.contains("SystemClock"), "case 248: {shown}");
}

/// Case 248: the first check of the pure core, and those after it, by times alone, from zero on.
#[test]
fn the_core_needs_no_clock_at_all() {
    for spec in ["1/s", "1/s fixed-window", "1/s sliding-log", "1/s sliding-window"] {
        let mut meter: Meter = crate::meter(spec);
        let answers = asked(&mut meter, [0, 0, 2].map(Nanos::from_secs));
        assert_eq!(answers, "+-+", "case 248: {spec}");
        assert!(meter.try_acquire_at(1, START).is_allowed(), "case 248: {spec}");
    }
}

//! Nothing at all is a policy of its own, `blocked`, and no limit: a limit of zero means "block" to
//! one reader, "off" to another and a division by zero to the code.

use std::time::Duration;

use brimful::{Denial, Limit, Limiter, Meter, Policy};

use crate::{START, secs};

/// Written or built, a rate or capacity of zero is refused when it is made, and the error names
/// what to use instead.
#[test]
fn a_limit_of_zero_is_refused_by_name() {
    let second = Duration::from_secs(1);
    let built = [
        (13, Limit::new(0, second).and_then(|limit| limit.burst(1)), "tokens"),
        (14, Limit::new(0, second).and_then(|limit| limit.burst(100)), "tokens"),
        (16, Limit::new(0, second).and_then(|limit| limit.burst(0)), "tokens"),
        (96, Limit::per_minute(0), "tokens"),
    ];
    for (case, limit, field) in built {
        let fault = limit.expect_err("a limit of zero");
        assert!(fault.is_range() && fault.field() == Some(field), "case {case}: {fault}");
        assert!(fault.to_string().contains("`blocked`"), "case {case}: {fault}");
    }
    for (case, written) in [(13, "0/s burst 1"), (14, "0/s burst 100"), (96, "0 per 60s")] {
        let fault = written.parse::<Limit>().expect_err(written);
        assert!(fault.to_string().contains("`blocked`"), "case {case}: {fault}");
    }
}

/// What refuses all says at once that no wait can help, for whoever asks how often.
#[test]
fn blocked_is_never() {
    let mut meter = Meter::new(&Policy::blocked());
    let limiter = Limiter::new(Policy::blocked()).expect("a small limiter");
    for (case, second) in (0..10).flat_map(|second| [13, 14, 16, 96].map(|case| (case, second))) {
        for cost in [1, 2, u64::MAX] {
            let decision = meter.try_acquire_at(cost, secs(second));
            assert!(decision.is_never() && decision.retry_after().is_none(), "case {case}");
            assert_eq!(decision.denial(), Some(Denial::Blocked), "case {case}");
            assert_eq!(limiter.try_acquire_at("key", cost, secs(second)), decision);
        }
    }
    assert_eq!(limiter.stats().occupied, 0, "and takes no memory");
    assert_eq!(meter.refund_at(1, START), 0);
}

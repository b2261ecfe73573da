//! Windows, clocks that go back, and clocks that are stepped.

use super::{Factory, KEY, Subject, drain, each, later, made, millis, one_earlier, secs};
use brimful::Nanos;

const SECOND: u128 = 1_000_000_000;

pub(super) fn windows_start_at_the_epoch(make: Factory<'_>) {
    let day = 86_400;
    for (spec, boundary) in
        [("5/min", 600), ("5/h", 7_200), ("5/day", 20_000 * day), ("5/week", 2_800 * 7 * day)]
    {
        let subject = made(make, &[&format!("{spec} fixed-window")]);
        let boundary = secs(boundary);
        assert_eq!(drain(&*subject, one_earlier(boundary)), 5, "{spec}");
        assert_eq!(subject.acquire_at(KEY, 1, one_earlier(boundary)).retry, Some(1), "{spec}");
        assert_eq!(drain(&*subject, boundary), 5, "{spec}");
    }
    let subject = made(make, &["10/min sliding-window"]);
    subject.acquire_at(KEY, 10, secs(659));
    assert_eq!(subject.peek_at(KEY, 0, secs(666)).remaining, 1, "a tenth of the window on");
}

/// 5 of 10 taken at second 20: at second 19 there are 5, and hints count the way back to 20.
pub(super) fn backward_time_is_no_time(make: Factory<'_>) {
    let subject = made(make, &["10/s"]);
    assert_eq!(subject.acquire_at(KEY, 5, secs(20)).remaining, 5);
    let look = subject.peek_at(KEY, 0, secs(19));
    assert_eq!((look.remaining, look.reset_after), (5, 3 * SECOND / 2));
    let denied = subject.acquire_at(KEY, 6, secs(19));
    assert_eq!((denied.remaining, denied.retry), (5, Some(11 * SECOND / 10)));
    assert!(!subject.peek_at(KEY, 6, later(secs(20), SECOND / 10 - 1)).allowed);
    assert!(subject.peek_at(KEY, 6, later(secs(20), SECOND / 10)).allowed);
    assert_eq!(subject.acquire_at(KEY, 5, secs(19)).remaining, 0);
    assert_eq!(subject.peek_at(KEY, 0, millis(20_100)).remaining, 1, "spent at second 20");

    for spec in each("10/min") {
        let subject = made(make, &[&spec]);
        subject.acquire_at(KEY, 7, secs(600));
        // In the window before, but counted in this one.
        let early = subject.acquire_at(KEY, 2, secs(595));
        assert_eq!((early.allowed, early.remaining), (true, 1), "{spec}");
        let denied = subject.acquire_at(KEY, 2, secs(595));
        let from_there = subject.peek_at(KEY, 2, secs(600));
        assert_eq!(denied.retry, from_there.retry.map(|wait| wait + 5 * SECOND), "{spec}");
        assert_eq!(denied.reset_after, from_there.reset_after + 5 * SECOND, "{spec}");
    }
}

/// All 10 are spent at second 655. What a denial at second 667 sees come back is not there for a
/// reading of second 656.
pub(super) fn a_denial_moves_no_time(make: Factory<'_>) {
    for spec in each("10/min") {
        let subject = made(make, &[&spec]);
        assert!(subject.acquire_at(KEY, 5, secs(600)).allowed, "{spec}");
        drain(&*subject, secs(655));
        let before = subject.peek_at(KEY, 1, secs(656));
        let denied = subject.acquire_at(KEY, 11, secs(667));
        assert!(denied.never && denied.remaining > 0, "{spec}");
        assert_eq!(subject.peek_at(KEY, 1, secs(656)), before, "{spec}");
        assert!(!subject.acquire_at(KEY, 1, secs(656)).allowed, "{spec}");
    }
}

/// Two sources of time, some seconds apart, that take turns.
pub(super) fn alternating_readings_mint_nothing(make: Factory<'_>) {
    for spec in each("10/min") {
        let subject = made(make, &[&spec]);
        let mut admitted = 0;
        for _ in 0..100 {
            for now in [secs(600), secs(591), secs(600), secs(545)] {
                admitted += u64::from(subject.acquire_at(KEY, 1, now).allowed);
            }
        }
        assert_eq!(admitted, 10, "{spec}");
    }
}

/// At most the tolerance, and the time to fill.
pub(super) fn a_lock_out_is_bounded(make: Factory<'_>) {
    // 10/s fills in one second; the tolerance is never less than ten.
    let subject = made(make, &["10/s"]);
    assert_eq!(drain(&*subject, secs(1_000)), 10);
    assert_eq!(subject.acquire_at(KEY, 1, secs(990)).retry, Some(101 * SECOND / 10));
    assert_eq!(subject.acquire_at(KEY, 10, secs(990)).retry, Some(11 * SECOND));
    let stepped = one_earlier(secs(990));
    assert_eq!(subject.acquire_at(KEY, 1, stepped).retry, Some(SECOND / 10));
    assert!(subject.acquire_at(KEY, 1, later(stepped, SECOND / 10)).allowed);

    // The longest of the limits, for all of them: the bucket of the hour fills in an hour.
    let subject = made(make, &["10/s", "100/h"]);
    subject.acquire_at(KEY, 10, secs(10_000));
    let behind = 3_600 * SECOND;
    assert_eq!(subject.acquire_at(KEY, 1, secs(6_400)).retry, Some(behind + SECOND / 10));
    assert_eq!(subject.acquire_at(KEY, 1, secs(6_399)).retry, Some(SECOND / 10));
}

/// A clock that is set back by hours: what is owed is owed, from the new time on, and no longer
/// than it would have been.
pub(super) fn a_stepped_clock_keeps_debts(make: Factory<'_>) {
    for spec in each("10/min") {
        let subject = made(make, &[&spec]);
        let now = secs(1_000_020);
        subject.acquire_at(KEY, 4, now);
        subject.acquire_at(KEY, 6, later(now, SECOND));
        for earlier in [900_021, 500_030, 60_035, 0] {
            let answer = subject.acquire_at(KEY, 4, secs(earlier));
            assert!(!answer.allowed && answer.remaining == 0, "{spec} at {earlier}");
            let longest = if spec.ends_with("sliding-window") { 120 } else { 60 };
            let wait = answer.retry.expect("the debt passes");
            assert!(wait <= longest * SECOND, "{spec} at {earlier}: {wait}");
        }
        // The last denial moved the key's time along to the epoch, and what was spent to before it.
        let wait = subject.peek_at(KEY, 4, secs(0)).retry.expect("denied");
        check_wait(&*subject, &spec, secs(0), wait);
        let ages = match &*spec {
            // A sixth of a token was back when the other 6 were spent.
            "10/min token-bucket" => 23 * SECOND,
            "10/min fixed-window" => 60 * SECOND,
            // The 4 were one second old.
            "10/min sliding-log" => 59 * SECOND,
            // At the next window's 24th second 10 weigh 6.
            _ => (60 + 24) * SECOND,
        };
        assert_eq!(wait, ages, "{spec}");
    }
}

fn check_wait(subject: &dyn Subject, spec: &str, now: Nanos, wait: u128) {
    let then = later(now, wait);
    assert!(!subject.acquire_at(KEY, 4, one_earlier(then)).allowed, "{spec}");
    assert!(subject.peek_at(KEY, 4, then).allowed, "{spec}");
}

pub(super) fn a_stepped_look_writes_nothing(make: Factory<'_>) {
    for spec in each("10/min") {
        let subject = made(make, &[&spec]);
        subject.acquire_at(KEY, 10, secs(10_000));
        let before = subject.peek_at(KEY, 1, secs(10_001));
        for cost in [0, 1, 10, 11] {
            let look = subject.peek_at(KEY, cost, secs(100));
            assert_eq!(look.remaining, 0, "{spec}");
            subject.acquire_at(KEY, 0, secs(100));
        }
        assert_eq!(subject.refund_at(KEY, 0, secs(100)), 0, "{spec}");
        assert_eq!(subject.peek_at(KEY, 1, secs(10_001)), before, "{spec}");
    }
}

/// 1 a year and 10^9 a second, at the epoch and a hundred years on.
pub(super) fn a_century_of_uptime(make: Factory<'_>) {
    let year = 365 * 86_400;
    for start in [0, 50 * year, 100 * year] {
        let subject = made(make, &["1/year"]);
        let now = secs(start);
        assert!(subject.acquire_at(KEY, 1, now).allowed);
        let wait = subject.acquire_at(KEY, 1, now).retry;
        assert_eq!(wait, Some(u128::from(year) * SECOND));
        assert!(!subject.acquire_at(KEY, 1, one_earlier(secs(start + year))).allowed);
        assert!(subject.acquire_at(KEY, 1, secs(start + year)).allowed);

        let subject = made(make, &["1000000000/s burst 1"]);
        assert!(subject.acquire_at(KEY, 1, now).allowed);
        assert_eq!(subject.acquire_at(KEY, 1, now).retry, Some(1));
        assert!(subject.acquire_at(KEY, 1, later(now, 1)).allowed);
    }
    // Full again only after 10^11 days: more nanoseconds than 64 bits hold.
    let subject = made(make, &["1/day burst 100000000000"]);
    let answer = subject.acquire_at(KEY, 100_000_000_000, secs(1));
    assert!(answer.allowed);
    let day = 86_400 * SECOND;
    assert_eq!(answer.reset_after, 100_000_000_000 * day);
    assert_eq!(subject.acquire_at(KEY, 50_000_000_000, secs(1)).retry, Some(50_000_000_000 * day));
}

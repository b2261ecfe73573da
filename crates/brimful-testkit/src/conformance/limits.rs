//! One key, one limit.

use super::{
    Factory, KEY, Subject, check_next, drain, each, later, made, millis, one_earlier, secs,
};
use crate::Outcome;
use brimful::Nanos;

const SECOND: u128 = 1_000_000_000;

/// Capacity 100 at 10/s: of 36 left, 89 are there 5.3 seconds later.
pub(super) fn the_sentence_of_the_design(make: Factory<'_>) {
    let subject = made(make, &["10/s burst 100"]);
    let spent = subject.acquire_at(KEY, 64, secs(1_000));
    assert!(spent.allowed);
    assert_eq!(spent.remaining, 36);
    assert_eq!(spent.reset_after, 64 * SECOND / 10);
    let look = subject.peek_at(KEY, 0, millis(1_005_300));
    assert!(look.allowed);
    assert_eq!(look.remaining, 89);
    assert_eq!(look.reset_after, 11 * SECOND / 10);
    assert!(subject.acquire_at(KEY, 89, millis(1_005_300)).allowed);
    assert_eq!(subject.acquire_at(KEY, 1, millis(1_005_300)).retry, Some(SECOND / 10));
}

/// Of 10 tokens 8 are used: 5 are refused however often, and the last 2 are still there.
pub(super) fn a_denial_charges_nothing(make: Factory<'_>) {
    for spec in each("10/min") {
        let (subject, now) = (made(make, &[&spec]), secs(6_000));
        assert_eq!(subject.acquire_at(KEY, 8, now).remaining, 2, "{spec}");
        let first = subject.acquire_at(KEY, 5, now);
        assert!(!first.allowed, "{spec}");
        assert_eq!(first.remaining, 2, "{spec}");
        assert_eq!(subject.acquire_at(KEY, 5, now), first, "{spec}");
        assert_eq!(subject.acquire_at(KEY, 1, now).remaining, 1, "{spec}");
        assert_eq!(subject.acquire_at(KEY, 1, now).remaining, 0, "{spec}");
        assert!(!subject.acquire_at(KEY, 1, now).allowed, "{spec}");
    }
}

/// Cost 0 is admitted even when nothing is left, and changes nothing.
pub(super) fn cost_0_looks(make: Factory<'_>) {
    for spec in each("3/min") {
        let (subject, now) = (made(make, &[&spec]), secs(6_000));
        let fresh = subject.acquire_at(KEY, 0, now);
        assert_eq!(fresh, Outcome { remaining: 3, limit: Some(0), ..Outcome::UNLIMITED }, "{spec}");
        assert_eq!(subject.acquire_at(KEY, 3, now).remaining, 0, "{spec}");
        for _ in 0..3 {
            let look = subject.acquire_at(KEY, 0, now);
            assert!(look.allowed && look.remaining == 0 && look.retry.is_none(), "{spec}");
            assert!(look.reset_after > 0, "{spec}");
        }
    }
}

pub(super) fn above_the_capacity_is_never(make: Factory<'_>) {
    for spec in each("3/min") {
        let (subject, now) = (made(make, &[&spec]), secs(6_000));
        for cost in [4, 5, u64::MAX] {
            let answer = subject.acquire_at(KEY, cost, now);
            assert!(answer.never && !answer.allowed && answer.retry.is_none(), "{spec}: {cost}");
            assert_eq!(answer.remaining, 3, "{spec}: {cost}");
        }
        assert!(subject.acquire_at(KEY, 3, now).allowed, "{spec}");
        assert!(subject.acquire_at(KEY, 4, now).never, "{spec}: also when nothing is left");
    }
}

/// Admitted at `now + retry`, refused one nanosecond before, for every cost and algorithm, with
/// what was spent scattered over a few windows.
pub(super) fn hints_are_tight(make: Factory<'_>) {
    // Sevenths of a second are not whole nanoseconds.
    for spec in each("10 per 7s").chain(["3 per 7s burst 10".into(), "7/min burst 10".into()]) {
        let subject = made(make, &[&spec]);
        for (cost, ms) in [(3, 70_000), (2, 71_500), (1, 74_250), (3, 76_999), (2, 77_000)] {
            subject.acquire_at(KEY, cost, millis(ms));
        }
        let mut now = millis(77_001);
        let mut denials = 0;
        for cost in (1..=10).cycle().take(30) {
            let answer = subject.acquire_at(KEY, cost, now);
            let Some(wait) = answer.retry else {
                assert!(answer.allowed, "{spec}: {cost}");
                continue;
            };
            denials += 1;
            assert!(wait > 0, "{spec}: a denial never says 0");
            let then = later(now, wait);
            assert!(!subject.peek_at(KEY, cost, one_earlier(then)).allowed, "{spec}: {cost}");
            assert!(!subject.acquire_at(KEY, cost, one_earlier(then)).allowed, "{spec}: {cost}");
            assert!(subject.peek_at(KEY, cost, then).allowed, "{spec}: {cost}");
            assert!(subject.acquire_at(KEY, cost, then).allowed, "{spec}: {cost}");
            now = then;
        }
        assert!(denials >= 10, "{spec}: only {denials} denials");
    }
}

/// After charges, on denials and to looks, from the first token spent until nothing is owed any more.
pub(super) fn the_next_token_is_told(make: Factory<'_>) {
    // Sevenths of a second are not whole nanoseconds.
    for spec in each("10 per 7s").chain(["3 per 7s burst 10".into(), "7/min burst 10".into()]) {
        let subject = made(make, &[&spec]);
        assert_eq!(subject.peek_at(KEY, 0, millis(69_999)).next_after, 0, "{spec}: it is full");
        for (cost, ms) in
            [(3, 70_000), (2, 71_500), (7, 71_501), (1, 74_250), (11, 75_000), (3, 76_999)]
        {
            let answer = subject.acquire_at(KEY, cost, millis(ms));
            check_next(&*subject, &answer, millis(ms));
            if answer.allowed {
                // By a reading before this change it is as much longer as that is back.
                let early = subject.peek_at(KEY, 0, millis(ms - 1_000));
                assert_eq!(early.remaining, answer.remaining, "{spec}");
                assert_eq!(early.next_after, answer.next_after + SECOND, "{spec}");
                check_next(&*subject, &early, millis(ms - 1_000));
            }
        }
        let (mut now, mut looks) = (millis(76_999), 0);
        loop {
            let look = subject.peek_at(KEY, 0, now);
            check_next(&*subject, &look, now);
            if look.next_after == 0 {
                assert_eq!((look.remaining, look.reset_after), (10, 0), "{spec}");
                break;
            }
            assert!(look.next_after <= look.reset_after, "{spec}");
            // The wait for as much as is left, and one more, is the same.
            let denied = subject.acquire_at(KEY, look.remaining + 1, now);
            assert_eq!(denied.retry, Some(look.next_after), "{spec}");
            assert_eq!(denied.next_after, look.next_after, "{spec}");
            looks += 1;
            now = later(now, look.next_after);
        }
        let steps = if spec.ends_with("fixed-window") { 1 } else { 3 };
        assert!(looks >= steps, "{spec}: only {looks} steps");
    }
}

/// However often a limiter is asked in between, tokens come at the same time.
pub(super) fn polling_earns_and_loses_nothing(make: Factory<'_>) {
    for spec in ["7 per 30s", "1 per 3s burst 5", "1000 per 7s burst 3"] {
        let (idle, polled) = (made(make, &[spec]), made(make, &[spec]));
        for subject in [&idle, &polled] {
            drain(&**subject, secs(50));
        }
        let mut now = secs(50);
        for _ in 0..20 {
            let Some(wait) = idle.acquire_at(KEY, 1, now).retry else { panic!("{spec}: drained") };
            let then = later(now, wait);
            for part in 0..50 {
                let between = later(now, wait * part / 50);
                assert!(!polled.acquire_at(KEY, 1, between).allowed, "{spec}");
                polled.peek_at(KEY, 1, between);
                polled.acquire_at(KEY, 2, between);
            }
            assert_eq!(polled.acquire_at(KEY, 1, then), idle.acquire_at(KEY, 1, then), "{spec}");
            now = then;
        }
    }
    // 4 tokens to start with and 10 each second, taken at every millisecond: no more, no fewer.
    let subject = made(make, &["10/s burst 4"]);
    let admitted: u64 = (0..=10_000).map(|ms| drain(&*subject, millis(1_000_000 + ms))).sum();
    assert_eq!(admitted, 4 + 100);
}

/// The worst bursts that the documentation states, by the callers who get them.
pub(super) fn the_honest_table(make: Factory<'_>) {
    let total = |spec: &str, times: &[Nanos]| -> u64 {
        let subject = made(make, &[spec]);
        times.iter().map(|now| drain(&*subject, *now)).sum()
    };
    let boundary = secs(600);
    // Twice the limit within a nanosecond, across a boundary.
    let across = [one_earlier(boundary), boundary];
    assert_eq!(total("10/min fixed-window", &across), 20);
    assert_eq!(total("10/min sliding-log", &across), 10);
    assert_eq!(total("10/min sliding-window", &across), 10);
    // The log: no more in any window, and all of it again as soon as that has passed.
    assert_eq!(total("10/min sliding-log", &[secs(590), later(secs(590), 60 * SECOND - 1)]), 10);
    assert_eq!(total("10/min sliding-log", &[secs(590), secs(650)]), 20);
    // The counter: 2N - 1 within a minute, for who spends all just before a boundary, and then
    // asks for one at every half second.
    let halves = (0..118).map(|half| millis(660_000 + 500 * half));
    let minute: Vec<Nanos> = [secs(659)].into_iter().chain(halves).collect();
    assert_eq!(total("10/min sliding-window", &minute), 19);
    // The bucket: its capacity at once, and what is refilled.
    assert_eq!(total("10/min burst 25", &across), 25);
    let minute: Vec<Nanos> = (0..=60).map(|s| secs(600 + s)).collect();
    assert_eq!(total("10/min burst 25", &minute), 35);
}

pub(super) fn a_refund_is_at_most_what_is_owed(make: Factory<'_>) {
    for spec in each("10/min") {
        let (subject, now) = (made(make, &[&spec]), secs(6_000));
        assert_eq!(subject.refund_at(KEY, 5, now), 0, "{spec}: a key never seen");
        subject.acquire_at(KEY, 4, now);
        assert_eq!(subject.refund_at(KEY, 0, now), 0, "{spec}");
        assert_eq!(subject.refund_at(KEY, 1, now), 1, "{spec}");
        assert_eq!(subject.peek_at(KEY, 0, now).remaining, 7, "{spec}");
        assert_eq!(subject.refund_at(KEY, u64::MAX, now), 3, "{spec}");
        assert_eq!(subject.refund_at(KEY, 1, now), 0, "{spec}: nothing is owed any more");
        assert_eq!(drain(&*subject, now), 10, "{spec}: never more than the capacity");
    }
}

/// A bucket that has refilled half a token owes the other half; windows give back what they count.
pub(super) fn a_refund_reaches_what_counts_now(make: Factory<'_>) {
    let subject = made(make, &["10/s"]);
    subject.acquire_at(KEY, 2, secs(100));
    assert_eq!(subject.refund_at(KEY, 5, millis(100_050)), 2);
    assert_eq!(subject.peek_at(KEY, 0, millis(100_050)).reset_after, 0);

    let subject = made(make, &["10/min sliding-log"]);
    subject.acquire_at(KEY, 2, secs(600));
    subject.acquire_at(KEY, 3, secs(610));
    // The newest first: what is left expires with the oldest.
    assert_eq!(subject.refund_at(KEY, 4, secs(620)), 4);
    assert_eq!(subject.peek_at(KEY, 0, secs(620)).reset_after, 40 * SECOND);

    let subject = made(make, &["10/min fixed-window"]);
    subject.acquire_at(KEY, 5, secs(659));
    assert_eq!(subject.refund_at(KEY, 5, secs(660)), 0, "that window is over");

    let subject = made(make, &["10/min sliding-window"]);
    subject.acquire_at(KEY, 5, secs(659));
    subject.acquire_at(KEY, 2, secs(661));
    assert_eq!(subject.refund_at(KEY, 5, secs(661)), 2, "the window before gives nothing back");
}

pub(super) fn reset_forgets(make: Factory<'_>) {
    for spec in each("10/min") {
        let (subject, now): (Box<dyn Subject>, _) = (made(make, &[&spec]), secs(6_000));
        subject.reset(KEY);
        assert_eq!(drain(&*subject, now), 10, "{spec}");
        subject.acquire_at("other", 10, now);
        subject.reset(KEY);
        assert_eq!(subject.refund_at(KEY, 1, now), 0, "{spec}");
        assert_eq!(drain(&*subject, now), 10, "{spec}");
        assert!(!subject.acquire_at("other", 1, now).allowed, "{spec}");
    }
}

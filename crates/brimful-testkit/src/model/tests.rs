//! The model's answers on examples worked out by hand.

mod change;

use std::time::Duration;

use super::{KeyedModel, Model};
use crate::Outcome;
use brimful::{Nanos, Policy};

const SECOND: u128 = 1_000_000_000;

fn model(specs: &[&str]) -> Model {
    Model::new(&Policy::parse(specs.iter().copied()).unwrap())
}

fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

fn allowed(remaining: u64, next_after: u128, reset_after: u128) -> Outcome {
    Outcome { remaining, next_after, reset_after, limit: Some(0), ..Outcome::UNLIMITED }
}

fn denied(remaining: u64, retry: u128, next_after: u128, reset_after: u128) -> Outcome {
    let retry = Some(retry);
    Outcome { allowed: false, retry, refused_by: 1, ..allowed(remaining, next_after, reset_after) }
}

#[test]
fn a_bucket_drips() {
    let mut model = model(&["10/s burst 100"]);
    assert_eq!(model.acquire(64, secs(1)), allowed(36, SECOND / 10, 64 * SECOND / 10));
    assert_eq!(
        model.peek(0, Nanos::from_millis(6_300)),
        allowed(89, SECOND / 10, 11 * SECOND / 10)
    );
    assert_eq!(
        model.acquire(90, Nanos::from_millis(6_300)),
        denied(89, SECOND / 10, SECOND / 10, 11 * SECOND / 10)
    );
    assert!(model.acquire(101, secs(7)).never);
    // One third of a token a second: 1 is back after 3 s, 2 after 6 s.
    let mut thirds = Model::new(&Policy::parse(["1 per 3s burst 2"]).unwrap());
    assert_eq!(thirds.acquire(2, secs(0)), allowed(0, 3 * SECOND, 6 * SECOND));
    assert_eq!(thirds.acquire(2, secs(1)), denied(0, 5 * SECOND, 2 * SECOND, 5 * SECOND));
    assert_eq!(thirds.acquire(1, secs(3)), allowed(0, 3 * SECOND, 6 * SECOND));
}

#[test]
fn a_hint_is_rounded_up_to_the_nanosecond() {
    // A token takes 10/3 ns: not there after 3 ns, there after 4.
    let mut model = model(&["3 per 10ns burst 1"]);
    assert_eq!(model.acquire(1, Nanos::ZERO), allowed(0, 4, 4));
    assert_eq!(model.acquire(1, Nanos::from_nanos(3)), denied(0, 1, 1, 1));
    assert!(model.acquire(1, Nanos::from_nanos(4)).allowed);
}

#[test]
fn a_window_starts_again_at_the_minute() {
    let mut model = model(&["5/min fixed-window"]);
    assert_eq!(model.acquire(3, secs(50)), allowed(2, 10 * SECOND, 10 * SECOND));
    assert_eq!(model.acquire(3, secs(55)), denied(2, 5 * SECOND, 5 * SECOND, 5 * SECOND));
    assert_eq!(model.acquire(3, secs(60)), allowed(2, 60 * SECOND, 60 * SECOND));
}

#[test]
fn a_log_forgets_one_by_one() {
    let mut model = model(&["5/min sliding-log"]);
    assert_eq!(model.acquire(2, secs(10)), allowed(3, 60 * SECOND, 60 * SECOND));
    assert_eq!(model.acquire(2, secs(30)), allowed(1, 40 * SECOND, 60 * SECOND));
    // 3 fit once the 2 of second 10 are gone, 4 only once those of second 30 are.
    assert_eq!(model.acquire(3, secs(40)), denied(1, 30 * SECOND, 30 * SECOND, 50 * SECOND));
    assert_eq!(model.acquire(4, secs(40)), denied(1, 50 * SECOND, 30 * SECOND, 50 * SECOND));
    assert_eq!(model.refund(3, secs(40)), 3);
    assert_eq!(model.peek(0, secs(40)), allowed(4, 30 * SECOND, 30 * SECOND));
}

#[test]
fn a_counter_weighs_the_window_before() {
    let mut model = model(&["10/min sliding-window"]);
    assert_eq!(model.acquire(10, secs(30)), allowed(0, 36 * SECOND, 90 * SECOND));
    // A quarter into the next window the 10 weigh 7.5.
    assert_eq!(model.peek(0, secs(75)), allowed(2, 3 * SECOND, 45 * SECOND));
    // 4 fit when they weigh 6: 24 s into the window.
    assert_eq!(model.acquire(4, secs(75)), denied(2, 9 * SECOND, 3 * SECOND, 45 * SECOND));
    assert!(model.acquire(4, secs(84)).allowed);
    // At this window's own count of 4, 8 more must wait for the next, until 4 weigh 2.
    assert_eq!(model.peek(8, secs(110)).retry, Some(40 * SECOND));
}

#[test]
fn time_that_goes_back_is_no_time_until_it_is_a_step() {
    let mut model = model(&["10/s"]);
    assert_eq!(model.acquire(5, secs(100)), allowed(5, SECOND / 10, SECOND / 2));
    assert_eq!(model.peek(0, secs(99)), allowed(5, 11 * SECOND / 10, 3 * SECOND / 2));
    assert_eq!(
        model.peek(6, secs(90)),
        denied(5, 10 * SECOND + SECOND / 10, 10 * SECOND + SECOND / 10, 21 * SECOND / 2)
    );
    // 10 s is the tolerance. One nanosecond beyond it the debt stands at the new reading.
    let stepped = Nanos::from_nanos(90_000_000_000 - 1);
    assert_eq!(model.peek(6, stepped), denied(5, SECOND / 10, SECOND / 10, SECOND / 2));
    assert_eq!(model.last(), Some(secs(100)));
    assert!(!model.acquire(6, stepped).allowed);
    assert_eq!(model.last(), Some(stepped));
    assert!(model.acquire(6, stepped + Duration::from_millis(100)).allowed);
}

#[test]
fn all_limits_or_none() {
    let mut model = model(&["10/s", "3/min fixed-window"]);
    let two = Outcome { limit: Some(1), ..allowed(0, 60 * SECOND, 60 * SECOND) };
    assert_eq!(model.acquire(3, secs(60)), two);
    let refused = Outcome {
        limit: Some(1),
        refused_by: 2,
        ..denied(0, 60 * SECOND, 60 * SECOND, 60 * SECOND)
    };
    assert_eq!(
        model.acquire(8, secs(60)),
        Outcome { retry: None, never: true, refused_by: 3, ..refused }
    );
    assert_eq!(model.acquire(1, secs(60)), refused);
    assert_eq!(model.acquire(3, secs(120)), two);
}

#[test]
fn words_and_keys() {
    let blocked = Policy::blocked();
    let mut keys = KeyedModel::new(&Policy::parse(["2/s"]).unwrap())
        .with("bad", &blocked)
        .with("good", &Policy::unlimited());
    assert_eq!(keys.acquire("bad", 0, secs(1)), Outcome::BLOCKED);
    assert_eq!(keys.acquire("good", u64::MAX, secs(1)), Outcome::UNLIMITED);
    assert_eq!(keys.acquire("a", 2, secs(1)).remaining, 0);
    assert_eq!(keys.peek("b", 2, secs(1)).remaining, 0);
    assert_eq!(keys.peek("b", 0, secs(1)).remaining, 2);
    assert_eq!(keys.refund("b", 1, secs(1)), 0);
    assert_eq!(keys.refund("a", 9, secs(1)), 2);
    keys.reset("a");
    assert_eq!(keys.peek("a", 0, secs(1)).remaining, 2);
}

//! What a key keeps, on examples worked out by hand.

use super::{SECOND, allowed, denied, model, secs};
use crate::{KeyedModel, Model, Outcome};
use brimful::{Nanos, Policy};

const MINUTE: u128 = 60 * SECOND;

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

/// What a key that spent `spent` at second 60 of one policy has left of another at second `at`.
fn left(old: &[&str], spent: u64, new: &[&str], at: u64) -> u64 {
    let mut model = model(old);
    assert!(model.acquire(spent, secs(60)).allowed);
    model.acquire_by(&policy(new), 0, secs(at)).remaining
}

#[test]
fn a_bucket_keeps_its_fraction_by_name_or_period() {
    assert_eq!(left(&["10/min"], 5, &["100/min"], 60), 50);
    // Half a token is refilled first: 4.5 of 10 is 45 of 100.
    assert_eq!(left(&["10/min"], 5, &["100/min"], 63), 55);
    assert_eq!(left(&["a: 10/min"], 5, &["a: 8/h"], 60), 4);
    assert_eq!(left(&["100/min"], 100, &["1/min"], 60), 0);
    // A third of 10: 3 + 1/3 are missing, which is a whole number of ticks of 1/6,000,000,000.
    assert_eq!(left(&["3/min"], 1, &["10/min"], 60), 6);
}

#[test]
fn a_fraction_is_rounded_up_to_a_tick() {
    // 1 of 3 is missing. A token per 7 ns is 7 ticks, two are 14: 14/3 is 5 ticks, 5 ns.
    let mut thirds = model(&["a: 3 per 10ns"]);
    assert!(thirds.acquire(1, Nanos::from_nanos(50)).allowed);
    let sevenths = policy(&["a: 1 per 7ns burst 2"]);
    let now = Nanos::from_nanos(50);
    assert_eq!(thirds.acquire_by(&sevenths, 0, now), allowed(1, 5, 5));
    assert_eq!(thirds.acquire_by(&sevenths, 2, now), denied(1, 5, 5, 5));
    assert!(thirds.acquire(2, Nanos::from_nanos(55)).allowed);
}

#[test]
fn a_bucket_keeps_its_fraction_by_order_too() {
    assert_eq!(left(&["10/min"], 5, &["100/s"], 60), 50);
    assert_eq!(left(&["10/min"], 5, &["100/s"], 63), 55);
    assert_eq!(left(&["100/min"], 50, &["10/s"], 60), 5);
    // 1 of 3 per 10 ns, less 2 ns of 3/10: 2/15 of it are missing, and 7 ticks are a token: 1 tick.
    let mut model = model(&["3 per 10ns"]);
    assert!(model.acquire(1, Nanos::from_nanos(50)).allowed);
    let now = Nanos::from_nanos(52);
    assert_eq!(model.acquire_by(&policy(&["1 per 7ns"]), 0, now), allowed(0, 1, 1));
}

#[test]
fn windows_keep_their_counts() {
    let [fixed, log, counter] = ["fixed-window", "sliding-log", "sliding-window"]
        .map(|algorithm| move |limit: &str| format!("{limit} {algorithm}"));
    for algorithm in [&fixed as &dyn Fn(&str) -> String, &log, &counter] {
        let mut model = Model::new(&policy(&[&algorithm("10/min")]));
        assert!(model.acquire(7, secs(60)).allowed);
        assert_eq!(model.acquire_by(&policy(&[&algorithm("100/min")]), 1, secs(60)).remaining, 92);
        // Above the lower limit, and not forgotten on the way through it.
        assert!(!model.acquire_by(&policy(&[&algorithm("2/min")]), 1, secs(60)).allowed);
        assert_eq!(model.acquire_by(&policy(&[&algorithm("10/min")]), 0, secs(60)).remaining, 2);
    }
    // A fixed window of another width: the count is in the window that contains the time.
    assert_eq!(left(&["a: 10/min fixed-window"], 4, &["a: 10/s fixed-window"], 119), 6);
    assert_eq!(left(&["a: 10/min fixed-window"], 4, &["a: 10/s fixed-window"], 120), 10);
    // Entries of another width are as new, as long as they count.
    assert_eq!(left(&["a: 10/min sliding-log"], 4, &["a: 10 per 30s sliding-log"], 89), 6);
    assert_eq!(left(&["a: 10/min sliding-log"], 4, &["a: 10 per 30s sliding-log"], 90), 6);
    assert_eq!(left(&["a: 10/min sliding-log"], 4, &["a: 10/h sliding-log"], 119), 6);
    assert_eq!(left(&["a: 10/min sliding-log"], 4, &["a: 10/h sliding-log"], 120), 10);
    // A counter of another width: 4 weigh 3.8 after 3 s of the next minute, so 4.
    assert_eq!(left(&["a: 10/min sliding-window"], 4, &["a: 10/h sliding-window"], 123), 6);
}

#[test]
fn other_algorithms_keep_the_fraction() {
    for new in ["10/min", "10/min fixed-window", "10/min sliding-log", "10/min sliding-window"] {
        for old in ["20/min", "20/min fixed-window", "20/min sliding-log", "20/min sliding-window"]
        {
            let same = old.split(' ').nth(1) == new.split(' ').nth(1);
            if !same {
                assert_eq!(left(&[old], 6, &[new], 60), 7, "{old} to {new}");
                assert_eq!(left(&[old], 16, &[new], 60), 2, "{old} to {new}");
                assert_eq!(left(&[old], 20, &[new], 60), 0, "{old} to {new}");
            }
        }
    }
    // 5.67 of 20 are 2.83 of 10: 3. And 4 of 20 are 2.
    assert_eq!(left(&["20/min"], 6, &["10/min fixed-window"], 61), 7);
    assert_eq!(left(&["20/min"], 6, &["10/min fixed-window"], 66), 8);
    // They are spent at the time of the change.
    let mut model = model(&["20/min fixed-window"]);
    assert!(model.acquire(6, secs(60)).allowed);
    let log = policy(&["10/min sliding-log"]);
    assert_eq!(model.acquire_by(&log, 8, secs(90)), denied(7, MINUTE, MINUTE, MINUTE));
}

#[test]
fn limits_go_on_by_name_then_period_then_from_the_longest() {
    let old = &["a: 10/s", "b: 10/min", "c: 10/h"];
    let mut model = model(old);
    assert!(model.acquire(8, secs(60)).allowed);
    // Two seconds on: nothing of "a", 8 - 1/3 of "b", 8 - 1/180 of "c".
    let at = secs(62);
    let mut left = |new: &[&str]| model.acquire_by(&policy(new), 0, at).remaining;
    assert_eq!(left(&["a: 10/h"]), 10);
    assert_eq!(left(&["x: 100/min"]), 23);
    assert_eq!(left(&["x: 100/min", "b: 1000/day"]), 20, "from c, the name being taken");
    assert_eq!(left(&["x: 5/day"]), 1, "from c");
    assert_eq!(left(&["x: 12/day", "y: 12/day"]), 2, "from c: 9.59 of 12");
    assert_eq!(left(&["x: 20/day", "b: 9/day", "y: 20/day"]), 2, "b by name");
    // The longer one goes on from the longer one, wherever they stand.
    assert_eq!(left(&["x: 100/week", "y: 1000 per 2day"]), 20, "x from c");
    assert_eq!(left(&["y: 1000 per 2day", "x: 100/week"]), 20, "x from c");
    // Three old ones are left for four new ones.
    assert_eq!(left(&["w: 90/day", "x: 90/day", "y: 90/day", "z: 3/day"]), 3);
}

#[test]
fn looks_and_words_change_nothing_and_denials_do() {
    let (ten, hundred) = (policy(&["10/min"]), policy(&["100/min"]));
    let mut keys = KeyedModel::new(&ten)
        .with("own", &policy(&["7/min"]))
        .with_tier("gold", &hundred)
        .with_tier("free", &Policy::unlimited());
    let gold = Some("gold");
    assert!(keys.acquire("k", 5, secs(60)).allowed);
    assert_eq!(keys.peek_as(gold, "k", 0, secs(60)).remaining, 50);
    assert_eq!(keys.acquire_as(gold, "k", 0, secs(60)).remaining, 50);
    assert_eq!(keys.acquire_as(Some("free"), "k", 9, secs(60)), Outcome::UNLIMITED);
    assert_eq!(keys.acquire_with(&Policy::blocked(), "k", 9, secs(60)), Outcome::BLOCKED);
    assert_eq!(keys.state("k").unwrap().policy(), &ten);
    assert!(!keys.acquire_as(gold, "k", 56, secs(63)).allowed);
    let state = keys.state("k").unwrap();
    assert_eq!((state.policy(), state.last()), (&hundred, Some(secs(63))));
    assert_eq!(keys.refund("k", 45, secs(63)), 45);
    assert_eq!(keys.peek("k", 0, secs(63)).remaining, 10);
    assert_eq!(keys.acquire_as(Some("nobody's"), "k", 1, secs(63)).remaining, 9);
    assert_eq!(keys.acquire_as(gold, "own", 1, secs(63)).remaining, 6);
    keys.reset("k");
    assert!(keys.state("k").is_none());
    assert_eq!(keys.peek_as(gold, "k", 0, secs(63)).remaining, 100);
}

#[test]
fn the_old_tolerance_settles_and_the_new_one_decides() {
    // 20 s back: ordinary for the old limits, a step for the new ones.
    let (old, new) = (policy(&["60/min"]), policy(&["10/s"]));
    let mut model = Model::new(&old);
    assert!(model.acquire(5, secs(100)).allowed);
    let changed = model.changed(&new, secs(80));
    assert_eq!(changed.last(), Some(secs(100)));
    // A twelfth of 10 tokens.
    let owed = SECOND.div_ceil(12);
    assert_eq!(model.acquire_by(&new, 10, secs(80)), denied(9, owed, owed, owed));
    assert_eq!(model.last(), Some(secs(80)));
    // And the other way about the old limits see a step.
    assert_eq!(model.changed(&old, secs(60)).last(), Some(secs(60)));
}

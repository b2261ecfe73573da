//! Three threads, and four, and one limiter. These take minutes: `scripts/models`.

mod harness;

use brimful::LimiterBuilder;
use harness::Op::{Acquire, All, Peek, Refund, Reset};
use harness::{Race, keys, three_sets};

/// With three threads, more would take hours; of calls that lock two sets, or the same one again and
/// again, one has to do.
const PREEMPTIONS: usize = 2;
const FEW: usize = 1;

fn wide(builder: LimiterBuilder) -> LimiterBuilder {
    builder.max_limits(2)
}

fn hot() -> Race {
    let acquire = || [Acquire("a", 1, 0)];
    Race::new(&["3/day"])
        .before(acquire())
        .thread(acquire())
        .thread([Acquire("a", 2, 0)])
        .thread(acquire())
        .after([Peek("a", 1, 0)])
        .preempted(FEW)
}

#[test]
fn one_hot_key() {
    hot().must_be_linear();
    hot().built(wide).must_be_linear();
}

fn new() -> Race {
    Race::new(&["2/day"])
        .thread([Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Reset("a"), Reset("a")])
        .preempted(FEW)
}

#[test]
fn one_new_key() {
    new().must_be_linear();
    new().built(|builder| builder.max_keys(2)).must_be_linear();
}

fn all_verbs() -> Race {
    Race::new(&["3/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Refund("a", 1, 0)])
        .thread([Reset("a")])
        .thread([Acquire("a", 2, 0)])
        .after([Peek("a", 0, 0), Reset("a"), Reset("a")])
        .preempted(PREEMPTIONS)
}

#[test]
fn acquire_refund_and_reset() {
    all_verbs().must_be_linear();
    all_verbs().built(wide).must_be_linear();
}

/// Each thread wants two of three keys, round about.
#[test]
fn all_or_none_in_a_circle() {
    Race::new(&["2/day"])
        .before(["a", "b", "c"].map(|key| Acquire(key, 1, 0)))
        .thread([All(&[("a", 1), ("b", 1)])])
        .thread([All(&[("b", 1), ("c", 1)])])
        .thread([All(&[("c", 1), ("a", 1)])])
        .after([Peek("a", 0, 0), Peek("b", 0, 0), Peek("c", 0, 0)])
        .preempted(FEW)
        .must_be_linear();
}

/// Newcomers whose sets are the same ones in another order, in a store of three sets.
#[test]
fn pairs_of_sets_in_a_circle() {
    let keys = keys();
    let [a, b, c] = [(0, 1), (1, 2), (2, 0)].map(|sets| keys[&sets][0]);
    Race::new(&["2/day"])
        .built(three_sets)
        .thread([Acquire(a, 1, 0)])
        .thread([Acquire(b, 1, 0)])
        .thread([Acquire(c, 1, 0)])
        .after([Reset(a), Reset(b), Reset(c)])
        .preempted(FEW)
        .must_be_linear();
}

/// Some threads have counters of their own, and the others share one.
#[test]
fn every_decision_is_counted() {
    for limits in [&["unlimited"], &["blocked"]] {
        let race = Race::new(limits).preempted(PREEMPTIONS);
        let race = (0..4).fold(race, |race, _| race.thread([Acquire("a", 1, 0)]));
        race.check(|_, _| {});
    }
}

//! Calls for keys that have room: the answers are those of whole calls in some order.

use super::both_shapes;
use super::harness::Op::{Acquire, All, Peek, Refund, Reset};
use super::harness::{Race, keys, three_sets};

const SECOND: u64 = 1_000_000_000;

both_shapes!(
    acquire_and_acquire,
    Race::new(&["3/day"])
        .before([Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Peek("a", 1, 0)])
);

both_shapes!(
    times_that_cross,
    Race::new(&["2/s"])
        .before([Acquire("a", 2, 0)])
        .thread([Acquire("a", 1, SECOND)])
        .thread([Acquire("a", 1, SECOND / 2), Acquire("a", 1, 0)])
        .after([Peek("a", 1, SECOND)])
);

both_shapes!(
    insert_and_insert,
    Race::new(&["2/day"])
        .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Reset("a"), Reset("a")])
);

both_shapes!(
    refund_and_acquire,
    Race::new(&["3/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Refund("a", 1, 0), Acquire("a", 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Peek("a", 1, 0)])
);

both_shapes!(
    reset_and_acquire,
    Race::new(&["3/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Reset("a")])
        .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
        .after([Peek("a", 1, 0), Reset("a"), Reset("a")])
);

both_shapes!(
    reset_and_reset,
    Race::new(&["3/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Reset("a"), Acquire("a", 1, 0)])
        .thread([Reset("a")])
        .after([Peek("a", 1, 0), Reset("a")])
);

both_shapes!(
    all_and_all,
    Race::new(&["2/day"])
        .before([Acquire("a", 1, 0)])
        .thread([All(&[("a", 1), ("b", 1)])])
        .thread([All(&[("b", 2), ("a", 1)])])
        .after([Peek("a", 0, 0), Peek("b", 0, 0)])
);

both_shapes!(
    all_and_acquire,
    Race::new(&["2/day"])
        .before([Acquire("a", 1, 0), Acquire("b", 1, 0)])
        .thread([All(&[("a", 1), ("b", 1)])])
        .thread([Acquire("b", 1, 0), Peek("a", 1, 0)])
        .after([Peek("a", 0, 0), Peek("b", 0, 0)])
);

/// Two threads that lock the same sets, some for all keys of a call and some for one.
mod locks {
    use super::*;

    #[test]
    fn two_newcomers_from_both_sides() {
        let keys = keys();
        let [one, other] = [(0, 1), (1, 0)].map(|sets| keys[&sets][0]);
        Race::new(&["2/day"])
            .built(|builder| three_sets(builder).max_limits(2))
            .thread([Acquire(one, 1, 0)])
            .thread([Acquire(other, 1, 0)])
            .after([Reset(one), Reset(other)])
            .must_be_linear();
    }

    #[test]
    fn all_and_reset() {
        Race::new(&["3/day"])
            .before([Acquire("a", 1, 0), Acquire("b", 1, 0)])
            .thread([All(&[("a", 1), ("b", 1)])])
            .thread([Reset("b")])
            .after([Peek("a", 0, 0), Peek("b", 0, 0)])
            .must_be_linear();
    }
}

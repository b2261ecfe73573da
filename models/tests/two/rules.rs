//! Rules that are replaced while a key is asked for: each answer is by the old ones or by the new ones, and
//! what was spent goes along. (Keys that are moved meanwhile have too many steps: `stress/replaced.rs` in the
//! library's tests.)

use super::harness::Op::{Acquire, All, Peek, Refund, Rules, RulesForNew};
use super::harness::{Race, debtors, rules};

/// A key that has a slot.
mod replace_and_acquire {
    use super::*;

    fn race() -> Race {
        Race::new(&["4/day"])
            .before([Acquire("a", 2, 0)])
            .thread([Rules(rules("8/day"))])
            .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Acquire("a", 1, 0)])
            .preempted(2)
    }

    #[test]
    fn plain() {
        race().must_be_as_in_turn();
    }

    #[test]
    fn wide() {
        race().built(|builder| builder.max_limits(2)).must_be_as_in_turn();
    }

    /// Once a newcomer was decided by the new rules, all others are.
    #[test]
    fn after_a_newcomer() {
        let race = Race::new(&["4/day"]).before([Acquire("a", 2, 0)]).preempted(2);
        race.thread([Rules(rules("8/day"))])
            .thread([Acquire("b", 1, 0), Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Peek("b", 0, 0)])
            .must_be_as_in_turn();
    }

    #[test]
    fn for_new_keys() {
        let race = Race::new(&["4/day"]).before([Acquire("a", 2, 0)]).preempted(2);
        race.thread([RulesForNew(rules("8/day"))])
            .thread([Acquire("a", 1, 0), Acquire("b", 1, 0)])
            .after([Peek("a", 0, 0), Peek("b", 0, 0)])
            .must_be_as_in_turn();
    }
}

/// A key that gets its slot meanwhile.
mod replace_and_insert {
    use super::*;

    fn race() -> Race {
        Race::new(&["4/day"])
            .thread([Rules(rules("8/day"))])
            .thread([Acquire("a", 2, 0)])
            .after([Peek("a", 0, 0), Acquire("a", 1, 0)])
    }

    #[test]
    fn plain() {
        race().preempted(2).must_be_as_in_turn();
    }

    #[test]
    fn wide() {
        race().preempted(2).built(|builder| builder.max_limits(2)).must_be_as_in_turn();
    }
}

#[test]
fn replace_and_replace() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([Acquire("a", 1, 0), Rules(rules("2/day"))])
        .after([Acquire("a", 0, 0), Peek("a", 0, 0)])
        .preempted(2)
        .must_be_as_in_turn();
}

#[test]
fn replace_and_refund() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([Refund("a", 1, 0)])
        .after([Acquire("a", 1, 0), Peek("a", 0, 0)])
        .preempted(2)
        .must_be_as_in_turn();
}

#[test]
fn replace_and_all() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([All(&[("a", 1), ("b", 1)])])
        .after([Peek("a", 0, 0), Peek("b", 0, 0)])
        .preempted(2)
        .must_be_as_in_turn();
}

/// A slot whose row is replaced is evicted meanwhile.
#[test]
fn replace_and_evict() {
    Race::new(&["4/day"])
        .before([Acquire("a", 1, 0)].into_iter().chain(debtors(7, 3, 0)))
        .thread([Rules(rules("8/day"))])
        .thread([Acquire("b", 1, 0)])
        .after([Peek("b", 0, 0), Peek("f3", 0, 0)])
        .preempted(1)
        .must_be_as_in_turn();
}

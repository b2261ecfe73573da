//! Rules that are replaced while a key is asked for: each answer is by the old ones or by the new ones, and
//! what was spent goes along.

use super::harness::Op::{Acquire, All, Peek, Refund, Rules, RulesForNew};
use super::harness::{Race, debtors, keys, rules, three_sets};

/// A key that has a slot.
mod replace_and_acquire {
    use super::*;

    fn race() -> Race {
        Race::new(&["4/day"])
            .before([Acquire("a", 2, 0)])
            .thread([Rules(rules("8/day"))])
            .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Acquire("a", 1, 0)])
            .preempted(1)
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
        let race = Race::new(&["4/day"]).before([Acquire("a", 2, 0)]).preempted(1);
        race.thread([Rules(rules("8/day"))])
            .thread([Acquire("b", 1, 0), Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Peek("b", 0, 0)])
            .must_be_as_in_turn();
    }

    #[test]
    fn for_new_keys() {
        let race = Race::new(&["4/day"]).before([Acquire("a", 2, 0)]).preempted(1);
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
        race().preempted(1).must_be_as_in_turn();
    }

    #[test]
    fn wide() {
        race().preempted(1).built(|builder| builder.max_limits(2)).must_be_as_in_turn();
    }
}

/// A key that is moved to a set that was gone through already, or to one that was not.
mod replace_and_move {
    use super::*;

    fn race(mover: (usize, usize)) -> Race {
        let mut keys = keys();
        let mut take = |sets, count| keys.get_mut(&sets).unwrap().drain(..count).collect::<Vec<_>>();
        // The newcomer's two sets are full, and only the mover can go to another.
        let (other, third) = mover;
        let full = [(other, (other + 1) % 3), ((other + 1) % 3, other)];
        let full = if full[0].1 == third { [(other, (other + 2) % 3), ((other + 2) % 3, other)] } else { full };
        let (mover, newcomer) = (take(mover, 1)[0], take(full[0], 1)[0]);
        let fill = [take(full[0], 3), take(full[1], 4)].concat();
        Race::new(&["4/day"])
            .before([Acquire(mover, 2, 0)].into_iter().chain(fill.into_iter().map(|key| Acquire(key, 1, 0))))
            .thread([Rules(rules("8/day"))])
            .thread([Acquire(newcomer, 1, 0)])
            .after([Acquire(mover, 1, 0), Peek(newcomer, 0, 0)])
            .built(three_sets)
            .preempted(1)
    }

    #[test]
    fn back() {
        race((2, 0)).must_be_as_in_turn();
    }

    #[test]
    fn forth() {
        race((0, 2)).must_be_as_in_turn();
    }
}

#[test]
fn replace_and_replace() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([Acquire("a", 1, 0), Rules(rules("2/day"))])
        .after([Acquire("a", 0, 0), Peek("a", 0, 0)])
        .preempted(1)
        .must_be_as_in_turn();
}

#[test]
fn replace_and_refund() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([Refund("a", 1, 0)])
        .after([Acquire("a", 1, 0), Peek("a", 0, 0)])
        .preempted(1)
        .must_be_as_in_turn();
}

#[test]
fn replace_and_all() {
    Race::new(&["4/day"])
        .before([Acquire("a", 2, 0)])
        .thread([Rules(rules("8/day"))])
        .thread([All(&[("a", 1), ("b", 1)])])
        .after([Peek("a", 0, 0), Peek("b", 0, 0)])
        .preempted(1)
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

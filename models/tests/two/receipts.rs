//! Reservations that are made and settled while the key is asked for, forgotten, or put under other rules.

use brimful::LimiterBuilder;

use super::as_in_turn;
use super::harness::Op::{
    Acquire, Close, Enqueue, Kept, Peek, Poll, Reserve, Reset, Rules, Settle,
};
use super::harness::{Answer, Race, debtors, keys_of, rules};

as_in_turn!(
    reserve_and_acquire,
    Race::new(&["3/h"])
        .before([Acquire("a", 1, 0)])
        .thread([Reserve(0, "a", 2), Settle(0, 1, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Peek("a", 0, 0), Kept])
        .preempted(2)
);

as_in_turn!(
    cancel_and_acquire,
    Race::new(&["3/h"])
        .before([Reserve(0, "a", 2)])
        .thread([Settle(0, 0, 0)])
        .thread([Acquire("a", 1, 0), Acquire("a", 1, 0)])
        .after([Peek("a", 0, 0), Kept])
        .preempted(2)
);

/// The first two of a key that has no slot.
#[test]
fn reserve_and_reserve() {
    Race::new(&["3/h"])
        .thread([Reserve(0, "a", 2)])
        .thread([Reserve(1, "a", 2)])
        .after([Settle(0, 1, 0), Settle(1, 0, 0), Peek("a", 0, 0), Kept])
        .preempted(2)
        .must_be_as_in_turn();
}

#[test]
fn settle_and_settle() {
    Race::new(&["4/h"])
        .before([Reserve(0, "a", 1), Reserve(1, "a", 2)])
        .thread([Settle(0, 0, 0)])
        .thread([Settle(1, 3, 0)])
        .after([Peek("a", 0, 0), Kept])
        .must_be_as_in_turn();
}

#[test]
fn cancel_and_reset() {
    Race::new(&["3/h"])
        .before([Acquire("a", 1, 0), Reserve(0, "a", 1)])
        .thread([Settle(0, 0, 0), Acquire("a", 1, 0)])
        .thread([Reset("a"), Acquire("a", 2, 0)])
        .after([Peek("a", 0, 0), Kept])
        .preempted(2)
        .must_be_as_in_turn();
}

#[test]
fn cancel_and_replace() {
    Race::new(&["4/h"])
        .before([Acquire("a", 1, 0), Reserve(0, "a", 2)])
        .thread([Settle(0, 0, 0)])
        .thread([Rules(rules("8/h")), Acquire("a", 1, 0)])
        .after([Peek("a", 0, 0), Kept])
        .preempted(1)
        .must_be_as_in_turn();
}

/// A key with a reservation is forgotten for another, which gets its slot.
#[test]
fn commit_and_forced_evict() {
    for actual in [0, 1] {
        Race::new(&["4/h"])
            .before([Reserve(0, "a", 1)].into_iter().chain(debtors(7, 3, 0)))
            .thread([Settle(0, actual, 0)])
            .thread([Acquire("b", 2, 0)])
            .after([Peek("a", 0, 0), Peek("b", 0, 0), Kept])
            .preempted(1)
            .must_be_as_in_turn();
    }
}

/// The last receipt goes just when somebody begins to wait: the slot keeps its mark, and later calls stand
/// back.
#[test]
fn commit_and_enqueue() {
    const HOUR: u64 = 3_600_000_000_000;
    for actual in [1, 2] {
        Race::new(&["1/h"])
            .before([Reserve(0, "a", 1)])
            .thread([Settle(0, actual, 0)])
            .thread([Enqueue(0, "a", 1)])
            .after([Acquire("a", 1, HOUR), Poll(0, HOUR), Kept])
            .preempted(2)
            .must_be_as_in_turn();
    }
}

/// A reservation is given back just when somebody begins to wait, or asks.
mod cancel_for_one_who_waits {
    use super::*;

    #[test]
    fn who_begins() {
        Race::new(&["1/h"])
            .before([Reserve(0, "a", 1)])
            .thread([Settle(0, 0, 0)])
            .thread([Enqueue(0, "a", 1), Poll(0, 0)])
            .after([Poll(0, 0), Peek("a", 0, 0), Kept])
            .preempted(2)
            .must_be_as_in_turn();
    }

    #[test]
    fn who_asks() {
        Race::new(&["1/h"])
            .before([Reserve(0, "a", 1), Enqueue(0, "a", 1)])
            .thread([Settle(0, 0, 0)])
            .thread([Poll(0, 0)])
            .must_be_as_in_turn();
    }

    /// Waiting is over, and what the key has beside its slot with it.
    #[test]
    fn until_the_end() {
        Race::new(&["1/h"])
            .before([Reserve(0, "a", 1), Enqueue(0, "a", 1), Poll(0, 0)])
            .thread([Settle(0, 0, 0)])
            .thread([Close, Acquire("a", 1, 0)])
            .after([Poll(0, 0), Peek("a", 0, 0), Kept])
            .preempted(2)
            .must_be_as_in_turn();
    }
}

/// One place for a reservation, and keys that share no set: who is refused has not kept it from others.
#[test]
fn the_last_place() {
    let five_sets = |builder: LimiterBuilder| builder.max_keys(16).max_reservations(1);
    let keys = keys_of(five_sets);
    let pairs = || keys.keys().flat_map(|one| keys.keys().map(move |other| (*one, *other)));
    let are_apart = |((a, b), (c, d)): &(_, _)| ![c, d].contains(&a) && ![c, d].contains(&b);
    let (one, other) = pairs().find(are_apart).unwrap();
    let (alone, held, next) = (keys[&one][0], keys[&other][0], keys[&other][1]);
    Race::new(&["2/h"])
        .built(five_sets)
        .before([Reserve(0, held, 1)])
        .thread([Reserve(1, alone, 1)])
        .thread([Settle(0, 1, 0), Reserve(2, next, 1)])
        .preempted(2)
        .check(|outcome, _| {
            let got = [&outcome.threads[0][0], &outcome.threads[1][1]];
            let got = got.into_iter().filter(|answer| answer.is_allowed()).count();
            assert_eq!(got, 1, "the place is there: {outcome:#?}");
            assert!(outcome.threads.iter().flatten().all(|answer| *answer != Answer::NotThere));
        });
}

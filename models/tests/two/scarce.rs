//! What keys share when it is scarce: one state, the entries of logs, places for limits that come with
//! calls.

use brimful::Overflow;

use super::harness::Op::{Acquire, Peek, Refund, Reset, With};
use super::harness::{Race, debtors, keys, three_sets};

/// Newcomers without a slot share one state.
#[test]
fn share_and_share() {
    Race::new(&["2/day"])
        .built(|builder| builder.overflow(Overflow::Share))
        .before(debtors(8, 1, 0).chain([Acquire("a", 1, 0)]))
        .thread([Acquire("a", 1, 0)])
        .thread([Acquire("b", 1, 0)])
        .must_be_as_in_turn();
}

/// Logs take their entries from one arena.
mod logs {
    use super::*;

    /// Two keys in different sets, so that the arena is all that they share.
    fn apart() -> [&'static str; 2] {
        let keys = keys();
        [(0, 1), (1, 0)].map(|sets| keys[&sets][0])
    }

    #[test]
    fn entries_of_different_keys() {
        let [a, b] = apart();
        Race::new(&["2/day sliding-log"])
            .built(|builder| three_sets(builder).max_log_entries(8))
            .before([Acquire(a, 1, 0), Acquire(b, 1, 0)])
            .thread([Acquire(a, 1, 1), Refund(a, 1, 1)])
            .thread([Acquire(b, 1, 1), Reset(b)])
            .after([Peek(a, 0, 1), Peek(b, 0, 1), Acquire(a, 1, 2), Acquire(b, 2, 2)])
            .must_be_linear();
    }

    #[test]
    fn the_last_entry() {
        let [a, b] = apart();
        Race::new(&["2/day sliding-log"])
            .built(|builder| three_sets(builder).max_log_entries(3).overflow(Overflow::Refuse))
            .before([Acquire(a, 1, 0), Acquire(b, 1, 0)])
            .thread([Acquire(a, 1, 1)])
            .thread([Acquire(b, 1, 1)])
            .after([Peek(a, 0, 1), Peek(b, 0, 1)])
            .check(|outcome, limiter| {
                let got = outcome.threads.iter().filter(|own| own[0].is_allowed()).count();
                assert_eq!((got, limiter.stats().log_entries), (1, 3), "{outcome:#?}");
            });
    }
}

/// Limits that come with calls, in a table of few places.
mod given {
    use super::*;

    #[test]
    fn a_key_changes_its_limits() {
        Race::new(&["2/day"])
            .built(|builder| builder.max_given(2).max_keys(2))
            .before([Acquire("a", 1, 0)])
            .thread([With("a", "6/day", 1)])
            .thread([Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Reset("a")])
            .must_be_as_in_turn();
    }

    #[test]
    fn the_last_place() {
        Race::new(&["2/day"])
            .built(|builder| builder.max_given(1).max_keys(2))
            .thread([With("a", "6/day", 1)])
            .thread([With("b", "4/day", 1)])
            .after([With("c", "6/day", 1), Reset("a"), Reset("b"), Reset("c")])
            .preempted(2)
            .must_be_as_in_turn();
    }

    #[test]
    fn a_place_is_given_to_others() {
        Race::new(&["2/day"])
            .built(|builder| builder.max_given(1).max_keys(2))
            .before([With("a", "6/day", 1)])
            .thread([Reset("a"), Acquire("a", 1, 0)])
            .thread([With("b", "4/day", 1)])
            .after([Peek("a", 0, 0), Reset("a"), Reset("b"), With("c", "9/day", 1)])
            .preempted(2)
            .must_be_as_in_turn();
    }

    #[test]
    fn the_first_of_them_all() {
        Race::new(&["2/day"])
            .built(|builder| builder.max_given(1).max_keys(2))
            .thread([With("a", "6/day", 1)])
            .thread([Acquire("a", 1, 0)])
            .after([Peek("a", 0, 0), Reset("a"), Reset("a")])
            .must_be_as_in_turn();
    }
}

//! Two threads and one limiter.

mod harness;

use brimful::Overflow;
use harness::Op::{Acquire, All, Peek, Refund, Reset, With};
use harness::{Answer, Race, debtors, keys, three_sets};

/// Slots of two levels, so that sets are not lines of four slots for one limit.
macro_rules! both_shapes {
    ($name:ident, $race:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn plain() {
                $race.built(|builder| builder).must_be_linear();
            }

            #[test]
            fn wide() {
                $race.built(|builder| builder.max_limits(2)).must_be_linear();
            }
        }
    };
}

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

/// A key that has refilled and a newcomer want one slot: one of them gets it, and the other is
/// refused. Neither is charged for the other.
mod acquire_and_evict {
    use super::*;

    fn race() -> Race {
        Race::new(&["2/s"])
            .before([Acquire("a", 1, 0)].into_iter().chain(debtors(7, 2, SECOND / 2)))
            .thread([Acquire("a", 1, SECOND / 2)])
            .thread([Acquire("b", 1, SECOND / 2)])
            .after([Reset("a"), Reset("b")])
    }

    fn one_gets_it(race: Race) {
        race.check(|outcome, limiter| {
            let got: Vec<bool> = outcome.threads.iter().map(|own| own[0].is_allowed()).collect();
            assert!(got == [true, false] || got == [false, true], "{outcome:#?}");
            assert_eq!(
                outcome.after,
                got.iter().map(|got| Answer::WasThere(*got)).collect::<Vec<_>>()
            );
            for answer in outcome.threads.iter().flatten() {
                let is_new = matches!(answer, Answer::Decided { remaining: 1, .. });
                assert!(is_new || *answer == Answer::Full, "{answer:?}");
            }
            let stats = limiter.stats();
            assert_eq!((stats.occupied, stats.evicted_forced), (7, 0), "{stats:?}");
        });
    }

    #[test]
    fn plain() {
        one_gets_it(race().built(|builder| builder.overflow(Overflow::Refuse)));
    }

    #[test]
    fn wide() {
        one_gets_it(race().built(|builder| builder.overflow(Overflow::Refuse).max_limits(2)));
    }
}

/// A key is forgotten for a newcomer while it is charged: what was charged is owed or was forgiven.
mod acquire_and_forced_evict {
    use super::*;

    fn race() -> Race {
        let owing = [Acquire("a", 1, 0)].into_iter().chain(debtors(7, 2, 0));
        let looks = [Peek("a", 0, 0), Peek("b", 0, 0)].into_iter();
        Race::new(&["2/day"])
            .before(owing)
            .thread([Acquire("a", 1, 0)])
            .thread([Acquire("b", 1, 0)])
            .after(looks.chain(debtors(7, 0, 0)))
    }

    fn nothing_is_lost(race: Race) {
        race.check(|outcome, limiter| {
            assert!(outcome.threads.iter().all(|own| own[0].is_allowed()), "{outcome:#?}");
            let owed: u64 = outcome
                .after
                .iter()
                .map(|answer| match answer {
                    Answer::Decided { remaining, .. } => 2 - remaining,
                    other => panic!("{other:?}"),
                })
                .sum();
            let stats = limiter.stats();
            assert_eq!(owed + stats.forgiven_tokens, 15 + 2, "{stats:?}, {outcome:#?}");
            assert_eq!(stats.occupied, 8, "{stats:?}");
        });
    }

    #[test]
    fn plain() {
        nothing_is_lost(race().built(|builder| builder));
    }

    #[test]
    fn wide() {
        nothing_is_lost(race().built(|builder| builder.max_limits(2)));
    }
}

/// Two newcomers and one free slot.
mod insert_and_insert_elsewhere {
    use super::*;

    fn one_gets_it(race: Race) {
        let race = race
            .before(debtors(7, 1, 0))
            .thread([Acquire("a", 1, 0)])
            .thread([Acquire("b", 1, 0)])
            .after([Reset("a"), Reset("b")]);
        race.check(|outcome, limiter| {
            let got: Vec<bool> = outcome.threads.iter().map(|own| own[0].is_allowed()).collect();
            assert!(got == [true, false] || got == [false, true], "{outcome:#?}");
            assert_eq!(
                outcome.after,
                got.iter().map(|got| Answer::WasThere(*got)).collect::<Vec<_>>()
            );
            assert_eq!(limiter.stats().occupied, 7);
        });
    }

    #[test]
    fn plain() {
        let settings = |builder: brimful::LimiterBuilder| builder.overflow(Overflow::Refuse);
        one_gets_it(Race::new(&["2/day"]).built(settings));
    }

    #[test]
    fn wide() {
        let race = Race::new(&["2/day"]);
        one_gets_it(race.built(|builder| builder.overflow(Overflow::Refuse).max_limits(2)));
    }
}

/// Three sets. Those of newcomers are full of keys that can be nowhere else, but for one: it has to
/// make way, and may be asked for meanwhile.
mod moves {
    use super::*;

    /// The keys: some to fill the first two sets, the mover, those of the third set, and two
    /// newcomers.
    pub struct Keys {
        fill: Vec<&'static str>,
        mover: &'static str,
        pub third: Vec<&'static str>,
        pub new: [&'static str; 2],
    }

    pub fn cast() -> Keys {
        let mut keys = keys();
        let mut take =
            |sets, count| keys.get_mut(&sets).unwrap().drain(..count).collect::<Vec<_>>();
        let mut fill = take((0, 1), 3);
        let mover = take((0, 2), 1)[0];
        fill.extend(take((1, 0), 4));
        let third = [take((2, 0), 2), take((2, 1), 2)].concat();
        Keys { fill, mover, third, new: [take((0, 1), 1)[0], take((1, 0), 1)[0]] }
    }

    impl Keys {
        /// With so many slots of the third set taken.
        pub fn before(&self, third: usize) -> Vec<harness::Op> {
            let keys = self.fill.iter().chain([&self.mover]).chain(&self.third[..third]);
            keys.map(|key| Acquire(key, 1, 0)).collect()
        }
    }

    #[test]
    fn the_mover_is_charged() {
        let keys = cast();
        Race::new(&["3/day"])
            .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
            .before(keys.before(3))
            .thread([Acquire(keys.mover, 1, 0)])
            .thread([Acquire(keys.new[0], 1, 0)])
            .after([Peek(keys.mover, 0, 0), Reset(keys.mover), Reset(keys.mover)])
            .must_be_linear();
    }

    /// The one free slot to which the mover could go is taken meanwhile: one of the two newcomers
    /// gets it.
    #[test]
    fn the_slot_is_taken() {
        let keys = cast();
        let [third, rest] = [&keys.third[..3], &keys.third[3..]];
        let before = keys.fill.iter().chain([&keys.mover]).chain(third);
        Race::new(&["3/day"])
            .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
            .before(before.map(|key| Acquire(key, 1, 0)))
            .thread([Acquire(rest[0], 1, 0)])
            .thread([Acquire(keys.new[0], 1, 0)])
            .after([Reset(rest[0]), Reset(keys.new[0]), Reset(keys.mover)])
            .check(|outcome, limiter| {
                let got = outcome.threads.iter().filter(|own| own[0].is_allowed()).count();
                let there = outcome.after.iter().filter(|was| **was == Answer::WasThere(true));
                assert_eq!((got, there.count()), (1, 2), "{outcome:#?}");
                assert_eq!((limiter.stats().occupied, limiter.stats().evicted_forced), (10, 0));
            });
    }

    #[test]
    fn the_mover_is_forgotten() {
        let keys = cast();
        Race::new(&["3/day"])
            .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
            .before(keys.before(3))
            .thread([Reset(keys.mover)])
            .thread([Acquire(keys.new[1], 1, 0)])
            .after([Reset(keys.mover), Reset(keys.new[1]), Reset(keys.new[1])])
            .must_be_linear();
    }
}

/// A slot comes free while a newcomer finds that there is none.
mod room {
    use super::*;

    /// By forgetting a key, or by giving all back.
    #[test]
    fn a_search_that_was_overtaken_is_not_believed() {
        for frees in [Reset as fn(&'static str) -> harness::Op, |key| Refund(key, 1, 0)] {
            let keys = moves::cast();
            Race::new(&["1/day"])
                .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
                .before(keys.before(4))
                .thread([frees(keys.third[3])])
                .thread([Acquire(keys.new[0], 1, 0)])
                .after([Acquire(keys.new[0], 0, 0), Acquire(keys.new[1], 1, 0)])
                .check(|outcome, _| {
                    let got = [&outcome.threads[1][0], &outcome.after[1]];
                    let got = got.into_iter().filter(|answer| answer.is_allowed()).count();
                    assert_eq!(got, 1, "a free slot was not found: {outcome:#?}");
                });
        }
    }
}

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

    #[test]
    fn entries_of_different_keys() {
        Race::new(&["2/day sliding-log"])
            .built(|builder| builder.max_log_entries(8))
            .before([Acquire("a", 1, 0), Acquire("b", 1, 0)])
            .thread([Acquire("a", 1, 1), Refund("a", 1, 1)])
            .thread([Acquire("b", 1, 1), Reset("b")])
            .after([Peek("a", 0, 1), Peek("b", 0, 1), Acquire("a", 1, 2), Acquire("b", 2, 2)])
            .must_be_linear();
    }

    #[test]
    fn the_last_entry() {
        Race::new(&["2/day sliding-log"])
            .built(|builder| builder.max_log_entries(3).overflow(Overflow::Refuse))
            .before([Acquire("a", 1, 0), Acquire("b", 1, 0)])
            .thread([Acquire("a", 1, 1)])
            .thread([Acquire("b", 1, 1)])
            .after([Peek("a", 0, 1), Peek("b", 0, 1)])
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

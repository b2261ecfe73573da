//! One slot for two keys.

use brimful::Overflow;

use super::harness::Op::{Acquire, Peek, Reset};
use super::harness::{Answer, Outcome, Race, debtors};

const SECOND: u64 = 1_000_000_000;

/// One of two keys was admitted, and has the slot: after both threads, each key is reset.
fn one_is_there(outcome: &Outcome) {
    let got: Vec<bool> = outcome.threads.iter().map(|own| own[0].is_allowed()).collect();
    assert!(got == [true, false] || got == [false, true], "{outcome:#?}");
    let held: Vec<Answer> = got.iter().map(|got| Answer::WasThere(*got)).collect();
    assert_eq!(outcome.after, held);
}

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
            one_is_there(outcome);
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
            one_is_there(outcome);
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

//! Three sets. Those of newcomers are full of keys that can be nowhere else, but for one: it has to
//! make way, and may be asked for meanwhile. Searches and moves have so many steps that fewer preemptions
//! have to do than elsewhere.

use brimful::Overflow;

use super::harness::Op::{self, Acquire, Peek, Refund, Reset};
use super::harness::{Answer, Race, keys, three_sets};

/// The keys: some to fill the first two sets, the mover, those of the third set, and two
/// newcomers.
struct Keys {
    fill: Vec<&'static str>,
    mover: &'static str,
    third: Vec<&'static str>,
    new: [&'static str; 2],
}

fn cast() -> Keys {
    let mut keys = keys();
    let mut take = |sets, count| keys.get_mut(&sets).unwrap().drain(..count).collect::<Vec<_>>();
    let mut fill = take((0, 1), 3);
    let mover = take((0, 2), 1)[0];
    fill.extend(take((1, 0), 4));
    let third = [take((2, 0), 2), take((2, 1), 2)].concat();
    Keys { fill, mover, third, new: [take((0, 1), 1)[0], take((1, 0), 1)[0]] }
}

impl Keys {
    /// With so many slots of the third set taken.
    fn before(&self, third: usize) -> Vec<Op> {
        let keys = self.fill.iter().chain([&self.mover]).chain(&self.third[..third]);
        keys.map(|key| Acquire(key, 1, 0)).collect()
    }
}

/// A race in which a newcomer makes a key move on which something was done before: that key, and the newcomer.
pub fn one_makes_way(
    limit: &'static str,
    before: fn(&'static str) -> Op,
) -> (Race, &'static str, &'static str) {
    let keys = cast();
    let limits: &'static [&'static str] = vec![limit].leak();
    let calls = keys.before(3).into_iter().map(|op| match op {
        Acquire(key, ..) if key == keys.mover => before(key),
        other => other,
    });
    let race = Race::new(limits)
        .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
        .before(calls);
    (race, keys.mover, keys.new[0])
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
        .preempted(2)
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
        .preempted(1)
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
        .preempted(2)
        .must_be_linear();
}

/// By forgetting a key, or by giving all back.
#[test]
fn a_search_that_was_overtaken_is_not_believed() {
    for frees in [Reset as fn(&'static str) -> Op, |key| Refund(key, 1, 0)] {
        let keys = cast();
        Race::new(&["1/day"])
            .built(|builder| three_sets(builder).overflow(Overflow::Refuse))
            .before(keys.before(4))
            .thread([frees(keys.third[3])])
            .thread([Acquire(keys.new[0], 1, 0)])
            .after([Acquire(keys.new[0], 0, 0), Acquire(keys.new[1], 1, 0)])
            .preempted(2)
            .check(|outcome, _| {
                let got = [&outcome.threads[1][0], &outcome.after[1]];
                let got = got.into_iter().filter(|answer| answer.is_allowed()).count();
                assert_eq!(got, 1, "a free slot was not found: {outcome:#?}");
            });
    }
}

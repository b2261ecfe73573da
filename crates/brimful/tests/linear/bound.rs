//! A store at its bound: over time there are many more keys than slots, and those that owe nothing make
//! room for others while they are asked for.
//!
//! What owed nothing at a time that was passed for another key may be forgotten. So time goes on in
//! rounds, and is the same for all calls of a round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful::{Clock, Nanos, Overflow};
use brimful_testkit::history::Memory;
use brimful_testkit::trace::Verb;

use crate::{MS, Player, at, builder, chance, explain, note, noted, play, policy};

const ROUNDS: u64 = 12;
/// Two of them fill every limit here.
const ROUND: u64 = 500 * MS;

/// Stands still, and sometimes lets others run: in a plain store between the look for a key and the
/// lock, and under it.
struct Slow(Arc<AtomicU64>);

impl Clock for Slow {
    fn now(&self) -> Nanos {
        if chance(4) == 0 {
            thread::yield_now();
        }
        note(at(self.0.load(Ordering::Relaxed)))
    }
}

/// What a store is asked for: each round has keys of its own, and half of those of the round before;
/// those of the last three rounds together are as many as may owe.
struct Crowd {
    specs: &'static [&'static str],
    limits: u64,
    max_keys: u64,
    /// New keys in each round.
    fresh: u64,
    /// Calls of each thread in each round.
    calls: u64,
}

impl Crowd {
    /// A key and what to ask about it. Keys of older rounds owe nothing any more, and are looked at.
    fn draw(&self, round: u64, player: &mut Player<'_>) -> (u64, Verb, u64) {
        let first = round * self.fresh;
        let rng = &mut player.rng;
        if round > 2 && rng.below(4) == 0 {
            let key = first - 1 - rng.below(2 * self.fresh);
            let verb = if rng.below(4) == 0 { Verb::Refund } else { Verb::Peek };
            return (key, verb, rng.between(1, 3));
        }
        let key = match rng.below(3) {
            0 => first + rng.below(12),
            _ => first + rng.below(2 * self.fresh),
        };
        let verb = match rng.below(12) {
            0 => Verb::Reset,
            1 | 2 => Verb::Refund,
            3 => Verb::Peek,
            _ => Verb::Acquire,
        };
        (key, verb, rng.between(1, 2))
    }

    fn run(&self) {
        let policy = policy(self.specs);
        let time = Arc::new(AtomicU64::new(0));
        let limiter = builder(&policy, self.limits)
            .max_keys(self.max_keys)
            .overflow(Overflow::Refuse)
            .clock(Slow(time.clone()))
            .build()
            .unwrap();
        let history = play(50 + self.limits, |meeting, player| {
            for round in 0..ROUNDS {
                meeting.wait();
                time.store(round * ROUND, Ordering::Relaxed);
                meeting.wait();
                for _ in 0..self.calls {
                    player.mix();
                    let (key, verb, amount) = self.draw(round, player);
                    note(at(round * ROUND));
                    if verb == Verb::Acquire && player.rng.below(16) == 0 {
                        let end = (round + 2) * self.fresh;
                        let some: Vec<u64> = (key..end.min(key + 4)).collect();
                        player.scribe.ask_many(&limiter, &some, noted);
                        continue;
                    }
                    match player.rng.below(2) {
                        0 => {
                            let now = at(round * ROUND);
                            player.scribe.ask_at(&limiter, key, verb, amount, now)
                        }
                        _ => player.scribe.ask(&limiter, key, verb, amount, noted),
                    };
                }
            }
        });
        let stats = limiter.stats();
        let name = format!("{} slots, {:?}", stats.slots, self.specs);
        assert_eq!(stats.store_full, 0, "{name}: no more owe than there is room for");
        assert!(stats.evicted_lossless > self.fresh, "{name}: too few made room: {stats:?}");
        explain(
            &format!("{name}, {} forgotten", stats.evicted_lossless),
            &policy,
            Memory::Forgets,
            &history,
        );
    }
}

#[test]
fn sets_of_four_slots_for_one_limit() {
    let crowd = Crowd { specs: &["4/s"], limits: 1, max_keys: 820, fresh: 270, calls: 800 };
    crowd.run();
    Crowd { specs: &["4 per 500ms sliding-window"], ..crowd }.run();
}

#[test]
fn sets_of_four_slots_for_two_limits() {
    let specs = &["4/s", "5/s fixed-window"];
    Crowd { specs, limits: 2, max_keys: 820, fresh: 270, calls: 800 }.run();
}

#[test]
fn logs() {
    let specs = &["4/s sliding-log"];
    Crowd { specs, limits: 1, max_keys: 820, fresh: 270, calls: 500 }.run();
}

#[test]
fn one_set() {
    let specs = &["4/s"];
    Crowd { specs, limits: 1, max_keys: 50, fresh: 16, calls: 300 }.run();
}

#[test]
fn a_few_sets() {
    let specs = &["4/s"];
    Crowd { specs, limits: 1, max_keys: 600, fresh: 195, calls: 600 }.run();
}

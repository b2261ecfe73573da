//! Threads ask for a few hundred keys, some more often than others.

use brimful_testkit::history::Memory;
use brimful_testkit::trace::Keys;

use crate::{Fitful, MS, builder, chance, explain, noted, play, policy};

fn many_keys(specs: &[&str], limits: u64) {
    let policy = policy(specs);
    let clock = Fitful::new(MS, || chance(2) * chance(500 * MS));
    let limiter = builder(&policy, limits).clock(clock.clone()).build().unwrap();
    let history = play(20 + limits, |_, player| {
        for call in 0..2_000 {
            if call % 16 == 0 {
                // Fewer and more than are looked up side by side.
                let first = player.rng.below(275);
                let some: Vec<u64> = (first..first + player.rng.between(2, 25)).collect();
                player.scribe.ask_many(&limiter, &some, noted);
                continue;
            }
            let keys = if call % 2 == 0 { Keys::Uniform(300) } else { Keys::Zipf(300) };
            let key = keys.draw(&mut player.rng).into();
            let asked = player.draw();
            player.ask(&limiter, &clock, key, asked);
        }
    });
    // There was room for all, so that nobody was forgotten at another key's time.
    assert_eq!(limiter.stats().evicted_lossless, 0);
    let name = format!("many keys, {specs:?}, slots for {limits}");
    explain(&name, &policy, Memory::Keeps, &history);
}

#[test]
fn in_a_plain_store() {
    many_keys(&["20/s burst 9"], 1);
    many_keys(&["9/s sliding-window"], 1);
}

#[test]
fn in_a_store_of_wider_slots() {
    many_keys(&["20/s burst 9"], 4);
    many_keys(&["20/s burst 9", "15/s sliding-log"], 2);
}

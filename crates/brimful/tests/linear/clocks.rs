//! Clocks that go back, by a little and by more than is taken for disorder.

use brimful_testkit::history::Memory;

use crate::{Fitful, MS, SECOND, builder, chance, explain, play, policy};

/// The tolerance of the limits here: their fill times and windows are shorter.
const TOLERANCE: u64 = 10 * SECOND;

/// Mostly nothing, or within the tolerance, up to its very edge; now and then beyond it.
fn lag() -> u64 {
    match chance(64) {
        0..=31 => 0,
        32..=47 => chance(100 * MS),
        48..=57 => chance(TOLERANCE),
        58..=60 => TOLERANCE - 1 + chance(3),
        61 => TOLERANCE + chance(20 * SECOND),
        _ => 30 * SECOND + chance(SECOND),
    }
}

fn readings_go_back(specs: &[&str], limits: u64) {
    let policy = policy(specs);
    let clock = Fitful::new(20 * MS, lag);
    let limiter = builder(&policy, limits).clock(clock.clone()).build().unwrap();
    let history = play(30 + limits, |_, player| {
        for _ in 0..1_000 {
            let asked = player.draw();
            let key = player.rng.below(3);
            player.ask(&limiter, &clock, key, asked);
        }
    });
    // There was room for all, so that nobody was forgotten at another key's time.
    assert_eq!(limiter.stats().evicted_lossless, 0);
    let name = format!("readings that go back, {specs:?}, slots for {limits}");
    explain(&name, &policy, Memory::Keeps, &history);
}

#[test]
fn token_bucket() {
    readings_go_back(&["40/s burst 30"], 1);
    readings_go_back(&["40/s burst 30"], 2);
}

#[test]
fn windows() {
    readings_go_back(&["60 per 2s fixed-window"], 1);
    readings_go_back(&["60 per 2s sliding-window"], 1);
    readings_go_back(&["60 per 2s sliding-window"], 2);
}

#[test]
fn sliding_log() {
    readings_go_back(&["30/s sliding-log"], 1);
}

#[test]
fn two_limits() {
    readings_go_back(&["40/s burst 30", "30 per 2s sliding-window"], 2);
    readings_go_back(&["40/s burst 30", "20/s sliding-log"], 3);
}

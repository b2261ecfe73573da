//! All threads ask for one key.

use brimful::Limit;
use brimful_testkit::history::{Answer, Memory, witness};
use brimful_testkit::trace::Verb;

use crate::{Fitful, MS, builder, chance, explain, play, policy};

const KEY: u64 = 7;

/// At times that lie back by some milliseconds, or not at all. (Thousands of calls take seconds by this
/// clock, so that no thread is ever left behind by the tolerance.)
fn clock() -> std::sync::Arc<Fitful> {
    Fitful::new(MS / 3, || chance(2) * chance(12 * MS))
}

fn all_verbs(specs: &[&str], limits: u64, calls: u64) {
    let policy = policy(specs);
    let clock = clock();
    let limiter = builder(&policy, limits).clock(clock.clone()).build().unwrap();
    let history = play(limits, |_, player| {
        for _ in 0..calls {
            let asked = player.draw();
            player.ask(&limiter, &clock, KEY, asked);
        }
    });
    let name = format!("one key, {specs:?}, slots for {limits}");
    explain(&name, &policy, Memory::Keeps, &history);
}

#[test]
fn token_bucket() {
    all_verbs(&["5600/s burst 30"], 1, 1_500);
    all_verbs(&["5600/s burst 30"], 2, 1_500);
}

#[test]
fn fixed_window() {
    all_verbs(&["70 per 12ms fixed-window"], 1, 1_500);
    all_verbs(&["70 per 12ms fixed-window"], 3, 1_500);
}

#[test]
fn sliding_window() {
    all_verbs(&["70 per 12ms sliding-window"], 1, 1_500);
    all_verbs(&["70 per 12ms sliding-window"], 2, 1_500);
}

#[test]
fn sliding_log() {
    all_verbs(&["30 per 6ms sliding-log"], 1, 1_500);
}

#[test]
fn two_limits() {
    all_verbs(&["5600/s burst 30", "50 per 12ms fixed-window"], 2, 1_500);
    all_verbs(&["5600/s burst 30", "20 per 4ms sliding-log"], 3, 1_500);
}

/// A longer history of one bucket, in which nothing is given back, by two opinions.
#[test]
fn a_bucket_by_both_opinions() {
    let limit: Limit = "10000/s burst 40".parse().unwrap();
    let policy = limit.clone().into();
    for limits in [1, 2] {
        let clock = clock();
        let limiter = builder(&policy, limits).clock(clock.clone()).build().unwrap();
        let mut history = play(10 + limits, |_, player| {
            for _ in 0..4_000 {
                // More than one, so that it is told all.
                let cost = player.rng.between(2, 5);
                player.ask(&limiter, &clock, KEY, (Verb::Acquire, cost));
            }
        });
        let chain = witness::chain(&limit, &history).unwrap();
        let denied = history.len() - chain.len();
        assert!(chain.len() > 1_000 && denied > 1_000, "{} and {denied}", chain.len());
        explain(&format!("one bucket, slots for {limits}"), &policy, Memory::Keeps, &history);

        // One token more than there was, said in the middle: both see it.
        let said = &mut history[12_345];
        let Answer::Decision(outcome) = &mut said.answer else { panic!("{said:?}") };
        outcome.remaining += 1;
        let second = witness::chain(&limit, &history);
        assert!(second.is_err());
        let found = brimful_testkit::history::check(&policy, Memory::Keeps, &history);
        assert!(found.is_err_and(|why| why.is_certain));
    }
}

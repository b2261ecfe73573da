//! Several keys, several limits, and words.

use super::{Factory, KEY, check_next, drain, each, later, made, secs};
use crate::trace::{self, Cursor, Keys, SplitMix64, Trace, Verb};
use crate::{KeyedModel, Outcome};
use brimful::{Algorithm, Policy};

pub(super) fn keys_are_independent(make: Factory<'_>) {
    for spec in each("2/min") {
        let (subject, now) = (made(make, &[&spec]), secs(6_000));
        let keys = ["", "a", "b", "ab", "A", "a ", "\u{e9}", "a\0"];
        for key in keys {
            assert_eq!(subject.acquire_at(key, 1, now).remaining, 1, "{spec}: {key:?}");
        }
        // One key's time is not another's: not even when its clock is stepped.
        assert!(subject.acquire_at("a", 2, secs(6_180)).allowed, "{spec}");
        assert!(!subject.acquire_at("a", 1, secs(10)).allowed, "{spec}");
        for key in keys.into_iter().filter(|key| *key != "a") {
            assert!(subject.acquire_at(key, 1, now).allowed, "{spec}: {key:?}");
            assert!(!subject.acquire_at(key, 1, now).allowed, "{spec}: {key:?}");
        }
    }
}

/// What one limit refuses, no other is charged for.
pub(super) fn several_limits_are_all_or_nothing(make: Factory<'_>) {
    for narrow in each("2/s") {
        for limits in [["10/h", &*narrow], [&*narrow, "10/h"]] {
            let subject = made(make, &limits);
            // Ten seconds apart, so that the narrow limit is as good as new each time; the wide
            // one would run out at once if it were charged for what the narrow one refuses.
            let admitted: Vec<u64> = (0..4)
                .map(|round| {
                    let now = secs(3_600 + 10 * round);
                    let admitted = drain(&*subject, now);
                    assert!((0..50).all(|_| !subject.acquire_at(KEY, 2, now).allowed));
                    admitted
                })
                .collect();
            assert_eq!(admitted, [2, 2, 2, 2], "{limits:?}");
            assert_eq!(drain(&*subject, secs(3_640)), 2, "{limits:?}");
            assert_eq!(drain(&*subject, secs(3_650)), 0, "{limits:?}: ten in an hour");
            // The narrow one was not charged for what the wide one refused.
            subject.refund_at(KEY, 1, secs(3_650));
            assert!(subject.acquire_at(KEY, 1, secs(3_650)).allowed, "{limits:?}");
        }
    }
}

/// On a denial the limit with the longest wait, else the one with the least left; the first of
/// equals.
pub(super) fn the_limit_that_decided_is_named(make: Factory<'_>) {
    let now = secs(6_000);
    let subject = made(make, &["10/s", "5/min", "20/h"]);
    let answer = subject.acquire_at(KEY, 1, now);
    assert_eq!((answer.limit, answer.remaining), (Some(1), 4));
    assert_eq!(subject.acquire_at(KEY, 6, now).limit, Some(1), "never, by the second");
    assert_eq!(subject.acquire_at(KEY, 11, now).limit, Some(0), "never, by the first two");
    assert_eq!(subject.acquire_at(KEY, 21, now).limit, Some(0), "never, by all");
    assert_eq!(subject.acquire_at(KEY, 4, now).limit, Some(1));
    let answer = subject.acquire_at(KEY, 1, now);
    assert_eq!((answer.limit, answer.retry), (Some(1), Some(12_000_000_000)));

    // Both refuse: 3 of the first are back in 3 s, of the second in 6 s.
    let subject = made(make, &["3 per 3s", "3 per 6s"]);
    let answer = subject.acquire_at(KEY, 3, now);
    assert_eq!((answer.limit, answer.remaining), (Some(0), 0), "the first of equals");
    assert_eq!(answer.reset_after, 6_000_000_000, "the longest");
    let answer = subject.acquire_at(KEY, 3, now);
    assert_eq!((answer.limit, answer.retry), (Some(1), Some(6_000_000_000)));

    let subject = made(make, &["a: 3/s", "b: 3/s"]);
    subject.acquire_at(KEY, 3, now);
    let answer = subject.acquire_at(KEY, 3, now);
    assert_eq!((answer.limit, answer.retry), (Some(0), Some(1_000_000_000)), "the first of equals");
}

/// More is left when all limits that have just the least have more; never, while one of them is full.
pub(super) fn the_next_token_of_several(make: Factory<'_>) {
    let second = 1_000_000_000;
    let now = secs(6_000);
    let subject = made(make, &["10/s burst 5", "4 per 8s", "4 per 20s"]);
    let answer = subject.acquire_at(KEY, 2, now);
    assert_eq!((answer.remaining, answer.next_after), (2, 5 * second), "the slower of two");
    assert_eq!(check_next(&*subject, &answer, now), 3);
    let then = later(now, 5 * second);
    let look = subject.peek_at(KEY, 0, then);
    assert_eq!((look.remaining, look.next_after), (3, 5 * second), "the quick one is full");
    check_next(&*subject, &look, then);

    // Both have 3, and one of them never has more.
    let subject = made(make, &["3/s", "10/h"]);
    subject.acquire_at(KEY, 3, now);
    subject.acquire_at(KEY, 3, later(now, second));
    let answer = subject.acquire_at(KEY, 1, later(now, 2 * second));
    assert_eq!((answer.remaining, answer.next_after), (2, second / 3 + 1));
    let look = subject.peek_at(KEY, 0, later(now, 3 * second));
    assert_eq!((look.remaining, look.next_after), (3, 0));
    assert!(look.reset_after > 0);
    check_next(&*subject, &look, later(now, 3 * second));

    // Drawn ones, from full to full.
    let mut rng = SplitMix64::new(12);
    let (mut told, mut full) = (0, 0);
    for round in 0..50 {
        let policy = drawn(&mut rng, round);
        let subject = make(&policy);
        let mut cursor = Cursor::forward(secs(1_000_000_000));
        for (_, op) in Trace::new(rng.next_u64(), Keys::Uniform(1), &policy).take(60) {
            let (verb, amount, now) = cursor.next(op);
            if verb != Verb::Acquire {
                continue;
            }
            let answer = subject.acquire_at(KEY, amount, now);
            cursor.saw(amount, &answer);
            // (What ends beyond the last time that can be counted cannot be tried.)
            if answer.reset_after < 1 << 62 {
                check_next(&*subject, &answer, now);
                *if answer.next_after > 0 { &mut told } else { &mut full } += 1;
            }
        }
    }
    assert!(told > 500 && full > 10, "{told} told, {full} full");
}

/// On a denial by limits those that would refuse the cost alone, and nobody else; else none.
pub(super) fn all_that_refuse_are_named(make: Factory<'_>) {
    let now = secs(6_000);
    let limits = ["4/s", "4/min fixed-window", "8/h sliding-log", "6/min sliding-window"];
    let subject = made(make, &limits);
    let alone = limits.map(|limit| made(make, &[limit]));
    let mut seen = std::collections::BTreeSet::new();
    for second in 0..200 {
        let now = later(now, second * 1_000_000_000);
        for cost in [0, 1, 3, 5, 7, 9, 2] {
            let answer = subject.acquire_at(KEY, cost, now);
            // Each alone is charged what all admitted.
            let refusing =
                alone.iter().enumerate().filter(|(_, one)| !one.peek_at(KEY, cost, now).allowed);
            let places = crate::outcome::places(refusing.map(|(place, _)| place));
            assert_eq!(answer.refused_by, places, "{cost} at second {second}");
            assert_eq!(answer.allowed, places == 0, "{cost} at second {second}");
            if answer.allowed {
                alone.iter().for_each(|one| assert!(one.acquire_at(KEY, cost, now).allowed));
            } else {
                let decided = answer.limit.expect("one of them decided");
                assert!(places >> decided & 1 == 1, "{cost} at second {second}");
            }
            seen.insert(places);
        }
    }
    assert!(seen.len() >= 8, "{seen:?}");

    // All eight that a policy can have.
    let specs = [1, 2, 3, 4, 5, 6, 7, 8].map(|tokens| format!("l{tokens}: {tokens}/min"));
    let subject = made(make, &specs.each_ref().map(String::as_str));
    assert_eq!(subject.peek_at(KEY, 9, now).refused_by, 0b1111_1111);
    assert_eq!(subject.peek_at(KEY, 5, now).refused_by, 0b0000_1111);
    assert_eq!(subject.peek_at(KEY, 1, now).refused_by, 0);
}

pub(super) fn unlimited_and_blocked(make: Factory<'_>) {
    let (free, shut) = (make(&Policy::unlimited()), make(&Policy::blocked()));
    for cost in [0, 1, 1_000, u64::MAX] {
        assert_eq!(free.peek_at(KEY, cost, secs(9)), Outcome::UNLIMITED, "{cost}");
        assert_eq!(free.acquire_at(KEY, cost, secs(9)), Outcome::UNLIMITED, "{cost}");
        assert_eq!(shut.peek_at(KEY, cost, secs(9)), Outcome::BLOCKED, "{cost}");
        assert_eq!(shut.acquire_at(KEY, cost, secs(9)), Outcome::BLOCKED, "{cost}");
    }
    for subject in [free, shut] {
        assert_eq!(subject.refund_at(KEY, 1, secs(9)), 0);
        subject.reset(KEY);
    }
}

pub(super) fn a_peek_answers_as_the_acquire(make: Factory<'_>) {
    let mut rng = SplitMix64::new(11);
    for round in 0..20 {
        let policy = drawn(&mut rng, round);
        let subject = make(&policy);
        let mut cursor = Cursor::forward(secs(1_000_000_000));
        for (_, op) in Trace::new(rng.next_u64(), Keys::Uniform(1), &policy).take(100) {
            let (verb, amount, now) = cursor.next(op);
            let peeked = subject.peek_at(KEY, amount, now);
            assert_eq!(
                subject.peek_at(KEY, amount, now),
                peeked,
                "{policy:?}: peeks change nothing"
            );
            if verb != Verb::Peek {
                let answer = subject.acquire_at(KEY, amount, now);
                assert_eq!(answer, peeked, "{policy:?}: {amount} at {now:?}");
                cursor.saw(amount, &answer);
            }
        }
    }
}

/// Every field of every answer, over the whole range of limits, while time goes forward: a limiter
/// may have forgotten a key that was as good as new.
pub(super) fn agrees_with_the_model(make: Factory<'_>) {
    const KEYS: u32 = 8;
    let mut rng = SplitMix64::new(12);
    for round in 0..30 {
        let policy = drawn(&mut rng, round);
        let (subject, mut model) = (make(&policy), KeyedModel::new(&policy));
        let mut cursors = vec![Cursor::forward(secs(1_000_000_000)); KEYS as usize];
        for (key, op) in Trace::new(rng.next_u64(), Keys::Zipf(KEYS), &policy).take(300) {
            let cursor = &mut cursors[key as usize];
            let (verb, amount, now) = cursor.next(op);
            let (key, story) = (key.to_string(), || format!("{policy:?}: {amount} at {now:?}"));
            match verb {
                Verb::Acquire => {
                    let expected = model.acquire(&key, amount, now);
                    assert_eq!(subject.acquire_at(&key, amount, now), expected, "{}", story());
                    cursor.saw(amount, &expected);
                }
                Verb::Peek => {
                    let expected = model.peek(&key, amount, now);
                    assert_eq!(subject.peek_at(&key, amount, now), expected, "{}", story());
                }
                Verb::Refund => {
                    let expected = model.refund(&key, amount, now);
                    assert_eq!(subject.refund_at(&key, amount, now), expected, "{}", story());
                }
                Verb::Reset => {
                    model.reset(&key);
                    subject.reset(&key);
                }
            }
        }
    }
}

/// The four algorithms in turn, then three limits at once.
fn drawn(rng: &mut SplitMix64, round: usize) -> Policy {
    match Algorithm::ALL.get(round % 5) {
        Some(algorithm) => Policy::from(trace::limit(rng, *algorithm)),
        None => trace::policy(rng, 3),
    }
}

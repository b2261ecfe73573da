//! What only the store sees of the algorithms: how much is owed, and what logs hold in the arena.

use core::num::NonZero;

use super::arena::Arena;
use super::{Machine, Moment, Owed, gcd, scaled, share};
use crate::time::Nanos;

const SECOND: u64 = 1_000_000_000;
const UNIT: u64 = 1 << 32;

fn nonzero(n: u64) -> NonZero<u64> {
    NonZero::new(n).unwrap()
}

/// At `now`, for a key that was changed then.
fn at(now: u64) -> Moment {
    since(now, now)
}

fn since(last: u64, now: u64) -> Moment {
    let [last, now] = [last, now].map(Nanos::from_nanos);
    Moment { stored: last, last, now }
}

/// Ten tokens a second, by each algorithm in turn.
fn machines() -> [Machine; 4] {
    let second = nonzero(SECOND);
    [
        Machine::token_bucket(nonzero(10), second, 10),
        Machine::fixed_window(10, second),
        Machine::sliding_log(10, second),
        Machine::sliding_window(10, second),
    ]
}

#[test]
fn a_share_is_in_units_of_2_to_the_minus_32_rounded_down() {
    assert_eq!(share(0, 7), 0);
    assert_eq!(share(7, 7), UNIT);
    assert_eq!(share(1, 3), UNIT / 3);
    assert_eq!(share(2, 3), UNIT * 2 / 3);
    assert_eq!(share(2, 1), 2 * UNIT);
    // The largest debt that there is, of the largest bucket.
    assert_eq!(share((1 << 95) - 1, (1 << 95) - 1), UNIT);
    assert_eq!(share(1, (1 << 95) - 1), 0);
}

#[test]
fn the_greatest_common_divisor() {
    for (a, b, divisor) in [(1, 1, 1), (12, 18, 6), (18, 12, 6), (7, 21, 7), (5, 9, 1)] {
        assert_eq!(gcd(nonzero(a), nonzero(b)).get(), divisor, "{a} and {b}");
    }
    assert_eq!(gcd(nonzero(SECOND), nonzero(60 * SECOND)).get(), SECOND);
}

#[test]
fn what_is_owed_is_a_share_rounded_down_and_tokens_rounded_up() {
    let mut arena = Arena::new(10).unwrap();
    for machine in machines() {
        let level = machine.charge(0, 0, 3, at(0), &mut arena);
        let owed = machine.owed(machine.settle(level, at(0), &arena), at(0));
        assert_eq!(owed, Owed { share: 3 * UNIT / 10, tokens: 3 }, "{machine:?}");
        assert_eq!(machine.owed(0, at(0)), Owed::default(), "{machine:?}");
        // A nanosecond on, a bucket has a little less to pay, and a token is counted whole.
        let later = since(0, 1);
        let owed = machine.owed(machine.settle(level, later, &arena), later);
        assert_eq!(owed.tokens, 3, "{machine:?}");
        // The counter's estimate falls from the next window on.
        let middle = since(0, SECOND + SECOND / 2);
        let owed = machine.owed(machine.settle(level, middle, &arena), middle);
        let left = match machine {
            Machine::SlidingWindow(_) => Owed { share: 15 * UNIT / 100, tokens: 2 },
            _ => Owed::default(),
        };
        assert_eq!(owed, left, "{machine:?}");
    }
}

#[test]
fn only_logs_hold_runs() {
    for machine in machines() {
        let mut arena = Arena::new(4).unwrap();
        let is_log = matches!(machine, Machine::SlidingLog(_));
        assert_eq!(machine.is_log(), is_log);
        let runs = |level, arena: &Arena| machine.runs_held(level, 9, arena);
        let needs = |level, moment, arena: &Arena| {
            machine.takes_run(level, machine.settle(level, moment, arena), moment, arena)
        };
        assert_eq!(runs(0, &arena), 0);
        assert_eq!(needs(0, at(5), &arena), is_log);
        let level = machine.charge(0, 0, 1, at(5), &mut arena);
        assert_eq!((runs(level, &arena), arena.used()), if is_log { (1, 1) } else { (0, 0) });
        // Another key's run of that instant is not this key's.
        assert_eq!(needs(0, at(5), &arena), is_log);
        // The same instant is the same run; another takes a second one.
        assert!(!needs(level, at(5), &arena));
        let settled = machine.settle(level, at(5), &arena);
        let level = machine.charge(level, settled, 1, at(5), &mut arena);
        assert_eq!(runs(level, &arena), usize::from(is_log));
        assert_eq!(machine.figures(level, at(5), &arena).remaining, 8);
        assert_eq!(needs(level, since(5, 6), &arena), is_log);
        // Once the first has expired it pays for the new one.
        assert!(!needs(level, since(5, 5 + SECOND), &arena));
        let moment = since(5, 6);
        let settled = machine.settle(level, moment, &arena);
        let level = machine.charge(level, settled, 1, moment, &mut arena);
        assert_eq!(runs(level, &arena), if is_log { 2 } else { 0 });
        // So is it for the newest of several.
        let level = machine.charge(level, level, 1, at(6), &mut arena);
        assert_eq!((runs(level, &arena), arena.used()), if is_log { (2, 2) } else { (0, 0) });
        assert_eq!(machine.runs_held(level, 1, &arena), usize::from(is_log), "counted up to 1");
        machine.release(level, &mut arena);
        assert_eq!((arena.used(), arena.room()), (0, 4));
    }
}

#[test]
fn logs_keep_to_their_own_runs() {
    let log = Machine::sliding_log(10, nonzero(SECOND));
    let mut arena = Arena::new(4).unwrap();
    let one = log.charge(0, 0, 1, at(5), &mut arena);
    // A key that was never charged gives nothing back, and joins nobody's run.
    log.release(0, &mut arena);
    assert_eq!(arena.used(), 1);
    let other = log.charge(0, 0, 2, at(5), &mut arena);
    assert_eq!(arena.used(), 2);
    for (level, remaining) in [(one, 9), (other, 8)] {
        assert_eq!(log.runs_held(level, 9, &arena), 1);
        assert_eq!(log.figures(level, at(5), &arena).remaining, remaining);
    }
    log.release(one, &mut arena);
    assert_eq!((arena.used(), log.runs_held(other, 9, &arena)), (1, 1));
}

#[test]
fn a_fill_time_is_that_of_a_bucket() {
    let times = machines().map(|machine| machine.fill_time());
    assert_eq!(times, [Some(SECOND.into()), None, None, None]);
    // Rounded up: 3 tokens per second, one of them missing.
    let bucket = Machine::token_bucket(nonzero(3), nonzero(SECOND), 1);
    assert_eq!(bucket.fill_time(), Some(333_333_334));
}

#[test]
fn an_arena_hands_out_each_run_once() {
    let mut arena = Arena::new(3).unwrap();
    // And eight spare ones.
    assert_eq!((arena.room(), arena.used(), arena.bytes()), (3, 0, 16 * 11));
    let time = Nanos::from_nanos(7).stamp(0);
    let mut taken = [1, 2, 3].map(|count| arena.take(time, count));
    assert_eq!(taken.map(|index| arena.run(index).count), [1, 2, 3]);
    assert_eq!((arena.room(), arena.used()), (0, 3));
    // When it is empty it gives none, and takes nothing for one.
    assert_eq!(arena.take(time, 4), Arena::NONE);
    assert_eq!((arena.room(), arena.used()), (0, 3));
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2]);
    // Two come back as a list, up to the third; they are handed out again.
    let [first, second, third] = taken;
    arena.update(first, |run| run.next = second);
    arena.update(second, |run| run.next = third);
    arena.give_back(first, third);
    assert_eq!((arena.room(), arena.used()), (2, 1));
    let mut again = [5, 6].map(|count| arena.take(time, count));
    again.sort_unstable();
    assert_eq!(again, [first, second]);
    assert_eq!(arena.take(time, 7), Arena::NONE);
    assert_eq!(arena.run(third).count, 3);
}

#[test]
fn spare_runs_are_beside_those_of_logs() {
    let mut arena = Arena::new(2).unwrap();
    let time = Nanos::from_nanos(7).stamp(0);
    let taken = [1, 2].map(|count| arena.take(time, count));
    for round in 1..3 {
        let lent = [0, 1, 7].map(|number| arena.lend(number, time, round * 10));
        for (place, index) in lent.into_iter().enumerate() {
            assert_eq!((arena.run(index).count, arena.run(index).next), (round * 10, Arena::NONE));
            assert!(!taken.contains(&index) && !lent[..place].contains(&index));
        }
        assert_eq!((arena.room(), arena.used()), (0, 2));
    }
    assert_eq!(taken.map(|index| arena.run(index).count), [1, 2]);
    assert_eq!(arena.take(time, 3), Arena::NONE);
    assert_eq!(arena.lend(8, time, 1), Arena::NONE);
    assert_eq!(Arena::new(0).unwrap().lend(0, time, 1), Arena::NONE);
}

#[test]
fn an_arena_may_be_empty() {
    // No run has the index that ends a list.
    assert_eq!(Arena::MAX_RUNS + Arena::SPARE, Arena::NONE - 1);
    for mut arena in [Arena::empty(), Arena::new(0).unwrap()] {
        assert_eq!((arena.room(), arena.used(), arena.bytes()), (0, 0, 0));
        assert_eq!(arena.take(Nanos::from_nanos(1).stamp(0), 1), Arena::NONE);
        assert_eq!(arena.run(0).count, 0);
    }
}

#[test]
fn scaled_is_the_exact_quotient_rounded_up() {
    for whole in 1_u128..20 {
        for part in 0..=whole {
            for of in 0..20 {
                assert_eq!(scaled(part, of, whole), (part * of).div_ceil(whole));
            }
        }
    }
    let big = (1_u128 << 95) - 1;
    assert_eq!(scaled(big, big, big), big);
    assert_eq!(scaled(big - 1, big, big), big - 1);
    assert_eq!(scaled(1, big, big), 1);
    assert_eq!(scaled(1, 1, big), 1);
    assert_eq!(scaled(0, big, big), 0);
    // (2^94)(2^95 - 1) / (2^95) = 2^94 - 1/2
    assert_eq!(scaled(1 << 94, big, 1 << 95), 1 << 94);
}

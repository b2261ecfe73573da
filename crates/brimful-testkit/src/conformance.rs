//! What every limiter owes, whatever it is built on: one suite for the library's own store, for
//! shared ones, and for what is reached over a protocol.
//!
//! A limiter joins by implementing [`Subject`]; [`run`] then tries each of [`BEHAVIOURS`] on
//! limiters that a factory makes, one for each policy. The behaviours use few keys and never
//! overflow a store.
//!
//! Readings before a key's last change are only taken while the key still owes something: a
//! limiter may forget a key that is as good as new, and with it when that was.

mod limits;
mod policies;
mod time;

use std::time::Duration;

use brimful::{Algorithm, Limiter, Nanos, Policy};

use crate::Outcome;

/// A limiter with one policy for all keys.
pub trait Subject {
    /// Spends `cost` of `key` at `now` if every limit admits it.
    fn acquire_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome;
    /// What [`acquire_at`](Self::acquire_at) would answer. Changes nothing.
    fn peek_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome;
    /// Gives back at most what is owed; how much that was.
    fn refund_at(&self, key: &str, tokens: u64, now: Nanos) -> u64;
    /// Forgets all that `key` spent.
    fn reset(&self, key: &str);
}

impl Subject for Limiter {
    fn acquire_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.try_acquire_at(key, cost, now).into()
    }

    fn peek_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.peek_at(key, cost, now).into()
    }

    fn refund_at(&self, key: &str, tokens: u64, now: Nanos) -> u64 {
        self.refund_at(key, tokens, now)
    }

    fn reset(&self, key: &str) {
        self.reset(key);
    }
}

/// Makes a limiter that has seen no key, with this policy for all of them.
pub type Factory<'a> = &'a dyn Fn(&Policy) -> Box<dyn Subject>;

/// What a limiter owes: panics when it is not so.
pub type Behaviour = fn(Factory<'_>);

/// All behaviours, by name.
pub const BEHAVIOURS: &[(&str, Behaviour)] = &[
    ("the_sentence_of_the_design", limits::the_sentence_of_the_design),
    ("a_denial_charges_nothing", limits::a_denial_charges_nothing),
    ("cost_0_looks", limits::cost_0_looks),
    ("a_cost_above_the_capacity_is_never_admitted", limits::above_the_capacity_is_never),
    ("hints_are_tight", limits::hints_are_tight),
    ("the_next_token_is_told_to_the_nanosecond", limits::the_next_token_is_told),
    ("polling_earns_and_loses_nothing", limits::polling_earns_and_loses_nothing),
    ("the_honest_table", limits::the_honest_table),
    ("a_refund_is_at_most_what_is_owed", limits::a_refund_is_at_most_what_is_owed),
    ("a_refund_reaches_what_counts_now", limits::a_refund_reaches_what_counts_now),
    ("reset_forgets", limits::reset_forgets),
    ("keys_are_independent", policies::keys_are_independent),
    ("several_limits_are_all_or_nothing", policies::several_limits_are_all_or_nothing),
    ("the_limit_that_decided_is_named", policies::the_limit_that_decided_is_named),
    ("the_next_token_comes_when_all_limits_have_it", policies::the_next_token_of_several),
    ("all_limits_that_refuse_are_named", policies::all_that_refuse_are_named),
    ("unlimited_and_blocked", policies::unlimited_and_blocked),
    ("a_peek_answers_as_the_acquire", policies::a_peek_answers_as_the_acquire),
    ("agrees_with_the_model", policies::agrees_with_the_model),
    ("windows_start_at_the_epoch", time::windows_start_at_the_epoch),
    ("backward_time_is_no_time", time::backward_time_is_no_time),
    ("a_denial_moves_no_time", time::a_denial_moves_no_time),
    ("alternating_readings_mint_nothing", time::alternating_readings_mint_nothing),
    ("a_lock_out_is_bounded", time::a_lock_out_is_bounded),
    ("a_stepped_clock_keeps_debts", time::a_stepped_clock_keeps_debts),
    ("a_look_by_a_stepped_clock_writes_nothing", time::a_stepped_look_writes_nothing),
    ("a_century_of_uptime", time::a_century_of_uptime),
];

/// Tries every behaviour, and prints the name of each before it does.
pub fn run<S: Subject + 'static>(factory: impl Fn(&Policy) -> S) {
    let boxed = |policy: &Policy| -> Box<dyn Subject> { Box::new(factory(policy)) };
    for (name, behaviour) in BEHAVIOURS {
        println!("conformance: {name}");
        behaviour(&boxed);
    }
}

const KEY: &str = "key";

/// A limiter with these limits.
fn made(make: Factory<'_>, specs: &[&str]) -> Box<dyn Subject> {
    make(&Policy::parse(specs.iter().copied()).expect("specs of the suite"))
}

/// The same quota under each algorithm.
fn each(quota: &str) -> impl Iterator<Item = String> {
    Algorithm::ALL.into_iter().map(move |algorithm| format!("{quota} {algorithm}"))
}

const fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

const fn millis(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn later(now: Nanos, ns: u128) -> Nanos {
    now + Duration::from_nanos(u64::try_from(ns).expect("a wait of the suite is short"))
}

fn one_earlier(now: Nanos) -> Nanos {
    Nanos::from_nanos(now.as_nanos() - 1)
}

/// What is told of the next token is so: nothing more is left until then, and more is from then on; if nothing is
/// told, all is as it was when all that was spent has passed. How much is left then.
fn check_next(subject: &dyn Subject, told: &Outcome, now: Nanos) -> u64 {
    let left = |now| subject.peek_at(KEY, 0, now).remaining;
    if told.next_after == 0 {
        assert_eq!(left(later(now, told.reset_after)), told.remaining, "{told:?} at {now:?}");
        return told.remaining;
    }
    let then = later(now, told.next_after);
    assert_eq!(left(one_earlier(then)), told.remaining, "{told:?} at {now:?}");
    let more = left(then);
    assert!(more > told.remaining, "{told:?} at {now:?}: {more}");
    more
}

/// Spends one at a time until denied, and says how many were admitted.
fn drain(subject: &dyn Subject, now: Nanos) -> u64 {
    (0..).find(|_| !subject.acquire_at(KEY, 1, now).allowed).unwrap_or(u64::MAX)
}

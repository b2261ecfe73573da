//! The checker against all orders of small histories, right ones and corrupted ones.

use brimful::{Algorithm, Limit, Nanos, Policy};

use super::search::fits;
use super::{Answer, Call, Memory, check, witness};
use crate::trace::{SplitMix64, Verb, nearest_limit, policy_of, small_limit};
use crate::{Model, Outcome};

const BASE: u64 = 100_000_000_000;
/// Beyond the tolerance of all the limits here.
const STEP: u64 = 10_000_000_020;

/// How many histories had an order, and how many had none.
#[derive(Debug, Default)]
struct Count {
    explained: u32,
    unexplained: u32,
}

impl Count {
    fn note(&mut self, is_explained: bool) {
        *if is_explained { &mut self.explained } else { &mut self.unexplained } += 1;
    }
}

/// Whether any order of all will do.
fn any_order(policy: &Policy, memory: Memory, calls: &[Call]) -> bool {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    loop {
        let keeps_time = |(place, call): (usize, &usize)| {
            let ended = calls[*call].responded;
            order[..place].iter().all(|before| calls[*before].invoked <= ended)
        };
        if order.iter().enumerate().all(keeps_time) {
            let mut model = Model::new(policy);
            if order.iter().all(|call| fits(&mut model, &calls[*call], memory)) {
                return true;
            }
        }
        if !next_permutation(&mut order) {
            return false;
        }
    }
}

/// The next one by the alphabet; false after the last.
fn next_permutation(order: &mut [usize]) -> bool {
    let Some(fall) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let swap = order.iter().rposition(|item| *item > order[fall]).unwrap_or(fall);
    order.swap(fall, swap);
    order[fall + 1..].reverse();
    true
}

/// What is drawn, and from what.
struct Draw<'a> {
    rng: &'a mut SplitMix64,
    policy: &'a Policy,
    memory: Memory,
    /// Only such calls as the second opinion knows.
    only_acquire: bool,
    /// Some readings lie beyond the tolerance.
    steps: bool,
    /// Many calls ask the same and are told no more than whether.
    alike: bool,
}

impl Draw<'_> {
    /// The calls of threads that took effect in some order, each between its beginning and its end.
    fn history(&mut self) -> Vec<Call> {
        let capacity = self.policy.limits()[0].capacity();
        let mut model = Model::new(self.policy);
        let mut calls = Vec::new();
        let mut now = BASE;
        for place in 0..self.rng.between(1, 6) {
            now += if self.alike { 0 } else { self.rng.below(3) };
            let mut reading = now;
            if self.memory == Memory::Keeps && !self.alike && self.rng.below(3) == 0 {
                reading -= self.rng.below(4);
            }
            if self.steps && self.rng.below(4) == 0 {
                reading -= STEP;
            }
            let verb = match self.rng.below(10) {
                _ if self.only_acquire => Verb::Acquire,
                0..=5 => Verb::Acquire,
                6 => Verb::Peek,
                7 | 8 => Verb::Refund,
                _ => Verb::Reset,
            };
            let least = u64::from(self.only_acquire);
            let amount = self.rng.between(least, capacity.min(3) + 1 - least);
            let moment = 4 * place + 8;
            let call = Call {
                thread: 0,
                key: 0,
                verb,
                amount: if self.alike { 1 } else { amount },
                now: Nanos::from_nanos(reading),
                answer: Answer::Allowed(false),
                invoked: moment - self.rng.below(9),
                responded: moment + self.rng.below(9),
            };
            let answer = self.answer(&mut model, &call);
            calls.push(Call { answer, ..call });
        }
        calls
    }

    fn answer(&mut self, model: &mut Model, call: &Call) -> Answer {
        match call.verb {
            Verb::Acquire => {
                let outcome = model.acquire(call.amount, call.now);
                match self.alike || (!self.only_acquire && self.rng.below(4) == 0) {
                    true => Answer::Allowed(outcome.allowed),
                    false => Answer::Decision(outcome),
                }
            }
            Verb::Peek => Answer::Decision(model.peek(call.amount, call.now)),
            Verb::Refund => Answer::Given(model.refund(call.amount, call.now)),
            Verb::Reset => {
                let held = model.last().is_some();
                let owes = model.peek(0, call.now).reset_after > 0;
                model.reset();
                let may_be_gone = self.memory == Memory::Forgets && !owes;
                Answer::Held(held && !(may_be_gone && self.rng.below(2) == 0))
            }
        }
    }

    /// Changes one thing about a history, so that it may be wrong.
    fn corrupt(&mut self, calls: &mut [Call]) {
        let pick = |rng: &mut SplitMix64| usize::try_from(rng.below(calls.len() as u64)).unwrap();
        let (at, other) = (pick(self.rng), pick(self.rng));
        let capacity = self.policy.limits()[0].capacity();
        match self.rng.below(8) {
            0..=2 => calls[at].answer = self.corrupted(calls[at].answer),
            3 => {
                let less = calls[at].amount.saturating_sub(1).max(u64::from(self.only_acquire));
                let more = (calls[at].amount + 1).min(capacity);
                calls[at].amount = if self.rng.below(2) == 0 { less } else { more };
            }
            4 => calls[at].now = Nanos::from_nanos(calls[at].now.as_nanos() ^ self.rng.below(4)),
            5 => {
                let later = self.rng.between(1, 12);
                calls[at].invoked += later;
                calls[at].responded += later;
            }
            6 => {
                let stamps = (calls[at].invoked, calls[at].responded);
                (calls[at].invoked, calls[at].responded) =
                    (calls[other].invoked, calls[other].responded);
                (calls[other].invoked, calls[other].responded) = stamps;
            }
            _ if calls[at].verb == calls[other].verb => {
                let answer = calls[at].answer;
                calls[at].answer = calls[other].answer;
                calls[other].answer = answer;
            }
            _ => {}
        }
    }

    fn corrupted(&mut self, answer: Answer) -> Answer {
        match answer {
            Answer::Allowed(allowed) => Answer::Allowed(!allowed),
            Answer::Held(held) => Answer::Held(!held),
            Answer::Given(given) => Answer::Given(given ^ 1),
            Answer::Decision(outcome) => {
                let mut told: Outcome = outcome;
                match self.rng.below(6) {
                    0 => told.remaining ^= 1,
                    4 => told.next_after ^= 1,
                    5 => told.refused_by ^= 1,
                    1 => told.reset_after ^= 1,
                    2 => told.retry = told.retry.map(|wait| wait + 1),
                    _ => told.allowed = !told.allowed,
                }
                Answer::Decision(told)
            }
        }
    }
}

/// Gives calls that overlap to different threads, and others to the same where it can.
fn among_threads(calls: &mut [Call]) {
    let mut ends: Vec<u64> = Vec::new();
    calls.sort_by_key(|call| call.invoked);
    for call in calls {
        call.thread = ends.iter().position(|end| *end < call.invoked).unwrap_or(ends.len());
        match ends.get_mut(call.thread) {
            Some(end) => *end = call.responded,
            None => ends.push(call.responded),
        }
    }
}

/// Compares the checker with all orders, for so many histories by each of these limits.
fn compare(name: &str, histories: u32, policy: impl Fn(&mut SplitMix64) -> Policy) {
    let mut count = Count::default();
    for number in 0..histories {
        let mut rng = SplitMix64::new(u64::from(number) << 8 | 3);
        let policy = policy(&mut rng);
        let memory = if number % 4 == 0 { Memory::Forgets } else { Memory::Keeps };
        let steps = memory == Memory::Keeps && number % 2 == 0;
        let alike = number % 5 == 0;
        let mut draw =
            Draw { rng: &mut rng, policy: &policy, memory, only_acquire: false, steps, alike };
        let mut calls = draw.history();
        for _ in 0..draw.rng.below(3) {
            draw.corrupt(&mut calls);
        }
        among_threads(&mut calls);
        let expected = any_order(&policy, memory, &calls);
        let found = check(&policy, memory, &calls);
        assert_eq!(found.is_ok(), expected, "{name} {number}: {:?}\n{found:?}\n{calls:#?}", policy);
        assert!(found.err().is_none_or(|why| why.is_certain), "{name} {number}: no verdict");
        count.note(expected);
    }
    println!("{name}: {count:?}");
    assert!(count.explained > histories / 4 && count.unexplained > histories / 4, "{count:?}");
}

fn one_limit(name: &str, algorithm: Algorithm) {
    compare(name, 3_000, |rng| Policy::from(small_limit(rng, algorithm)));
}

#[test]
fn token_buckets() {
    one_limit("token buckets", Algorithm::TokenBucket);
}

#[test]
fn fixed_windows() {
    one_limit("fixed windows", Algorithm::FixedWindow);
}

#[test]
fn sliding_logs() {
    one_limit("sliding logs", Algorithm::SlidingLog);
}

#[test]
fn sliding_windows() {
    one_limit("sliding windows", Algorithm::SlidingWindow);
}

#[test]
fn several_limits() {
    compare("several limits", 3_000, |rng| {
        let kinds = [Algorithm::TokenBucket, Algorithm::SlidingLog, Algorithm::SlidingWindow];
        let start = usize::try_from(rng.below(3)).unwrap();
        let count = usize::try_from(rng.between(2, 3)).unwrap();
        let kinds = kinds.iter().cycle().skip(start).take(count);
        policy_of(kinds.map(|algorithm| small_limit(rng, *algorithm)).collect())
    });
}

/// A bucket whose tokens take whole nanoseconds.
fn whole_bucket(rng: &mut SplitMix64) -> Limit {
    let (tokens, token_ns) = (rng.between(1, 4), rng.between(1, 6));
    nearest_limit(Algorithm::TokenBucket, tokens, tokens * token_ns, rng.between(1, 6))
}

/// Both opinions and all orders.
#[test]
fn the_second_opinion_is_the_first() {
    let mut count = Count::default();
    for number in 0..12_000 {
        let mut rng = SplitMix64::new(number << 8 | 7);
        let limit = whole_bucket(&mut rng);
        let policy = Policy::from(limit.clone());
        let memory = Memory::Keeps;
        let mut draw = Draw {
            rng: &mut rng,
            policy: &policy,
            memory,
            only_acquire: true,
            steps: false,
            alike: false,
        };
        let mut calls = draw.history();
        for _ in 0..draw.rng.below(3) {
            draw.corrupt(&mut calls);
        }
        among_threads(&mut calls);
        let expected = any_order(&policy, memory, &calls);
        let found = check(&policy, memory, &calls);
        let second = witness::chain(&limit, &calls);
        let story = || format!("{number}: {limit}\n{found:?}\n{second:?}\n{calls:#?}");
        assert_eq!(found.is_ok(), expected, "{}", story());
        assert_eq!(second.is_ok(), expected, "{}", story());
        count.note(expected);
    }
    println!("both opinions: {count:?}");
    assert!(count.explained > 3_000 && count.unexplained > 3_000, "{count:?}");
}

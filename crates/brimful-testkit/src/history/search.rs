//! The search for an order of the calls for one key, in the manner of Wing and Gong, with a memory
//! of what was reached and leads nowhere.
//!
//! Answers say so much that few calls fit in a place, and most searches never turn back.

use std::collections::HashSet;
use std::fmt::Write as _;

use brimful::{Nanos, Policy};

use super::{Answer, Call, Memory, Unexplained};
use crate::trace::Verb;
use crate::{Model, Outcome};

/// Tries for each call, and beside them, before the search is given up.
const TRIES_PER_CALL: u64 = 50;
const TRIES: u64 = 100_000;

/// Looks for an order, and says how many tries it took.
pub(super) fn search(policy: &Policy, memory: Memory, calls: &[Call]) -> Result<u64, Unexplained> {
    let start = Model::new(policy);
    let mut search = Search {
        threads: by_thread(calls),
        memory,
        is_steady: is_steady(&start, calls),
        hopeless: HashSet::new(),
        tries: 0,
        most: TRIES + TRIES_PER_CALL * calls.len() as u64,
    };
    search.run(start)
}

struct Search {
    /// The calls of each thread, in order.
    threads: Vec<Vec<Call>>,
    memory: Memory,
    /// No reading of the history shows that the clock was stepped.
    is_steady: bool,
    /// What was reached and leads nowhere.
    hopeless: HashSet<Reached>,
    tries: u64,
    most: u64,
}

/// How many calls of each thread have their places, and the state that they left: the same calls in
/// another order can leave another one.
type Reached = (Vec<usize>, Option<Nanos>, Vec<i128>);

/// A place in the order that is to be filled.
struct Node {
    /// How many calls of each thread have their places.
    placed: Vec<usize>,
    model: Model,
    /// Threads whose next call may stand here and was not tried, the best one last.
    untried: Vec<usize>,
}

impl Search {
    /// Depth first, with a stack of its own: a history is longer than the stack of a thread is deep.
    fn run(&mut self, start: Model) -> Result<u64, Unexplained> {
        let root = self.node(vec![0; self.threads.len()], start);
        let mut furthest = (root.placed.clone(), root.model.clone());
        let mut stack = vec![root];
        while let Some(node) = stack.last_mut() {
            if self.is_done(&node.placed) {
                return Ok(self.tries);
            }
            if self.tries >= self.most {
                return Err(self.unexplained(false, (&node.placed, &node.model)));
            }
            let Some(thread) = node.untried.pop() else {
                let Some(Node { placed, model, .. }) = stack.pop() else { break };
                self.hopeless.insert(reached(&placed, &model));
                if count(&placed) > count(&furthest.0) {
                    furthest = (placed, model);
                }
                continue;
            };
            self.tries += 1;
            let call = self.threads[thread][node.placed[thread]];
            let mut model = node.model.clone();
            if !fits(&mut model, &call, self.memory) {
                continue;
            }
            let mut placed = node.placed.clone();
            placed[thread] += 1;
            if self.is_inert(&call) {
                // It is put for good: nothing else has to be tried in this place.
                stack.pop();
            }
            if self.hopeless.is_empty() || !self.hopeless.contains(&reached(&placed, &model)) {
                stack.push(self.node(placed, model));
            }
        }
        Err(self.unexplained(true, (&furthest.0, &furthest.1)))
    }

    fn is_done(&self, placed: &[usize]) -> bool {
        self.threads.iter().zip(placed).all(|(calls, placed)| *placed == calls.len())
    }

    /// The place after these. A call may stand there if no other one that has no place yet ended
    /// before it began; the first of those to end is some thread's next.
    ///
    /// Of calls that ask the same and are told the same only the one that ends first is tried. If
    /// there is an order with another one here, the two can change places in it: what stands between
    /// them may stand before the one that ends first, and so before the other.
    ///
    /// Inert calls come first, then the others, each by when they end: a call that is nearly over has
    /// fewer places left.
    fn node(&self, placed: Vec<usize>, model: Model) -> Node {
        let mut next: Vec<(usize, &Call)> = Vec::with_capacity(placed.len());
        for (thread, (calls, placed)) in self.threads.iter().zip(&placed).enumerate() {
            next.extend(calls.get(*placed).map(|call| (thread, call)));
        }
        let horizon = next.iter().map(|(_, call)| call.responded).min().unwrap_or(u64::MAX);
        next.retain(|(_, call)| call.invoked <= horizon);
        next.sort_unstable_by_key(|(_, call)| (!self.is_inert(call), call.responded));
        let mut kept: Vec<(usize, &Call)> = Vec::with_capacity(next.len());
        for (thread, call) in next {
            if !kept.iter().any(|(_, other)| other.is_like(call)) {
                kept.push((thread, call));
            }
        }
        let untried = kept.into_iter().rev().map(|(thread, _)| thread).collect();
        Node { placed, model, untried }
    }

    /// Whether a call leaves the state as it is wherever it gets the answer that it got.
    ///
    /// Where such a call may stand and its answer fits, it is put for good. If any order goes on from
    /// here, so does that order with this call moved here: nothing has to come before it, and
    /// without it the others meet the same states as with it.
    ///
    /// That it leaves the state *here* would not do. A denial by a stepped clock writes, in the place
    /// that the call would be moved from, and what comes after it needs that. So denials are inert
    /// only in histories whose readings show no step.
    fn is_inert(&self, call: &Call) -> bool {
        match (call.verb, call.answer) {
            (Verb::Peek, _) => true,
            (Verb::Acquire | Verb::Refund, _) if call.amount == 0 => true,
            (
                Verb::Acquire,
                Answer::Decision(Outcome { allowed, .. }) | Answer::Allowed(allowed),
            ) => !allowed && self.is_steady,
            _ => false,
        }
    }

    fn unexplained(&self, is_certain: bool, (placed, model): (&[usize], &Model)) -> Unexplained {
        let of: usize = self.threads.iter().map(Vec::len).sum();
        let far = format!("{} of {of} calls", count(placed));
        let mut why = match is_certain {
            true => format!("no order explains more than {far}"),
            false => format!("no verdict after {} tries, at {far}", self.tries),
        };
        let limits: Vec<String> = model.policy().limits().iter().map(ToString::to_string).collect();
        let _ = write!(why, "; {limits:?}, then one of");
        for (calls, placed) in self.threads.iter().zip(placed) {
            if let Some(call) = calls.get(*placed) {
                let _ = write!(why, "\n  {call:?}\n    the model says {}", says(model, call));
            }
        }
        Unexplained { is_certain, why }
    }
}

fn count(placed: &[usize]) -> usize {
    placed.iter().sum()
}

fn by_thread(calls: &[Call]) -> Vec<Vec<Call>> {
    let count = calls.iter().map(|call| call.thread + 1).max().unwrap_or(0);
    let mut threads = vec![Vec::new(); count];
    for call in calls {
        threads[call.thread].push(*call);
    }
    threads.retain(|calls| !calls.is_empty());
    for calls in &mut threads {
        calls.sort_unstable_by_key(|call| (call.invoked, call.responded));
        for pair in calls.windows(2) {
            assert!(pair[0].responded < pair[1].invoked, "calls of a thread overlap: {pair:?}");
        }
    }
    threads
}

/// A key's last change is one of the readings.
fn is_steady(model: &Model, calls: &[Call]) -> bool {
    let readings = || calls.iter().map(|call| call.now);
    let (Some(first), Some(last)) = (readings().min(), readings().max()) else { return true };
    last.since(first).as_nanos() <= model.tolerance()
}

fn reached(placed: &[usize], model: &Model) -> Reached {
    (placed.to_vec(), model.last(), model.canonical())
}

/// Lets the model make the call, and says whether it gives that answer.
pub(super) fn fits(model: &mut Model, call: &Call, memory: Memory) -> bool {
    let Call { verb, amount, now, answer, .. } = *call;
    match (verb, answer) {
        (Verb::Acquire, Answer::Decision(told)) => model.acquire(amount, now) == told,
        (Verb::Acquire, Answer::Allowed(told)) => model.acquire(amount, now).allowed == told,
        (Verb::Peek, Answer::Decision(told)) => model.peek(amount, now) == told,
        (Verb::Refund, Answer::Given(told)) => model.refund(amount, now) == told,
        (Verb::Reset, Answer::Held(told)) => {
            // A key is held from its first charge on.
            let was_charged = model.last().is_some();
            let owes = model.peek(0, now).reset_after > 0;
            model.reset();
            match told {
                true => was_charged,
                false => !was_charged || (memory == Memory::Forgets && !owes),
            }
        }
        _ => false,
    }
}

fn says(model: &Model, call: &Call) -> String {
    let mut model = model.clone();
    match call.verb {
        Verb::Acquire => format!("{:?}", model.acquire(call.amount, call.now)),
        Verb::Peek => format!("{:?}", model.peek(call.amount, call.now)),
        Verb::Refund => model.refund(call.amount, call.now).to_string(),
        Verb::Reset => format!("{}", model.last().is_some()),
    }
}

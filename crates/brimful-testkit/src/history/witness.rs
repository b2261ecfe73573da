//! A second opinion on the history of one key under one token bucket, without a search.
//!
//! Every answer gives away when the bucket will be full: `now + reset_after`. An admitted call moves
//! that time on, so that the admitted ones have one possible order; a denied one belongs to the gap in
//! which the time was the one that it was told. What remains is to replay the chain, and to see that
//! no call had ended before one of an earlier place began.
//!
//! The formulas are written out here once more, in whole nanoseconds, so that neither the library nor
//! the [`Model`](crate::Model) is asked.

use brimful::{Algorithm, Limit};

use super::{Answer, Call};
use crate::Outcome;
use crate::trace::Verb;

/// A bucket as its time of being full again.
#[derive(Clone, Copy, Debug)]
struct FullAt {
    full: u128,
    /// The latest reading that was charged: earlier ones count as that.
    last: u128,
}

/// One token and the capacity, in nanoseconds of refill.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    token: u128,
    brim: u128,
}

/// An order of the admitted calls that explains all answers.
///
/// # Errors
/// There is none, and why.
///
/// # Panics
/// The limit is not a token bucket whose tokens take whole nanoseconds; or a call is not for
/// `try_acquire_n` with 1 to `capacity` tokens, or was not told all about it.
pub fn chain(limit: &Limit, calls: &[Call]) -> Result<Vec<Call>, String> {
    let bucket = Bucket::new(limit);
    let mut chain: Vec<(u128, Call)> = Vec::new();
    let mut denied: Vec<(u128, Call)> = Vec::new();
    for call in calls {
        assert!(call.verb == Verb::Acquire && (1..=limit.capacity()).contains(&call.amount));
        let outcome = told(call);
        let full = u128::from(call.now.as_nanos()) + outcome.reset_after;
        if outcome.allowed { &mut chain } else { &mut denied }.push((full, *call));
    }
    chain.sort_by_key(|(full, _)| *full);
    let mut states = vec![FullAt { full: 0, last: 0 }];
    // Each call with its rank: odd for an admitted one, even for the gaps between them.
    let mut ranks: Vec<(usize, Call)> = Vec::with_capacity(calls.len());
    for (place, (full, call)) in chain.iter().enumerate() {
        let (outcome, state) = bucket.acquire(states[place], call);
        if outcome != told(call) || state.full != *full {
            return Err(format!("{call:?} after {:?}: {outcome:?}", states[place]));
        }
        states.push(state);
        ranks.push((2 * place + 1, *call));
    }
    for (full, call) in denied {
        // Strictly rising.
        let Ok(gap) = states.binary_search_by_key(&full, |state| state.full) else {
            return Err(format!("{call:?}: never full at {full}"));
        };
        let (outcome, _) = bucket.acquire(states[gap], &call);
        if outcome != told(&call) {
            return Err(format!("{call:?} at {:?}: {outcome:?}", states[gap]));
        }
        ranks.push((2 * gap, call));
    }
    keeps_time(ranks)?;
    Ok(chain.into_iter().map(|(_, call)| call).collect())
}

/// Whether no call had ended before one of a lower rank began.
fn keeps_time(mut ranks: Vec<(usize, Call)>) -> Result<(), String> {
    ranks.sort_by_key(|(rank, _)| *rank);
    let mut latest: Option<Call> = None;
    for same in ranks.chunk_by(|(a, _), (b, _)| a == b) {
        for (_, call) in same {
            if let Some(before) = latest.filter(|before| call.responded < before.invoked) {
                return Err(format!("{call:?} had ended before {before:?} began"));
            }
        }
        let begun = same.iter().map(|(_, call)| *call).chain(latest);
        latest = begun.max_by_key(|call| call.invoked);
    }
    Ok(())
}

fn told(call: &Call) -> Outcome {
    match call.answer {
        Answer::Decision(outcome) => outcome,
        _ => panic!("{call:?} was not told all about it"),
    }
}

impl Bucket {
    fn new(limit: &Limit) -> Self {
        let (period, tokens) = (limit.period().as_nanos(), u128::from(limit.tokens()));
        assert!(limit.chosen_algorithm() == Algorithm::TokenBucket && period % tokens == 0);
        let token = period / tokens;
        Self { token, brim: token * u128::from(limit.capacity()) }
    }

    fn acquire(self, FullAt { full, last }: FullAt, call: &Call) -> (Outcome, FullAt) {
        let now = u128::from(call.now.as_nanos());
        let at = now.max(last);
        let behind = at - now;
        let wanted = full.max(at) + u128::from(call.amount) * self.token;
        let allowed = wanted - at <= self.brim;
        let state = if allowed { FullAt { full: wanted, last: at } } else { FullAt { full, last } };
        let owed = state.full.saturating_sub(at);
        let outcome = Outcome {
            allowed,
            remaining: u64::try_from((self.brim - owed) / self.token).unwrap_or(u64::MAX),
            retry: (!allowed).then(|| wanted - at - self.brim + behind),
            never: false,
            reset_after: if owed == 0 { 0 } else { owed + behind },
            // The time until the token after the last whole one: never longer than one takes.
            next_after: if owed == 0 { 0 } else { (owed - 1) % self.token + 1 + behind },
            limit: Some(0),
            refused_by: u8::from(!allowed),
        };
        (outcome, state)
    }
}

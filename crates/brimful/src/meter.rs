//! The pure core as a type: one policy over one state, without lock, clock, key or store.

use crate::algorithm::arena::Arena;
use crate::decision::Decision;
use crate::policy::Policy;
use crate::step::{Plan, State};
use crate::time::{Nanos, span};

/// One policy and the state of one key. It reads no clock and takes no lock: the smallest form of
/// the limiter, for `no_std`, simulations and callers that keep states themselves.
///
/// All its memory is allocated when it is made: for a sliding log of N tokens 16 N bytes (on trial twice
/// that), for the other algorithms none.
///
/// The sentence that the whole crate follows from, kept by the test `the_sentence_of_the_design`:
/// of 100 tokens at 10/s, 36 are left; 5.3 seconds later there are 89.
///
/// ```
/// use brimful::{Limit, Meter, Nanos, Policy};
///
/// let mut meter = Meter::new(&Policy::from(Limit::per_second(10)?.burst(100)?));
/// let start = Nanos::from_secs(1_000);
/// assert_eq!(meter.try_acquire_at(64, start).remaining(), 36);
/// let later = Nanos::from_millis(1_005_300);
/// assert_eq!(meter.peek_at(0, later).remaining(), 89);
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Meter {
    plan: Plan,
    /// `None`: never charged, or reset.
    state: Option<State>,
    arena: Arena,
}

impl Meter {
    /// A meter as good as new.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let plan = Plan::alone(policy);
        // At most 8 logs of 65,536 runs: 8 MB. Without that much memory every log is refused. (What is on
        // trial uses no more than half of an arena.)
        let halves = if policy.is_shadow() { 2 } else { 1 };
        let runs = u32::try_from(policy.log_entries().saturating_mul(halves)).unwrap_or(u32::MAX);
        let arena = Arena::new(runs).unwrap_or_else(Arena::empty);
        Self { plan, state: None, arena }
    }

    /// Spends `cost` tokens at `now` if every limit admits them; otherwise spends nothing. Cost 0
    /// is a look: always allowed (unless the policy is `blocked`), and nothing changes.
    pub fn try_acquire_at(&mut self, cost: u64, now: Nanos) -> Decision {
        if let Some(decision) = self.plan.fixed() {
            return decision;
        }
        let mut state = self.state.unwrap_or(State::new(now));
        let step = self.plan.decide(&state, cost, now, &self.arena);
        if step.ruling.runs > self.arena.room() {
            // The arena holds all that the limits can remember, so it could not be allocated.
            let wait = span(self.plan.longest_period().into());
            return Decision::store_full(wait, self.plan.origin);
        }
        self.plan.apply(&mut state, &step.ruling, &mut self.arena);
        if self.state.is_some() || (cost > 0 && step.decision.is_allowed()) {
            self.state = Some(state);
        }
        step.decision
    }

    /// What [`try_acquire_at`](Self::try_acquire_at) would answer. Changes nothing.
    #[must_use]
    pub fn peek_at(&self, cost: u64, now: Nanos) -> Decision {
        self.plan.fixed().unwrap_or_else(|| {
            let state = self.state.unwrap_or(State::new(now));
            self.plan.decide(&state, cost, now, &self.arena).decision
        })
    }

    /// Gives up to `tokens` back, at most what is owed, and returns how many were given back.
    /// Windows: only the window counted now; the log: newest entries first. Of several limits the
    /// most that one of them took back.
    pub fn refund_at(&mut self, tokens: u64, now: Nanos) -> u64 {
        match &mut self.state {
            Some(state) => self.plan.refund(state, tokens, now, &mut self.arena),
            None => 0,
        }
    }

    /// Forgets all that was spent.
    pub fn reset(&mut self) {
        if let Some(state) = self.state.take() {
            self.plan.release(&state, &mut self.arena);
        }
    }
}

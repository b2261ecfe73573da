//! One key's step: all limits of a policy over one state, all or nothing.
//!
//! ```text
//! step(policy, state, cost, now) -> (state', Decision)
//! ```
//!
//! in two halves, so that a look is the first half alone and a full arena can be seen before
//! anything is written: [`Plan::rule`] reads, [`Plan::apply`] writes. What else a client is told
//! ([`Plan::decision`]) stands apart, because a caller who only wants to know whether does not
//! pay for it.
//!
//! States have room for `N` limits: eight in general, one where a store holds nothing wider, for
//! which the compiler then makes code without loops or copies.

#[cfg(feature = "std")]
mod answer;
mod carry;
mod plan;
#[cfg(feature = "std")]
mod receipts;
mod state;

use alloc::boxed::Box;

use crate::algorithm::arena::Arena;
use crate::algorithm::{Figures, Machine, Moment, Verdict};
use crate::decision::{Decision, Denial, Origin, Retry};
use crate::policy::Policy;
use crate::time::{Nanos, span};

#[cfg(feature = "std")]
pub(crate) use answer::{Answer, Outcome};
#[cfg(feature = "std")]
pub(crate) use carry::Look;
pub(crate) use plan::Plan;
#[cfg(feature = "std")]
pub(crate) use receipts::Receipts;

/// Backward readings of up to this, or the longest fill time or window of the key's limits, are
/// ordinary disorder; beyond it the clock was stepped.
const MIN_TOLERANCE: u64 = 10_000_000_000;

/// What is kept for one key: when it was last changed, and one level for each limit.
/// All levels zero: as good as new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State<const N: usize = { Policy::MAX_LIMITS }> {
    pub(crate) last: Nanos,
    pub(crate) levels: [u128; N],
}

impl<const N: usize> State<N> {
    /// A key never seen before.
    pub(crate) const fn new(now: Nanos) -> Self {
        Self { last: now, levels: [0; N] }
    }
}

/// The limits of a key, ready to decide: all that a step reads.
#[derive(Clone, Debug)]
pub(crate) struct Terms<M = Box<[Machine]>> {
    /// What decisions name.
    pub(crate) origin: Origin,
    /// One for each limit: those that are enforced, then those on trial.
    pub(crate) machines: M,
    /// How many are enforced.
    pub(crate) enforced: usize,
    /// Whether there is a policy on trial.
    pub(crate) has_trial: bool,
    /// Whether it is `blocked`.
    pub(crate) would_block: bool,
    /// How far back a reading may lie before it means a stepped clock.
    pub(crate) tolerance: u64,
    /// Whether any limit keeps runs in an arena.
    pub(crate) has_log: bool,
}

/// What the limits say to a request, for [`Plan::apply`] to carry out.
#[derive(Clone, Debug)]
pub(crate) struct Ruling<const N: usize = { Policy::MAX_LIMITS }> {
    /// Runs that applying it takes from the arena, beyond those that it gives back first.
    pub(crate) runs: usize,
    is_admitted: bool,
    trial: Trial,
    settled: Settled<N>,
    write: Write,
}

impl<const N: usize> Ruling<N> {
    /// Whether what is on trial would have denied it.
    #[inline]
    fn would_deny(&self) -> bool {
        self.trial == Trial::WouldDeny
    }

    /// Whether the request may go ahead.
    #[cfg(feature = "std")]
    pub(crate) fn is_admitted(&self) -> bool {
        self.is_admitted
    }

    /// Whether applying it changes anything.
    pub(crate) fn is_written(&self) -> bool {
        self.write != Write::Nothing
    }
}

/// The same, and all that a client can be told about it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) decision: Decision,
    pub(crate) ruling: Ruling,
}

/// What became of a policy on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// It is charged, or there is none.
    Passed,
    /// It admits the request, and is not charged, for want of memory for its logs.
    Unremembered,
    /// It would deny the request, and is not charged.
    WouldDeny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    /// A look, or a denial.
    Nothing,
    /// A denial by a stepped clock: the time moves, debts and counts stay.
    Anchor,
    /// Admitted.
    Charge(u64),
}

/// A state as it stands at some moment, and nothing written yet.
#[derive(Clone, Debug)]
struct Settled<const N: usize = { Policy::MAX_LIMITS }> {
    at: Moment,
    /// How far the caller's reading lies behind the time that counts.
    behind: u64,
    levels: [u128; N],
}

impl<M: AsRef<[Machine]>> Terms<M> {
    /// How many levels of a state are used.
    pub(crate) fn width(&self) -> usize {
        self.machines().len()
    }

    /// How many of the limits keep runs in an arena.
    #[cfg(feature = "std")]
    pub(crate) fn logs(&self) -> usize {
        self.machines().iter().filter(|machine| machine.is_log()).count()
    }

    /// The limit, if there is just one.
    #[cfg(feature = "std")]
    pub(crate) fn one_machine(&self) -> Option<&Machine> {
        match self.machines() {
            [machine] => Some(machine),
            _ => None,
        }
    }

    /// Whether nothing is enforced, so that no request may be denied.
    pub(crate) fn is_trial_only(&self) -> bool {
        self.enforced == 0
    }

    /// Whether any limit keeps runs in an arena.
    pub(crate) fn has_log(&self) -> bool {
        self.has_log
    }

    #[inline(always)]
    pub(super) fn machines(&self) -> &[Machine] {
        self.machines.as_ref()
    }

    /// Decides one request, says all about it, and changes nothing.
    pub(crate) fn decide(&self, state: &State, cost: u64, now: Nanos, arena: &Arena) -> Step {
        let ruling = self.rule(state, cost, now, arena);
        Step { decision: self.decision(&ruling, cost, arena), ruling }
    }

    /// Decides one request and changes nothing. A look is always admitted.
    #[inline(always)]
    pub(crate) fn rule<const N: usize>(
        &self,
        state: &State<N>,
        cost: u64,
        now: Nanos,
        arena: &Arena,
    ) -> Ruling<N> {
        self.rule_settled(&state.levels, self.settle(state, now, arena), cost, arena)
    }

    /// Decides by the levels as they are stored and as they stand.
    #[inline(always)]
    fn rule_settled<const N: usize>(
        &self,
        stored: &[u128; N],
        settled: Settled<N>,
        cost: u64,
        arena: &Arena,
    ) -> Ruling<N> {
        if self.has_trial {
            return self.rule_with_trial(stored, &settled, cost, arena);
        }
        let at = settled.at;
        let mut is_admitted = true;
        if cost > 0 {
            for (machine, level) in self.each(&settled.levels) {
                is_admitted &= machine.admits(level, cost, at, arena);
            }
        }
        let write = match cost {
            0 => Write::Nothing,
            _ if is_admitted => Write::Charge(cost),
            _ if at.stored != at.last => Write::Anchor,
            _ => Write::Nothing,
        };
        let mut runs = 0;
        if self.has_log && matches!(write, Write::Charge(_)) {
            runs = self.runs_taken(stored, &settled, N, arena);
        }
        Ruling { runs, is_admitted, trial: Trial::Passed, settled, write }
    }

    /// The same with a policy on trial, which is charged when all its limits admit the cost; for whose
    /// logs nobody is refused, and nobody forgotten.
    #[cold]
    fn rule_with_trial<const N: usize>(
        &self,
        stored: &[u128; N],
        settled: &Settled<N>,
        cost: u64,
        arena: &Arena,
    ) -> Ruling<N> {
        let at = settled.at;
        let admit = |(machine, level): (&Machine, u128)| {
            cost == 0 || machine.admits(level, cost, at, arena)
        };
        let is_admitted = self.each(&settled.levels).take(self.enforced).all(admit);
        let is_tried = self.each(&settled.levels).skip(self.enforced).all(admit);
        let write = match cost {
            0 => Write::Nothing,
            _ if is_admitted && (self.enforced > 0 || is_tried) => Write::Charge(cost),
            _ if at.stored != at.last => Write::Anchor,
            _ => Write::Nothing,
        };
        let is_passed = is_tried && !self.would_block;
        let trial = if is_passed { Trial::Passed } else { Trial::WouldDeny };
        let runs = |charged| match write {
            Write::Charge(_) => self.runs_taken(stored, settled, charged, arena),
            Write::Anchor | Write::Nothing => 0,
        };
        // Half of the runs are left to what is enforced.
        let spare = arena.room().saturating_sub(arena.used().saturating_add(arena.room()) / 2);
        let (all, enforced) = (runs(N), runs(self.enforced));
        let (trial, runs) = match trial {
            Trial::Passed if all > enforced && all > spare => (Trial::Unremembered, enforced),
            Trial::Passed => (trial, all),
            _ => (trial, enforced),
        };
        Ruling { runs, is_admitted, trial, settled: settled.clone(), write }
    }

    /// How many of the limits, the first ones, a ruling charges.
    #[inline(always)]
    fn charged<const N: usize>(&self, ruling: &Ruling<N>) -> usize {
        if ruling.trial == Trial::Passed { N } else { self.enforced }
    }

    /// Runs that a charge of so many limits takes from the arena.
    fn runs_taken<const N: usize>(
        &self,
        stored: &[u128; N],
        settled: &Settled<N>,
        charged: usize,
        arena: &Arena,
    ) -> usize {
        let at = settled.at;
        let limits = self.each(stored).zip(settled.levels).take(charged);
        limits
            .filter(|((machine, stored), level)| machine.takes_run(*stored, *level, at, arena))
            .count()
    }

    /// All that a client can be told about a ruling that was not yet applied.
    #[inline(always)]
    pub(crate) fn decision<const N: usize>(
        &self,
        ruling: &Ruling<N>,
        cost: u64,
        arena: &Arena,
    ) -> Decision {
        let Ruling { settled, is_admitted, write, .. } = ruling;
        let (at, behind) = (settled.at, u128::from(settled.behind));
        let mut worst = Verdict::Admit;
        let mut longest = None;
        let mut refused_by = 0_u8;
        if !is_admitted {
            let enforced = self.each(&settled.levels).take(self.enforced);
            for (index, (machine, level)) in (0_u8..).zip(enforced) {
                let verdict = machine.verdict(level, cost, at, arena);
                refused_by |= u8::from(verdict > Verdict::Admit).wrapping_shl(u32::from(index));
                if verdict > worst {
                    (worst, longest) = (verdict, Some(index));
                }
            }
        }
        let mut least = None;
        let mut remaining = u64::MAX;
        let mut reset_after = 0;
        let mut next_after = 0;
        let enforced = self.each(&settled.levels).take(self.enforced);
        for (index, (machine, level)) in (0..).zip(enforced) {
            let figures: Figures = match write {
                Write::Charge(cost) => machine.figures_after(level, *cost, at, arena),
                Write::Anchor | Write::Nothing => machine.figures(level, at, arena),
            };
            if least.is_none() || figures.remaining < remaining {
                (least, remaining) = (Some(index), figures.remaining);
                next_after = figures.next_after;
            } else if figures.remaining == remaining {
                next_after = match (next_after, figures.next_after) {
                    // One of those with the least is full: nothing more can come.
                    (0, _) | (_, 0) => 0,
                    (one, other) => one.max(other),
                };
            }
            if figures.reset_after > 0 {
                reset_after = reset_after.max(figures.reset_after + behind);
            }
        }
        let retry = match worst {
            Verdict::Admit => Retry::Now,
            Verdict::Wait(wait) => Retry::After(span(wait + behind)),
            Verdict::Never => Retry::Never,
        };
        Decision {
            retry,
            remaining,
            reset_after: span(reset_after),
            next_after_ns: match next_after {
                0 => 0,
                // Below 2^56 and below 2^63.
                next => next.wrapping_add(settled.behind),
            },
            limit: if *is_admitted { least } else { longest },
            refused_by,
            denial: if *is_admitted { None } else { Some(Denial::Limit) },
            would_deny: ruling.would_deny(),
            origin: self.origin,
        }
    }

    /// Carries a ruling out. The arena must have room for [`Ruling::runs`].
    #[inline(always)]
    pub(crate) fn apply<const N: usize>(
        &self,
        state: &mut State<N>,
        ruling: &Ruling<N>,
        arena: &mut Arena,
    ) {
        let Settled { at, levels, .. } = ruling.settled;
        if ruling.write == Write::Nothing {
            return;
        }
        let charged = self.charged(ruling);
        let limits = state.levels.iter_mut().zip(self.each(&levels));
        for (place, (level, (machine, settled))) in limits.enumerate() {
            *level = match ruling.write {
                Write::Charge(cost) if place < charged => {
                    machine.charge(*level, settled, cost, at, arena)
                }
                _ => machine.commit(*level, settled, at, arena),
            };
        }
        state.last = at.now;
    }

    #[inline(always)]
    fn settle<const N: usize>(&self, state: &State<N>, now: Nanos, arena: &Arena) -> Settled<N> {
        let (at, behind) = self.moment(state.last, now);
        Settled { at, behind, levels: self.levels_at(&state.levels, at, arena) }
    }

    #[inline(always)]
    fn levels_at<const N: usize>(
        &self,
        stored: &[u128; N],
        at: Moment,
        arena: &Arena,
    ) -> [u128; N] {
        let mut levels = [0; N];
        for (settled, (machine, level)) in levels.iter_mut().zip(self.each(stored)) {
            *settled = machine.settle(level, at, arena);
        }
        levels
    }

    /// The limits with what belongs to each, of which there is room for `N`.
    #[inline(always)]
    fn each<const N: usize>(&self, levels: &[u128; N]) -> impl Iterator<Item = (&Machine, u128)> {
        (0..N).map_while(|place| Some((self.machines().get(place)?, *levels.get(place)?)))
    }

    /// The rule for time that goes backwards. Within the tolerance a reading before the key's
    /// last change counts as that change: nothing is minted or lost however readings interleave.
    /// Beyond it the clock was stepped: time goes on from the new reading, and every debt and
    /// count is as it was.
    #[inline(always)]
    fn moment(&self, stored: Nanos, now: Nanos) -> (Moment, u64) {
        if now >= stored {
            (Moment { stored, last: stored, now }, 0)
        } else {
            self.moment_before(stored, now)
        }
    }

    #[cold]
    fn moment_before(&self, stored: Nanos, now: Nanos) -> (Moment, u64) {
        let behind = stored.nanos_since(now);
        if behind <= self.tolerance {
            (Moment { stored, last: stored, now: stored }, behind)
        } else {
            (Moment { stored, last: now, now }, 0)
        }
    }
}

//! Several keys in one call, all or nothing.
//!
//! All sets that could hold one of the keys are locked, every key is judged, and only when all are
//! admitted, and each has a place to be remembered in, is anything written. So no other thread sees
//! a part of it, and a denial has nothing to take back.
//!
//! The locks are those of single calls, in the same order: sets by index, each once; shared states
//! by index; the rows that came with calls; the arena.

mod judge;
mod locked;
mod places;

use super::attempt::Effort;
use super::beside::Wakes;
use super::room::ROUNDS;
use super::sweep::Hand;
use super::{Aim, Request, Store};
use crate::decision::Decision;
use crate::rows::{Held, Rows, Wanted};
use crate::time::Nanos;
use locked::Locked;

/// The most keys of one call.
pub(crate) const MOST_KEYS: usize = 16;

/// One key of a call. No two have the same fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) fingerprint: u64,
    /// 0 is a look.
    pub(crate) cost: u64,
    pub(crate) ruled: Ruled,
}

/// What the rules say about a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ruled {
    /// They were not asked: it may be in a slot that tells.
    Unasked,
    /// The row of its limits.
    Row(u32),
    /// It has none: the decision is always this one.
    NoLimits(Decision),
}

/// One call, as the store sees it.
#[derive(Debug)]
pub(crate) struct Call<'a, N> {
    /// At most [`MOST_KEYS`].
    pub(crate) charges: &'a [Charge],
    /// Reads the time; called with all sets locked to decide, and otherwise to look for room.
    pub(crate) now: N,
    pub(crate) rows: &'a Rows,
    pub(crate) wanted: Wanted,
}

/// What became of each key, in their order. One denial, and none was charged; those that are not
/// denied then say what a look would.
pub(crate) type Decisions = [Decision; MOST_KEYS];

/// For which keys the rules have to be asked first.
pub(crate) type Asked = [bool; MOST_KEYS];

/// What came of one round.
enum Round {
    Asked(Asked),
    /// Denied.
    Denied(Decisions),
    /// Allowed, charged and written.
    Written(Written),
    /// All would be admitted, but one of them, by its number, finds no slot.
    NoSlot(usize, Taken),
    /// All would be admitted, but the arena has not enough room.
    NoRuns,
}

struct Written {
    decisions: Decisions,
    /// Runs that were taken from the arena.
    runs: usize,
    /// Which keys got a slot.
    is_new: [bool; MOST_KEYS],
}

/// The sets in which the call has a use for a free slot, once for each slot; [`NO_SET`] for the
/// rest.
type Taken = [usize; MOST_KEYS];

const NO_SET: usize = usize::MAX;

/// A call with everything locked.
struct Together<'a> {
    store: &'a Store,
    charges: &'a [Charge],
    wanted: Wanted,
    rows: &'a Held<'a>,
    now: Nanos,
    effort: Effort,
}

impl Store {
    /// Charges all keys of a call or none. An error says of which keys the rules have to be asked
    /// first; nothing was done then.
    pub(crate) fn acquire_all<N: Fn() -> Nanos>(
        &self,
        call: &Call<'_, N>,
        wakes: &mut Wakes,
    ) -> Result<Decisions, Asked> {
        let mut hand = Hand::new(self, false);
        let mut effort = Effort { force_slot: false, force_runs: false };
        // Each key may need a slot that is found by itself, and what is found can be taken by other
        // threads before it is used.
        for _ in 0..ROUNDS + call.charges.len() {
            match self.round(call, effort, wakes) {
                Round::NoSlot(key, taken) => {
                    let request = call.request(key);
                    let taken = |set| taken.iter().filter(|taken| **taken == set).count();
                    effort.force_slot =
                        self.in_flood(&request) || !self.make_room_beside(&request, taken);
                }
                Round::NoRuns => effort.force_runs = !hand.sweep_some(&call.request(0)),
                round => return self.finish(round, call),
            }
        }
        let effort = Effort { force_slot: true, force_runs: true };
        self.finish(self.round(call, effort, wakes), call)
    }

    /// Does what is left to do with all locks released.
    fn finish<N: Fn() -> Nanos>(
        &self,
        round: Round,
        call: &Call<'_, N>,
    ) -> Result<Decisions, Asked> {
        match round {
            Round::Asked(asked) => Err(asked),
            Round::Denied(decisions) => Ok(decisions),
            Round::Written(Written { decisions, runs, is_new }) => {
                self.tidy(runs, &call.request(0));
                for (key, decision) in decisions.iter().enumerate() {
                    let is_new = is_new.get(key).is_some_and(|is_new| *is_new);
                    if is_new && self.shared_owes(decision.origin.row, &call.request(key)) {
                        self.counters.left_shared.add(1);
                    }
                }
                Ok(decisions)
            }
            // Never seen: with all force a round ends otherwise.
            Round::NoSlot(..) | Round::NoRuns => Ok([Decision::BLOCKED; MOST_KEYS]),
        }
    }

    /// One try with everything locked.
    fn round<N: Fn() -> Nanos>(
        &self,
        call: &Call<'_, N>,
        effort: Effort,
        wakes: &mut Wakes,
    ) -> Round {
        let round = self.round_locked(call, effort, wakes);
        self.tidy(core::mem::take(&mut wakes.runs), &call.request(0));
        round
    }

    fn round_locked<N: Fn() -> Nanos>(
        &self,
        call: &Call<'_, N>,
        effort: Effort,
        wakes: &mut Wakes,
    ) -> Round {
        let with_limits = || call.charges.iter().filter(|charge| charge.has_limits());
        let candidates = with_limits().flat_map(|charge| {
            let (first, second) = self.candidates(charge.fingerprint);
            [first, second]
        });
        let mut sets = Locked::new(&self.sets, candidates);
        let asked = self.unasked(call, &sets);
        if asked.contains(&true) {
            return Round::Asked(asked);
        }
        // Whoever may share, does so only after all else was tried.
        let shared = self.shared.as_ref().filter(|_| effort.force_slot);
        let mut shared = shared.map(|shared| {
            let strangers = with_limits()
                .filter(|charge| charge.cost > 0 && sets.find(self, charge.fingerprint).is_none());
            Locked::new(shared, strangers.filter_map(|charge| charge.shared(call.rows)))
        });
        let rows = call.rows.hold();
        let now = (call.now)();
        let mut runs = self.runs();
        let Call { charges, wanted, .. } = *call;
        let together = Together { store: self, charges, wanted, rows: &rows, now, effort };
        together.decide(&mut sets, shared.as_mut(), (wakes, runs.get()))
    }

    /// Of which keys the rules have to be asked: those without a slot, or with one that was
    /// resolved to something else than the call wants.
    fn unasked<N>(&self, call: &Call<'_, N>, sets: &Locked<'_>) -> Asked {
        let mut asked = [false; MOST_KEYS];
        let rows = call.rows.hold();
        for (asked, charge) in asked.iter_mut().zip(call.charges) {
            if matches!(charge.ruled, Ruled::Unasked) {
                let found = sets.find(self, charge.fingerprint);
                *asked = found.is_none_or(|(_, slot)| {
                    !rows.serves(slot.row, call.wanted) || rows.is_kept(slot.row)
                });
            }
        }
        asked
    }
}

impl<N: Fn() -> Nanos> Call<'_, N> {
    /// One of its keys, by its number, as a request.
    fn request(&self, key: usize) -> Request<'_, &N> {
        let Self { rows, wanted, now, .. } = self;
        let (fingerprint, cost) =
            self.charges.get(key).map_or((0, 0), |charge| (charge.fingerprint, charge.cost));
        Request { fingerprint, cost, peek: false, now, rows, wanted: *wanted, aim: Aim::Charge }
    }
}

impl Charge {
    fn has_limits(&self) -> bool {
        !matches!(self.ruled, Ruled::NoLimits(_))
    }

    /// The row that the rules named.
    fn row(&self) -> Option<u32> {
        match self.ruled {
            Ruled::Row(row) => Some(row),
            Ruled::Unasked | Ruled::NoLimits(_) => None,
        }
    }

    /// The place of the state that keys of its policy share. (Rows are held only to look it up: shared
    /// states are locked before them.)
    fn shared(&self, rows: &Rows) -> Option<usize> {
        Some(rows.hold().get(self.row()?)?.shared)
    }
}

//! Where state lives: a bounded number of slots, and what happens when a key finds none.
//!
//! A key has two candidate sets, both worked out from its fingerprint, so that a slot can be moved
//! to the other one. A key is in at most one slot: a miss is believed only with both sets locked,
//! and a move holds both.
//!
//! **A slot is free exactly when its state is as good as new.** A newcomer takes an empty or a
//! refilled slot; when both sets have none, it makes one free by moving others to their second
//! set ([`room`]); only then is the store full for it, and [`Overflow`] says what happens
//! ([`full`]). The runs of logs are another thing that can run out; [`sweep`] finds those of idle
//! keys.
//!
//! What a key has besides (receipts, and those who wait for it) is in [`beside`], under a mark in its slot.
//!
//! Locks are taken in this order: sets by index, then overflow states by index, then the rows that
//! came with calls, then the arena, then what is beside slots.

mod all;
mod attempt;
mod beside;
mod flood;
mod full;
mod line;
mod memory;
mod plain;
mod replace;
mod request;
mod room;
mod sets;
mod sweep;
mod turns;
mod visit;

use core::fmt;
use core::str::FromStr;

use crate::algorithm::arena::Arena;
use crate::decision::Decision;
use crate::error::Error;
use crate::rows::Held;
use crate::stats::StoreCounters;
use crate::step::{Answer, State, Step};
use crate::sync::{self, Mutex, MutexGuard};
use crate::time::Nanos;
pub(crate) use all::{Call, Charge, MOST_KEYS, Ruled};
use attempt::{Attempt, Effort};
use beside::Beside;
pub(crate) use beside::{Bounds, Progress, Wait, Wakes};
use flood::Flood;
pub(crate) use request::{Aim, Request};
use sets::{Set, Sets, Slot};
use sweep::Hand;
pub(crate) use visit::Asking;

/// What happens to a new key when all its candidate slots are owing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The key that owes the smallest fraction of its capacity (of equals the fewest tokens) is
    /// forgotten, and its tokens are counted as forgiven. This shields a debtor from floods of
    /// keys that owe a smaller fraction; only the other two shield it from floods that drain
    /// every key.
    #[default]
    Evict,
    /// The newcomer is denied, with the earliest time at which one of its two sets has a free slot
    /// if nobody else asks.
    Refuse,
    /// Newcomers share one state per policy. A key that later gets a slot starts full there. (For
    /// log entries there is nothing to share: when those are used up, the request is denied.)
    Share,
}

impl Overflow {
    /// All three, the default first.
    pub const ALL: [Self; 3] = [Self::Evict, Self::Refuse, Self::Share];

    /// `evict`, `refuse` or `share`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evict => "evict",
            Self::Refuse => "refuse",
            Self::Share => "share",
        }
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Overflow {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|overflow| overflow.name() == text)
            .ok_or_else(|| Error::range("overflow", format!("`{text}`"), "evict, refuse or share"))
    }
}

/// The shape of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) max_keys: u64,
    /// Limits of the widest policy.
    pub(crate) width: usize,
    /// Policies, and places for those that come with calls; each has an overflow state of its own
    /// under [`Overflow::Share`].
    pub(crate) policies: usize,
    /// Runs for all sliding logs together.
    pub(crate) log_entries: u32,
    pub(crate) overflow: Overflow,
    /// For what is beside slots.
    pub(crate) bounds: Bounds,
}

impl Shape {
    /// The most keys a store can be built for.
    pub(crate) const MAX_KEYS: u64 = 1 << 32;

    /// Sets and slots per set: at most five slots for four keys. Up to 64 slots are one set, so
    /// that a key may have any of them; up to 1,024 are in sets of 13 to 16; beyond that four to
    /// a set. (In small stores of small sets, too many keys may share their two sets by chance.)
    fn sets(&self) -> (usize, usize) {
        const ONE_SET: usize = if sync::IS_MODEL { 3 } else { 64 };
        const LARGE_SETS: usize = if sync::IS_MODEL { ONE_SET } else { 1024 };
        let keys = usize::try_from(self.max_keys).unwrap_or(usize::MAX);
        let slots = keys.saturating_add(keys / 4).max(1);
        if slots <= ONE_SET {
            (1, slots)
        } else if slots <= LARGE_SETS {
            let sets = slots.div_ceil(16);
            (sets, slots / sets)
        } else {
            (slots / 4, 4)
        }
    }
}

/// The states of all keys.
#[derive(Debug)]
pub(crate) struct Store {
    sets: Sets,
    overflow: Overflow,
    /// One state for each policy and each place for one that comes with a call, for
    /// [`Overflow::Share`], as sets of one slot; none otherwise.
    shared: Option<Sets>,
    arena: Mutex<Arena>,
    has_arena: bool,
    /// Sets are lines of four slots for one limit, and there are no logs.
    is_plain: bool,
    flood: Flood,
    beside: Beside,
    /// The set that the next sweep looks at, counted on for ever.
    hand: sync::AtomicU64,
    counters: StoreCounters,
}

/// The arena, locked while a decision needs it. A store without logs has none to lock.
struct Runs<'a> {
    locked: Option<MutexGuard<'a, Arena>>,
    none: Arena,
}

impl Runs<'_> {
    fn get(&mut self) -> &mut Arena {
        self.locked.as_deref_mut().unwrap_or(&mut self.none)
    }
}

impl Store {
    /// An empty store. Everything it will ever use is allocated here.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn new(shape: &Shape) -> Result<Self, Error> {
        let width = shape.width.max(1);
        let (count, slots_per_set) = shape.sets();
        let shared = match shape.overflow {
            Overflow::Share => Some(Sets::new(shape.policies.max(1), 1, width)?),
            Overflow::Evict | Overflow::Refuse => None,
        };
        let arena = Arena::new(shape.log_entries).ok_or_else(|| {
            Error::range("max_log_entries", shape.log_entries, "what memory can hold")
        })?;
        Ok(Self {
            sets: Sets::new(count, slots_per_set, width)?,
            overflow: shape.overflow,
            shared,
            arena: Mutex::new(arena),
            has_arena: shape.log_entries > 0,
            is_plain: (width, slots_per_set, shape.log_entries) == (1, plain::SLOTS, 0),
            flood: Flood::default(),
            beside: Beside::new(shape.bounds),
            hand: sync::AtomicU64::new(0),
            counters: StoreCounters::default(),
        })
    }

    /// Slots that a store of this shape has.
    pub(crate) fn slots_of(shape: &Shape) -> usize {
        let (count, slots_per_set) = shape.sets();
        count.saturating_mul(slots_per_set)
    }

    /// Decides for a key that has a slot; `None` when it has none, when it was resolved to something
    /// else than the call wants, or when its log needs memory that has to be found first.
    pub(crate) fn known<A: Answer, N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> Option<A> {
        let (mut set, slot) = self.lock_home(request.fingerprint)?;
        let mut home: Slot = set.read(slot)?;
        let rows = request.rows.hold();
        let plan = rows.plan_for(home.row, request.wanted)?;
        if home.is_marked || !matches!(request.aim, Aim::Charge) {
            drop((rows, set));
            return self.known_beside(request);
        }
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        if is_done(&rows, &home, now, arena) {
            return None;
        }
        let ruling = plan.rule(&home.state, request.cost, now, arena);
        if ruling.runs > arena.room() {
            return None;
        }
        let answer = A::of(plan, &ruling, request.cost, arena);
        if ruling.is_written() && !request.peek {
            let before = home.state.last;
            plan.apply(&mut home.state, &ruling, arena);
            set.write(slot, &home);
            self.note_step(before, home.state.last);
            drop((runs, rows, set));
            self.tidy(ruling.runs, request);
        }
        Some(answer)
    }

    /// The same for a key with something beside its slot, and for calls that are to get something there.
    #[cold]
    #[inline(never)]
    fn known_beside<A: Answer, N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> Option<A> {
        self.decide(None, request, &mut Wakes::default()).map(A::from)
    }

    /// Decides for a key whose policy is that of `row`, giving it a slot when it is charged. What a
    /// key owes under another row goes along.
    pub(crate) fn newcomer<N: Fn() -> Nanos>(
        &self,
        row: u32,
        request: &Request<'_, N>,
        wakes: &mut Wakes,
    ) -> Decision {
        // With a row there is always a decision.
        self.decide(Some(row), request, wakes).unwrap_or(Decision::BLOCKED)
    }

    /// The same; without a row for a key that has a slot, and `None` when its slot does not tell.
    fn decide<N: Fn() -> Nanos>(
        &self,
        row: Option<u32>,
        request: &Request<'_, N>,
        wakes: &mut Wakes,
    ) -> Option<Decision> {
        let mut hand = Hand::new(self, request.peek);
        let mut effort = Effort { force_slot: self.in_flood(request), force_runs: false };
        // What was found can be taken by other threads before it is used, so it is looked for
        // again; a few rounds are enough, and bounded.
        for _ in 0..room::ROUNDS {
            match self.attempt(row, request, effort, wakes) {
                Attempt::Unresolved => return None,
                Attempt::Decided(decision) => return Some(decision),
                Attempt::Written { step, is_new } => {
                    return Some(self.written(&step, is_new, request));
                }
                Attempt::NoSlot(_) if effort.force_slot => return Some(self.share(row?, request)),
                Attempt::NoSlot(decision) if request.peek => {
                    if self.has_room(request) {
                        return Some(decision);
                    }
                    effort.force_slot = true;
                }
                Attempt::NoSlot(_) => effort.force_slot = !self.make_room(request),
                Attempt::NoRuns => effort.force_runs = !hand.sweep_some(request),
            }
        }
        let effort = Effort { force_slot: true, force_runs: true };
        match self.attempt(row, request, effort, wakes) {
            Attempt::Unresolved => None,
            Attempt::Decided(decision) => Some(decision),
            Attempt::Written { step, is_new } => Some(self.written(&step, is_new, request)),
            Attempt::NoSlot(_) | Attempt::NoRuns => Some(self.share(row?, request)),
        }
    }

    /// Gives tokens back; 0 for a key without a slot.
    pub(crate) fn refund<N: Fn() -> Nanos>(&self, tokens: u64, request: &Request<'_, N>) -> u64 {
        let mut pair = self.lock_pair(request.fingerprint);
        let Some((set, slot)) = pair.find(request.fingerprint) else { return 0 };
        let Some(mut home): Option<Slot> = set.read(slot) else { return 0 };
        if home.is_marked {
            drop(pair);
            return self.at_home(request, |visit| visit.refund(tokens)).unwrap_or(0);
        }
        let rows = request.rows.hold();
        let Some(plan) = rows.plan(home.row) else { return 0 };
        let now = (request.now)();
        let given = plan.refund(&mut home.state, tokens, now, self.runs().get());
        set.write(slot, &home);
        self.flood.end();
        given
    }

    /// Forgets what a key has spent; false when it had no slot. It keeps its slot while others wait for it.
    pub(crate) fn reset<N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> bool {
        let Request { fingerprint, rows, .. } = *request;
        let mut pair = self.lock_pair(fingerprint);
        let Some((set, slot)) = pair.find(fingerprint) else { return false };
        if self.is_waited_for(set, slot) {
            drop(pair);
            return self.at_home(request, |visit| visit.reset()).is_some();
        }
        self.empty(set, slot, &rows.hold(), self.runs().get());
        self.flood.end();
        true
    }

    /// Slots, bytes, and what was counted.
    pub(crate) fn figures(&self) -> StoreFigures {
        let arena = sync::lock(&self.arena);
        let shared = self.shared.as_ref().map_or(0, Sets::bytes);
        StoreFigures {
            slots: self.sets.slots(),
            bytes: self.sets.bytes() + shared + arena.bytes(),
            log_entries: arena.used(),
        }
    }

    pub(crate) fn counters(&self) -> &StoreCounters {
        &self.counters
    }

    /// Those who wait, and open receipts.
    pub(crate) fn beside(&self) -> (u64, u64) {
        (self.beside.waiters(), self.beside.receipts())
    }

    /// Whether any key may have something beside its slot.
    pub(crate) fn has_beside(&self) -> bool {
        self.beside.is_used()
    }

    /// After a key's state was written, with all locks released.
    fn written<N: Fn() -> Nanos>(
        &self,
        step: &Step,
        is_new: bool,
        request: &Request<'_, N>,
    ) -> Decision {
        self.tidy(step.ruling.runs, request);
        if is_new && self.shared_owes(step.decision.origin.row, request) {
            self.counters.left_shared.add(1);
        }
        step.decision
    }

    /// Locks the set that holds the key, and says in which slot; `None` when there is none, or
    /// others are writing to its sets. Only the set in which the key seems to be is locked.
    fn lock_home(&self, fingerprint: u64) -> Option<(Set<'_>, usize)> {
        let (first, second) = self.candidates(fingerprint);
        let index = if self.sets.seems_to_hold(first, fingerprint) { first } else { second };
        let set = self.sets.lock(index);
        let slot = set.find(fingerprint)?;
        Some((set, slot))
    }

    /// Both candidate sets of the key, locked in index order.
    fn lock_pair(&self, fingerprint: u64) -> Pair<'_> {
        let (first, second) = self.candidates(fingerprint);
        self.lock_two(first, second)
    }

    fn lock_two(&self, a: usize, b: usize) -> Pair<'_> {
        let low = self.sets.lock(a.min(b));
        let high = (a != b).then(|| self.sets.lock(a.max(b)));
        Pair { low, high }
    }

    fn runs(&self) -> Runs<'_> {
        let locked = self.has_arena.then(|| sync::lock(&self.arena));
        Runs { locked, none: Arena::empty() }
    }

    /// Whether others wait for the key in a slot, so that it is not given up.
    #[inline]
    fn is_waited_for(&self, set: &Set<'_>, slot: usize) -> bool {
        set.marked(slot).is_some_and(|key| self.beside.is_waited_for(key))
    }

    /// Empties an occupied slot.
    fn empty(&self, set: &mut Set<'_>, slot: usize, rows: &Held<'_>, arena: &mut Arena) {
        if self.forget(set, slot, rows, arena) {
            self.counters.occupied.sub(1);
        }
    }

    /// Clears a slot and gives back the runs that it held, and what is beside it; false when it was empty.
    fn forget(&self, set: &mut Set<'_>, slot: usize, rows: &Held<'_>, arena: &mut Arena) -> bool {
        let Some(content): Option<Slot> = set.read(slot) else { return false };
        if content.is_marked {
            self.beside.forget(content.fingerprint);
        }
        if let Some(plan) = rows.plan(content.row) {
            plan.release(&content.state, arena);
        }
        set.clear(slot);
        rows.remove_user(content.row);
        true
    }
}

/// The size of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreFigures {
    pub(crate) slots: usize,
    pub(crate) bytes: usize,
    pub(crate) log_entries: usize,
}

/// One or two locked sets.
struct Pair<'a> {
    low: Set<'a>,
    high: Option<Set<'a>>,
}

impl<'a> Pair<'a> {
    fn sets(&mut self) -> impl Iterator<Item = &mut Set<'a>> {
        std::iter::once(&mut self.low).chain(&mut self.high)
    }

    /// What the occupied slots hold.
    fn content(&self) -> impl Iterator<Item = Slot> {
        let sets = std::iter::once(&self.low).chain(&self.high);
        sets.flat_map(|set| set.slots().filter_map(|slot| set.read(slot)))
    }

    fn find(&mut self, fingerprint: u64) -> Option<(&mut Set<'a>, usize)> {
        self.sets().find_map(|set| set.find(fingerprint).map(|slot| (set, slot)))
    }
}

/// Whether the slot's limits are those of rules that were replaced, and went on only until it owes nothing.
#[inline]
fn is_done(rows: &Held<'_>, slot: &Slot, now: Nanos, arena: &Arena) -> bool {
    rows.is_kept(slot.row) && owes_nothing(rows, slot, now, arena)
}

#[cold]
fn owes_nothing(rows: &Held<'_>, slot: &Slot, now: Nanos, arena: &Arena) -> bool {
    let Slot { row, state: State { last, levels }, .. } = slot;
    let level = |limit: usize| levels.get(limit).copied().unwrap_or(0);
    rows.plan(*row).is_some_and(|plan| plan.is_full(*last, level, now, arena))
}

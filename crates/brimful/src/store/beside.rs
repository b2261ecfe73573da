//! What a key may have beside its slot: receipts for what can still be given back, and those who wait
//! for its tokens.
//!
//! Most keys have nothing, and take no memory here. A slot has a mark while there may be something, and
//! nearly all that calls do to a slot without it passes by here. What is kept for a key is changed only with
//! the set locked that holds its slot, except that it may be closed at any time; its lock is the last that
//! is taken, and wakers are called when all locks are given back ([`Wakes`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::task::Waker;

use super::line::{Line, Scene};
use super::sets::Slot;
use super::visit::Visit;
use crate::algorithm::arena::Arena;
use crate::decision::Decision;
use crate::step::{Plan, Receipts, Ruling};
use crate::sync::{self, AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::time::Nanos;

/// Keys are spread over so many locks, and one more.
const MORE_SHARDS: u64 = if sync::IS_MODEL { 0 } else { 15 };

/// How much may be kept beside the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Those who wait, in all.
    pub(crate) waiters: u64,
    /// Those who wait for one key.
    pub(crate) waiters_per_key: u64,
    /// The longest that one may have to wait, in nanoseconds.
    pub(crate) wait: u128,
    /// Receipts that are open.
    pub(crate) receipts: u64,
}

impl Bounds {
    /// Nothing at all.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { waiters: 0, waiters_per_key: 0, wait: 0, receipts: 0 };
}

/// All that is beside slots.
#[derive(Debug)]
pub(crate) struct Beside {
    first: Mutex<Shard>,
    more: Box<[Mutex<Shard>]>,
    pub(super) bounds: Bounds,
    /// The next number of a receipt or of one who waits.
    next: AtomicU64,
    /// Keys that have something here.
    keys: AtomicU64,
    waiters: AtomicU64,
    receipts: AtomicU64,
    is_closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Shard {
    /// By fingerprint.
    keys: BTreeMap<u64, Side>,
    /// What became of those who waited, until they ask.
    told: BTreeMap<u64, Decision>,
}

/// What one key has.
#[derive(Debug, Default)]
struct Side {
    receipts: Receipts,
    line: Line,
}

/// Wakers to be called, or dropped, with no lock held: make one before anything is locked, the rules included.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    wanted: Vec<Waker>,
    unwanted: Vec<Waker>,
    /// Log entries that grants took.
    pub(super) runs: usize,
}

impl Drop for Wakes {
    fn drop(&mut self) {
        for waker in self.wanted.drain(..) {
            waker.wake();
        }
    }
}

/// Where it is said what became of those who waited.
pub(super) struct Told<'a> {
    told: &'a mut BTreeMap<u64, Decision>,
    wakes: &'a mut Wakes,
    /// Those who wait, and receipts, that were counted before they were there.
    counted: [u64; 2],
}

impl Told<'_> {
    pub(super) fn tell(&mut self, id: u64, decision: Decision, waker: Option<Waker>) {
        self.told.insert(id, decision);
        self.wake(waker);
    }

    pub(super) fn wake(&mut self, waker: Option<Waker>) {
        self.wakes.wanted.extend(waker);
    }

    pub(super) fn drop_later(&mut self, waker: Option<Waker>) {
        self.wakes.unwanted.extend(waker);
    }

    /// What was said to one who waited, who hears it now.
    pub(super) fn take(&mut self, id: u64) -> Option<Decision> {
        self.told.remove(&id)
    }
}

/// What became of one who waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// It was granted or refused.
    Told(Decision),
    /// It is to come again then.
    Waits(Nanos),
}

/// How a call wants to wait.
#[derive(Debug)]
pub(crate) struct Wait {
    /// The longest, in nanoseconds.
    pub(crate) within: u128,
    /// Its number in the queue, and when it is to be granted, if it waits.
    pub(crate) place: Cell<Option<(u64, Nanos)>>,
}

impl Beside {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            first: Mutex::default(),
            more: (0..MORE_SHARDS).map(|_| Mutex::default()).collect(),
            bounds,
            next: AtomicU64::new(1),
            keys: AtomicU64::new(0),
            waiters: AtomicU64::new(0),
            receipts: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Whether any key has something here.
    pub(super) fn is_used(&self) -> bool {
        self.keys.load(Ordering::Relaxed) > 0
    }

    /// How many wait.
    pub(crate) fn waiters(&self) -> u64 {
        self.waiters.load(Ordering::Relaxed)
    }

    /// Open receipts, those of grants included that were not yet taken up.
    pub(crate) fn receipts(&self) -> u64 {
        self.receipts.load(Ordering::Relaxed)
    }

    /// Whether all waiting has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Whether one more may wait, who then counts.
    pub(super) fn claim_waiter(&self, told: &mut Told<'_>) -> bool {
        let is_room = claim(&self.waiters, self.bounds.waiters);
        told.counted[0] += u64::from(is_room);
        is_room
    }

    /// Whether there may be one receipt more, which then counts; [`apply`](Self::apply) makes it.
    pub(super) fn claim_receipt(&self) -> bool {
        claim(&self.receipts, self.bounds.receipts)
    }

    /// Whether anybody waits for the key.
    pub(super) fn is_waited_for(&self, fingerprint: u64) -> bool {
        let shard = self.lock(fingerprint);
        shard.keys.get(&fingerprint).is_some_and(|side| !side.line.is_empty())
    }

    /// Carries a ruling out, with a receipt of its own if that is wanted, whose number it returns.
    pub(super) fn apply(
        &self,
        plan: &Plan,
        slot: &mut Slot,
        ruling: &Ruling,
        arena: &mut Arena,
        with_receipt: bool,
    ) -> Option<u64> {
        if !slot.is_marked && !with_receipt {
            plan.apply(&mut slot.state, ruling, arena);
            return None;
        }
        self.with(slot.fingerprint, &mut Wakes::default(), |side, told| {
            let id = with_receipt.then(|| self.number());
            told.counted = [0, u64::from(with_receipt)];
            plan.apply_with(&mut slot.state, ruling, arena, &mut side.receipts, id);
            side.line.forget_end();
            slot.is_marked = !side.is_empty();
            id
        })
    }

    /// What the key owes under other limits goes along, and what is beside it.
    pub(super) fn carry(
        &self,
        (plan, old): (&Plan, &Plan),
        slot: &mut Slot,
        now: Nanos,
        arena: &mut Arena,
    ) {
        if !slot.is_marked {
            slot.state = plan.carry(old, &slot.state, now, arena);
            return;
        }
        self.with(slot.fingerprint, &mut Wakes::default(), |side, _| {
            slot.state = plan.carry_with(old, &slot.state, now, arena, &mut side.receipts);
            side.line.forget_end();
        });
    }

    /// The slot of a marked key is given up. Nobody waits for it.
    pub(super) fn forget(&self, fingerprint: u64) {
        self.with(fingerprint, &mut Wakes::default(), |side, _| side.receipts.clear());
    }

    /// Does something to a key in a slot, then grants those who are due.
    pub(super) fn visit<R>(
        &self,
        slot: &mut Slot,
        (plan, now, arena): (&Plan, Nanos, &mut Arena),
        wakes: &mut Wakes,
        act: impl FnOnce(&mut Visit<'_, '_>) -> R,
    ) -> R {
        let Slot { fingerprint, ref mut is_marked, ref mut state, .. } = *slot;
        self.with(fingerprint, wakes, |Side { receipts, line }, told| {
            let scene = Scene { plan, state, now, arena };
            let used = scene.arena.used();
            let mut visit = Visit { beside: self, scene, receipts, line, told };
            let result = act(&mut visit);
            visit.grant();
            let taken = visit.scene.arena.used().saturating_sub(used);
            told.wakes.runs = told.wakes.runs.saturating_add(taken);
            *is_marked = !(receipts.is_empty() && line.is_empty());
            result
        })
    }

    /// What a look at a key is told for which others wait; `None` when nobody does. Changes nothing.
    pub(super) fn look(
        &self,
        slot: &Slot,
        cost: u64,
        (plan, now, arena): (&Plan, Nanos, &mut Arena),
    ) -> Option<Decision> {
        if !slot.is_marked {
            return None;
        }
        let shard = self.lock(slot.fingerprint);
        let side = shard.keys.get(&slot.fingerprint).filter(|side| !side.line.is_empty())?;
        let mut state = slot.state;
        Some(side.line.look(&Scene { plan, state: &mut state, now, arena }, cost))
    }

    /// Forgets a receipt whose cost is kept, and what a waiter was told, and says whether the key has nothing
    /// here any more.
    pub(super) fn take_told(&self, fingerprint: u64, id: u64) -> (Option<Decision>, bool) {
        let mut wakes = Wakes::default();
        self.with(fingerprint, &mut wakes, |side, told| {
            side.receipts.keep(id);
            (told.take(id), side.is_empty())
        })
    }

    /// Wakes all who wait, because their limits may be others now.
    pub(super) fn wake_all(&self) {
        let mut wakes = Wakes::default();
        for shard in std::iter::once(&self.first).chain(&self.more) {
            let mut shard = sync::lock(shard);
            let lines = shard.keys.values_mut().map(|side| &mut side.line);
            wakes.wanted.extend(lines.flat_map(Line::wakers));
        }
    }

    /// Ends all waiting, now and later.
    pub(super) fn close(&self) {
        let mut wakes = Wakes::default();
        self.is_closed.store(true, Ordering::Relaxed);
        for shard in std::iter::once(&self.first).chain(&self.more) {
            let mut shard = sync::lock(shard);
            let Shard { keys, told } = &mut *shard;
            for side in keys.values_mut() {
                let before = side.line.len();
                side.line.close(&mut Told { told, wakes: &mut wakes, counted: [0; 2] });
                self.waiters.fetch_sub(before as u64, Ordering::Relaxed);
            }
            keys.retain(|_, side| {
                let is_empty = side.is_empty();
                if is_empty {
                    self.keys.fetch_sub(1, Ordering::Relaxed);
                }
                !is_empty
            });
        }
    }

    /// A number that nobody had before.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self, fingerprint: u64) -> MutexGuard<'_, Shard> {
        let place = usize::try_from(fingerprint % (MORE_SHARDS + 1)).unwrap_or(usize::MAX);
        sync::lock(self.more.get(place).unwrap_or(&self.first))
    }

    /// Does something with what a key has, and counts what has changed.
    fn with<R>(
        &self,
        fingerprint: u64,
        wakes: &mut Wakes,
        act: impl FnOnce(&mut Side, &mut Told<'_>) -> R,
    ) -> R {
        let mut shard = self.lock(fingerprint);
        let Shard { keys, told } = &mut *shard;
        let mut told = Told { told, wakes, counted: [0; 2] };
        let mut new = Side::default();
        let known = keys.get_mut(&fingerprint);
        let was_known = known.is_some();
        let side = known.unwrap_or(&mut new);
        let before = side.counts();
        let result = act(side, &mut told);
        let (after, is_empty) = (side.counts(), side.is_empty());
        let counted = before.into_iter().zip(told.counted).map(|(before, more)| before + more);
        let counts = [&self.waiters, &self.receipts].into_iter().zip(counted).zip(after);
        for ((count, counted), after) in counts.filter(|((_, counted), after)| counted != after) {
            // (A difference below 0 wraps, and so does the sum.)
            count.fetch_add(after.wrapping_sub(counted), Ordering::Relaxed);
        }
        match (was_known, is_empty) {
            (true, true) => {
                keys.remove(&fingerprint);
                self.keys.fetch_sub(1, Ordering::Relaxed);
            }
            (false, false) => {
                keys.insert(fingerprint, new);
                self.keys.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        result
    }
}

/// Counts one more, unless there are as many as may be. In one step, so that nobody is refused for another
/// who is refused.
fn claim(count: &AtomicU64, most: u64) -> bool {
    let more = |count: u64| (count < most).then(|| count.saturating_add(1));
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.close();
    }
}

impl Side {
    fn counts(&self) -> [u64; 2] {
        [self.line.len(), self.receipts.len()].map(|len| u64::try_from(len).unwrap_or(u64::MAX))
    }

    fn is_empty(&self) -> bool {
        self.receipts.is_empty() && self.line.is_empty()
    }
}

//! Making room: moving slots to their second sets, so that `max_keys` owing keys fit in five
//! slots for four keys.
//!
//! A search, breadth first from the two full sets over the second sets of the keys in them, for a
//! set with a free slot; then the moves, last first. The search locks one set at a time and only
//! remembers a path; each move locks its two sets and looks again.
//!
//! At exactly `max_keys` owing keys (1,000, 10,000 and 100,000), replaced one by one, a search of
//! [`MAX_SETS`] found a slot each time of 550 million; the test `newcomers_find_a_slot` repeats a part
//! of this. While newcomers still went to the emptier of their sets, one of 10 sets found nothing one
//! time in 600, of 16 one in 10,000, of 24 one in a million, of 32 one in 56 million.
//!
//! A search that finds nothing therefore means a flood: more keys owe than the store was built
//! for. Until the first of the slots that it saw stops owing, another search would be as fruitless,
//! and newcomers go without.

use super::flood::Noting;
use super::sets::{Set, Slot};
use super::{Request, Store};
use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::rows::Held;
use crate::step::{State, Terms};
use crate::time::Nanos;

/// How often a newcomer tries again after what it found was taken by another thread.
pub(super) const ROUNDS: usize = 16;

/// Sets that one search looks at, the two that it begins with included.
const MAX_SETS: usize = 64;

/// A set reached by the search, and how: by moving `mover` there from the set of step `from`.
#[derive(Clone, Copy)]
struct Reached {
    set: usize,
    from: usize,
    mover: u64,
}

/// The sets that a search has reached, in order; the first two are where it began.
pub(super) struct Path {
    reached: [Reached; MAX_SETS],
    /// How many of them were.
    known: usize,
    /// The step with the free slot; `None` when there is none in these sets.
    end: Option<usize>,
}

impl Store {
    /// The two sets that a key can be in.
    pub(crate) fn candidates(&self, fingerprint: u64) -> (usize, usize) {
        (self.first(fingerprint), self.second(fingerprint))
    }

    /// The set in which a key is, unless it found no room there.
    #[inline]
    pub(super) fn first(&self, fingerprint: u64) -> usize {
        scale(fingerprint, self.sets.count())
    }

    /// The other one; a different one, when there are two.
    #[inline]
    pub(super) fn second(&self, fingerprint: u64) -> usize {
        let sets = self.sets.count();
        let first = scale(fingerprint, sets);
        let second = scale(fingerprint.rotate_left(32), sets);
        match second == first {
            true if second + 1 < sets => second + 1,
            true => 0,
            false => second,
        }
    }

    fn other(&self, fingerprint: u64, set: usize) -> usize {
        let (first, second) = self.candidates(fingerprint);
        if set == first { second } else { first }
    }

    /// Frees a slot in one of the key's sets, unless another thread comes between; false when there
    /// is no way to.
    pub(super) fn make_room<N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> bool {
        self.make_room_beside(request, |_| 0)
    }

    /// The same, where so many of the free slots of a set are spoken for.
    pub(super) fn make_room_beside<N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
        taken: impl Fn(usize) -> usize,
    ) -> bool {
        let path = self.path(request, taken);
        let Some(mut step) = path.end else { return false };
        while let Some(Reached { set, from, mover }) = path.reached.get(step).copied()
            && from != step
        {
            let Some(source) = path.reached.get(from) else { return false };
            if !self.move_slot(mover, source.set, set, request) {
                break;
            }
            step = from;
        }
        true
    }

    /// Whether [`make_room`](Self::make_room) would free a slot.
    pub(super) fn has_room<N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> bool {
        self.path(request, |_| 0).end.is_some()
    }

    /// A way from the key's sets to one with a free slot.
    fn path<N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
        taken: impl Fn(usize) -> usize,
    ) -> Path {
        let noting = self.flood.begin();
        let path = self.search(request, taken);
        if let Some(noting) = noting.filter(|_| path.end.is_none()) {
            self.note_flood(request, &path, noting);
        }
        path
    }

    /// Whether every slot is taken, and those that the last fruitless search saw still owe.
    pub(super) fn in_flood<N: Fn() -> Nanos>(&self, request: &Request<'_, N>) -> bool {
        let is_full = self.counters.occupied.value() >= self.sets.slots() as u64;
        is_full && self.flood.is_on(&request.now)
    }

    /// Takes note of a key that is given a slot: it may owe for a shorter time than those that the
    /// last fruitless search saw.
    pub(super) fn shorten_flood<const N: usize, M: AsRef<[Machine]>>(
        &self,
        plan: &Terms<M>,
        state: &State<N>,
        now: Nanos,
        arena: &Arena,
    ) {
        self.flood.shorten(|| {
            let wait = plan.full_after(state, now, arena);
            now.plus_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
        });
    }

    /// Takes note of a key whose time went back with a stepped clock: what it owes now it may owe for a
    /// shorter time than a search saw.
    #[inline]
    pub(super) fn note_step(&self, before: Nanos, after: Nanos) {
        if after < before {
            self.flood.end();
        }
    }

    /// Remembers until when all slots of a fruitless search owe.
    fn note_flood<N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
        path: &Path,
        noting: Noting<'_>,
    ) {
        let mut until = Nanos::MAX;
        for Reached { set, .. } in path.reached.iter().take(path.known) {
            let set = self.sets.lock(*set);
            let rows = request.rows.hold();
            let now = (request.now)();
            let mut runs = self.runs();
            let arena = runs.get();
            for slot in set.slots() {
                let content: Option<Slot> = set.read(slot);
                let Some(content) = content else { continue };
                let Some(plan) = rows.plan(content.row) else { continue };
                let wait = plan.full_after(&content.state, now, arena);
                until = until.min(now.plus_nanos(u64::try_from(wait).unwrap_or(u64::MAX)));
            }
        }
        noting.note((request.now)(), until);
    }

    fn search<N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
        taken: impl Fn(usize) -> usize,
    ) -> Path {
        let (first, second) = self.candidates(request.fingerprint);
        let start = |set, from| Reached { set, from, mover: 0 };
        let mut reached = [start(first, 0); MAX_SETS];
        let mut known = if first == second { 1 } else { 2 };
        if let Some(place) = reached.get_mut(1) {
            *place = start(second, 1);
        }
        let mut step = 0;
        while let Some(&Reached { set: at, .. }) = reached.get(step)
            && step < known
        {
            let set = self.sets.lock(at);
            let rows = request.rows.hold();
            let now = (request.now)();
            if self.has_more_free(&set, taken(at), &rows, now, self.runs().get()) {
                return Path { reached, known, end: Some(step) };
            }
            for slot in set.slots() {
                if known >= MAX_SETS {
                    break;
                }
                let Some(mover) = set.fingerprint(slot) else { continue };
                let next = self.other(mover, at);
                if reached.iter().take(known).all(|other| other.set != next)
                    && let Some(place) = reached.get_mut(known)
                {
                    *place = Reached { set: next, from: step, mover };
                    known += 1;
                }
            }
            step += 1;
        }
        Path { reached, known, end: None }
    }

    /// An empty slot, or else one that is as good as new.
    pub(super) fn free_slot(
        &self,
        set: &Set<'_>,
        rows: &Held<'_>,
        now: Nanos,
        arena: &Arena,
    ) -> Option<usize> {
        let empty = set.slots().find(|slot| set.row(*slot).is_none());
        empty.or_else(|| set.slots().find(|slot| self.is_free(set, *slot, rows, now, arena)))
    }

    /// The slot of a key that is only on trial: it makes way for those with limits that are enforced. (Only
    /// these look for room.)
    pub(super) fn trial_slot(&self, set: &Set<'_>, rows: &Held<'_>) -> Option<usize> {
        set.slots().find(|slot| self.is_trial(set, *slot, rows))
    }

    fn is_trial(&self, set: &Set<'_>, slot: usize, rows: &Held<'_>) -> bool {
        let plan = set.row(slot).and_then(|row| rows.plan(row));
        plan.is_some_and(|plan| plan.is_trial_only()) && !self.is_waited_for(set, slot)
    }

    /// Whether a set has more free slots than that, or such as make way.
    fn has_more_free(
        &self,
        set: &Set<'_>,
        taken: usize,
        rows: &Held<'_>,
        now: Nanos,
        arena: &Arena,
    ) -> bool {
        let is_free = |slot: &usize| {
            self.is_free(set, *slot, rows, now, arena) || self.is_trial(set, *slot, rows)
        };
        set.slots().filter(is_free).nth(taken).is_some()
    }

    /// A slot is free exactly when its state is as good as new, and nobody waits for the key.
    pub(super) fn is_free(
        &self,
        set: &Set<'_>,
        slot: usize,
        rows: &Held<'_>,
        now: Nanos,
        arena: &Arena,
    ) -> bool {
        let Some(row) = set.row(slot) else { return true };
        let level = |limit| set.level(slot, limit);
        let is_full =
            rows.plan(row).is_none_or(|plan| plan.is_full(set.last(slot), level, now, arena));
        is_full && !self.is_waited_for(set, slot)
    }

    /// Moves a key to a free slot of its other set, if both are still as they were seen.
    fn move_slot<N: Fn() -> Nanos>(
        &self,
        mover: u64,
        from: usize,
        to: usize,
        request: &Request<'_, N>,
    ) -> bool {
        let mut pair = self.lock_two(from, to);
        let rows = request.rows.hold();
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let source = pair.sets().find(|set| set.index() == from);
        let found = source.and_then(|set| {
            let slot = set.find(mover)?;
            let content: Slot = set.read(slot)?;
            Some((content, slot))
        });
        let Some((content, left)) = found else { return false };
        let Some(target) = pair.sets().find(|set| set.index() == to) else { return false };
        let free =
            self.free_slot(target, &rows, now, arena).or_else(|| self.trial_slot(target, &rows));
        let Some(slot) = free else { return false };
        if target.row(slot).is_some() {
            self.empty(target, slot, &rows, arena);
            self.counters.evicted_lossless.add(1);
        }
        let content = self.with_lasting_row(content, &rows);
        target.write(slot, &content);
        if let Some(source) = pair.sets().find(|set| set.index() == from) {
            source.clear(left);
        }
        true
    }
}

/// The top bits of `hash` as a number below `count`, without rounding `count` to a power of two.
#[inline]
fn scale(hash: u64, count: usize) -> usize {
    let scaled = (u128::from(hash) * count as u128) >> 64;
    usize::try_from(scaled).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Overflow, Shape, Store};

    /// Every set is used, and a key has two whenever there are two.
    #[test]
    fn a_key_has_two_sets() {
        for max_keys in [1, 60, 64, 200, 820, 5_000] {
            let shape = Shape {
                max_keys,
                width: 1,
                policies: 1,
                log_entries: 0,
                overflow: Overflow::Evict,
                bounds: Bounds::NONE,
            };
            let store = Store::new(&shape).unwrap();
            let sets = store.sets.count();
            let mut seen = vec![[false; 2]; sets];
            // Both halves of the fingerprint alike, and not.
            for n in 0..40_000_u64 {
                let high = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                for low in [high, !high & 0xffff_ffff, n * 7919 % (1 << 32)] {
                    let (first, second) = store.candidates((high << 32) | low);
                    assert!(first < sets && second < sets);
                    assert!(first != second || sets == 1, "{first} of {sets}");
                    seen[first][0] = true;
                    seen[second][1] = true;
                }
            }
            assert!(seen.iter().all(|seen| *seen == [true; 2]), "{sets} sets");
        }
    }
}

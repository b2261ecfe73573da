//! The way that nearly all calls take: in a store whose sets are lines of four slots for one limit,
//! without logs, by a row of the rules in force; to a key that has a slot and nothing beside it, or finds a
//! slot in its own two sets.
//!
//! It does what [`Store::known`] and [`Store::newcomer`] do, and leaves to them what is rarer; only,
//! the shape is known when it is compiled, so that nothing is looped over, copied or checked twice.
//! Sets are laid out and locked as in [`sets`](super::sets).

use super::sets::{LAST, LOCK, MORE, ROW_BITS, first_level, halves, is_marked, lock, row, unlock};
use super::{Aim, Request, Store};
use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::rows::{Brief, Rows};
use crate::step::{Answer, State, Terms};
use crate::sync::{AtomicU64, Ordering};
use crate::time::Nanos;

/// Slots of a set.
pub(super) const SLOTS: usize = 4;

/// The words of a slot: fingerprint, `last`, low level, high level and row.
type Words = [AtomicU64; MORE];

/// A set.
#[derive(Clone, Copy)]
struct Line<'a>(&'a [Words; SLOTS]);

/// A locked set; dropping it unlocks.
struct Locked<'a>(Line<'a>);

/// What a slot holds.
struct Content {
    fingerprint: u64,
    row: u32,
    /// Such slots are left to others; what is written here has nothing beside it.
    is_marked: bool,
    state: State<1>,
}

/// A slot of a locked set.
struct Found<'a> {
    set: &'a Locked<'a>,
    at: usize,
    content: Content,
}

impl Store {
    /// Whether [`known_plain`](Self::known_plain) knows all keys that [`known`](Self::known) does.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// As [`known`](Self::known), in a store that [is plain](Self::is_plain) for rows of the rules;
    /// in others it has no answer. (Of two callers, neither would have it inlined otherwise.)
    #[inline(always)]
    pub(crate) fn known_plain<A: Answer, N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
    ) -> Option<A> {
        if !self.is_plain {
            return None;
        }
        let (line, at) = self.glimpse(request.fingerprint)?;
        // Read here, the clock does not wait for the lock, nor for the memory of the set.
        let mut now = (request.now)();
        let (set, waited) = line.lock();
        let content = set.0.read(at)?;
        let Content { fingerprint, row, is_marked, state } = content;
        if fingerprint != request.fingerprint || is_marked {
            return None;
        }
        let brief = request.rows.brief_for(row, request.wanted)?;
        if waited || now < state.last {
            // That time is stale, or others were faster.
            now = (request.now)();
        }
        let found = Found { set: &set, at, content };
        match brief.bucket(row) {
            Some(bucket) => Some(self.decide_plain(found, &bucket, request, now)),
            None => self.decide_plain_other(found, brief, request, now),
        }
    }

    /// Decides for a key in a slot.
    #[inline(always)]
    fn decide_plain<A: Answer, N>(
        &self,
        found: Found<'_>,
        terms: &Terms<[Machine; 1]>,
        request: &Request<'_, N>,
        now: Nanos,
    ) -> A {
        let Found { set, at, mut content } = found;
        let state = &mut content.state;
        let mut arena = Arena::empty();
        let ruling = terms.rule(state, request.cost, now, &arena);
        let answer = A::of(terms, &ruling, request.cost, &arena);
        if ruling.is_written() && !request.peek {
            let before = state.last;
            terms.apply(state, &ruling, &mut arena);
            set.write(at, &content);
            self.note_step(before, content.state.last);
        }
        answer
    }

    /// The same for other algorithms than the token bucket.
    #[inline(never)]
    fn decide_plain_other<A: Answer, N>(
        &self,
        found: Found<'_>,
        brief: &Brief,
        request: &Request<'_, N>,
        now: Nanos,
    ) -> Option<A> {
        let terms = brief.terms(found.content.row)?;
        Some(self.decide_plain(found, &terms, request, now))
    }

    /// Begins to fetch the sets of some keys from memory, all at once.
    pub(crate) fn touch(&self, fingerprints: &[u64]) {
        for fingerprint in fingerprints {
            self.sets.touch(self.first(*fingerprint));
        }
        if self.is_plain {
            for fingerprint in fingerprints {
                let line = self.line(self.first(*fingerprint));
                if line.is_none_or(|line| line.glimpse(*fingerprint).is_none()) {
                    self.sets.touch(self.second(*fingerprint));
                }
            }
        }
    }

    /// As [`newcomer`](Self::newcomer), when neither of the key's sets holds it and one has a free
    /// slot; otherwise it has no answer, and nothing has changed.
    pub(crate) fn newcomer_plain<A: Answer, N: Fn() -> Nanos>(
        &self,
        row: u32,
        request: &Request<'_, N>,
    ) -> Option<A> {
        let Request { fingerprint, cost, rows, aim, .. } = *request;
        let is_charged = matches!(aim, Aim::Charge) && !request.peek;
        if !self.is_plain || self.shared.is_some() || !is_charged {
            return None;
        }
        let (first, second) = self.candidates(fingerprint);
        // A plain store has many sets, so that these are two.
        let low = self.line(first.min(second))?.lock().0;
        let high = self.line(first.max(second))?.lock().0;
        let (first, second) = if first < second { (&low, &high) } else { (&high, &low) };
        let is_known = first.0.holds(fingerprint) || second.0.holds(fingerprint);
        if is_known || !rows.are_fixed() {
            return None;
        }
        let now = (request.now)();
        let free = |set: &Locked<'_>| set.0.empty().or_else(|| set.0.refilled(rows, now));
        let (set, at) = match free(first) {
            Some(at) => (first, at),
            None => (second, free(second)?),
        };
        let terms = rows.brief_for(row, request.wanted)?.terms(row)?;
        let mut arena = Arena::empty();
        let mut state = State::new(now);
        let ruling = terms.rule(&state, cost, now, &arena);
        let answer = A::of(&terms, &ruling, cost, &arena);
        // Looks and denials never take a slot.
        if ruling.is_written() {
            terms.apply(&mut state, &ruling, &mut arena);
            match set.0.read(at) {
                Some(_) => self.counters.evicted_lossless.add(1),
                None => self.counters.occupied.add(1),
            }
            self.shorten_flood(&terms, &state, now, &arena);
            set.write(at, &Content { fingerprint, row, is_marked: false, state });
        }
        Some(answer)
    }

    /// The set and the slot in which the key seems to be; only a look with the set locked can tell.
    #[inline]
    fn glimpse(&self, fingerprint: u64) -> Option<(Line<'_>, usize)> {
        let first = self.line(self.first(fingerprint))?;
        if let Some(at) = first.glimpse(fingerprint) {
            return Some((first, at));
        }
        let second = self.line(self.second(fingerprint))?;
        second.glimpse(fingerprint).map(|at| (second, at))
    }

    #[inline]
    fn line(&self, set: usize) -> Option<Line<'_>> {
        let (lines, _) = self.sets.words().as_chunks::<{ SLOTS * MORE }>();
        let (slots, _) = lines.get(set)?.as_chunks::<MORE>();
        slots.first_chunk().map(Line)
    }
}

impl<'a> Line<'a> {
    /// Without a branch for each slot, because which one it is cannot be predicted.
    #[inline]
    fn glimpse(self, fingerprint: u64) -> Option<usize> {
        let has = |[found, ..]: &Words| found.load(Ordering::Relaxed) == fingerprint;
        let [a, b, c, _] = self.0;
        let at = if has(c) { 2 } else { 3 };
        let at = if has(b) { 1 } else { at };
        let at = if has(a) { 0 } else { at };
        self.0.get(at).is_some_and(has).then_some(at)
    }

    /// The locked set, and whether it had to be waited for.
    #[inline]
    fn lock(self) -> (Locked<'a>, bool) {
        let waited = lock(self.lock_word());
        (Locked(self), waited)
    }

    #[inline]
    fn lock_word(self) -> &'a AtomicU64 {
        let [[_, word, ..], ..] = self.0;
        word
    }

    #[inline]
    fn read(self, at: usize) -> Option<Content> {
        let words = self.0.get(at)?;
        let [fingerprint, last, low, high_and_row] =
            words.each_ref().map(|word| word.load(Ordering::Relaxed));
        let levels = [first_level(low, high_and_row)];
        let state = State { last: Nanos::from_nanos(last & !LOCK), levels };
        let is_marked = is_marked(high_and_row);
        Some(Content { fingerprint, row: row(high_and_row)?, is_marked, state })
    }

    fn holds(self, fingerprint: u64) -> bool {
        (0..SLOTS).any(|at| self.read(at).is_some_and(|slot| slot.fingerprint == fingerprint))
    }

    fn empty(self) -> Option<usize> {
        (0..SLOTS).find(|at| self.read(*at).is_none())
    }

    /// A slot that is as good as new.
    fn refilled(self, rows: &Rows, now: Nanos) -> Option<usize> {
        let is_full = |Content { row, is_marked, state, .. }: Content| {
            let [level] = state.levels;
            let terms = rows.brief(row).and_then(|brief| brief.terms(row));
            !is_marked
                && terms
                    .is_some_and(|terms| terms.is_full(state.last, |_| level, now, &Arena::empty()))
        };
        (0..SLOTS).find(|at| self.read(*at).is_some_and(is_full))
    }
}

impl Locked<'_> {
    #[inline]
    fn write(&self, at: usize, content: &Content) {
        let Content { fingerprint, row, is_marked: _, state } = content;
        let Some(words) = self.0.0.get(at) else { return };
        let [level] = state.levels;
        let (low, high) = halves(level);
        // The first slot's `last` shares its word with the lock bit, which the holder keeps set.
        let lock = if at == 0 { LOCK } else { 0 };
        let values = [
            *fingerprint,
            state.last.as_nanos() | lock,
            low,
            (high << ROW_BITS) | (u64::from(*row) + 1),
        ];
        for (word, value) in words.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        unlock(self.0.lock_word());
    }
}

const _: () = assert!(LAST == 1, "the place of the lock");

#[cfg(test)]
mod tests {
    use super::super::Set;
    use super::super::sets::Sets;
    use super::*;

    /// The words are those of [`Set`], and the lock bit stays while a set is held.
    #[test]
    fn a_line_is_a_set() {
        let sets = Sets::new(3, SLOTS, 1).unwrap();
        let line = |index: usize| {
            let (slots, _) = sets.words().as_chunks::<MORE>();
            Line(slots[index * SLOTS..].first_chunk().unwrap())
        };
        let content = |number: u64| Content {
            fingerprint: number << 40 | 1,
            row: number as u32,
            is_marked: false,
            state: State {
                last: Nanos::from_nanos(number << 50),
                levels: [u128::from(number) << 85 | 5],
            },
        };
        let is_locked = |index: usize| line(index).lock_word().load(Ordering::Relaxed) & LOCK != 0;
        for index in 0..3 {
            let (set, waited) = line(index).lock();
            assert!(!waited);
            for at in 0..SLOTS {
                assert!(is_locked(index) && set.0.read(at).is_none());
                assert_eq!(set.0.empty(), Some(at));
                set.write(at, &content((10 * index + at) as u64 + 1));
                assert!(is_locked(index), "the lock was lost by slot {at}");
            }
            assert_eq!(set.0.empty(), None);
            drop(set);
            assert!(!is_locked(index));
        }
        for index in 0..3 {
            let set: Set<'_> = sets.lock(index);
            for at in 0..SLOTS {
                let expected = content((10 * index + at) as u64 + 1);
                let found = set.read::<1>(at).unwrap();
                assert_eq!((found.fingerprint, found.row), (expected.fingerprint, expected.row));
                assert_eq!(found.state, expected.state);
                assert_eq!(line(index).glimpse(expected.fingerprint), Some(at));
                assert!(line(index).holds(expected.fingerprint));
                assert_eq!(line((index + 1) % 3).glimpse(expected.fingerprint), None);
            }
        }
    }
}

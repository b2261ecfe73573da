//! Finding what idle keys still hold, without a thread or a pause: expired runs, and rows that came
//! with calls.
//!
//! A log gives its expired runs back when it is next charged; the log of a key that is never seen
//! again does not. So, once half of the arena is used, each run taken pays for a look at one set.
//!
//! With S runs, Z sets (the shared states count as one each) and S >= 2 Z: when the arena is full,
//! the last Z runs taken have swept every set. A run that has expired but is still held was
//! unexpired when its set was swept, or taken since: at most L + Z of these, where L is the most
//! that are unexpired at any one time, and at most L more are unexpired now. So the arena is never
//! full while 2 L + Z < S.
//!
//! The places for rows that come with calls are looked after in a like way: while more than half of
//! them are in use, each new row pays for a look at so many sets that all are seen before the other
//! half can be taken by new rows (up to [`MOST_SETS_FOR_A_ROW`]), and a row that finds no place, for
//! that many at once.

use super::{Request, Store};
use crate::rows::Rows;
use crate::sync::{self, Ordering};
use crate::time::Nanos;

/// Sets that one search for runs looks at.
const SETS: usize = 64;

/// The most sets that one call looks at for a new row.
const MOST_SETS_FOR_A_ROW: usize = 1024;

/// Where one request's searches for runs have got to. A peek looks where the call itself would,
/// and leaves the store's hand where it was.
pub(super) struct Hand<'a> {
    store: &'a Store,
    peek: bool,
    looked_at: u64,
}

impl<'a> Hand<'a> {
    pub(super) fn new(store: &'a Store, peek: bool) -> Self {
        Self { store, peek, looked_at: 0 }
    }

    /// Looks at some sets for expired runs, up to the first that has any, and says whether there
    /// was one.
    pub(super) fn sweep_some<N: Fn() -> Nanos>(&mut self, request: &Request<'_, N>) -> bool {
        for _ in 0..SETS.min(self.store.swept_sets(request.rows)) {
            let ahead = if self.peek { self.looked_at } else { 0 };
            let index = match self.peek {
                true => self.store.hand.load(Ordering::Relaxed),
                false => self.store.hand.fetch_add(1, Ordering::Relaxed),
            };
            self.looked_at += 1;
            let hand = index.wrapping_add(ahead);
            if self.store.sweep(hand, request.rows, &request.now, request.peek) {
                return true;
            }
        }
        false
    }
}

impl Store {
    /// Pays for the runs that a call took.
    pub(super) fn tidy<N: Fn() -> Nanos>(&self, taken: usize, request: &Request<'_, N>) {
        for _ in 0..taken {
            let half_used = {
                let arena = sync::lock(&self.arena);
                arena.used() > arena.room()
            };
            if !half_used {
                return;
            }
            let hand = self.hand.fetch_add(1, Ordering::Relaxed);
            self.sweep(hand, request.rows, &request.now, false);
        }
    }

    /// Looks in some sets for keys that owe nothing any more under a row that came with a call, and
    /// forgets them: in so many that all are seen by half as many looks as there are places for rows,
    /// or when a call is refused without, in as many as one call may look at. (Slots whose time lies
    /// ahead of a clock that was stepped back are left to their own next call: a late reading must
    /// not move what others owe.)
    pub(crate) fn tidy_rows(&self, rows: &Rows, now: Nanos, is_full: bool) {
        let (_, most) = rows.given();
        let sets = self.swept_sets(rows);
        let enough = match is_full {
            _ if most == 0 => 0,
            true => sets,
            false => sets.saturating_mul(2).div_ceil(most),
        };
        for _ in 0..enough.min(MOST_SETS_FOR_A_ROW) {
            let hand = self.hand.fetch_add(1, Ordering::Relaxed);
            self.sweep(hand, rows, &|| now, false);
        }
    }

    fn swept_sets(&self, rows: &Rows) -> usize {
        let shared = self.shared.as_ref().map_or(0, |shared| shared.count());
        self.sets.count() + shared.min(rows.shared_states())
    }

    /// Gives up what the keys of one set hold and do not need, and says whether there were expired
    /// runs among it.
    fn sweep(&self, hand: u64, rows: &Rows, now: &impl Fn() -> Nanos, peek: bool) -> bool {
        let sets = u64::try_from(self.swept_sets(rows)).unwrap_or(u64::MAX).max(1);
        let index = usize::try_from(hand % sets).unwrap_or(0);
        let shared = self.shared.as_ref().zip(index.checked_sub(self.sets.count()));
        let mut set = match shared {
            Some((shared, row)) => shared.lock(row),
            None => self.sets.lock(index),
        };
        let rows = rows.hold();
        let now = now();
        let mut runs = self.runs();
        let arena = runs.get();
        let before = arena.used();
        for slot in set.slots() {
            let Some(mut content) = set.read(slot) else { continue };
            let Some(plan) = rows.plan(content.row) else { continue };
            let stored = content.state;
            if rows.is_given(content.row) && self.is_free(&set, slot, &rows, now, arena) {
                if shared.is_some() {
                    self.forget(&mut set, slot, &rows, arena);
                } else {
                    self.empty(&mut set, slot, &rows, arena);
                }
                continue;
            }
            if !plan.has_log() {
                continue;
            }
            if !peek && arena.room() == 0 {
                plan.anchor(&mut content.state, now, arena);
            }
            plan.trim(&mut content.state, now, arena);
            if content.state != stored {
                set.write(slot, &content);
                self.note_step(stored.last, content.state.last);
            }
        }
        arena.used() < before
    }
}

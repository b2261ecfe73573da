//! Finding the expired runs of idle keys, and slots that stand for nothing any more, without a thread
//! or a pause.
//!
//! A log gives its expired runs back when it is next charged; the log of a key that is never seen
//! again does not. So, once half of the arena is used, each run taken pays for a look at one set.
//!
//! With S runs, Z sets (the shared states count as one each) and S >= 2 Z: when the arena is full,
//! the last Z runs taken have swept every set. A run that has expired but is still held was
//! unexpired when its set was swept, or taken since: at most L + Z of these, where L is the most
//! that are unexpired at any one time, and at most L more are unexpired now. So the arena is never
//! full while 2 L + Z < S.

use super::{Request, Store, forget};
use crate::rows::GENERATIONS;
use crate::step::Step;
use crate::sync::{self, Ordering};
use crate::time::Nanos;

/// Sets that one search for runs looks at.
const SETS: usize = 64;

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
        for _ in 0..SETS.min(self.store.swept_sets()) {
            let ahead = if self.peek { self.looked_at } else { 0 };
            let index = match self.peek {
                true => self.store.hand.load(Ordering::Relaxed),
                false => self.store.hand.fetch_add(1, Ordering::Relaxed),
            };
            self.looked_at += 1;
            if self.store.sweep(index.wrapping_add(ahead), request) {
                return true;
            }
        }
        false
    }
}

impl Store {
    /// Pays for the runs that a step took.
    pub(super) fn tidy<N: Fn() -> Nanos>(&self, step: &Step, request: &Request<'_, N>) {
        for _ in 0..step.runs {
            let half_used = {
                let arena = sync::lock(&self.arena);
                arena.used() > arena.room()
            };
            if !half_used {
                return;
            }
            self.sweep(self.hand.fetch_add(1, Ordering::Relaxed), request);
        }
    }

    /// Pays for the change of a row that came with a call: empties slots with outdated numbers in so
    /// many sets that all are seen before a number comes again.
    pub(crate) fn tidy_rows<N: Fn() -> Nanos>(&self, request: &Request<'_, N>) {
        let sets = u64::try_from(self.swept_sets()).unwrap_or(u64::MAX);
        for _ in 0..=sets / u64::from(GENERATIONS) {
            self.sweep(self.hand.fetch_add(1, Ordering::Relaxed), request);
        }
    }

    fn swept_sets(&self) -> usize {
        self.sets.count() + self.shared.as_ref().map_or(0, |shared| shared.count())
    }

    /// Gives the expired runs of one set back to the arena, and says whether there were any.
    fn sweep<N: Fn() -> Nanos>(&self, hand: u64, request: &Request<'_, N>) -> bool {
        let sets = u64::try_from(self.swept_sets()).unwrap_or(u64::MAX).max(1);
        let index = usize::try_from(hand % sets).unwrap_or(0);
        let mut set = match (&self.shared, index.checked_sub(self.sets.count())) {
            (Some(shared), Some(row)) => shared.lock(row),
            _ => self.sets.lock(index),
        };
        let rows = request.rows.hold();
        let now = (request.now)();
        let mut runs = self.runs();
        let arena = runs.get();
        let before = arena.used();
        for slot in set.slots() {
            let Some(mut content) = set.read(slot) else { continue };
            let Some(plan) = rows.plan(content.row) else {
                if index < self.sets.count() {
                    self.empty(&mut set, slot, &rows, arena);
                } else {
                    forget(&mut set, slot, &rows, arena);
                }
                continue;
            };
            if !plan.has_log() {
                continue;
            }
            if !request.peek && arena.room() == 0 {
                plan.anchor(&mut content.state, now, arena);
            }
            plan.trim(&mut content.state, now, arena);
            set.write(slot, &content);
        }
        arena.used() < before
    }
}

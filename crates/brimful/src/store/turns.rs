//! What is done to keys with something beside their slots: receipts are settled, and those who wait ask
//! or go.

use std::task::Waker;

use super::beside::{Progress, Wakes};
use super::room::ROUNDS;
use super::sets::Slot;
use super::sweep::Hand;
use super::visit::{Asking, Visit};
use super::{Request, Store};
use crate::decision::Decision;
use crate::time::Nanos;

impl Store {
    /// Leaves only `actual` charged of what a receipt is for, and says how much is given back.
    pub(crate) fn settle<N: Fn() -> Nanos>(
        &self,
        id: u64,
        actual: u64,
        request: &Request<'_, N>,
    ) -> u64 {
        self.at_home(request, |visit| visit.settle(id, actual)).unwrap_or(0)
    }

    /// A receipt is done with; what it cost stays spent.
    pub(crate) fn keep(&self, fingerprint: u64, id: u64) {
        self.take_told(fingerprint, id);
    }

    fn take_told(&self, fingerprint: u64, id: u64) -> Option<Decision> {
        let mut pair = self.lock_pair(fingerprint);
        let (told, is_empty) = self.beside.take_told(fingerprint, id);
        if let Some((set, slot)) = pair.find(fingerprint).filter(|_| is_empty) {
            set.unmark(slot);
        }
        told
    }

    /// What became of one who waits.
    pub(crate) fn poll<N: Fn() -> Nanos>(
        &self,
        asking: Asking,
        waker: &Waker,
        request: &Request<'_, N>,
    ) -> Progress {
        let mut hand = Hand::new(self, false);
        let mut refuse = false;
        // What is left of it is dropped with no lock held.
        let mut waker = Some(waker.clone());
        for round in 1..=ROUNDS {
            // The last one does not leave it in line.
            refuse |= round == ROUNDS;
            match self.at_home(request, |visit| visit.poll(asking, &mut waker, refuse)) {
                Some(Ok(progress)) => return progress,
                // There are no log entries for it. It is the only one who looks for them elsewhere.
                Some(Err(_)) => refuse = !hand.sweep_some(request),
                None => break,
            }
        }
        // Its key may have gone since it was granted.
        let told = self.take_told(request.fingerprint, asking.id);
        Progress::Told(told.unwrap_or(Decision::CLOSED))
    }

    /// Lets one who waits go, with what it was granted.
    pub(crate) fn leave<N: Fn() -> Nanos>(&self, id: u64, request: &Request<'_, N>) {
        if self.at_home(request, |visit| visit.leave(id)).is_none() {
            self.keep(request.fingerprint, id);
        }
    }

    /// Wakes all who wait, because their limits may be others now.
    pub(crate) fn wake_all(&self) {
        self.beside.wake_all();
    }

    /// Ends all waiting, now and later.
    pub(crate) fn close(&self) {
        self.beside.close();
    }

    /// Does something to a key that has a slot.
    pub(super) fn at_home<R, N: Fn() -> Nanos>(
        &self,
        request: &Request<'_, N>,
        act: impl FnOnce(&mut Visit<'_, '_>) -> R,
    ) -> Option<R> {
        let mut wakes = Wakes::default();
        let mut pair = self.lock_pair(request.fingerprint);
        let (set, place) = pair.find(request.fingerprint)?;
        let mut home: Slot = set.read(place)?;
        let rows = request.rows.hold();
        let plan = rows.plan(home.row)?;
        let now = (request.now)();
        let mut runs = self.runs();
        let before = home.state.last;
        let result = self.beside.visit(&mut home, (plan, now, runs.get()), &mut wakes, act);
        set.write(place, &home);
        self.note_step(before, home.state.last);
        // It may owe for a shorter time now.
        self.flood.end();
        drop((runs, rows, pair));
        self.tidy(wakes.runs, request);
        Some(result)
    }
}

//! The open receipts of one key, and what each holds of each limit.

use alloc::vec::Vec;

use super::head::{Change, Head, Share};
use crate::algorithm::arena::Arena;
use crate::algorithm::{Machine, Moment, Part, scaled};
use crate::step::State;

/// The open receipts of one key, or of a state that keys share. Those that can give nothing back
/// any more may be gone before they are settled. Empty, it holds no memory.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Receipts {
    /// Oldest first; their ids grow.
    entries: Vec<Entry>,
    /// One share for each limit, for each entry.
    shares: Vec<Share>,
    /// One for each limit.
    heads: Vec<Head>,
    /// Nanoseconds that passed in the state, for the ages of runs. They wrap: but when no run is left of a
    /// log, no receipt of before holds anything, and no period is longer than 2^55 ns.
    clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    /// Tokens that were charged.
    cost: u64,
    /// The ledger's clock then.
    at: u64,
}

impl Receipts {
    /// Whether no receipt is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many receipts are kept.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all of them: the state that they belonged to is gone. They give nothing back any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The receipt is settled with what it cost: nothing comes back. No state is needed. Nothing happens for an
    /// unknown id.
    pub(crate) fn keep(&mut self, id: u64) {
        let Some((place, _)) = self.find(id) else {
            return;
        };
        let width = self.width();
        let (own, next) = (place.saturating_mul(width), place.saturating_add(1));
        for limit in 0..width {
            // The gaps before and after it become one.
            let share = self.shares.get(own.saturating_add(limit)).copied();
            let after = next.saturating_mul(width).saturating_add(limit);
            let Some((head, share)) = self.heads.get_mut(limit).zip(share) else { continue };
            if id < head.since {
                continue;
            }
            match self.shares.get_mut(after) {
                Some(after) => after.low = head.lower(share.low, after.low),
                None => head.low = head.lower(share.low, head.low),
            }
        }
        self.remove(place, next);
    }

    /// The place of an open receipt, and what it cost.
    pub(super) fn find(&self, id: u64) -> Option<(usize, u64)> {
        let place = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        Some((place, self.entries.get(place)?.cost))
    }

    /// The ledger begins beside a state with these levels, settled.
    pub(super) fn begin(&mut self, machines: &[Machine], settled: &[u128]) {
        self.clear();
        if self.heads.try_reserve_exact(machines.len()).is_err() {
            return;
        }
        let levels = machines.iter().zip(settled);
        self.heads.extend(levels.map(|(machine, level)| Head::of(machine, *level, 0)));
    }

    /// Time has passed between the levels as stored and as settled.
    pub(super) fn pass(
        &mut self,
        machines: &[Machine],
        stored: &[u128],
        settled: &[u128],
        at: Moment,
    ) {
        let next = self.next_id();
        let levels = stored.iter().zip(settled);
        for ((head, machine), (stored, settled)) in self.heads.iter_mut().zip(machines).zip(levels)
        {
            if *settled == 0 {
                head.restart(0, next);
            } else if machine.brim().is_some() {
                head.pay(stored.saturating_sub(*settled));
            } else if machine.has_turned(*stored, *settled) {
                (head.since, head.turned) = (head.turned, next);
            }
        }
        self.clock = self.clock.wrapping_add(at.elapsed());
        self.drop_worthless();
    }

    /// `cost` was charged to the first `charged` of the limits: the levels are now `levels`. With an id
    /// it gets a receipt, if there is memory for one.
    pub(super) fn charge(
        &mut self,
        machines: &[Machine],
        settled: &[u128],
        levels: &[u128],
        cost: u64,
        charged: usize,
        id: Option<u64>,
    ) {
        let has_room = |receipts: &mut Self| {
            let width = receipts.width();
            let room = receipts.entries.try_reserve(1).and(receipts.shares.try_reserve(width));
            width == machines.len() && room.is_ok()
        };
        let id = id.filter(|id| *id >= self.next_id() && has_room(self));
        let levels = settled.iter().zip(levels).enumerate();
        for ((head, machine), (limit, (settled, level))) in
            self.heads.iter_mut().zip(machines).zip(levels)
        {
            let mut share = Share { low: head.low, worth: 0 };
            if machine.brim().is_some() {
                share.worth = level.saturating_sub(*settled);
                head.v = head.v.wrapping_add(share.worth);
            } else if limit < charged {
                share.worth = cost.into();
            }
            if id.is_some() {
                head.low = head.v;
                self.shares.push(share);
            }
        }
        match id {
            Some(id) => self.entries.push(Entry { id, cost, at: self.clock }),
            None if self.is_empty() => self.clear(),
            None => {}
        }
    }

    /// Tokens were given back to the limits, whose levels were `settled`.
    pub(super) fn refund(
        &mut self,
        machines: &[Machine],
        settled: &[u128],
        state: &State,
        arena: &Arena,
    ) {
        let next = self.next_id();
        let levels = settled.iter().zip(state.levels);
        for (limit, (machine, (settled, level))) in machines.iter().zip(levels).enumerate() {
            let Some(head) = self.heads.get_mut(limit) else { return };
            if level == 0 {
                head.restart(0, next);
                continue;
            }
            let Some(newest) = machine.newest(level, state.last, arena) else {
                head.pay(settled.saturating_sub(level));
                continue;
            };
            let turned = head.turned;
            let (clock, mut left) = (self.clock, u128::from(newest.tokens));
            for (entry, share) in self.column(limit).filter(|(entry, _)| entry.id >= turned) {
                let age = clock.wrapping_sub(entry.at);
                if newest.age.is_some_and(|newest| age > newest) {
                    continue;
                }
                // What is newer than the newest run is gone.
                let is_gone = newest.age.is_some_and(|newest| age < newest);
                share.worth = if is_gone { 0 } else { share.worth.min(left) };
                left = left.saturating_sub(share.worth);
            }
        }
        self.drop_worthless();
    }

    /// Takes out of a bucket what the receipt at a place is worth beyond `actual`. Returns the ticks by which
    /// the debt is less, and how many of the receipt's tokens those are, rounded up.
    pub(super) fn free(&mut self, limit: usize, place: usize, actual: u64) -> (u128, u64) {
        let next = self.next_id();
        let Some((entry, worth)) = self.share(limit, place) else {
            return (0, 0);
        };
        if worth == 0 {
            return (0, 0);
        }
        // Worth of one token, if that is whole: it always is, until it has been carried to another bucket.
        let cost = u128::from(entry.cost);
        let each = worth.checked_div(cost).filter(|each| each.wrapping_mul(cost) == worth);
        let kept = match each {
            Some(each) => each.wrapping_mul(actual.into()),
            None => scaled(actual.into(), worth, cost),
        };
        let ticks = worth.saturating_sub(kept);
        let debt = self.debt(limit);
        for (_, share) in self.column(limit).take(place.saturating_add(1)) {
            share.low = share.low.wrapping_add(ticks);
        }
        let left = self.debt(limit);
        if let Some(head) = self.heads.get_mut(limit).filter(|_| left == 0) {
            head.restart(0, next);
        }
        let paid = debt.saturating_sub(left);
        let tokens = each.map_or_else(|| scaled(paid, cost, worth), |each| paid.div_ceil(each));
        // At most `cost - actual`.
        (paid, u64::try_from(tokens).unwrap_or(u64::MAX))
    }

    /// What the receipt at a place holds of a window or log beyond `actual`.
    pub(super) fn part(&self, limit: usize, place: usize, actual: u64) -> Part {
        let Some((entry, worth)) = self.share(limit, place) else {
            return Part { tokens: 0, age: 0, is_previous: false };
        };
        let worth = u64::try_from(worth).unwrap_or(u64::MAX);
        Part {
            tokens: worth.min(entry.cost.saturating_sub(actual)),
            age: self.clock.wrapping_sub(entry.at),
            is_previous: self.heads.get(limit).is_some_and(|head| entry.id < head.turned),
        }
    }

    /// The limits are others, and their levels these: each with the old limit from which it goes on, and that one's
    /// place.
    pub(super) fn carry<'a>(
        &mut self,
        limits: impl Iterator<Item = (&'a Machine, u128, Option<(usize, &'a Machine)>)> + Clone,
    ) {
        let next = self.next_id();
        let (mut heads, mut shares) = (Vec::new(), Vec::new());
        let width = limits.clone().count();
        let room = heads.try_reserve_exact(width).and_then(|()| {
            let all = self.len().saturating_mul(width);
            shares.try_reserve_exact(all)
        });
        if self.is_empty() || width == 0 || room.is_err() {
            return self.clear();
        }
        for (machine, level, from) in limits.clone() {
            let goes_on = from.and_then(|(place, old)| {
                let change = Change::between(machine, old)?;
                Some(self.heads.get(place)?.carried(level, change))
            });
            heads.push(goes_on.unwrap_or_else(|| Head::of(machine, level, next)));
        }
        for (place, _) in self.entries.iter().enumerate() {
            for (machine, level, from) in limits.clone() {
                let share = from.and_then(|(limit, old)| {
                    let own = place.saturating_mul(self.width()).saturating_add(limit);
                    let change = Change::between(machine, old)?;
                    Some(self.heads.get(limit)?.carried_share(self.shares.get(own)?, level, change))
                });
                shares.push(share.unwrap_or(Share::NOTHING));
            }
        }
        (self.heads, self.shares) = (heads, shares);
        self.drop_worthless();
    }

    /// Drops the first receipts, as long as they are worth nothing in any limit. (In a bucket their gaps are
    /// before all that count.)
    pub(super) fn drop_worthless(&mut self) {
        let since = self.heads.iter().map(|head| head.since).min().unwrap_or(0);
        if self.entries.first().is_some_and(|first| first.id < since) {
            self.remove(0, self.entries.partition_point(|entry| entry.id < since));
        }
    }

    /// Removes the receipts of these places.
    fn remove(&mut self, from: usize, until: usize) {
        let width = self.width();
        if until.saturating_sub(from) >= self.len() {
            return self.clear();
        }
        let share = |place: usize| place.saturating_mul(width).min(self.shares.len());
        let shares = share(from)..share(until);
        self.shares.drain(shares);
        self.entries.drain(from..until.min(self.entries.len()));
    }

    /// The debt of a bucket: the greatest `V - m`.
    fn debt(&mut self, limit: usize) -> u128 {
        let Some(head) = self.heads.get(limit).copied() else { return 0 };
        let live = self.column(limit).filter(|(entry, _)| entry.id >= head.since);
        live.fold(head.above(head.low), |most, (_, share)| most.max(head.above(share.low)))
    }

    /// A receipt and what it is worth of a limit.
    fn share(&self, limit: usize, place: usize) -> Option<(Entry, u128)> {
        let entry = *self.entries.get(place)?;
        let is_live = entry.id >= self.heads.get(limit)?.since;
        let share = self.shares.get(place.saturating_mul(self.width()).saturating_add(limit))?;
        Some((entry, if is_live { share.worth } else { 0 }))
    }

    /// The receipts with their shares of one limit, oldest first.
    fn column(&mut self, limit: usize) -> impl Iterator<Item = (&Entry, &mut Share)> {
        let width = self.width().max(1);
        let rows = self.shares.chunks_exact_mut(width);
        self.entries.iter().zip(rows.filter_map(move |row| row.get_mut(limit)))
    }

    fn width(&self) -> usize {
        self.heads.len()
    }

    /// An id above all that are open.
    fn next_id(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.id.saturating_add(1))
    }
}

#[cfg(test)]
impl Receipts {
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|entry| entry.id)
    }

    /// How many shares and heads there are.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.shares.len(), self.heads.len()]
    }

    /// What is allocated.
    pub(super) fn bytes(&self) -> usize {
        let of = |capacity: usize, size| capacity * size;
        of(self.entries.capacity(), size_of::<Entry>())
            + of(self.shares.capacity(), size_of::<Share>())
            + of(self.heads.capacity(), size_of::<Head>())
    }
}

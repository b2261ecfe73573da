//! One limit's part of the ledger, and how it goes on under another limit.

use crate::algorithm::{Machine, scaled};

/// What a receipt holds of one limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Buckets: the least `V` in the gap before the receipt.
    pub(super) low: u128,
    /// Buckets: the ticks charged. Windows and logs: tokens that may still be counted.
    pub(super) worth: u128,
}

impl Share {
    pub(super) const NOTHING: Self = Self { low: 0, worth: 0 };
}

/// One limit's part of the ledger.
///
/// `V` and its lows wrap. Only their differences mean anything, and they are far below 2^127: when
/// the debt is zero the count starts again; until then `V` is above its lowest low by the debt, at
/// most a full bucket, and no low is above `V` by more than what open receipts are worth together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// Buckets: `V` as it stands.
    pub(super) v: u128,
    /// Buckets: the least `V` since the newest receipt.
    pub(super) low: u128,
    /// Receipts before this id are worth nothing here: nothing was owed after them, or this limit
    /// took the place of another.
    pub(super) since: u64,
    /// Sliding window counters: receipts before this id are counted with the previous window.
    pub(super) turned: u64,
}

impl Head {
    /// Goes on from that debt, to which nothing is given back by receipts before `next`.
    pub(super) fn restart(&mut self, debt: u128, next: u64) {
        *self = Self { v: debt, low: 0, since: next, turned: next };
    }

    /// The first for a limit with that level, of which receipts before `next` hold nothing.
    pub(super) fn of(machine: &Machine, level: u128, next: u64) -> Self {
        let mut head = Self::default();
        head.restart(if machine.brim().is_some() { level } else { 0 }, next);
        head
    }

    /// The same under another limit, where the level is `level`.
    pub(super) fn carried(&self, level: u128, change: Change) -> Self {
        match change {
            Change::Nothing => *self,
            Change::Scale { .. } => {
                Self { v: level, low: self.carried_low(self.low, level, change), ..*self }
            }
        }
    }

    pub(super) fn carried_share(&self, share: &Share, level: u128, change: Change) -> Share {
        let worth = match change {
            Change::Nothing => share.worth,
            // Rounded down: what is left of a full bucket is rounded up.
            Change::Scale { to, of } => {
                to.saturating_sub(scaled(of.saturating_sub(share.worth), to, of))
            }
        };
        Share { low: self.carried_low(share.low, level, change), worth }
    }

    /// As debts are carried, rounded up, so that the greatest of `V - m` is the debt again.
    fn carried_low(&self, low: u128, level: u128, change: Change) -> u128 {
        match change {
            Change::Nothing => low,
            Change::Scale { to, of } => level.wrapping_sub(scaled(self.above(low).min(of), to, of)),
        }
    }

    /// So many ticks were refilled or given back.
    pub(super) fn pay(&mut self, ticks: u128) {
        self.v = self.v.wrapping_sub(ticks);
        self.low = self.lower(self.low, self.v);
    }

    /// `V` less a low; nothing, when the low lies above it.
    pub(super) fn above(&self, low: u128) -> u128 {
        let above = self.v.wrapping_sub(low);
        if above.cast_signed() < 0 { 0 } else { above }
    }

    /// The lower of two lows.
    pub(super) fn lower(&self, one: u128, other: u128) -> u128 {
        let above = |low| self.v.wrapping_sub(low).cast_signed();
        if above(one) > above(other) { one } else { other }
    }
}

/// How a level goes on under another limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// As it is.
    Nothing,
    /// From a bucket of `of` ticks to one of `to`.
    Scale { to: u128, of: u128 },
}

impl Change {
    /// `None`, when a level is not a sum of charges any more.
    pub(super) fn between(new: &Machine, old: &Machine) -> Option<Self> {
        match new.brim().zip(old.brim()) {
            Some((to, of)) if to != of => Some(Self::Scale { to, of }),
            Some(_) => Some(Self::Nothing),
            None => new.keeps_parts(old).then_some(Self::Nothing),
        }
    }
}

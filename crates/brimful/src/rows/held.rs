//! The rows, held while locked sets are looked at.

use super::{GIVEN, RETIRED, Row, Table, Wanted, index, is_side};
use crate::step::Plan;
use crate::sync::{AtomicU64, Ordering, RwLockReadGuard};

/// The rows as they stand while this is held: take it with the sets locked, and give it back before
/// another set is locked.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub(super) first: &'a [Row],
    pub(super) table: Option<RwLockReadGuard<'a, Table>>,
    pub(super) strangers: &'a AtomicU64,
}

impl Held<'_> {
    /// The row of a number that a slot holds, a call has in use, or the rules in force have given.
    #[inline]
    pub(crate) fn get(&self, row: u32) -> Option<&Row> {
        let Some(table) = &self.table else { return self.first.get(index(row)) };
        match row {
            GIVEN.. => table.given.get(row),
            RETIRED.. => table.retired.get(row),
            _ if is_side(row, table.side) => table.current.get(index(row)),
            _ => table.old.get(index(row)),
        }
    }

    #[inline]
    pub(crate) fn plan(&self, row: u32) -> Option<&Plan> {
        self.get(row).map(|row| &row.plan)
    }

    /// Whether a key of that row has what the call wants.
    #[inline]
    pub(crate) fn serves(&self, row: u32, wanted: Wanted) -> bool {
        self.plan_for(row, wanted).is_some()
    }

    /// The limits of that row, if they are what the call wants.
    #[inline]
    pub(crate) fn plan_for(&self, number: u32, wanted: Wanted) -> Option<&Plan> {
        let kept_from = self.table.as_ref().map_or(0, |table| table.kept_from);
        self.get(number)?.plan_for(number, wanted, kept_from)
    }

    /// Whether the row goes on answering although its rules are replaced: until its keys owe nothing.
    #[inline]
    pub(crate) fn is_kept(&self, row: u32) -> bool {
        row & RETIRED != 0 && self.get(row).is_some_and(|row| row.is_kept)
    }

    /// Whether the row came with a call.
    pub(crate) fn is_given(&self, row: u32) -> bool {
        row & GIVEN != 0
    }

    /// Whether the row is of rules that are being replaced.
    pub(crate) fn is_old(&self, row: u32) -> bool {
        let table = self.table.as_ref();
        row < RETIRED && table.is_some_and(|table| !is_side(row, table.side))
    }

    /// The number of a row with the same limits that a slot can hold for good.
    pub(crate) fn lasting(&self, row: u32) -> u32 {
        let retired = self.table.as_ref().and_then(|table| table.retired_as.get(index(row)));
        retired.filter(|_| self.is_old(row)).copied().unwrap_or(row)
    }

    /// One more slot holds the row's number.
    pub(crate) fn add_user(&self, row: u32) {
        if let Some(table) = self.table.as_ref().filter(|_| row >= RETIRED) {
            self.strangers.fetch_add(1, Ordering::Relaxed);
            match row {
                GIVEN.. => table.given.add_user(row),
                _ => table.retired.add_user(row),
            }
        }
    }

    /// One slot fewer holds the row's number.
    pub(crate) fn remove_user(&self, row: u32) {
        if let Some(table) = self.table.as_ref().filter(|_| row >= RETIRED) {
            match row {
                GIVEN.. => table.given.remove_user(row),
                _ => table.retired.remove_user(row),
            }
            self.strangers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

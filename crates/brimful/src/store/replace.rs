//! What a store does when the rules are replaced: every set is gone through, one at a time, so that no
//! call waits for more than one of them.

use super::room::is_free;
use super::{Slot, Store, forget};
use crate::rows::{Held, Rows};
use crate::time::Nanos;

impl Store {
    /// Gives slots of the old rows the numbers of rows that last, and lets those go that owe nothing.
    ///
    /// A slot that is moved meanwhile gets such a number as well, so that none is missed. (Nobody can be
    /// given an old row any more.)
    pub(crate) fn let_go(&self, rows: &Rows, now: Nanos) {
        let shared = self.shared.as_ref();
        for index in 0..self.sets.count() {
            let mut set = self.sets.lock(index);
            let held = rows.hold();
            for slot in set.slots() {
                let Some(content) =
                    set.read(slot).filter(|content: &Slot| held.is_old(content.row))
                else {
                    continue;
                };
                if is_free(&set, slot, &held, now, self.runs().get()) {
                    self.empty(&mut set, slot, &held, self.runs().get());
                    self.flood.end();
                } else {
                    let content = self.with_lasting_row(content, &held);
                    set.write(slot, &content);
                }
            }
        }
        for index in 0..shared.map_or(0, |shared| shared.count()) {
            let Some(mut set) = shared.map(|shared| shared.lock(index)) else { continue };
            let held = rows.hold();
            let Some(content) = set.read(0).filter(|content: &Slot| held.is_old(content.row))
            else {
                continue;
            };
            if is_free(&set, 0, &held, now, self.runs().get()) {
                forget(&mut set, 0, &held, self.runs().get());
            } else {
                let content = self.with_lasting_row(content, &held);
                set.write(0, &content);
            }
        }
    }

    /// The same slot under a row that lasts, of which it is counted as a user.
    pub(super) fn with_lasting_row(&self, content: Slot, rows: &Held<'_>) -> Slot {
        let row = rows.lasting(content.row);
        if row != content.row {
            rows.add_user(row);
        }
        Slot { row, ..content }
    }
}

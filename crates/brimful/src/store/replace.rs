//! What a store does when the rules are replaced: every set is gone through, one at a time, so that no
//! call waits for more than one of them.

use super::{Set, Slot, Store};
use crate::rows::{Held, Rows};
use crate::time::Nanos;

impl Store {
    /// Gives slots of the old rows the numbers of rows that last, and lets those go that owe nothing.
    ///
    /// A slot that is moved meanwhile gets such a number as well, so that none is missed. (Nobody can be
    /// given an old row any more.)
    pub(crate) fn let_go(&self, rows: &Rows, now: Nanos) {
        for index in 0..self.sets.count() {
            let mut set = self.sets.lock(index);
            let held = rows.hold();
            let freed = self.let_go_of(&mut set, &held, now);
            self.counters.occupied.sub(freed);
            if freed > 0 {
                self.flood.end();
            }
        }
        let shared =
            self.shared.iter().flat_map(|shared| (0..shared.count()).map(move |at| (shared, at)));
        for (shared, index) in shared {
            let mut set = shared.lock(index);
            let held = rows.hold();
            self.let_go_of(&mut set, &held, now);
        }
    }

    /// The same for one set; says how many slots are free now that were not.
    fn let_go_of(&self, set: &mut Set<'_>, rows: &Held<'_>, now: Nanos) -> u64 {
        let mut runs = self.runs();
        let arena = runs.get();
        let mut freed = 0;
        for slot in set.slots() {
            let Some(content) = set.read(slot) else { continue };
            if self.is_free(set, slot, rows, now, arena) {
                freed += u64::from(self.forget(set, slot, rows, arena));
            } else if rows.is_old(content.row) {
                let content = self.with_lasting_row(content, rows);
                set.write(slot, &content);
            }
        }
        freed
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

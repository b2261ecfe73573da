//! The settings: `[store]`, `[keys]`, `[requests]`.

use brimful::Overflow;

use super::Reader;
use super::value::Fields;
use crate::node::Node;
use crate::source::Spot;

pub(crate) const STORE: &[&str] =
    &["max_keys", "overflow", "max_log_entries", "max_limits", "max_given"];
pub(crate) const KEYS: &[&str] = &["trim", "fold_case", "nfc"];
pub(crate) const REQUESTS: &[&str] = &["max_cost"];
/// What [`Overflow`] is called in a file.
pub(crate) const OVERFLOWS: &[&str] = &["evict", "refuse", "share"];

/// The word for what happens to a new key when no slot is free.
pub(crate) fn overflow_name(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Evict => "evict",
        Overflow::Refuse => "refuse",
        Overflow::Share => "share",
    }
}

/// Where the settings of the store stand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spots {
    pub(crate) max_keys: Option<Spot>,
    pub(crate) max_log_entries: Option<Spot>,
    pub(crate) max_limits: Option<Spot>,
    pub(crate) max_given: Option<Spot>,
}

impl Reader {
    pub(super) fn store(&mut self, node: &Node) {
        let Some(fields) = self.table(node, "`store`", STORE) else { return };
        (self.model.store.max_keys, self.store_spots.max_keys) = self.setting(fields, "max_keys");
        (self.model.store.max_log_entries, self.store_spots.max_log_entries) =
            self.setting(fields, "max_log_entries");
        (self.model.store.max_limits, self.store_spots.max_limits) =
            self.setting(fields, "max_limits");
        (self.model.store.max_given, self.store_spots.max_given) =
            self.setting(fields, "max_given");
        if let Some(entry) = fields.get("overflow") {
            self.model.store.overflow = match self.word(entry, OVERFLOWS) {
                Some("evict") => Some(Overflow::Evict),
                Some("refuse") => Some(Overflow::Refuse),
                Some("share") => Some(Overflow::Share),
                _ => None,
            };
        }
    }

    fn setting(&mut self, fields: Fields<'_>, name: &str) -> (Option<u64>, Option<Spot>) {
        let Some(entry) = fields.get(name) else { return (None, None) };
        (self.number(entry), Some(Self::spot(&entry.node.span)))
    }

    pub(super) fn keys(&mut self, node: &Node) {
        let Some(fields) = self.table(node, "`keys`", KEYS) else { return };
        let mut on = |name| fields.get(name).and_then(|entry| self.flag(entry)).unwrap_or(false);
        let (trim, fold_case, nfc) = (on("trim"), on("fold_case"), on("nfc"));
        self.keys = crate::keys::Keys { trim, fold_case, nfc };
        self.model.keys = self.keys;
    }

    pub(super) fn requests(&mut self, node: &Node) {
        let Some(fields) = self.table(node, "`requests`", REQUESTS) else { return };
        let Some(entry) = fields.get("max_cost") else { return };
        let Some(cost) = self.number(entry) else { return };
        if cost == 0 {
            let expected = "expected the largest cost of a request, from 1";
            self.faults.note(Self::spot(&entry.node.span), "`max_cost` is 0", expected);
        }
        self.model.max_cost = Some(cost);
    }
}

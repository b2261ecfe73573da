//! Keys that are of a tier: in the file, or in a file of their own.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::Reader;
use super::value::Fields;
use crate::files;
use crate::key::OwnedKey;
use crate::model::Member;
use crate::node::Entry;
use crate::source::{MAX_MEMBERS, Source, Spot};

/// The files of members that were read.
#[derive(Default)]
pub(super) struct MemberFiles {
    /// How large they are together.
    bytes: u64,
    /// Where each was named first.
    first: HashMap<PathBuf, Naming>,
}

/// A tier that names a file of members.
struct Naming {
    tier: String,
    spot: Spot,
    /// Whether there is a key in the file.
    any: bool,
}

impl Reader {
    pub(super) fn members(&mut self, fields: Fields<'_>, tier: &str) {
        if let Some(entry) = fields.get("members") {
            let items = self.list(&entry.node, "`members`", false).unwrap_or(&[]);
            for item in items {
                let spot = Self::spot(&item.span);
                if let Some(key) = self.key(item) {
                    self.model.members.push(Member { key, tier: tier.to_owned(), spot });
                }
            }
        }
        if let Some(entry) = fields.get("members_file") {
            self.members_file(entry, tier);
        }
    }

    fn members_file(&mut self, entry: &Entry, tier: &str) {
        let expected = "`members_file` is the name of a file, with one key on a line";
        let Some(name) = self.text(&entry.node, expected) else { return };
        let spot = self.within(&entry.node, name, 0..name.len());
        let Some(base) = &self.base else {
            let expected = "list the keys in `members`";
            self.faults.note(spot, "there is no folder to look for a file in", expected);
            return;
        };
        let path = base.join(name);
        if self.member_files.first.contains_key(&path) {
            self.named_again(&path, spot, tier);
            return;
        }
        self.faults.reads(&path);
        let left = MAX_MEMBERS.saturating_sub(self.member_files.bytes);
        let bytes = match files::read_regular(&path, left) {
            Ok(bytes) => bytes,
            Err(fault) => {
                self.unread(&path, spot, &fault);
                return;
            }
        };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.member_files.bytes = self.member_files.bytes.saturating_add(size);
        let any = match String::from_utf8(bytes) {
            Ok(text) => self.lines(&path, &text, spot, tier),
            Err(fault) => {
                let number =
                    self.push_source(&path, &String::from_utf8_lossy(fault.as_bytes()), spot);
                let at = files::fault_of_utf8(fault.as_bytes(), fault.utf8_error());
                let spot = Spot::new(number, at..at);
                self.faults.note(spot, "this is not UTF-8", "expected text in UTF-8");
                false
            }
        };
        self.member_files.first.insert(path, Naming { tier: tier.to_owned(), spot, any });
    }

    /// A file that is named again is not read again: its keys are members already, of the tier that named
    /// it first.
    fn named_again(&mut self, path: &Path, spot: Spot, tier: &str) {
        let Some(first) = self.member_files.first.get(path).filter(|first| first.any) else {
            return;
        };
        if first.tier == tier {
            self.model.repeated.push((spot, first.spot));
            return;
        }
        let found = format!(
            "the keys of {} are members of two tiers, `{}` and `{tier}`",
            path.display(),
            first.tier
        );
        self.faults.note_second(spot, found, "name the file in one", first.spot);
    }

    fn unread(&mut self, path: &Path, spot: Spot, fault: &io::Error) {
        let (found, expected) =
            if fault.kind() == io::ErrorKind::FileTooLarge && self.member_files.bytes > 0 {
                (
                    format!(
                        "with {} the files of members are larger than {} MiB together",
                        path.display(),
                        MAX_MEMBERS >> 20
                    ),
                    "list fewer keys; a tier that the program gives needs no list".to_owned(),
                )
            } else {
                let found = format!("the file cannot be read: {fault}");
                (found, format!("the file is {}", path.display()))
            };
        self.faults.note(spot, found, expected);
    }

    fn push_source(&mut self, path: &Path, text: &str, named: Spot) -> u32 {
        let number = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        let mut source = Source::new(path, text);
        source.named = Some(named);
        self.sources.push(source);
        number
    }

    /// One key on a line; blank lines and those that begin with `#` are none. Whether there is any.
    fn lines(&mut self, path: &Path, text: &str, named: Spot, tier: &str) -> bool {
        let number = self.push_source(path, text, named);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut start, mut any) = (0_usize, false);
        for line in text.split('\n') {
            let key = line.trim();
            if !key.is_empty() && !key.starts_with('#') {
                let indent = line.len().saturating_sub(line.trim_start().len());
                let from = start.saturating_add(indent);
                let spot = Spot::new(number, from..from.saturating_add(key.len()));
                let key = OwnedKey::Text(self.normalized(key, spot));
                self.model.members.push(Member { key, tier: tier.to_owned(), spot });
                any = true;
            }
            start = start.saturating_add(line.len()).saturating_add(1);
        }
        any
    }

    /// A key is of one tier. The same key twice in one tier counts once.
    pub(super) fn one_tier_each(&mut self) {
        let mut kept: Vec<Member> = Vec::with_capacity(self.model.members.len());
        let mut seen: HashMap<OwnedKey, usize> = HashMap::new();
        for member in std::mem::take(&mut self.model.members) {
            let first = seen.get(&member.key).and_then(|place| kept.get(*place));
            match first {
                None => {
                    seen.insert(member.key.clone(), kept.len());
                    kept.push(member);
                }
                Some(first) if first.tier == member.tier => {
                    self.model.repeated.push((member.spot, first.spot));
                }
                Some(first) => {
                    let found = format!(
                        "the key {} is a member of two tiers, `{}` and `{}`",
                        member.key, first.tier, member.tier
                    );
                    self.faults.note_second(member.spot, found, "keep it in one", first.spot);
                }
            }
        }
        self.model.members = kept;
    }
}

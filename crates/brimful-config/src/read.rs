//! Reads the tree of a file into the model, and notes every fault on the way.

mod document;
mod grant;
mod key;
mod members;
mod store;
mod value;

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::faults::Faults;
use crate::keys::Keys;
use crate::model::Model;
use crate::source::{Source, Spot};
use crate::syntax::Syntax;

pub(crate) use store::{Spots, overflow_name};

/// What was read: the model, and the texts of the files.
pub(crate) struct Readings {
    pub(crate) model: Model,
    pub(crate) sources: Vec<Source>,
    /// Where the settings of the store stand.
    pub(crate) store_spots: Spots,
    pub(crate) faults: Faults,
}

/// Reads a text of rules; the fault of its syntax alone when it has one.
pub(crate) fn read(
    text: &str,
    syntax: Syntax,
    name: &Path,
    base: Option<&Path>,
) -> Result<Readings, Error> {
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > crate::source::MAX_CONFIG {
        return Err(Error::unreadable(
            crate::files::too_large(name, crate::source::MAX_CONFIG),
            None,
        ));
    }
    let source = Source::new(name, text);
    let mut reader = Reader {
        is: if syntax == Syntax::Toml { " = " } else { ": " },
        base: base.map(Path::to_owned),
        sources: vec![source],
        faults: Faults::default(),
        keys: Keys::default(),
        model: Model::default(),
        store_spots: Spots::default(),
        names: grant::Names::default(),
        member_files: members::MemberFiles::default(),
    };
    let text = reader.sources.first().map_or("", |source| &source.text);
    match syntax.read(text) {
        Err(flaw) => {
            reader.flaw(flaw);
            return Err(reader.faults.into_error(&reader.sources));
        }
        Ok(tree) => {
            for flaw in tree.flaws {
                reader.flaw(flaw);
            }
            reader.document(&tree.root);
        }
    }
    let Reader { model, sources, store_spots, faults, .. } = reader;
    Ok(Readings { model, sources, store_spots, faults })
}

/// What is being read.
struct Reader {
    /// What stands between the name and the value of a field.
    is: &'static str,
    /// Where files of members are looked for.
    base: Option<PathBuf>,
    sources: Vec<Source>,
    faults: Faults,
    keys: Keys,
    model: Model,
    store_spots: Spots,
    names: grant::Names,
    member_files: members::MemberFiles,
}

impl Reader {
    fn flaw(&mut self, flaw: crate::syntax::Flaw) {
        let spot = Spot::new(0, flaw.span);
        match flaw.first {
            Some(first) => {
                self.faults.note_second(spot, flaw.found, flaw.expected, Spot::new(0, first));
            }
            None => self.faults.note(spot, flaw.found, flaw.expected),
        }
    }
}

/// The fields that are known.
#[cfg(test)]
pub(crate) mod fields {
    pub(crate) use super::document::{DOCUMENT, EXACT, PATTERN, POLICY, TIER};
    pub(crate) use super::grant::RULE;
    pub(crate) use super::key::IP;
    pub(crate) use super::store::{KEYS, OVERFLOWS, REQUESTS, STORE};
}

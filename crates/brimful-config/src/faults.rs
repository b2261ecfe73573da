//! Gathers what is wrong while a configuration is read.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{Also, Error, Fault};
use crate::source::{Source, Spot};
use crate::text::shown;

/// Beyond this many, faults are counted and not kept.
const KEPT: usize = 10_000;

/// A fault before its line is looked up.
#[derive(Clone, Debug)]
struct Noted {
    spot: Spot,
    found: String,
    expected: String,
    first: Option<Spot>,
}

/// What is wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    noted: Vec<Noted>,
    uncounted: usize,
    /// The files that were read or looked for, each once.
    pub(crate) files: Vec<PathBuf>,
}

impl Faults {
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// Whether so many are noted that a near miss for another is not worth looking for.
    pub(crate) fn are_many(&self) -> bool {
        self.noted.len() > Error::MOST
    }

    /// Notes that a file is read or looked for.
    pub(crate) fn reads(&mut self, path: &Path) {
        if !self.files.iter().any(|file| file == path) {
            self.files.push(path.to_owned());
        }
    }

    pub(crate) fn note(
        &mut self,
        spot: Spot,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.push(spot, found.into(), expected.into(), None);
    }

    /// Notes the second of two that contradict each other.
    pub(crate) fn note_second(
        &mut self,
        spot: Spot,
        found: impl Into<String>,
        expected: impl Into<String>,
        first: Spot,
    ) {
        self.push(spot, found.into(), expected.into(), Some(first));
    }

    fn push(&mut self, spot: Spot, found: String, expected: String, first: Option<Spot>) {
        if self.noted.len() < KEPT {
            // A text of the file can be as long as the file, and stand in each of them.
            let (found, expected) = (shown::message(&found), shown::message(&expected));
            self.noted.push(Noted { spot, found, expected, first });
        } else {
            self.uncounted = self.uncounted.saturating_add(1);
        }
    }

    /// The error that reports them, in the order of their places.
    pub(crate) fn into_error(mut self, sources: &[Source]) -> Error {
        self.noted.sort_by_key(|noted| noted.spot);
        // What an alias of YAML stands for is read each time.
        self.noted.dedup_by(|a, b| a.spot == b.spot && a.found == b.found);
        let more = self.noted.len().saturating_sub(Error::MOST).saturating_add(self.uncounted);
        let shown = self.noted.iter().take(Error::MOST);
        Error::new(shown.filter_map(|noted| rendered(noted, sources)).collect(), more, self.files)
    }
}

fn rendered(noted: &Noted, sources: &[Source]) -> Option<Fault> {
    let source = source_of(noted.spot, sources)?;
    let Range { start, end } = noted.spot.bytes();
    let at = source.line_column(start);
    let (line, in_line) = source.line_around(start);
    let excerpt = shown::excerpt(line, in_line, end.saturating_sub(start));
    let first = noted.first.map(|spot| ("the first", spot));
    let named = source.named.map(|spot| ("named in", spot));
    let also = first.into_iter().chain(named).filter_map(|(what, spot)| {
        let source = source_of(spot, sources)?;
        let at = source.line_column(spot.bytes().start);
        Some(Also::new(what, &source.name, at.line, at.column))
    });
    let words = (noted.found.clone(), noted.expected.clone());
    Some(Fault::at(&source.name, (at.line, at.column), words, also.collect(), excerpt))
}

fn source_of(spot: Spot, sources: &[Source]) -> Option<&Source> {
    sources.get(usize::try_from(spot.file).ok()?)
}

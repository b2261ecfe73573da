//! The text of a file, and the places in it.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// The largest file of rules, in bytes: 16 MiB.
pub(crate) const MAX_CONFIG: u64 = 16 << 20;
/// How large all files of members can be together, in bytes: 64 MiB.
pub(crate) const MAX_MEMBERS: u64 = 64 << 20;

/// A part of a file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Spot {
    /// The number of the file, in the order of reading; the configuration is 0.
    pub(crate) file: u32,
    /// In bytes of its text without a byte order mark. Files are below 2^32 bytes.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Spot {
    pub(crate) fn new(file: u32, bytes: Range<usize>) -> Self {
        let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: offset(bytes.start), end: offset(bytes.end.max(bytes.start)) }
    }

    /// The beginning of a file.
    pub(crate) fn beginning(file: u32) -> Self {
        Self { file, start: 0, end: 0 }
    }

    pub(crate) fn bytes(self) -> Range<usize> {
        let offset = |at| usize::try_from(at).unwrap_or(usize::MAX);
        offset(self.start)..offset(self.end)
    }
}

/// The line and the column of a place, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineColumn {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: PathBuf,
    /// Without a byte order mark.
    pub(crate) text: String,
    /// Where the configuration names this file.
    pub(crate) named: Option<Spot>,
    /// Where each line begins, in bytes.
    lines: Vec<u32>,
}

impl Source {
    pub(crate) fn new(name: &Path, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = after.map(|(at, _)| u32::try_from(at.saturating_add(1)).unwrap_or(u32::MAX));
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name: name.to_owned(), text, named: None, lines }
    }

    /// Where a byte stands.
    pub(crate) fn line_column(&self, at: usize) -> LineColumn {
        let at = floor(&self.text, at);
        let line = self.line_of(at);
        let before = self.text.get(self.line_start(line)..at).unwrap_or("");
        LineColumn {
            line: line.saturating_add(1),
            column: before.chars().count().saturating_add(1),
        }
    }

    /// The line of a byte, without its end, and where the byte stands in it.
    pub(crate) fn line_around(&self, at: usize) -> (&str, usize) {
        let at = floor(&self.text, at);
        let start = self.line_start(self.line_of(at));
        let rest = self.text.get(start..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("");
        let line = line.strip_suffix('\r').unwrap_or(line);
        (line, at.saturating_sub(start).min(line.len()))
    }

    /// The number of the line that holds a byte, from 0.
    fn line_of(&self, at: usize) -> usize {
        let after = |start: &u32| usize::try_from(*start).is_ok_and(|start| start <= at);
        self.lines.partition_point(after).saturating_sub(1)
    }

    fn line_start(&self, line: usize) -> usize {
        let start = self.lines.get(line).copied().unwrap_or(0);
        usize::try_from(start).unwrap_or(0)
    }
}

/// The last boundary of a character at or before a byte.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    at
}

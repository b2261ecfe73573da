//! Why a configuration is refused: every fault with its place.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::text::shown::Excerpt;

/// Why a configuration is refused. Faults of meaning are reported all, in the order of the file, up
/// to [`Error::MOST`]; a fault of TOML or YAML itself alone, because what follows it is guesswork.
///
/// `{}` prints one line for each fault. `{:#}` shows each with its line and a caret:
///
/// ```
/// use brimful_config::{Config, Syntax};
///
/// let text = "[default]\nlimit = \"10/minn\"\n";
/// let error = Config::parse(text, Syntax::Toml, "limits.toml", None).unwrap_err();
/// assert_eq!(
///     format!("{error:#}"),
///     "limits.toml:2:13: unknown unit `minn`; did you mean `min`?
///   limit = \"10/minn\"
///               ^^^^
///   expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`"
/// );
/// ```
#[derive(Debug)]
pub struct Error(Box<Repr>);

#[derive(Debug)]
struct Repr {
    faults: Vec<Fault>,
    more: usize,
    files: Vec<PathBuf>,
    /// What the system said, when a file cannot be read.
    source: Option<io::Error>,
}

impl Error {
    /// The most faults that are reported: 100. [`Error::more`] counts the others.
    pub const MOST: usize = 100;

    pub(crate) fn new(faults: Vec<Fault>, more: usize, files: Vec<PathBuf>) -> Self {
        Self(Box::new(Repr { faults, more, files, source: None }))
    }

    pub(crate) fn unreadable(fault: Fault, source: Option<io::Error>) -> Self {
        Self(Box::new(Repr { faults: vec![fault], more: 0, files: Vec::new(), source }))
    }

    /// The same, found on the way to what that file says.
    pub(crate) fn of_file(mut self, path: &Path) -> Self {
        self.0.files.insert(0, path.to_owned());
        self
    }

    /// The faults, at least one, by file, line and column.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.0.faults
    }

    /// How many faults there are beyond those that are reported.
    #[must_use]
    pub fn more(&self) -> usize {
        self.0.more
    }

    /// All files that were read or looked for before the faults were told, as
    /// [`Config::files`](crate::Config::files): when one of them changes, it may be worth to read again.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.0.files
    }

    /// The file of rules itself could not be read. (A file of members that cannot be read is a fault
    /// of the field that names it.)
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.0.source.is_some()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for fault in &self.0.faults {
            f.write_str(separator)?;
            fmt::Display::fmt(fault, f)?;
            separator = "\n";
        }
        match self.0.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// One thing that is wrong, and where.
///
/// It serializes as `{"file", "line", "column", "found", "expected", "also": [{"what", "file",
/// "line", "column"}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    file: PathBuf,
    line: usize,
    column: usize,
    found: String,
    expected: String,
    also: Vec<Also>,
    #[serde(skip)]
    excerpt: Option<Excerpt>,
}

/// Another place that a fault is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Also {
    what: &'static str,
    file: PathBuf,
    line: usize,
    column: usize,
}

impl Also {
    pub(crate) fn new(what: &'static str, file: &Path, line: usize, column: usize) -> Self {
        Self { what, file: file.to_owned(), line, column }
    }

    /// What stands there: `the first`, `named in`.
    #[must_use]
    pub fn what(&self) -> &str {
        self.what
    }

    /// The file, as [`Fault::file`].
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, in characters.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }
}

impl Fault {
    /// A fault of a whole file.
    pub(crate) fn of_file(file: &Path, found: String, expected: String) -> Self {
        let file = file.to_owned();
        Self { file, line: 0, column: 0, found, expected, also: Vec::new(), excerpt: None }
    }

    pub(crate) fn at(
        file: &Path,
        (line, column): (usize, usize),
        (found, expected): (String, String),
        also: Vec<Also>,
        excerpt: Excerpt,
    ) -> Self {
        let file = file.to_owned();
        Self { file, line, column, found, expected, also, excerpt: Some(excerpt) }
    }

    /// The file, as it was named to [`Config::load`](crate::Config::load) or
    /// [`Config::parse`](crate::Config::parse); a file of members as it is found from there.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1; 0 when the fault is the file itself, because it cannot be read.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, in characters; 0 when the fault is the file itself.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, with a near miss: ``unknown field `limt`; did you mean `limit`?``
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }

    /// What would be right.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What is wrong and what would be right, in one sentence, without the place.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}; {}", self.found, self.expected)
    }

    /// The other of two places that contradict each other; the place in the file of rules that names
    /// the file of members that is at fault.
    #[must_use]
    pub fn also(&self) -> &[Also] {
        &self.also
    }
}

impl fmt::Display for Fault {
    /// One line; with `{:#}` the line of the file too, a caret under what is meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.file, self.line, self.column)?;
        write!(f, ": {}", self.found)?;
        let separator = if f.alternate() { "\n  " } else { "; " };
        let excerpt = self.excerpt.as_ref().filter(|excerpt| !excerpt.text.trim().is_empty());
        if let Some(excerpt) = excerpt.filter(|_| f.alternate()) {
            let (from, width) = (excerpt.from, excerpt.width);
            write!(f, "\n  {}\n  {:from$}{:^<width$}", excerpt.text, "", "")?;
        }
        write!(f, "{separator}{}", self.expected)?;
        for also in &self.also {
            write!(f, "{separator}{}: ", also.what)?;
            place(f, &also.file, also.line, also.column)?;
        }
        Ok(())
    }
}

fn place(f: &mut fmt::Formatter<'_>, file: &Path, line: usize, column: usize) -> fmt::Result {
    f.write_str(&crate::text::shown::message(&file.to_string_lossy()))?;
    if line > 0 { write!(f, ":{line}:{column}") } else { Ok(()) }
}

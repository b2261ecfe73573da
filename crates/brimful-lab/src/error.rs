//! The one error type of the crate: opaque, with predicates.

use std::fmt;
use std::io;

use crate::summary::BadLines;

/// Why a replay could not be set up or carried through.
///
/// `{}` prints one line. `{:#}` shows a fault in a written limit with a caret under the offending
/// part, as [`brimful::Error`] does.
#[derive(Debug)]
pub struct Error(Box<Repr>);

#[derive(Debug)]
enum Repr {
    Limit(brimful::Error),
    Usage(String),
    Read { line: u64, source: io::Error, bad_lines: BadLines },
    Compressed { kind: &'static str, tool: &'static str },
    Write(io::Error),
}

impl Error {
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self(Box::new(Repr::Usage(what.into())))
    }

    /// Reading failed at or after the start of `line`.
    pub(crate) fn read(line: u64, source: io::Error) -> Self {
        Self(Box::new(Repr::Read { line, source, bad_lines: BadLines::default() }))
    }

    /// Adds what was wrong with the lines before.
    pub(crate) fn after(mut self, bad: BadLines) -> Self {
        if let Repr::Read { bad_lines, .. } = &mut *self.0 {
            *bad_lines = bad;
        }
        self
    }

    pub(crate) fn compressed(kind: &'static str, tool: &'static str) -> Self {
        Self(Box::new(Repr::Compressed { kind, tool }))
    }

    pub(crate) fn write(source: io::Error) -> Self {
        Self(Box::new(Repr::Write(source)))
    }

    /// A limit, a policy or the size of the store is at fault.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(*self.0, Repr::Limit(_))
    }

    /// Another option is at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(*self.0, Repr::Usage(_))
    }

    /// The input could not be read, or is not a log at all.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(*self.0, Repr::Read { .. } | Repr::Compressed { .. })
    }

    /// The bad lines before the one at which the log could not be read any further; `None` for a
    /// fault of another kind.
    #[must_use]
    pub fn bad_lines(&self) -> Option<&BadLines> {
        match &*self.0 {
            Repr::Read { bad_lines, .. } => Some(bad_lines),
            _ => None,
        }
    }

    /// The output could not be written.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(*self.0, Repr::Write(_))
    }

    /// Nobody reads the output any more, as in `| head`: no fault of anyone.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        matches!(&*self.0, Repr::Write(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<brimful::Error> for Error {
    fn from(source: brimful::Error) -> Self {
        Self(Box::new(Repr::Limit(source)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Repr::Limit(source) => fmt::Display::fmt(source, f),
            Repr::Usage(what) => f.write_str(what),
            Repr::Read { line, .. } => write!(f, "the log cannot be read at line {line}"),
            Repr::Compressed { kind, tool } => {
                write!(f, "the log is {kind} data; unpack it first: `{tool} -dc FILE | …`")
            }
            Repr::Write(_) => f.write_str("the output cannot be written"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Repr::Read { source, .. } | Repr::Write(source) => Some(source),
            // Displayed as this error itself.
            Repr::Limit(_) | Repr::Usage(_) | Repr::Compressed { .. } => None,
        }
    }
}

//! The one error type of the crate: opaque, with predicates.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::ops::Range;

/// Why a limit, policy, rule or limiter could not be built.
///
/// Printed with `{}` it is one line that names the field, the value and what would be right.
/// Printed with `{:#}` a fault in a written limit is shown with a caret under the offending part:
///
/// ```
/// let fault = "10/minn".parse::<brimful::Limit>().unwrap_err();
/// assert!(fault.is_syntax());
/// assert_eq!(
///     format!("{fault:#}"),
///     "unknown unit `minn`; did you mean `min`?
///   10/minn
///      ^^^^
///   expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`"
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Repr>);

#[derive(Clone, PartialEq, Eq)]
enum Repr {
    Range {
        field: &'static str,
        value: String,
        expected: String,
    },
    /// Bytes `start..end` of `input`, which is a `what`.
    Syntax {
        what: &'static str,
        input: String,
        start: usize,
        end: usize,
        found: String,
        expected: String,
    },
    Conflict {
        what: String,
        expected: String,
    },
}

impl Error {
    /// `value` of `field` is outside what `expected` says.
    pub(crate) fn range(
        field: &'static str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self(Box::new(Repr::Range { field, value: format!("{value}"), expected: expected.into() }))
    }

    /// Bytes `start..end` of a written limit or pattern cannot be read.
    pub(crate) fn syntax(
        what: &'static str,
        input: &str,
        (start, end): (usize, usize),
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self(Box::new(Repr::Syntax {
            what,
            input: input.into(),
            start,
            end,
            found: found.into(),
            expected: expected.into(),
        }))
    }

    /// Two things that are right by themselves cannot stand together.
    pub(crate) fn conflict(what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self(Box::new(Repr::Conflict { what: what.into(), expected: expected.into() }))
    }

    /// A value is outside its range.
    #[must_use]
    pub fn is_range(&self) -> bool {
        matches!(*self.0, Repr::Range { .. })
    }

    /// A written limit, policy or pattern cannot be read.
    #[must_use]
    pub fn is_syntax(&self) -> bool {
        matches!(*self.0, Repr::Syntax { .. })
    }

    /// Two settings contradict each other.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(*self.0, Repr::Conflict { .. })
    }

    /// The field whose value is outside its range, for an error that [`is_range`](Self::is_range).
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match &*self.0 {
            Repr::Range { field, .. } => Some(field),
            _ => None,
        }
    }

    /// The bytes of the text that cannot be read, for an error that [`is_syntax`](Self::is_syntax).
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        match *self.0 {
            Repr::Syntax { start, end, .. } => Some(start..end),
            _ => None,
        }
    }

    /// What is wrong, without what would be right.
    #[must_use]
    pub fn found(&self) -> String {
        match &*self.0 {
            Repr::Range { field, value, .. } => format!("{field} is {value}"),
            Repr::Syntax { found: what, .. } | Repr::Conflict { what, .. } => what.clone(),
        }
    }

    /// What would be right.
    #[must_use]
    pub fn expected(&self) -> &str {
        match &*self.0 {
            Repr::Range { expected, .. }
            | Repr::Syntax { expected, .. }
            | Repr::Conflict { expected, .. } => expected,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Repr::Range { field, value, expected } => {
                write!(f, "{field} is {value}, expected {expected}")
            }
            Repr::Conflict { what, expected } => write!(f, "{what}; {expected}"),
            Repr::Syntax { input, start, end, found, expected, .. } if f.alternate() => {
                // The caret counts characters, so that it stands right below non-ASCII input.
                let chars = |to: usize| input.get(..to).unwrap_or(input).chars().count();
                let (from, to) = (chars(*start), chars(*end));
                let carets = to.saturating_sub(from).max(1);
                write!(f, "{found}\n  {input}\n  {:from$}{:^<carets$}\n  {expected}", "", "")
            }
            Repr::Syntax { what, input, found, expected, .. } => {
                write!(f, "{what} `{input}`: {found}; {expected}")
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl core::error::Error for Error {}

//! The one error type of the crate: opaque, with predicates.

use std::fmt;

/// Why a layer or a key could not be set up: one line that names the setting, its value and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Repr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    Range { field: &'static str, value: String, expected: String },
}

impl Error {
    pub(crate) fn range(
        field: &'static str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self(Repr::Range { field, value: value.to_string(), expected: expected.into() })
    }

    /// A value is outside its range, or cannot be read.
    #[must_use]
    pub const fn is_range(&self) -> bool {
        matches!(self.0, Repr::Range { .. })
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Range { field, value, expected } => {
                write!(f, "{field} is {value}, expected {expected}")
            }
        }
    }
}

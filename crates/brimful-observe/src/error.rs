//! The one error type of the crate.

use std::fmt;

/// Why an observer could not be built. Printed, it is one line that names the field, the value and what would be
/// right.
///
/// ```
/// use brimful_observe::{Redact, TopKeys};
///
/// let fault = TopKeys::new(0, Redact::Hash).unwrap_err();
/// assert!(fault.is_range());
/// assert_eq!(fault.to_string(), "k is 0; expected 1 to 10,000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Repr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    Range {
        field: &'static str,
        value: usize,
        expected: &'static str,
    },
    #[cfg(feature = "tracing")]
    Limiter(brimful::Error),
}

impl Error {
    pub(crate) const fn range(field: &'static str, value: usize, expected: &'static str) -> Self {
        Self(Repr::Range { field, value, expected })
    }

    #[cfg(feature = "tracing")]
    pub(crate) const fn limiter(fault: brimful::Error) -> Self {
        Self(Repr::Limiter(fault))
    }

    /// A value is outside its range.
    #[must_use]
    pub fn is_range(&self) -> bool {
        match &self.0 {
            Repr::Range { .. } => true,
            #[cfg(feature = "tracing")]
            Repr::Limiter(fault) => fault.is_range(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Range { field, value, expected } => {
                write!(f, "{field} is {value}; expected {expected}")
            }
            #[cfg(feature = "tracing")]
            Repr::Limiter(_) => f.write_str("the limiter of the events cannot be built"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Repr::Range { .. } => None,
            #[cfg(feature = "tracing")]
            Repr::Limiter(fault) => Some(fault),
        }
    }
}

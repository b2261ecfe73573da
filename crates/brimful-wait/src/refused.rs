//! Why there are no tokens, not even for those who wait.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use brimful::{Decision, Denial, Retry};

/// No tokens, and nothing is charged: the wait would be too long, or waiting cannot help.
///
/// It says why, and what would help:
///
/// ```
/// use brimful::Limiter;
/// use brimful_wait::blocking::WaitBlocking;
/// use std::time::Duration;
///
/// let limiter = Limiter::per_hour(2)?;
/// limiter.acquire_n_blocking("k", 2)?;
///
/// let refused = limiter.acquire_within_blocking("k", 1, Duration::from_secs(5)).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "the key has spent what its limit allows, and the wait would be too long; retry after 1800 s"
/// );
/// assert_eq!(refused.decision().retry_after_secs(), Some(1800));
///
/// let refused = limiter.acquire_n_blocking("k", 3).unwrap_err();
/// assert!(refused.decision().is_never());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(Decision);

impl Refused {
    pub(crate) const fn new(decision: Decision) -> Self {
        Self(decision)
    }

    /// The denial: why ([`Decision::denial`]), and after how long it would be granted ([`Decision::retry`]).
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.0
    }
}

impl Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (denial, retry) = (self.0.denial(), self.0.retry());
        f.write_str(match (denial, retry) {
            (Some(Denial::Closed), _) => {
                return f.write_str("waiting has ended: the limiter was closed or dropped");
            }
            (Some(Denial::Blocked), _) => return f.write_str("the key is blocked"),
            (_, Retry::Never) => {
                return f.write_str(
                    "the cost can never be admitted: it is above what the key's limits hold",
                );
            }
            (Some(Denial::Queued), _) => {
                "others wait for the key's tokens, and the wait behind them would be too long"
            }
            (Some(Denial::QueueFull), _) => "the queue is full",
            (Some(Denial::StoreFull), _) => "there is no place to remember the key",
            _ => "the key has spent what its limit allows, and the wait would be too long",
        })?;
        match retry {
            Retry::After(wait) => write!(f, "; retry after {}", Rounded(wait)),
            Retry::Now | Retry::Never => Ok(()),
        }
    }
}

/// A time to wait in words, rounded up: milliseconds below a second, else seconds.
struct Rounded(Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND_NS: u128 = 1_000_000_000;
        const MILLI_NS: u128 = 1_000_000;
        let nanos = self.0.as_nanos();
        match nanos <= SECOND_NS - MILLI_NS {
            true => write!(f, "{} ms", nanos.div_ceil(MILLI_NS)),
            false => write!(f, "{} s", nanos.div_ceil(SECOND_NS)),
        }
    }
}

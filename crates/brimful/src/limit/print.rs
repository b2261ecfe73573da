//! How a limit is written; `limit/parse.rs` reads it back.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{Algorithm, Limit, SECOND, YEAR};

/// The units that a limit can be written in, and their nanoseconds. A quota of exactly one of
/// them is printed as `N/UNIT`.
pub(super) const UNITS: [(&str, u64); 10] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("min", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("day", 86_400 * SECOND),
    ("week", 7 * 86_400 * SECOND),
    ("month", 30 * 86_400 * SECOND),
    ("year", YEAR),
];

/// Units in which a longer duration is printed: a fortnight is `14day`.
const COUNTED: usize = 7;

/// `100/min` or `5 per 30s`.
pub(super) fn quota(limit: &Limit) -> String {
    let (tokens, period) = (limit.tokens, limit.period.get());
    if let Some((unit, _)) = UNITS.iter().skip(2).find(|(_, ns)| *ns == period) {
        return format!("{tokens}/{unit}");
    }
    let counted = UNITS.iter().take(COUNTED).rev();
    let (unit, ns) = counted.copied().find(|(_, ns)| period % ns == 0).unwrap_or(("ns", 1));
    format!("{tokens} per {}{unit}", period / ns)
}

/// The quota and the burst: the canonical spec, and the default name.
pub(super) fn spec(limit: &Limit) -> String {
    let quota = quota(limit);
    if limit.capacity == limit.tokens.get() {
        quota
    } else {
        format!("{quota} burst {}", limit.capacity)
    }
}

impl fmt::Display for Limit {
    /// The canonical form, which parses back to an equal limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.named {
            write!(f, "{}: ", self.name)?;
        }
        f.write_str(&spec(self))?;
        match self.algorithm {
            Algorithm::TokenBucket => Ok(()),
            other => write!(f, " {}", other.name()),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

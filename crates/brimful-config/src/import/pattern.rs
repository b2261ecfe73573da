//! Patterns over the parts of a key, as rules are written with them.

use std::fmt;

/// What one part of a key must be. Literals stand before prefixes, as in the order of patterns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment {
    /// This text.
    Literal(String),
    /// Any text that begins so; every text, when empty.
    Prefix(String),
}

impl Segment {
    /// Any text: `*`.
    pub(super) const ANY: Self = Self::Prefix(String::new());
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, star) = match self {
            Self::Literal(text) => (text, ""),
            Self::Prefix(text) => (text, "*"),
        };
        for character in text.chars() {
            if matches!(character, '*' | ':' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{character}")?;
        }
        f.write_str(star)
    }
}

/// The most parts that a pattern can name before its `**`.
pub(super) const MAX_SEGMENTS: usize = 32;

/// The pattern of these segments, alone or with everything below them.
pub(super) fn written(segments: &[Segment], open: bool) -> String {
    let mut written: Vec<String> = segments.iter().map(ToString::to_string).collect();
    if open {
        written.push("**".into());
    }
    written.join(":")
}

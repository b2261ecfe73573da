//! What one good line of a log says, and why a bad one says nothing.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use brimful::Nanos;

/// One request of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// When it happened, by the log.
    pub at: Nanos,
    /// Whose budget it spends.
    pub key: Cow<'a, str>,
    /// Tokens it takes; for a refund, gives back.
    pub cost: u64,
    /// What it asks for.
    pub op: Op,
}

/// What an event asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Spend tokens.
    #[default]
    Acquire,
    /// Ask whether they could be spent.
    Peek,
    /// Give tokens back.
    Refund,
}

impl Op {
    /// `acquire`, `peek` or `refund`, as in an event's `op`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Peek => "peek",
            Self::Refund => "refund",
        }
    }

    /// The one that is called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Acquire, Self::Peek, Self::Refund].into_iter().find(|op| op.name() == name)
    }
}

/// Why a line is bad, in words that stand after `line N: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    pub(crate) fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Self(words.into())
    }

    /// `field` holds `found`, which is not what `expected` says.
    pub(crate) fn unexpected(field: &str, found: &[u8], expected: &str) -> Self {
        Self::new(format!("{} is {}, expected {expected}", printable(field), quote(found)))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a field that must be a whole number from 0 to `most`.
pub(crate) fn whole(field: &str, text: &str, most: u64) -> Result<u64, Reason> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.filter(|number| *number <= most).ok_or_else(|| {
        let expected = format!("a whole number from 0 to {most}");
        Reason::unexpected(field, text.as_bytes(), &expected)
    })
}

/// How much is shown of what a log holds, in bytes.
const SHOWN: usize = 48;

/// The beginning of what a log holds, fit to be shown: a log is written by strangers, and neither
/// its control characters nor its length may reach a terminal.
pub(crate) fn quote(found: &[u8]) -> String {
    let shown = found.get(..SHOWN).unwrap_or(found);
    let more = if shown.len() < found.len() { "…" } else { "" };
    format!("`{}{more}`", printable(&String::from_utf8_lossy(shown)))
}

/// The beginning of a name that a log holds, as [`quote`] has it but without the quotes.
pub(crate) fn short(name: &str) -> Cow<'_, str> {
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= SHOWN).last().unwrap_or(0);
    match name.get(..end) {
        Some(shown) if end < name.len() => Cow::Owned(format!("{}…", printable(shown))),
        _ => printable(name),
    }
}

/// Unicode's marks, embeddings, overrides and isolates of writing direction.
const REORDERING: [RangeInclusive<char>; 3] =
    ['\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];

/// `text` with its control characters, and those that reorder text, escaped.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let unfit = |c: char| c.is_control() || REORDERING.iter().any(|range| range.contains(&c));
    if !text.contains(unfit) {
        return Cow::Borrowed(text);
    }
    let mut fit = String::with_capacity(text.len());
    for c in text.chars() {
        if unfit(c) { fit.extend(c.escape_default()) } else { fit.push(c) }
    }
    Cow::Owned(fit)
}

//! Patterns over the segments of a key, and which of two is the more specific.

use std::fmt;

use super::segments::MAX_SEGMENTS;
use crate::error::Error;

/// A pattern: what each segment of a key must be, from the first on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    pub(super) segments: Vec<Part>,
    /// Whether it ends in `**`: any segments may follow, or none.
    pub(super) open: bool,
}

/// What one segment must be. The order is by how specific they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// `search`: this.
    Literal(Box<[u8]>),
    /// `se*`: anything that begins so; `*` alone: anything.
    Prefix(Box<[u8]>),
}

const EXAMPLE: &str = "for example `tenant:*:search`, `tenant:acme*:**`";

impl Pattern {
    /// Reads a pattern.
    pub(super) fn parse(input: &str) -> Result<Self, Error> {
        let fault = |span, found: &str, expected: &str| {
            Err(Error::syntax("pattern", input, span, found, format!("{expected}; {EXAMPLE}")))
        };
        if input.is_empty() {
            let expected = "for every key write `**`; the empty key can have an exact override";
            return fault((0, 0), "it is empty", expected);
        }
        let mut pattern = Self { segments: Vec::new(), open: false };
        let mut start = 0;
        for piece in pieces(input) {
            let span = (start, start + piece.len());
            start = span.1 + 1;
            if pattern.open {
                return fault(span, "something follows `**`", "`**` is the last segment");
            }
            if piece == "**" {
                pattern.open = true;
                continue;
            }
            match part(piece) {
                Ok(part) => pattern.segments.push(part),
                Err((at, found, expected)) => {
                    let at = span.0 + at;
                    return fault((at, at + 1), found, expected);
                }
            }
        }
        if pattern.segments.len() > MAX_SEGMENTS {
            let found = format!("it has {} segments", pattern.segments.len());
            return fault((0, input.len()), &found, &format!("expected at most {MAX_SEGMENTS}"));
        }
        Ok(pattern)
    }
}

/// The pieces between the `:` that no `\` stands before.
fn pieces(input: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    input.split(move |c| {
        let splits = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
}

/// One segment; or where it is wrong, what is, and what would be right.
fn part(piece: &str) -> Result<Part, (usize, &'static str, &'static str)> {
    let mut text = Vec::new();
    let mut characters = piece.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '*' if characters.as_str().is_empty() => return Ok(Part::Prefix(text.into())),
            '*' if characters.as_str() == "*" => {
                return Err((at, "`**` is a part of a segment", "`**` is a segment of its own"));
            }
            '*' => {
                let expected = "`*` ends a segment; for the character itself write `\\*`";
                return Err((at, "`*` stands before the end of a segment", expected));
            }
            '\\' => match characters.next() {
                Some((_, special @ ('*' | ':' | '\\'))) => {
                    text.extend_from_slice(special.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => {
                    return Err((
                        at,
                        "`\\` stands before neither `*`, `:` nor `\\`",
                        "write `\\\\`",
                    ));
                }
            },
            other => text.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(Part::Literal(text.into()))
}

impl fmt::Display for Pattern {
    /// As it can be read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for part in &self.segments {
            let (text, star) = match part {
                Part::Literal(text) => (text, ""),
                Part::Prefix(text) => (text, "*"),
            };
            f.write_str(separator)?;
            for character in String::from_utf8_lossy(text).chars() {
                match character {
                    '*' | ':' | '\\' => write!(f, "\\{character}")?,
                    _ => write!(f, "{character}")?,
                }
            }
            f.write_str(star)?;
            separator = ":";
        }
        if self.open { write!(f, "{separator}**") } else { Ok(()) }
    }
}

//! Reads a limit as people write it:
//!
//! ```text
//! limit    = [ name ":" ] quota [ "burst" number ] [ algorithm ]
//! quota    = number "/" unit | number "per" [ number ] unit
//! ```

use alloc::format;
use alloc::string::String;
use core::str::FromStr;
use core::time::Duration;

use super::print::UNITS;
use super::{Algorithm, Limit, check_name};
use crate::error::Error;

const EXAMPLE: &str = "for example `100/min burst 20`";
const UNIT_NAMES: &str =
    "expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`";

/// Other spellings that have one reading. `m` is not among them: minute or month?
const SPELLINGS: [(&str, &str); 22] = [
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hr", "h"),
    ("hrs", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("d", "day"),
    ("days", "day"),
    ("w", "week"),
    ("weeks", "week"),
    ("months", "month"),
    ("y", "year"),
    ("years", "year"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("microseconds", "us"),
    ("nanoseconds", "ns"),
];

/// A piece of the input, with its place in bytes.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    text: &'a str,
    start: usize,
}

impl Token<'_> {
    fn span(&self) -> (usize, usize) {
        (self.start, self.start + self.text.len())
    }

    fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Splits into words: runs of digits (with any `.`, so that fractions are seen whole), `/`, and
/// runs of anything else that is not a space.
struct Reader<'a> {
    input: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.input.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<Token<'a>> {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        let start = self.at + (rest.len() - trimmed.len());
        let first = trimmed.chars().next()?;
        let in_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | ',');
        let end = if first.is_ascii_digit() {
            trimmed.find(|c: char| !in_number(c))
        } else if first == '/' {
            Some(1)
        } else {
            // A sign and its digits are one word, so that `-5` is pointed at whole.
            let signed = matches!(first, '-' | '+');
            trimmed.char_indices().skip(1).find_map(|(at, c)| {
                let ends = c.is_whitespace() || c == '/' || (!signed && c.is_ascii_digit());
                ends.then_some(at)
            })
        };
        let text = trimmed.get(..end.unwrap_or(trimmed.len()))?;
        Some(Token { text, start })
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at = token.span().1;
        Some(token)
    }

    fn fault(
        &self,
        token: Option<Token<'a>>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Error {
        let end = self.input.trim_end().len();
        let span = token.map_or((end, end), |token| token.span());
        Error::syntax("limit", self.input, span, found, expected)
    }

    fn number(&mut self, what: &str, example: &str) -> Result<(u64, Token<'a>), Error> {
        let token = self.next();
        let Some(word) = token else {
            return Err(self.fault(None, format!("{what} is missing"), example));
        };
        if let Ok(number) = word.text.parse::<u64>()
            && word.is_number()
        {
            return Ok((number, word));
        }
        let text = word.text;
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let (found, expected): (String, String) = match text.to_ascii_lowercase().as_str() {
            "unlimited" | "inf" | "infinity" => (
                format!("`{text}` is not a number"),
                format!("to admit everything, use the policy `unlimited`; {example}"),
            ),
            "blocked" => (
                format!("`{text}` is not a number"),
                format!("to admit nothing, use the policy `blocked`; {example}"),
            ),
            _ if digits => (
                format!("{what} {text} is too large"),
                format!("expected at most {}", Limit::MAX_TOKENS),
            ),
            _ if text.starts_with('-') => (
                format!("{what} {text} is negative"),
                format!("expected a whole number from 1; {example}"),
            ),
            _ if word.is_number() && text.contains('.') => (
                format!("{what} {text} is not a whole number"),
                "write half a token per second as `1 per 2s`".into(),
            ),
            _ => {
                (format!("{what} `{text}` is not a number"), format!("expected digits; {example}"))
            }
        };
        Err(self.fault(token, found, expected))
    }

    /// A unit, as nanoseconds.
    fn unit(&mut self) -> Result<u64, Error> {
        let token = self.next();
        let Some(word) = token else {
            return Err(self.fault(None, "the unit is missing", UNIT_NAMES));
        };
        let name = SPELLINGS
            .iter()
            .find(|(spelling, _)| *spelling == word.text)
            .map_or(word.text, |(_, name)| name);
        if let Some((_, ns)) = UNITS.iter().find(|(unit, _)| *unit == name) {
            return Ok(*ns);
        }
        let near = match name.to_lowercase().as_str() {
            "m" => "; write `min` or `month`".into(),
            _ if word.is_number() => "; a longer period is written `5 per 30s`".into(),
            lower => UNITS
                .iter()
                .skip(2)
                .map(|(unit, _)| *unit)
                .find(|unit| *unit == lower || (unit.len() > 1 && lower.starts_with(unit)))
                .map_or_else(String::new, |unit| format!("; did you mean `{unit}`?")),
        };
        Err(self.fault(token, format!("unknown unit `{}`{near}", word.text), UNIT_NAMES))
    }
}

impl FromStr for Limit {
    type Err = Error;

    /// Reads `[name:] N/UNIT` or `N per DURATION`, then `burst C`, then an algorithm.
    ///
    /// # Errors
    /// The text is not of this form ([`Error::is_syntax`]), or a number is outside its range.
    fn from_str(input: &str) -> Result<Self, Error> {
        let (name, at) = match input.find(':') {
            Some(colon) => (input.get(..colon), colon + 1),
            None => (None, 0),
        };
        let mut reader = Reader { input, at };
        let (tokens, first) = reader.number("the number of tokens", EXAMPLE)?;
        let separator = reader.next();
        let count = match separator.map(|token| token.text) {
            Some("/") => 1,
            Some("per") if reader.peek().is_some_and(|token| token.is_number()) => {
                reader.number("the period", "for example `5 per 30s`")?.0
            }
            Some("per") => 1,
            Some(other) => {
                let found = format!("found `{other}` where `/` or `per` should be");
                return Err(reader.fault(separator, found, EXAMPLE));
            }
            None => return Err(reader.fault(None, "the period is missing", EXAMPLE)),
        };
        let unit = reader.unit()?;
        let period = Duration::from_nanos(count.saturating_mul(unit));
        let mut limit = Self::new(tokens, period).map_err(|fault| {
            let quota = (first.start, reader.at);
            Error::syntax("limit", input, quota, format!("{fault}"), EXAMPLE)
        })?;
        let mut burst = None;
        if let Some(word) = reader.peek().filter(|token| token.text == "burst") {
            reader.next();
            let (capacity, number) = reader.number("the burst", "for example `burst 20`")?;
            limit = limit.burst(capacity).map_err(|fault| {
                Error::syntax("limit", input, number.span(), format!("{fault}"), EXAMPLE)
            })?;
            burst = Some(word.start);
        }
        if let Some(word) = reader.next() {
            limit = algorithm(&reader, word, limit, burst)?;
        }
        if let Some(word) = reader.next() {
            let found = format!("found `{}` after the end of the limit", word.text);
            return Err(reader.fault(Some(word), found, EXAMPLE));
        }
        match name {
            None => Ok(limit),
            Some(name) => {
                let name = name.trim();
                check_name("the name", name).map_err(|fault| {
                    Error::syntax("limit", input, (0, at - 1), format!("{fault}"), EXAMPLE)
                })?;
                limit.named(name)
            }
        }
    }
}

/// The last word of a limit.
fn algorithm(
    reader: &Reader<'_>,
    word: Token<'_>,
    limit: Limit,
    burst: Option<usize>,
) -> Result<Limit, Error> {
    let fault = |span, found: String, expected: &str| {
        Err(Error::syntax("limit", reader.input, span, found, expected))
    };
    let Ok(algorithm) = word.text.parse::<Algorithm>() else {
        let found = format!("found `{}` after the quota", word.text);
        return fault(
            word.span(),
            found,
            "expected `burst N` or an algorithm; for example `100/min burst 20`",
        );
    };
    if let Some(start) = burst
        && algorithm != Algorithm::TokenBucket
    {
        let found = format!("{algorithm} has no burst; only token-bucket has one");
        return fault((start, word.span().1), found, "for example `100/min fixed-window`");
    }
    limit.algorithm(algorithm).map_err(|fault| {
        Error::syntax("limit", reader.input, word.span(), format!("{fault}"), EXAMPLE)
    })
}

impl FromStr for Algorithm {
    type Err = Error;

    /// Reads `token-bucket`, `fixed-window`, `sliding-log` or `sliding-window`.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == text).ok_or_else(|| {
            let names = "token-bucket, fixed-window, sliding-log or sliding-window";
            Error::range("algorithm", format!("`{text}`"), names)
        })
    }
}

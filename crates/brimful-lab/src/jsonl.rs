//! Reads one event of a JSON lines log:
//!
//! ```text
//! {"at_ns": 5300000000, "key": "k", "cost": 1}
//! {"at": "5.3", "key": "k", "cost": 5, "op": "refund"}
//! ```
//!
//! | field | |
//! |---|---|
//! | `at_ns` | nanoseconds since the Unix epoch, a whole number from 0 to 2^63 - 1 |
//! | `at` | instead of `at_ns`: seconds, a decimal as text or number, read digit by digit |
//! | `key` | any text |
//! | `cost` | a whole number from 0 to 2^64 - 1; 1 when absent |
//! | `op` | `acquire` (when absent), `peek` or `refund` |
//!
//! Other fields are ignored. A field that is there twice makes the line bad.

mod plain;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use brimful::Nanos;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::{Event, Op, Reason};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Reads a line.
///
/// # Errors
/// The line is not UTF-8 or not a JSON object, a field is missing, there twice, or outside its
/// range.
pub fn parse(line: &[u8]) -> Result<Event<'_>, Reason> {
    plain::parse(line).map_or_else(|| parse_any(line), Ok)
}

/// Reads a line however it is written.
fn parse_any(line: &[u8]) -> Result<Event<'_>, Reason> {
    let Ok(text) = std::str::from_utf8(line) else {
        return Err(Reason::new("the line is not UTF-8"));
    };
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|fault| reason(&fault))?;
    let at = match (fields.at_ns, fields.at) {
        (Some(ns), None) => nanos(ns.get())?,
        (None, Some(seconds)) => decimal_seconds(seconds.get())?,
        (None, None) => return Err(Reason::new("the time is missing, expected `at_ns` or `at`")),
        (Some(_), Some(_)) => return Err(Reason::new("both `at_ns` and `at` are there")),
    };
    let key = fields.key.ok_or_else(|| Reason::new("the key is missing"))?;
    let cost = match fields.cost {
        None => 1,
        Some(cost) => whole("cost", cost.get(), u64::MAX)?,
    };
    let op = match fields.op {
        None => Op::Acquire,
        Some(op) => Op::named(&op.0).ok_or_else(|| {
            Reason::unexpected("op", op.0.as_bytes(), "`acquire`, `peek` or `refund`")
        })?,
    };
    Ok(Event { at, key: key.0, cost, op })
}

/// `fault` without the words that name a line of the one-line text that was parsed.
fn reason(fault: &serde_json::Error) -> Reason {
    let words = fault.to_string();
    let what = words.rfind(" at line ").and_then(|end| words.get(..end)).unwrap_or(&words);
    let what = crate::event::printable(what);
    if fault.is_data() {
        Reason::new(what.into_owned())
    } else {
        Reason::new(format!("not JSON: {what} at column {}", fault.column()))
    }
}

fn nanos(raw: &str) -> Result<Nanos, Reason> {
    whole("at_ns", raw, Nanos::MAX.as_nanos()).map(Nanos::from_nanos)
}

/// Reads a JSON value that must be a whole number from 0 to `most`.
fn whole(field: &str, raw: &str, most: u64) -> Result<u64, Reason> {
    let digits = raw.bytes().all(|b| b.is_ascii_digit());
    let number = if digits { raw.parse().ok() } else { None };
    number.filter(|number| *number <= most).ok_or_else(|| {
        let expected = format!("a whole number from 0 to {most}");
        Reason::unexpected(field, raw.as_bytes(), &expected)
    })
}

/// Reads a JSON value, text or number, that must be seconds as a decimal.
fn decimal_seconds(raw: &str) -> Result<Nanos, Reason> {
    let fault = |expected| Reason::unexpected("at", raw.as_bytes(), expected);
    let text = match serde_json::from_str::<Text<'_>>(raw) {
        Ok(text) => text.0,
        Err(_not_text) => Cow::Borrowed(raw),
    };
    let (whole, fraction) = match text.split_once('.') {
        None => (&*text, "0"),
        Some(parts) => parts,
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(fault("seconds as digits, like \"5.3\""));
    }
    // Zeros behind the ninth digit say nothing.
    let (fraction, below) = fraction.split_at(fraction.len().min(9));
    if below.bytes().any(|b| b != b'0') {
        return Err(fault("at most nine digits after the point"));
    }
    let places = u32::try_from(fraction.len()).unwrap_or(9);
    let nanos = fraction.parse::<u64>().ok().map(|part| part * 10_u64.pow(9 - places));
    whole
        .parse::<u64>()
        .ok()
        .and_then(|seconds| seconds.checked_mul(NANOS_PER_SEC)?.checked_add(nanos?))
        .filter(|ns| *ns <= Nanos::MAX.as_nanos())
        .map(Nanos::from_nanos)
        .ok_or_else(|| fault("seconds from 0 to 9223372036.854775807"))
}

/// The fields as they are written: numbers must not pass through a float.
#[derive(Default)]
struct Fields<'a> {
    at_ns: Option<&'a RawValue>,
    at: Option<&'a RawValue>,
    key: Option<Text<'a>>,
    cost: Option<&'a RawValue>,
    op: Option<Text<'a>>,
}

impl<'de: 'a, 'a> de::Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<Name>()? {
            match name {
                Name::AtNs => once(&mut fields.at_ns, "at_ns", &mut map)?,
                Name::At => once(&mut fields.at, "at", &mut map)?,
                Name::Key => once(&mut fields.key, "key", &mut map)?,
                Name::Cost => once(&mut fields.cost, "cost", &mut map)?,
                Name::Op => once(&mut fields.op, "op", &mut map)?,
                Name::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// Reads the value of a field into its place, which must be empty.
fn once<'de, T: de::Deserialize<'de>, A: MapAccess<'de>>(
    place: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if place.replace(map.next_value()?).is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Name {
    AtNs,
    At,
    Key,
    Cost,
    Op,
    Other,
}

impl<'de> de::Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name, E> {
                Ok(match name {
                    "at_ns" => Name::AtNs,
                    "at" => Name::At,
                    "key" => Name::Key,
                    "cost" => Name::Cost,
                    "op" => Name::Op,
                    _ => Name::Other,
                })
            }
        }
        deserializer.deserialize_identifier(NameVisitor)
    }
}

/// Text, borrowed from the line unless it has escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text for `key` and `op`")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

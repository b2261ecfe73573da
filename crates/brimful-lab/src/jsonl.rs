//! Reads one event of a JSON lines log:
//!
//! ```text
//! {"at_ns": 5300000000, "key": "k", "cost": 1}
//! {"at": "5.3", "key": "k", "cost": 5, "op": "refund"}
//! {"timestamp": "2015-05-17T10:05:03Z", "user": {"id": 7}, "bytes": 1234}
//! ```
//!
//! | field | |
//! |---|---|
//! | `at_ns` | nanoseconds since the Unix epoch, a whole number from 0 to 2^63 - 1 |
//! | `at` | instead of `at_ns`: seconds, a decimal as text or number, read digit by digit; or a date |
//! | `timestamp`, … | where neither is there: the first of some usual names, in any form of time |
//! | `key` | any text |
//! | `cost` | a whole number from 0 to 2^64 - 1; 1 when absent |
//! | `op` | `acquire` (when absent), `peek` or `refund` |
//!
//! Other fields are ignored, unless the key, the time or the cost is said to be in them. Such a
//! field is looked for inside objects too: `user.id` is the field `id` of the object `user`, and
//! also a field whose name is `user.id`. A key is made of text, numbers as they are written, and
//! true and false; null is as good as absent. A field that is there twice makes the line bad.

mod pick;
mod plain;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use brimful::Nanos;

use crate::error::Error;
use crate::event::{Event, Op, Reason, printable, whole};
use crate::template::Template;
use crate::timestamp::{self, TimeUnit};
use crate::wanted::{COST, KEY, OP, TIME_NAMES, Wanted};
use pick::{Value, pick};

/// Reads a line.
///
/// # Errors
/// The line is not UTF-8 or not a JSON object, a field is missing, there twice, or outside its
/// range.
pub fn parse(line: &[u8]) -> Result<Event<'_>, Reason> {
    plain::parse(line).map_or_else(|| Reader::usual().read_any(line), Ok)
}

/// Reads lines whose time, key and cost are where they are said to be.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// Nothing was said, so that a plain line can be read the short way.
    usual: bool,
    cost_chosen: bool,
    key: Option<Template>,
    /// Units of times that are numbers, by place in `names`; the first times of them. Where what
    /// was said cannot be, the reason.
    units: Vec<Result<Option<TimeUnit>, Reason>>,
    /// The fields to look for: times, the cost, the op, and those of the key.
    names: Vec<Cow<'static, str>>,
}

impl Reader {
    pub(crate) fn new(wanted: &Wanted) -> Result<Self, Error> {
        wanted.check()?;
        Ok(Self::with(wanted))
    }

    fn with(wanted: &Wanted) -> Self {
        let mut names: Vec<Cow<'static, str>> = match &wanted.time {
            Some(name) => vec![name.clone().into()],
            None => TIME_NAMES.map(Cow::Borrowed).into(),
        };
        let units = names.iter().map(|name| wanted.unit(name)).collect();
        names.push(wanted.cost.clone().map_or(Cow::Borrowed(COST), Cow::Owned));
        names.push(Cow::Borrowed(OP));
        match &wanted.key {
            None => names.push(Cow::Borrowed(KEY)),
            Some(template) => names.extend(template.fields().map(|name| name.to_owned().into())),
        }
        let Wanted { key, time, cost, unit } = wanted;
        let usual = key.is_none() && time.is_none() && cost.is_none() && unit.is_none();
        let cost_chosen = wanted.cost.is_some();
        Self { usual, cost_chosen, key: wanted.key.clone(), units, names }
    }

    /// Nothing is said.
    fn usual() -> Self {
        Self::with(&Wanted::default())
    }

    pub(crate) fn read<'a>(&self, line: &'a [u8]) -> Result<Event<'a>, Reason> {
        let short = if self.usual { plain::parse(line) } else { None };
        short.map_or_else(|| self.read_any(line), Ok)
    }

    /// Reads a line however it is written.
    fn read_any<'a>(&self, line: &'a [u8]) -> Result<Event<'a>, Reason> {
        let Ok(text) = std::str::from_utf8(line) else {
            return Err(Reason::new("the line is not UTF-8"));
        };
        let found = pick(&self.names, text)?;
        let (times, rest) = found.split_at_checked(self.units.len()).unwrap_or_default();
        let at = self.time(times)?;
        let ([cost, op], keys) = rest.split_first_chunk().unwrap_or((&[None; 2], &[]));
        let key = match &self.key {
            None => {
                let key = keys.first().copied().flatten();
                key.ok_or_else(|| Reason::new("the key is missing"))?.text(KEY)?
            }
            Some(template) => template.key(|place| {
                let name = self.names.get(self.units.len() + 2 + place).map_or("", Cow::as_ref);
                keys.get(place).copied().flatten().ok_or_else(|| missing(name))?.scalar(name)
            })?,
        };
        let cost = cost.map_or(Ok(1), |cost| self.cost(cost))?;
        let op = match op {
            None => Op::Acquire,
            Some(op) => {
                let name = op.text(OP)?;
                Op::named(&name).ok_or_else(|| {
                    Reason::unexpected(OP, name.as_bytes(), "`acquire`, `peek` or `refund`")
                })?
            }
        };
        Ok(Event { at, key, cost, op })
    }

    /// The cost. A field that somebody chose may hold its digits as text, as servers write them.
    fn cost(&self, value: Value<'_>) -> Result<u64, Reason> {
        let name = self.names.get(self.units.len()).map_or(COST, Cow::as_ref);
        let text = if self.cost_chosen && value.is_text() { Some(value.text(name)?) } else { None };
        whole(name, text.as_deref().unwrap_or(value.raw), u64::MAX)
    }

    /// The time, in the first field that is there.
    fn time(&self, found: &[Option<Value<'_>>]) -> Result<Nanos, Reason> {
        if let [Some(_), Some(_), ..] = found {
            return Err(Reason::new("both `at_ns` and `at` are there"));
        }
        let place = found.iter().position(Option::is_some);
        let Some((place, value)) = place.and_then(|at| Some((at, found.get(at).copied()??))) else {
            return Err(match &*self.names {
                [name, ..] if found.len() == 1 => missing(name),
                _ => Reason::new(format!(
                    "the time is missing, expected one of {}",
                    TIME_NAMES.join(", ")
                )),
            });
        };
        let name = self.names.get(place).map_or("", Cow::as_ref);
        let unit = self.units.get(place).map_or(Ok(None), Clone::clone)?;
        if name == "at_ns" {
            return whole(name, value.raw, Nanos::MAX.as_nanos()).map(Nanos::from_nanos);
        }
        // What is not text is a number, or refused as a time.
        let text = if value.is_text() { value.text(name)? } else { Cow::Borrowed(value.raw) };
        timestamp::read(&text, unit)
            .map_err(|expected| Reason::unexpected(name, value.raw.as_bytes(), expected))
    }
}

fn missing(name: &str) -> Reason {
    Reason::new(format!("`{}` is missing", printable(name)))
}

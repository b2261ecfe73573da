//! Turns lines into events in the order of their times.

use crate::combined;
use crate::csv;
use crate::error::Error;
use crate::event::{Event, Op, Reason};
use crate::jsonl;
use crate::keys::{KeyId, Keys};
use crate::lines::{Line, MAX_LINE};
use crate::options::Format;
use crate::reorder::{Held, Reorder};
use crate::wanted::Wanted;

/// What an event asks for, without its time and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ask {
    pub(crate) key: KeyId,
    pub(crate) cost: u64,
    pub(crate) op: Op,
}

/// Reads the lines of one format.
#[derive(Debug)]
pub(crate) enum Reader {
    Combined(combined::Reader),
    Jsonl(jsonl::Reader),
    Csv(Box<csv::Reader>),
}

/// What came of a line.
#[derive(Debug)]
pub(crate) enum Found {
    Event(Held<Ask>),
    Bad {
        line: u64,
        reason: Reason,
    },
    /// It is blank, a header, or a part of a longer row.
    Nothing,
}

impl Reader {
    pub(crate) fn new(format: Format, wanted: &Wanted) -> Result<Self, Error> {
        Ok(match format {
            Format::Combined => Self::Combined(combined::Reader::new(wanted)?),
            Format::Jsonl => Self::Jsonl(jsonl::Reader::new(wanted)?),
            Format::Csv => Self::Csv(Box::new(csv::Reader::new(wanted)?)),
        })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// It is a header that does not have what is wanted.
    pub(crate) fn read(&mut self, line: &Line<'_>, keys: &mut Keys) -> Result<Found, Error> {
        if let Self::Csv(reader) = self {
            return Ok(reader.read(line)?.map_or(Found::Nothing, |row| row.found(keys)));
        }
        if line.is_blank() {
            return Ok(Found::Nothing);
        }
        let too_long = || Reason::new(format!("the line is longer than {MAX_LINE} bytes"));
        let event = line.text.ok_or_else(too_long).and_then(|text| match self {
            Self::Combined(reader) => reader.read(text),
            Self::Jsonl(reader) => reader.read(text),
            // Read above.
            Self::Csv(_) => Err(Reason::new("")),
        });
        Ok(Found::of(line.number, event, keys))
    }

    /// What is left at the end of the log.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn finish(&mut self, keys: &mut Keys) -> Result<Found, Error> {
        match self {
            Self::Csv(reader) => Ok(reader.finish()?.map_or(Found::Nothing, |row| row.found(keys))),
            Self::Combined(_) | Self::Jsonl(_) => Ok(Found::Nothing),
        }
    }
}

impl Found {
    fn of(line: u64, event: Result<Event<'_>, Reason>, keys: &mut Keys) -> Self {
        let held = event.and_then(|event| {
            let key = keys.id(&event.key).ok_or_else(|| Reason::new("more than 2^32 keys"))?;
            Ok(Held { at: event.at, line, what: Ask { key, cost: event.cost, op: event.op } })
        });
        match held {
            Ok(event) => Self::Event(event),
            Err(reason) => Self::Bad { line, reason },
        }
    }
}

impl csv::Row<'_> {
    fn found(self, keys: &mut Keys) -> Found {
        Found::of(self.line, self.event, keys)
    }
}

/// The reader of a log and the buffer that puts its events in order.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) format: Format,
    pub(crate) reader: Reader,
    /// How long events are held back, in nanoseconds.
    pub(crate) span_ns: u64,
    pub(crate) reorder: Reorder<Ask>,
}

//! Reads comma-separated values as RFC 4180 has them: a header row with the names of the columns,
//! then one event a row. A value with a comma, a quote or a line's end in it stands in quotes, and
//! a quote in it is doubled. A line's end in a value is read as `\n`, however it is written.
//!
//! ```text
//! timestamp,remote_addr,bytes
//! 2015-05-17T10:05:03Z,198.18.0.1,1234
//! ```
//!
//! Columns mean what the fields of JSON lines mean. `at_ns`, `at` and their kin, `key`, `cost` and
//! `op` are found whatever the case of their letters, and with spaces around them.

mod columns;
#[cfg(test)]
mod tests;
mod values;

use crate::error::Error;
use crate::event::{Event, Reason};
use crate::lines::{Line, MAX_LINE};
use crate::wanted::Wanted;
use columns::Columns;
use values::Values;

/// What a line completed.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// The line that the row begins in.
    pub(crate) line: u64,
    pub(crate) event: Result<Event<'a>, Reason>,
}

/// Puts rows together from lines, and reads them as the header says.
#[derive(Debug)]
pub(crate) struct Reader {
    wanted: Wanted,
    /// `None` before the header.
    columns: Option<Columns>,
    values: Values,
    /// The line in which the row begins that is not complete yet.
    begun: Option<u64>,
}

impl Reader {
    pub(crate) fn new(wanted: &Wanted) -> Result<Self, Error> {
        wanted.check()?;
        Ok(Self { wanted: wanted.clone(), columns: None, values: Values::default(), begun: None })
    }

    /// Takes the next line; the row that it completes, if it does. A row holds at most as many
    /// bytes as a line.
    ///
    /// # Errors
    /// The header is not one that events can be read by.
    pub(crate) fn read(&mut self, line: &Line<'_>) -> Result<Option<Row<'_>>, Error> {
        if self.begun.is_none() {
            if line.is_blank() {
                return Ok(None);
            }
            self.values.clear();
        }
        let number = *self.begun.get_or_insert(line.number);
        match line.text {
            Some(text) if self.values.filled + text.len() <= MAX_LINE => {
                if !self.values.take(text) {
                    return Ok(None);
                }
                self.begun = None;
                self.complete(number)
            }
            _ => self.given_up(&format!(
                "the row of lines {number} to {} is longer than {MAX_LINE} bytes; is a quote not closed?",
                line.number
            )),
        }
    }

    /// Says at the end of the log what became of a row that was begun.
    pub(crate) fn finish(&mut self) -> Result<Option<Row<'_>>, Error> {
        if self.begun.is_none() {
            return Ok(None);
        }
        self.given_up("the row has a quote that is not closed")
    }

    fn given_up(&mut self, why: &str) -> Result<Option<Row<'_>>, Error> {
        let Some(line) = self.begun.take() else { return Ok(None) };
        self.values.clear();
        if self.columns.is_none() {
            return Err(Error::usage(format!("the CSV header cannot be read: {why}")));
        }
        Ok(Some(Row { line, event: Err(Reason::new(why.to_owned())) }))
    }

    /// Reads a complete row: the header, or an event.
    fn complete(&mut self, line: u64) -> Result<Option<Row<'_>>, Error> {
        match &self.columns {
            None => {
                self.columns = Some(Columns::of(&self.values, &self.wanted)?);
                Ok(None)
            }
            Some(columns) => Ok(Some(Row { line, event: columns.event(&self.values) })),
        }
    }
}

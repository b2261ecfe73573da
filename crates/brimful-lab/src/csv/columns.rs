//! What the header says: in which columns the parts of an event are.

use std::borrow::Cow;

use brimful::Nanos;

use super::values::Values;
use crate::error::Error;
use crate::event::{Event, Op, Reason, printable, whole};
use crate::template::Template;
use crate::timestamp::{self, TimeUnit};
use crate::wanted::{self, COST, KEY, OP, TIME_NAMES, Wanted};

/// A column by its number, from 0, and its name.
#[derive(Debug)]
struct Column {
    place: usize,
    name: String,
}

/// The columns that are read.
#[derive(Debug)]
pub(super) struct Columns {
    /// Of all columns.
    count: usize,
    time: Column,
    /// Of times that are numbers; `None`: their size tells.
    unit: Option<TimeUnit>,
    cost: Option<Column>,
    op: Option<Column>,
    /// `None`: the one column that is the key.
    template: Option<Template>,
    key: Vec<Column>,
}

impl Columns {
    /// Reads the header.
    pub(super) fn of(header: &Values, wanted: &Wanted) -> Result<Self, Error> {
        let names = Names::of(header)?;
        let time = match &wanted.time {
            Some(name) => names.said("time column", name)?,
            None => names.usual_time()?,
        };
        let cost = match &wanted.cost {
            Some(name) => Some(names.said("cost column", name)?),
            None => names.usual(COST)?,
        };
        let key = match &wanted.key {
            Some(template) => template.fields().map(|name| names.said("column", name)).collect(),
            None => names.usual(KEY)?.map(|column| vec![column]).ok_or_else(|| {
                let missing = wanted::unknown("column", KEY, names.0.iter());
                Error::usage(format!("{missing}; say which is the key, as in `--key {{column}}`"))
            }),
        };
        Ok(Self {
            count: names.0.len(),
            unit: wanted
                .unit(&time.name.to_ascii_lowercase())
                .map_err(|reason| Error::usage(reason.to_string()))?,
            time,
            cost,
            op: names.usual(OP)?,
            template: wanted.key.clone(),
            key: key?,
        })
    }

    /// Reads a row.
    pub(super) fn event<'a>(&self, row: &'a Values) -> Result<Event<'a>, Reason> {
        if row.len() != self.count {
            let (found, count) = (row.len(), self.count);
            return Err(Reason::new(format!("the row has {found} values, the header {count}")));
        }
        let at = self.at(text(row, &self.time)?.trim())?;
        let key = |place: usize| {
            // There is a column for each name of the template.
            self.key.get(place).map_or(Ok(""), |column| text(row, column)).map(Cow::Borrowed)
        };
        let key = self.template.as_ref().map_or_else(|| key(0), |template| template.key(key))?;
        let cost = match &self.cost {
            None => 1,
            Some(column) => whole(&column.name, text(row, column)?.trim(), u64::MAX)?,
        };
        let op = match &self.op {
            None => Op::Acquire,
            Some(column) => {
                let name = text(row, column)?.trim();
                let fault =
                    || Reason::unexpected(OP, name.as_bytes(), "`acquire`, `peek` or `refund`");
                Op::named(name).ok_or_else(fault)?
            }
        };
        Ok(Event { at, key, cost, op })
    }

    fn at(&self, text: &str) -> Result<Nanos, Reason> {
        let name = &*self.time.name;
        if name.eq_ignore_ascii_case("at_ns") {
            return whole(name, text, Nanos::MAX.as_nanos()).map(Nanos::from_nanos);
        }
        timestamp::read(text, self.unit)
            .map_err(|expected| Reason::unexpected(name, text.as_bytes(), expected))
    }
}

fn text<'a>(row: &'a Values, column: &Column) -> Result<&'a str, Reason> {
    let value = row.get(column.place).unwrap_or_default();
    let fault = |_| Reason::unexpected(&column.name, value, "UTF-8");
    std::str::from_utf8(value).map_err(fault)
}

/// The names of the columns.
struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    fn of(header: &'a Values) -> Result<Self, Error> {
        let values = (0..header.len()).map(|place| header.get(place).unwrap_or_default());
        let names = values.map(|name| std::str::from_utf8(name).map(str::trim));
        match names.collect() {
            Ok(names) => Ok(Self(names)),
            Err(_) => Err(Error::usage("the CSV header is not UTF-8")),
        }
    }

    /// The column that somebody named.
    fn said(&self, what: &str, name: &str) -> Result<Column, Error> {
        self.only(|known| known == name)?.ok_or_else(|| wanted::unknown(what, name, self.0.iter()))
    }

    /// The column with a usual name.
    fn usual(&self, name: &str) -> Result<Option<Column>, Error> {
        self.only(|known| known.eq_ignore_ascii_case(name))
    }

    fn usual_time(&self) -> Result<Column, Error> {
        let (at_ns, at) = (self.usual("at_ns")?, self.usual("at")?);
        if at_ns.is_some() && at.is_some() {
            return Err(Error::usage(
                "both `at_ns` and `at` are in the CSV header; say which is the time, as in \
                 `--time-field at`",
            ));
        }
        for name in TIME_NAMES {
            if let Some(column) = self.usual(name)? {
                return Ok(column);
            }
        }
        let missing = wanted::unknown("column", "timestamp", self.0.iter());
        Err(Error::usage(format!("{missing}; say which is the time, as in `--time-field NAME`")))
    }

    /// The one column whose name fits.
    fn only(&self, fits: impl Fn(&str) -> bool) -> Result<Option<Column>, Error> {
        let mut fitting = self.0.iter().enumerate().filter(|(_, name)| fits(name));
        let Some((place, name)) = fitting.next() else { return Ok(None) };
        if fitting.next().is_some() {
            let name = printable(name);
            return Err(Error::usage(format!("the CSV header has the column `{name}` twice")));
        }
        Ok(Some(Column { place, name: (*name).to_owned() }))
    }
}

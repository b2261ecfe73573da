//! Which fields of a line say when, whose budget, and how much.

use std::borrow::Cow;

use crate::error::Error;
use crate::event::{Reason, printable, short};
use crate::template::Template;
use crate::timestamp::TimeUnit;

/// Fields that are taken for the time when none is named, in this order.
pub(crate) const TIME_NAMES: [&str; 10] = [
    "at_ns",
    "at",
    "timestamp",
    "@timestamp",
    "time",
    "ts",
    "datetime",
    "time_local",
    "time_iso8601",
    "msec",
];
/// The field of the cost when none is named.
pub(crate) const COST: &str = "cost";
/// The field of what an event asks for.
pub(crate) const OP: &str = "op";
/// The field that is the key when nothing is said.
pub(crate) const KEY: &str = "key";
/// The longest name of a field, in bytes. It bounds how deep a name with dots can look.
const MAX_NAME: usize = 256;
/// Names that an error lists.
const LISTED: usize = 40;

/// What was said about the fields of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) key: Option<Template>,
    pub(crate) time: Option<String>,
    pub(crate) cost: Option<String>,
    /// The unit of times that are numbers, where the field's name does not say it.
    pub(crate) unit: Option<TimeUnit>,
}

impl Wanted {
    /// Checks what is at fault in any log.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (what, name) in [("time", &self.time), ("cost", &self.cost)] {
            let Some(name) = name else { continue };
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(Error::usage(format!(
                    "the name of the {what} field has {} bytes, expected 1 to {MAX_NAME}",
                    name.len()
                )));
            }
        }
        self.time.as_deref().map_or(Ok(()), |name| {
            self.unit(name).map(drop).map_err(|reason| Error::usage(reason.to_string()))
        })
    }

    /// The unit of a number in the time field `name`; `None`: its size tells.
    ///
    /// # Errors
    /// The name says another unit than was said.
    pub(crate) fn unit(&self, name: &str) -> Result<Option<TimeUnit>, Reason> {
        match (TimeUnit::of_name(name), self.unit) {
            (Some(named), Some(said)) if named != said => Err(Reason::new(format!(
                "times in `{}` are in {named}, and the unit of time is said to be {said}",
                printable(name)
            ))),
            (named, said) => Ok(named.or(said)),
        }
    }
}

/// A field that is not there, in a log whose fields are `known`.
pub(crate) fn unknown(
    what: &str,
    name: &str,
    known: impl Iterator<Item = impl AsRef<str>>,
) -> Error {
    let mut known: Vec<String> = known.map(|name| short(name.as_ref()).into_owned()).collect();
    let more = known.len().saturating_sub(LISTED);
    known.truncate(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let name: Cow<'_, str> = printable(name);
    Error::usage(format!("there is no {what} `{name}`; there are {}{more}", known.join(", ")))
}

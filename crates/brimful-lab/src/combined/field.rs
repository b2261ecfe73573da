//! The fields of a line that a key can be made of, under the names that servers give them.

use std::borrow::Cow;

use super::{Record, quoted, split};
use crate::error::Error;
use crate::event::{Event, Op, Reason};
use crate::template::Template;
use crate::wanted::{self, Wanted};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    VirtualHost,
    RemoteAddr,
    Ident,
    RemoteUser,
    TimeLocal,
    Request,
    Method,
    Path,
    Query,
    Protocol,
    Status,
    BodyBytesSent,
    Referer,
    UserAgent,
}

/// All fields by name.
const FIELDS: [(&str, Field); 14] = [
    ("virtual_host", Field::VirtualHost),
    ("remote_addr", Field::RemoteAddr),
    ("ident", Field::Ident),
    ("remote_user", Field::RemoteUser),
    ("time_local", Field::TimeLocal),
    ("request", Field::Request),
    ("method", Field::Method),
    ("path", Field::Path),
    ("query", Field::Query),
    ("protocol", Field::Protocol),
    ("status", Field::Status),
    ("body_bytes_sent", Field::BodyBytesSent),
    ("referer", Field::Referer),
    ("user_agent", Field::UserAgent),
];

/// Reads lines whose key and cost are what was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// The template, and the field that each of its names means; `None`: the host.
    key: Option<(Template, Vec<Field>)>,
    /// The cost is the size.
    by_size: bool,
}

impl Reader {
    pub(crate) fn new(wanted: &Wanted) -> Result<Self, Error> {
        if let Some(name) = &wanted.time {
            return Err(Error::usage(format!(
                "the time of a combined log is always in brackets, so there is no time field `{name}` to choose"
            )));
        }
        if wanted.unit.is_some() {
            return Err(Error::usage("the time of a combined log is a date and has no unit"));
        }
        let by_size = match wanted.cost.as_deref() {
            None => false,
            Some("body_bytes_sent") => true,
            Some(name) => {
                return Err(wanted::unknown("cost field", name, ["body_bytes_sent"].iter()));
            }
        };
        let key = match &wanted.key {
            None => None,
            Some(template) => {
                let fields: Result<_, _> = template.fields().map(named).collect();
                Some((template.clone(), fields?))
            }
        };
        Ok(Self { key, by_size })
    }

    pub(crate) fn read<'a>(&self, line: &'a [u8]) -> Result<Event<'a>, Reason> {
        let record = Record::of(line)?;
        let key = match &self.key {
            None => Cow::Borrowed(record.host),
            Some((template, fields)) => template.key(|place| {
                // There is a field for each name of the template.
                fields.get(place).map_or(Ok(Cow::Borrowed("")), |field| record.text(*field))
            })?,
        };
        let cost = if self.by_size { record.cost()? } else { 1 };
        Ok(Event { at: record.at, key, cost, op: Op::Acquire })
    }
}

fn named(name: &str) -> Result<Field, Error> {
    let found = FIELDS.iter().find(|(known, _)| *known == name);
    let names = FIELDS.iter().map(|(name, _)| name);
    found.map(|(_, field)| *field).ok_or_else(|| wanted::unknown("field", name, names))
}

impl<'a> Record<'a> {
    /// A field as text.
    fn text(&self, field: Field) -> Result<Cow<'a, str>, Reason> {
        let bytes = self.bytes(field)?;
        std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| {
            let name =
                FIELDS.iter().find(|(_, known)| *known == field).map_or("", |(name, _)| name);
            Reason::unexpected(name, bytes, "UTF-8")
        })
    }

    fn bytes(&self, field: Field) -> Result<&'a [u8], Reason> {
        Ok(match field {
            Field::VirtualHost => self.virtual_host.ok_or_else(|| {
                Reason::new("there is no virtual host, as `www.example:443 `, before the host")
            })?,
            Field::RemoteAddr => self.host.as_bytes(),
            Field::Ident => self.ident,
            Field::RemoteUser => self.user,
            Field::TimeLocal => self.time,
            Field::Request => self.request,
            Field::Status => self.status,
            Field::BodyBytesSent => self.size,
            Field::Method => self.request_line()?.method,
            Field::Path => parts_of_target(self.request_line()?.target).0,
            Field::Query => parts_of_target(self.request_line()?.target).1,
            Field::Protocol => self.request_line()?.protocol.ok_or_else(|| {
                Reason::unexpected(
                    "the request",
                    self.request,
                    "a protocol like `HTTP/1.1` at its end",
                )
            })?,
            Field::Referer => self.behind_size()?.0,
            Field::UserAgent => self.behind_size()?.1,
        })
    }

    fn request_line(&self) -> Result<RequestLine<'a>, Reason> {
        let (method, rest) = split(self.request, b' ')
            .filter(|(method, rest)| !method.is_empty() && !rest.is_empty())
            .ok_or_else(|| {
                Reason::unexpected("the request", self.request, "`METHOD TARGET PROTOCOL`")
            })?;
        // A target may hold spaces, a protocol does not.
        let protocol = memchr::memrchr(b' ', rest)
            .and_then(|at| Some((rest.get(..at)?, rest.get(at + 1..)?)))
            .filter(|(_, protocol)| protocol.starts_with(b"HTTP/"));
        Ok(match protocol {
            Some((target, protocol)) => RequestLine { method, target, protocol: Some(protocol) },
            None => RequestLine { method, target: rest, protocol: None },
        })
    }

    /// The referer and the user agent.
    fn behind_size(&self) -> Result<(&'a [u8], &'a [u8]), Reason> {
        let parts = || {
            let (referer, rest) = quoted(self.rest.strip_prefix(b" \"")?)?;
            let (agent, _) = quoted(rest.strip_prefix(b" \"")?)?;
            Some((referer, agent))
        };
        parts().ok_or_else(|| Reason::new("the referer and the user agent are not there in quotes"))
    }

    fn cost(&self) -> Result<u64, Reason> {
        if self.size == b"-" {
            return Ok(0);
        }
        let number = std::str::from_utf8(self.size).ok().and_then(|size| size.parse().ok());
        let expected = "a whole number from 0 to 18446744073709551615";
        number.ok_or_else(|| Reason::unexpected("the size", self.size, expected))
    }
}

/// A request in its parts.
struct RequestLine<'a> {
    method: &'a [u8],
    target: &'a [u8],
    /// HTTP/0.9 has none.
    protocol: Option<&'a [u8]>,
}

/// The path and the query of a target; the query is empty when there is none.
fn parts_of_target(target: &[u8]) -> (&[u8], &[u8]) {
    split(target, b'?').unwrap_or((target, b""))
}

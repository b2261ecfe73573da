//! Reads one line of a web server's log in the common or combined format:
//!
//! ```text
//! host ident user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1234 "referrer" "agent"
//! ```
//!
//! A virtual host with its port may stand before it all, `www.example:443 host ident user …`, as
//! Apache's `vhost_combined` has it.
//!
//! What counts is the host, which is the key unless a template says otherwise, and the time. The
//! rest up to the size is checked, so that a line that was cut off is seen to be bad; what follows
//! the size is not looked at unless the key needs it, and bytes of any encoding may stand in the
//! request and behind it.

mod field;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use brimful::Nanos;

use crate::event::{Event, Op, Reason};
use crate::timestamp::common_log;

pub(crate) use field::Reader;

/// Reads a line.
///
/// The user may contain spaces. A zone is an offset up to 23:59. Second 60 is refused: Unix time,
/// in which servers count, does not have it.
///
/// # Errors
/// The line is not of this form, its date is not in the calendar, or its time cannot be counted.
pub fn parse(line: &[u8]) -> Result<Event<'_>, Reason> {
    let record = Record::of(line)?;
    Ok(Event { at: record.at, key: Cow::Borrowed(record.host), cost: 1, op: Op::Acquire })
}

/// A line in its parts, each as it is written but without its quotes and brackets.
struct Record<'a> {
    /// With its port.
    virtual_host: Option<&'a [u8]>,
    host: &'a str,
    ident: &'a [u8],
    user: &'a [u8],
    time: &'a [u8],
    at: Nanos,
    request: &'a [u8],
    status: &'a [u8],
    size: &'a [u8],
    /// What follows the size.
    rest: &'a [u8],
}

impl<'a> Record<'a> {
    fn of(line: &'a [u8]) -> Result<Self, Reason> {
        let (first, behind) = split(line, b' ').ok_or_else(|| {
            Reason::unexpected("the line", line, "`host ident user [time] \"request\" status size`")
        })?;
        let (virtual_host, host, rest) = match host_behind(first, behind) {
            Some((host, rest)) => (Some(first), host, rest),
            None => (None, first, behind),
        };
        let host = match std::str::from_utf8(host) {
            Ok("") => return Err(Reason::new("the host is missing")),
            Ok(host) => host,
            Err(_) => return Err(Reason::unexpected("the host", host, "UTF-8")),
        };
        let Some((ident, user_on)) = split(rest, b' ') else {
            return Err(Reason::new("the user and the time are missing"));
        };
        let [user, time, request_on] = split_time(user_on)?;
        let at =
            common_log(time).map_err(|expected| Reason::unexpected("the time", time, expected))?;
        let [request, status, size, rest] = tail(request_on)?;
        Ok(Self { virtual_host, host, ident, user, time, at, request, status, size, rest })
    }
}

/// The host and what follows it, of a line that begins with a virtual host.
///
/// A server may well log `client:port ident user`, so a name with a port is not enough: there is
/// one word more before the time. A user of two words may have that too, but then the second word
/// is the ident, which is `-` wherever nobody runs the service of that name.
fn host_behind<'a>(first: &[u8], behind: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (name, port) = first.split_at_checked(memchr::memrchr(b':', first)?)?;
    let digits = port.get(1..)?;
    let has_port = (1..=5).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    // An IPv6 address has a port only behind its brackets.
    let is_name = !name.contains(&b':') || (name.starts_with(b"[") && name.ends_with(b"]"));
    if !(has_port && is_name) {
        return None;
    }
    let (host, rest) = split(behind, b' ').filter(|(host, _)| *host != b"-")?;
    let (_ident, user_on) = split(rest, b' ')?;
    if user_on.starts_with(b"[") { None } else { Some((host, rest)) }
}

/// What is before and after the first `at`.
fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(at, text)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// Splits what follows the ident into the user, the time, and the inside of the request with what
/// is behind it. Servers escape quotes in a user, so the first ` "` opens the request; a user may
/// well look like a time, so the last bracket before the request counts.
fn split_time(user_on: &[u8]) -> Result<[&[u8]; 3], Reason> {
    let quote = memchr::memmem::find(user_on, b" \"");
    let (before, request_on) = quote.map_or((user_on, None), |at| {
        let (before, from) = user_on.split_at(at);
        (before, from.get(2..))
    });
    let open = memchr::memmem::rfind(before, b" [");
    let Some((user, inside)) = open.and_then(|at| Some((before.get(..at)?, before.get(at + 2..)?)))
    else {
        return Err(Reason::new("the time is missing, expected ` [day/Mon/year:…]`"));
    };
    let Some(inside) = inside.strip_suffix(b"]") else {
        return Err(Reason::unexpected("the time", inside, "`]` at its end"));
    };
    let missing = || Reason::new("the request is missing, expected ` \"…\"` after the time");
    Ok([user, inside, request_on.ok_or_else(missing)?])
}

/// Splits what follows the quote that opens the request, `request" status size…`, into these and
/// what is behind them.
fn tail(rest: &[u8]) -> Result<[&[u8]; 4], Reason> {
    let (request, after) =
        quoted(rest).ok_or_else(|| Reason::new("the request has no closing quote"))?;
    let Some(status_on) = after.strip_prefix(b" ") else {
        return Err(Reason::new("the status is missing"));
    };
    let number = |word: &[u8]| word == b"-" || word.iter().all(u8::is_ascii_digit);
    let (status, size_on) =
        split(status_on, b' ').map_or((status_on, None), |(word, on)| (word, Some(on)));
    if !((status.len() == 3 || status == b"-") && number(status)) {
        return Err(Reason::unexpected("the status", status, "three digits or `-`"));
    }
    let size_on = size_on.ok_or_else(|| Reason::new("the size is missing"))?;
    let end = memchr::memchr(b' ', size_on).unwrap_or(size_on.len());
    let (size, rest) = size_on.split_at_checked(end).unwrap_or((size_on, b""));
    if size.is_empty() || !number(size) {
        return Err(Reason::unexpected("the size", size, "digits or `-`"));
    }
    Ok([request, status, size, rest])
}

/// What is before and after the `"` that ends a quote: the first that no backslash escapes.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr_iter(b'"', text).find(|end| {
        let before = text.get(..*end).unwrap_or_default();
        let backslashes = before.iter().rev().take_while(|b| **b == b'\\').count();
        backslashes % 2 == 0
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

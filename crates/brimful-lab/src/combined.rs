//! Reads one line of a web server's log in the common or combined format:
//!
//! ```text
//! host ident user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1234 "referrer" "agent"
//! ```
//!
//! What counts is the host, which is the key, and the time. The rest up to the size is checked, so
//! that a line that was cut off is seen to be bad; what follows the size is not looked at, and
//! bytes of any encoding may stand in the request and behind it.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use brimful::Nanos;

use crate::civil;
use crate::event::{Event, Op, Reason};

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Reads a line.
///
/// The user may contain spaces. A zone is an offset up to 23:59. Second 60 is refused: Unix time,
/// in which servers count, does not have it.
///
/// # Errors
/// The line is not of this form, its date is not in the calendar, or its time cannot be counted.
pub fn parse(line: &[u8]) -> Result<Event<'_>, Reason> {
    let (host, rest) = split(line, b' ').ok_or_else(|| {
        Reason::unexpected("the line", line, "`host ident user [time] \"request\" status size`")
    })?;
    let key = match std::str::from_utf8(host) {
        Ok("") => return Err(Reason::new("the host is missing")),
        Ok(host) => Cow::Borrowed(host),
        Err(_) => return Err(Reason::unexpected("the host", host, "UTF-8")),
    };
    let Some((_ident, user_on)) = split(rest, b' ') else {
        return Err(Reason::new("the user and the time are missing"));
    };
    let (inside, request_on) = split_time(user_on)?;
    let at = timestamp(inside)?;
    tail(request_on)?;
    Ok(Event { at, key, cost: 1, op: Op::Acquire })
}

/// What is before and after the first `at`.
fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(at, text)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// Splits what follows the ident into the time and the inside of the request and what is behind it.
/// Servers escape quotes in a user, so the first ` "` opens the request; a user may well look like
/// a time, so the last bracket before the request counts.
fn split_time(user_on: &[u8]) -> Result<(&[u8], &[u8]), Reason> {
    let quote = memchr::memmem::find(user_on, b" \"");
    let (before, request_on) = quote.map_or((user_on, None), |at| {
        let (before, from) = user_on.split_at(at);
        (before, from.get(2..))
    });
    let open = memchr::memmem::rfind(before, b" [");
    let Some(inside) = open.and_then(|at| before.get(at + 2..)) else {
        return Err(Reason::new("the time is missing, expected ` [day/Mon/year:…]`"));
    };
    let Some(inside) = inside.strip_suffix(b"]") else {
        return Err(Reason::unexpected("the time", inside, "`]` at its end"));
    };
    let missing = || Reason::new("the request is missing, expected ` \"…\"` after the time");
    Ok((inside, request_on.ok_or_else(missing)?))
}

fn timestamp(text: &[u8]) -> Result<Nanos, Reason> {
    let fault = |expected: &str| Reason::unexpected("the time", text, expected);
    let form = || fault("the form `17/May/2015:10:05:03 +0000`");
    let &[
        d1,
        d2,
        b'/',
        m1,
        m2,
        m3,
        b'/',
        y1,
        y2,
        y3,
        y4,
        b':',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
        b' ',
        sign,
        o1,
        o2,
        o3,
        o4,
    ] = text
    else {
        return Err(form());
    };
    let two = |tens: u8, ones: u8| digits(&[tens, ones]);
    let (Some(day), Some(century), Some(year)) = (two(d1, d2), two(y1, y2), two(y3, y4)) else {
        return Err(form());
    };
    let (Some(hour), Some(minute), Some(second)) = (two(h1, h2), two(n1, n2), two(s1, s2)) else {
        return Err(form());
    };
    let (Some(zone_hour), Some(zone_minute)) = (two(o1, o2), two(o3, o4)) else {
        return Err(form());
    };
    let east = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return Err(form()),
    };
    let month = (1..).zip(MONTHS.chunks(3)).find(|(_, name)| *name == [m1, m2, m3]);
    let Some((month, _)) = month else {
        return Err(fault("one of the months Jan to Dec"));
    };
    let year = u16::from(century) * 100 + u16::from(year);
    let days = civil::days(year, month, day).ok_or_else(|| fault("a date of the calendar"))?;
    if hour > 23 || minute > 59 || second > 59 {
        return Err(fault("a time of day from 00:00:00 to 23:59:59"));
    }
    if zone_hour > 23 || zone_minute > 59 {
        return Err(fault("an offset up to 23:59"));
    }
    let offset = east * civil::seconds(0, zone_hour, zone_minute, 0);
    let seconds = civil::seconds(days, hour, minute, second) - offset;
    u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds <= Nanos::MAX.as_nanos() / 1_000_000_000)
        .map(Nanos::from_secs)
        .ok_or_else(|| fault("1970 to 2262"))
}

/// A number of two digits.
fn digits(text: &[u8; 2]) -> Option<u8> {
    let [tens, ones] = text.map(|b| b.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| tens * 10 + ones)
}

/// Checks what follows the quote that opens the request: `request" status size`.
fn tail(rest: &[u8]) -> Result<(), Reason> {
    let end = end_of_quote(rest).ok_or_else(|| Reason::new("the request has no closing quote"))?;
    let after = rest.get(end + 1..).unwrap_or_default();
    let mut words = after.split(|b| *b == b' ');
    // What stands before the space that follows the quote: nothing.
    let (gap, status, size) = (words.next(), words.next(), words.next());
    let number = |word: &[u8]| word == b"-" || word.iter().all(u8::is_ascii_digit);
    match (gap, status) {
        (Some(b""), Some(status)) if (status.len() == 3 || status == b"-") && number(status) => {}
        (Some(b""), Some(status)) => {
            return Err(Reason::unexpected("the status", status, "three digits or `-`"));
        }
        _ => return Err(Reason::new("the status is missing")),
    }
    match size {
        Some(size) if !size.is_empty() && number(size) => Ok(()),
        Some(size) => Err(Reason::unexpected("the size", size, "digits or `-`")),
        None => Err(Reason::new("the size is missing")),
    }
}

/// Where the quote ends that `text` is the inside of: at the first `"` that no backslash escapes.
fn end_of_quote(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', text).find(|end| {
        let before = text.get(..*end).unwrap_or_default();
        let backslashes = before.iter().rev().take_while(|b| **b == b'\\').count();
        backslashes % 2 == 0
    })
}

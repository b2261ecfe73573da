//! `2015-05-17T10:05:03.25Z` and its kin.

use brimful::Nanos;

use super::epoch::below;
use super::{Written, offset, two};

const FORM: &str = "the form `2015-05-17T10:05:03Z`, with a fraction and an offset as needed";

pub(super) fn read(text: &str) -> Result<Nanos, &'static str> {
    let (start, rest) = text.as_bytes().split_first_chunk::<19>().ok_or(FORM)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, between, h1, h2, b':', n1, n2, b':', s1, s2] =
        start
    else {
        return Err(FORM);
    };
    if !matches!(between, b'T' | b't' | b' ') {
        return Err(FORM);
    }
    let number = |tens, ones| two(tens, ones).ok_or(FORM);
    let year = u16::from(number(y1, y2)?) * 100 + u16::from(number(y3, y4)?);
    let (nanos, rest) = fraction(rest)?;
    let written = Written {
        year,
        month: number(m1, m2)?,
        day: number(d1, d2)?,
        hour: number(h1, h2)?,
        minute: number(n1, n2)?,
        second: number(s1, s2)?,
        nanos,
        east: east(rest)?,
    };
    written.point()
}

/// Nanoseconds of a fraction, if there is one, and what is behind it.
fn fraction(rest: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    let Some((b'.' | b',', digits_on)) = rest.split_first() else { return Ok((0, rest)) };
    let count = digits_on.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = digits_on.split_at_checked(count).ok_or(FORM)?;
    let digits = std::str::from_utf8(digits).map_err(|_| FORM)?;
    if digits.is_empty() {
        return Err(FORM);
    }
    // Below 10^9.
    let nanos = below(digits, 9)?;
    Ok((u32::try_from(nanos).map_err(|_| FORM)?, rest))
}

/// Seconds by which the offset is ahead of UTC; 0 when there is none.
fn east(rest: &[u8]) -> Result<i64, &'static str> {
    let number = |tens, ones| two(tens, ones).ok_or(FORM);
    if rest.is_empty() {
        return Ok(0);
    }
    match *rest.strip_prefix(b" ").unwrap_or(rest) {
        [b'Z' | b'z'] => Ok(0),
        [sign @ (b'+' | b'-'), h1, h2] => offset(sign, number(h1, h2)?, 0),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] | [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            offset(sign, number(h1, h2)?, number(m1, m2)?)
        }
        _ => Err(FORM),
    }
}

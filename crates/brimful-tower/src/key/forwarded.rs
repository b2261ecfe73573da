//! The `Forwarded` header (RFC 7239), read from its right end.
//!
//! What stands on the right was written by the nearest proxy, what stands on the left perhaps by an attacker. Read
//! from the left, a quotation mark that the attacker leaves open would swallow what the proxies wrote after it. Read
//! from the right, an element is found by what is in it alone: a comma ends it unless it is in a quoted string, and in
//! a well-formed element a quotation mark that is not escaped is one of the two ends of such a string. No text has two
//! well-formed last elements: of the longer one, the shorter would begin inside a string, and its closing mark would
//! need an opening mark behind a `=`, where the longer one has only escaped marks, each behind a `\`.

use std::net::IpAddr;

use super::node::{LONGEST, read, trim};

/// What each element of one line is `for`, from right to left; `None` for one that cannot be read. Empty elements
/// are left out. The work is linear in the length of the line.
pub(super) struct Elements<'a> {
    left: Option<&'a [u8]>,
}

impl<'a> Elements<'a> {
    pub(super) const fn of(line: &'a [u8]) -> Self {
        Self { left: Some(line) }
    }
}

impl Iterator for Elements<'_> {
    type Item = Option<IpAddr>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((rest, element)) = split_last(self.left?) else {
                self.left = None;
                return Some(None);
            };
            self.left = rest;
            let element = trim(element);
            if !element.is_empty() {
                return Some(is_for(element));
            }
        }
    }
}

/// The last element, and what stands before its comma. `None` when a quoted string has no beginning.
fn split_last(line: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let mut left = line;
    while let Some((byte, before)) = left.split_last() {
        left = match byte {
            b',' => return Some((Some(before), line.get(left.len()..)?)),
            b'"' => before_string(before)?,
            _ => before,
        };
    }
    Some((None, line))
}

/// What stands before the quoted string whose closing mark was just cut off.
fn before_string(mut left: &[u8]) -> Option<&[u8]> {
    loop {
        let (byte, before) = left.split_last()?;
        left = before;
        // A string begins behind a `=`, so that no run of `\` has to be counted.
        if *byte == b'"' && before.last() != Some(&b'\\') {
            return Some(left);
        }
    }
}

/// The address that a well-formed element has once as its `for`.
fn is_for(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    let mut left = element;
    loop {
        left = trim(left);
        // `;;` has an empty pair in the middle.
        if !matches!(left.first(), None | Some(b';')) {
            let name_end = left.iter().position(|byte| !is_token(*byte)).filter(|end| *end > 0)?;
            let (name, after) = left.split_at_checked(name_end)?;
            let (value, after) = Value::read(after.strip_prefix(b"=")?)?;
            if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
                return None;
            }
            left = trim(after);
        }
        match left.split_first() {
            None => return found?.address(),
            Some((b';', after)) => left = after,
            Some(_) => return None,
        }
    }
}

/// A value as it is written.
#[derive(Clone, Copy)]
enum Value<'a> {
    Plain(&'a [u8]),
    /// Between the quotation marks, with its escapes.
    Quoted(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value at the beginning, and what follows it.
    fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let Some(quoted) = text.strip_prefix(b"\"") else {
            let end = text.iter().position(|byte| !is_plain(*byte)).unwrap_or(text.len());
            let (value, after) = text.split_at_checked(end)?;
            return (!value.is_empty()).then_some((Self::Plain(value), after));
        };
        let mut escaped = false;
        let end = quoted.iter().position(|byte| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        })?;
        let (value, mark_and_after) = quoted.split_at_checked(end)?;
        Some((Self::Quoted(value), mark_and_after.get(1..)?))
    }

    fn address(self) -> Option<IpAddr> {
        let text = match self {
            Self::Quoted(text) if text.contains(&b'\\') => text,
            Self::Plain(text) | Self::Quoted(text) => return read(text),
        };
        let mut room = [0; LONGEST];
        let mut places = room.iter_mut();
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            let byte = if *byte == b'\\' { bytes.next()? } else { byte };
            *places.next()? = *byte;
        }
        let unused = places.len();
        read(room.get(..LONGEST.checked_sub(unused)?)?)
    }
}

/// What a name is made of (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// What a value without quotation marks is made of. The standard allows fewer characters, but addresses with ports
/// are often written so: `for=198.51.100.7:50001`.
const fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'"' | b'\\' | b',' | b';' | b' ' | b'\t')
}

//! The segments of a key, as patterns see them.

use core::fmt::{self, Write as _};
use core::net::IpAddr;

use crate::key::{IpPrefix, Key};

/// The most segments of a pattern. What a key has beyond them only `**` can match.
pub(super) const MAX_SEGMENTS: usize = 32;

/// One segment: text of the key itself, or a number or address written out.
#[derive(Clone, Copy)]
pub(super) enum Segment<'a> {
    Borrowed(&'a [u8]),
    Written(Written),
}

/// Room for any number of 128 bits or any address with its prefix length.
#[derive(Clone, Copy)]
pub(super) struct Written {
    bytes: [u8; 48],
    length: usize,
}

impl Segment<'_> {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Written(written) => written.bytes.get(..written.length).unwrap_or(&[]),
        }
    }
}

impl fmt::Write for Written {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The first segments of a key, without an allocation.
pub(super) struct Segments<'a> {
    /// One more than a pattern can name, to tell a key that goes on from one that ends.
    found: [Segment<'a>; MAX_SEGMENTS + 1],
    count: usize,
}

impl<'a> Segments<'a> {
    /// Text and bytes are split at each `:`. Of a list each part is one segment, whatever it
    /// contains; lists in lists are walked through.
    pub(super) fn of(key: Key<'a>) -> Self {
        let mut segments = Self { found: [Segment::Borrowed(&[]); MAX_SEGMENTS + 1], count: 0 };
        match key {
            Key::Text(text) => segments.split(text.as_bytes()),
            Key::Bytes(bytes) => segments.split(bytes),
            other => segments.part(other),
        }
        segments
    }

    /// The segments, up to one more than a pattern can name.
    pub(super) fn as_slice(&self) -> &[Segment<'a>] {
        self.found.get(..self.count).unwrap_or(&self.found)
    }

    fn split(&mut self, bytes: &'a [u8]) {
        for segment in bytes.split(|byte| *byte == b':').take(MAX_SEGMENTS + 1) {
            self.push(Segment::Borrowed(segment));
        }
    }

    fn part(&mut self, key: Key<'a>) {
        match key {
            Key::Text(text) => self.push(Segment::Borrowed(text.as_bytes())),
            Key::Bytes(bytes) => self.push(Segment::Borrowed(bytes)),
            Key::Unsigned(number) => self.write(format_args!("{number}")),
            Key::Negative(distance) => self.write(format_args!("-{distance}")),
            Key::Ip(prefix) if is_host(&prefix) => self.write(format_args!("{}", prefix.network())),
            Key::Ip(prefix) => self.write(format_args!("{prefix}")),
            Key::Parts(parts) => parts.iter().for_each(|part| self.part(*part)),
        }
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        let mut written = Written { bytes: [0; 48], length: 0 };
        // 43 bytes are enough for every number and address.
        if written.write_fmt(text).is_ok() {
            self.push(Segment::Written(written));
        }
    }

    fn push(&mut self, segment: Segment<'a>) {
        if let Some(place) = self.found.get_mut(self.count) {
            *place = segment;
            self.count = self.count.saturating_add(1);
        }
    }
}

fn is_host(prefix: &IpPrefix) -> bool {
    match prefix.network() {
        IpAddr::V4(_) => prefix.length() == 32,
        IpAddr::V6(_) => prefix.length() == 128,
    }
}

//! The short way for the lines that nearly all logs are made of: one flat object with its time in
//! `at_ns`, in ASCII without escapes. What it reads, it reads as the long way does; whatever it does not
//! know, faults included, it leaves to it.

use std::borrow::Cow;

use brimful::Nanos;

use crate::event::{Event, Op};
use crate::wanted::TIME_NAMES;

/// The event, if the line is written plainly. `None` says nothing about the line.
pub(super) fn parse(line: &[u8]) -> Option<Event<'_>> {
    let mut scan = Scan(line);
    let (mut at, mut key, mut cost, mut op) = (None, None, None, None);
    scan.eat(b'{')?;
    loop {
        let name = scan.text()?;
        scan.eat(b':')?;
        // A field that is there twice is a fault.
        let again = match name {
            b"at_ns" => at.replace(scan.number()?).is_some(),
            b"key" => key.replace(scan.text()?).is_some(),
            b"cost" => cost.replace(scan.number()?).is_some(),
            b"op" => op.replace(Op::named(utf8(scan.text()?)?)?).is_some(),
            _ => {
                scan = scan.behind_value_of(name)?;
                false
            }
        };
        if again {
            return None;
        }
        match scan.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    scan.skip_spaces();
    let at = at.filter(|at| scan.0.is_empty() && *at <= Nanos::MAX.as_nanos())?;
    Some(Event {
        at: Nanos::from_nanos(at),
        key: Cow::Borrowed(utf8(key?)?),
        cost: cost.unwrap_or(1),
        op: op.unwrap_or_default(),
    })
}

fn utf8(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

/// What is left of a line.
struct Scan<'a>(&'a [u8]);

impl<'a> Scan<'a> {
    fn skip_spaces(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        self.skip_spaces();
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eat(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }

    /// Text of printable ASCII without quotes and backslashes inside.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.eat(b'"')?;
        let end =
            self.0.iter().position(|b| !matches!(b, b' '..=b'~') || matches!(b, b'"' | b'\\'))?;
        let (text, rest) = self.0.split_at_checked(end)?;
        // What may stand between values may not stand in a text.
        self.0 = rest.strip_prefix(b"\"")?;
        Some(text)
    }

    /// Passes over the value of a field that is not read: text, a number without exponent, or a
    /// word. Apart from the rest, so that lines without such fields stay as fast as they are.
    #[inline(never)]
    fn behind_value_of(mut self, name: &[u8]) -> Option<Self> {
        // Another time; it is no fault unless it is there twice.
        if TIME_NAMES.iter().any(|known| known.as_bytes() == name) {
            return None;
        }
        self.skip_spaces();
        match self.0 {
            [b'"', ..] => drop(self.text()?),
            [b'0'..=b'9' | b'-', ..] => {
                self.0 = self.0.strip_prefix(b"-").unwrap_or(self.0);
                // A sign and spaces are no number.
                self.0.first().filter(|b| b.is_ascii_digit())?;
                self.number()?;
                if let [b'.', fraction @ ..] = self.0 {
                    let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
                    self.0 = fraction.get(digits..).filter(|_| digits > 0)?;
                }
            }
            _ => {
                let words: [&[u8]; 3] = [b"true", b"false", b"null"];
                self.0 = words.iter().find_map(|word| self.0.strip_prefix(*word))?;
            }
        }
        Some(self)
    }

    /// A whole number of at most 19 digits, which cannot overflow.
    // As a call it makes a line a tenth slower.
    #[inline(always)]
    fn number(&mut self) -> Option<u64> {
        self.skip_spaces();
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(digits)?;
        // JSON has no leading zeros.
        if !(1..=19).contains(&digits.len()) || (digits.len() > 1 && digits.first() == Some(&b'0'))
        {
            return None;
        }
        self.0 = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
    }
}

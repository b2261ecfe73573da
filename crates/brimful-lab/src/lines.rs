//! Reads lines of any length in bounded memory.

use std::io::{self, Read};

/// The longest line that is kept: 1 MiB. A longer one is reported as such and its text dropped.
pub const MAX_LINE: usize = 1 << 20;

/// How much is read at once.
const CHUNK: usize = 1 << 18;

/// A line of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the line's end (`\n` or `\r\n`); `None` when it is longer than
    /// [`MAX_LINE`].
    pub text: Option<&'a [u8]>,
}

impl Line<'_> {
    /// It has nothing but spaces.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_some_and(|text| text.trim_ascii().is_empty())
    }
}

/// Splits a reader into lines. Holds at most [`MAX_LINE`] bytes and one chunk, whatever the input.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// `buffer[start..end]` has been read and not yet given out.
    start: usize,
    end: usize,
    /// Lines given out so far.
    number: u64,
    at_end: bool,
}

/// What the scan for the next line's end came upon.
enum Found {
    /// The line is `buffer[from..to]`.
    Line(usize, usize),
    TooLong,
    Nothing,
}

impl<R: Read> Lines<R> {
    /// Lines of `reader`, which is read in large chunks and needs no buffer of its own.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; CHUNK], start: 0, end: 0, number: 0, at_end: false }
    }

    /// The number of the line that [`next_line`](Self::next_line) reads next.
    pub fn upcoming(&self) -> u64 {
        self.number.saturating_add(1)
    }

    /// The first bytes of the input, at most `count` of them, without taking them.
    ///
    /// # Errors
    /// The reader failed.
    pub fn beginning(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.fill()? {}
        let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
        Ok(unread.get(..count).unwrap_or(unread))
    }

    /// Drops `count` bytes that [`beginning`](Self::beginning) has shown.
    pub fn skip(&mut self, count: usize) {
        self.start = self.end.min(self.start.saturating_add(count));
    }

    /// The next line, or `None` at the end of the input. The last line needs no line end.
    ///
    /// # Errors
    /// The reader failed; [`upcoming`](Self::upcoming) is the line it failed in.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let found = self.find()?;
        let text = match found {
            Found::Nothing => return Ok(None),
            Found::TooLong => None,
            Found::Line(from, to) => {
                let line = self.buffer.get(from..to).unwrap_or_default();
                Some(line.strip_suffix(b"\r").unwrap_or(line)).filter(|l| l.len() <= MAX_LINE)
            }
        };
        self.number = self.number.saturating_add(1);
        Ok(Some(Line { number: self.number, text }))
    }

    fn find(&mut self) -> io::Result<Found> {
        // Bytes after `start` that hold no line end.
        let mut scanned = 0;
        let mut too_long = false;
        loop {
            let from = self.start;
            let unread = self.buffer.get(from..self.end).unwrap_or_default();
            let fresh = unread.get(scanned..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', fresh) {
                let to = from + scanned + at;
                self.start = to + 1;
                return Ok(if too_long { Found::TooLong } else { Found::Line(from, to) });
            }
            scanned = unread.len();
            if scanned > MAX_LINE + 1 {
                // The rest of the line is read and dropped.
                too_long = true;
                self.start = self.end;
                scanned = 0;
            }
            if !self.fill()? {
                let (from, to) = (self.start, self.end);
                self.start = self.end;
                return Ok(match (too_long, from == to) {
                    (true, _) => Found::TooLong,
                    (false, true) => Found::Nothing,
                    (false, false) => Found::Line(from, to),
                });
            }
        }
    }

    /// Reads one more chunk behind what is unread; `false` at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // Only a line longer than the buffer gets here with less than half of it free, so the
        // buffer doubles at most until it holds MAX_LINE and a chunk.
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(free) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => return Err(fault),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `size` bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn split(input: &[u8], size: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines = Lines::new(Drip(input, size));
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((line.number, line.text.map(<[u8]>::to_vec)));
        }
        assert!(lines.buffer.len() <= 2 * (MAX_LINE + CHUNK), "{}", lines.buffer.len());
        all
    }

    #[test]
    fn line_ends_of_both_kinds_and_none_at_the_end() {
        let text = |t: &str| Some(t.as_bytes().to_vec());
        for size in [1, 2, 3, 1000] {
            let lines = split(b"a\r\n\nb\r\r\nc", size);
            let expected = [(1, text("a")), (2, text("")), (3, text("b\r")), (4, text("c"))];
            assert_eq!(lines, expected, "{size} bytes at a time");
            assert_eq!(split(b"", size), []);
            assert_eq!(split(b"\n", size), [(1, text(""))]);
        }
    }

    #[test]
    fn a_line_of_the_longest_length_is_kept_and_a_longer_one_dropped() {
        let longest = vec![b'x'; MAX_LINE];
        for (extra, kept) in [(0, true), (1, false), (2, false), (40 * MAX_LINE, false)] {
            for end in ["\n", "\r\n", ""] {
                let mut input = b"first\n".to_vec();
                input.extend(&longest);
                input.extend(vec![b'x'; extra]);
                input.extend(end.as_bytes());
                if !end.is_empty() {
                    input.extend(b"last");
                }
                let lines = split(&input, 1 << 30);
                assert_eq!(lines[0].1.as_deref(), Some(&b"first"[..]));
                assert_eq!(lines[1].1, kept.then(|| longest.clone()), "{extra} more, {end:?}");
                assert_eq!(lines.len(), if end.is_empty() { 2 } else { 3 });
            }
        }
    }

    #[test]
    fn a_failing_reader_is_reported_with_the_line_it_failed_in() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad sector"))
            }
        }
        let mut lines = Lines::new((&b"one\ntwo\nthr"[..]).chain(Fails));
        assert!(lines.next_line().is_ok());
        assert!(lines.next_line().is_ok());
        assert_eq!(lines.next_line().unwrap_err().to_string(), "bad sector");
        assert_eq!(lines.upcoming(), 3);
    }
}

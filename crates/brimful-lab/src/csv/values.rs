//! The values of one row, put together from its lines.

use std::fmt;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

/// Values, one behind the other, without quotes.
pub(super) struct Values {
    parser: Reader,
    bytes: Vec<u8>,
    /// How much of `bytes` is used.
    pub(super) filled: usize,
    /// Where values end in `bytes`.
    ends: Vec<usize>,
    /// How many of `ends` are used.
    count: usize,
}

impl Default for Values {
    fn default() -> Self {
        // Lines end at `\n`, as they do in every format.
        let parser = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { parser, bytes: Vec::new(), filled: 0, ends: Vec::new(), count: 0 }
    }
}

impl Values {
    /// Forgets what was taken, for a new row.
    pub(super) fn clear(&mut self) {
        self.parser.reset();
        self.filled = 0;
        self.count = 0;
        // At its very beginning the parser would drop a byte order mark, which is one at the
        // beginning of a log alone, and there is gone already. A blank line is no row.
        self.feed(b"\n");
    }

    /// Takes a line without its end; whether the row is complete with it.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        self.feed(line) || self.feed(b"\n")
    }

    fn feed(&mut self, mut input: &[u8]) -> bool {
        // Nothing would mean the end of the input.
        while !input.is_empty() {
            let space = self.filled + input.len() + 1;
            if self.bytes.len() < space {
                self.bytes.resize(space, 0);
            }
            if self.ends.len() <= self.count {
                self.ends.resize(2 * self.count + 16, 0);
            }
            let free = self.bytes.get_mut(self.filled..).unwrap_or_default();
            let ends = self.ends.get_mut(self.count..).unwrap_or_default();
            let (result, read, written, ended) = self.parser.read_record(input, free, ends);
            self.filled += written;
            self.count += ended;
            input = input.get(read..).unwrap_or_default();
            match result {
                ReadRecordResult::Record | ReadRecordResult::End => return true,
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
            }
        }
        false
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The value with this number, from 0.
    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        if place >= self.count {
            return None;
        }
        let from = match place.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.bytes.get(from..*self.ends.get(place)?)
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.count).map(|place| self.get(place))).finish()
    }
}

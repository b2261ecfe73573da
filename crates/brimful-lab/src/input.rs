//! Unpacks what is packed.

mod members;

use std::io::{self, Chain, Cursor, Read};

use members::Members;

/// What gzip data begin with, and each of their members.
static GZIP: [u8; 2] = [0x1f, 0x8b];

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// A log as it comes, or unpacked while it is read.
#[derive(Debug)]
pub(crate) enum Input<R> {
    Plain(Whole<R>),
    Gzip(Box<Members<Whole<R>>>),
}

impl<R: Read> Input<R> {
    /// Looks at the first bytes of `log`.
    pub(crate) fn new(mut log: R) -> io::Result<Self> {
        let mut beginning = Vec::new();
        while beginning.len() < GZIP.len() {
            let mut byte = [0];
            match log.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => beginning.extend(byte),
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => return Err(fault),
            }
        }
        let packed = beginning == GZIP;
        let whole = Cursor::new(beginning).chain(log);
        Ok(if packed { Self::Gzip(Box::new(Members::new(whole))) } else { Self::Plain(whole) })
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(log) => log.read(into),
            Self::Gzip(log) => log.read(into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_packed_comes_as_it_is() {
        for log in [&b""[..], b"x", b"\x1f", b"\x8b\x1f", b"a line\n"] {
            let mut found = Vec::new();
            Input::new(log).unwrap().read_to_end(&mut found).unwrap();
            assert_eq!(found, log);
        }
    }
}

//! Unpacks gzip data: any number of members, one behind the other. Zeros behind a member mean
//! nothing: tapes and blocks are filled up with them.

use std::io::{self, BufRead, BufReader, Chain, Read};

use flate2::bufread::GzDecoder;

use super::GZIP;

/// How much packed data is read at once.
const CHUNK: usize = 1 << 15;

/// A member: what has been taken of its beginning, and what follows that.
type Begun<R> = Chain<&'static [u8], BufReader<R>>;

/// The members of gzip data, unpacked while they are read.
#[derive(Debug)]
pub(crate) struct Members<R> {
    /// The one that is read; `None` behind the last, or behind a fault.
    member: Option<GzDecoder<Begun<R>>>,
}

impl<R: Read> Members<R> {
    pub(super) fn new(packed: R) -> Self {
        let packed = BufReader::with_capacity(CHUNK, packed);
        Self { member: Some(GzDecoder::new((&b""[..]).chain(packed))) }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(into).map_err(explained)?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            if let Some(done) = self.member.take() {
                let (_, behind) = done.into_inner().into_inner();
                self.member = next(behind)?;
            }
        }
        Ok(0)
    }
}

/// The member that follows a complete one.
fn next<R: Read>(mut behind: BufReader<R>) -> io::Result<Option<GzDecoder<Begun<R>>>> {
    let [first, second] = &GZIP;
    while peek(&mut behind)? == Some(0) {
        behind.consume(1);
    }
    match peek(&mut behind)? {
        None => return Ok(None),
        Some(byte) if byte == *first => behind.consume(1),
        Some(_) => return Err(not_gzip()),
    }
    // Where nothing is left, the decoder finds that the data end early.
    if peek(&mut behind)?.is_some_and(|byte| byte != *second) {
        return Err(not_gzip());
    }
    Ok(Some(GzDecoder::new(std::slice::from_ref(first).chain(behind))))
}

/// The next byte, which stays where it is; `None` at the end.
fn peek(packed: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match packed.fill_buf() {
            Ok(bytes) => return Ok(bytes.first().copied()),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
}

fn not_gzip() -> io::Error {
    let words = "something that is not gzip follows the gzip data; expected their end, zeros or \
                 more gzip data";
    io::Error::new(io::ErrorKind::InvalidData, words)
}

/// A fault of the packed data in words that say so.
fn explained(fault: io::Error) -> io::Error {
    let kind = fault.kind();
    match kind {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(kind, "the gzip data end early; is the file complete?")
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            io::Error::new(kind, format!("the gzip data are damaged: {fault}"))
        }
        _ => fault,
    }
}

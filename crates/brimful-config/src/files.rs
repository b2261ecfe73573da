//! Reading whole files, bounded.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::Utf8Error;

use crate::error::Fault;

/// Reads a file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, most)
}

/// Reads a file that is no pipe or device, on which reading might never end. Of one that is seen to be
/// too large nothing is read.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > most {
        return Err(larger_than(most));
    }
    read(path, most)
}

/// Reads all, if it has at most `most` bytes.
pub(crate) fn bounded(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(larger_than(most));
    }
    Ok(bytes)
}

fn larger_than(most: u64) -> io::Error {
    let what = format!("it is larger than {} MiB", most >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

pub(crate) fn too_large(path: &Path, most: u64) -> Fault {
    let found = format!("the text is larger than {} MiB", most >> 20);
    Fault::of_file(path, found, "long lists of keys can stand in files of members".to_owned())
}

/// The byte at which UTF-8 ends, counted without a byte order mark.
pub(crate) fn fault_of_utf8(bytes: &[u8], fault: Utf8Error) -> usize {
    let mark = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    fault.valid_up_to().saturating_sub(mark)
}

//! Inputs that fuzzing found, packed.
//!
//! There are some thousands of them, a few hundred bytes each: as files they would be most of the
//! repository's. So those of a target are one file, in which each stands behind its length, two bytes
//! with the lower one first. Sorted, they are the same file whatever order they were found in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The longest input that can be packed.
pub const MAX_INPUT: usize = u16::MAX as usize;

/// Where the packed inputs of a target are.
#[must_use]
pub fn path(target: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    corpus.join(format!("{target}.packed"))
}

/// Checks every input of a target, and says how many there are.
///
/// # Panics
/// There are none, or the file cannot be read; and where `check` does. What is printed before names
/// the input by its place.
pub fn replay(target: &str, check: impl Fn(&[u8])) -> usize {
    let path = path(target);
    let packed = fs::read(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    let inputs = unpack(&packed).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    assert!(!inputs.is_empty(), "{} holds no input", path.display());
    for (place, input) in inputs.iter().enumerate() {
        let named = Named { target, place, input };
        check(input);
        drop(named);
    }
    println!("{target}: {} inputs, {} bytes", inputs.len(), packed.len());
    inputs.len()
}

/// Names an input while it is checked, if that panics.
struct Named<'a> {
    target: &'a str,
    place: usize,
    input: &'a [u8],
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{} {}: {:?}", self.target, self.place, self.input.escape_ascii().to_string());
        }
    }
}

/// The inputs of a packed file.
///
/// # Errors
/// It ends within an input.
pub fn unpack(mut packed: &[u8]) -> io::Result<Vec<&[u8]>> {
    let mut inputs = Vec::new();
    while !packed.is_empty() {
        let next = packed.split_first_chunk().and_then(|(length, rest)| {
            rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
        });
        let (input, rest) = next.ok_or_else(|| io::Error::other("it ends within an input"))?;
        inputs.push(input);
        packed = rest;
    }
    Ok(inputs)
}

/// Packs the files of a directory.
///
/// # Errors
/// A file cannot be read, or is longer than [`MAX_INPUT`].
pub fn pack(from: &Path) -> io::Result<Vec<u8>> {
    let mut inputs = Vec::new();
    for file in fs::read_dir(from)? {
        inputs.push(fs::read(file?.path())?);
    }
    inputs.sort();
    inputs.dedup();
    let mut packed = Vec::new();
    for input in inputs {
        let length = u16::try_from(input.len()).map_err(io::Error::other)?;
        packed.extend(length.to_le_bytes());
        packed.extend(input);
    }
    Ok(packed)
}

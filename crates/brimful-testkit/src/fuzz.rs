//! Arbitrary bytes as input of the library: what the targets in `fuzz/` run, and what the tests run on
//! the inputs that these found.
//!
//! Each function panics when something is not as it should be.

mod bytes;
pub mod corpus;
mod limits;

pub use bytes::Bytes;

/// Any text as a limit, a policy, a name and a pattern. Nothing panics; what can be read is printed so
/// that it reads the same again, and a fault says something.
///
/// # Panics
/// One of these is not so.
pub fn limit(bytes: &[u8]) {
    // Where bytes are no text, they are read as the text that is nearest.
    limits::check(&String::from_utf8_lossy(bytes));
}

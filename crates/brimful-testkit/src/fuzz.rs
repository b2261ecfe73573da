//! Arbitrary bytes as input of the library: what the targets in `fuzz/` run, and what the tests run
//! on the inputs that these found.
//!
//! Each function panics when something is not as it should be.

mod bytes;
mod calls;
pub mod corpus;
mod limits;
mod pair;
mod promises;
mod setup;
mod several;

pub use bytes::Bytes;

use calls::Call;
use pair::Pair;
use setup::Setup;

/// Rules, the size of a store, and a sequence of calls. As long as the store loses nothing that is
/// owed, every answer is that of the exact model; a store that is too small keeps what is promised
/// of it. Where the limiter has a short way, its answers are those of the long one.
///
/// # Panics
/// One of these is not so.
pub fn limiter(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let setup = Setup::read(&mut bytes);
    let calls = Call::read_all(&mut bytes);
    let mut pair = Pair::new(&setup, &calls);
    for (place, call) in calls.iter().enumerate() {
        let story = Story { setup: &setup, calls: &calls[..=place] };
        pair.call(call);
        drop(story);
    }
    let story = Story { setup: &setup, calls: &calls };
    pair.finish();
    drop(story);
}

/// Tells what was asked, if it ends in a panic.
struct Story<'a> {
    setup: &'a Setup,
    calls: &'a [Call],
}

impl Drop for Story<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.setup);
            self.calls.iter().for_each(|call| println!("  {call:?}"));
        }
    }
}

/// Any text as a limit, a policy, a name and a pattern. Nothing panics; what can be read is printed
/// so that it reads the same again, and a fault says something.
///
/// # Panics
/// One of these is not so.
pub fn limit(bytes: &[u8]) {
    // Where bytes are no text, they are read as the text that is nearest.
    limits::check(&String::from_utf8_lossy(bytes));
}

//! Arbitrary bytes as a log: what the target `log_line` in `fuzz/` runs, and what a test runs on the
//! inputs that it found. Everything here panics when something is not as it should be.

mod decided;
mod lines;
mod texts;
mod told;
mod whole;

use brimful_testkit::fuzz::Bytes;
use told::Told;

/// How to read a log, and the log: its lines by themselves, each text that people write, and the
/// whole in a replay. Nothing panics, what is read both ways is the same, and every line counts
/// once.
pub(crate) fn check(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let told = Told::read(&mut bytes);
    let log = bytes.rest();
    for line in log.split(|byte| *byte == b'\n') {
        lines::check(line);
        texts::check(&String::from_utf8_lossy(line));
    }
    texts::distinct_keys(&String::from_utf8_lossy(log));
    whole::check(&told, log);
}

/// Fit for a terminal: no control characters but line ends, and nothing that reorders text.
fn is_harmless(text: &str) -> bool {
    let reordering = ['\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    let reorders = |c: char| reordering.iter().any(|range| range.contains(&c));
    !text.chars().any(|c| (c.is_control() && c != '\n') || reorders(c))
}

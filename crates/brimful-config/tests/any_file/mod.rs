//! Arbitrary bytes as a file of rules, or as one to import: what the target `config` in `fuzz/` runs, and
//! what a test runs on the inputs that it found. Everything here panics when something is not as it
//! should be.

mod accepted;
mod faults;

use brimful_config::import::{self, Imported};
use brimful_config::{Config, Error, Syntax};
use brimful_testkit::fuzz::Bytes;

/// The longest file, in bytes; what is beyond is not read.
const LONGEST: usize = 2_048;

/// What kind of file it is, and the file. It is refused with places in it, or accepted; then it is printed
/// so that it reads back as an equal one, and it can be linted, explained and made a limiter of. What is
/// imported is accepted.
pub(crate) fn check(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let kind = bytes.below(4);
    let file = bytes.rest();
    let text = String::from_utf8_lossy(&file[..file.len().min(LONGEST)]);
    match kind {
        0 => rules(&text, Syntax::Toml),
        1 => rules(&text, Syntax::Yaml),
        2 => imported(&text, import::envoy(&text, "limits")),
        _ => imported(&text, import::limitador(&text, "limits")),
    }
}

fn rules(text: &str, syntax: Syntax) {
    match Config::parse(text, syntax, "limits", None) {
        Ok(config) => accepted::check(&config, text),
        Err(error) => faults::check(&error, text),
    }
}

fn imported(text: &str, imported: Result<Imported, Error>) {
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => return faults::check(&error, text),
    };
    for warning in imported.warnings() {
        faults::check_one(warning, text);
    }
    let toml = imported.toml();
    match Config::parse(toml, Syntax::Toml, "imported", None) {
        Ok(config) => accepted::check(&config, toml),
        Err(error) => panic!("{error:#}\n---\n{toml}"),
    }
}

/// A place that is said of a text is in it; the end of a line counts.
fn is_in(text: &str, line: usize, column: usize) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = line.checked_sub(1).and_then(|before| text.split('\n').nth(before));
    found.is_some_and(|found| (1..=found.chars().count() + 1).contains(&column))
}

/// Fit for a terminal: no control characters but line ends, and nothing that reorders or breaks lines.
fn is_harmless(text: &str) -> bool {
    let harmful = |c: char| match c {
        '\n' => false,
        '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => true,
        other => other.is_control(),
    };
    !text.chars().any(harmful)
}

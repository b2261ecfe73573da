//! Good files with something changed at random: each is refused with a place, or it is accepted and
//! printed so that it reads back as an equal one. Nothing panics.

use std::path::{Path, PathBuf};

use brimful_config::{Config, Error, Syntax};
use brimful_testkit::trace::SplitMix64;

/// The same changes in each run.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.below(u64::try_from(end).unwrap())).unwrap()
    }
}

/// What may stand where another token stood.
const TOKENS: &[&str] = &[
    "limit",
    "limits",
    "policy",
    "unlimited",
    "blocked",
    "shadow",
    "members",
    "members_file",
    "key",
    "match",
    "ip",
    "default",
    "tiers",
    "exact",
    "pattern",
    "store",
    "max_keys",
    "true",
    "false",
    "yes",
    "null",
    "~",
    "-1",
    "0",
    "1.5",
    "1e9",
    "99999999999999999999",
    "0x10",
    "nan",
    "1979-05-27",
    "\"\"",
    "''",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    ":",
    "=",
    ",",
    "-",
    "|",
    ">",
    "&a",
    "*a",
    "*gold",
    "<<",
    "!!str",
    "!x",
    "---",
    "...",
    "#",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{1b}",
    "\u{85}",
    "\u{2028}",
    "ß",
    "\\",
    "\\u0000",
    "\"\"\"",
    "'''",
    "10/s",
    "burst 5",
    "10/minn",
    "1/year",
    "sliding-log",
    "fixed-window",
    "**",
    "a:*",
    "gold",
    "missing",
    "\"a\" = 1",
    "%YAML",
];

fn mutated(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..(at + 1 + random.below(20)).min(bytes.len()))),
            2 => {
                let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
                let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(a, b);
                bytes = lines.join(&b'\n');
            }
            3 => {
                let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
                let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                lines.insert(a, lines[b]);
                bytes = lines.join(&b'\n');
            }
            4 | 5 => {
                let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                let start =
                    bytes[..at].iter().rposition(|b| !word(b)).map_or(0, |before| before + 1);
                let end = bytes[at..].iter().position(|b| !word(b)).map_or(bytes.len(), |n| at + n);
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(start..end.max(start), token.bytes());
            }
            6 => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(at..at, token.bytes());
            }
            _ => {
                let digit = bytes[at..].iter().position(u8::is_ascii_digit).map(|n| at + n);
                if let Some(at) = digit {
                    let number = random.0.next_u64() >> random.below(64);
                    bytes.splice(at..=at, number.to_string().into_bytes());
                }
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good")
}

fn has_places(error: &Error, text: &str) {
    assert!(!error.faults().is_empty());
    assert!(error.faults().len() <= Error::MOST);
    let lines = text.split('\n').count();
    for fault in error.faults() {
        assert!(fault.column() >= 1, "{error:#}");
        assert!(
            (1..=lines).contains(&fault.line()) || fault.file().ends_with("gold.txt"),
            "{error:#}"
        );
        assert!(!fault.found().is_empty() && !fault.expected().is_empty(), "{error:#}");
        assert!(!fault.message().contains(['\n', '\u{1b}']), "{error:#}");
    }
    let places = |error: &Error| -> Vec<_> {
        error.faults().iter().map(|at| (at.file().to_owned(), at.line(), at.column())).collect()
    };
    let found = places(error);
    let mut sorted = found.clone();
    sorted.sort_by_key(|(file, line, column)| (file.ends_with("gold.txt"), *line, *column));
    assert_eq!(found, sorted);
}

/// How many of the changed files are accepted and how many are refused.
fn run(names: &[&str], syntax: Syntax, seed: u64, count: usize) -> (usize, usize) {
    let folder = folder();
    let read = |name: &&str| std::fs::read_to_string(folder.join(name)).unwrap();
    let texts: Vec<String> = names.iter().map(read).collect();
    let mut random = Random(SplitMix64::new(seed));
    let (mut accepted, mut refused) = (0, 0);
    for number in 0..count {
        let text = mutated(&texts[number % texts.len()], &mut random);
        match Config::parse(&text, syntax, "limits", Some(&folder)) {
            Err(error) => {
                has_places(&error, &text);
                refused += 1;
            }
            Ok(config) => {
                reads_back(&config, &text);
                accepted += 1;
            }
        }
    }
    (accepted, refused)
}

fn reads_back(config: &Config, text: &str) {
    let printed = [(config.to_toml(), Syntax::Toml), (config.to_yaml(), Syntax::Yaml)];
    for (printed, syntax) in printed {
        match Config::parse(&printed, syntax, "printed", None) {
            Ok(again) => assert!(again == *config, "{text}\n---\n{printed}"),
            Err(error) => panic!("{error:#}\n---\n{text}\n---\n{printed}"),
        }
    }
    for lint in config.lints() {
        assert!(lint.line() >= 1 && !lint.text().is_empty(), "{lint}");
    }
}

#[test]
fn good_files_read_back_and_both_syntaxes_say_the_same() {
    let folder = folder();
    let load = |name| Config::load(folder.join(name)).unwrap_or_else(|error| panic!("{error:#}"));
    for name in ["full.toml", "small.toml", "trial.toml", "full.yaml", "small.yaml"] {
        reads_back(&load(name), name);
    }
    assert!(load("full.toml") == load("full.yaml"));
    assert!(load("full.toml") != load("small.toml"));
}

#[test]
fn ten_thousand_changed_files_of_toml() {
    let (accepted, refused) =
        run(&["full.toml", "small.toml", "trial.toml"], Syntax::Toml, 1, 10_000);
    assert!(accepted > 500 && refused > 500, "{accepted} {refused}");
}

#[test]
fn ten_thousand_changed_files_of_yaml() {
    let (accepted, refused) = run(&["full.yaml", "small.yaml"], Syntax::Yaml, 2, 10_000);
    assert!(accepted > 500 && refused > 500, "{accepted} {refused}");
}

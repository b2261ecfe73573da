//! Broken files: each is refused with a place in it, or gives rules that can be read.

use brimful_config::import::{self, Imported};
use brimful_config::{Config, Error, Syntax};
use brimful_testkit::runner;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const ENVOY: &str = include_str!("../../../../examples/import/envoy.yaml");
const LIMITADOR: &str = include_str!("../../../../examples/import/limitador.yaml");

/// What may be put anywhere.
const PIECES: [&str; 24] = [
    "*",
    "**",
    "\\",
    "\"",
    "'",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!!str ",
    "\n",
    "\t",
    "\r\n",
    "null",
    "0",
    "-1",
    "99999999999999999999",
    "true",
    " == ",
    "ä",
];

#[derive(Clone, Debug)]
enum Change {
    /// Puts a piece somewhere.
    Put(Index, &'static str),
    /// Takes out up to so many characters.
    Take(Index, usize),
    /// Swaps two lines.
    Swap(Index, Index),
    /// Writes a line twice.
    Repeat(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (any::<Index>(), select(&PIECES[..])).prop_map(|(at, piece)| Change::Put(at, piece)),
        (any::<Index>(), 1..9_usize).prop_map(|(at, count)| Change::Take(at, count)),
        any::<(Index, Index)>().prop_map(|(a, b)| Change::Swap(a, b)),
        any::<Index>().prop_map(Change::Repeat),
    ];
    prop::collection::vec(change, 1..4)
}

fn changed(text: &str, change: &Change) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.lines().collect();
    match change {
        Change::Put(at, piece) => {
            let at = at.index(characters.len() + 1);
            characters.splice(at..at, piece.chars());
        }
        Change::Take(at, count) => {
            let at = at.index(characters.len() + 1);
            let end = (at + count).min(characters.len());
            characters.drain(at..end);
        }
        Change::Swap(a, b) if !lines.is_empty() => {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
            return lines.join("\n");
        }
        Change::Repeat(at) if !lines.is_empty() => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
            return lines.join("\n");
        }
        Change::Swap(..) | Change::Repeat(_) => {}
    }
    characters.into_iter().collect()
}

fn survives(name: &str, text: &str, import: fn(&str) -> Result<Imported, Error>) {
    let regressions =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import/mutations.proptest-regressions");
    let (mut runner, _) = runner(name, 3_000, regressions);
    let held = runner.run(&changes(), |changes| {
        let text = changes.iter().fold(text.to_owned(), |text, change| changed(&text, change));
        let lines = text.split('\n').count();
        match import(&text) {
            Err(error) => {
                prop_assert!(!error.faults().is_empty());
                for fault in error.faults() {
                    prop_assert!((1..=lines).contains(&fault.line()) && fault.column() >= 1);
                    prop_assert!(!fault.found().is_empty() && !fault.expected().is_empty());
                }
            }
            Ok(imported) => {
                let config = Config::parse(imported.toml(), Syntax::Toml, "imported.toml", None);
                prop_assert!(config.is_ok(), "{:#}\n{}", config.unwrap_err(), imported.toml());
            }
        }
        Ok(())
    });
    held.unwrap();
}

#[test]
fn the_examples_become_rules_without_lints() {
    for imported in
        [import::envoy(ENVOY, "limits.yaml"), import::limitador(LIMITADOR, "limits.yaml")]
    {
        let imported = imported.unwrap();
        let config = Config::parse(imported.toml(), Syntax::Toml, "imported.toml", None).unwrap();
        assert_eq!(config.lints(), [], "{}", imported.toml());
    }
}

#[test]
fn broken_limits_of_envoy_are_refused_or_can_be_read() {
    survives("broken limits of Envoy", ENVOY, |text| import::envoy(text, "limits.yaml"));
}

#[test]
fn broken_limits_of_limitador_are_refused_or_can_be_read() {
    survives("broken limits of limitador", LIMITADOR, |text| {
        import::limitador(text, "limits.yaml")
    });
}

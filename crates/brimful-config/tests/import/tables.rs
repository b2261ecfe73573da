//! Tables of inputs and what comes of them, kept as text files beside this one.
//!
//! A case is a line `## what it is`, the input, a line `--`, and what comes out: the faults with
//! their lines; or the warnings and a line `==` before the rules.

use std::fmt::Write as _;
use std::path::Path;

use brimful_config::Error;
use brimful_config::import::{self, Imported};

type Import = fn(&str, &str) -> Result<Imported, Error>;

fn envoy(text: &str, name: &str) -> Result<Imported, Error> {
    import::envoy(text, name)
}

fn limitador(text: &str, name: &str) -> Result<Imported, Error> {
    import::limitador(text, name)
}

#[test]
fn what_is_wrong_with_limits_of_envoy() {
    check("envoy-faults.txt", envoy, false, 25);
}

#[test]
fn what_becomes_of_limits_of_envoy() {
    let table = check("envoy-results.txt", envoy, true, 10);
    assert!(table.contains(include_str!("../../../../examples/import/envoy.yaml")));
}

#[test]
fn what_is_wrong_with_limits_of_limitador() {
    check("limitador-faults.txt", limitador, false, 25);
}

#[test]
fn what_becomes_of_limits_of_limitador() {
    let table = check("limitador-results.txt", limitador, true, 8);
    assert!(table.contains(include_str!("../../../../examples/import/limitador.yaml")));
}

#[test]
fn what_is_too_long_is_refused() {
    let mut text = "domain: d\n#".to_owned() + &" ".repeat(16 << 20);
    let fault =
        |text: &str| import::envoy(text, "limits.yaml").unwrap_err().faults()[0].to_string();
    assert_eq!(
        fault(&text),
        "limits.yaml:1:1: the file has 16777227 bytes; expected at most 16777216"
    );
    text.truncate(1_000);
    let unlimited = "{key: a, rate_limit: {unlimited: true}}";
    text += "\ndescriptors:\n- {key: a, descriptors: [";
    // Each of these stars takes three characters in the pattern of a rule.
    let key = "*".repeat(100_000);
    text += &format!("{{key: \"{key}b\", descriptors: [");
    text +=
        &(0..60).map(|n| unlimited.replace("a,", &format!("a{n},"))).collect::<Vec<_>>().join(", ");
    text += "]}]}";
    assert!(text.len() < 200_000);
    let fault = fault(&text);
    assert!(fault.starts_with("limits.yaml:1:1: the rules for this file take 18"), "{fault}");
}

/// Holds a table to what comes out; when it differs, the right one is printed whole.
fn check(table: &str, import: Import, good: bool, least: usize) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(table);
    let written = std::fs::read_to_string(&path).unwrap();
    let mut right = String::new();
    let mut count = 0;
    for case in written.split("## ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (input, _) = rest.split_once("\n--\n").unwrap();
        let result = import(&unescaped(input), "limits.yaml");
        assert_eq!(result.is_ok(), good, "{title}: {result:?}");
        writeln!(right, "## {title}\n{input}\n--\n{}\n", shown(&result)).unwrap();
        count += 1;
    }
    assert!(count >= least, "{count} cases");
    let right = format!("{}\n", right.trim_end());
    assert!(right == written, "{table} should be:\n{right}");
    written
}

fn shown(result: &Result<Imported, Error>) -> String {
    match result {
        Err(error) => format!("{error:#}"),
        Ok(imported) => {
            let mut shown = String::new();
            for warning in imported.warnings() {
                writeln!(shown, "{warning:#}").unwrap();
            }
            write!(shown, "==\n{}", imported.toml().trim_end()).unwrap();
            shown
        }
    }
}

/// `{tab}` and the like stand for characters that cannot be seen.
fn unescaped(input: &str) -> String {
    input
        .replace("{tab}", "\t")
        .replace("{cr}", "\r")
        .replace("{bom}", "\u{feff}")
        .replace("{esc}", "\u{1b}")
}

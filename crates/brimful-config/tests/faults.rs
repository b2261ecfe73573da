//! Files that are wrong, and what is said of each: `faults.toml.txt` and `faults.yaml.txt`. A case is
//!
//! ```text
//! === what is wrong
//! the file
//! ---
//! what is said
//! ```
//!
//! where `␉`, `␍`, `␛` and `␂` stand for a tab, a carriage return, an escape and a byte order mark. With
//! `WRITE_FAULTS=1` in the environment the answers are written anew, to be read in the difference.

use std::fmt::Write as _;
use std::path::Path;

use brimful_config::{Config, Syntax};

struct Case {
    name: String,
    file: String,
    said: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in text.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (file, said) = rest.split_once("--- \n").expect("an answer");
        let [name, file, said] = [name, file, said.trim_end()].map(str::to_owned);
        cases.push(Case { name, file, said });
    }
    cases
}

fn said(case: &Case, syntax: Syntax, name: &str) -> String {
    let signs = [("␉", "\t"), ("␍", "\r"), ("␛", "\u{1b}"), ("␂", "\u{feff}")];
    let mut file = case.file.clone();
    for (sign, meant) in signs {
        file = file.replace(sign, meant);
    }
    match Config::parse(&file, syntax, name, None) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => format!("{error:#}"),
    }
}

fn check(syntax: Syntax, name: &str, at_least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/faults.{name}.txt"));
    let text = std::fs::read_to_string(&path).expect("the cases");
    let cases = cases(&text);
    assert!(cases.len() >= at_least, "{} cases", cases.len());
    let file = format!("limits.{name}");
    if std::env::var_os("WRITE_FAULTS").is_some() {
        let mut written = String::new();
        for case in &cases {
            let said = said(case, syntax, &file);
            write!(written, "=== {}\n{}--- \n{said}\n\n", case.name, case.file).expect("text");
        }
        std::fs::write(&path, written).expect("the cases");
        return;
    }
    for case in &cases {
        assert_ne!(case.said, "nothing", "{}", case.name);
        assert_eq!(said(case, syntax, &file), case.said, "{}", case.name);
    }
}

#[test]
fn every_fault_of_a_file_of_toml_has_its_place() {
    check(Syntax::Toml, "toml", 60);
}

#[test]
fn every_fault_of_a_file_of_yaml_has_its_place() {
    check(Syntax::Yaml, "yaml", 60);
}

#[test]
fn one_file_with_five_faults_reports_all_five() {
    let toml = include_str!("faults.toml.txt");
    let case = cases(toml).into_iter().find(|case| case.name == "five faults").expect("the case");
    let error = Config::parse(&case.file, Syntax::Toml, "limits.toml", None).unwrap_err();
    let places: Vec<_> = error.faults().iter().map(|at| (at.line(), at.column())).collect();
    assert_eq!(places, [(3, 12), (4, 13), (6, 1), (8, 13), (9, 13)], "{error:#}");
}

//! The layers of the crate, read from its `use` lines: lower ones never import higher ones, and
//! one file reads the clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules from the lowest layer up. A module may use those in its own line and below, except
/// where [`APART`] says otherwise.
const LAYERS: [&[&str]; 9] = [
    &["time", "error"],
    &["algorithm"],
    &["limit"],
    &["policy", "key", "decision"],
    &["step"],
    &["sync", "hash", "chunks", "stats", "meter", "serde"],
    &["rows"],
    &["rules", "store", "clock"],
    &["limiter", "keyless"],
];

/// Modules that know nothing of each other, though they are in one layer.
const APART: [(&str, &str); 6] = [
    ("rules", "store"),
    ("store", "rules"),
    ("clock", "store"),
    ("store", "clock"),
    ("clock", "rules"),
    ("rules", "clock"),
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the crate's sources") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources, by path below `src`.
fn files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        (name, fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(read).collect()
}

/// The top-level module that a file belongs to.
fn module(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

fn layer(module: &str) -> usize {
    let place = LAYERS.iter().position(|layer| layer.contains(&module));
    place.unwrap_or_else(|| panic!("module {module} is in no layer: give it one"))
}

/// The modules that a source names by `crate::`.
fn uses(source: &str) -> impl Iterator<Item = &str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = code.flat_map(|line| line.split("crate::").skip(1));
    paths.map(|path| path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap())
}

#[test]
fn lower_layers_never_import_higher_ones() {
    let files = files();
    let mut seen = 0;
    for (file, source) in &files {
        let user = module(file);
        if user == "lib" {
            continue;
        }
        for used in uses(source) {
            seen += 1;
            assert!(layer(used) <= layer(user), "{file} imports {used}, which is above it");
            assert!(
                !APART.contains(&(user, used)),
                "{file} imports {used}; neither knows the other"
            );
        }
    }
    assert!(files.len() > 20 && seen > 60, "{} files with {seen} imports were read", files.len());
}

#[test]
fn only_the_clock_reads_a_clock() {
    for (file, source) in files() {
        // (What passed between two times of a state is no reading.)
        let source = source.replace("at.elapsed()", "");
        let reads =
            ["Instant::", "SystemTime::", ".elapsed("].iter().any(|call| source.contains(call));
        assert_eq!(reads && file != "algorithm/mod.rs", file == "clock.rs", "{file}");
    }
}

#[test]
fn no_code_is_unsafe() {
    assert!(files()["lib.rs"].contains("#![forbid(unsafe_code)]"));
}

/// Exceptions from the lints carry a reason beside them.
#[test]
fn every_allowed_lint_has_its_reason() {
    for (file, source) in files() {
        let lines: Vec<&str> = source.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with('#') && line.contains("allow(") {
                let before = number.checked_sub(1).map_or("", |before| lines[before].trim());
                let reason = line.contains("reason") || before.starts_with("//");
                assert!(reason, "{file}:{}: {line}", number + 1);
            }
        }
    }
}

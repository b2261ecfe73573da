//! What the locked dependencies ask of the compiler.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The oldest Rust that everything builds with, as `rust-version` in the workspace's manifest,
/// README.md and CONTRIBUTING.md say it.
const MSRV: &str = "1.90";

const README: &str = include_str!("../../../README.md");
const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");

/// Every package that Cargo.lock names, for every platform and feature, the workspace's included.
/// (Cargo downloads those of other platforms when they are not there yet.)
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {words}");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("packages are a list, not {other}"),
    }
}

fn text<'a>(package: &'a Value, field: &str) -> Option<&'a str> {
    package[field].as_str()
}

/// `1.90` and `1.90.0` are one version.
fn version(text: &str) -> [u64; 3] {
    let mut parts = text.split('.').map(|part| part.parse().expect("a number between dots"));
    let version = [(); 3].map(|()| parts.next().unwrap_or(0));
    assert_eq!(parts.next(), None, "{text} has more than three numbers");
    version
}

#[test]
fn no_locked_dependency_asks_for_a_newer_rust() {
    let packages = packages();
    // Those of the workspace come from no registry.
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        packages.iter().partition(|package| package["source"].is_null());
    assert!(own.len() >= 4 && others.len() > 10, "{} and {}", own.len(), others.len());
    for package in own {
        assert_eq!(text(package, "rust_version"), Some(MSRV), "{:?}", text(package, "name"));
    }
    let newer: Vec<String> = others
        .into_iter()
        .filter_map(|package| {
            // A package that names none promises nothing; building with the MSRV tells.
            let asked = text(package, "rust_version")?;
            let (name, number) = (text(package, "name")?, text(package, "version")?);
            (version(asked) > version(MSRV)).then(|| format!("{name} {number}: Rust {asked}"))
        })
        .collect();
    assert!(newer.is_empty(), "the MSRV is Rust {MSRV}, but Cargo.lock has {newer:#?}");
}

#[test]
fn the_documents_name_the_same_rust() {
    for (name, document) in [("README.md", README), ("CONTRIBUTING.md", CONTRIBUTING)] {
        let named: Vec<&str> =
            document.split("Rust ").skip(1).filter_map(leading_version).collect();
        assert!(!named.is_empty(), "{name} names no version of Rust");
        assert!(named.iter().all(|version| *version == MSRV), "{name} names {named:?}");
    }
}

/// The version that a text begins with.
fn leading_version(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let version = text.get(..end)?.trim_end_matches('.');
    version.contains('.').then_some(version)
}

//! Files of rules on the command line, as users see it: what is on stdout, what on stderr, and the
//! exit code.

mod check;
mod explain;
mod field;
mod import;
mod page;
mod replay;
mod schema;

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Exit code, stdout, stderr.
type Output = (i32, String, String);

/// The root of the repository, in which commands run.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run_bytes(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let command = command.current_dir(root()).args(args).write_stdin(stdin);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn run(args: &[&str], stdin: &str) -> Output {
    run_bytes(args, stdin.as_bytes())
}

/// A run that must succeed without a word; what it prints.
fn good(args: &[&str], stdin: &str) -> String {
    let (code, out, words) = run(args, stdin);
    assert_eq!((code, &*words), (0, ""), "{args:?}: {out}");
    out
}

/// A run that must fail with exit code 2, nothing on stdout, and words on stderr; the words.
fn refused(args: &[&str], stdin: &str) -> String {
    let (code, out, words) = run(args, stdin);
    assert_eq!((code, &*out), (2, ""), "{args:?}: {words}");
    assert!(words.starts_with("error: ") && !words.contains("panicked"), "{args:?}: {words}");
    words
}

/// A folder for the files of one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file into the folder of a test; its path.
fn written(test: &str, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder(test).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// An output that is full is a fault; one that nobody reads any more is none.
#[test]
fn an_output_that_cannot_be_written() {
    use std::process::Stdio;
    let command = |args: &[&str]| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
        command.current_dir(root()).args(args).stderr(Stdio::piped());
        command
    };
    let envoy = written("output", "envoy.yaml", "domain: a\ndescriptors: []\n");
    for args in [
        &["schema"][..],
        &["config", "check", "examples/limits.toml"],
        &["config", "check", "examples/limits.toml", "--json"],
        &["config", "explain", "examples/limits.toml", "--key", "a"],
        &["config", "explain", "examples/limits.toml", "--key", "a", "--json"],
        &["config", "import", "--from", "envoy", &envoy],
    ] {
        let mut child = command(args).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{args:?}");
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            let output = command(args).stdout(full).output().unwrap();
            let words = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
            assert!(words.starts_with("error: the output cannot be written"), "{args:?}: {words}");
        }
    }
}

/// Every name of a field, at every depth, that the long help of a command does not have.
fn unnamed(value: &serde_json::Value, help: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    match value {
        serde_json::Value::Object(fields) => {
            let words: Vec<&str> = help.split(|c| !is_word(c)).collect();
            let own = fields.keys().filter(|name| !words.contains(&name.as_str())).cloned();
            own.chain(fields.values().flat_map(|inner| unnamed(inner, help))).collect()
        }
        serde_json::Value::Array(all) => {
            all.iter().flat_map(|inner| unnamed(inner, help)).collect()
        }
        _ => Vec::new(),
    }
}

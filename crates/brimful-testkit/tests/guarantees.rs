//! `docs/guarantees.md`: every promise is in the words of the documentation, and what keeps it is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A promise in its own words, and the names of what keeps it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Promise {
    words: String,
    keepers: Vec<(String, String)>,
}

/// The promises of the page: a quote, and all `file: name` between it and the next.
fn promises(page: &str) -> Vec<Promise> {
    let mut found: Vec<Promise> = Vec::new();
    let mut is_quote = false;
    for line in page.lines() {
        if let Some(words) = line.strip_prefix('>') {
            if !is_quote {
                found.push(Promise::default());
            }
            let promise = found.last_mut().expect("one was begun");
            promise.words = format!("{} {}", promise.words, words.trim()).trim().to_owned();
        } else if let Some(promise) = found.last_mut() {
            promise.keepers.extend(keepers(line));
        }
        is_quote = line.starts_with('>');
    }
    found
}

/// Every `file: name` between backticks.
fn keepers(line: &str) -> impl Iterator<Item = (String, String)> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| {
        let (file, name) = text.split_once(": ")?;
        Some((file.to_owned(), name.to_owned()))
    })
}

/// Whether a source has a test, a model or a proof of that name.
fn declares(file: &str, source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let starts = |line: &str, start: &str| {
        let rest = line.strip_prefix(start).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let marked = |at: usize, marks: &[&str]| {
        let before = lines[..at].iter().rev().take_while(|line| !line.is_empty());
        before.take(3).any(|line| marks.iter().any(|mark| line.starts_with(mark)))
    };
    lines.iter().enumerate().any(|(at, line)| {
        if file.ends_with(".py") {
            return starts(line, "def ") && marked(at, &["@proof", "@lemma"]);
        }
        let is_test = starts(line, "fn ") && marked(at, &["#[test]"]) && !marked(at, &["#[ignore"]);
        // Some are made by a macro, which is given their names, and some are modules of tests.
        let is_first = at > 0 && lines[at - 1].ends_with("!(") && *line == format!("{name},");
        let is_row = source.contains("fn $name()")
            && line.starts_with(&format!("{name}: "))
            && line.ends_with(';');
        let is_module = *line == format!("mod {name} {{") && has_test(source, at);
        is_test || is_first || is_row || is_module
    })
}

/// Whether the block that begins in that line has a test.
fn has_test(source: &str, at: usize) -> bool {
    let mut lines = source.lines().skip(at);
    let indent = lines.next().map_or(0, |line| line.len() - line.trim_start().len());
    let inside = lines.take_while(|line| *line != format!("{}}}", " ".repeat(indent)));
    inside.into_iter().any(|line| line.trim() == "#[test]")
}

/// What the crate page promises, each with its place on it.
fn bullets(page: &str) -> Vec<String> {
    let lines = page.lines().map(|line| line.trim_start_matches("//!").trim_end());
    let promised = lines
        .skip_while(|line| !line.starts_with(" # What is promised"))
        .take_while(|line| !line.starts_with(" # Time"));
    let mut found: Vec<String> = Vec::new();
    for line in promised {
        if line.starts_with(" * **") {
            found.push(String::new());
        }
        if let Some(bullet) = found.last_mut() {
            *bullet = format!("{bullet} {}", line.trim());
        }
    }
    found.iter().map(|bullet| plain(bullet)).collect()
}

/// The documentation in the sources of the library, as one line.
fn documentation() -> String {
    fn read(directory: &Path, words: &mut Vec<String>) {
        for entry in fs::read_dir(directory).expect("the library's sources") {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, words);
            } else {
                let source = fs::read_to_string(&path).unwrap();
                let lines = source.lines().map(str::trim);
                let docs = lines.filter_map(|line| {
                    line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
                });
                words.extend(docs.flat_map(str::split_whitespace).map(str::to_owned));
            }
        }
    }
    let mut words = Vec::new();
    read(&root().join("crates/brimful/src"), &mut words);
    plain(&words.join(" "))
}

/// Without marks of stress and links.
fn plain(text: &str) -> String {
    text.replace(['*', '[', ']'], "")
}

/// What is wrong with the page.
fn faults(page: &str, documentation: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut sources: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    for Promise { words, keepers } in promises(page) {
        if !documentation.contains(&plain(&words)) {
            faults.push(format!("`{words}` is not what the documentation says"));
        }
        if keepers.is_empty() {
            faults.push(format!("nothing keeps `{words}`"));
        }
        for (file, name) in keepers {
            match sources.entry(file.clone()).or_insert_with(|| read(&file)) {
                None => faults.push(format!("there is no file {file}")),
                Some(source) if !declares(&file, source, &name) => {
                    faults.push(format!("there is no {name} in {file}"));
                }
                Some(_) => {}
            }
        }
    }
    faults
}

#[test]
fn every_promise_is_kept_by_name() {
    let page = fs::read_to_string(root().join("docs/guarantees.md")).expect("docs/guarantees.md");
    let read = |file: &str| fs::read_to_string(root().join(file)).ok();
    assert_eq!(faults(&page, &documentation(), read), [""; 0]);
    let promises = promises(&page);
    let crate_page = fs::read_to_string(root().join("crates/brimful/src/lib.rs")).unwrap();
    let bullets = bullets(&crate_page);
    assert!(bullets.len() >= 8, "{bullets:#?}");
    for bullet in bullets {
        let is_there = promises.iter().any(|promise| bullet.contains(&plain(&promise.words)));
        assert!(is_there, "nothing on the page keeps what the crate page says:{bullet}");
    }
    let keepers: usize = promises.iter().map(|promise| promise.keepers.len()).sum();
    println!("{} promises, {keepers} names", promises.len());
    assert!(promises.len() >= 20 && keepers >= 60, "{} promises", promises.len());
}

#[test]
fn what_is_missing_is_reported() {
    let page = "> words of\n> a promise\n\n* `a.rs: one`, `b.py: two`\n\n> other\n\ntext `code`\n";
    let read = |file: &str| match file {
        "a.rs" => Some("    #[test]\n    fn one() {}\n\n    fn helper() {}\n".to_owned()),
        "b.py" => Some("@proof\ndef two():\n    pass\n".to_owned()),
        _ => None,
    };
    let said = "the words of a promise; the other";
    assert_eq!(faults(page, said, read), ["nothing keeps `other`"]);
    assert_eq!(
        faults("> words\n`a.rs: helper` `a.rs: on` `c.rs: one`\n`b.py: tw`", "word", read),
        [
            "`words` is not what the documentation says",
            "there is no helper in a.rs",
            "there is no on in a.rs",
            "there is no file c.rs",
            "there is no tw in b.py",
        ]
    );
    let made = "mod no;\nmod empty {\n}\nboth!(\n    one,\n    Race,\n);\nmod more {\n    #[test]\n    \
        fn x() {}\n}\nfn $name() {}\n  row: Evict, x;\n  field: u8,\n#[test]\n#[ignore]\nfn later() {}\n";
    assert!(["one", "more", "x", "row"].iter().all(|name| declares("a.rs", made, name)));
    for name in ["no", "empty", "Race", "mo", "field", "later"] {
        assert!(!declares("a.rs", made, name), "{name}");
    }
}

//! `cases.toml` says of every fault in `data/field-cases.jsonl` which test keeps it away, and it is
//! true: no id is missing, doubled or unknown, each test is there and has the case among its rows,
//! and no more is put off than may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A line of `data/field-cases.jsonl`: what is needed here of a fault that people met.
#[derive(Debug, Deserialize)]
struct Case {
    id: u32,
    applies_to: String,
    kind: String,
    title: String,
    right: String,
}

/// Where a case is kept.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Test(String),
    Later(String),
    NotHere(String),
}

/// What may not be put off, to where the rest may be, and how much may be left out.
const NOT_LATER: [&str; 3] = ["core", "cli", "middleware"];
const NO_LATER_KIND: [&str; 2] = ["headers", "observability"];
const LATER: [&str; 2] = ["brimful-redis", "brimful-server"];
const MOST_NOT_HERE: usize = 5;

/// Entries of `cases.toml`: section, id, place.
type Entry = (String, u32, Place);

/// The text of a source file by its path from `crates/`; `None` when there is none.
type Sources<'a> = &'a dyn Fn(&str) -> Option<String>;

#[test]
fn every_case_has_its_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| fs::read_to_string(crates.join(path)).ok();
    let must_read = |path: &str| read(path).unwrap_or_else(|| panic!("crates/{path} is missing"));
    let cases = cases(&must_read("brimful-testkit/data/field-cases.jsonl"));
    let cases = cases.unwrap_or_else(|fault| panic!("field-cases.jsonl: {fault}"));
    let entries = entries(&must_read("brimful-testkit/cases.toml"));
    let entries = entries.unwrap_or_else(|fault| panic!("cases.toml: {fault}"));

    let faults = faults(&cases, &entries, &read);
    assert!(faults.is_empty(), "cases.toml:\n  {}", faults.join("\n  "));

    println!("cases.toml: {} cases: {}", cases.len(), counts(&entries));
    for section in cases.iter().map(|case| &*case.applies_to).collect::<BTreeSet<_>>() {
        let of_section = entries.iter().filter(|entry| entry.0 == section);
        println!("  {section:10} {}", counts(of_section));
    }
}

/// The cases, one JSON object a line.
fn cases(text: &str) -> Result<Vec<Case>, String> {
    let parsed = text.lines().enumerate().map(|(index, line)| {
        serde_json::from_str(line).map_err(|fault| format!("line {}: {fault}", index + 1))
    });
    let cases: Vec<Case> = parsed.collect::<Result<_, _>>()?;
    match cases.iter().find(|case| case.title.is_empty() || case.right.is_empty()) {
        Some(case) => Err(format!("case {} does not say what is right", case.id)),
        None if cases.is_empty() => Err("there are no cases, expected one a line".into()),
        None => Ok(cases),
    }
}

/// The entries; an id that stands twice in a section is a fault of its syntax.
fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let sections: BTreeMap<String, BTreeMap<String, Place>> =
        toml::from_str(text).map_err(|fault| fault.to_string())?;
    let mut entries = Vec::new();
    for (section, places) in sections {
        for (id, place) in places {
            let number = id.parse();
            let number = number.map_err(|_| format!("`{id}` in [{section}] is not a case's id"))?;
            entries.push((section.clone(), number, place));
        }
    }
    if entries.is_empty() { Err("there are no entries".into()) } else { Ok(entries) }
}

/// All that is wrong, one line each.
fn faults(cases: &[Case], entries: &[Entry], sources: Sources<'_>) -> Vec<String> {
    let mut faults = misplaced(cases, entries);
    faults.extend(put_off(cases, entries));
    for (_, id, place) in entries {
        let (Place::Test(text) | Place::Later(text) | Place::NotHere(text)) = place;
        if text.trim().is_empty() {
            faults.push(format!("case {id}: nothing is said"));
        }
        if let Place::Test(name) = place
            && let Err(fault) = is_test(name, *id, sources)
        {
            faults.push(format!("case {id}: `{name}`: {fault}"));
        }
    }
    faults
}

/// Ids that are missing, doubled, unknown, or in another section than the one they apply to.
fn misplaced(cases: &[Case], entries: &[Entry]) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let id = case.id;
        if cases[..index].iter().any(|other| other.id == id) {
            faults.push(format!("case {id}: two lines of field-cases.jsonl have this id"));
        }
        let sections: Vec<&str> =
            entries.iter().filter(|entry| entry.1 == id).map(|entry| &*entry.0).collect();
        match *sections {
            [] => faults.push(format!("case {id} is missing: {}", case.title)),
            [section] if section != case.applies_to => {
                faults.push(format!("case {id} is in [{section}], expected [{}]", case.applies_to));
            }
            [_] => {}
            _ => faults.push(format!("case {id} is doubled: in {sections:?}")),
        }
    }
    let unknown = entries.iter().filter(|entry| !cases.iter().any(|case| case.id == entry.1));
    faults.extend(unknown.map(|(section, id, _)| format!("case {id} in [{section}] is unknown")));
    faults
}

/// What is put off or left out and may not be.
fn put_off(cases: &[Case], entries: &[Entry]) -> Vec<String> {
    let mut faults = Vec::new();
    for (_, id, place) in entries {
        let Place::Later(name) = place else { continue };
        let is_due = |case: &&Case| {
            let by_place = NOT_LATER.contains(&&*case.applies_to);
            case.id == *id && (by_place || NO_LATER_KIND.contains(&&*case.kind))
        };
        if let Some(Case { applies_to, kind, .. }) = cases.iter().find(is_due) {
            faults.push(format!("case {id}: {kind} of {applies_to} is later, and may not be"));
        }
        if !LATER.contains(&&**name) {
            faults.push(format!("case {id}: later in `{name}`, expected one of {LATER:?}"));
        }
    }
    let not_here = entries.iter().filter(|entry| matches!(entry.2, Place::NotHere(_))).count();
    if not_here > MOST_NOT_HERE {
        faults.push(format!("{not_here} cases are not here, at most {MOST_NOT_HERE} may be"));
    }
    faults
}

/// Whether `PATH::NAME` is a test that is compiled, and has the case's id in a row or a message.
fn is_test(test: &str, id: u32, sources: Sources<'_>) -> Result<(), String> {
    let (path, name) = test.rsplit_once("::").ok_or("expected `PATH::NAME`")?;
    let text = sources(path).ok_or_else(|| format!("crates/{path} is missing"))?;
    let lines: Vec<&str> = text.lines().collect();
    let head = format!("fn {name}(");
    let place = lines.iter().position(|line| line.trim_start().starts_with(&head));
    let place = place.ok_or_else(|| format!("there is no `{head}`"))?;

    let above = lines[..place].iter().rev().map(|line| line.trim());
    let mut above = above.take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    if !above.any(|line| line == "#[test]") {
        return Err("it is not marked `#[test]`".into());
    }
    // A file in a directory below `tests` is compiled when its `main.rs` names it.
    if let Some((directory, file)) = path.rsplit_once('/').filter(|(dir, _)| !is_root(dir)) {
        let main = sources(&format!("{directory}/main.rs")).unwrap_or_default();
        let module = format!("mod {};", file.trim_end_matches(".rs"));
        if !main.lines().any(|line| line == module) {
            return Err(format!("{directory}/main.rs has no `{module}`"));
        }
    }
    let indent = &lines[place][..lines[place].len() - lines[place].trim_start().len()];
    let end = format!("{indent}}}");
    let mut body = lines[place..].iter().take_while(|line| **line != end);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if body.any(|line| line.split(|c| !is_word(c)).any(|word| word == id.to_string())) {
        Ok(())
    } else {
        Err("its body has no row of this id".into())
    }
}

/// Whether each file of the directory is a test of its own.
fn is_root(directory: &str) -> bool {
    directory.ends_with("/tests")
}

fn counts<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> String {
    let [mut test, mut later, mut not_here] = [0; 3];
    for (_, _, place) in entries {
        match place {
            Place::Test(_) => test += 1,
            Place::Later(_) => later += 1,
            Place::NotHere(_) => not_here += 1,
        }
    }
    format!("{test} test, {later} later, {not_here} not_here")
}

/// What is found in a small file of cases, a small `cases.toml` and a few sources.
fn found(toml: &str) -> Vec<String> {
    const CASES: &str = r#"{"id": 1, "applies_to": "core", "kind": "clock", "title": "a", "right": "b"}
{"id": 2, "applies_to": "core", "kind": "headers", "title": "c", "right": "d"}
{"id": 3, "applies_to": "redis", "kind": "clock", "title": "e", "right": "f"}"#;
    let sources = |path: &str| {
        let text = match path {
            "x/tests/a.rs" => {
                "#[test]\nfn one() {\n    rows(1);\n}\n\nfn helper() {\n    rows(1);\n}"
            }
            "x/tests/f/main.rs" => "mod named;\n",
            "x/tests/f/named.rs" | "x/tests/f/other.rs" => {
                "proptest! {\n    #[test]\n    // why\n    fn one() {\n        (1, 12)\n    }\n}\n"
            }
            _ => return None,
        };
        Some(text.to_owned())
    };
    let cases = cases(CASES).expect("the cases of this test");
    match entries(toml) {
        Ok(entries) => faults(&cases, &entries, &sources),
        Err(fault) => vec![fault],
    }
}

/// A `cases.toml` with this entry for case 1, of which the others are in order.
fn with(one: &str) -> Vec<String> {
    found(&format!(
        "[core]\n1 = {one}\n2 = {{ not_here = 'x' }}\n[redis]\n3 = {{ later = 'brimful-redis' }}"
    ))
}

#[test]
fn what_is_in_order_has_no_faults() {
    let nothing: [&str; 0] = [];
    assert_eq!(with("{ test = 'x/tests/a.rs::one' }"), nothing);
    assert_eq!(with("{ test = 'x/tests/f/named.rs::one' }"), nothing);
    assert_eq!(with("{ not_here = 'there are no clocks' }"), nothing);
}

#[test]
fn ids_that_are_missing_doubled_or_unknown_are_reported() {
    let two = "2 = { not_here = 'x' }";
    let three = "3 = { later = 'brimful-redis' }";
    let one = "1 = { not_here = 'x' }";
    for (toml, fault) in [
        (format!("[core]\n{two}\n[redis]\n{three}"), "case 1 is missing: a"),
        (format!("[core]\n{one}\n{one}\n{two}\n[redis]\n{three}"), "duplicate key"),
        (format!("[core]\n{one}\n{two}\n[redis]\n{two}\n{three}"), "case 2 is doubled"),
        (format!("[core]\n{one}\n{two}\n{three}"), "case 3 is in [core], expected [redis]"),
        (format!("[core]\n{one}\n{two}\n4 = {{ not_here = 'x' }}"), "case 4 in [core] is unknown"),
        (
            format!("[core]\none = {{ not_here = 'x' }}\n{two}"),
            "`one` in [core] is not a case's id",
        ),
        (String::new(), "there are no entries"),
    ] {
        let faults = found(&toml);
        assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}");
    }
}

#[test]
fn tests_that_are_not_there_are_reported() {
    for (name, fault) in [
        ("x/tests/a.rs::two", "there is no `fn two(`"),
        ("x/tests/a.rs::on", "there is no `fn on(`"),
        ("x/tests/a.rs::helper", "not marked `#[test]`"),
        ("x/tests/b.rs::one", "crates/x/tests/b.rs is missing"),
        ("x/tests/f/other.rs::one", "x/tests/f/main.rs has no `mod other;`"),
        ("one", "expected `PATH::NAME`"),
        ("", "nothing is said"),
    ] {
        let faults = with(&format!("{{ test = '{name}' }}"));
        assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}");
    }
    // The row of another case is none of this one's.
    let entry = "[core]\n1 = { not_here = 'x' }\n2 = { test = 'x/tests/f/named.rs::one' }";
    let faults = found(entry);
    assert!(faults.iter().any(|found| found.contains("no row of this id")), "{faults:?}");
}

#[test]
fn what_may_not_be_put_off_is_reported() {
    for (entry, fault) in [
        ("{ later = 'brimful-redis' }", "case 1: clock of core is later"),
        ("{ later = 'brimful-tower' }", "later in `brimful-tower`, expected one of"),
        ("{ not_here = ' ' }", "nothing is said"),
        ("{ not_here = 'x', later = 'acquire' }", "exactly 1 element"),
        ("{ never = 'x' }", "unknown variant `never`"),
    ] {
        let faults = with(entry);
        assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}");
    }
    let headers =
        r#"{"id": 1, "applies_to": "redis", "kind": "headers", "title": "a", "right": "b"}"#;
    let headers = cases(headers).expect("a case");
    let later = ("redis".to_owned(), 1, Place::Later("brimful-redis".into()));
    assert_eq!(put_off(&headers, &[later]), ["case 1: headers of redis is later, and may not be"]);
    let six: String = (1..=6).map(|id| format!("{id} = {{ not_here = 'x' }}\n")).collect();
    let faults = found(&format!("[core]\n{six}"));
    assert!(faults.contains(&"6 cases are not here, at most 5 may be".into()), "{faults:?}");
}

#[test]
fn cases_that_cannot_be_read_are_reported() {
    let whole = r#"{"id": 1, "applies_to": "core", "kind": "clock", "title": "a", "right": "b"}"#;
    let part = r#"{"id": 1, "applies_to": "core", "kind": "clock", "title": "a"}"#;
    let empty = r#"{"id": 1, "applies_to": "core", "kind": "clock", "title": "a", "right": ""}"#;
    for (text, fault) in [
        (String::new(), "there are no cases"),
        (format!("{whole}\n{part}"), "line 2: missing field `right`"),
        (format!("{whole}\n{{"), "line 2"),
        (empty.to_owned(), "case 1 does not say what is right"),
    ] {
        let found = cases(&text).expect_err(fault);
        assert!(found.contains(fault), "{fault}: {found}");
    }
    let twice = cases(&format!("{whole}\n{whole}")).expect("two lines");
    assert!(misplaced(&twice, &[]).iter().any(|fault| fault.contains("two lines")));
}

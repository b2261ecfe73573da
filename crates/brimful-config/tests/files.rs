//! Files: those that cannot be read, those of members, and which were read.

use std::path::{Path, PathBuf};

use brimful_config::{Config, Error, Syntax};

/// A folder of its own for a test, without what an earlier run left there.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The error of a file, with the folder left out of it.
fn refused(folder: &Path, name: &str) -> (Error, String) {
    let error = Config::load(folder.join(name)).unwrap_err();
    let shown = format!("{error:#}").replace(&format!("{}/", folder.display()), "");
    (error, shown)
}

#[test]
fn a_file_that_is_not_there() {
    let folder = folder("not-there");
    let (error, shown) = refused(&folder, "limits.toml");
    assert!(error.is_read());
    assert_eq!(error.files(), [folder.join("limits.toml")]);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(error.faults().len(), 1);
    assert_eq!((error.faults()[0].line(), error.faults()[0].column()), (0, 0));
    assert!(shown.starts_with("limits.toml: the file cannot be read: "), "{shown}");
}

#[test]
fn a_file_that_is_not_utf_8() {
    let folder = folder("not-utf-8");
    std::fs::write(folder.join("a.toml"), b"\xef\xbb\xbfdefault.unlimited = true\n# caf\xe9\n")
        .unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert!(!error.is_read());
    assert_eq!(
        shown,
        "a.toml:2:6: this is not UTF-8\n  # caf\u{fffd}\n       ^\n  expected text in UTF-8"
    );
}

#[test]
fn a_file_that_is_too_large() {
    let folder = folder("too-large");
    let file = std::fs::File::create(folder.join("a.toml")).unwrap();
    file.set_len((16 << 20) + 1).unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert!(error.is_read());
    assert!(
        shown.starts_with("a.toml: the file cannot be read: it is larger than 16 MiB"),
        "{shown}"
    );
    let text = "#".repeat((16 << 20) + 1);
    let error = Config::parse(&text, Syntax::Toml, "a.toml", None).unwrap_err();
    assert!(error.to_string().starts_with("a.toml: the text is larger than 16 MiB"), "{error}");
}

#[test]
fn a_file_of_sixteen_mebibytes_is_read() {
    let mut text = "default.unlimited = true\n".to_owned();
    text.push_str(&"#".repeat((16 << 20) - text.len()));
    assert!(Config::parse(&text, Syntax::Toml, "a.toml", None).is_ok());
    let yaml = text.replacen("default.unlimited = true\n", "default: {unlimited: true}\n#", 1);
    let error = Config::parse(&yaml, Syntax::Yaml, "a.yaml", None).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
    let yaml = yaml.strip_suffix("###").unwrap();
    assert!(Config::parse(yaml, Syntax::Yaml, "a.yaml", None).is_ok());
}

const WITH_MEMBERS: &str = "default.unlimited = true
[tiers.gold]
limit = '1/s'
members_file = 'gold.txt'
[tiers.silver]
limit = '2/s'
members_file = 'sub/silver.txt'
";

#[test]
fn members_of_a_file_are_members() {
    let folder = folder("members");
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::write(folder.join("a.toml"), WITH_MEMBERS).unwrap();
    let gold = "\u{feff}# a comment\r\n\r\n  a \r\nb#1\n  # another\nuser 5";
    std::fs::write(folder.join("gold.txt"), gold).unwrap();
    std::fs::write(folder.join("sub/silver.txt"), "").unwrap();
    let config = Config::load(folder.join("a.toml")).unwrap();
    let names = ["a.toml", "gold.txt", "sub/silver.txt"];
    assert_eq!(config.files(), names.map(|name| folder.join(name)));
    let inline = WITH_MEMBERS
        .replace("members_file = 'gold.txt'", "members = ['a', 'b#1', 'user 5']")
        .replace("members_file = 'sub/silver.txt'\n", "");
    assert!(config == Config::parse(&inline, Syntax::Toml, "", None).unwrap());
}

#[test]
fn a_fault_in_a_file_of_members_names_both_places() {
    let folder = folder("members-twice");
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::write(folder.join("a.toml"), WITH_MEMBERS).unwrap();
    std::fs::write(folder.join("gold.txt"), "a\nb\n").unwrap();
    std::fs::write(folder.join("sub/silver.txt"), "c\n\n  b\n").unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert_eq!(
        shown,
        "sub/silver.txt:3:3: the key \"b\" is a member of two tiers, `gold` and `silver`\n    \
           b\n    ^\n  keep it in one\n  the first: gold.txt:2:1\n  named in: a.toml:7:17"
    );
    let fault = &error.faults()[0];
    assert_eq!((fault.also()[1].line(), fault.also()[1].column()), (7, 17));
    let json = serde_json::to_value(fault).unwrap();
    assert_eq!((&json["line"], &json["also"][0]["line"]), (&3.into(), &2.into()));
    std::fs::write(folder.join("sub/silver.txt"), b"\xff").unwrap();
    let (_, shown) = refused(&folder, "a.toml");
    assert_eq!(
        shown,
        "sub/silver.txt:1:1: this is not UTF-8\n  \u{fffd}\n  ^\n  expected text in UTF-8\n  \
         named in: a.toml:7:17"
    );
}

#[test]
fn a_file_of_members_that_cannot_be_read() {
    let folder = folder("members-unreadable");
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::create_dir(folder.join("gold.txt")).unwrap();
    std::fs::write(folder.join("a.toml"), WITH_MEMBERS).unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert!(!error.is_read());
    let files = ["a.toml", "gold.txt", "sub/silver.txt"];
    assert_eq!(error.files(), files.map(|name| folder.join(name)));
    let places: Vec<_> = error.faults().iter().map(|at| (at.line(), at.column())).collect();
    assert_eq!(places, [(4, 17), (7, 17)], "{shown}");
    assert!(shown.contains("the file cannot be read: it is not a regular file"), "{shown}");
    let file = std::fs::File::create(folder.join("sub/silver.txt")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let (_, shown) = refused(&folder, "a.toml");
    assert!(shown.contains("it is larger than 64 MiB"), "{shown}");
}

/// What many files of members take is bounded by the sum of their sizes, and by none twice.
#[test]
fn files_of_members_are_bounded_together() {
    let folder = folder("members-together");
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::write(folder.join("a.toml"), WITH_MEMBERS).unwrap();
    // One comment each; a hole in a file takes no room on the disk.
    let grow = |name: &str, bytes| {
        std::fs::write(folder.join(name), "#").unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(folder.join(name)).unwrap();
        file.set_len(bytes).unwrap();
    };
    let (gold, silver) = (5 << 20, 59 << 20);
    grow("gold.txt", gold);
    grow("sub/silver.txt", silver + 1);
    let (error, shown) = refused(&folder, "a.toml");
    assert!(!error.is_read());
    assert_eq!(
        shown,
        "a.toml:7:17: with sub/silver.txt the files of members are larger than 64 MiB together\n  \
         members_file = 'sub/silver.txt'\n                  ^^^^^^^^^^^^^^\n  \
         list fewer keys; a tier that the program gives needs no list"
    );
    let files = ["a.toml", "gold.txt", "sub/silver.txt"];
    assert_eq!(error.files(), files.map(|name| folder.join(name)));
    // All that there is room for, and the same file for ever more tiers.
    grow("sub/silver.txt", silver);
    let tiers =
        (0..100).map(|n| format!("[tiers.t{n}]\nlimit = '3/s'\nmembers_file = 'gold.txt'\n"));
    let text: String = std::iter::once(WITH_MEMBERS.to_owned()).chain(tiers).collect();
    std::fs::write(folder.join("a.toml"), text).unwrap();
    let config = Config::load(folder.join("a.toml")).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!((config.files().len(), config.member_count()), (3, 0));
}

#[test]
fn a_file_of_members_is_that_of_one_tier() {
    let folder = folder("members-of-two");
    std::fs::write(folder.join("gold.txt"), "a\nb\n").unwrap();
    let text = WITH_MEMBERS.replace("sub/silver.txt", "gold.txt");
    std::fs::write(folder.join("a.toml"), &text).unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert_eq!(
        shown,
        "a.toml:7:17: the keys of gold.txt are members of two tiers, `gold` and `silver`\n  \
         members_file = 'gold.txt'\n                  ^^^^^^^^\n  name the file in one\n  \
         the first: a.toml:4:17"
    );
    assert_eq!(error.files(), ["a.toml", "gold.txt"].map(|name| folder.join(name)));
    // Beside what is on trial for the same tier it is said twice.
    let trial = text
        .replace("[tiers.gold]", "[[tiers.gold]]")
        .replace("[tiers.silver]", "[[tiers.gold]]\nshadow = true");
    std::fs::write(folder.join("a.toml"), trial).unwrap();
    let config = Config::load(folder.join("a.toml")).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(config.member_count(), 2);
    let lints = config.lints();
    let found: Vec<_> =
        lints.iter().map(|lint| (lint.line(), lint.column(), lint.kind())).collect();
    assert_eq!(found, [(8, 17, brimful_config::LintKind::RepeatedMember)]);
    assert!(lints[0].text().ends_with("a.toml:4"), "{}", lints[0]);
    // A file that is wrong is told once.
    std::fs::write(folder.join("gold.txt"), b"\xff").unwrap();
    std::fs::write(folder.join("a.toml"), text).unwrap();
    let (error, shown) = refused(&folder, "a.toml");
    assert_eq!(error.faults().len(), 1, "{shown}");
    assert!(shown.starts_with("gold.txt:1:1: this is not UTF-8"), "{shown}");
}

/// Anchors in one another are copied once each; what they hold is bounded.
#[test]
fn anchors_before_millions_of_values_are_refused() {
    let text = format!("a: &a [&b [{}]]\n", "x,".repeat(600_000));
    let error = Config::parse(&text, Syntax::Yaml, "a.yaml", None).unwrap_err();
    let shown = error.to_string();
    assert!(
        shown.starts_with("a.yaml:1:7: anchors stand before more than 1000000 values;"),
        "{shown}"
    );
    let text = text.replace("&a ", "");
    let error = Config::parse(&text, Syntax::Yaml, "a.yaml", None).unwrap_err();
    assert!(!error.to_string().contains("anchors"), "{error}");
}

#[test]
fn the_ending_of_a_name_says_the_syntax() {
    for (name, syntax) in [
        ("a.yaml", Syntax::Yaml),
        ("a.b/c.YML", Syntax::Yaml),
        ("a.toml", Syntax::Toml),
        ("yaml", Syntax::Toml),
        ("a.yaml.bak", Syntax::Toml),
    ] {
        assert_eq!(Syntax::of(Path::new(name)), syntax, "{name}");
    }
}

#[test]
fn more_faults_than_are_told_are_counted() {
    let text: String = (0..250).map(|n| format!("x{n} = 1\n")).collect();
    let error = Config::parse(&text, Syntax::Toml, "a.toml", None).unwrap_err();
    assert_eq!((error.faults().len(), error.more()), (100, 151));
    let shown = error.to_string();
    assert!(shown.ends_with("\nand 151 more"), "{shown}");
    assert_eq!(shown.lines().count(), 101);
}

/// The memory that a file takes is bounded by its size.
#[test]
fn aliases_of_long_texts_are_refused() {
    let long = "x".repeat(100_000);
    let aliases = vec!["*a"; 2_000].join(", ");
    let text = format!(
        "default: {{limit: 1/s}}\nexact: [{{key: &a \"{long}\", blocked: true}}]\npattern: [{aliases}]\n"
    );
    let fault = Config::parse(&text, Syntax::Yaml, "f.yaml", None).unwrap_err();
    let told = fault.to_string();
    assert!(told.contains("aliases stand for"), "{}", &told[..200]);
}

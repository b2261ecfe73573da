//! `docs/configuration.md`: every file on the page is what the page says it is, and every command
//! prints what is below it. (What is in Rust is compiled and run with the testkit.)

use std::path::Path;
use std::process::Command;

use brimful_config::{Config, Syntax, import};

use super::{folder, root};

const PAGE: &str = include_str!("../../../../docs/configuration.md");

/// The language of a block, and its lines.
type Block = (&'static str, Vec<&'static str>);

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for line in PAGE.lines() {
        match line.strip_prefix("```") {
            Some(language) if !open => blocks.push((language, Vec::new())),
            Some(end) => assert_eq!(end, "", "a block ends by itself"),
            None if open => blocks.last_mut().unwrap().1.push(line),
            None => continue,
        }
        open ^= line.starts_with("```");
    }
    assert!(!open && blocks.len() > 20, "{} blocks", blocks.len());
    blocks
}

/// Name and text of each file on the page: its first line is a comment with its name.
fn files() -> Vec<(&'static str, &'static str, String)> {
    let is_file = |language: &str| matches!(language, "toml" | "yaml" | "text");
    let files = blocks().into_iter().filter(|(language, _)| is_file(language));
    let files: Vec<_> = files
        .map(|(language, lines)| {
            let name = lines[0].strip_prefix("# ").unwrap_or_else(|| panic!("{}", lines[0]));
            (language, name, lines.join("\n") + "\n")
        })
        .collect();
    for (at, (_, name, _)) in files.iter().enumerate() {
        assert!(files[..at].iter().all(|(_, other, _)| other != name), "{name} is there twice");
    }
    files
}

/// Writes all files of the page, and the example, into a folder of their own.
fn written(test: &str) -> std::path::PathBuf {
    let folder = folder(test);
    for (_, name, text) in files() {
        std::fs::write(folder.join(name), text).unwrap();
    }
    std::fs::create_dir_all(folder.join("examples")).unwrap();
    for name in ["examples/limits.toml", "examples/access.log"] {
        std::fs::copy(root().join(name), folder.join(name)).unwrap();
    }
    folder
}

#[test]
fn nothing_on_the_page_is_left_unchecked() {
    let known = ["toml", "yaml", "text", "console", "rust", "rust,no_run"];
    let unknown: Vec<_> = blocks().into_iter().filter(|(l, _)| !known.contains(l)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // A text is a file of members, and read with the file that names it.
    for (_, name, _) in files().iter().filter(|(language, ..)| *language == "text") {
        let names_it = format!("members_file = \"{name}\"");
        assert!(files().iter().any(|(.., text)| text.contains(&names_it)), "nobody reads {name}");
    }
}

#[test]
fn every_file_of_the_page_is_good_unless_it_is_to_be_wrong() {
    let folder = written("page-files");
    let mut read = 0;
    for (language, name, text) in files() {
        if language == "text" {
            continue;
        }
        read += 1;
        if name.starts_with("envoy") {
            import::envoy(&text, name).unwrap_or_else(|fault| panic!("{fault:#}"));
            continue;
        }
        let syntax = if language == "yaml" { Syntax::Yaml } else { Syntax::Toml };
        assert_eq!(syntax, Syntax::of(Path::new(name)), "{name}");
        match Config::parse(&text, syntax, name, Some(&folder)) {
            Ok(config) => {
                assert_ne!(name, "wrong.toml");
                let doubtful = !config.lints().is_empty();
                assert_eq!(doubtful, name == "doubtful.toml", "{:?}", config.lints());
                config.limiter().max_keys(1_000).build().unwrap();
            }
            Err(fault) => assert_eq!(name, "wrong.toml", "{fault:#}"),
        }
    }
    assert!(read >= 11, "{read} files");
}

/// What a shell prints for a command in the folder, words on stderr included.
fn printed(command: &str, folder: &Path) -> String {
    let tool = assert_cmd::cargo::cargo_bin!("brimful");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .env("PATH", format!("{}:{path}", tool.parent().unwrap().display()))
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_of_the_page_prints_what_it_shows() {
    let folder = written("page-commands");
    let mut commands = 0;
    for (_, lines) in blocks().into_iter().filter(|(language, _)| *language == "console") {
        assert!(lines[0].starts_with("$ "), "{lines:?}");
        for shown in lines.chunk_by(|_, next| !next.starts_with("$ ")) {
            let command = shown[0].strip_prefix("$ ").unwrap();
            let expected: String = shown[1..].iter().map(|line| format!("{line}\n")).collect();
            assert_eq!(printed(command, &folder), expected, "{command}");
            commands += 1;
        }
    }
    assert!(commands >= 12, "{commands} commands");
    let schema = std::fs::read_to_string(folder.join("brimful.schema.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&schema).unwrap().is_object());
}

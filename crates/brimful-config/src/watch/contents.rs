//! What stands in the files, to tell whether it has changed.

use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::files;
use crate::node::{Node, Value};
use crate::source::{MAX_CONFIG, MAX_MEMBERS};
use crate::syntax::Syntax;

/// The content of a file: a hash, or why there is none. (Two texts have one hash with a probability of
/// 2^-64, if they were not made for it.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Hash(u64),
    Unreadable(io::ErrorKind),
}

impl Content {
    pub(super) fn of_members(path: &Path) -> Self {
        Self::of(&files::read_regular(path, MAX_MEMBERS))
    }

    pub(super) fn of(read: &io::Result<Vec<u8>>) -> Self {
        match read {
            Ok(bytes) => Self::of_bytes(bytes),
            Err(fault) => Self::Unreadable(fault.kind()),
        }
    }

    /// With or without a byte order mark.
    fn of_bytes(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes));
        Self::Hash(hasher.finish())
    }
}

/// What stood in the files when a configuration was loaded, by absolute paths: the file of rules, then
/// the files of members, each once, in order.
pub(super) fn loaded(config: &Config) -> io::Result<Vec<(PathBuf, Content)>> {
    let mut contents = Vec::new();
    for source in &config.sources {
        let content = Content::of_bytes(source.text.as_bytes());
        contents.push((std::path::absolute(&source.name)?, content));
    }
    if let Some((_, members)) = contents.split_first_mut() {
        members.sort_by(|a, b| a.0.cmp(&b.0));
    }
    contents.dedup_by(|a, b| a.0 == b.0);
    Ok(contents)
}

/// The bytes of the file of rules.
pub(super) fn rules(path: &Path) -> io::Result<Vec<u8>> {
    files::read_regular(path, MAX_CONFIG)
}

/// The files of members that a file of rules names, whatever else is wrong with it: one of them may be
/// what has to change. `None` when it cannot be told.
pub(super) fn named(path: &Path, rules: &[u8]) -> Option<Vec<PathBuf>> {
    let text = std::str::from_utf8(rules).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = Syntax::of(path).read(text).ok()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut named: Vec<PathBuf> = Vec::new();
    for tier in fields(&tree.root, "tiers").flat_map(all_fields) {
        for file in fields(tier, "members_file") {
            if let Value::Text(name) = &file.value {
                named.push(folder.join(name));
            }
        }
    }
    named.sort();
    named.dedup();
    Some(named)
}

fn fields<'a>(node: &'a Node, name: &'a str) -> impl Iterator<Item = &'a Node> {
    entries(node).iter().filter(move |entry| entry.name == name).map(|entry| &entry.node)
}

fn all_fields(node: &Node) -> impl Iterator<Item = &Node> {
    entries(node).iter().map(|entry| &entry.node)
}

fn entries(node: &Node) -> &[crate::node::Entry] {
    match &node.value {
        Value::Table(entries) => entries,
        _ => &[],
    }
}

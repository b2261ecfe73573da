//! What stands in the files, to tell whether it has changed.

use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::PathBuf;

use crate::config::Config;
use crate::files;
use crate::source::{MAX_CONFIG, MAX_MEMBERS};

/// The content of a file: a hash, or why there is none. (Two texts have one hash with a probability of
/// 2^-64, if they were not made for it.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Hash(u64),
    Unreadable(io::ErrorKind),
}

impl Content {
    fn of(read: &io::Result<Vec<u8>>) -> Self {
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

/// What stands in some files, of which the first is the file of rules; and why that one cannot be read.
pub(super) fn read(paths: &[PathBuf]) -> (Vec<(PathBuf, Content)>, Option<io::Error>) {
    let Some((rules, members)) = paths.split_first() else { return (Vec::new(), None) };
    let read = files::read_regular(rules, MAX_CONFIG);
    let mut contents = vec![(rules.clone(), Content::of(&read))];
    for path in members {
        let content = Content::of(&files::read_regular(path, MAX_MEMBERS));
        contents.push((path.clone(), content));
    }
    (contents, read.err())
}

/// What stood in the files when a configuration was loaded, by absolute paths.
pub(super) fn loaded(config: &Config) -> io::Result<Vec<(PathBuf, Content)>> {
    let mut contents: Vec<(PathBuf, Content)> = Vec::new();
    for source in &config.sources {
        let path = std::path::absolute(&source.name)?;
        if !contents.iter().any(|(known, _)| *known == path) {
            contents.push((path, Content::of_bytes(source.text.as_bytes())));
        }
    }
    Ok(contents)
}

//! Where a change decides what is read under a name.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The most links on the way to a file; the system follows no more.
const MOST_LINKS: usize = 40;

/// The ways to some files: every folder, link and file that is passed.
///
/// A file is replaced by a new file of its name, by another target of a link anywhere on the way, or
/// together with a folder anywhere above it. All of these happen in the folder that holds the entry
/// that changes, whichever file was there before; so it is folders that are watched.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Entries, each in a folder whose own path is free of links.
    pub(super) entries: BTreeSet<PathBuf>,
    /// The folders of the entries, and whether a link or a file is among them. In the others only
    /// the next folder of a way could be replaced.
    pub(super) folders: BTreeMap<PathBuf, bool>,
}

impl Places {
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut places = Self::default();
        for file in files {
            places.add(file);
        }
        places
    }

    fn add(&mut self, file: &Path) {
        let mut rest: VecDeque<Step> = file.components().map(Step::of).collect();
        let mut here = PathBuf::new();
        let mut links = 0_usize;
        // Each turn takes a step; at most `MOST_LINKS` targets are put before the others.
        while let Some(step) = rest.pop_front() {
            match step {
                Step::Root(root) => here.push(root),
                Step::Up => {
                    here.pop();
                }
                Step::Stay => {}
                Step::Entry(name) => {
                    let entry = here.join(name);
                    let target = std::fs::read_link(&entry).ok().filter(|_| links < MOST_LINKS);
                    let is_close = target.is_some() || rest.is_empty();
                    self.entries.insert(entry.clone());
                    *self.folders.entry(here.clone()).or_default() |= is_close;
                    match target {
                        Some(target) => {
                            links = links.saturating_add(1);
                            for part in target.components().rev() {
                                rest.push_front(Step::of(part));
                            }
                        }
                        None => here = entry,
                    }
                }
            }
        }
    }
}

enum Step {
    /// A root, or a drive. Pushed on a path it replaces it.
    Root(OsString),
    Up,
    Stay,
    Entry(OsString),
}

impl Step {
    fn of(part: Component<'_>) -> Self {
        match part {
            Component::Prefix(_) | Component::RootDir => Self::Root(part.as_os_str().to_owned()),
            Component::CurDir => Self::Stay,
            Component::ParentDir => Self::Up,
            Component::Normal(name) => Self::Entry(name.to_owned()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The ways to a file below a folder of this test: entries, and folders, `!` before those that are close.
    fn ways(name: &str, links: &[(&str, &str)], file: &str) -> (Vec<String>, Vec<String>) {
        let top =
            std::env::temp_dir().join(format!("brimful-places-{}-{name}", std::process::id()));
        fs::create_dir_all(&top).unwrap();
        let top = fs::canonicalize(top).unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        for (link, target) in links {
            symlink(target.replace("TOP", &top.to_string_lossy()), top.join(link)).unwrap();
        }
        let places = Places::of([&*top.join(file)]);
        let below =
            |path: &PathBuf| Some(path.strip_prefix(&top).ok()?.to_string_lossy().into_owned());
        let entries = places.entries.iter().filter_map(below).filter(|path| !path.is_empty());
        let close = |(path, is_close): (&PathBuf, &bool)| {
            Some(format!("{}{}", if *is_close { "!" } else { "" }, below(path)?))
        };
        let found = (entries.collect(), places.folders.iter().filter_map(close).collect());
        fs::remove_dir_all(&top).unwrap();
        found
    }

    #[test]
    fn every_link_and_folder_is_on_the_way() {
        for (name, links, file, entries, folders) in [
            ("plain", &[][..], "a/b/f", &["a", "a/b", "a/b/f"][..], &["", "a", "!a/b"][..]),
            ("up", &[], "a/b/../f", &["a", "a/b", "a/f"], &["", "!a"]),
            ("missing", &[], "x/y", &["x", "x/y"], &["", "!x"]),
            (
                "mount",
                &[("a/..1", "b"), ("a/..data", "..1"), ("a/f", "..data/f")],
                "a/f",
                &["a", "a/..1", "a/..data", "a/b", "a/b/f", "a/f"],
                &["", "!a", "!a/b"],
            ),
            // Up from a link is up from its target.
            ("linked", &[("l", "TOP/a/b")], "l/../f", &["a", "a/b", "a/f", "l"], &["!", "!a"]),
            ("absolute", &[("f", "TOP/a/f")], "f", &["a", "a/f", "f"], &["!", "!a"]),
        ] {
            let found = ways(name, links, file);
            assert_eq!(found.0, entries, "{name}");
            assert_eq!(found.1, folders, "{name}");
        }
    }

    #[test]
    fn links_that_go_round_end() {
        let links = [("f", "g"), ("g", "f")];
        assert_eq!(ways("round", &links, "f").0, ["f", "g"]);
    }
}

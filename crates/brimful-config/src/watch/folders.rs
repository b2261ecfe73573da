//! The folders that the system watches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::bell::{Bell, Ear};
use super::places::Places;
use crate::error::{Error, Fault};

/// How often the ways are walked again when they change meanwhile.
const MOST_ROUNDS: usize = 8;

pub(super) struct Folders {
    system: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    bell: Arc<Bell>,
}

impl Folders {
    pub(super) fn new(bell: &Arc<Bell>) -> notify::Result<Self> {
        let system = notify::recommended_watcher(Ear(Arc::clone(bell)))?;
        Ok(Self { system, watched: BTreeSet::new(), bell: Arc::clone(bell) })
    }

    /// Watches the ways to these files, as they are now, and no others. What changes there before this
    /// returns need not be heard, so files are read after it. An error when a folder that is there and
    /// holds a link or a file cannot be watched; the others are watched nevertheless.
    pub(super) fn follow<'a>(
        &mut self,
        files: impl Iterator<Item = &'a Path> + Clone,
    ) -> Result<(), Error> {
        let mut places = Places::of(files.clone());
        let mut result = Ok(());
        for _ in 0..MOST_ROUNDS {
            result = self.watch(&places);
            // A link that was changed before its folder was watched was not heard.
            let now = Places::of(files.clone());
            if now == places {
                break;
            }
            places = now;
        }
        result
    }

    /// Watches anew what is watched already: another folder may have its name now, and the system watches
    /// folders, not names.
    fn watch(&mut self, places: &Places) -> Result<(), Error> {
        self.bell.listen_for(places.entries.clone());
        for folder in std::mem::take(&mut self.watched) {
            // It fails for a folder that is gone.
            drop(self.system.unwatch(&folder));
        }
        let mut result = Ok(());
        for (folder, is_close) in &places.folders {
            match self.system.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                }
                // The folder above it tells when it is there.
                Err(fault) if !*is_close || is_absent(&fault) => {}
                Err(fault) => result = Err(unwatched(folder, &fault)),
            }
        }
        result
    }
}

fn is_absent(fault: &notify::Error) -> bool {
    match &fault.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(fault) => {
            matches!(fault.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

/// The error of what cannot be watched.
pub(super) fn unwatched(path: &Path, fault: &notify::Error) -> Error {
    let (found, expected) = match &fault.kind {
        ErrorKind::MaxFilesWatch => (
            "the system watches no more folders".to_owned(),
            "raise its limit (fs.inotify.max_user_watches)",
        ),
        ErrorKind::Io(fault) => (
            format!("it cannot be watched: {fault}"),
            "expected a folder that can be read, and room among what the system watches",
        ),
        _ => (format!("it cannot be watched: {fault}"), "expected a folder that can be watched"),
    };
    Error::new(vec![Fault::of_file(path, found, expected.to_owned())], 0, Vec::new())
}

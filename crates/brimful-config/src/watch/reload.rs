//! What became of a change, and what is in force.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use crate::error::Error;
use crate::model::Store;

/// What became of changed files.
#[derive(Clone, Debug)]
pub struct Reload {
    pub(super) path: Arc<Path>,
    pub(super) outcome: Outcome,
    pub(super) config: Arc<Config>,
    pub(super) generation: u64,
    pub(super) needs_restart: Vec<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Applied,
    Same,
    Rejected(Arc<Error>),
}

impl Reload {
    /// What the files say is in force from now on.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        matches!(self.outcome, Outcome::Applied)
    }

    /// The files have changed, but say what is in force already: a comment was changed, or what was
    /// rejected is as before. The limiter was left alone.
    #[must_use]
    pub fn is_same(&self) -> bool {
        matches!(self.outcome, Outcome::Same)
    }

    /// Something is wrong, and what was in force stays so.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.outcome, Outcome::Rejected(_))
    }

    /// Why it was rejected: every fault with its file and place. What the limiter itself refuses, such as more
    /// limits in a policy than its store was built for, is a fault of the file of rules, without a line.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.outcome {
            Outcome::Rejected(error) => Some(error),
            _ => None,
        }
    }

    /// What is in force now.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The generation of the rules in force ([`Decision::generation`](brimful::Decision::generation)).
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The settings of `[store]` that are not those that the limiter was built with (one that is left out counts
    /// as another than its default written out): they have no effect before it is built anew. Empty when rejected.
    #[must_use]
    pub fn needs_restart(&self) -> &[&'static str] {
        &self.needs_restart
    }
}

impl fmt::Display for Reload {
    /// One line, and one more for each fault; with `{:#}` faults are shown with their lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, generation) = (self.path.to_string_lossy(), self.generation);
        f.write_str(&crate::text::shown::message(&path))?;
        match &self.outcome {
            Outcome::Applied => write!(f, ": new rules are in force, generation {generation}")?,
            Outcome::Same => write!(f, ": as before, generation {generation}")?,
            Outcome::Rejected(error) => {
                writeln!(f, ": rejected; generation {generation} stays in force")?;
                return fmt::Display::fmt(error, f);
            }
        }
        match self.needs_restart.as_slice() {
            [] => Ok(()),
            names => write!(f, "; after a restart only: {} of [store]", names.join(", ")),
        }
    }
}

/// Which settings differ.
pub(super) fn different(built: &Store, now: &Store) -> Vec<&'static str> {
    let settings = [
        ("max_keys", built.max_keys == now.max_keys),
        ("overflow", built.overflow == now.overflow),
        ("max_log_entries", built.max_log_entries == now.max_log_entries),
        ("max_limits", built.max_limits == now.max_limits),
        ("max_given", built.max_given == now.max_given),
    ];
    settings.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
}

/// How a [`Watcher`](super::Watcher) stands.
#[derive(Clone, Debug)]
pub struct Status {
    pub(super) generation: u64,
    pub(super) files: Vec<PathBuf>,
    pub(super) error: Option<Arc<Error>>,
    pub(super) unwatched: Option<Arc<Error>>,
    pub(super) reloads: u64,
    pub(super) rejections: u64,
    pub(super) is_watching: bool,
}

impl Status {
    /// The generation of the rules in force, as [`Reload::generation`]; 1 before the first reload, as for a
    /// limiter that was just built.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The files that are read: the file of rules first, then the files of members that it names.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether what the files say now was rejected, so that older rules are in force. This is what a
    /// health check or a gauge should show.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        self.error.is_some()
    }

    /// Why; `None` when the files are in force.
    #[must_use]
    pub fn error(&self) -> Option<&Arc<Error>> {
        self.error.as_ref()
    }

    /// Why changes may be missed: a folder cannot be watched. The files are read nevertheless, with
    /// each change elsewhere and each [`Watcher::check`](super::Watcher::check).
    #[must_use]
    pub fn unwatched(&self) -> Option<&Arc<Error>> {
        self.unwatched.as_ref()
    }

    /// How often other rules were put in force.
    #[must_use]
    pub fn reloads(&self) -> u64 {
        self.reloads
    }

    /// How often what the files said was rejected.
    #[must_use]
    pub fn rejections(&self) -> u64 {
        self.rejections
    }

    /// Whether changes are still looked for: not after a panic of what was handed to the watcher.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        self.is_watching
    }
}

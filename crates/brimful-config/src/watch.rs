//! Files that are read again when they change.
//!
//! ```
//! use std::sync::Arc;
//!
//! use brimful_config::Config;
//! use brimful_config::watch::{WatchOptions, Watcher};
//! # let folder = std::env::temp_dir().join(format!("brimful-watch-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("limits.toml");
//! # std::fs::write(&path, "default.limit = '10/s'")?;
//!
//! let config = Config::load(&path)?;
//! let limiter = Arc::new(config.limiter().build()?);
//! let watcher = Watcher::start(config, &limiter, WatchOptions::default(), |reload| {
//!     eprintln!("{reload:#}");
//! })?;
//!
//! // Each request:
//! let config = watcher.config();
//! let decision = config.keys().with_key("user:1", |key| limiter.try_acquire(key));
//! assert!(decision.is_allowed());
//!
//! // Health:
//! assert!(!watcher.status().is_rejected());
//! # drop(watcher);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is noticed
//!
//! The file of rules and all files of members that it names are read when one of them may have changed:
//! when it is written in place, replaced by another file (as editors and `mv` do), or when a link
//! on the way to it points elsewhere (as in a mounted `ConfigMap` of Kubernetes). It is the folders on the
//! way that are watched, up to the root, and the ways are walked anew with each look; so a folder
//! that is itself replaced, removed, or made later, is followed. What the file of rules names
//! is followed even while it is rejected.
//!
//! A look compares the content of all files with what it was; without a difference nothing happens. When
//! the system has lost events (its queue was full) the files are looked at. Not noticed is what the system
//! does not report: changes that another machine makes on a network file system, and those in folders above
//! the file that the process may not read. [`Watcher::check`] looks at the files then, on a signal or now and
//! again.
//!
//! # When
//!
//! The files are read once no change has come for [`WatchOptions::debounce`], and after ten times as long if
//! changes do not cease. A file that is written in place slowly can be read half written: what is
//! wrong then is rejected, and what is right by chance is in force until the next look. Replacing the
//! file has no such moment.
//!
//! # What is wrong
//!
//! If any file is missing or wrong, or the limiter refuses the rules, all stays as it is:
//! the rules, and [`Watcher::config`]. [`Status::is_rejected`] says so, with every fault, until the files are
//! right again. Settings of `[store]` shape the memory of a limiter and are not changed by a reload:
//! [`Reload::needs_restart`].
//!
//! # In which order
//!
//! The rules are put in force first, then [`Watcher::config`] and [`Watcher::status`] give the new ones, both at
//! once, and then the event is told. So a request that took the configuration just before, and asks the limiter
//! just after, has its key brought to the form of the old `[keys]` and is decided by the new rules; its
//! [`Decision::generation`](brimful::Decision::generation) is not that of the status it saw. Of one key
//! that can be one call for each thread. A request that sees the new configuration is never decided
//! by older rules (but for a key that still owes, with [`ReloadMode::NewKeysOnly`]).
//!
//! # Which test keeps it
//!
//! The three ways of changing a file, one bad file among several, keys in use, traffic meanwhile:
//! `tests/reload.rs`. Folders that are replaced, files of members elsewhere, bursts, what is refused, and the
//! end: `tests/watch.rs`. That a thousand watchers leave no thread and no open file: `tests/watchers.rs`. What is
//! made of lost events: `src/watch/bell.rs`. All of this is tried on Linux, where the system's watching
//! is inotify; elsewhere it is built on what [`notify`](https://docs.rs/notify/8) makes of that system.

mod bell;
mod contents;
mod folders;
mod places;
mod reload;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brimful::Limiter;

use crate::config::Config;
use crate::error::{Error, Fault};
use crate::keys::Keys;
use bell::Bell;
use contents::Content;
use folders::Folders;
use worker::{InForce, Worker};

pub use reload::{Reload, Status};

/// How changes are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long nothing must change before the files are read. 100 ms unless set.
    pub debounce: Duration,
    /// Which keys new rules are for. All unless set.
    pub mode: ReloadMode,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { debounce: Duration::from_millis(100), mode: ReloadMode::default() }
    }
}

/// Which keys new rules are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReloadMode {
    /// All, and each keeps what it has spent: [`Limiter::set_rules`].
    #[default]
    All,
    /// Those that owe nothing: [`Limiter::set_rules_for_new_keys`].
    NewKeysOnly,
}

impl ReloadMode {
    /// Puts the rules of a configuration in force, and returns their generation.
    ///
    /// # Errors
    /// Those of [`Limiter::set_rules`].
    pub fn apply(self, limiter: &Limiter, config: &Config) -> Result<u64, brimful::Error> {
        let rules = config.rules().clone();
        match self {
            Self::All => limiter.set_rules(rules),
            Self::NewKeysOnly => limiter.set_rules_for_new_keys(rules),
        }
    }
}

/// Puts in force what the files of a configuration say whenever they change, until it is dropped.
///
/// It has a thread of its own, and the system's watching has one; both are idle while nothing changes.
/// After a drop both are gone and nothing is called any more. Dropped by what it calls itself,
/// it does not wait: that call is the last.
#[derive(Debug)]
pub struct Watcher {
    bell: Arc<Bell>,
    in_force: Arc<InForce>,
    /// Taken when it is dropped.
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Follows the file that a configuration was loaded from, for the limiter that was built of it. A file that
    /// has changed since it was loaded is a change. A relative path is made absolute here, once.
    ///
    /// `on_event` is told what became of each change, by the watcher's thread, one after the other.
    ///
    /// # Errors
    /// The configuration was not loaded from a file, or the system does not watch its folder.
    pub fn start(
        config: Config,
        limiter: &Arc<Limiter>,
        options: WatchOptions,
        on_event: impl FnMut(&Reload) + Send + 'static,
    ) -> Result<Self, Error> {
        let limiter = Arc::clone(limiter);
        let apply = move |config: &Config| options.mode.apply(&limiter, config);
        Self::start_with(config, apply, options.debounce, on_event)
    }

    /// As [`start`](Self::start), for anything else that is made of a configuration. `apply` puts one in
    /// force, all of it or, with an error, nothing, and returns a number by which it can be told from others.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        config: Config,
        apply: impl FnMut(&Config) -> Result<u64, brimful::Error> + Send + 'static,
        debounce: Duration,
        on_event: impl FnMut(&Reload) + Send + 'static,
    ) -> Result<Self, Error> {
        let seen = loaded(&config)?;
        let files: Vec<PathBuf> = seen.iter().map(|(path, _)| path.clone()).collect();
        let path = files.first().cloned().unwrap_or_default();
        let bell = Arc::new(Bell::default());
        let mut folders = Folders::new(&bell).map_err(|fault| folders::unwatched(&path, &fault))?;
        folders.follow(std::iter::once(&*path))?;
        let store = config.model.store.clone();
        let in_force = Arc::new(InForce::new(config));
        let worker = Worker {
            path: path.clone().into(),
            files,
            seen,
            store,
            folders,
            bell: Arc::clone(&bell),
            in_force: Arc::clone(&in_force),
            debounce,
            apply: Box::new(apply),
            on_event: Box::new(on_event),
        };
        let thread = thread::Builder::new().name("brimful-watch".to_owned());
        let thread = thread.spawn(move || worker.run()).map_err(|fault| {
            let found = format!("no thread can be started to watch it: {fault}");
            Error::new(
                vec![Fault::of_file(&path, found, "expected room for one".to_owned())],
                0,
                Vec::new(),
            )
        })?;
        Ok(Self { bell, in_force, thread: Some(thread) })
    }

    /// What is in force. Take it for each request, or at least its [`Keys`]: they change with the file.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.in_force.read().0)
    }

    /// [`Config::keys`] of what is in force.
    #[must_use]
    pub fn keys(&self) -> Keys {
        self.in_force.read().0.keys()
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let status = self.in_force.read().1.clone();
        let is_watching = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        Status { is_watching, ..status }
    }

    /// Asks for a look at the files, as if one had changed. Returns at once.
    pub fn check(&self) {
        self.bell.ring();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) =
            self.thread.take().filter(|t| t.thread().id() != thread::current().id())
        {
            // A panic there was told by the thread itself.
            drop(thread.join());
        }
    }
}

/// What stood in the files of a configuration, of which the first is the file of rules.
fn loaded(config: &Config) -> Result<Vec<(PathBuf, Content)>, Error> {
    let name = config.sources.first().map_or(Path::new(""), |source| &source.name);
    let refuse = |found: String| {
        let expected = "expected a configuration that was loaded from a file".to_owned();
        Error::new(vec![Fault::of_file(name, found, expected)], 0, Vec::new())
    };
    // The files of a text are those of its members alone.
    if config.files().first().is_none_or(|first| first != name) {
        return Err(refuse("a text cannot be watched".to_owned()));
    }
    contents::loaded(config).map_err(|fault| refuse(format!("it has no absolute path: {fault}")))
}

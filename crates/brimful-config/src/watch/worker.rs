//! The thread that reads files and puts in force what they say.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use super::bell::Bell;
use super::contents::{self, Content};
use super::folders::Folders;
use super::reload::{self, Outcome, Reload, Status};
use crate::config::Config;
use crate::error::{Error, Fault};
use crate::limiter;
use crate::model::Store;

/// How often the files are looked up again when the file of rules changes meanwhile.
const MOST_ROUNDS: usize = 8;

pub(super) type Apply = Box<dyn FnMut(&Config) -> Result<u64, brimful::Error> + Send>;
pub(super) type OnEvent = Box<dyn FnMut(&Reload) + Send>;

/// What callers see.
#[derive(Debug)]
pub(super) struct InForce {
    state: RwLock<(Arc<Config>, Status)>,
}

impl InForce {
    pub(super) fn new(config: Config) -> Self {
        let status = Status {
            generation: 1,
            files: config.files().to_vec(),
            error: None,
            unwatched: None,
            reloads: 0,
            rejections: 0,
            is_watching: true,
        };
        Self { state: RwLock::new((Arc::new(config), status)) }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, (Arc<Config>, Status)> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Arc<Config>, &mut Status)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let (config, status) = &mut *state;
        change(config, status);
    }
}

pub(super) struct Worker {
    pub(super) path: Arc<Path>,
    /// All files that were read or looked for last, the file of rules first.
    pub(super) files: Vec<PathBuf>,
    /// What stood in them when they were last looked at.
    pub(super) seen: Vec<(PathBuf, Content)>,
    /// What the limiter was built with.
    pub(super) store: Store,
    pub(super) folders: Folders,
    pub(super) bell: Arc<Bell>,
    pub(super) in_force: Arc<InForce>,
    pub(super) debounce: Duration,
    pub(super) apply: Apply,
    pub(super) on_event: OnEvent,
}

impl Worker {
    /// Until the bell says that it is over. What this hands over to the system is gone when it returns.
    pub(super) fn run(mut self) {
        // The files may have changed since they were read for the limiter.
        let mut is_watching = true;
        while is_watching {
            if let Some(reload) = self.check() {
                (self.on_event)(&reload);
            }
            is_watching = self.bell.wait(self.debounce);
        }
        let Self { folders, bell, .. } = self;
        drop(folders);
        bell.wait_until_deaf();
    }

    /// Looks at the files, and loads them if any is not as before.
    fn check(&mut self) -> Option<Reload> {
        let (mut contents, mut fault) = self.look();
        if contents == self.seen {
            return None;
        }
        let mut loaded = self.load(fault);
        for _ in 0..MOST_ROUNDS {
            let files = self.files_of(&loaded);
            if files == self.files {
                break;
            }
            // What was read of others, before they were watched and looked at, may be outdated.
            self.files = files;
            (contents, fault) = self.look();
            loaded = self.load(fault);
        }
        self.seen = contents;
        let outcome = match loaded {
            Ok(config) => self.put_in_force(config),
            Err(error) => self.reject(error),
        };
        Some(self.told(outcome))
    }

    /// Watches all files, and then reads them, so that a change after the reading is heard. The second is
    /// why the file of rules cannot be read.
    fn look(&mut self) -> (Vec<(PathBuf, Content)>, Option<io::Error>) {
        let unwatched = self.folders.follow(self.files.iter().map(PathBuf::as_path));
        let unwatched = unwatched.err().map(Arc::new);
        self.in_force.change(|_, status| {
            status.unwatched = unwatched;
            status.files.clone_from(&self.files);
        });
        contents::read(&self.files)
    }

    fn load(&self, fault: Option<io::Error>) -> Result<Config, Error> {
        // What is no file, such as a pipe, might never end.
        let Some(fault) = fault else { return Config::load(&self.path) };
        let found = format!("the file cannot be read: {fault}");
        let expected = "expected a file of rules in TOML or YAML".to_owned();
        let fault_of_file = Fault::of_file(&self.path, found, expected);
        Err(Error::unreadable(fault_of_file, Some(fault)).of_file(&self.path))
    }

    /// The files that were read or looked for, the file of rules first.
    fn files_of(&self, loaded: &Result<Config, Error>) -> Vec<PathBuf> {
        let files = match loaded {
            Ok(config) => config.files(),
            Err(error) => error.files(),
        };
        let members = files.iter().filter(|path| **path != *self.path).cloned();
        std::iter::once(self.path.to_path_buf()).chain(members).collect()
    }

    fn told(&self, outcome: Outcome) -> Reload {
        let (config, status) = self.in_force.read().clone();
        let needs_restart = match outcome {
            Outcome::Rejected(_) => Vec::new(),
            _ => reload::different(&self.store, &config.model.store),
        };
        let (path, generation) = (Arc::clone(&self.path), status.generation);
        Reload { path, outcome, config, generation, needs_restart }
    }

    /// The rules first, so that what is refused changes nothing.
    fn put_in_force(&mut self, config: Config) -> Outcome {
        let is_same = *self.in_force.read().0 == config;
        let generation = if is_same { None } else { Some((self.apply)(&config)) };
        match generation {
            Some(Err(refused)) => {
                let (found, expected) = (limiter::found(&refused), limiter::expected(&refused));
                let fault = Fault::of_file(&self.path, found, expected);
                self.reject(Error::new(vec![fault], 0, self.files.clone()))
            }
            Some(Ok(generation)) => {
                self.in_force.change(|current, status| {
                    *current = Arc::new(config);
                    status.generation = generation;
                    status.error = None;
                    status.reloads = status.reloads.saturating_add(1);
                });
                Outcome::Applied
            }
            None => {
                // Its places are those of the file as it is now.
                self.in_force.change(|current, status| {
                    *current = Arc::new(config);
                    status.error = None;
                });
                Outcome::Same
            }
        }
    }

    fn reject(&mut self, error: Error) -> Outcome {
        let error = Arc::new(error);
        self.in_force.change(|_, status| {
            status.error = Some(Arc::clone(&error));
            status.rejections = status.rejections.saturating_add(1);
        });
        Outcome::Rejected(error)
    }
}

//! A folder with a file of rules that is watched, and what is told of its changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use brimful::{Limiter, ManualClock, Nanos};
use brimful_config::Config;
use brimful_config::watch::{Reload, ReloadMode, WatchOptions, Watcher};

/// For what comes within a moment. A test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Short, because the tests wait for it; what it is decides none of them.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(20);

/// A folder of its own for a test, without what an earlier run left there.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("watch").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file in place.
pub(crate) fn write(path: impl AsRef<Path>, text: &str) {
    fs::write(path, text).unwrap();
}

/// Writes a file beside it and renames that over it.
pub(crate) fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    write(&beside, text);
    fs::rename(beside, path).unwrap();
}

/// Lets a link point elsewhere, with no moment without one.
pub(crate) fn relink(link: &Path, target: &str) {
    let beside = link.with_file_name("..data_tmp");
    symlink(target, &beside).unwrap();
    fs::rename(beside, link).unwrap();
}

/// Rules with one limit for everybody, as the ending of the file wants them.
pub(crate) fn rules(path: &Path, limit: &str) -> String {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("yaml") => format!("default:\n  limit: {limit}\n"),
        _ => format!("[default]\nlimit = \"{limit}\"\n"),
    }
}

pub(crate) struct World {
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) clock: ManualClock,
    pub(crate) watcher: Watcher,
    told: Receiver<Reload>,
}

impl World {
    pub(crate) fn new(path: &Path) -> Self {
        Self::with_mode(path, ReloadMode::All)
    }

    pub(crate) fn with_mode(path: &Path, mode: ReloadMode) -> Self {
        let config = Config::load(path).unwrap();
        let clock = ManualClock::new(Nanos::from_secs(1_000));
        let limiter = Arc::new(config.limiter().clock(clock.clone()).build().unwrap());
        let (tell, told) = mpsc::channel();
        let options = WatchOptions { debounce: DEBOUNCE, mode };
        let on_event = move |reload: &Reload| drop(tell.send(reload.clone()));
        let watcher = Watcher::start(config, &limiter, options, on_event).unwrap();
        Self { limiter, clock, watcher, told }
    }

    /// The next thing that is told.
    pub(crate) fn told(&self) -> Reload {
        self.told.recv_timeout(PATIENCE).expect("nothing was told of a change")
    }

    /// The next thing that is told is that other rules are in force.
    pub(crate) fn applied(&self) -> Reload {
        let reload = self.told();
        assert!(reload.is_applied(), "{reload}");
        let status = self.watcher.status();
        assert!(!status.is_rejected() && status.is_watching() && status.unwatched().is_none());
        reload
    }

    /// The next thing that is told is a rejection; what is said of it, without the folder.
    pub(crate) fn rejected(&self, folder: &Path) -> String {
        let before = self.watcher.config();
        let reload = self.told();
        assert!(reload.is_rejected(), "{reload}");
        let status = self.watcher.status();
        assert!(status.is_rejected());
        let error = reload.error().unwrap().to_string();
        assert_eq!(status.error().unwrap().to_string(), error);
        assert!(Arc::ptr_eq(&before, &self.watcher.config()));
        error.replace(&format!("{}/", folder.display()), "")
    }

    /// The limit that a key has now, as the limiter has it.
    pub(crate) fn limit(&self, key: &str) -> String {
        let decision = self.limiter.peek(key, 0);
        self.limiter.limit_of(&decision).map_or("none".to_owned(), |limit| limit.to_string())
    }

    /// Ends the watching. Nothing more is told afterwards, nor was anything left over.
    pub(crate) fn end(self) {
        drop(self.watcher);
        // What was called is gone, and its end of the channel with it.
        match self.told.try_recv() {
            Err(mpsc::TryRecvError::Disconnected) => {}
            other => panic!("{other:?}"),
        }
    }
}

//! What wakes the thread that reads the files: a change at one of the paths that matter, a request,
//! or the end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, EventHandler};

/// A burst of changes is waited for so many times as long as it should be quiet.
const MOST_WAITS: u32 = 10;

/// How long the system's own thread is waited for at the end. It ends at once unless it hangs.
const END: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_rung: bool,
    is_stopped: bool,
    /// Nobody reports changes any more: the ear is gone.
    is_deaf: bool,
    /// Changes of these are heard.
    paths: BTreeSet<PathBuf>,
}

impl Bell {
    /// Asks for a look at the files.
    pub(super) fn ring(&self) {
        self.lock().is_rung = true;
        self.changed.notify_all();
    }

    /// Asks for the end.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Whose changes are heard from now on.
    pub(super) fn listen_for(&self, paths: BTreeSet<PathBuf>) {
        self.lock().paths = paths;
    }

    /// Waits until it is rung, and then until a whole `quiet` has passed without a ring, at most ten
    /// times; a ring after that is one for the next call. `false`: it is over.
    pub(super) fn wait(&self, quiet: Duration) -> bool {
        let is_over = |state: &State| state.is_stopped || state.is_deaf;
        let wait = self.changed.wait_while(self.lock(), |state| !state.is_rung && !is_over(state));
        let mut state = wait.unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MOST_WAITS {
            if is_over(&state) {
                return false;
            }
            state.is_rung = false;
            let wait = self.changed.wait_timeout_while(state, quiet, |state| !is_over(state));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_rung {
                break;
            }
        }
        state.is_rung = false;
        !is_over(&state)
    }

    /// Waits until the ear is gone, and with it all that it was handed to.
    pub(super) fn wait_until_deaf(&self) {
        drop(self.changed.wait_timeout_while(self.lock(), END, |state| !state.is_deaf));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears what the system reports.
pub(super) struct Ear(pub(super) Arc<Bell>);

impl EventHandler for Ear {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let mut state = self.0.lock();
        // What is lost or not understood may be a change.
        let matters = event.map_or(true, |event| {
            event.need_rescan()
                || (may_change(event.kind)
                    && (event.paths.is_empty()
                        || event.paths.iter().any(|path| state.paths.contains(path))))
        });
        if matters {
            state.is_rung = true;
            self.0.changed.notify_all();
        }
    }
}

/// Reading a file is reported too, also when it is read here: that must not lead to another reading.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.0.lock().is_deaf = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use notify::event::{CreateKind, Flag, ModifyKind, RemoveKind, RenameMode};

    use super::*;

    fn rings(event: notify::Result<Event>) -> bool {
        let bell = Arc::new(Bell::default());
        bell.listen_for(["/a/limits.toml".into()].into());
        Ear(Arc::clone(&bell)).handle_event(event);
        bell.lock().is_rung
    }

    #[test]
    fn changes_of_what_matters_and_all_that_is_unclear_are_heard() {
        let at = |kind, path: &str| Ok(Event::new(kind).add_path(path.into()));
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        let read = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let closed = |mode| EventKind::Access(AccessKind::Close(mode));
        for (event, is_heard) in [
            (at(EventKind::Create(CreateKind::File), "/a/limits.toml"), true),
            (at(EventKind::Remove(RemoveKind::File), "/a/limits.toml"), true),
            (at(closed(AccessMode::Write), "/a/limits.toml"), true),
            (at(renamed, "/a/x").map(|event| event.add_path("/a/limits.toml".into())), true),
            (at(EventKind::Create(CreateKind::File), "/a/.limits.toml.swp"), false),
            // What reading does: it must not lead to another reading.
            (at(read, "/a/limits.toml"), false),
            (at(closed(AccessMode::Read), "/a/limits.toml"), false),
            // Events were lost, or say nothing.
            (Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), true),
            (at(EventKind::Other, "/b").map(|event| event.set_flag(Flag::Rescan)), true),
            (Ok(Event::new(EventKind::Any)), true),
            (Err(notify::Error::generic("lost")), true),
        ] {
            let shown = format!("{event:?}");
            assert_eq!(rings(event), is_heard, "{shown}");
        }
    }

    #[test]
    fn it_is_over_when_it_is_stopped_or_nobody_reports() {
        let bell = Arc::new(Bell::default());
        bell.ring();
        assert!(bell.wait(Duration::ZERO));
        drop(Ear(Arc::clone(&bell)));
        bell.ring();
        assert!(!bell.wait(Duration::ZERO));
        let bell = Bell::default();
        bell.ring();
        bell.stop();
        assert!(!bell.wait(Duration::MAX));
    }

    /// A file that never rests is read nevertheless.
    #[test]
    fn changes_without_end_are_looked_at() {
        let (bell, is_over) = (Bell::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    bell.ring();
                }
            });
            let is_rung = bell.wait(Duration::from_millis(1));
            is_over.store(true, Ordering::Relaxed);
            assert!(is_rung);
        });
    }
}

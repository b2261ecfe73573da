//! Watchers that are gone leave nothing behind. Alone in its process, whose threads and files it counts.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brimful::Limiter;
use brimful_config::Config;
use brimful_config::watch::{Reload, WatchOptions, Watcher};

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn start_and_drop(config: &Config, limiter: &Arc<Limiter>, calls: &Arc<AtomicU64>) {
    let calls = Arc::clone(calls);
    let on_event = move |_: &Reload| {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let options = WatchOptions::default();
    drop(Watcher::start(config.clone(), limiter, options, on_event).unwrap());
}

#[test]
fn a_thousand_watchers_leave_no_thread_and_no_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("watchers");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("limits.toml");
    fs::write(&path, "default.limit = '10/s'\n").unwrap();
    let config = Config::load(&path).unwrap();
    let limiter = Arc::new(config.limiter().max_keys(100).build().unwrap());
    let calls = Arc::new(AtomicU64::new(0));
    let (threads, files) = (entries("/proc/self/task"), entries("/proc/self/fd"));
    // Several at a time, because the system takes a while to end one.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| start_and_drop(&config, &limiter, &calls)));
        }
    });
    assert_eq!(entries("/proc/self/fd"), files);
    assert_eq!((Arc::strong_count(&calls), Arc::strong_count(&limiter)), (1, 1));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    // The system's thread has let go of everything, and has a few instructions left.
    let more = |_: &u32| entries("/proc/self/task") > threads;
    assert!((0..100_000).take_while(more).count() < 100_000);
}

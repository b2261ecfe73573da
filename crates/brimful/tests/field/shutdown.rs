//! What is left of a limiter when it is dropped: nothing, because nothing ran beside its callers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use brimful::{Limiter, ManualClock, Overflow};

use crate::{START, policy};

/// A hundred limiters are used and dropped: nobody holds the clock that each had, so no thread or
/// task that cleans up or waits has outlived any of them, or has ever been there.
#[test]
fn nothing_outlives_a_limiter() {
    let clock = Arc::new(ManualClock::new(START));
    for (round, overflow) in (0..100).zip(Overflow::ALL.into_iter().cycle()) {
        let limiter = Limiter::builder(policy(&["10/s", "20/min sliding-log"]))
            .max_keys(4)
            .max_log_entries(20)
            .overflow(overflow)
            .clock(Arc::clone(&clock))
            .build()
            .expect("a small limiter");
        for key in 0..20_u64 {
            let _ = limiter.try_acquire(key);
        }
        assert_eq!(Arc::strong_count(&clock), 2, "case 245: one holder besides the test");
        drop(limiter);
        assert_eq!(Arc::strong_count(&clock), 1, "case 245: limiter {round} lives on");
    }
}

/// Cases 245 and 247: no thread, task or timer is started anywhere in the library, so none can go
/// on, or spin, after it: the words for it are not in its sources.
#[test]
fn the_library_starts_nothing() {
    let mut files = 0;
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("the sources") {
            let path = entry.expect("the sources").path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            files += 1;
            for word in ["spawn", "tokio", "thread::Builder", "sleep(", "park"] {
                let found = text.lines().position(|line| starts(line, word));
                assert!(found.is_none(), "case 247: {}: `{word}` at {found:?}", path.display());
            }
        }
    }
    assert!(files > 20, "only {files} source files were found");
}

/// Whether a line of code, not a comment, has the word.
fn starts(line: &str, word: &str) -> bool {
    !line.trim_start().starts_with("//") && line.contains(word)
}

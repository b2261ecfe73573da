//! Faults that people met when rules were reloaded elsewhere, and what keys in use keep.
#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses a part")]
mod watching;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brimful_config::watch::ReloadMode;

use watching::{World, folder, relink, replace, rules, write};

/// Gives a file another limit.
type Change = fn(&Path, &str);

/// The three ways in which files are changed, in both syntaxes; each twice, because the first
/// change may end what was watched.
#[test]
fn a_changed_file_is_picked_up() {
    let rows: [(u32, &str, Change); 3] = [
        (186, "edited in place", |path, limit| write(path, &rules(path, limit))),
        (186, "renamed over", |path, limit| replace(path, &rules(path, limit))),
        (186, "link swapped", |path, limit| {
            let mount = path.parent().unwrap();
            let old = fs::read_link(mount.join("..data")).unwrap();
            let new = format!("..{}", limit.replace('/', "-"));
            fs::create_dir(mount.join(&new)).unwrap();
            write(mount.join(&new).join(path.file_name().unwrap()), &rules(path, limit));
            relink(&mount.join("..data"), &new);
            fs::remove_dir_all(mount.join(old)).unwrap();
        }),
    ];
    for (case, way, change) in rows {
        for name in ["limits.toml", "limits.yaml"] {
            let mount = folder(&format!("ways/{way}/{name}"));
            let path = mount.join(name);
            if way == "link swapped" {
                fs::create_dir(mount.join("..first")).unwrap();
                write(mount.join("..first").join(name), &rules(&path, "100/s"));
                symlink("..first", mount.join("..data")).unwrap();
                symlink(Path::new("..data").join(name), &path).unwrap();
            } else {
                write(&path, &rules(&path, "100/s"));
            }
            let world = World::new(&path);
            assert_eq!(world.limit("k"), "100/s", "case {case}: {way}, {name}");
            for (number, limit) in [(2, "7/s"), (3, "9/min"), (4, "100/s")] {
                change(&path, limit);
                // Written in place, the file is empty for a moment.
                let mut reload = world.told();
                while way == "edited in place" && reload.is_rejected() {
                    reload = world.told();
                }
                assert!(reload.is_applied(), "case {case}: {way}, {name}: {reload}");
                assert_eq!(reload.generation(), number, "case {case}: {way}, {name}");
                assert_eq!(world.limit("k"), limit, "case {case}: {way}, {name}");
            }
            world.end();
        }
    }
}

/// Files of members that contradict each other, and a file of rules that is wrong besides: the old
/// rules stay, all files are named, and a flag shows it.
#[test]
fn one_bad_file_among_several_spoils_nothing() {
    let text = |limit: &str| {
        format!(
            "[default]\nlimit = '{limit}'\n[tiers.gold]\nlimit = '50/s'\nmembers_file = 'gold.txt'\n\
             [tiers.silver]\nlimit = '20/s'\nmembers_file = 'silver.txt'\n"
        )
    };
    let rows = [
        (
            187,
            "10/s",
            "c\nb\n",
            "silver.txt:2:1: the key \"b\" is a member of two tiers, `gold` and `silver`; keep it in one; \
             the first: gold.txt:2:1; named in: limits.toml:8:17",
        ),
        (
            187,
            "10/minn",
            "c\na\n",
            "limits.toml:2:13: unknown unit `minn`; did you mean `min`?; expected one of ms, s, min, h, day, \
             week, month, year; for example `100/min burst 20`\n\
             silver.txt:2:1: the key \"a\" is a member of two tiers, `gold` and `silver`; keep it in one; \
             the first: gold.txt:1:1; named in: limits.toml:8:17",
        ),
    ];
    for (case, limit, silver, error) in rows {
        let folder = folder("spoiled");
        let path = folder.join("limits.toml");
        write(&path, &text("10/s"));
        write(folder.join("gold.txt"), "a\nb\n");
        write(folder.join("silver.txt"), "c\n");
        let world = World::new(&path);
        assert_eq!(world.watcher.status().files().len(), 3);
        // Both within a moment; a look in between finds the first alone, which is wrong too if it differs.
        replace(&path, &text(limit));
        replace(&folder.join("silver.txt"), silver);
        let mut found = world.rejected(&folder);
        while found != error {
            found = world.rejected(&folder);
        }
        let status = world.watcher.status();
        assert!(status.is_rejected() && status.rejections() > 0, "case {case}");
        assert_eq!((status.reloads(), status.generation()), (0, 1), "case {case}");
        assert_eq!(world.limit("a"), "50/s", "case {case}");

        replace(&path, &text("10/s"));
        replace(&folder.join("silver.txt"), "c\nd\n");
        let mut reload = world.told();
        while !reload.is_applied() {
            reload = world.told();
        }
        assert!(!world.watcher.status().is_rejected(), "case {case}");
        assert_eq!(world.limit("d"), "20/s", "case {case}");
        world.end();
    }
}

/// A key in use is under the new limit at once, and keeps what it owes.
#[test]
fn a_reload_reaches_keys_in_use() {
    // 100 calls a second for ten seconds after the reload.
    for (case, before, after, at_once, admitted) in
        [(189, "10/s", "1/s", 0, 10), (189, "1/s", "10/s", 0, 100)]
    {
        let path = folder("in-use").join("limits.toml");
        write(&path, &rules(&path, before));
        let world = World::new(&path);
        let calls = |number: u32| {
            let allowed = (0..number).filter(|_| {
                world.clock.advance(Duration::from_millis(10));
                world.limiter.allow("k")
            });
            allowed.count()
        };
        while world.limiter.allow("k") {}
        replace(&path, &rules(&path, after));
        assert_eq!(world.applied().generation(), 2, "case {case}");
        let immediately = usize::from(world.limiter.allow("k"));
        assert_eq!(immediately, at_once, "case {case}: {before} to {after}");
        assert_eq!(calls(1_000), admitted, "case {case}: {before} to {after}");
        world.end();
    }
}

#[test]
fn new_rules_can_be_for_new_keys_only() {
    let path = folder("new-keys").join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::with_mode(&path, ReloadMode::NewKeysOnly);
    assert!(world.limiter.allow("old"));
    replace(&path, &rules(&path, "20/s"));
    world.applied();
    assert_eq!((world.limit("old"), world.limit("new")), ("10/s".to_owned(), "20/s".to_owned()));
    world.end();
}

/// What is done when it is dropped.
struct Defer<F: Fn()>(F);

impl<F: Fn()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Threads that ask all the while get what the limit has, and no more, however often it is read again.
#[test]
fn traffic_keeps_what_was_spent() {
    let path = folder("traffic").join("limits.toml");
    let text = |other: u32| format!("default.limit = '1000/h'\ntiers.a.limit = '{other}/s'\n");
    write(&path, &text(1));
    let world = World::new(&path);
    let is_over = AtomicBool::new(false);
    let admitted: usize = std::thread::scope(|scope| {
        // Also when something here fails.
        let end = Defer(|| is_over.store(true, Ordering::Relaxed));
        let ask = || {
            let mut admitted = 0;
            while !is_over.load(Ordering::Relaxed) {
                admitted += usize::from(world.limiter.allow("k"));
            }
            admitted
        };
        let threads = [scope.spawn(ask), scope.spawn(ask)];
        for other in 2..=6 {
            replace(&path, &text(other));
            world.applied();
        }
        drop(end);
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    // Some may not have been asked for.
    let left = std::iter::repeat_with(|| world.limiter.allow("k")).take_while(|is| *is).count();
    assert_eq!(admitted + left, 1_000);
    assert_eq!(world.watcher.status().reloads(), 5);
    world.end();
}

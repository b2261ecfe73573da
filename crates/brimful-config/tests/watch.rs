//! What is noticed of changed files, and what becomes of it.
#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses a part")]
mod watching;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use brimful_config::watch::{WatchOptions, Watcher};
use brimful_config::{Config, Syntax};
use watching::{DEBOUNCE, World, folder, relink, replace, rules, write};

const WITH_MEMBERS: &str = "default.limit = '1/s'
[tiers.gold]
limit = '50/s'
members_file = 'FILE'
";

#[test]
fn a_bad_file_is_told_and_the_next_good_one_is_in_force() {
    let folder = folder("bad-good");
    let path = folder.join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::new(&path);
    replace(&path, "[default]\nlimit = '10/s'\nlimt = 1\n[tiers.a]\npolicy = 'x'\n");
    let error = world.rejected(&folder);
    assert!(error.starts_with("limits.toml:3:1: unknown field `limt`"), "{error}");
    assert!(error.contains("\nlimits.toml:5:11: "), "{error}");
    assert_eq!(world.limit("k"), "10/s");
    replace(&path, &rules(&path, "20/s"));
    assert_eq!(world.applied().generation(), 2);
    assert_eq!(world.limit("k"), "20/s");
    let status = world.watcher.status();
    assert_eq!((status.reloads(), status.rejections(), status.generation()), (1, 1, 2));
    world.end();
}

#[test]
fn a_file_that_vanishes_is_missed_until_it_is_back() {
    let folder = folder("vanish");
    let path = folder.join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::new(&path);
    for round in 1..=3 {
        fs::remove_file(&path).unwrap();
        let error = world.rejected(&folder);
        assert!(error.starts_with("limits.toml: the file cannot be read: "), "{error}");
        assert!(world.watcher.status().error().unwrap().is_read());
        // Back as it was: what is in force is right again, and nothing is put in force.
        replace(&path, &rules(&path, "10/s"));
        let reload = world.told();
        assert!(reload.is_same() && reload.generation() == 1, "{reload}");
        let status = world.watcher.status();
        assert_eq!((status.is_rejected(), status.rejections()), (false, round));
    }
    fs::remove_file(&path).unwrap();
    world.rejected(&folder);
    replace(&path, &rules(&path, "20/s"));
    world.applied();
    assert_eq!(world.limit("k"), "20/s");
    world.end();
}

/// Within one burst a file is replaced and removed: it was there before, so this is a change.
#[test]
fn what_comes_and_goes_is_not_overlooked() {
    let folder = folder("comes-and-goes");
    let path = folder.join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::new(&path);
    replace(&path, &rules(&path, "20/s"));
    fs::remove_file(&path).unwrap();
    let mut reload = world.told();
    while !reload.is_rejected() {
        reload = world.told();
    }
    assert!(reload.error().unwrap().is_read());
    world.end();
}

#[test]
fn a_file_that_is_as_before_is_no_reload() {
    let path = folder("as-before").join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::new(&path);
    world.watcher.check();
    replace(&path, &rules(&path, "10/s"));
    fs::set_permissions(&path, fs::metadata(&path).unwrap().permissions()).unwrap();
    // With another comment it says the same, and its lines are others.
    replace(&path, &format!("# why\n{}", rules(&path, "10/s")));
    let reload = world.told();
    assert!(reload.is_same() && reload.generation() == 1, "{reload}");
    let explained = world.watcher.config().explain("k", None).to_string();
    assert!(explained.contains("limits.toml:2"), "{explained}");
    assert_eq!(world.watcher.status().reloads(), 0);
    world.end();
}

/// What was changed after it was loaded and before it was watched.
#[test]
fn a_file_that_changed_before_the_start_is_picked_up() {
    let path = folder("before").join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let config = Config::load(&path).unwrap();
    write(&path, &rules(&path, "20/s"));
    let limiter = Arc::new(config.limiter().build().unwrap());
    let (tell, told) = mpsc::channel();
    let on_event = move |reload: &_| drop(tell.send(Clone::clone(reload)));
    let watcher = Watcher::start(config, &limiter, WatchOptions::default(), on_event).unwrap();
    let reload: brimful_config::watch::Reload = told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(reload.is_applied(), "{reload}");
    drop(watcher);
}

/// Named from the folder that the process is in.
#[test]
fn a_relative_path_is_followed() {
    let absolute = folder("relative").join("limits.toml");
    let up =
        std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect::<PathBuf>();
    let path = up.join(absolute.strip_prefix("/").unwrap());
    assert!(path.is_relative());
    write(&path, &WITH_MEMBERS.replace("FILE", "./gold.txt"));
    write(path.with_file_name("gold.txt"), "a\n");
    let world = World::new(&path);
    replace(&path.with_file_name("gold.txt"), "b\n");
    world.applied();
    assert_eq!((world.limit("a"), world.limit("b")), ("1/s".to_owned(), "50/s".to_owned()));
    assert!(world.watcher.status().files().iter().all(|path| path.is_absolute()));
    world.end();
}

#[test]
fn a_hundred_quick_edits_end_with_the_last() {
    for name in ["in place", "renamed"] {
        let path = folder(&format!("quick/{name}")).join("limits.toml");
        write(&path, &rules(&path, "1000/s"));
        let world = World::new(&path);
        let change = if name == "renamed" {
            |p: &_, t: &_| replace(p, t)
        } else {
            |p: &_, t: &_| write(p, t)
        };
        for n in 1..=100 {
            change(&path, &rules(&path, &format!("{n}/s")));
        }
        let mut told = 1;
        while !(world.told().is_applied() && world.limit("k") == "100/s") {
            told += 1;
        }
        // At most one a burst, and one more for each moment in which the file was empty.
        assert!(told <= 100, "{name}: {told}");
        assert!(!world.watcher.status().is_rejected());
        world.end();
    }
}

#[test]
fn files_of_members_are_followed_where_they_are() {
    let folder = folder("members");
    let path = folder.join("conf/limits.toml");
    for name in ["conf", "elsewhere", "later"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    write(&path, &WITH_MEMBERS.replace("FILE", "../elsewhere/gold.txt"));
    let (first, second) = (folder.join("elsewhere/gold.txt"), folder.join("later/gold.txt"));
    write(&first, "a\n");
    let world = World::new(&path);
    assert_eq!(world.limit("a"), "50/s");
    replace(&first, "b\n");
    world.applied();
    assert_eq!((world.limit("a"), world.limit("b")), ("1/s".to_owned(), "50/s".to_owned()));
    // Another file, which is not there yet: the rules are rejected, and it is waited for.
    replace(&path, &WITH_MEMBERS.replace("FILE", "../later/gold.txt"));
    let error = world.rejected(&folder);
    assert!(error.starts_with("conf/limits.toml:4:17: the file cannot be read"), "{error}");
    assert!(error.contains("later/gold.txt"), "{error}");
    replace(&second, "c\n");
    world.applied();
    assert_eq!((world.limit("b"), world.limit("c")), ("1/s".to_owned(), "50/s".to_owned()));
    // The first is none of its files any more.
    replace(&first, "d\n");
    replace(&second, "e\n");
    world.applied();
    assert_eq!((world.limit("d"), world.limit("e")), ("1/s".to_owned(), "50/s".to_owned()));
    assert_eq!(world.watcher.status().files().len(), 2);
    world.end();
}

/// A mounted `ConfigMap`: all files change with one link.
#[test]
fn rules_and_members_change_together() {
    let mount = folder("together");
    let path = mount.join("limits.toml");
    let fill = |version: &str, limit: &str, members: &str| {
        fs::create_dir(mount.join(version)).unwrap();
        let text = WITH_MEMBERS.replace("FILE", "gold.txt").replace("50/s", limit);
        write(mount.join(version).join("limits.toml"), &text);
        write(mount.join(version).join("gold.txt"), members);
    };
    fill("..1", "50/s", "a\n");
    symlink("..1", mount.join("..data")).unwrap();
    symlink("..data/limits.toml", &path).unwrap();
    symlink("..data/gold.txt", mount.join("gold.txt")).unwrap();
    let world = World::new(&path);
    for (version, limit, members) in [("..2", "60/s", "b\n"), ("..3", "70/s", "c\n")] {
        fill(version, limit, members);
        relink(&mount.join("..data"), version);
        world.applied();
        assert_eq!(world.limit(members.trim()), limit);
    }
    assert_eq!(world.watcher.status().reloads(), 2);
    world.end();
}

/// The folder, or one above it, is another one afterwards; and that one is followed.
#[test]
fn a_replaced_folder_is_followed() {
    for name in ["a/b", "a"] {
        let top = folder(&format!("replaced/{}", name.replace('/', "-")));
        let path = top.join("a/b/limits.toml");
        fs::create_dir_all(top.join("a/b")).unwrap();
        write(&path, &rules(&path, "1/s"));
        let world = World::new(&path);
        let (here, old, new) = (top.join(name), top.join("old"), top.join("new"));
        let within = |place: &std::path::Path| place.join(path.strip_prefix(&here).unwrap());
        fs::create_dir_all(within(&new).parent().unwrap()).unwrap();
        write(within(&new), &rules(&path, "2/s"));
        fs::rename(&here, &old).unwrap();
        fs::rename(&new, &here).unwrap();
        let mut reload = world.told();
        while !reload.is_applied() {
            reload = world.told();
        }
        assert_eq!(world.limit("k"), "2/s", "{name}");
        // What is done to the old one is none of its business.
        replace(&within(&old), &rules(&path, "9/s"));
        replace(&path, &rules(&path, "3/s"));
        world.applied();
        assert_eq!(world.limit("k"), "3/s", "{name}");
        // Removed, and made anew.
        fs::remove_dir_all(&here).unwrap();
        world.rejected(&top);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        replace(&path, &rules(&path, "4/s"));
        world.applied();
        replace(&path, &rules(&path, "5/s"));
        world.applied();
        assert_eq!(world.limit("k"), "5/s", "{name}");
        world.end();
    }
}

#[test]
fn what_the_limiter_refuses_is_rejected() {
    let folder = folder("refused");
    let path = folder.join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let world = World::new(&path);
    replace(&path, "default.limits = ['10/s', '100/h']\n");
    let error = world.rejected(&folder);
    assert!(error.starts_with("limits.toml: ") && error.contains("limits"), "{error}");
    assert!(!world.watcher.status().error().unwrap().is_read());
    assert_eq!(world.limit("k"), "10/s");
    replace(&path, &rules(&path, "20/s"));
    world.applied();
    world.end();
}

#[test]
fn settings_of_the_store_wait_for_a_restart() {
    let path = folder("store").join("limits.toml");
    let text = |store: &str, limit| format!("{}[store]\n{store}\n", rules(&path, limit));
    write(&path, &text("max_keys = 100", "10/s"));
    let world = World::new(&path);
    replace(&path, &text("max_keys = 200\noverflow = 'refuse'", "20/s"));
    let reload = world.applied();
    assert_eq!(reload.needs_restart(), ["max_keys", "overflow"]);
    let said = reload.to_string();
    assert!(said.ends_with("; after a restart only: max_keys, overflow of [store]"), "{said}");
    assert_eq!(world.limit("k"), "20/s");
    // It is the limiter's settings that count, not those of the last file.
    replace(&path, &text("max_keys = 200\noverflow = 'refuse'", "30/s"));
    assert_eq!(world.applied().needs_restart().len(), 2);
    replace(&path, &text("max_keys = 100", "40/s"));
    assert!(world.applied().needs_restart().is_empty());
    world.end();
}

#[test]
fn the_form_of_keys_comes_with_the_rules() {
    let path = folder("keys").join("limits.toml");
    let text = "default.limit = '10/s'\n[[exact]]\nkey = 'Müller'\nlimit = '99/s'\n";
    write(&path, text);
    let world = World::new(&path);
    assert_eq!(world.watcher.keys().normalize(" MÜLLER"), " MÜLLER");
    replace(&path, &format!("{text}[keys]\ntrim = true\nfold_case = true\n"));
    let reload = world.applied();
    assert!(Arc::ptr_eq(reload.config(), &world.watcher.config()));
    assert_eq!(world.watcher.keys(), world.watcher.config().keys());
    assert_eq!(world.limit(&world.watcher.keys().normalize(" MÜLLER")), "99/s");
    world.end();
}

#[test]
fn a_watcher_may_be_dropped_by_what_it_calls() {
    let path = folder("drop").join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let config = Config::load(&path).unwrap();
    let place: Arc<Mutex<Option<Watcher>>> = Arc::default();
    let (tell, told) = mpsc::channel();
    let own = Arc::clone(&place);
    let on_event = move |_: &_| {
        drop(own.lock().unwrap().take());
        tell.send("dropped").unwrap();
    };
    let limiter = Arc::new(config.limiter().build().unwrap());
    let options = WatchOptions { debounce: DEBOUNCE, ..WatchOptions::default() };
    let watcher = Watcher::start(config, &limiter, options, on_event).unwrap();
    *place.lock().unwrap() = Some(watcher);
    replace(&path, &rules(&path, "20/s"));
    let patience = Duration::from_secs(60);
    assert_eq!(told.recv_timeout(patience), Ok("dropped"));
    // It was the last call: what was called is gone.
    assert_eq!(told.recv_timeout(patience), Err(mpsc::RecvTimeoutError::Disconnected));
    assert!(place.lock().unwrap().is_none());
}

#[test]
fn a_panic_in_what_is_called_is_seen() {
    let path = folder("panic").join("limits.toml");
    write(&path, &rules(&path, "10/s"));
    let config = Config::load(&path).unwrap();
    let (tell, told) = mpsc::channel::<()>();
    let on_event = move |_: &_| {
        let _until_the_end = &tell;
        panic!("this one is meant");
    };
    let limiter = Arc::new(config.limiter().build().unwrap());
    let watcher = Watcher::start(config, &limiter, WatchOptions::default(), on_event).unwrap();
    assert!(watcher.status().is_watching());
    replace(&path, &rules(&path, "20/s"));
    assert!(told.recv_timeout(Duration::from_secs(60)).is_err());
    // The thread ends a few instructions later.
    let mut turns = (0..1_000_000).take_while(|_| watcher.status().is_watching());
    assert!(turns.by_ref().inspect(|_| std::thread::yield_now()).count() < 1_000_000);
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let config = Config::parse("default.limit = '1/s'", Syntax::Toml, "a.toml", None).unwrap();
    let limiter = Arc::new(config.limiter().build().unwrap());
    let error = Watcher::start(config, &limiter, WatchOptions::default(), |_| ()).unwrap_err();
    let expected =
        "a.toml: a text cannot be watched; expected a configuration that was loaded from a file";
    assert_eq!(error.to_string(), expected);
}

//! The list of the keys denied most, against exact counts.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use brimful::{AsKey, IpPrefix, Key};
use brimful_observe::{Event, Observer, Outcome, Redact, Top, TopKeys};
use common::Numbers;

fn deny(top: &TopKeys, key: impl AsKey) {
    key.with_key(|key| top.observe(&Event::new("api", "default", Outcome::Denied).key(key)));
}

/// Streams of keys, from one key that leads by far to all alike, and one that only brings new keys.
fn streams() -> Vec<Vec<u64>> {
    let mut streams: Vec<Vec<u64>> = Vec::new();
    for seed in 0..12_u64 {
        let mut numbers = Numbers(seed);
        let keys = [10, 100, 3_000, 100_000][usize::try_from(seed % 4).unwrap()];
        let skewed = seed < 8;
        let key = |_| match skewed {
            true => keys / (1 + numbers.below(keys)),
            false => numbers.below(keys),
        };
        streams.push((0..8_000).map(key).collect());
    }
    streams.push((0..8_000).collect());
    // A key that comes back each time its place has just been given away.
    streams.push((0..8_000).map(|step| if step % 7 == 0 { u64::MAX } else { step }).collect());
    streams
}

/// Calls with each stream, the exact counts, and the list of `k`.
fn each_list(mut check: impl FnMut(usize, &BTreeMap<String, u64>, &Top)) {
    for stream in streams() {
        for k in [1, 2, 7, 64, 1_000] {
            let top = TopKeys::new(k, Redact::Plain).unwrap();
            let mut exact = BTreeMap::new();
            for key in &stream {
                deny(&top, *key);
                *exact.entry(key.to_string()).or_insert(0) += 1;
            }
            check(k, &exact, &top.list());
        }
    }
}

#[test]
fn counts_are_within_their_bounds() {
    each_list(|k, exact, top| {
        assert_eq!(top.keys.len(), k.min(exact.len()));
        assert_eq!(top.total, exact.values().sum::<u64>());
        for key in &top.keys {
            let real = exact[&key.key];
            assert!(real <= key.count && key.count <= real + key.error, "{key:?} of {real}");
            assert!(key.error <= top.total / k as u64, "{key:?} of {}", top.total);
        }
        // Who came into the list went on from the least.
        let least = top.keys.iter().map(|key| key.count).min();
        assert!(top.keys.iter().all(|key| Some(key.error) <= least), "{top:?}");
        // All that was counted stands somewhere.
        assert_eq!(top.keys.iter().map(|key| key.count).sum::<u64>(), top.total);
        assert!(top.keys.is_sorted_by(|a, b| a.count >= b.count));
        if exact.len() <= k {
            assert!(top.keys.iter().all(|key| key.error == 0 && key.count == exact[&key.key]));
        }
    });
}

#[test]
fn who_is_denied_often_is_in_the_list() {
    let mut often = 0;
    each_list(|k, exact, top| {
        for (key, real) in exact {
            if *real > top.total / k as u64 {
                often += 1;
                assert!(top.keys.iter().any(|one| one.key == *key), "{key} came {real} times");
            }
        }
    });
    assert!(often > 300, "{often} keys were often denied");
}

#[test]
fn the_least_gives_its_place() {
    let top = TopKeys::new(3, Redact::Plain).unwrap();
    for key in ["a", "a", "a", "b", "b", "c", "d"] {
        deny(&top, key);
    }
    let list: Vec<_> =
        top.list().keys.into_iter().map(|one| (one.key, one.count, one.error)).collect();
    assert_eq!(list, [("a".into(), 3, 0), ("b".into(), 2, 0), ("d".into(), 2, 1)]);
}

#[test]
fn only_denials_with_a_key_count() {
    let top = TopKeys::new(5, Redact::Plain).unwrap();
    for outcome in Outcome::ALL {
        top.observe(&Event::new("api", "default", outcome).key(Key::Text(outcome.name())));
        top.observe(&Event::new("api", "default", outcome));
    }
    assert_eq!(top.take().total, 6);
    assert_eq!(top.take(), Top::default());
}

#[test]
fn what_was_taken_is_gone() {
    let top = TopKeys::new(2, Redact::Plain).unwrap();
    for key in [1, 2, 3, 3_u64] {
        deny(&top, key);
    }
    assert_eq!(top.take().total, 4);
    deny(&top, 3_u64);
    let list = top.take();
    assert_eq!((list.total, &*list.keys[0].key, list.keys[0].count), (1, "3", 1));
    assert_eq!(list.keys.len(), 1);
    deny(&top, 9_u64);
    top.reset();
    assert_eq!(top.list(), Top::default());
}

#[test]
fn the_number_of_entries_is_checked() {
    for k in [0, 10_001, usize::MAX] {
        let fault = TopKeys::new(k, Redact::Hash).unwrap_err();
        assert!(fault.is_range());
        assert_eq!(fault.to_string(), format!("k is {k}; expected 1 to 10,000"));
    }
    for k in [1, 10_000] {
        assert!(TopKeys::new(k, Redact::Hash).is_ok());
    }
}

#[test]
fn a_hash_shows_nothing_and_can_be_found() {
    let top = TopKeys::new(10, Redact::Hash).unwrap();
    let other = TopKeys::new(10, Redact::Hash).unwrap();
    deny(&top, "ann@example.com");
    let shown = top.list().keys[0].key.clone();
    assert_eq!(shown.len(), 16);
    assert!(shown.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(top.shown("ann@example.com"), shown);
    assert_ne!(top.shown("bob@example.com"), shown);
    assert_ne!(other.shown("ann@example.com"), shown, "each has a secret of its own");
    // Kinds are kept apart.
    assert_ne!(top.shown("1"), top.shown(1_u8));
    assert_ne!(top.shown(("ab", "c")), top.shown(("a", "bc")));
    assert!(!format!("{top:?}").contains("ann"));
}

#[test]
fn a_plain_key_is_shown_as_it_is() {
    let top = TopKeys::new(1, Redact::Plain).unwrap();
    let v4: IpAddr = "192.0.2.7".parse().unwrap();
    let v6: IpAddr = "2001:db8:1:2::3".parse().unwrap();
    assert_eq!(top.shown("ann's \"ü\""), "ann's \"ü\"");
    assert_eq!(top.shown(u128::MAX), u128::MAX.to_string());
    assert_eq!(top.shown(i128::MIN), i128::MIN.to_string());
    assert_eq!(top.shown(v4), "192.0.2.7");
    assert_eq!(top.shown(v6), "2001:db8:1:2::3");
    assert_eq!(top.shown(IpPrefix::new(v6, 64).unwrap()), "2001:db8:1:2::/64");
    assert_eq!(top.shown(()), "()");
    assert_eq!(top.shown(("tenant", 42_u64, (v4, b"a\xff"))), r"(tenant, 42, (192.0.2.7, a\xff))");
}

#[test]
fn what_is_shown_is_one_line_of_bounded_length() {
    let top = TopKeys::new(1, Redact::Plain).unwrap();
    assert_eq!(top.shown("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
    assert_eq!(top.shown("x".repeat(64)), "x".repeat(64));
    assert_eq!(top.shown("x".repeat(65)), "x".repeat(64) + "…");
    // No half of a character.
    assert_eq!(top.shown("x".repeat(63) + "ü"), "x".repeat(63) + "…");
    assert_eq!(top.shown(vec![0_u8; 1_000_000]).len(), 64 + "…".len());
    // Keys that are shown alike because they are long are not one.
    deny(&top, "x".repeat(70) + "a");
    assert_eq!(top.list().keys[0].error, 0);
    deny(&top, "x".repeat(70) + "b");
    assert_eq!(top.list().keys[0].error, 1);
}

#[test]
fn a_part_is_a_network_or_some_characters() {
    let top = TopKeys::new(10, Redact::Truncate { chars: 3 }).unwrap();
    let v4: IpAddr = "192.0.2.7".parse().unwrap();
    let v6: IpAddr = "2001:db8:1:2::3".parse().unwrap();
    assert_eq!(top.shown(v4), "192.0.2.0/24");
    assert_eq!(top.shown(v6), "2001:db8:1::/48");
    assert_eq!(top.shown("192.0.2.7"), "192.0.2.0/24");
    assert_eq!(top.shown("::ffff:192.0.2.7"), "192.0.2.0/24");
    assert_eq!(top.shown(IpPrefix::new(v4, 8).unwrap()), "192.0.0.0/8");
    assert_eq!(top.shown(IpAddr::V6(Ipv6Addr::UNSPECIFIED)), "::/48");
    assert_eq!(top.shown("über"), "übe…");
    assert_eq!(top.shown("ann"), "ann");
    assert_eq!(top.shown(b"\0abc"), r"\x00ab…");
    let number = top.shown(4_711_u64);
    assert_eq!((number.len(), number.contains("4711")), (17, false));
    assert_eq!(top.shown(("tenant", v4)), "(ten…, 192.0.2.0/24)");

    // Those that are shown alike are one.
    for last in 0..=255_u8 {
        deny(&top, IpAddr::from([192, 0, 2, last]));
    }
    deny(&top, "anna");
    deny(&top, "annabel");
    let list: Vec<_> = top.take().keys.into_iter().map(|one| (one.key, one.count)).collect();
    assert_eq!(list, [("192.0.2.0/24".into(), 256), ("ann…".into(), 2)]);
}

/// Several threads, and keys that leave and come back: no count is lost.
#[test]
fn threads_lose_no_denial() {
    let top = TopKeys::new(8, Redact::Hash).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let top = &top;
            scope.spawn(move || {
                for step in 0..5_000_u64 {
                    deny(top, if step % 2 == 0 { 0 } else { thread * 10_000 + step });
                }
            });
        }
    });
    let list = top.take();
    assert_eq!(list.total, 20_000);
    assert_eq!(list.keys[0].key, top.shown(0_u64));
    let counts: HashMap<_, _> = list.keys.iter().map(|one| (&one.key, one.count)).collect();
    assert_eq!(counts.values().sum::<u64>(), 20_000);
    assert!(list.keys[0].count >= 10_000 && list.keys[0].count - list.keys[0].error <= 10_000);
}

//! Keys that look alike and are not, and those that look different and are one.

use std::collections::HashMap;
use std::net::IpAddr;

use brimful::{AsKey, IpPrefix, Limiter};
use proptest::prelude::*;

use crate::{START, config, limit};

fn one_each() -> Limiter {
    Limiter::builder(limit("1/h")).max_keys(1_000).build().expect("a small limiter")
}

/// How many of these keys have a budget of their own.
fn budgets<K: AsKey>(keys: &[K]) -> usize {
    let limiter = one_each();
    keys.iter().filter(|key| limiter.try_acquire_at(key, 1, START).is_allowed()).count()
}

proptest! {
    #![proptest_config(config())]

    /// However a text is cut into parts, each cutting is a key of its own, also when the text has
    /// the bytes by which an encoding might tell parts apart.
    #[test]
    fn parts_are_kept_apart(
        text in "[a:|\\x00-\\x06]{1,12}",
        (i, j, k, l) in (0..13_usize, 0..13_usize, 0..13_usize, 0..13_usize),
    ) {
        let cut = |a: usize, b: usize| {
            let (a, b) = (a.min(text.len()), b.min(text.len()));
            let (a, b) = (a.min(b), a.max(b));
            (&text[..a], &text[a..b], &text[b..])
        };
        let (first, second) = (cut(i, j), cut(k, l));
        let limiter = one_each();
        prop_assert!(limiter.try_acquire_at(first, 1, START).is_allowed());
        let allowed = limiter.try_acquire_at(second, 1, START).is_allowed();
        prop_assert_eq!(allowed, first != second, "{:?} and {:?}", first, second);
    }
}

#[test]
fn composite_keys_do_not_collide() {
    assert_eq!(budgets(&[("ab", "c"), ("a", "bc")]), 2, "case 208");
    assert_eq!(budgets(&[("x:y", "z"), ("x", "y:z")]), 2, "case 208");
    assert_eq!(budgets(&["x:y:z"]), 1, "case 208");
    let name = "n".repeat(60);
    let addresses = ["192.0.2.1", "192.0.2.2"].map(|ip| format!("{name}|{ip}"));
    assert_eq!(budgets(&addresses), 2, "case 209: nothing is cut");
    // Of any length, differing in the first, a middle and the last byte.
    for length in [64, 65, 255, 256, 4_096, 100_000] {
        let mut keys = vec![vec![b'k'; length]; 4];
        (keys[1][0], keys[2][length / 2], keys[3][length - 1]) = (b'K', b'K', b'K');
        assert_eq!(budgets(&keys), 4, "case 209: {length} bytes");
        keys.push(keys[0].clone());
        assert_eq!(budgets(&keys), 4, "case 209: {length} bytes");
    }
}

/// Spellings of addresses, and the network that stands for the client of each: decided on bits.
#[test]
fn addresses_are_told_apart_by_their_bits() {
    let rows = [
        (197, "::ffff:1.2.3.4", "1.2.3.4/32"),
        (197, "::ffff:102:304", "1.2.3.4/32"),
        (197, "1.2.3.4", "1.2.3.4/32"),
        (197, "2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::/64"),
        (197, "2001:db8:1234:5678::102:304", "2001:db8:1234:5678::/64"),
        (198, "::ffff:192.0.2.1", "192.0.2.1/32"),
        (198, "::ffff:192.0.2.2", "192.0.2.2/32"),
        (199, "2001:db8:1:2::1", "2001:db8:1:2::/64"),
        (199, "2001:db8:1:2:0:0:1:0", "2001:db8:1:2::/64"),
    ];
    let limiter = one_each();
    let mut seen: HashMap<&str, u32> = HashMap::new();
    for (case, spelled, client) in rows {
        let address: IpAddr = spelled.parse().expect("an address");
        let key = IpPrefix::client(address);
        assert_eq!(key.to_string(), client, "case {case}: {spelled}");
        let is_new = seen.insert(client, case).is_none();
        let allowed = limiter.try_acquire_at(key, 1, START).is_allowed();
        assert_eq!(allowed, is_new, "case {case}: {spelled}");
    }
}

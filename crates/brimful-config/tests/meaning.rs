//! Rules of a file decide as the same rules built by hand.

use std::net::Ipv4Addr;
use std::path::Path;

use brimful::{AsKey, IpPrefix, Key, Limit, Limiter, Nanos, Overflow, Policy, Rules};
use brimful_config::{Config, Syntax};

fn load(name: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good").join(name);
    Config::load(path).unwrap_or_else(|error| panic!("{error:#}"))
}

fn limit(text: &str) -> Limit {
    text.parse().unwrap()
}

fn limits(texts: &[&str], name: &str) -> Policy {
    Policy::new(texts.iter().map(|text| limit(text))).unwrap().named(name).unwrap()
}

/// The rules of `full.toml`.
fn by_hand() -> Rules {
    let gold = limits(&["10/s", "burst: 1000/h"], "gold");
    let trial = limits(&["50/min"], "trial").shadow();
    let network = IpPrefix::new(Ipv4Addr::new(192, 0, 2, 0).into(), 24).unwrap();
    let members = IpPrefix::new("2001:db8::".parse().unwrap(), 32).unwrap();
    // Full case folding makes `ss` of `ß`.
    let tenant = [
        Key::Text("tenant"),
        Key::Unsigned(42),
        Key::Text("grösse"),
        Key::Ip(IpPrefix::host(Ipv4Addr::new(192, 0, 2, 1).into())),
    ];
    Rules::builder()
        .default(limits(&["100/min burst 20"], "default"))
        .tier("gold", gold.clone())
        .member("user:1", "gold")
        .member("user:2", "gold")
        .member("user:3", "gold")
        .member("user:4", "gold")
        .member(7_u8, "gold")
        .member(("a", 1_u8), "gold")
        .member(members, "gold")
        .tier("silver", limits(&["10/s sliding-window"], "tier silver"))
        .tier("silver", trial)
        .tier("a b", Policy::unlimited().named("vip").unwrap())
        .exact("partner", limits(&["1000/min"], "exact 1000/min"))
        .exact(
            42_u8,
            limits(
                &["small: 10/s fixed-window", "large: 50/min fixed-window"],
                "exact small, large",
            ),
        )
        .exact(-42_i8, Policy::unlimited().named("unlimited").unwrap())
        .exact(Key::Parts(&tenant), limits(&["5 per 30s"], "exact 5 per 30s"))
        .exact(network, Policy::blocked().named("blocked").unwrap())
        .exact("banned", Policy::blocked().named("blocked").unwrap())
        .exact("banned", limits(&["1/day"], "exact 1/day on trial").shadow())
        .pattern("tenant:*:search", gold.shadow())
        .pattern(r"tenant:a\*b*:**", limits(&["2/s sliding-log"], r"pattern tenant.a_*b*.**"))
        .pattern("tenant:*:search", limits(&["10/s burst 30"], "pattern tenant.*.search"))
        .build()
        .unwrap()
}

struct Asked<'a> {
    limiters: [&'a Limiter; 2],
    rules: [&'a Rules; 2],
    tiers: [Option<&'a str>; 5],
}

impl Asked<'_> {
    /// A key is given the same policies by both, and the same decisions over a while.
    fn same(&self, key: impl AsKey + Copy, costs: &mut u64) {
        for tier in self.tiers {
            let [file, hand] = self.rules;
            assert_eq!(file.policy_for(key, tier), hand.policy_for(key, tier));
            assert_eq!(file.shadow_for(key, tier), hand.shadow_for(key, tier));
            for step in 0..40_u64 {
                *costs = costs
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let cost = *costs >> 61;
                let now = Nanos::from_nanos(1_000_000_000_000 + step * 70_000_000);
                let [file, hand] = self.limiters.map(|limiter| match tier {
                    Some(tier) => limiter.tier(tier).try_acquire_at(key, cost, now),
                    None => limiter.try_acquire_at(key, cost, now),
                });
                assert_eq!(file.is_allowed(), hand.is_allowed());
                assert_eq!(file.remaining(), hand.remaining());
                assert_eq!(file.retry(), hand.retry());
                assert_eq!(file.would_deny(), hand.would_deny());
            }
        }
    }
}

#[test]
fn rules_of_a_file_decide_as_rules_built_by_hand() {
    for name in ["full.toml", "full.yaml"] {
        let config = load(name);
        let hand = by_hand();
        let of_file = config.limiter().max_keys(1000).build().unwrap();
        let of_hand = Limiter::builder(hand.clone()).max_keys(1000).max_limits(4).build().unwrap();
        let asked = Asked {
            limiters: [&of_file, &of_hand],
            rules: [config.rules(), &hand],
            tiers: [None, Some("gold"), Some("silver"), Some("a b"), Some("nobody")],
        };
        let mut costs = 1;
        let texts = [
            "partner",
            "banned",
            "user:1",
            "user:3",
            "user:4",
            "user:9",
            "tenant:1:search",
            "tenant:a*bc",
            "tenant:a*b:x:y",
            "tenant:ab",
            "other",
            "7",
            "42",
            "",
        ];
        for text in texts {
            asked.same(text, &mut costs);
        }
        asked.same(7_u8, &mut costs);
        asked.same(42_u8, &mut costs);
        asked.same(-42_i8, &mut costs);
        asked.same(("a", 1_u8), &mut costs);
        asked.same(("tenant", 5_u8, "search"), &mut costs);
        asked.same(("tenant", 42_u8, "grösse", Ipv4Addr::new(192, 0, 2, 1)), &mut costs);
        asked.same(IpPrefix::new(Ipv4Addr::new(192, 0, 2, 0).into(), 24).unwrap(), &mut costs);
        asked.same(Ipv4Addr::new(192, 0, 2, 0), &mut costs);
        asked.same(IpPrefix::new("2001:db8::".parse().unwrap(), 32).unwrap(), &mut costs);
    }
}

#[test]
fn settings_of_the_store_are_those_of_the_limiter() {
    let text = "default.limit = '10/s'\n[store]\nmax_keys = 321\noverflow = 'refuse'\nmax_log_entries = 77\n\
                max_limits = 5\nmax_given = 3\n";
    let config = Config::parse(text, Syntax::Toml, "", None).unwrap();
    let by_hand = Limiter::builder(config.rules().clone())
        .max_keys(321)
        .overflow(Overflow::Refuse)
        .max_log_entries(77)
        .max_limits(5)
        .max_given(3);
    // The rules print how many there are; all else is printed whole.
    assert_eq!(format!("{:?}", config.limiter()), format!("{by_hand:?}"));
    let config = Config::parse("default.limit = '10/s'", Syntax::Toml, "", None).unwrap();
    let plain = Limiter::builder(config.rules().clone());
    assert_eq!(format!("{:?}", config.limiter()), format!("{plain:?}"));
    assert_eq!(config.max_cost(), 1);
}

/// What a limiter refuses of its settings is refused when the file is read, and no more.
#[test]
fn the_ranges_of_settings_are_those_of_the_limiter() {
    let config = Config::parse("default.limit = '10/s'", Syntax::Toml, "", None).unwrap();
    let builder = || Limiter::builder(config.rules().clone()).max_keys(1);
    let refused = builder().max_keys((1 << 32) + 1).build().unwrap_err();
    assert_eq!(refused.to_string(), "max_keys is 4294967297, expected 1 to 4294967296");
    let refused = builder().max_log_entries((1 << 32) - 9).build().unwrap_err();
    assert_eq!(refused.to_string(), "max_log_entries is 4294967287, expected 1 to 4294967286");
    let edges = [
        ("max_keys", 0, 1, 1 << 32, (1_u64 << 32) + 1),
        ("max_log_entries", 0, 1, (1 << 32) - 10, (1 << 32) - 9),
        ("max_limits", 0, 1, 8, 9),
        ("max_given", u64::MAX, 0, 65_535, 65_536),
    ];
    for (name, below, least, most, above) in edges {
        for (value, fits) in [(below, false), (least, true), (most, true), (above, false)] {
            let text = format!("store.{name} = {value}\ndefault.limit = '10/s'\n");
            let read = Config::parse(&text, Syntax::Toml, "", None);
            assert_eq!(read.is_ok(), fits, "{text}");
        }
    }
}

/// Limits that a lint calls implied change no decision (the reasons stand in the source).
#[test]
fn a_limit_that_is_implied_changes_nothing() {
    let pairs = [
        ("10/s burst 7", "13/s burst 9"),
        ("600/min burst 10", "10/s burst 10"),
        ("6/s fixed-window", "9/s fixed-window"),
        ("6/s sliding-window", "9/s sliding-window"),
        ("20/min sliding-log", "20/s sliding-log"),
        ("6/s sliding-log", "7/s sliding-log"),
    ];
    let mut random = 7_u64;
    let mut next = |end: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % end
    };
    for (limit, implied) in pairs {
        let text = format!("default.limits = ['{limit}', 'other: {implied}']");
        let config = Config::parse(&text, Syntax::Toml, "", None).unwrap();
        let kinds: Vec<_> = config.lints().iter().map(|lint| lint.kind().name()).collect();
        assert_eq!(kinds, ["implied-limit"], "{text}");
        let both = config.limiter().max_keys(4).build().unwrap();
        let alone = Config::parse(&format!("default.limit = '{limit}'"), Syntax::Toml, "", None);
        let alone = alone.unwrap().limiter().max_keys(4).build().unwrap();
        let mut now = 1_000_000_000_000_u64;
        let mut denied = 0;
        for _ in 0..20_000 {
            // Backwards now and then, and far enough for a stepped clock.
            now = match next(200) {
                0 => now - next(100_000_000_000).min(now / 2),
                1 => now + next(100_000_000_000),
                _ => now + next(150_000_000),
            };
            let (cost, at) = (next(4), Nanos::from_nanos(now));
            if next(10) == 0 {
                assert_eq!(both.refund_at("k", cost, at), alone.refund_at("k", cost, at), "{text}");
                continue;
            }
            let [both, alone] =
                [&both, &alone].map(|limiter| limiter.try_acquire_at("k", cost, at));
            assert_eq!(both.is_allowed(), alone.is_allowed(), "{text} at {now}");
            denied += u32::from(!both.is_allowed());
        }
        assert!(denied > 100, "{text}: {denied}");
    }
}

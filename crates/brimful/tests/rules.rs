//! The chain: exact, tier, pattern, default.

use std::time::Duration;

use brimful::{AsKey, IpPrefix, Key, Limit, Limiter, Nanos, Overflow, Policy, Rules, RulesBuilder};
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1_000_000);

/// A policy that says which it is: `n` tokens.
fn policy(n: u64) -> Policy {
    Policy::from(Limit::per_minute(n).unwrap())
}

fn number(policy: &Policy) -> u64 {
    policy.limits()[0].tokens()
}

/// One rule of each kind and more, by the number of its policy.
fn rules() -> Rules {
    Rules::builder()
        .pattern("tenant:*:search", policy(40))
        .pattern("tenant:acme*:**", policy(41))
        .pattern("tenant:**", policy(42))
        .pattern("*:health", policy(43))
        .pattern(r"a\:b:\*", policy(44))
        .pattern("ip:192.0.2.*", policy(45))
        .tier("gold", policy(30))
        .tier("silver", policy(31))
        .exact("tenant:7:search", policy(20))
        .exact(("tenant", 7, "search"), policy(21))
        .exact(8_u64, policy(22))
        .default(policy(1))
        .build()
        .unwrap()
}

/// Asks the rules, and a limiter built from them.
fn resolve(rules: &Rules, limiter: &Limiter, key: impl AsKey, tier: Option<&str>) -> u64 {
    let found = number(rules.policy_for(&key, tier));
    let peeked = match tier {
        None => limiter.peek_at(&key, 0, NOW),
        Some(name) => limiter.tier(name).peek_at(&key, 0, NOW),
    };
    assert_eq!(number(&limiter.policy_of(&peeked).unwrap()), found);
    assert_eq!(peeked.remaining(), found);
    found
}

#[test]
fn the_most_specific_rule_wins() {
    let rules = rules();
    let limiter = Limiter::new(rules.clone()).unwrap();
    let table: [(&str, Option<&str>, u64); 23] = [
        ("x", None, 1),
        ("", None, 1),
        ("x", Some("gold"), 30),
        ("x", Some("silver"), 31),
        // A tier that is not there falls through to the patterns, then to the default.
        ("x", Some("bronze"), 1),
        ("tenant:9:search", Some("bronze"), 40),
        ("tenant:9:search", Some(""), 40),
        ("tenant:9:search", Some("Gold"), 40),
        // The exact override wins over the tier, the tier over patterns.
        ("tenant:7:search", None, 20),
        ("tenant:7:search", Some("gold"), 20),
        ("tenant:9:search", Some("gold"), 30),
        // Patterns.
        ("tenant:9:search", None, 40),
        ("tenant:9:find", None, 42),
        ("tenant:9:search:more", None, 42),
        ("tenant", None, 42),
        ("tenant:", None, 42),
        ("tenants:9", None, 1),
        // The further left segment weighs more.
        ("tenant:acme:search", None, 41),
        ("tenant:acme", None, 41),
        ("tenant:acm:search", None, 40),
        ("tenant:health", None, 42),
        (":health", None, 43),
        ("8", None, 1),
    ];
    for (key, tier, expected) in table {
        assert_eq!(resolve(&rules, &limiter, key, tier), expected, "{key:?} {tier:?}");
        // The same bytes are cut into the same segments, but are another key.
        let exact = expected == 20;
        let of_bytes = resolve(&rules, &limiter, key.as_bytes(), tier);
        let expected = match tier {
            _ if !exact => expected,
            Some(_) => 30,
            None => 40,
        };
        assert_eq!(of_bytes, expected, "{key:?} {tier:?} as bytes");
    }
}

#[test]
fn each_part_of_a_structured_key_is_a_segment() {
    let rules = rules();
    let limiter = Limiter::new(rules.clone()).unwrap();
    let of = |key: Key<'_>| resolve(&rules, &limiter, key, None);
    let text = Key::Text;
    assert_eq!(resolve(&rules, &limiter, ("tenant", 9, "search"), None), 40);
    assert_eq!(resolve(&rules, &limiter, ("tenant", -9, "search"), None), 40);
    assert_eq!(resolve(&rules, &limiter, ("tenant", 7, "search"), None), 21);
    assert_eq!(resolve(&rules, &limiter, ("tenant", "7", "search"), None), 40);
    assert_eq!(resolve(&rules, &limiter, 8, None), 22);
    // A part is not cut.
    assert_eq!(of(Key::Parts(&[text("tenant"), text("9:find"), text("search")])), 40);
    assert_eq!(of(Key::Parts(&[text("a:b"), text("*")])), 44);
    assert_eq!(of(Key::Parts(&[text("a:b"), text("x")])), 1);
    assert_eq!(of(text("a:b:*")), 1);
    // Lists in lists are walked through.
    let inner = [Key::Unsigned(9), Key::Bytes(b"search")];
    assert_eq!(of(Key::Parts(&[text("tenant"), Key::Parts(&inner)])), 40);
    assert_eq!(of(Key::Parts(&[])), 1);
    // Addresses are as they are printed, hosts without a length.
    let ip = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    assert_eq!(resolve(&rules, &limiter, ("ip", ip("192.0.2.9")), None), 45);
    assert_eq!(resolve(&rules, &limiter, ("ip", ip("192.0.3.9")), None), 1);
    let exactly = |pattern: &str| {
        Rules::builder().default(policy(1)).pattern(pattern, policy(2)).build().unwrap()
    };
    let found = |pattern: &str, key: &dyn Fn(&Rules) -> u64| key(&exactly(pattern));
    let (host, net) = (ip("2001:db8::1"), IpPrefix::client(ip("2001:db8::1")));
    assert_eq!(found(r"2001\:db8\:\:1", &|rules| number(rules.policy_for(host, None))), 2);
    assert_eq!(found(r"2001\:db8\:\:/64", &|rules| number(rules.policy_for(net, None))), 2);
    let (host, net) = (ip("192.0.2.9"), IpPrefix::new(ip("192.0.2.9"), 24).unwrap());
    assert_eq!(found("192.0.2.9", &|rules| number(rules.policy_for(host, None))), 2);
    assert_eq!(found("192.0.2.0/24", &|rules| number(rules.policy_for(net, None))), 2);
    let longest = (i128::MIN, u128::MAX);
    let pattern = format!("{}:{}", i128::MIN, u128::MAX);
    assert_eq!(found(&pattern, &|rules| number(rules.policy_for(longest, None))), 2);
    let wide = IpPrefix::new(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"), 127).unwrap();
    let pattern = wide.to_string().replace(':', r"\:");
    assert_eq!(found(&pattern, &|rules| number(rules.policy_for(wide, None))), 2);
}

#[test]
fn keys_of_any_length_are_matched() {
    let deepest = vec!["s"; 32].join(":");
    let rules = Rules::builder()
        .default(policy(1))
        .pattern(&deepest, policy(2))
        .pattern(&format!("{deepest}:**"), policy(3))
        .pattern(&"*:".repeat(31), policy(4))
        .build()
        .unwrap();
    for (segments, expected) in [(31, 1), (32, 2), (33, 3), (34, 3), (100_000, 3)] {
        let key = vec!["s"; segments].join(":");
        assert_eq!(number(rules.policy_for(&key, None)), expected, "{segments}");
    }
    // The last of its 32 segments is the empty one.
    assert_eq!(number(rules.policy_for("x:".repeat(31), None)), 4);
    assert_eq!(number(rules.policy_for("x:".repeat(32), None)), 1);
}

/// What can be said twice, or cannot be read, is refused whole, by name.
#[test]
fn faults_are_named() {
    let begin = || Rules::builder().default(policy(1));
    let named = || policy(2).named("two").unwrap();
    let cases: [(RulesBuilder, &str); 17] = [
        (Rules::builder(), "there is no default policy; name one with `default`"),
        (
            begin().default(policy(2)),
            "there are two default policies: with `1/min` and with `2/min`; keep one",
        ),
        (
            begin().exact(("a:b", "c"), policy(2)).exact(("a:b", "c"), named()),
            r"the key `a\:b:c` has two exact overrides: with `2/min` and with `2/min` (named two); give",
        ),
        (
            begin().exact("k".repeat(5_000), policy(2)).exact("k".repeat(5_000), policy(2)),
            "kkkkk…` has two exact overrides",
        ),
        (
            begin().exact("tab\there", policy(2)).exact("tab\there", policy(2)),
            "the key `tab\u{fffd}here` has two",
        ),
        (
            begin().pattern(r"*a\**", policy(2)),
            r"pattern `*a\**`: `*` stands before the end of a segment",
        ),
        (
            begin().exact(("tenant", 42), policy(2)).exact(("tenant", 42), Policy::blocked()),
            "the key `tenant:42` has two exact overrides: with `2/min` and with `blocked`; give",
        ),
        (
            begin().tier("gold", policy(2)).tier("gold", Policy::unlimited()),
            "the tier `gold` is given twice: with `2/min` and with `unlimited`; keep one",
        ),
        (
            begin().pattern("a:b*", policy(2)).pattern("a:b*", policy(3)),
            "the pattern `a:b*` is given twice: with `2/min` and with `3/min`; keep one",
        ),
        (begin().tier("go:ld", policy(2)), "tier is \"go:ld\", expected 1 to 64 printable ASCII"),
        (begin().tier("", policy(2)), "tier is \"\", expected 1 to 64 printable ASCII"),
        (
            begin().pattern("", policy(2)),
            "pattern ``: it is empty; for every key write `**`; the empty key can have an exact",
        ),
        (begin().pattern("a:**:b", policy(2)), "pattern `a:**:b`: something follows `**`"),
        (
            begin().pattern("a*b:c", policy(2)),
            "pattern `a*b:c`: `*` stands before the end of a segment; `*` ends a segment",
        ),
        (begin().pattern("a:b**", policy(2)), "pattern `a:b**`: `**` is a part of a segment"),
        (
            begin().pattern(r"a\b", policy(2)),
            r"pattern `a\b`: `\` stands before neither `*`, `:` nor `\`; write `\\`",
        ),
        (
            begin().pattern(&vec!["s"; 33].join(":"), policy(2)),
            "it has 33 segments; expected at most 32",
        ),
    ];
    for (builder, expected) in cases {
        let fault = builder.build().unwrap_err();
        assert!(fault.to_string().contains(expected), "{fault}\n{expected}");
    }
    let fault = begin().pattern("tenant:a*b:c", policy(2)).build().unwrap_err();
    assert!(fault.is_syntax());
    assert_eq!(
        format!("{fault:#}"),
        "`*` stands before the end of a segment\n  tenant:a*b:c\n          ^\n  `*` ends a segment; for \
         the character itself write `\\*`; for example `tenant:*:search`, `tenant:acme*:**`"
    );
    // The first of several faults is the one that is told.
    let two = begin().pattern("**:x", policy(2)).tier("", policy(2)).build().unwrap_err();
    assert!(two.to_string().starts_with("pattern"), "{two}");
}

/// The same rule twice is a fault even when both say the same, because one of them is a mistake.
#[test]
fn the_same_rule_twice_is_a_fault() {
    let begin = || Rules::builder().default(policy(1));
    assert!(begin().exact("k", policy(2)).exact("k", policy(2)).build().unwrap_err().is_conflict());
    assert!(begin().default(policy(1)).build().unwrap_err().is_conflict());
    // The text and the number are two keys.
    assert!(begin().exact("8", policy(2)).exact(8, policy(3)).build().is_ok());
}

/// The hot path asks no rules: a key is resolved when it has no state.
#[test]
fn a_key_is_resolved_once() {
    let limiter = Limiter::new(rules()).unwrap();
    let resolved = || limiter.stats().resolved;
    for call in 0..100 {
        let now = NOW + Duration::from_secs(call * 60);
        assert!(limiter.try_acquire_at("tenant:9:search", 1, now).is_allowed());
        assert!(limiter.peek_at("tenant:9:search", 1, now).is_allowed());
    }
    assert_eq!(resolved(), 1);
    for key in 0..1000_u64 {
        for _ in 0..2 {
            let _ = limiter.try_acquire_at(("k", key), 1, NOW);
        }
    }
    assert_eq!(resolved(), 1001);
    // Denied, and still the same state.
    assert!(limiter.try_acquire_at(("k", 0_u64), 1, NOW).is_denied());
    assert_eq!(resolved(), 1001);
    // Another tier, another resolution, and back.
    let gold = limiter.tier("gold");
    let now = NOW + Duration::from_secs(6_000);
    for _ in 0..10 {
        assert!(gold.try_acquire_at("tenant:9:search", 1, now).is_allowed());
    }
    assert_eq!(resolved(), 1002);
    assert!(limiter.try_acquire_at("tenant:9:search", 1, now).is_allowed());
    assert_eq!(resolved(), 1003);
    // An exact override is the same for every tier.
    for tier in ["gold", "silver", "bronze", "gold"] {
        assert!(limiter.tier(tier).try_acquire_at("tenant:7:search", 1, NOW).is_allowed());
    }
    assert!(limiter.try_acquire_at("tenant:7:search", 1, NOW).is_allowed());
    assert_eq!(resolved(), 1004);
    assert_eq!(limiter.stats().unknown_tier, 1);
}

#[test]
fn unknown_tiers_are_counted_by_request() {
    let limiter = Limiter::new(rules()).unwrap();
    let bronze = limiter.tier("bronze");
    assert!(!bronze.is_known() && limiter.tier("gold").is_known());
    for _ in 0..5 {
        let _ = bronze.try_acquire_at("x", 1, NOW);
    }
    let _ = bronze.peek_at("x", 1, NOW);
    let _ = limiter.tier("gold").try_acquire_at("y", 1, NOW);
    assert_eq!(limiter.stats().unknown_tier, 5);
    assert_eq!(limiter.stats().denied_by_policy, [("default".to_owned(), 4)]);
}

/// A rule of a chain that is to be built in any order.
#[derive(Clone, Debug)]
enum Rule {
    Exact(&'static str),
    Tier(&'static str),
    Pattern(&'static str),
    Default,
}

fn add(builder: RulesBuilder, rule: &Rule, policy: Policy) -> RulesBuilder {
    match rule {
        Rule::Exact(key) => builder.exact(*key, policy),
        Rule::Tier(name) => builder.tier(name, policy),
        Rule::Pattern(pattern) => builder.pattern(pattern, policy),
        Rule::Default => builder.default(policy),
    }
}

const KEYS: [&str; 12] =
    ["", "a", "b", "a:a", "a:b", "b:a", "ab", "ab:a", "a:b:a", "b:b:b", "a:b:a:b", "c:"];
const TIERS: [&str; 2] = ["gold", "silver"];
const PATTERNS: [&str; 12] =
    ["**", "*", "a", "a*", "a:*", "a:**", "*:b", "*:a*", "ab*:*", "a:b:*", "*:*:**", "*:b:**"];

fn chain() -> impl Strategy<Value = Vec<(Rule, u64)>> {
    let all = KEYS
        .map(Rule::Exact)
        .into_iter()
        .chain(TIERS.map(Rule::Tier))
        .chain(PATTERNS.map(Rule::Pattern));
    let numbered: Vec<(Rule, u64)> = all.zip(2..).collect();
    proptest::sample::subsequence(numbered, 0..=26).prop_map(|mut rules| {
        rules.push((Rule::Default, 1));
        rules
    })
}

proptest! {
    /// Whatever the order of the calls, every key of every tier gets the same.
    #[test]
    fn the_order_of_rules_means_nothing(
        (rules, shuffled) in chain().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
    ) {
        let build = |rules: &[(Rule, u64)]| {
            let add = |builder, (rule, n): &(Rule, u64)| add(builder, rule, policy(*n));
            rules.iter().fold(Rules::builder(), add).build().unwrap()
        };
        let (one, other) = (build(&rules), build(&shuffled));
        for key in KEYS {
            for tier in [None, Some("gold"), Some("silver"), Some("bronze")] {
                prop_assert_eq!(one.policy_for(key, tier), other.policy_for(key, tier));
            }
            // And the kinds stand in their order.
            let has = |wanted: fn(&Rule) -> Option<&str>, text: &str| {
                let found = rules.iter().find(|(rule, _)| wanted(rule) == Some(text));
                found.map(|(_, n)| *n)
            };
            let exact = |rule: &Rule| if let Rule::Exact(key) = rule { Some(*key) } else { None };
            let tier = |rule: &Rule| if let Rule::Tier(name) = rule { Some(*name) } else { None };
            let of_gold = number(one.policy_for(key, Some("gold")));
            let expected = has(exact, key).or(has(tier, "gold"));
            prop_assert!(expected.is_none_or(|expected| expected == of_gold));
            if expected.is_none() {
                prop_assert_eq!(of_gold, number(one.policy_for(key, None)));
            }
        }
    }

    /// Any text is a pattern or is refused; a good one is told as it was written.
    #[test]
    fn patterns_never_panic(pattern in r"[ab*:\\é]{0,12}", key in "[ab*:é]{0,12}") {
        let begin = || Rules::builder().default(policy(1));
        let once = begin().pattern(&pattern, policy(2)).build();
        match once {
            Err(fault) => {
                let shown = format!("{fault:#}");
                prop_assert!(fault.is_syntax() && shown.contains('^'), "{}", shown);
            }
            Ok(rules) => {
                let _ = rules.policy_for(&key, None);
                let twice = begin().pattern(&pattern, policy(2)).pattern(&pattern, policy(3));
                let fault = twice.build().unwrap_err().to_string();
                let expected = format!("the pattern `{pattern}` is given twice");
                prop_assert!(fault.contains(&expected), "{}", fault);
            }
        }
    }
}

/// What keys without a slot share is one state for each policy, of the rules or given by calls.
#[test]
fn strangers_share_with_those_of_their_policy() {
    for max_given in [0, 2] {
        let limiter = Limiter::builder(rules())
            .max_keys(1)
            .max_given(max_given)
            .overflow(Overflow::Share)
            .build()
            .unwrap();
        for key in ["owner", "another"] {
            assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
        }
        for (key, tokens) in
            [("1:health", 43), ("tenant:acme:x", 41), ("tenant:b", 42), ("tenant:7:search", 20)]
        {
            let decision = limiter.try_acquire_at(key, 5, NOW);
            assert_eq!((decision.is_allowed(), decision.remaining()), (true, tokens - 5), "{key}");
        }
        for given in 0..max_given {
            let given = policy(50 + given);
            let decision = limiter.try_acquire_with("stranger", &given, 5, NOW).unwrap();
            assert_eq!(decision.remaining(), number(&given) - 5);
        }
        let shared = limiter.stats().shared;
        assert_eq!(shared, 5 + max_given);
        assert_eq!(limiter.try_acquire_at("2:health", 5, NOW).remaining(), 33);
    }
}

#[test]
fn what_is_shown_of_rules_is_how_many_there_are() {
    let (rules, none) = (rules(), Rules::from(policy(1)));
    let shown = format!("{rules:?}");
    for part in ["exact: 3, tiers: 2, members: 0, patterns: 6, policies: 12", "\"1/min\""] {
        assert!(shown.contains(part), "{shown}");
    }
    let builder = Rules::builder().default(policy(1)).pattern("a", policy(2)).tier("t", policy(2));
    let shown = format!("{:?}", builder.exact("k", policy(3)));
    assert!(shown.contains("exact: 1, tiers: 1, members: 0, patterns: 1, policies: 3"), "{shown}");
    assert!(
        format!("{none:?}").contains("exact: 0, tiers: 0, members: 0, patterns: 0, policies: 1"),
        "{none:?}"
    );
}

//! Explanations against what a limiter does, for random files.

use brimful::{Key, Nanos};
use brimful_config::{Config, Syntax};
use brimful_testkit::trace::SplitMix64;

fn pick<'a>(random: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

const SEGMENTS: [&str; 12] =
    ["a", "B", "ab", "*", "a*", "ab*", "é", "e\u{301}", "", " a", "\\\\*", "1"];
const TEXTS: [&str; 16] = [
    "a", "B", "b", "ab", "*", "abc", "é", "e\u{301}", "", " a", "a ", "É", "1", "a:b", "ab:a:",
    "\u{301}",
];

fn grant(random: &mut SplitMix64, n: usize) -> String {
    let grant = match random.below(6) {
        0 => "unlimited = true".to_owned(),
        1 => "blocked = true".to_owned(),
        2 => "policy = \"gold\"".to_owned(),
        3 => "policy = \"tried\"".to_owned(),
        _ => format!("limit = \"{}/h\"", n + 10),
    };
    let shadow = if random.below(3) == 0 { "\nshadow = true" } else { "" };
    format!("{grant}{shadow}\n")
}

fn file(random: &mut SplitMix64) -> String {
    let mut text = String::new();
    for flag in ["trim", "fold_case", "nfc"] {
        if text.is_empty() {
            text.push_str("[keys]\n");
        }
        text.push_str(&format!("{flag} = {}\n", random.below(2) == 0));
    }
    text.push_str(
        "[policies.gold]\nlimit = \"7/h\"\n[policies.tried]\nlimit = \"8/h\"\nshadow = true\n",
    );
    let mut n = 0;
    let mut grant = |random: &mut SplitMix64| {
        n += 1;
        grant(random, n)
    };
    for _ in 0..=random.below(2) {
        text.push_str(&format!("[[default]]\n{}", grant(random)));
    }
    for tier in ["t", "u"] {
        if random.below(3) > 0 {
            text.push_str(&format!("[[tiers.{tier}]]\n{}", grant(random)));
            if random.below(2) == 0 {
                text.push_str(&format!(
                    "members = [\"{}\", [\"a\", \"{}\"]]\n",
                    pick(random, &TEXTS),
                    pick(random, &TEXTS)
                ));
            }
        }
    }
    for _ in 0..random.below(4) {
        let key = match random.below(3) {
            0 => format!("\"{}\"", pick(random, &TEXTS)),
            1 => format!("[\"{}\", {}]", pick(random, &TEXTS), random.below(2)),
            _ => random.below(3).to_string(),
        };
        text.push_str(&format!("[[exact]]\nkey = {key}\n{}", grant(random)));
    }
    for _ in 0..random.below(7) {
        let segments: Vec<&str> = (0..=random.below(3)).map(|_| pick(random, &SEGMENTS)).collect();
        let mut pattern = segments.join(":");
        if random.below(3) == 0 {
            pattern.push_str(":**");
        }
        text.push_str(&format!("[[pattern]]\nmatch = \"{pattern}\"\n{}", grant(random)));
    }
    text
}

#[test]
fn explanations_say_what_a_limiter_does() {
    let mut random = SplitMix64::new(1);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let text = file(&mut random);
        let config = match Config::parse(&text, Syntax::Toml, "f", None) {
            Ok(config) => config,
            Err(_) => {
                bad += 1;
                continue;
            }
        };
        good += 1;
        for (printed, syntax) in
            [(config.to_toml(), Syntax::Toml), (config.to_yaml(), Syntax::Yaml)]
        {
            let again = Config::parse(&printed, syntax, "g", None)
                .unwrap_or_else(|e| panic!("{text}\n---\n{printed}\n{e}"));
            assert!(again == config, "{text}\n---\n{printed}");
        }
        let limiter = config.limiter().max_keys(100).build().unwrap();
        let now = Nanos::from_secs(1_000_000);
        for _ in 0..20 {
            let (one, two) = (pick(&mut random, &TEXTS), pick(&mut random, &TEXTS));
            let number = random.below(3);
            let parts = [
                Key::Text(one),
                if number == 2 { Key::Text(two) } else { Key::Unsigned(number.into()) },
            ];
            let key = match random.below(3) {
                0 => Key::Text(one),
                1 => Key::Parts(&parts),
                _ => Key::Unsigned(number.into()),
            };
            let tier = [None, Some("t"), Some("u"), Some("v")][random.below(4) as usize];
            let explained = config.explain(key, tier);
            let decision = config.keys().with_key(key, |key| match tier {
                Some(tier) => limiter.tier(tier).try_acquire_at(key, 1, now),
                None => limiter.try_acquire_at(key, 1, now),
            });
            let policy = limiter.policy_of(&decision).unwrap();
            let decides = explained.decides().unwrap();
            let said = (
                decides.policy().to_owned(),
                decides.limits().iter().map(|l| l.limit().to_owned()).collect::<Vec<_>>(),
            );
            let does = (
                policy.name().to_owned(),
                policy.limits().iter().map(ToString::to_string).collect::<Vec<_>>(),
            );
            if decides.line() > 0 {
                assert_eq!(said, does, "{text}\n{key:?} {tier:?}\n{explained}");
            }
            let shadow = limiter
                .shadow_of(&decision)
                .map(|s| s.limits().iter().map(ToString::to_string).collect::<Vec<_>>());
            let tried = explained
                .on_trial()
                .map(|s| s.limits().iter().map(|l| l.limit().to_owned()).collect::<Vec<_>>());
            assert_eq!(shadow, tried, "{text}\n{key:?} {tier:?}\n{explained}");
        }
    }
    println!("{good} good, {bad} bad");
    assert!(good > 2_000);
}

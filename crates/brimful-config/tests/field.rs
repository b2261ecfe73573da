//! Faults that people met in files of rules for other limiters, by kind; the numbers of a case are a
//! row, under its id in `brimful-testkit/data/field-cases.jsonl`.

use brimful::{AsKey, Limiter, Nanos};
use brimful_config::{Config, LintKind, Syntax};

const DAY: u64 = 86_400;

fn config(text: &str) -> Config {
    let config = Config::parse(text, Syntax::Toml, "limits.toml", None);
    config.unwrap_or_else(|error| panic!("{error:#}"))
}

fn limiter(text: &str) -> Limiter {
    config(text).limiter().max_keys(1_000).build().expect("the store of the test")
}

/// How many of `calls` at one time are admitted.
fn admitted(limiter: &Limiter, key: impl AsKey + Copy, calls: u64) -> u64 {
    let now = Nanos::from_secs(1_000_000);
    (0..calls).map(|_| u64::from(limiter.try_acquire_at(key, 1, now).is_allowed())).sum()
}

/// A limit is written as so many per unit or per duration, which has one reading; and where the
/// duration is long and a large burst hides that, a warning has the sustained rate.
#[test]
fn a_rate_is_not_taken_for_an_interval() {
    // Case, what is written, the sustained rate that is warned of, the first day of 100 on which one of
    // 150 calls is denied.
    let rows = [
        (174, "1 per 4000s burst 8000", Some("0.00025/s"), Some(62)),
        (174, "4000/s burst 8000", None, None),
        (174, "1 per 4000s", None, Some(0)),
    ];
    for (case, limit, sustained, denied) in rows {
        let text = format!("[default]\nlimit = \"{limit}\"\n");
        let lints = config(&text).lints();
        let slow = lints.iter().find(|lint| lint.kind() == LintKind::SlowRefill);
        assert_eq!(slow.is_some(), sustained.is_some(), "case {case}, {limit}: {lints:?}");
        if let Some((slow, rate)) = slow.zip(sustained) {
            assert!(slow.text().contains(rate), "case {case}, {limit}: {slow}");
            assert_eq!((slow.line(), slow.column()), (2, 9), "case {case}, {limit}");
        }
        let limiter = limiter(&text);
        let is_denied = |day: &u64| {
            let calls = (0..150).map(|call| Nanos::from_secs(day * DAY + call * 576));
            calls.fold(false, |any, at| any | limiter.try_acquire_at("k", 1, at).is_denied())
        };
        assert_eq!((0..100).find(is_denied), denied, "case {case}, {limit}");
    }
}

/// What is said twice, or by two fields of which one could be heard, is refused, and the error names both;
/// nothing is dropped silently.
#[test]
fn what_contradicts_itself_names_both_places() {
    let twice = |key: &str, first: &str, second: &str| {
        format!(
            "[default]\nunlimited = true\n[[exact]]\n{key}\n{first}\n[[exact]]\n{key}\n{second}\n"
        )
    };
    let rows = [
        (178, twice("key = \"plan:plus\"", "limit = \"2/min\"", "limit = \"10/day\""), 7, 4),
        (178, twice("key = \"plan:plus\"", "limit = \"2/min\"", "limit = \"2/min\""), 7, 4),
        (194, "[default]\nlimit = \"1/s\"\nunlimited = true\n".to_owned(), 3, 2),
        (
            194,
            "[policies.a]\nlimit = \"1/s\"\n[default]\npolicy = \"a\"\nlimits = [\"2/s\"]\n"
                .to_owned(),
            5,
            4,
        ),
    ];
    for (case, text, line, first) in rows {
        let error = Config::parse(&text, Syntax::Toml, "limits.toml", None).expect_err(&text);
        let [fault] = error.faults() else { panic!("case {case}: {error:#}") };
        assert_eq!(fault.line(), line, "case {case}: {error:#}");
        let also: Vec<_> = fault.also().iter().map(|also| (also.what(), also.line())).collect();
        assert_eq!(also, [("the first", first)], "case {case}: {error:#}");
    }
    // Both fields by name.
    for (case, fields, names) in [
        (194, "limit = \"1/s\"\nblocked = true", "`limit` and `blocked` stand together"),
        (194, "blocked = true\nlimit = \"1/s\"", "`blocked` and `limit` stand together"),
    ] {
        let text = format!("[default]\n{fields}\n");
        let error = Config::parse(&text, Syntax::Toml, "limits.toml", None).expect_err(&text);
        assert!(error.faults()[0].found().contains(names), "case {case}: {error:#}");
    }
}

/// Two limits for a key are a list, of which both are enforced; and one text instead of the list is a
/// list of one.
#[test]
fn all_limits_of_a_list_are_enforced() {
    let rows = [
        (178, "limits = [\"2/min\", \"10/day\"]", [2, 2, 2, 2, 2, 0]),
        (178, "limits = [\"2/min\"]", [2; 6]),
        (193, "limits = \"1/second\"", [1; 6]),
        (193, "limit = [\"1/s\"]", [1; 6]),
    ];
    for (case, limits, expected) in rows {
        let limiter = limiter(&format!("[default]\n{limits}\n"));
        let minute = |number: u64| {
            let at = Nanos::from_secs(number * 60);
            (0..4).map(|_| u64::from(limiter.try_acquire_at("k", 1, at).is_allowed())).sum::<u64>()
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(minute), expected, "case {case}, {limits}");
    }
}

/// What has the wrong kind is refused when the file is read, not when a limit is first exceeded.
#[test]
fn what_has_the_wrong_kind_is_refused_when_it_is_read() {
    for (case, text, part) in [
        (
            193,
            "default_limits = \"1/s\"\n[default]\nlimit = \"1/s\"\n",
            "unknown field `default_limits`",
        ),
        (193, "[default]\nlimits = 1\n", "1"),
        (193, "[default]\nlimits = [[\"1/s\"]]\n", "list"),
        (193, "[default]\nlimits = []\n", "limits"),
        (193, "default = \"1/s\"\n", "text"),
    ] {
        let error = Config::parse(text, Syntax::Toml, "limits.toml", None).expect_err(text);
        assert!(error.faults()[0].message().contains(part), "case {case}: {error:#}");
        assert!(error.faults()[0].line() > 0, "case {case}: {error:#}");
    }
}

/// Each key has its own budget, and the rule's part of the key belongs to it: two rules about one
/// client do not share a bucket, whoever comes first.
#[test]
fn rules_about_one_client_share_nothing() {
    let file = "[default]\nunlimited = true\n[policies.b]\nlimit = \"20 per 10min\"\n
[[pattern]]\nmatch = \"/a:*\"\nlimit = \"5 per 10min\"\n[[pattern]]\nmatch = \"/b:*\"\npolicy = \"b\"\n
[[pattern]]\nmatch = \"/c:*\"\npolicy = \"b\"\n";
    // Case, calls in their order by path, and what is admitted of each.
    let rows = [
        (153, [("/b", 1, 1), ("/a", 6, 5), ("/b", 20, 19)]),
        (153, [("/a", 1, 1), ("/b", 25, 20), ("/a", 6, 4)]),
        // One policy, by name, for two rules.
        (153, [("/b", 20, 20), ("/c", 25, 20), ("/b", 1, 0)]),
    ];
    for (case, calls) in rows {
        let limiter = limiter(file);
        for (path, asked, expected) in calls {
            let found = admitted(&limiter, (path, "192.0.2.1"), asked);
            assert_eq!(found, expected, "case {case}: {path} in {calls:?}");
        }
    }
}

/// With `[keys]` all ways to write one name are one key; without it, which is the default, each way
/// is its own.
#[test]
fn one_name_has_one_budget_when_the_file_says_so() {
    let rows: [(u32, &[&str]); 2] = [
        (211, &["Ann", "ANN", " ann", "ann\t"]),
        // The accent in one character, and as one of its own.
        (211, &["Ren\u{e9}e", "REN\u{c9}E", "rene\u{301}e", " RENE\u{301}E "]),
    ];
    let limit = "[default]\nlimit = \"5 per 15min\"\n";
    let on = format!("[keys]\ntrim = true\nfold_case = true\nnfc = true\n{limit}");
    for (case, names) in rows {
        for (text, expected) in [(&*on, 5), (limit, 20)] {
            let (limiter, keys) = (limiter(text), config(text).keys());
            let of = |name: &&str| admitted(&limiter, &*keys.normalize(name), 5);
            assert_eq!(names.iter().map(of).sum::<u64>(), expected, "case {case}: {names:?}");
            // In a list too.
            let of = |name: &&str| {
                keys.with_key(("login", *name), |key| {
                    let now = Nanos::from_secs(1_000_000);
                    let asked = (0..5).map(|_| limiter.try_acquire_at(key, 1, now).is_allowed());
                    asked.map(u64::from).sum::<u64>()
                })
            };
            assert_eq!(names.iter().map(of).sum::<u64>(), expected, "case {case}: {names:?}");
        }
    }
}

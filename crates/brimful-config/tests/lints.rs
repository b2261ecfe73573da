//! Each kind of lint, with what it is about and without.

use brimful_config::{Config, LintKind, Syntax};

/// The places and kinds of what is found.
fn found(text: &str) -> Vec<(usize, usize, LintKind)> {
    let config = Config::parse(text, Syntax::Toml, "limits.toml", None)
        .unwrap_or_else(|error| panic!("{error:#}"));
    let lints = config.lints();
    lints.iter().map(|lint| (lint.line(), lint.column(), lint.kind())).collect()
}

fn text(text: &str) -> String {
    let config = Config::parse(text, Syntax::Toml, "limits.toml", None).unwrap();
    let lints: Vec<String> = config.lints().iter().map(ToString::to_string).collect();
    lints.join("\n")
}

const DEFAULT: &str = "default.limit = '10/s'\n";

#[test]
fn a_default_behind_a_pattern_that_matches_all() {
    let with = format!("{DEFAULT}[[pattern]]\nmatch = '**'\nlimit = '1/s'\n");
    assert_eq!(found(&with), [(1, 1, LintKind::NeverMatches)]);
    assert_eq!(
        text(&with),
        "limits.toml:1:1: no key comes to the default: the pattern `**` matches all [never-matches]"
    );
    assert_eq!(found(&with.replace("**", "a:**")), []);
    assert_eq!(found(&format!("{with}shadow = true\n")), []);
}

#[test]
fn a_default_behind_patterns_that_match_all_but_the_empty_list() {
    let with = |patterns: &[&str], more: &str| {
        let pattern = |text| format!("[[pattern]]\nmatch = '{text}'\nlimit = '1/s'\n");
        format!("{DEFAULT}{more}{}", patterns.iter().map(pattern).collect::<String>())
    };
    let found_behind = |patterns: &[&str]| found(&with(patterns, ""));
    for patterns in [&["*:**"][..], &["*", "*:*:**"], &["*:*:*:**", "a", "*:*", "*"]] {
        assert_eq!(found_behind(patterns), [(1, 1, LintKind::NeverMatches)], "{patterns:?}");
    }
    assert_eq!(
        text(&with(&["*:**"], "")),
        "limits.toml:1:1: no key but the empty list comes to the default: patterns match all others \
         [never-matches]"
    );
    let empty = "[[exact]]\nkey = []\nblocked = true\n";
    assert!(text(&with(&["*:**"], empty)).contains(": no key comes to the default: "));
    let trial = format!("{empty}shadow = true\n");
    assert!(text(&with(&["*:**"], &trial)).contains(": no key but the empty list comes "));
    for patterns in [&["*"][..], &["*:*:**"], &["*", "*:*:*:**"], &["*", "*:*"], &["a*:**"]] {
        assert_eq!(found_behind(patterns), [], "{patterns:?}");
    }
    assert_eq!(found(&format!("{}shadow = true\n", with(&["*:**"], ""))), []);
}

#[test]
fn a_text_that_keys_changes() {
    let with = format!(
        "{DEFAULT}[keys]\nfold_case = true\ntrim = true\n[[exact]]\nkey = 'Partner'\nblocked = true\n\
         [[pattern]]\nmatch = 'A:*'\nlimit = '1/s'\n[tiers.gold]\nlimit = '1/s'\nmembers = ['a', ' b']\n"
    );
    let kind = LintKind::Normalized;
    assert_eq!(found(&with), [(6, 8, kind), (9, 10, kind), (13, 19, kind)]);
    assert!(text(&with).contains("`Partner` is read as `partner`, as `keys` says [normalized]"));
    assert_eq!(found(&with.replace("= true\ntrim = true", "= false")), []);
}

#[test]
fn a_policy_that_no_rule_names() {
    let with = format!("{DEFAULT}[policies.gold]\nlimit = '1/s'\n");
    assert_eq!(found(&with), [(2, 11, LintKind::UnusedPolicy)]);
    assert_eq!(found(&format!("{with}[tiers.gold]\npolicy = 'gold'\n")), []);
}

#[test]
fn a_limit_that_another_implies() {
    let of = |limits: &str| found(&format!("default.limits = [{limits}]\n"));
    let implied = [
        "'10/s', '20/s burst 10'",
        "'10/s burst 5', '600/min'",
        "'10/s fixed-window', '11/s fixed-window'",
        "'10/s sliding-window', '11/s sliding-window'",
        "'10/min sliding-log', '10/s sliding-log'",
        "'a: 10/s', 'b: 10/s'",
    ];
    for limits in implied {
        let kinds: Vec<_> = of(limits).iter().map(|(_, _, kind)| *kind).collect();
        assert_eq!(kinds, [LintKind::ImpliedLimit], "{limits}");
    }
    let free = [
        "'10/s', '100/min'",
        "'10/s burst 20', '20/s burst 10'",
        "'10/s fixed-window', '11/min fixed-window'",
        "'10/s fixed-window', '600/min fixed-window'",
        "'10/s sliding-log', '100/min sliding-log'",
        "'10/s', '1000/s fixed-window'",
    ];
    for limits in free {
        assert_eq!(of(limits), [], "{limits}");
    }
    assert_eq!(of("'a: 10/s', 'b: 10/s'"), [(1, 30, LintKind::ImpliedLimit)]);
    assert_eq!(of("'20/s', '10/s'"), [(1, 19, LintKind::ImpliedLimit)]);
}

#[test]
fn a_burst_below_the_largest_cost() {
    let with = "default.limits = ['10/s burst 5', '9/min fixed-window', '10/min']\n[requests]\nmax_cost = 10\n";
    let kind = LintKind::BurstBelowCost;
    assert_eq!(found(with), [(1, 19, kind), (1, 35, kind)]);
    assert!(text(with).starts_with(
        "limits.toml:1:19: a request of cost 10 is never admitted: `10/s burst 5` holds 5 at most"
    ));
    assert_eq!(found(&with.replace("max_cost = 10", "max_cost = 5")), []);
}

#[test]
fn a_member_with_an_override() {
    let with = format!(
        "{DEFAULT}[tiers.gold]\nlimit = '1/s'\nmembers = ['a', 'b', 7]\n[[exact]]\nkey = 'b'\nlimit = '5/s'\n"
    );
    assert_eq!(found(&with), [(4, 17, LintKind::OverriddenMember)]);
    assert_eq!(found(&format!("{with}shadow = true\n")), []);
    assert_eq!(found(&with.replace("key = 'b'", "key = '7'")), []);
    assert_eq!(found(&with.replace("key = 'b'", "key = 7")), [(4, 22, LintKind::OverriddenMember)]);
}

#[test]
fn a_star_in_a_key() {
    let with = format!(
        "{DEFAULT}[tiers.gold]\nlimit = '1/s'\nmembers = ['a', 'b:*']\n[[exact]]\nkey = [1, '*']\nlimit = '5/s'\n"
    );
    let kind = LintKind::StarInKey;
    assert_eq!(found(&with), [(4, 17, kind), (6, 7, kind)]);
    assert_eq!(found(&with.replace('*', "c")), []);
}

#[test]
fn a_member_that_is_listed_twice() {
    let with = format!("{DEFAULT}[tiers.gold]\nlimit = '1/s'\nmembers = ['a', 'b', 'a']\n");
    assert_eq!(found(&with), [(4, 22, LintKind::RepeatedMember)]);
    assert_eq!(found(&with.replace("'b', 'a'", "'b', 'A'")), []);
}

#[test]
fn a_burst_that_takes_days_to_come_back() {
    let with = "default.limit = '1 per 4000s burst 1000'\n";
    assert_eq!(found(with), [(1, 17, LintKind::SlowRefill)]);
    assert_eq!(
        text(with),
        "limits.toml:1:17: the whole burst of 1000 takes 46.2 days to come back; sustained, \
         `1 per 4000s burst 1000` admits 0.00025/s [slow-refill]"
    );
    assert_eq!(found("default.limit = '1 per 4000s burst 21'\n"), []);
    assert_eq!(found("default.limit = '1000/day'\n"), []);
    assert_eq!(found("default.limit = '1000/week fixed-window'\n"), []);
}

#[test]
fn a_default_on_trial_alone() {
    let with = "[[default]]\nlimit = '1/s'\nshadow = true\n";
    assert_eq!(found(with), [(1, 3, LintKind::DefaultOnTrial)]);
    assert_eq!(found(&format!("{with}[[default]]\nunlimited = true\n")), []);
}

#[test]
fn a_trial_of_what_is_enforced() {
    let with = format!(
        "{DEFAULT}[[pattern]]\nmatch = 'a'\nlimit = '1/s'\n[[pattern]]\nmatch = 'a'\nlimit = '1/s'\nshadow = true\n"
    );
    assert_eq!(found(&with), [(6, 9, LintKind::IdleTrial)]);
    assert_eq!(found(&with.replacen("1/s", "2/s", 1)), []);
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    let names: std::collections::HashSet<_> =
        LintKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), LintKind::ALL.len());
    for kind in LintKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

//! Policies on trial: they decide and count, never deny, and change nothing of what is enforced.

use brimful::{
    Decision, Limit, Limiter, Meter, Nanos, Overflow, Policy, RuleLevel, Rules, RulesBuilder,
};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_000);

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn trial(specs: &[&str]) -> Policy {
    policy(specs).shadow()
}

fn limiter(rules: RulesBuilder) -> Limiter {
    Limiter::builder(rules.build().unwrap()).max_limits(8).max_log_entries(50_000).build().unwrap()
}

/// What a client is told but for the trial.
fn enforced(decision: Decision) -> impl PartialEq + std::fmt::Debug {
    (
        decision.retry(),
        decision.remaining(),
        decision.reset_after(),
        decision.limit(),
        decision.denial(),
    )
}

/// Beside any policy, what is enforced is as without the trial, and what is on trial is as if it were enforced
/// alone, for the requests that are admitted. (By a clock that goes back they have one time: a request that
/// the trial refuses is the key's last change, when it is admitted.)
#[test]
fn neither_knows_the_other() {
    let policies: [&[&str]; 7] = [
        &["10/s burst 20"],
        &["5 per 3s fixed-window"],
        &["7 per 4s sliding-log"],
        &["9 per 5s sliding-window"],
        &["3/s", "20/min sliding-log", "50/h"],
        &["a: 4/s", "b: 6 per 2s sliding-window", "c: 90/min fixed-window"],
        &["unlimited"],
    ];
    let mut random = SplitMix64::new(7);
    for first in policies {
        for (second, goes_back) in policies.into_iter().flat_map(|p| [(p, false), (p, true)]) {
            let both = limiter(Rules::builder().default(policy(first)).default(trial(second)));
            let alone = limiter(Rules::builder().default(policy(first)));
            let mut tried = Meter::new(&policy(second));
            let mut ns = NOW.as_nanos();
            for _ in 0..400 {
                let step = random.below(900_000_000);
                ns = if goes_back && random.below(5) == 0 {
                    ns.saturating_sub(step)
                } else {
                    ns + step / 2
                };
                let (now, cost) = (Nanos::from_nanos(ns), random.below(6));
                let peeked = both.peek_at("k", cost, now);
                let decision = both.try_acquire_at("k", cost, now);
                assert_eq!(peeked, decision, "{first:?} and {second:?}");
                let expected = alone.try_acquire_at("k", cost, now);
                assert_eq!(enforced(decision), enforced(expected), "{first:?} and {second:?}");
                let would = tried.peek_at(cost, now);
                let same = decision.would_deny() == would.is_denied();
                assert!(same || goes_back, "{first:?} and {second:?}");
                if decision.is_allowed() {
                    let _ = tried.try_acquire_at(cost, now);
                }
                if random.below(20) == 0 {
                    assert_eq!(both.refund_at("k", 2, now), alone.refund_at("k", 2, now));
                    tried.refund_at(2, now);
                }
            }
        }
    }
}

/// In the chain the first rule that is enforced decides, and the first on trial before it stands beside it.
#[test]
fn a_rule_on_trial_hides_none() {
    let rules = Rules::builder()
        .default(policy(&["100/min"]))
        .pattern("a:**", policy(&["50/min"]))
        .pattern("a:*:x", trial(&["40/min"]))
        .tier("gold", trial(&["30/min"]))
        .tier("pure", policy(&["35/min"]))
        .exact("a:own:x", trial(&["20/min"]))
        .exact("a:both:x", policy(&["15/min"]))
        .exact("a:both:x", trial(&["10/min"]))
        .member("a:member:x", "gold")
        .default(trial(&["5/min"]));
    let limiter = limiter(rules);
    let rules = limiter.rules();
    let tokens = |policy: Option<&Policy>| policy.map_or(0, |policy| policy.limits()[0].tokens());
    for (key, tier, decides, tries) in [
        ("b", None, 100, 5),
        ("b", Some("gold"), 100, 30),
        ("b", Some("pure"), 35, 0),
        ("b", Some("unknown"), 100, 5),
        ("a", None, 50, 0),
        ("a:1:x", None, 50, 40),
        ("a:1:x", Some("gold"), 50, 30),
        ("a:1:x", Some("pure"), 35, 0),
        ("a:own:x", None, 50, 20),
        ("a:own:x", Some("gold"), 50, 20),
        ("a:own:x", Some("pure"), 35, 20),
        ("a:both:x", None, 15, 10),
        ("a:both:x", Some("gold"), 15, 10),
        ("a:member:x", None, 50, 30),
        ("a:member:x", Some("pure"), 35, 0),
        ("a:member:x", Some("unknown"), 50, 30),
    ] {
        let found =
            (tokens(Some(rules.policy_for(key, tier))), tokens(rules.shadow_for(key, tier)));
        assert_eq!(found, (decides, tries), "{key} by {tier:?}");
        let seen = limiter.tier(tier.unwrap_or("none of them"));
        // Asked twice, the second time from its slot.
        for spent in 1..=2 {
            let decision = seen.try_acquire_at(key, 1, NOW);
            let policies = (limiter.policy_of(&decision), limiter.shadow_of(&decision));
            assert_eq!((tokens(policies.0.as_deref()), tokens(policies.1.as_deref())), found);
            assert_eq!(decision.is_allowed(), spent <= decides, "{key} by {tier:?}");
        }
        let matching = rules.matching(key, tier);
        let first = matching.iter().find(|rule| !rule.policy().is_shadow()).unwrap();
        assert_eq!(tokens(Some(first.policy())), decides);
        let shadow = matching.first().filter(|rule| rule.policy().is_shadow());
        assert_eq!(tokens(shadow.map(|rule| rule.policy())), tries);
        assert!(matching.is_sorted_by_key(|rule| rule.level()));
        assert_eq!(matching.last().unwrap().level(), RuleLevel::Default);
    }
}

/// A key may be a member of a tier; the caller's own tier comes first, and an override before both.
#[test]
fn members_have_the_tier_that_callers_do_not_name() {
    let rules = Rules::builder()
        .default(policy(&["10/min"]))
        .tier("gold", policy(&["20/min"]))
        .tier("silver", policy(&["30/min"]))
        .pattern("**", policy(&["40/min"]))
        .exact("own", policy(&["50/min"]))
        .member("m", "gold")
        .member(7_u64, "silver")
        .member("own", "gold");
    let limiter = limiter(rules.clone());
    assert_eq!(limiter.peek_at("m", 0, NOW).remaining(), 20);
    assert_eq!(limiter.peek_at(7_u64, 0, NOW).remaining(), 30);
    assert_eq!(limiter.peek_at("own", 0, NOW).remaining(), 50);
    assert_eq!(limiter.peek_at("other", 0, NOW).remaining(), 40);
    assert_eq!(limiter.tier("silver").peek_at("m", 0, NOW).remaining(), 30);
    assert_eq!(limiter.tier("what").peek_at("m", 0, NOW).remaining(), 20);
    let levels = |key: &str| limiter.rules().matching(key, None)[0].level();
    assert_eq!((levels("m"), levels("other")), (RuleLevel::Member, RuleLevel::Pattern));
    for (faulty, expected) in [
        (rules.clone().member("m", "silver"), "a member twice: of `gold` and of `silver`"),
        (rules.member("new", "bronze"), "a member of the tier `bronze`, which is not there"),
    ] {
        let fault = faulty.build().unwrap_err();
        assert!(fault.is_conflict() && fault.to_string().contains(expected), "{fault}");
    }
}

/// With nothing enforced nobody is denied or forgotten: not by a full store, not for want of entries.
#[test]
fn nobody_is_denied_for_a_trial() {
    for overflow in Overflow::ALL {
        let rules = Rules::builder().default(trial(&["2/h", "3/day sliding-log"]));
        let rules = rules.tier("paying", policy(&["5/h"])).build().unwrap();
        let builder = Limiter::builder(rules).max_keys(20).max_log_entries(3).overflow(overflow);
        let limiter = builder.build().unwrap();
        for key in 0..25_u64 {
            assert!(limiter.tier("paying").try_acquire_at(key, 1, NOW).is_allowed());
        }
        for key in 0..200_u64 {
            for spent in 0..3 {
                let peeked = limiter.peek_at(1_000 + key, 1, NOW);
                let decision = limiter.try_acquire_at(1_000 + key, 1, NOW);
                assert_eq!((peeked, decision.is_allowed()), (decision, true), "{overflow} {spent}");
                assert_eq!((decision.remaining(), decision.limit()), (u64::MAX, None));
                let all = limiter.try_acquire_all_at(&[(1_000 + key, 1), (2_000 + key, 1)], NOW);
                assert!(all.unwrap().is_allowed(), "{overflow}");
            }
        }
        let stats = limiter.stats();
        assert_eq!((stats.evicted_forced, stats.store_full, stats.denied), (0, 0, 0), "{overflow}");
        for key in 0..25_u64 {
            let paying = limiter.tier("paying").peek_at(key, 0, NOW);
            assert_eq!(paying.remaining(), 4, "{overflow}: {key}");
        }
    }
}

/// What would have been denied is counted by the policy's name, and only there.
#[test]
fn what_would_have_been_denied_is_counted() {
    let named = |specs: &[&str], name: &str| policy(specs).named(name).unwrap();
    let rules = Rules::builder()
        .default(named(&["10/min"], "all"))
        .default(named(&["5/min"], "tight").shadow())
        .tier("closed", named(&["blocked"], "closing").shadow())
        .tier("free", policy(&["unlimited"]))
        .tier("free", named(&["blocked"], "closing").shadow());
    let limiter = limiter(rules);
    for _ in 0..12 {
        let _ = limiter.allow("k");
    }
    for tier in ["closed", "free"] {
        for cost in [0, 1] {
            let decision = limiter.tier(tier).try_acquire_n(tier, cost);
            assert!(decision.is_allowed() && decision.would_deny(), "{tier} {cost}");
        }
    }
    let stats = limiter.stats();
    assert_eq!(stats.denied_by_policy, [("all".to_owned(), 2)]);
    let tried = [("tight".to_owned(), 7), ("closing".to_owned(), 2)];
    assert_eq!(stats.would_deny_by_policy, tried);
    assert_eq!((stats.admitted, stats.denied), (12, 2));
    let theirs = trial(&["1/min"]);
    assert!(limiter.try_acquire_with("new", &theirs, 1, NOW).unwrap().is_allowed());
    assert!(limiter.try_acquire_with("new", &theirs, 1, NOW).unwrap().would_deny());
}

/// What is enforced goes on from what was enforced, and from what was on trial if nothing was; the other way
/// round likewise.
#[test]
fn a_trial_that_ends_goes_on() {
    let limiter = limiter(Rules::builder().default(policy(&["10/day"])).default(trial(&["6/day"])));
    for spent in 0..8 {
        assert_eq!(limiter.try_acquire_at("k", 1, NOW).would_deny(), spent >= 6);
    }
    // 8 of 10 are 5 of 6.
    limiter.set_rules_at(policy(&["6/day"]), NOW).unwrap();
    assert_eq!(limiter.peek_at("k", 0, NOW).remaining(), 1);
    assert!(limiter.try_acquire_at("k", 1, NOW).is_allowed());
    limiter.set_rules_at(trial(&["6/day"]), NOW).unwrap();
    let decision = limiter.try_acquire_at("k", 1, NOW);
    assert!(decision.is_allowed() && decision.would_deny());
}

/// Two policies for one key must fit its slot, and every pair be kept; both are said when rules are built.
#[test]
fn what_cannot_stand_together_is_refused() {
    let five = |name: &str| {
        let limits =
            (1..=5).map(|n| Limit::per_day(n).unwrap().named(&format!("{name}{n}")).unwrap());
        Policy::new(limits).unwrap().named(name).unwrap()
    };
    let rules = Rules::builder().default(policy(&["1/s"])).tier("t", five("a"));
    let fault = rules.tier("t", five("b").shadow()).build().unwrap_err();
    let expected =
        "the policy `b` on trial beside `a` makes 10 limits for one key; at most 8 in all";
    assert_eq!(fault.to_string(), expected);
    let many = (0..2_000_u64).fold(Rules::builder().default(policy(&["1/s"])), |rules, n| {
        let (real, tried) = (Limit::per_day(n + 1).unwrap(), Limit::per_day(n + 9_000).unwrap());
        let tried = Policy::from(tried).shadow();
        rules.pattern(&format!("a:{n}:*"), real).pattern(&format!("b:{n}:*"), tried)
    });
    let fault = many.build().unwrap_err();
    assert!(fault.to_string().contains("on trial can stand beside enforced ones"), "{fault}");
    let twice = Rules::builder().default(trial(&["1/s"])).default(trial(&["2/s"]));
    assert!(twice.build().unwrap_err().to_string().contains("two default policies"));
}

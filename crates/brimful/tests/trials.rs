//! Policies on trial change nothing of what is enforced: in full stores, where log entries are scarce, by clocks
//! that are stepped, and while rules are replaced.

use brimful::{Limiter, Nanos, Overflow, Policy, Rules};

const NOW: Nanos = Nanos::from_secs(1_000_000);

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn trial(specs: &[&str]) -> Policy {
    policy(specs).shadow()
}

/// A trial changes nothing of what is enforced, also when the clock is stepped back.
#[test]
fn a_trial_does_not_lock_out_after_a_stepped_clock() {
    let both = Limiter::builder(
        Rules::builder().default(policy(&["10/s"])).default(trial(&["1000/day"])).build().unwrap(),
    )
    .build()
    .unwrap();
    let alone = Limiter::new(policy(&["10/s"])).unwrap();
    for limiter in [&both, &alone] {
        assert!(limiter.try_acquire_at("k", 10, NOW).is_allowed());
    }
    let stepped = Nanos::from_secs(1_000_000 - 3_600);
    let expected = alone.try_acquire_at("k", 1, stepped).retry_after();
    assert_eq!(both.try_acquire_at("k", 1, stepped).retry_after(), expected);
}

/// What is on trial does not make a store full for what is enforced.
#[test]
fn a_trial_takes_no_slot_from_others() {
    for overflow in [Overflow::Refuse, Overflow::Share] {
        let rules = |with: bool| {
            let rules =
                Rules::builder().default(policy(&["unlimited"])).tier("paying", policy(&["5/h"]));
            let rules = if with { rules.default(trial(&["2/h"])) } else { rules };
            rules.build().unwrap()
        };
        for with in [false, true] {
            let limiter = Limiter::builder(rules(with))
                .max_keys(20)
                .max_limits(1)
                .overflow(overflow)
                .build()
                .unwrap();
            for key in 0..30_u64 {
                assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
            }
            for key in 100..120_u64 {
                let decision = limiter.tier("paying").try_acquire_at(key, 1, NOW);
                assert!(decision.is_allowed(), "{overflow} {with} {key}: {decision:?}");
                assert_eq!(decision.remaining(), 4, "{overflow} {with} {key}");
            }
        }
    }
}

/// A slot whose enforced limits are as new is free, whatever a trial beside them owes.
#[test]
fn a_trial_does_not_keep_a_slot() {
    for overflow in Overflow::ALL {
        for with in [false, true] {
            let rules = Rules::builder().default(policy(&["5/s"]));
            let rules = if with { rules.default(trial(&["9/day"])) } else { rules };
            let limiter = Limiter::builder(rules.build().unwrap())
                .max_keys(20)
                .overflow(overflow)
                .build()
                .unwrap();
            for key in 0..25_u64 {
                assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
            }
            let later = Nanos::from_nanos(NOW.as_nanos() + 10_000_000_000);
            for key in 100..120_u64 {
                let decision = limiter.try_acquire_at(key, 5, later);
                assert!(decision.is_allowed(), "{overflow} {with} {key}: {decision:?}");
            }
        }
    }
}

/// Entries of a log on trial are not missing for logs that are enforced.
#[test]
fn a_trial_takes_no_entries_from_others() {
    for overflow in Overflow::ALL {
        for with in [false, true] {
            let rules = Rules::builder()
                .default(policy(&["100/day"]))
                .tier("logged", policy(&["10/day sliding-log"]));
            let rules = if with { rules.default(trial(&["50/day sliding-log"])) } else { rules };
            let limiter = Limiter::builder(rules.build().unwrap())
                .max_keys(20)
                .max_limits(2)
                .max_log_entries(10)
                .overflow(overflow)
                .build()
                .unwrap();
            for key in 0..10_u64 {
                assert!(limiter.try_acquire_at(key, 60 - key, NOW).is_allowed());
                assert!(limiter.try_acquire_at(key, 40, NOW).is_allowed());
            }
            for key in 100..105_u64 {
                let decision = limiter.tier("logged").try_acquire_at(key, 1, NOW);
                assert!(decision.is_allowed(), "{overflow} {with} {key}: {decision:?}");
            }
            for key in 0..10_u64 {
                let left = limiter.peek_at(key, 0, NOW).remaining();
                assert_eq!(left, key, "{overflow} {with} {key}: forgotten");
            }
        }
    }
}

/// A limit that is raised, with the one before beside it on trial, hands nothing out.
#[test]
fn an_old_limit_that_is_kept_on_trial_hands_nothing_out() {
    let before = || Rules::builder().default(policy(&["50/h"])).build().unwrap();
    let after =
        || Rules::builder().default(policy(&["100/h"])).default(trial(&["50/h"])).build().unwrap();
    let limiter = Limiter::builder(before()).max_limits(2).build().unwrap();
    let mut spent = 0;
    for _ in 0..5 {
        while limiter.try_acquire_at("k", 1, NOW).is_allowed() {
            spent += 1;
        }
        limiter.set_rules_at(after(), NOW).unwrap();
        while limiter.try_acquire_at("k", 1, NOW).is_allowed() {
            spent += 1;
        }
        limiter.set_rules_at(before(), NOW).unwrap();
    }
    assert_eq!(spent, 50, "of 50/h and 100/h, at one time");
}

/// The same for a caller who comes under two tiers in turn.
#[test]
fn two_tiers_in_turn_hand_nothing_out() {
    let rules = Rules::builder()
        .default(policy(&["unlimited"]))
        .tier("a", policy(&["50/h"]))
        .tier("b", policy(&["40/h"]))
        .tier("b", trial(&["50/h"]));
    let limiter = Limiter::new(rules.build().unwrap()).unwrap();
    let mut spent = 0;
    for round in 0..1000 {
        let tier = limiter.tier(if round % 2 == 0 { "a" } else { "b" });
        spent += u64::from(tier.try_acquire_at("k", 1, NOW).is_allowed());
    }
    assert!(spent <= 50, "{spent} admitted at one time");
}

/// A trial that becomes the rule and goes back hands nothing out either.
#[test]
fn a_looser_trial_in_turn_with_its_rule_hands_nothing_out() {
    let strict =
        Rules::builder().default(policy(&["50/h"])).default(trial(&["100/h"])).build().unwrap();
    let loose = Rules::builder().default(policy(&["100/h"])).build().unwrap();
    let limiter = Limiter::builder(strict.clone()).max_limits(2).build().unwrap();
    let mut spent = 0;
    for _ in 0..5 {
        for rules in [&loose, &strict] {
            while limiter.try_acquire_at("k", 1, NOW).is_allowed() {
                spent += 1;
            }
            limiter.set_rules_at(rules.clone(), NOW).unwrap();
        }
    }
    assert!(spent <= 100, "{spent} admitted at one time");
}

/// What a hint says is heeded by who comes then: replaced rules leave it true where limits are as before.
#[test]
fn an_unchanged_limit_is_untouched_by_a_trial_that_comes() {
    for spec in ["100/h", "10/h fixed-window", "10/h sliding-log", "10/h sliding-window"] {
        let limiter = Limiter::builder(policy(&[spec])).max_limits(2).max_log_entries(1000);
        let limiter = limiter.build().unwrap();
        let _ = limiter.try_acquire_at("k", 7, NOW);
        let before = limiter.peek_at("k", 99, NOW);
        let rules = Rules::builder().default(policy(&[spec])).default(trial(&["3/h"]));
        limiter.set_rules_at(rules.build().unwrap(), NOW).unwrap();
        let later = Nanos::from_nanos(NOW.as_nanos() + 1_000_000_000);
        let _ = limiter.try_acquire_at("k", 0, later);
        let after = limiter.peek_at("k", 99, NOW);
        assert_eq!(before.remaining(), after.remaining(), "{spec}");
        assert_eq!(before.retry_after(), after.retry_after(), "{spec}");
    }
}

/// The same rules decide the same with and without those on trial, whatever is put in force.
#[test]
fn trials_beside_replaced_rules_change_nothing() {
    let mut random = brimful_testkit::trace::SplitMix64::new(5);
    let specs = [
        "e1: 5/s",
        "e2: 20/min",
        "e3: 9 per 4s fixed-window",
        "e4: 30/h sliding-window",
        "e5: 8 per 7s sliding-log",
    ];
    let tried = [
        "t1: 3/s",
        "t2: 10/min",
        "t3: 4 per 4s fixed-window",
        "t4: 9/h sliding-window",
        "t5: 3 per 7s sliding-log",
    ];
    let mut different = Vec::new();
    for run in 0..300 {
        let build = |p: Policy| {
            Limiter::builder(p).max_keys(50).max_limits(8).max_log_entries(1_000).build().unwrap()
        };
        let (with, without) = (build(policy(&["e1: 5/s"])), build(policy(&["e1: 5/s"])));
        let mut ns = NOW.as_nanos();
        let mut said = String::new();
        for _ in 0..60 {
            ns += random.below(3_000_000_000);
            let now = Nanos::from_nanos(ns);
            if random.below(4) == 0 {
                // One to one, so that each limit has its counterpart.
                let real = specs[random.below(5) as usize];
                let shadow = tried[random.below(5) as usize];
                said.push_str(&format!("{real} | {shadow}; "));
                without.set_rules_at(policy(&[real]), now).unwrap();
                let rules = Rules::builder().default(policy(&[real]));
                let rules =
                    if random.below(2) == 0 { rules.default(trial(&[shadow])) } else { rules };
                with.set_rules_at(rules.build().unwrap(), now).unwrap();
            }
            let cost = random.below(4);
            let (a, b) =
                (with.try_acquire_at("k", cost, now), without.try_acquire_at("k", cost, now));
            if (a.remaining(), a.retry()) != (b.remaining(), b.retry()) {
                different.push((run, said.clone(), a, b));
                break;
            }
        }
    }
    assert!(different.is_empty(), "{} runs, the first: {:?}", different.len(), different.first());
}

/// No more than `max_keys` keys owe anything that is enforced, so none of them is forgotten.
#[test]
fn nobody_is_forgotten_while_others_are_only_on_trial() {
    for with in [false, true] {
        let rules =
            Rules::builder().default(policy(&["unlimited"])).tier("paying", policy(&["5/h"]));
        let rules = if with { rules.default(trial(&["2/h"])) } else { rules };
        let limiter = Limiter::builder(rules.build().unwrap())
            .max_keys(4_000)
            .max_limits(1)
            .secret([1, 2])
            .build()
            .unwrap();
        for key in 0..6_000_u64 {
            assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
        }
        let paying = limiter.tier("paying");
        for key in 10_000..13_900_u64 {
            assert!(paying.try_acquire_at(key, 5, NOW).is_allowed());
        }
        let forced = limiter.stats().evicted_forced;
        let again = (10_000..13_900_u64).filter(|key| paying.peek_at(*key, 1, NOW).is_allowed());
        assert_eq!((forced, again.count()), (0, 0), "with a trial: {with}");
    }
}

//! Rules that are replaced while a limiter is in use: what keys keep, what is refused, and what is let go.

mod changes;

use allocation_counter::measure;
use brimful::{Algorithm, Denial, Limit, Limiter, Nanos, Overflow, Policy, Rules};

const REGRESSIONS: &str = "tests/replaced.proptest-regressions";

const NOW: Nanos = Nanos::from_secs(1_000);

fn after(seconds: u64) -> Nanos {
    Nanos::from_secs(1_000 + seconds)
}

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn limiter(specs: &[&str]) -> Limiter {
    Limiter::builder(policy(specs))
        .max_keys(10_000)
        .max_limits(3)
        .max_log_entries(500)
        .build()
        .unwrap()
}

fn replace(limiter: &Limiter, rules: impl Into<Rules>, now: Nanos) {
    let before = limiter.stats().generation;
    assert_eq!(limiter.set_rules_at(rules, now), Ok(before + 1));
    assert_eq!(limiter.stats().generation, before + 1);
}

/// Against the model, in every field, with every algorithm and up to eight limits.
#[test]
fn keys_keep_what_they_spent() {
    changes::check_replaced("replaced", 0, REGRESSIONS);
}

/// The same while limits come with calls.
#[test]
fn keys_keep_what_they_spent_beside_given_limits() {
    changes::check_replaced("replaced-given", 3, REGRESSIONS);
}

/// A raised limit has room at once, a lowered one hands nothing out, and to and fro gains nothing, whatever
/// the algorithm.
#[test]
fn to_and_fro_gains_nothing() {
    for algorithm in Algorithm::ALL {
        let of = |n: u64| {
            let limit = Limit::per_day(n).unwrap().algorithm(algorithm).unwrap();
            Policy::from(limit)
        };
        let limiter =
            Limiter::builder(of(10)).max_keys(10_000).max_log_entries(10_000).build().unwrap();
        let mut admitted = 0;
        for round in 0..50_u64 {
            let most = if round % 2 == 0 { 10 } else { 100 };
            replace(&limiter, of(most), NOW);
            while limiter.try_acquire_at("greedy", 1, NOW).is_allowed() {
                admitted += 1;
            }
            // Of the two limits the larger one is all that there ever is.
            assert!(admitted <= 100, "{algorithm}: {admitted} after {round} changes");
            assert_eq!(limiter.peek_at("greedy", 0, NOW).remaining(), 0, "{algorithm}");
        }
        assert_eq!(
            admitted,
            if algorithm == Algorithm::TokenBucket { 10 } else { 100 },
            "{algorithm}"
        );
    }
}

/// Whoever has spent half has spent half of the raised limit, and of the lowered one.
#[test]
fn a_raised_limit_locks_nobody_out() {
    let limiter = limiter(&["10/min"]);
    assert_eq!(limiter.try_acquire_at("k", 5, NOW).remaining(), 5);
    replace(&limiter, policy(&["1000/min"]), NOW);
    let decision = limiter.try_acquire_at("k", 1, NOW);
    assert_eq!((decision.remaining(), decision.generation()), (499, 2));
    replace(&limiter, policy(&["10/min"]), NOW);
    assert_eq!(limiter.peek_at("k", 0, NOW).remaining(), 4);
    // Drained under the small one, it waits no longer than that one takes to fill.
    assert!(limiter.try_acquire_at("k", 4, NOW).is_allowed());
    replace(&limiter, policy(&["100/s"]), NOW);
    let denied = limiter.try_acquire_at("k", 100, NOW);
    assert!(denied.retry_after().unwrap() <= std::time::Duration::from_secs(1));
}

/// A key whose limits are as before is answered as if nothing had happened, by clocks that go back too.
#[test]
fn unchanged_limits_are_untouched() {
    for specs in [
        &["10/s burst 30"][..],
        &["7/min fixed-window", "20/h sliding-log"],
        &["9/s sliding-window"],
    ] {
        let (changed, same) = (limiter(specs), limiter(specs));
        let readings = [0, 3, 3, 1, 2, 8, 7, 30, 29, 61, 60, 3_600, 3_599, 3_700];
        for (round, second) in readings.into_iter().enumerate() {
            let other = [&["1/day"][..], &["5/s", "6/min"], specs][round % 3];
            let rules = Rules::builder().default(policy(specs)).exact("other", policy(other));
            replace(&changed, rules.build().unwrap(), NOW);
            for cost in [3, 9, 0] {
                let decisions =
                    [&changed, &same].map(|l| l.try_acquire_at("k", cost, after(second)));
                assert_eq!(decisions[0], decisions[1], "{specs:?} at {second}");
                assert_eq!(decisions[0].generation(), u64::try_from(round).unwrap() + 2);
            }
            assert_eq!(
                changed.refund_at("k", 1, after(second)),
                same.refund_at("k", 1, after(second))
            );
        }
    }
}

/// Only new keys get the new limits; the others when they owe nothing any more.
#[test]
fn new_keys_only() {
    for specs in [&["10/min"][..], &["10/min", "50/h"]] {
        let limiter = limiter(specs);
        let rules = Rules::builder().default(policy(specs)).tier("gold", policy(&["20/min"]));
        replace(&limiter, rules.build().unwrap(), NOW);
        assert!(limiter.try_acquire_at("old", 4, NOW).is_allowed());
        assert!(limiter.tier("gold").try_acquire_at("old-gold", 4, NOW).is_allowed());
        let rules =
            Rules::builder().default(policy(&["100/min"])).tier("gold", policy(&["200/min"]));
        assert_eq!(limiter.set_rules_for_new_keys_at(rules.build().unwrap(), NOW), Ok(3));

        let old = limiter.try_acquire_at("old", 1, NOW);
        assert_eq!((old.remaining(), old.generation()), (5, 2));
        assert_eq!(limiter.policy_of(&old).as_deref(), Some(&policy(specs)));
        assert_eq!(limiter.limit_of(&old).unwrap().tokens(), 10);
        assert_eq!(limiter.tier("gold").peek_at("old-gold", 0, NOW).remaining(), 16);
        let new = limiter.try_acquire_at("new", 1, NOW);
        assert_eq!((new.remaining(), new.generation()), (99, 3));
        // Under another tier than before it is asked for anew.
        assert_eq!(limiter.peek_at("old-gold", 0, NOW).remaining(), 80);
        let all = limiter.try_acquire_all_at(&[("old", 1), ("new", 1)], NOW).unwrap();
        assert_eq!((all.remaining(), limiter.peek_at("old", 0, NOW).remaining()), (4, 4));

        // As good as new, it is new.
        let later = after(7_200);
        assert_eq!(limiter.peek_at("old", 0, later).remaining(), 100);
        let renewed = limiter.try_acquire_at("old", 1, later);
        assert_eq!((renewed.remaining(), renewed.generation()), (99, 3));
        let gold = limiter.tier("gold");
        let all = gold.try_acquire_all_at(&[("old-gold", 1)], later).unwrap();
        assert_eq!((all.remaining(), all.decision().generation()), (199, 3));
    }
}

/// A tier that is kept beside the limiter follows the rules.
#[test]
fn a_tier_follows_the_rules() {
    let limiter = limiter(&["10/min"]);
    let gold = limiter.tier("gold");
    assert!(!gold.is_known());
    assert_eq!(gold.try_acquire_at("k", 1, NOW).remaining(), 9);
    assert_eq!(limiter.stats().unknown_tier, 1);
    let rules = |gold: u64| {
        let rules = Rules::builder().default(policy(&["10/min"]));
        rules.tier("gold", Limit::per_minute(gold).unwrap()).build().unwrap()
    };
    replace(&limiter, rules(100), NOW);
    assert!(gold.is_known());
    assert_eq!(gold.try_acquire_at("k", 1, NOW).remaining(), 89);
    replace(&limiter, rules(1_000), NOW);
    assert_eq!(gold.try_acquire_at("k", 10, NOW).remaining(), 880);
    replace(&limiter, policy(&["10/min"]), NOW);
    assert!(!gold.is_known());
    let all = gold.try_acquire_all_at(&[("k", 1)], NOW).unwrap();
    assert_eq!((all.remaining(), limiter.stats().unknown_tier), (7, 2));
}

/// What was decided by rules that are replaced has no policy any more, and never that of others.
#[test]
fn decisions_name_their_own_rules() {
    let limiter = limiter(&["10/min"]);
    let before = limiter.try_acquire_at("k", 11, NOW);
    assert_eq!(limiter.limit_of(&before).unwrap().tokens(), 10);
    for round in 2..6 {
        replace(&limiter, policy(&["20/min"]), NOW);
        let now = limiter.try_acquire_at("k", 21, NOW);
        assert_eq!((now.generation(), limiter.limit_of(&now).unwrap().tokens()), (round, 20));
        assert_eq!(limiter.policy_of(&before), None);
    }
    let denied = [("default".to_owned(), 5)];
    assert_eq!(limiter.stats().denied_by_policy, denied, "and a name keeps its count");
}

/// What the store was not built for is refused, says what it was built for, and changes nothing.
#[test]
fn what_does_not_fit_is_refused() {
    let limiter = Limiter::builder(policy(&["10/min"])).max_keys(10_000).build().unwrap();
    assert!(limiter.try_acquire_at("k", 3, NOW).is_allowed());
    let wide = Rules::builder().default(policy(&["5/min"])).tier("t", policy(&["1/s", "2/min"]));
    let on_trial =
        Rules::builder().default(policy(&["5/min"])).default(policy(&["2/min"]).shadow());
    for (rules, expected) in [
        (wide.build().unwrap(), "the number of limits is 2, expected at most 1"),
        (on_trial.build().unwrap(), "the number of limits is 2, expected at most 1"),
        (policy(&["5/min sliding-log"]).into(), "max_log_entries is 0, expected at least 1"),
    ] {
        let fault = limiter.set_rules_at(rules, NOW).unwrap_err();
        assert!(fault.to_string().starts_with(expected), "{fault}");
        let decision = limiter.peek_at("k", 0, NOW);
        assert_eq!((decision.remaining(), decision.generation()), (7, 1));
    }
    let wide = Limiter::builder(policy(&["10/min"])).max_limits(2).build().unwrap();
    replace(&wide, policy(&["1/s", "2/min"]), NOW);
}

/// Under `share` each policy has a state of its own; it goes along with the policy's name, and there are
/// only so many.
#[test]
fn shared_states_go_along() {
    let full = |specs: &[&str]| {
        let builder = Limiter::builder(policy(specs)).max_keys(1).max_limits(2).max_log_entries(50);
        let limiter = builder.overflow(Overflow::Share).build().unwrap();
        assert!(limiter.try_acquire_at("owner", 1, NOW).is_allowed());
        limiter
    };
    for other in
        [&["100/day"][..], &["100/day fixed-window"], &["100/day sliding-log"], &["1/s", "100/day"]]
    {
        let limiter = full(&["10/day"]);
        assert_eq!(limiter.try_acquire_at("stranger", 5, NOW).remaining(), 5);
        replace(&limiter, policy(other), NOW);
        let peeked = limiter.peek_at("stranger", 1, NOW);
        let left = peeked.remaining();
        assert!(left <= 50, "{other:?}: {left}");
        assert_eq!(limiter.peek_at("stranger", 1, NOW), peeked, "a look changes nothing");
        assert_eq!(limiter.try_acquire_at("stranger", 1, NOW), peeked);
        let all = limiter.try_acquire_all_at(&[("another", 1)], NOW).unwrap();
        assert!(all.remaining() <= left);
        replace(&limiter, policy(&["10/day"]), NOW);
        let all = limiter.try_acquire_all_at(&[("another", 10)], NOW).unwrap();
        assert_eq!((all.is_denied(), all.decision().denial()), (true, Some(Denial::Limit)));
        assert!(limiter.peek_at("stranger", 1, NOW).remaining() <= 5, "{other:?}");
    }
    let limiter = full(&["10/day"]);
    let many = |count: u64| {
        let rules = Rules::builder().default(policy(&["10/day"]));
        let tiers = (0..count).map(|tier| (format!("tier-{tier}"), 1_000 + tier));
        tiers
            .fold(rules, |rules, (name, n)| {
                let policy = Policy::from(Limit::per_day(n).unwrap()).named(&name).unwrap();
                rules.tier(&name, policy)
            })
            .build()
            .unwrap()
    };
    replace(&limiter, many(16), NOW);
    let fault = limiter.set_rules_at(many(17), NOW).unwrap_err();
    assert!(fault.to_string().contains("at most 17, for each of which"), "{fault}");
    assert_eq!(limiter.stats().generation, 2);
    replace(&limiter, many(3), NOW);
    replace(&limiter, many(16), NOW);
}

/// A thousand different rules, with keys that owe under some of them: what nobody owes under is let go.
#[test]
fn a_thousand_rules_leave_nothing_behind() {
    let limiter = Limiter::builder(policy(&["10/s"])).max_keys(10_000).build().unwrap();
    let rules = |round: u64| {
        let tiers = (0..10).map(|tier| (format!("tier-{tier}"), round * 10 + tier + 11));
        let rules = Rules::builder().default(Limit::per_second(round + 10).unwrap());
        let rules = rules.pattern("a:*", Limit::per_minute(round + 10).unwrap());
        tiers
            .fold(rules, |rules, (name, n)| rules.tier(&name, Limit::per_hour(n).unwrap()))
            .build()
            .unwrap()
    };
    let mut held = Vec::new();
    for round in 0..1_000_u64 {
        let now = after(round);
        let kept = measure(|| {
            match round % 2 {
                0 => replace(&limiter, rules(round), now),
                _ => drop(limiter.set_rules_for_new_keys_at(rules(round), now).unwrap()),
            }
            let _ = limiter.try_acquire_at(round, 1, now);
            let _ = limiter.tier("tier-3").try_acquire_at(round + 1, 1, now);
            let _ = limiter.try_acquire_at(("a", round), 1, now);
        });
        held.push(kept.bytes_current);
    }
    let owing = limiter.stats();
    assert!(owing.retired_policies <= 2 * 61 + 3, "{}", owing.retired_policies);
    // The last 200 rounds hold hardly more than those before, each of which had policies of its own.
    let late: i64 = held[800..].iter().sum();
    assert!(late < 1_000, "{late} of {}", held.iter().sum::<i64>());
    // When nobody owes any more, nothing is left.
    replace(&limiter, policy(&["10/s"]), after(10_000_000));
    replace(&limiter, policy(&["10/s"]), after(10_000_001));
    let stats = limiter.stats();
    assert_eq!((stats.retired_policies, stats.occupied), (0, 0));
}

/// The slots of keys that owe nothing are free again, and counted so.
#[test]
fn full_slots_are_let_go() {
    let limiter = limiter(&["10/s"]);
    for key in 0..1_000_u64 {
        assert!(limiter.try_acquire_at(key, 1 + key % 10, NOW).is_allowed());
    }
    assert_eq!(limiter.stats().occupied, 1_000);
    replace(&limiter, policy(&["20/s"]), Nanos::from_millis(1_000_500));
    // Those that spent 1 to 5 of 10 a second have refilled after half a second.
    assert_eq!(limiter.stats().occupied, 500);
    assert_eq!(limiter.peek_at(9_u64, 0, Nanos::from_millis(1_000_500)).remaining(), 10);
}

/// After a full reload every key is under the new rules.
#[test]
fn a_full_reload_reaches_keys_that_were_kept() {
    let limiter = Limiter::new(policy(&["10/day"])).unwrap();
    assert!(limiter.try_acquire_at("k", 5, NOW).is_allowed());
    assert_eq!(limiter.set_rules_for_new_keys_at(policy(&["100/day"]), NOW), Ok(2));
    let kept = limiter.try_acquire_at("k", 1, NOW);
    assert_eq!((kept.generation(), kept.remaining()), (1, 4));
    assert_eq!(limiter.set_rules_at(policy(&["blocked"]), NOW), Ok(3));
    let now = limiter.try_acquire_at("k", 1, NOW);
    assert_eq!((now.generation(), now.is_denied()), (3, true), "blocked, and yet admitted");
}

/// Rules that a limiter was built with can be put in force again.
#[test]
fn rules_that_were_taken_are_taken_again() {
    let rules = Rules::builder()
        .default(policy(&["10/s"]))
        .exact("x", policy(&["blocked"]))
        .exact("x", policy(&["1/s", "2/min"]).shadow())
        .build()
        .unwrap();
    let limiter = Limiter::new(rules.clone()).unwrap();
    assert_eq!(limiter.set_rules_at(rules, NOW), Ok(2));
}

/// In the plain form a key goes on under its limits for the same tier, also when the tier goes.
#[test]
fn a_key_is_kept_when_its_tier_goes() {
    let rules = Rules::builder().default(policy(&["100/day"])).tier("gold", policy(&["10/day"]));
    let limiter = Limiter::new(rules.build().unwrap()).unwrap();
    let gold = limiter.tier("gold");
    assert!(gold.try_acquire_at("k", 5, NOW).is_allowed());
    limiter.set_rules_for_new_keys_at(policy(&["100/day"]), NOW).unwrap();
    let decision = gold.try_acquire_at("k", 1, NOW);
    assert_eq!((decision.generation(), decision.remaining()), (1, 4));
}

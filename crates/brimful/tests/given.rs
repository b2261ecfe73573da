//! Limits that come with the call: interned in a bounded table, whose places are used again when
//! nothing can be owed to them.

mod changes;

use std::time::Duration;

use allocation_counter::measure;
use brimful::{Denial, Limiter, LimiterBuilder, Nanos, Overflow, Policy};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/given.proptest-regressions");
const NOW: Nanos = Nanos::from_secs(1_799_971_200);
/// The field of the error when all places are taken.
const TABLE: Option<&str> = Some("policies given by calls");

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn builder(specs: &[&str]) -> LimiterBuilder {
    Limiter::builder(policy(specs))
}

fn after(secs: u64) -> Nanos {
    NOW + Duration::from_secs(secs)
}

/// Spends, and says how much is left.
fn spend(limiter: &Limiter, key: &str, policy: &Policy, cost: u64, now: Nanos) -> u64 {
    let decision = limiter.try_acquire_with(key, policy, cost, now).unwrap();
    assert!(decision.is_allowed(), "{key}, {cost}: {decision:?}");
    decision.remaining()
}

#[test]
fn every_decision_is_the_models() {
    changes::check("given", 5, REGRESSIONS);
}

#[test]
fn policies_are_interned_by_content() {
    let limiter = builder(&["10/s"]).max_limits(2).build().unwrap();
    for (specs, known) in [
        (&["50/min"][..], 1),
        (&["50 per 60s"], 1),
        (&["50/min fixed-window"], 2),
        (&["a: 50/min"], 3),
        (&["50/min", "70/h"], 4),
        (&["70/h", "50/min"], 5),
        (&["50/min"], 5),
    ] {
        for key in ["a", "b"] {
            spend(&limiter, key, &policy(specs), 1, NOW);
        }
        assert_eq!(limiter.stats().given_policies, known, "{specs:?}");
    }
    // Denials by them are counted under one name; decisions name no policy of the rules.
    let denied = limiter.try_acquire_with("a", &policy(&["50/min"]), 51, NOW).unwrap();
    assert!(denied.is_never() && denied.limit() == Some(0));
    assert!(limiter.policy_of(&denied).is_none() && limiter.limit_of(&denied).is_none());
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied), (14, 1));
    assert_eq!(stats.denied_by_policy, [("given".to_owned(), 1)]);
    assert_eq!((stats.max_given_policies, stats.resolved), (1024, 0));
}

#[test]
fn a_full_table_is_an_error_that_charges_nothing() {
    let limiter = builder(&["10/s"]).max_given(2).build().unwrap();
    spend(&limiter, "k", &policy(&["5/min"]), 1, NOW);
    spend(&limiter, "l", &policy(&["6/min"]), 1, NOW);
    let before = limiter.stats();
    for tokens in 7..100 {
        let third = policy(&[&format!("{tokens}/min")]);
        for key in ["k", "m"] {
            let fault = limiter.try_acquire_with(key, &third, 1, NOW).unwrap_err();
            assert_eq!(fault.field(), TABLE);
            assert_eq!(
                fault.to_string(),
                "policies given by calls is more than 2 in use, expected fewer different ones, or \
                 a limiter built with a larger `max_given`"
            );
        }
    }
    assert_eq!(limiter.stats(), before);
    assert_eq!((before.given_policies, before.max_given_policies), (2, 2));
    // 1 of 5 is 1.2 of 6, and 1 more; those that are interned, and the rules, go on.
    assert_eq!(spend(&limiter, "l", &policy(&["5/min"]), 1, NOW), 3);
    assert!(limiter.try_acquire_at("m", 1, NOW).is_allowed());
    // No key is left under 6/min: its place is free at once.
    assert_eq!(spend(&limiter, "m", &policy(&["7/min"]), 1, NOW), 5);
    assert_eq!(limiter.stats().given_policies, 2);
    let again = limiter.try_acquire_with("k", &policy(&["6/min"]), 1, NOW);
    assert_eq!(again.unwrap_err().field(), TABLE);

    let none = builder(&["10/s"]).max_given(0).build().unwrap();
    let fault = none.try_acquire_with("k", &policy(&["5/min"]), 1, NOW).unwrap_err();
    assert_eq!(fault.field(), TABLE);
    let fault = builder(&["10/s"]).max_given(65_536).build().unwrap_err();
    assert_eq!(fault.to_string(), "max_given is 65536, expected 0 to 65535");
}

#[test]
fn a_policy_must_fit_the_slots_and_the_arena() {
    let limiter = builder(&["10/s", "100/h"]).build().unwrap();
    let fault = limiter.try_acquire_with("k", &policy(&["1/s", "2/min", "3/h"]), 1, NOW);
    assert_eq!(
        fault.unwrap_err().to_string(),
        "the number of limits is 3, expected at most 2, the widest that the limiter was built for \
         (`max_limits`)"
    );
    let fault = limiter.try_acquire_with("k", &policy(&["5/min sliding-log"]), 1, NOW).unwrap_err();
    assert_eq!(fault.field(), Some("max_log_entries"));
    assert!(fault.to_string().contains("at least 1"), "{fault}");
    let stats = limiter.stats();
    assert_eq!((stats.given_policies, stats.occupied, stats.admitted, stats.denied), (0, 0, 0, 0));
    let roomy = builder(&["10/s"]).max_limits(3).max_log_entries(2).build().unwrap();
    assert_eq!(spend(&roomy, "k", &policy(&["1/s", "2/min", "3/h"]), 1, NOW), 0);
    assert_eq!(spend(&roomy, "l", &policy(&["5/min sliding-log"]), 1, NOW), 4);
}

#[test]
fn words_leave_the_state_alone() {
    let limiter = builder(&["10/min"]).max_given(0).build().unwrap();
    assert!(limiter.try_acquire_at("k", 6, NOW).is_allowed());
    let free = limiter.try_acquire_with("k", &Policy::unlimited(), u64::MAX, after(1)).unwrap();
    assert!(limiter.policy_of(&free).is_none(), "it came with the call");
    assert!(free.is_allowed() && free.remaining() == u64::MAX);
    let blocked = limiter.try_acquire_with("k", &Policy::blocked(), 1, after(1)).unwrap();
    assert!(limiter.policy_of(&blocked).is_none(), "it came with the call");
    let look = limiter.try_acquire_with("k", &Policy::unlimited(), 0, after(1)).unwrap();
    assert!(look.is_allowed(), "and is not counted");
    assert_eq!((blocked.denial(), blocked.is_never()), (Some(Denial::Blocked), true));
    assert_eq!(limiter.peek_at("k", 0, NOW).remaining(), 4);
    let stats = limiter.stats();
    assert_eq!((stats.given_policies, stats.admitted, stats.denied, stats.resolved), (0, 2, 1, 1));
}

/// A place is used again when no key owes anything under its policy, and not a nanosecond sooner,
/// whatever its logs; and no reading of another call's makes it sooner.
#[test]
fn a_place_is_used_again_exactly_when_nothing_is_owed_there() {
    for (spec, ms) in [
        ("10/s", 100),
        ("10/min", 6_000),
        ("10/s burst 200", 100),
        ("10/min fixed-window", 60_000),
        ("5/s fixed-window", 1_000),
        ("10/min sliding-log", 60_000),
        ("10/min sliding-window", 120_000),
    ] {
        let builder = builder(&["10/s"]).max_keys(40).max_given(1).max_log_entries(9);
        let limiter = builder.build().unwrap();
        let first = policy(&[spec]);
        let others = [policy(&["3 per 7s"]), policy(&["3 per 7s sliding-log"])];
        let taken = |other: usize, now: Nanos| {
            limiter.try_acquire_with("other", &others[other], 1, now).is_ok()
        };
        let full = NOW + Duration::from_secs(600) + Duration::from_millis(ms);
        let early = Nanos::from_nanos(full.as_nanos() - 1);
        spend(&limiter, "k", &first, 1, after(540));
        spend(&limiter, "l", &first, 1, after(600));
        assert!(!taken(0, early) && !taken(1, early), "{spec}");
        // Readings that lie far behind say nothing of what others owe.
        for stale in [NOW, after(1), after(600)] {
            assert!(!taken(0, stale) && !taken(1, stale), "{spec}: {stale:?}");
        }
        assert!(!taken(0, early), "{spec}");
        let denied = limiter.try_acquire_with("l", &first, first.limits()[0].capacity(), early);
        assert!(denied.unwrap().is_denied(), "{spec}");
        assert!(taken(1, full), "{spec}");
        assert_eq!(limiter.stats().given_policies, 1);
        assert_eq!((limiter.stats().occupied, limiter.stats().log_entries), (1, 1));
        // And the other way about, after the 7 s of its entry.
        let then = full + Duration::from_secs(7);
        let again = |now| limiter.try_acquire_with("k", &first, 1, now).is_ok();
        assert!(!again(Nanos::from_nanos(then.as_nanos() - 1)), "{spec}");
        assert!(again(then), "{spec}");
    }
}

/// One that lags, or whose clock was stepped, forgives nobody what they owe under its policy.
#[test]
fn one_call_that_lags_forgives_nobody() {
    let limiter = builder(&["10/s"]).max_keys(100).max_given(1).build().unwrap();
    let (first, second) = (policy(&["a: 10/h"]), policy(&["b: 1/s"]));
    spend(&limiter, "victim", &first, 10, after(10_000));
    for lag in [1, 15, 9_000] {
        let _ = limiter.try_acquire_with("other", &first, 1, after(10_000 - lag)).unwrap();
        assert!(limiter.try_acquire_with("x", &second, 1, after(10_000)).is_err(), "{lag}");
        assert!(limiter.try_acquire_with("x", &second, 1, after(10_000 - lag)).is_err(), "{lag}");
        let decision = limiter.try_acquire_with("victim", &first, 1, after(10_000)).unwrap();
        assert_eq!(decision.retry_after(), Some(Duration::from_secs(360)), "{lag}");
    }
    // At the end of time, time stands still.
    let end = Nanos::MAX;
    let limiter = builder(&["10/s"]).max_given(1).build().unwrap();
    spend(&limiter, "k", &first, 10, end);
    assert!(limiter.try_acquire_with("x", &second, 1, end).is_err());
}

/// In stores of any size the keys of a place are found when they owe nothing: when every call brings
/// a new policy and half of the places are owed to at any time, none is refused.
#[test]
fn places_of_idle_keys_are_found() {
    for (max_keys, places) in [(4, 2), (100, 3), (1_000, 64), (20_000, 16), (100_000, 200)] {
        for overflow in Overflow::ALL {
            let builder = builder(&["10/s"]).max_keys(max_keys).max_given(places);
            let limiter = builder.overflow(overflow).build().unwrap();
            let live = (places / 2).max(1);
            for n in 0..places * 20 {
                // Each is owed to for a second, `live` of them at a time.
                let policy = policy(&[&format!("{} per {}s", 100 + n, 100 + n)]);
                let now = NOW + Duration::from_nanos(n * 1_000_000_000 / live);
                let decision = limiter.try_acquire_with(n, &policy, 1, now);
                assert!(decision.is_ok(), "{n} of {places}, {max_keys} keys: {decision:?}");
            }
            assert!(limiter.stats().given_policies <= places);
        }
    }
}

/// A key whose policy has gone is as good as new under any other, and never read by the limits of
/// those that have its place.
#[test]
fn a_place_that_comes_again_is_not_mistaken() {
    const KEYS: u64 = 8_000;
    // A million ticks a nanosecond: under other limits such debts would be owed for days.
    let fast = policy(&["1000001 per 1s"]);
    let others = [policy(&["10/s"]), policy(&["11/s"])];
    let limiter = builder(&["12/s"]).max_keys(10_000).max_given(1).build().unwrap();
    for round in 0..4 {
        let now = after(20 * round);
        for key in 0..KEYS {
            let decision = limiter.try_acquire_with(key, &fast, 1_000_001, now).unwrap();
            assert!(decision.is_allowed());
        }
        // Every call that is refused has looked at 1,024 sets.
        let other = &others[usize::from(round % 2 == 1)];
        let now = after(20 * round + 10);
        let refused = (0..9).find(|_| limiter.try_acquire_with("other", other, 1, now).is_ok());
        assert!(refused.unwrap() <= limiter.stats().slots / 4 / 1024, "{refused:?}");
        let capacity = other.limits()[0].tokens();
        assert_eq!(limiter.stats().occupied, 1);
        for key in 0..KEYS {
            match key % 4 {
                0 => assert_eq!(limiter.peek_at(key, 0, now).remaining(), 12),
                1 => {
                    let all = limiter.try_acquire_with(key, other, capacity, now).unwrap();
                    assert!(all.is_allowed(), "{key}: {all:?}");
                }
                2 => assert_eq!(limiter.refund_at(key, 5, now), 0),
                _ => assert!(!limiter.reset(key)),
            }
        }
        let stats = limiter.stats();
        assert_eq!((stats.evicted_forced, stats.forgiven_tokens, stats.given_policies), (0, 0, 1));
        // The next round's first call finds the place of these in use, and looks.
        let now = after(20 * round + 19);
        let refused = (0..9).find(|_| limiter.try_acquire_with("other", &fast, 1, now).is_ok());
        assert!(refused.unwrap() <= limiter.stats().slots / 4 / 1024, "{refused:?}");
    }
}

/// The entries of logs whose keys owe nothing go back to the arena with their place.
#[test]
fn logs_give_their_entries_back_with_their_place() {
    let limiter = builder(&["10/s"])
        .max_keys(2_000)
        .max_limits(3)
        .max_log_entries(10_000)
        .max_given(1)
        .build()
        .unwrap();
    let first = policy(&["a: 9/s", "b: 5/s sliding-log", "c: 4/s sliding-log"]);
    for key in 0..1_000_u64 {
        for ms in 0..3 {
            let now = NOW + Duration::from_millis(ms);
            assert!(limiter.try_acquire_with(key, &first, 1, now).unwrap().is_allowed());
        }
    }
    assert_eq!(limiter.stats().log_entries, 6_000);
    // A look leaves everything where it is.
    assert_eq!(limiter.peek_at(8_u64, 0, after(20)).remaining(), 10);
    assert_eq!(limiter.stats().log_entries, 6_000);
    // A key that changes its limits gives back what it held; one that is new finds the others'.
    assert!(limiter.try_acquire_at(7_u64, 1, after(20)).is_allowed());
    assert_eq!(limiter.stats().log_entries, 6_000 - 6);
    let other = policy(&["d: 3/s sliding-log", "e: 2/s"]);
    assert!(limiter.try_acquire_with("new", &other, 1, after(20)).unwrap().is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.log_entries, stats.occupied, stats.evicted_forced), (1, 2, 0));
    assert!(limiter.try_acquire_at("new", 1, after(20)).is_allowed());
    assert_eq!(limiter.stats().log_entries, 0);
}

/// A store of five slots, as many keys as find no place, and three policies that come with calls.
#[test]
fn full_stores_do_with_given_policies_as_with_others() {
    let given =
        [policy(&["10/min"]), policy(&["a: 20/min", "b: 30/h"]), policy(&["8/min fixed-window"])];
    for overflow in Overflow::ALL {
        let limiter = builder(&["10/s"])
            .max_keys(4)
            .max_limits(2)
            .max_given(3)
            .overflow(overflow)
            .build()
            .unwrap();
        let mut admitted = [0; 3];
        for key in 0..65_u64 {
            let place = usize::try_from(key % 3).unwrap();
            let decision = limiter.try_acquire_with(key, &given[place], 1, NOW).unwrap();
            let full = decision.denial() == Some(Denial::StoreFull);
            assert_eq!(full, overflow == Overflow::Refuse && key >= 5, "{overflow}, {key}");
            admitted[place] += u64::from(decision.is_allowed());
        }
        let stats = limiter.stats();
        assert_eq!((stats.slots, stats.occupied), (5, 5));
        assert_eq!((stats.given_policies, stats.max_given_policies), (3, 3));
        match overflow {
            Overflow::Evict => {
                assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (60, 60));
                assert_eq!(admitted, [22, 22, 21]);
            }
            Overflow::Refuse => assert_eq!((stats.store_full, admitted), (60, [2, 2, 1])),
            // Two, two and one have a slot; the others share what one key has.
            Overflow::Share => assert_eq!((stats.shared, admitted), (60, [12, 22, 9])),
        }
        // Known keys change limits where they are, without a newcomer's trouble.
        if overflow == Overflow::Refuse {
            assert_eq!(spend(&limiter, "none", &Policy::unlimited(), 1, NOW), u64::MAX);
            let changed = limiter.try_acquire_with(0_u64, &given[2], 7, NOW).unwrap();
            assert_eq!((changed.is_allowed(), changed.remaining()), (true, 0));
        }
    }
}

/// The state that strangers share under a policy is as good as new when others have its place.
#[test]
fn a_shared_state_does_not_outlive_its_policy() {
    let limiter =
        builder(&["10/s"]).max_keys(1).max_given(1).overflow(Overflow::Share).build().unwrap();
    assert!(limiter.try_acquire_at("owner", 1, NOW).is_allowed());
    let fast = policy(&["1000001 per 1s"]);
    let shared = limiter.try_acquire_with("stranger", &fast, 1_000_001, NOW).unwrap();
    assert_eq!((shared.remaining(), limiter.stats().shared), (0, 1));
    let other = policy(&["10/s"]);
    assert!(limiter.try_acquire_at("owner", 1, after(11)).is_allowed());
    let shared = limiter.try_acquire_with("stranger", &other, 4, after(11)).unwrap();
    assert_eq!((shared.remaining(), limiter.stats().shared), (6, 2));
    let shared = limiter.try_acquire_with("another", &other, 6, after(11)).unwrap();
    assert_eq!((shared.remaining(), limiter.stats().shared), (0, 3));
}

/// A call by a policy that is known allocates nothing; one that takes a place does, once.
#[test]
fn only_new_policies_allocate() {
    let builder = builder(&["10/s"]).max_keys(40).max_limits(2).max_given(2);
    let limiter = builder.build().unwrap();
    let given = [policy(&["1000/min"]), policy(&["a: 1000/min", "b: 5000/h"])];
    for policy in &given {
        spend(&limiter, "k", policy, 1, NOW);
    }
    let known = measure(|| {
        for call in 0..1_000_usize {
            let key = u64::try_from(call % 10).unwrap();
            let _ = limiter.try_acquire_with(key, &given[call % 2], 1, NOW).unwrap();
            let _ = limiter.try_acquire_at(key, 1, NOW);
        }
    });
    assert_eq!(known.count_total, 0, "{known:?}");
    let third = policy(&["9/min"]);
    let taken = measure(|| drop(limiter.try_acquire_with("k", &third, 1, after(8_000))));
    assert_eq!(limiter.stats().given_policies, 2);
    assert!((1..30).contains(&taken.count_total), "{taken:?}");
}

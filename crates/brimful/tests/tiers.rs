//! Keys that are seen under changing tiers: what they keep, and that nothing is gained by it.

mod changes;

use std::time::Duration;

use brimful::{Denial, Limiter, Nanos, Overflow, Policy, Rules};
use brimful_testkit::trace::SplitMix64;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tiers.proptest-regressions");
/// The beginning of a minute, an hour and a day.
const NOW: Nanos = Nanos::from_secs(1_799_971_200);
const TIERS: [&str; 4] = ["t0", "t1", "t2", "t3"];

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

/// A limiter with a default and up to four tiers.
fn limiter(default: &[&str], tiers: &[&[&str]]) -> Limiter {
    let rules = Rules::builder().default(policy(default));
    let tiers = TIERS.iter().zip(tiers);
    let rules = tiers.fold(rules, |rules, (name, specs)| rules.tier(name, policy(specs)));
    Limiter::new(rules.build().unwrap()).unwrap()
}

fn after(secs: u64) -> Nanos {
    NOW + Duration::from_secs(secs)
}

#[test]
fn every_decision_is_the_models() {
    changes::check("tiers", 0, REGRESSIONS);
}

/// Every pair of algorithms: so much is spent under the first at the beginning of a minute, and so
/// much is left under the second so many seconds later, to a look and to a call; and so much under
/// the first again right after.
#[test]
fn what_is_spent_goes_along() {
    #[rustfmt::skip]
    let table: [(&str, u64, u64, &str, u64, u64); 39] = [
        // The fraction of a bucket, by period and by name.
        ("10/min", 5, 0, "100/min", 50, 5),
        ("10/min", 5, 3, "100/min", 55, 5),
        ("10/min", 10, 0, "100/min", 0, 0),
        ("100/min", 1, 0, "10/min", 9, 99),
        ("100/min", 100, 0, "1/min", 0, 0),
        ("10/min burst 20", 5, 0, "10/min burst 4", 3, 15),
        ("a: 100/min", 25, 0, "a: 8/h", 6, 75),
        ("3/min", 1, 0, "10/min", 6, 2),
        // Neither: the next that is left.
        ("10/min", 5, 0, "100/s", 50, 5),
        ("10/min", 5, 3, "100/h", 55, 5),
        ("a: 10/min", 5, 0, "b: 10/day", 5, 5),
        ("100/min", 50, 0, "10/s", 5, 50),
        // Counts and entries, also above a lower limit.
        ("10/min fixed-window", 5, 30, "100/min fixed-window", 95, 5),
        ("10/min fixed-window", 5, 30, "3/min fixed-window", 0, 5),
        ("a: 10/min fixed-window", 5, 59, "a: 10/h fixed-window", 5, 5),
        ("a: 10/h fixed-window", 5, 60, "a: 10/min fixed-window", 5, 5),
        ("10/min sliding-log", 5, 30, "100/min sliding-log", 95, 5),
        ("10/min sliding-log", 5, 30, "3/min sliding-log", 0, 5),
        ("10/min sliding-log", 5, 60, "3/min sliding-log", 3, 10),
        ("a: 10/h sliding-log", 5, 60, "a: 10/min sliding-log", 5, 5),
        ("a: 10/h sliding-log", 5, 60, "a: 3/min sliding-log", 0, 5),
        ("a: 10/min sliding-window", 5, 60, "a: 3/h sliding-window", 0, 5),
        ("10/min sliding-window", 5, 30, "100/min sliding-window", 95, 5),
        ("10/min sliding-window", 5, 30, "3/min sliding-window", 0, 5),
        ("10/min sliding-window", 8, 75, "100/min sliding-window", 94, 4),
        ("a: 10/min sliding-window", 5, 75, "a: 10/h sliding-window", 6, 6),
        // The fraction under another algorithm, parts of a token rounded up.
        ("10/min", 5, 3, "100/min fixed-window", 55, 5),
        ("10/min", 5, 3, "100/min sliding-log", 55, 5),
        ("10/min", 5, 3, "100/min sliding-window", 55, 5),
        ("10/min", 5, 3, "3/min fixed-window", 1, 3),
        ("10/min fixed-window", 5, 3, "100/min", 50, 5),
        ("10/min fixed-window", 5, 3, "100/min sliding-log", 50, 5),
        ("10/min fixed-window", 5, 3, "100/min sliding-window", 50, 5),
        ("10/min sliding-log", 5, 59, "100/min", 50, 5),
        ("10/min sliding-log", 5, 59, "100/min fixed-window", 50, 5),
        ("10/min sliding-log", 5, 59, "3/min sliding-window", 1, 3),
        ("10/min sliding-window", 8, 75, "100/min", 40, 4),
        ("10/min sliding-window", 8, 75, "100/min fixed-window", 40, 4),
        ("10/min sliding-window", 8, 75, "3/min sliding-log", 1, 3),
    ];
    for (old, spent, secs, new, left, back) in table {
        let limiter = limiter(&[old], &[&[new]]);
        let what = format!("{spent} of {old}, {secs} s, {new}");
        assert!(limiter.try_acquire_at("k", spent, NOW).is_allowed());
        let (tier, then) = (limiter.tier("t0"), after(secs));
        let before = (limiter.peek_at("k", 0, then), limiter.stats().log_entries);
        assert_eq!(tier.peek_at("k", 0, then).remaining(), left, "{what}: peek");
        assert_eq!(tier.try_acquire_at("k", 0, then).remaining(), left, "{what}: look");
        assert!(tier.peek_at("k", left + 1, then).is_denied(), "{what}: peek");
        let now = (limiter.peek_at("k", 0, then), limiter.stats().log_entries);
        assert_eq!(now, before, "{what}: looks change nothing");
        // A denial carries, and changes nothing else.
        assert!(tier.try_acquire_at("k", left + 1, then).is_denied(), "{what}");
        assert_eq!(tier.peek_at("k", 0, then).remaining(), left, "{what}: carried");
        assert_eq!(limiter.peek_at("k", 0, then).remaining(), back, "{what}: back");
        assert_eq!(limiter.stats().occupied, 1);
        if left > 0 {
            assert_eq!(tier.try_acquire_at("k", left, then).remaining(), 0, "{what}: all");
        }
    }
}

/// Of several limits each goes on from its namesake, else from one of its period, else from one that
/// is left, the longest first; and decisions name the limit.
#[test]
fn limits_go_on_from_their_like() {
    let old = &["a: 10/s", "b: 10/min", "c: 10/h"];
    let cases: [(&[&str], u64, usize); 6] = [
        (&["a: 300/h", "b: 100/min"], 23, 1),
        (&["x: 100/min"], 23, 0),
        (&["x: 100/min", "b: 1000/day"], 20, 0),
        (&["x: 12/day", "y: 12/day"], 2, 0),
        (&["x: 20/day", "b: 9/day", "y: 20/day"], 2, 1),
        (&["w: 90/day", "x: 90/day", "y: 90/day", "z: 3/day"], 3, 3),
    ];
    for (new, left, place) in cases {
        let limiter = limiter(old, &[new]);
        assert!(limiter.try_acquire_at("k", 8, NOW).is_allowed());
        let decision = limiter.tier("t0").try_acquire_at("k", left + 1, after(2));
        assert_eq!((decision.remaining(), decision.limit()), (left, Some(place)), "{new:?}");
        assert_eq!(decision.denial(), Some(Denial::Limit));
    }
}

/// A raised limit locks nobody out: what waits is admitted no later than it would have been. A lowered
/// one hands nothing out.
#[test]
fn raised_limits_admit_and_lowered_ones_mint_nothing() {
    for algorithm in ["", " fixed-window", " sliding-log", " sliding-window"] {
        let (low, high) = (format!("10/min{algorithm}"), format!("100/min{algorithm}"));
        for spent in 0..=10 {
            let raised = limiter(&[&low], &[&[&high]]);
            assert_eq!(raised.try_acquire_at("k", spent, NOW).remaining(), 10 - spent);
            let left = raised.tier("t0").peek_at("k", 0, NOW).remaining();
            assert!(left >= 10 - spent, "{high}: {left} after {spent}");
            let waits = raised.peek_at("k", 10, NOW).retry_after().unwrap_or_default();
            let then = NOW + waits;
            assert!(raised.tier("t0").peek_at("k", 10, then).is_allowed(), "{high}: {spent}");

            let lowered = limiter(&[&high], &[&[&low]]);
            let _ = lowered.try_acquire_at("k", spent * 10, NOW);
            let left = lowered.tier("t0").peek_at("k", 0, NOW).remaining();
            assert!(left <= 100 - spent * 10, "{low}: {left} after {spent}0");
        }
    }
}

/// Ten thousand changes to and fro cost a key nothing but parts of a tick, which is a nanosecond's
/// refill here or less, and gain it nothing.
#[test]
fn changing_to_and_fro_is_worth_nothing() {
    const MINUTE: u64 = 60_000_000_000;
    // 10 and 100 a minute have as many ticks in a full bucket, so that nothing is rounded. 5 of 7
    // are no whole number of the ticks of 10, and a change may round up by one of these.
    for (high, spent, lost) in [(100, 70, 0), (7, 5, 10_000)] {
        for polls in [false, true] {
            let limiter = limiter(&["10/min"], &[&[&format!("{high}/min")]]);
            let exact = Duration::from_nanos((spent * MINUTE).div_ceil(high));
            let (low, high) = (&limiter, limiter.tier("t0"));
            assert!(high.try_acquire_at("k", spent, NOW).is_allowed());
            // A third of 10's token is refilled in 2 s, in 20,000 steps. Denials change tiers.
            let at = |n: u64| NOW + Duration::from_nanos(n * 100_003);
            for n in 0..10_000 {
                if polls {
                    let _ = (low.peek_at("k", 1, at(2 * n)), high.peek_at("k", 0, at(2 * n)));
                    assert!((2..=3).contains(&low.try_acquire_at("k", 0, at(2 * n)).remaining()));
                }
                assert!(low.try_acquire_at("k", 10, at(2 * n)).is_denied());
                assert!(high.try_acquire_at("k", 99, at(2 * n + 1)).is_denied());
            }
            let reset = low.peek_at("k", 0, at(20_000)).reset_after();
            let exact = exact - at(20_000).since(NOW);
            assert!(reset >= exact, "{reset:?}: gained {:?}", exact - reset);
            assert!(reset - exact <= Duration::from_nanos(lost), "lost {:?}", reset - exact);
        }
    }
    // Windows round nothing.
    for algorithm in ["fixed-window", "sliding-log", "sliding-window"] {
        let limiter =
            limiter(&[&format!("10/min {algorithm}")], &[&[&format!("100/min {algorithm}")]]);
        let high = limiter.tier("t0");
        assert!(high.try_acquire_at("k", 37, NOW).is_allowed());
        let before = high.peek_at("k", 0, NOW);
        for _ in 0..5_000 {
            assert!(limiter.try_acquire_at("k", 1, NOW).is_denied());
            assert!(high.try_acquire_at("k", 64, NOW).is_denied());
        }
        assert_eq!(high.peek_at("k", 0, NOW), before, "{algorithm}");
        assert_eq!(limiter.stats().log_entries, u64::from(algorithm == "sliding-log"));
    }
}

/// Whatever the tiers and the order, the costs admitted in any interval keep to the bound of the
/// largest tier, when all have the same algorithm and period, and buckets no burst.
#[test]
fn any_interval_keeps_to_the_largest_tier() {
    const MINUTE: u64 = 60_000_000_000;
    let mut rng = SplitMix64::new(0x0074_6965_7273);
    let mut intervals = 0;
    for round in 0..60 {
        let algorithm = ["", " fixed-window", " sliding-log", " sliding-window"][round % 4];
        let sizes = [(); 4].map(|()| 1 + rng.below(30));
        let specs = sizes.map(|size| format!("{size}/min{algorithm}"));
        let [default, tiers @ ..] = specs.each_ref().map(|spec| [spec.as_str()]);
        let limiter = limiter(&default, &tiers.each_ref().map(|tier| &tier[..]));
        let largest = sizes.into_iter().max().unwrap();
        let mut now = NOW;
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for _ in 0..600 {
            now = now + Duration::from_nanos(rng.below(4) / 2 * rng.below(MINUTE / 10));
            let cost = 1 + rng.below(5) / 3 * rng.below(largest);
            let tier = rng.below(4);
            let decision = match TIERS.get(usize::try_from(tier).unwrap()).filter(|_| tier < 3) {
                Some(tier) => limiter.tier(tier).try_acquire_at("k", cost, now),
                None => limiter.try_acquire_at("k", cost, now),
            };
            if decision.is_allowed() {
                admitted.push((now.as_nanos(), cost));
            }
        }
        assert!(admitted.len() > 60);
        for (first, (from, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (to, cost) in &admitted[first..] {
                sum += cost;
                let elapsed = to - from;
                let most = match algorithm {
                    // largest + elapsed * largest / MINUTE, exactly.
                    "" => largest + elapsed * largest / MINUTE,
                    " fixed-window" => largest * (1 + to / MINUTE - from / MINUTE),
                    " sliding-log" => largest * (1 + elapsed / MINUTE),
                    // Its own estimate lets up to twice the limit into a window.
                    _ => 2 * largest * (1 + elapsed / MINUTE),
                };
                assert!(sum <= most, "{specs:?}: {sum} of {most} in {elapsed} ns");
                intervals += 1;
            }
        }
    }
    println!("any_interval_keeps_to_the_largest_tier: {intervals} intervals");
}

/// The rules are asked once for a new key, not at all for the next calls, and once for each change.
#[test]
fn rules_are_asked_once() {
    let rules = Rules::builder()
        .default(policy(&["10/min"]))
        .exact("own", policy(&["20/min"]))
        .tier("gold", policy(&["100/min"]))
        .tier("free", Policy::unlimited())
        .pattern("p:*", policy(&["30/min"]));
    let limiter = Limiter::new(rules.build().unwrap()).unwrap();
    let gold = limiter.tier("gold");
    let resolved = || limiter.stats().resolved;
    for (key, each) in [("k", 1), ("p:1", 1), ("own", 0)] {
        let before = resolved();
        assert!(limiter.try_acquire_at(key, 1, NOW).is_allowed());
        assert_eq!(resolved(), before + 1, "{key}: new");
        for _ in 0..100 {
            let _ = limiter.try_acquire_at(key, 1, NOW);
            let _ = limiter.peek_at(key, 1, NOW);
            let _ = limiter.try_acquire_at(key, u64::MAX, NOW);
            let _ = limiter.refund_at(key, 1, NOW);
        }
        assert_eq!(resolved(), before + 1, "{key}: known");
        for round in 0..10 {
            for _ in 0..10 {
                let _ = gold.try_acquire_at(key, 1, NOW);
            }
            assert_eq!(resolved(), before + 1 + each * (2 * round + 1), "{key}: gold");
            for _ in 0..10 {
                let _ = limiter.tier("nobody's").try_acquire_at(key, 1, NOW);
                let _ = limiter.try_acquire_at(key, 1, NOW);
            }
            assert_eq!(resolved(), before + 1 + each * (2 * round + 2), "{key}: none");
        }
        // Gold's limits are left when the key is seen without them, not by looks.
        let before = resolved();
        assert!(limiter.reset(key));
        let _ = gold.try_acquire_at(key, 1, NOW);
        assert_eq!(resolved(), before + 1, "{key}: new again");
    }
    // A hundred of each key above; a request is an acquire that costs something.
    assert_eq!(limiter.stats().unknown_tier, 300);
    let unknown = limiter.tier("nobody's");
    assert!(!unknown.is_known() && gold.is_known());
    let _ = (unknown.peek_at("k", 1, NOW), unknown.try_acquire_at("k", 0, NOW));
    assert_eq!(limiter.stats().unknown_tier, 300);
    // A word leaves the state where it is.
    assert!(limiter.tier("free").try_acquire_at("k", u64::MAX, NOW).is_allowed());
    assert_eq!(gold.peek_at("k", 0, NOW).remaining(), 99);
}

/// A peek answers as the call that follows it, whatever is full and whatever tier it was before.
#[test]
fn a_peek_by_another_tier_is_the_answer_of_the_call() {
    let plain: [&[&str]; 3] =
        [&["2/s", "a: 30/min"], &["5/s fixed-window"], &["a: 9/min", "7/s sliding-window"]];
    let logged: [&[&str]; 3] = [
        &["2/s", "a: 30/min sliding-log"],
        &["5/s sliding-log", "b: 30/min sliding-log"],
        &["a: 9/min", "7/s sliding-window", "30/h"],
    ];
    let mut met_full = 0;
    for (specs, entries) in [(plain, 1), (logged, 3), (logged, 40), (logged, 5_000)] {
        for overflow in Overflow::ALL {
            for max_keys in [1, 4, 60, 900] {
                let rules = Rules::builder().default(policy(specs[0]));
                let rules = rules.tier("t0", policy(specs[1])).tier("t1", policy(specs[2]));
                let builder = Limiter::builder(rules.build().unwrap()).max_keys(max_keys);
                let builder = builder.max_log_entries(entries).overflow(overflow);
                met_full += peeks_are_calls(&builder.build().unwrap(), max_keys);
            }
        }
    }
    assert!(met_full > 20_000, "only {met_full} calls met a full store");
}

/// Peeks before each of many calls, and counts those that met a full store.
fn peeks_are_calls(limiter: &Limiter, max_keys: u64) -> u64 {
    let tiers = [limiter.tier("t0"), limiter.tier("t1"), limiter.tier("none")];
    let mut rng = SplitMix64::new(max_keys);
    let mut now = NOW;
    for _ in 0..5_000 {
        let key = rng.below(max_keys * 2);
        let cost = [1, 2, 3, 0, u64::MAX][usize::try_from(rng.below(5)).unwrap()];
        now = now + Duration::from_millis(rng.below(40) / max_keys.min(20));
        let back = if rng.below(20) == 0 { rng.below(400_000_000_000) } else { 0 };
        let reading = Nanos::from_nanos(now.as_nanos() - back);
        let tier = tiers[usize::try_from(rng.below(3)).unwrap()];
        let peeked = tier.peek_at(key, cost, reading);
        let decided = tier.try_acquire_at(key, cost, reading);
        // The hints of a full store are its best guess, and it was changed by the call.
        let full = [peeked, decided].map(|decision| decision.denial() == Some(Denial::StoreFull));
        if full != [true, true] {
            assert_eq!(peeked, decided, "{max_keys} keys: {:?}", limiter.stats());
        }
        assert!(cost > 0 || decided.is_allowed(), "a cost of 0 is a look");
    }
    let stats = limiter.stats();
    stats.store_full + stats.evicted_forced + stats.shared
}

/// Whatever is spent under one tier is owed under the other: to and fro at one time gains nothing,
/// also between algorithms, through limits that are smaller or shorter, and by calls that can never
/// be admitted.
#[test]
fn changing_to_and_fro_in_an_instant_admits_no_more_than_one_limit() {
    let kinds = ["", " fixed-window", " sliding-log", " sliding-window"];
    for (one, other) in [("100/min", "10/min"), ("100/day", "10/s"), ("100/h", "700/h")] {
        for (default, gold) in kinds.iter().flat_map(|one| kinds.map(|other| (*one, other))) {
            for cost in [1, 9, u64::MAX] {
                let specs = [format!("{one}{default}"), format!("{other}{gold}")];
                let limiter = limiter(&[&specs[0]], &[&[&specs[1]]]);
                let mut admitted = 0;
                // Ten seconds that bring less than a token of a day's, and 17 of a minute's.
                for round in 0..20 {
                    let now = NOW + Duration::from_millis(500 * round);
                    let _ = limiter.tier("t0").try_acquire_at("k", cost, now);
                    while limiter.try_acquire_at("k", 1, now).is_allowed() {
                        admitted += 1;
                    }
                }
                let refilled = if one == "100/min" { 17 } else { 1 };
                assert!(admitted <= 100 + refilled, "{specs:?}: {admitted}");
            }
        }
    }
}

//! Limits that change under a key: what was spent stays spent.

use brimful::{Algorithm, Limiter, Nanos, Policy, Rules};

use crate::{START, limit, secs};

/// A key spends under one limit and is then asked for under another, which comes with the call, or
/// with a tier: what is left.
fn left_after(before: &Policy, spent: u64, after: &Policy, now: Nanos) -> u64 {
    let rules = Rules::builder().default(before.clone()).tier("other", after.clone());
    let limiter = Limiter::new(rules.build().expect("two policies")).expect("a small limiter");
    for key in ["with", "tier"] {
        assert!(limiter.try_acquire_at(key, spent, START).is_allowed());
    }
    let with = limiter.try_acquire_with("with", after, 0, now).expect("room for one policy");
    let tier = limiter.tier("other").try_acquire_at("tier", 0, now);
    assert_eq!(with.remaining(), tier.remaining());
    with.remaining()
}

/// Raised or lowered, the same fraction is owed by a bucket, and windows and logs keep their counts;
/// only the new limit is in force.
#[test]
fn a_changed_limit_keeps_what_was_spent() {
    let rows = [
        // Case 75: 3 of 16 are used, then a hundred times the rate: 13 are left, and the next
        // call leaves 12.
        (75, "10 per 20s burst 16", 3, "1000 per 20s burst 16", START, 13),
        // Case 179: the 10 a minute become 20: 8 of 10 used are 16 of 20.
        (179, "10 per 60s", 8, "20 per 60s", START, 4),
        // Case 59: at 2 s, in saturated demand, 10/s becomes 20/s: no fresh burst.
        (59, "10/s", 10, "20/s", START, 0),
    ];
    for (case, before, spent, after, now, left) in rows {
        let (before, after) = (limit(before).into(), limit(after).into());
        assert_eq!(left_after(&before, spent, &after, now), left, "case {case}");
    }
    for algorithm in Algorithm::ALL {
        let of = |spec: &str| Policy::from(limit(&format!("{spec} {algorithm}")));
        let (low, high) = (of("10/min"), of("20/min"));
        let (raised, lowered) = match algorithm {
            Algorithm::TokenBucket => (4, 2),
            // 8 of 20, and 8 of 10.
            _ => (12, 2),
        };
        assert_eq!(left_after(&low, 8, &high, START), raised, "case 179: {algorithm}");
        let spent = if algorithm == Algorithm::TokenBucket { 16 } else { 8 };
        assert_eq!(left_after(&high, spent, &low, START), lowered, "case 179: {algorithm}");
    }
}

/// Changed every second under saturated demand, a limit admits what the larger of the two would
/// have, and no more.
#[test]
fn changing_to_and_fro_gains_nothing() {
    for algorithm in Algorithm::ALL {
        let of = |spec: &str| Policy::from(limit(&format!("{spec} {algorithm}")));
        let (low, high) = (of("10/min"), of("20/min"));
        let limiter = Limiter::new(low.clone()).expect("a small limiter");
        let mut admitted = 0;
        // A whole minute, from its beginning on.
        for second in 0..60 {
            let policy = if second % 2 == 0 { &low } else { &high };
            for _ in 0..30 {
                let decision = limiter.try_acquire_with("k", policy, 1, secs(second));
                admitted += u64::from(decision.expect("room for two").is_allowed());
            }
        }
        // 20 at once, and a third of one each second.
        let most = if algorithm == Algorithm::TokenBucket { 20 + 59 / 3 } else { 20 };
        assert!(admitted <= most, "case 59: {algorithm}: {admitted}");
    }
}

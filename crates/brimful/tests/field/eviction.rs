//! What is forgotten: only what owes nothing, and what else must go is counted.

use std::time::Duration;

use brimful::{Limiter, LimiterBuilder, Nanos, Overflow, Policy, Rules};

use crate::{START, limit, ms, secs};

/// A store for twenty keys in which strangers come and go, ten of them owing at any time, and one
/// key has a limit of its own.
struct Churn {
    limiter: Limiter,
    strangers: u64,
}

impl Churn {
    fn around(spec: &str, overflow: Overflow) -> Self {
        let rules = Rules::builder().default(limit("1/s")).exact("victim", limit(spec)).build();
        let builder = Limiter::builder(rules.expect("two policies")).max_keys(20);
        let limiter = builder.max_log_entries(2_000).overflow(overflow).build();
        Self { limiter: limiter.expect("a small limiter"), strangers: 0 }
    }

    /// Strangers call, ten a second, until `now`.
    fn until(&mut self, now: Nanos) {
        while ms(self.strangers * 100) <= now {
            let arrival = ms(self.strangers * 100);
            let decision = self.limiter.try_acquire_at(self.strangers, 1, arrival);
            assert!(decision.is_allowed(), "strangers have room");
            self.strangers += 1;
        }
    }
}

/// A key spends all at second 0, others come and go, and it calls again: denied, with the wait
/// that it would have been told had nobody else been there.
#[test]
fn a_debt_is_kept_until_it_is_paid() {
    let rows = [
        (133, "1 per 1000s", 301, 699),
        (134, "5/h", 181, 720 - 181),
        (134, "5/h fixed-window", 181, 3_600 - 181),
        (134, "5/h sliding-log", 181, 3_600 - 181),
        (134, "5/h sliding-window", 181, 3_600 + 720 - 181),
    ];
    for overflow in Overflow::ALL {
        for (case, spec, later, wait) in rows {
            let mut churn = Churn::around(spec, overflow);
            let all = limit(spec).capacity();
            assert!(churn.limiter.try_acquire_at("victim", all, START).is_allowed());
            churn.until(secs(later));
            let denied = churn.limiter.try_acquire_at("victim", 1, secs(later));
            let story = format!("case {case}: {spec}, {overflow}");
            assert_eq!(denied.retry_after(), Some(Duration::from_secs(wait)), "{story}");
            let stats = churn.limiter.stats();
            assert_eq!(stats.evicted_forced, 0, "{story}");
            assert!(stats.evicted_lossless > 1_000, "{story}: others were forgotten");
        }
    }
}

/// How many pass in each of some spells of a caller with an even pace, while others come and go.
#[test]
fn a_busy_key_is_not_renewed() {
    let hour = |second: u64| second / 3_600;
    let minute = |second: u64| second / 60;
    let every = |spacing_ms: u64, calls: u64| (0..calls).map(move |k| k * spacing_ms);
    // Evenly 92 a minute, in whole milliseconds, for five minutes.
    let paced = || (0..460).map(|k| k * 60_000 / 92);
    check(135, "10/h", every(20_000, 181), hour, &[19, 1]);
    check(135, "10/h fixed-window", every(20_000, 180), hour, &[10]);
    check(135, "10/h sliding-log", every(20_000, 180), hour, &[10]);
    check(138, "60/min fixed-window", paced(), minute, &[60, 60, 60, 60, 60]);
    check(138, "60/min", paced(), minute, &[92, 87, 60, 60, 60]);
}

fn check(
    case: u32,
    spec: &str,
    calls: impl Iterator<Item = u64>,
    spell: impl Fn(u64) -> u64,
    expected: &[u64],
) {
    let mut churn = Churn::around(spec, Overflow::Refuse);
    let mut passed = vec![0; expected.len()];
    for call in calls {
        churn.until(ms(call));
        let allowed = churn.limiter.try_acquire_at("victim", 1, ms(call)).is_allowed();
        passed[usize::try_from(spell(call / 1_000)).expect("few spells")] += u64::from(allowed);
    }
    assert_eq!(passed, expected, "case {case}: {spec}");
    assert!(churn.limiter.stats().evicted_lossless > 1_000, "case {case}: others were forgotten");
}

/// Case 35: a newcomer whose reading lies 5 ns before a live key's last change: its age is 0, not
/// 584 years.
#[test]
fn a_newcomer_with_an_earlier_reading_takes_no_live_slot() {
    let (ahead, behind) = (Nanos::from_nanos(1_000_000_005), Nanos::from_nanos(1_000_000_000));
    for spec in ["10/min", "10/min fixed-window", "10/min sliding-log", "10/min sliding-window"] {
        for (overflow, newcomers) in [(Overflow::Refuse, 200_u64), (Overflow::Evict, 200)] {
            let builder = Limiter::builder(limit(spec)).max_keys(4).overflow(overflow);
            let limiter = builder.build().expect("a small limiter");
            assert!(limiter.try_acquire_at("live", 10, ahead).is_allowed());
            for newcomer in 0..newcomers {
                let _ = limiter.try_acquire_at(newcomer, 1, behind);
            }
            let decision = limiter.try_acquire_at("live", 1, ahead);
            assert!(decision.is_denied(), "case 35: {spec}, {overflow}: a full bucket");
            assert_eq!(limiter.stats().evicted_lossless, 0, "case 35: {spec}, {overflow}");
        }
    }
}

/// Case 128: a short limit and a long one in one store, as two keys and as one: what the short one
/// has forgotten is no business of the long one's.
#[test]
fn limits_in_one_store_keep_their_own_pace() {
    for algorithm in brimful::Algorithm::ALL {
        let short = limit(&format!("10/s {algorithm}"));
        let long = limit(&format!("30/h {algorithm}"));
        let both = Policy::new([short.clone(), long.clone()]).expect("two limits");
        let rules = Rules::builder().default(short).exact("B", long).exact("both", both).build();
        let builder = Limiter::builder(rules.expect("three policies"));
        let limiter = builder.max_keys(4).build().expect("a small limiter");
        let mut of_b = Vec::new();
        for round in 0..10 {
            for key in ["A", "both"] {
                let decision = limiter.try_acquire_at(key, 1, ms(round * 250));
                assert!(decision.is_allowed(), "case 128: {algorithm}: {key}");
            }
            of_b.push(limiter.try_acquire_at("B", 1, ms(round * 250)).remaining());
        }
        assert_eq!(of_b, (20..30).rev().collect::<Vec<_>>(), "case 128: {algorithm}");
        // The short limit is as good as new each time; the long one has twenty left.
        for (cost, now) in [(10, secs(20)), (10, secs(40))] {
            assert!(
                limiter.try_acquire_at("both", cost, now).is_allowed(),
                "case 128: {algorithm}"
            );
        }
        let denied = limiter.try_acquire_at("both", 1, secs(60));
        assert_eq!(denied.limit(), Some(1), "case 128: {algorithm}");
    }
}

/// More keys that owe than there is room for. Whatever is told to happen then, no more is admitted
/// than the slots are worth, and what was forgiven, which is counted.
#[test]
fn a_flood_gives_nobody_an_uncounted_burst() {
    // Case 129: a thousand keys of 20, one of which is drained, and 1,001 that come after it.
    // Case 131: three keys of 10, and ten that come after them and want all.
    for (case, keys, capacity, newcomers, cost) in
        [(129, 1_000, 20, 1_001, 1), (129, 1_000, 20, 5_000, 1), (131, 3, 10, 10, 10)]
    {
        for overflow in Overflow::ALL {
            let spec = format!("{capacity}/h");
            let builder: LimiterBuilder = Limiter::builder(limit(&spec)).max_keys(keys);
            let limiter = builder.overflow(overflow).build().expect("a small limiter");
            let take = |key: (&str, u64), cost| {
                let allowed = limiter.try_acquire_at(key, cost, START).is_allowed();
                if allowed { cost } else { 0 }
            };
            let mut admitted = take(("victim", 0), capacity);
            admitted += (1..keys).map(|key| take(("old", key), cost)).sum::<u64>();
            admitted += (0..newcomers).map(|key| take(("new", key), cost)).sum::<u64>();
            let stats = limiter.stats();
            let story = format!("case {case}: {overflow}: {admitted} admitted, {stats:?}");
            // One more capacity for all that share.
            let worth = (stats.slots + 1) * capacity;
            assert!(admitted <= worth + stats.forgiven_tokens, "{story}");
            if overflow != Overflow::Evict {
                assert_eq!((stats.evicted_forced, stats.forgiven_tokens), (0, 0), "{story}");
            }
            if cost < capacity || overflow != Overflow::Evict {
                assert_eq!(take(("victim", 0), 1), 0, "{story}: the victim has a fresh burst");
            }
        }
    }
}

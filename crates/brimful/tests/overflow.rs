//! Full stores: what a peek says of them, what threads and wrong clocks do to them, and how they
//! recover.

use std::thread;
use std::time::Duration;

use brimful::{Denial, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Rules};
use brimful_testkit::trace::SplitMix64;

const NOW: Nanos = Nanos::from_secs(1_800_000_000);
const DAY: Duration = Duration::from_secs(86_400);

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn at_ms(ms: u64) -> Nanos {
    NOW + Duration::from_millis(ms)
}

/// A peek answers as the call that follows it, whatever is full.
#[test]
fn a_peek_is_the_call_that_follows() {
    let logs = || policy(&["5/s sliding-log", "10/min burst 7", "30/min sliding-log"]);
    let mut met_full = 0;
    for overflow in Overflow::ALL {
        for (max_keys, entries) in [(1, 40), (4, 6), (60, 40), (200, 60), (900, 300), (900, 9_000)]
        {
            let rules = Rules::builder()
                .default(logs())
                .exact(1_u64, policy(&["3/day"]))
                .exact(2_u64, Policy::unlimited());
            let limiter = Limiter::builder(rules.build().unwrap())
                .max_keys(max_keys)
                .max_log_entries(entries)
                .overflow(overflow)
                .build()
                .unwrap();
            let mut rng = SplitMix64::new(max_keys);
            let mut now = NOW;
            for _ in 0..10_000 {
                let key = rng.below(max_keys * 2);
                let cost = [1, 2, 3, 0, u64::MAX][usize::try_from(rng.below(5)).unwrap()];
                now = now + Duration::from_millis(rng.below(40) / max_keys.min(20));
                let back = if rng.below(20) == 0 { rng.below(400_000_000_000) } else { 0 };
                let reading = Nanos::from_nanos(now.as_nanos() - back);
                let peeked = limiter.peek_at(key, cost, reading);
                let decided = limiter.try_acquire_at(key, cost, reading);
                assert_eq!(peeked, decided, "{overflow}, {max_keys} keys, {entries} entries");
            }
            let stats = limiter.stats();
            met_full += stats.store_full + stats.evicted_forced + stats.shared;
        }
    }
    assert!(met_full > 10_000, "only {met_full} calls met a full store");
}

/// Threads that replace keys in a store with as many owing keys as it was built for: none is
/// refused, and none is forgotten.
#[test]
fn racing_newcomers_find_a_slot() {
    const THREADS: u64 = 4;
    const REPLACED: u64 = 60_000;
    for overflow in [Overflow::Refuse, Overflow::Evict] {
        for max_keys in [820_u64, 10_000] {
            let builder = Limiter::builder(Limit::per_day(1).unwrap()).max_keys(max_keys);
            let limiter = builder.overflow(overflow).build().unwrap();
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let limiter = &limiter;
                    scope.spawn(move || {
                        let mut next = thread << 40;
                        let mut spend = || {
                            next += 1;
                            assert!(limiter.try_acquire_at(next, 1, NOW).is_allowed(), "no slot");
                            next
                        };
                        let mut live: Vec<u64> = (0..max_keys / THREADS).map(|_| spend()).collect();
                        let mut rng = SplitMix64::new(thread);
                        for _ in 0..REPLACED {
                            let place = rng.below(max_keys / THREADS);
                            let key = &mut live[usize::try_from(place).unwrap()];
                            assert!(limiter.reset(*key), "a key was forgotten");
                            *key = spend();
                        }
                    });
                }
            });
            let stats = limiter.stats();
            assert_eq!((stats.store_full, stats.evicted_forced), (0, 0), "{overflow}");
            assert_eq!(stats.occupied, max_keys / THREADS * THREADS);
        }
    }
}

/// A clock that was ahead and is set right: keys that it left owing in the future refill once they
/// are in a newcomer's way, and the hint that the newcomer gets is true.
#[test]
fn a_clock_set_right_frees_slots() {
    for specs in [&["10/s"][..], &["10/s sliding-log"], &["10/s fixed-window", "20/min burst 10"]] {
        let builder = Limiter::builder(policy(specs)).max_keys(4).overflow(Overflow::Refuse);
        let limiter = builder.build().unwrap();
        for key in 0..5_u64 {
            assert!(limiter.try_acquire_at(key, 10, NOW + DAY).is_allowed());
        }
        let refused = limiter.try_acquire_at("new", 1, NOW);
        assert_eq!(refused.denial(), Some(Denial::StoreFull));
        let wait = refused.retry_after().unwrap();
        assert!(wait < Duration::from_secs(61), "{specs:?}: {wait:?}");
        assert!(limiter.try_acquire_at("new", 1, NOW + wait).is_allowed(), "{specs:?}");
        // The others kept their debts until then.
        let early = NOW + (wait - Duration::from_nanos(1));
        assert!(limiter.peek_at("other", 1, early).is_denied());
    }
}

/// A key that is called by a stepped clock while the arena is full keeps the ages of its entries.
#[test]
fn ages_are_kept_when_runs_are_wanted_by_a_stepped_clock() {
    let limiter = Limiter::builder(policy(&["3 per 10s sliding-log", "5 per 20s sliding-log"]))
        .max_keys(4)
        .max_log_entries(5)
        .build()
        .unwrap();
    let ahead = NOW + DAY;
    // One entry in each log, five seconds before the key's last change.
    assert!(limiter.try_acquire_at("a", 1, ahead).is_allowed());
    assert!(limiter.try_acquire_at("a", 1, ahead + Duration::from_secs(5)).is_allowed());
    assert_eq!(limiter.refund_at("a", 1, ahead + Duration::from_secs(5)), 1);
    assert!(limiter.try_acquire_at("b", 1, ahead + Duration::from_secs(5)).is_allowed());
    assert_eq!(limiter.stats().log_entries, 4);
    // Two more are wanted, and one is free: "b" is forgotten for them.
    assert!(limiter.try_acquire_at("a", 1, NOW).is_allowed());
    assert_eq!(limiter.stats().evicted_forced, 1);
    // The entry of age 5 s has 1 s to go, four seconds later.
    let denied = limiter.try_acquire_at("a", 2, at_ms(4_000));
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
    assert!(limiter.try_acquire_at("a", 2, at_ms(5_000)).is_allowed());
}

/// What a wrong clock said of a flood is forgotten with it.
#[test]
fn a_flood_in_the_future_is_no_flood_now() {
    // 9,500 owing keys in a store for 10,000, by time alone.
    let limit = Limit::new(1, Duration::from_secs(9_500)).unwrap();
    let limiter = Limiter::builder(limit).max_keys(10_000).build().unwrap();
    let ahead = NOW + 365 * 40 * DAY;
    for key in 0..40_000_u64 {
        let _ = limiter.try_acquire_at(key, 1, ahead);
    }
    // Every key that is in the store is called once by the right clock.
    for key in (0..40_000_u64).filter(|key| limiter.peek_at(*key, 1, ahead).is_denied()) {
        let _ = limiter.try_acquire_at(key, 1, NOW);
    }
    let before = limiter.stats().evicted_forced;
    for newcomer in 0..50_000_u64 {
        let now = NOW + Duration::from_secs(20_000 + newcomer);
        assert!(limiter.try_acquire_at(("new", newcomer), 1, now).is_allowed());
    }
    assert_eq!(limiter.stats().evicted_forced, before);
}

/// Entries expire and are found again while a flood goes on.
#[test]
fn a_flood_does_not_keep_expired_entries() {
    let logged = policy(&["10/s sliding-log", "1000/day"]);
    let rules = Rules::builder().default(policy(&["1/day"])).pattern("logged:*", logged);
    let builder = Limiter::builder(rules.build().unwrap()).max_keys(820).max_log_entries(401);
    let limiter = builder.overflow(Overflow::Refuse).build().unwrap();
    for key in 0..40_u64 {
        for us in 0..10 {
            let at = NOW + Duration::from_micros(us);
            assert!(limiter.try_acquire_at(("logged", key), 1, at).is_allowed());
        }
    }
    assert!(limiter.try_acquire_at(("logged", 40_u64), 1, NOW).is_allowed());
    assert_eq!(limiter.stats().log_entries, 401);
    for key in 0..20_000_u64 {
        let _ = limiter.try_acquire_at(key, 1, at_ms(2));
    }
    for call in 0..300_u64 {
        let at = at_ms(600_000 + call * 2_000);
        assert!(limiter.try_acquire_at(("logged", 40_u64), 1, at).is_allowed(), "call {call}");
    }
}

/// The log that strangers share gives its expired entries back to the others.
#[test]
fn shared_logs_give_their_entries_back() {
    let builder = Limiter::builder(policy(&["1000/s sliding-log"])).max_keys(4);
    let limiter = builder.overflow(Overflow::Share).build().unwrap();
    for key in 0..1_000_u64 {
        let _ = limiter.try_acquire_at(key, 1, NOW + Duration::from_micros(key));
    }
    for key in 0..5_u64 {
        for ms in 0..3 {
            assert!(limiter.try_acquire_at(key, 1, at_ms(3_600_000 + ms)).is_allowed());
        }
    }
}

/// The promise of `max_log_entries` for one and for many logs a key: with S entries, Z sets and
/// S >= 2 Z, fewer than (S - Z) / 2 unexpired ones never fill the arena.
#[test]
fn entries_are_not_used_up_below_the_promise() {
    for logs in [1_u64, 8] {
        let specs: Vec<String> = (0..logs).map(|n| format!("l{n}: 100/s sliding-log")).collect();
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let entries = 2_500;
        let limiter = Limiter::builder(policy(&specs))
            .max_keys(4_000)
            .max_log_entries(entries)
            .overflow(Overflow::Refuse)
            .build()
            .unwrap();
        let sets = limiter.stats().slots / 4;
        assert_eq!(sets, 1_250);
        // As many keys a second as the promise allows, each seen once.
        let keys = ((entries - sets) / 2 - 1) / logs;
        for key in 0..keys * 200 {
            let now = NOW + Duration::from_nanos(key * (1_000_000_000 / keys + 1));
            assert!(limiter.try_acquire_at(key, 1, now).is_allowed(), "{:?}", limiter.stats());
        }
    }
}

/// The same where a few idle keys hold them all, which no search of some sets would find.
#[test]
fn entries_of_a_few_idle_keys_are_given_back() {
    let limiter = Limiter::builder(policy(&["6000/min sliding-log"]))
        .max_keys(40_000)
        .max_given(0)
        .max_log_entries(25_000)
        .overflow(Overflow::Refuse)
        .secret([7, 11])
        .build()
        .unwrap();
    assert_eq!(limiter.stats().slots / 4, 12_500);
    for key in 0..20 {
        for call in 0..6_000 {
            let now = NOW + Duration::from_secs(key * 120) + Duration::from_nanos(call);
            let decision = limiter.try_acquire_at(key, 1, now);
            assert!(decision.is_allowed(), "{key}, {call}: {:?}", limiter.stats());
        }
    }
}

#[test]
fn an_arena_too_small_for_one_request_is_refused() {
    let specs = ["5/s sliding-log", "50/min sliding-log"];
    let build = |entries| Limiter::builder(policy(&specs)).max_log_entries(entries).build();
    let fault = build(1).unwrap_err();
    assert_eq!(fault.field(), Some("max_log_entries"));
    assert!(build(2).unwrap().try_acquire_at("k", 1, NOW).is_allowed());
}

/// The hint for a full arena counts the slots that hold entries, not those that are free without.
#[test]
fn the_hint_for_entries_is_never_too_early() {
    let builder =
        Limiter::builder(policy(&["log: 2/s sliding-log", "2/s fixed-window"])).max_keys(4);
    let limiter = builder.max_log_entries(2).overflow(Overflow::Refuse).build().unwrap();
    assert!(limiter.try_acquire_at("idle", 1, NOW).is_allowed());
    for ms in [1_500, 1_501] {
        assert!(limiter.try_acquire_at("busy", 1, at_ms(ms)).is_allowed());
    }
    // "idle" keeps its slot and has no entries; those of "busy" are gone 1 s after its last call.
    let denied = limiter.try_acquire_at("new", 1, at_ms(1_502));
    assert_eq!(denied.denial(), Some(Denial::StoreFull));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(999)));
    assert!(limiter.try_acquire_at("new", 1, at_ms(2_501)).is_allowed());
}

/// Idle logs, however long, are seen to have expired at a glance.
#[test]
fn the_newest_entry_tells_that_a_log_has_expired() {
    let limiter = Limiter::builder(policy(&["65536/h sliding-log"]))
        .max_keys(4)
        .max_log_entries(600_000)
        .build()
        .unwrap();
    for us in 0..50_000 {
        for key in 0..5_u64 {
            let at = NOW + Duration::from_micros(us);
            assert!(limiter.try_acquire_at(key, 1, at).is_allowed());
        }
    }
    let later = NOW + 2 * DAY;
    assert!(limiter.try_acquire_at("new", 1, later).is_allowed());
    let stats = limiter.stats();
    assert_eq!((stats.evicted_lossless, stats.log_entries), (1, 4 * 50_000 + 1));
}

/// Threads, floods, a clock that jumps both ways, panicking never: in the end every key that has a
/// slot has one, and every entry is given back.
#[test]
fn nothing_leaks_under_threads() {
    let specs = ["9/s burst 12", "30/min sliding-window", "20/min sliding-log"];
    for overflow in Overflow::ALL {
        for (max_keys, entries) in [(3_u64, 9), (90, 200), (900, 500)] {
            let clock = ManualClock::new(NOW);
            let own = policy(&["7/s", "5/s sliding-log"]);
            let rules = Rules::builder().default(policy(&specs)).exact(3_u64, own);
            let limiter = Limiter::builder(rules.build().unwrap())
                .max_keys(max_keys)
                .max_log_entries(entries)
                .overflow(overflow)
                .clock(clock.clone())
                .build()
                .unwrap();
            thread::scope(|scope| {
                for thread in 0..8 {
                    let (limiter, clock) = (&limiter, &clock);
                    scope.spawn(move || disturb(limiter, clock, max_keys * 2, thread));
                }
            });
            let mut forgotten = 0;
            let occupied = limiter.stats().occupied;
            for key in 0..max_keys * 2 {
                forgotten += u64::from(limiter.reset(key));
                assert!(!limiter.reset(key), "{overflow}: key {key} had two slots");
            }
            let stats = limiter.stats();
            assert_eq!((forgotten, stats.occupied), (occupied, 0), "{overflow}, {max_keys}");
            // The shared states keep theirs: at most one log each.
            let kept = if overflow == Overflow::Share { 25 } else { 0 };
            assert!(stats.log_entries <= kept, "{overflow}, {max_keys}: {stats:?}");
        }
    }
}

fn disturb(limiter: &Limiter, clock: &ManualClock, keys: u64, seed: u64) {
    let mut rng = SplitMix64::new(seed);
    for _ in 0..4_000 {
        let key = rng.below(keys);
        match rng.below(40) {
            0 => drop(limiter.reset(key)),
            1 => drop(limiter.refund(key, rng.below(5))),
            2 => clock.advance(Duration::from_millis(rng.below(300))),
            3 => clock.set(at_ms(rng.below(100_000))),
            4 => drop(limiter.peek(key, rng.below(4))),
            5 => drop(limiter.try_acquire_n(key, u64::MAX)),
            6 => drop(limiter.try_acquire_at(key, 1, Nanos::from_nanos(rng.next_u64()))),
            _ => drop(limiter.try_acquire_n(key, 1 + rng.below(3))),
        }
    }
}

/// While every slot is taken and owes, newcomers are not searched for; as soon as one is emptied, or
/// owes no more because it was given back, they are again. (With this secret the search that notes
/// the flood sees neither.)
#[test]
fn a_flood_ends_when_a_slot_is_free() {
    let rules = Rules::builder().default(policy(&["1/day"])).tier("fast", policy(&["1000/s"]));
    let builder =
        Limiter::builder(rules.build().unwrap()).max_keys(820).max_given(1).secret([7, 11]);
    let limiter = builder.overflow(Overflow::Refuse).build().unwrap();
    // One key of a policy that comes with the call, which refills in a second.
    let short = policy(&["1/s"]);
    assert!(limiter.try_acquire_with("short", &short, 1, NOW).unwrap().is_allowed());
    let mut newcomer = 0_u64;
    let mut admitted_of = |count: u64, now| {
        let keys = newcomer..newcomer + count;
        newcomer += count;
        keys.filter(|key| limiter.try_acquire_at(*key, 1, now).is_allowed()).count()
    };
    for _ in 0..2_000 {
        if limiter.stats().occupied < limiter.stats().slots {
            admitted_of(1, NOW);
        }
    }
    assert_eq!(limiter.stats().occupied, limiter.stats().slots);
    assert_eq!(admitted_of(50, NOW), 0);
    // The place of the short policy is wanted for another, so its key is forgotten.
    let later = at_ms(2_000);
    let other = policy(&["2/s"]);
    assert!(limiter.try_acquire_with("other", &other, 0, later).unwrap().is_allowed());
    assert_eq!(limiter.stats().occupied, limiter.stats().slots - 1);
    // A search reaches a quarter of the 256 sets, the key's own two alone one of 128.
    assert_eq!(admitted_of(30, later), 1);
    assert_eq!(admitted_of(50, later), 0);
    let given_back = (0..2_500_u64).find(|key| limiter.refund_at(*key, 1, later) == 1).unwrap();
    assert_eq!(admitted_of(30, later), 1, "in the place of {given_back}");
    // Or because it is in another tier now, where it owes for a second at most.
    assert_eq!(admitted_of(50, later), 0);
    let holds = |key: &u64| limiter.peek_at(*key, 1, later).denial() == Some(Denial::Limit);
    let changed = (0..2_500_u64).filter(holds).nth(1).unwrap();
    let _ = limiter.tier("fast").try_acquire_at(changed, 1, later);
    assert_eq!(admitted_of(30, at_ms(4_000)), 1, "in the place of {changed}");
}

/// A flood that was noted ends at the nanosecond at which the first slot owes no more: from then on
/// that slot is found for every newcomer, by moving others.
#[test]
fn a_noted_flood_ends_to_the_nanosecond() {
    let builder = Limiter::builder(policy(&["10/min"])).max_keys(200).secret([7, 11]);
    let limiter = builder.overflow(Overflow::Refuse).build().unwrap();
    // It owes for 6 s, all others for 60 s.
    assert!(limiter.try_acquire_at("short", 1, NOW).is_allowed());
    for key in 0..1_000_u64 {
        let _ = limiter.try_acquire_at(key, 10, NOW);
    }
    assert_eq!(limiter.stats().occupied, limiter.stats().slots);
    assert!(limiter.stats().slots > 64, "more than one set");
    let end = at_ms(6_000);
    let before = NOW + Duration::from_nanos(5_999_999_999);
    let admitted = |now| {
        let allowed = |key: &u64| limiter.peek_at(*key, 1, now).is_allowed();
        (1_000..1_100_u64).filter(allowed).count()
    };
    let after = end + Duration::from_nanos(1);
    assert_eq!([before, end, after].map(admitted), [0, 100, 100]);
    // As looks say, so it is.
    assert!(limiter.try_acquire_at(1_100_u64, 1, before).is_denied());
    assert!(limiter.try_acquire_at(1_100_u64, 1, end).is_allowed());
}

/// Keys that owe for a day fill a store, and a flood of others that owe for a second takes the slots of
/// some. A second later those slots are free, whatever the day-long debts said when the flood began:
/// every newcomer finds one, and nobody is forgotten.
#[test]
fn a_flood_that_is_over_is_over_for_all() {
    for alone in [true, false] {
        let rules = Rules::builder().default(policy(&["4/day"])).tier("quick", policy(&["4/s"]));
        let limiter = Limiter::builder(rules.build().unwrap()).max_keys(820).secret([7, 11]);
        let limiter = limiter.build().unwrap();
        let slots = limiter.stats().slots;
        let mut slow = 0_u64;
        while limiter.stats().occupied < slots {
            assert!(limiter.try_acquire_at(slow, 3, NOW).is_allowed());
            slow += 1;
        }
        // They owe more than all others, and take half of the store.
        let quick = limiter.tier("quick");
        for key in 0..slots / 2 {
            let allowed = match alone {
                true => quick.try_acquire_at((1, key), 4, NOW).is_allowed(),
                false => quick.try_acquire_all_at(&[((1, key), 4)], NOW).unwrap().is_allowed(),
            };
            assert!(allowed);
        }
        let before = limiter.stats();
        assert_eq!(before.occupied, slots);
        let later = at_ms(1_000);
        for key in 0..slots / 4 {
            assert!(limiter.try_acquire_at((2, key), 1, later).is_allowed());
            let forced = limiter.stats().evicted_forced;
            assert_eq!(forced, before.evicted_forced, "newcomer {key}, {alone}");
        }
    }
}

/// A clock that is two days ahead calls a part of the keys that owe for a day, and is set right again:
/// they owe for a second then, whatever was noted of the flood before.
#[test]
fn a_clock_that_went_forth_and_back_ends_a_flood() {
    for (overflow, together) in
        [(Overflow::Refuse, false), (Overflow::Evict, false), (Overflow::Refuse, true)]
    {
        let builder = Limiter::builder(policy(&["86400/day"])).max_keys(10_000).max_given(0);
        let limiter = builder.secret([7, 11]).overflow(overflow).build().unwrap();
        for key in 0..40_000_u64 {
            let _ = limiter.try_acquire_at(key, 86_400, NOW);
        }
        let held = |key: &u64| limiter.peek_at(*key, 1, NOW).denial() == Some(Denial::Limit);
        let held: Vec<u64> = (0..40_000).filter(held).collect();
        assert_eq!(limiter.stats().occupied, limiter.stats().slots);
        let acquire = |key: u64, cost, now| match together {
            true => limiter.try_acquire_all_at(&[(key, cost)], now).unwrap().is_allowed(),
            false => limiter.try_acquire_at(key, cost, now).is_allowed(),
        };
        for key in held.iter().step_by(4) {
            assert!(acquire(*key, 1, NOW + 2 * DAY));
        }
        for key in held.iter().step_by(4) {
            assert!(!acquire(*key, 86_400, at_ms(1_000)));
        }
        let before = limiter.stats();
        for newcomer in 0..400_u64 {
            let now = at_ms(100_000 + 1_000 * newcomer);
            assert!(limiter.try_acquire_at(("new", newcomer), 1, now).is_allowed(), "{overflow}");
        }
        assert_eq!(limiter.stats().evicted_forced, before.evicted_forced, "{overflow}");
    }
}

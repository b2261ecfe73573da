//! Rules that are replaced a thousand times while eight threads decide.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use brimful::{Decision, Limit, Limiter, Nanos, Policy, Rules};
use brimful_testkit::trace::SplitMix64;
use brimful_testkit::{KeyedModel, Outcome};

use super::{MS, at, builder, policy};

const CALLERS: u64 = 8;
const REPLACED: u64 = 1_000;
const TIERS: [&str; 2] = ["gold", "never-there"];

/// The rules of a generation: limits of all sizes, and tiers, patterns and overrides that come and go.
fn rules(generation: u64, limits: u64) -> Rules {
    let default: &[&[&str]] = match limits {
        1 => &[
            &["10/s burst 5"],
            &["100/s burst 50"],
            &["unlimited"],
            &["7 per 2s fixed-window"],
            &["20/s"],
        ],
        _ => &[
            &["10/s burst 5", "100/min"],
            &["100/s burst 50"],
            &["9/s sliding-window", "a: 40/min", "b: 60/min fixed-window"],
            &["blocked"],
            &["20/s", "30 per 5s sliding-window"],
        ],
    };
    let place = usize::try_from(generation).unwrap() % default.len();
    let rules = Rules::builder().default(policy(default[place]));
    let rules = match generation % 3 {
        0 => rules.tier("gold", policy(&["50/s burst 20"])),
        1 => rules.tier("gold", policy(&["unlimited"])).pattern("own:*", policy(&["6/s burst 12"])),
        _ => rules,
    };
    let rules = match generation % 4 {
        3 => rules.exact(("own", 2_u64), policy(&["3/s"])).member(("own", 4_u64), "gold"),
        _ => rules,
    };
    let rules = if generation % 12 == 11 { rules.tier("gold", policy(&["1/s"])) } else { rules };
    rules.build().unwrap()
}

/// What a caller saw: the last generation known to be in force before the call, the call, and the answer.
struct Seen {
    tier: Option<&'static str>,
    known: u64,
    cost: u64,
    now: Nanos,
    decision: Decision,
}

/// Each caller has a key of its own, so that its calls are in order.
fn call(limiter: &Limiter, caller: u64, random: &mut SplitMix64, known: u64, ns: u64) -> Seen {
    let key = ("own", caller);
    let (cost, now) = (random.below(4), at(ns));
    let tier = match random.below(3) {
        0 => None,
        place => Some(TIERS[usize::try_from(place).unwrap() - 1]),
    };
    let decision = match tier {
        None => limiter.try_acquire_at(key, cost, now),
        Some(name) => limiter.tier(name).try_acquire_at(key, cost, now),
    };
    Seen { tier, known, cost, now, decision }
}

/// Every decision is that of the exact model under the rules of the generation that it names, which is never
/// older than one that was in force before the call.
#[test]
fn each_decision_is_by_the_rules_that_it_names() {
    for limits in [1, 3] {
        let limiter = builder(&policy(&["10/s"]), limits).build().unwrap();
        let (in_force, done) = (AtomicU64::new(1), AtomicBool::new(false));
        let start = Barrier::new(CALLERS as usize + 1);
        let seen: Vec<Vec<Seen>> = thread::scope(|scope| {
            let (limiter, in_force, done, start) = (&limiter, &in_force, &done, &start);
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    scope.spawn(move || {
                        let mut random = SplitMix64::new(caller + 77 * limits);
                        let (mut seen, mut ns) = (Vec::new(), 0);
                        start.wait();
                        while !done.load(Ordering::Acquire) && seen.len() < 200_000 {
                            ns += random.below(40 * MS);
                            let known = in_force.load(Ordering::Acquire);
                            seen.push(call(limiter, caller, &mut random, known, ns));
                            if random.below(8) == 0 {
                                thread::yield_now();
                            }
                        }
                        seen
                    })
                })
                .collect();
            start.wait();
            for generation in 2..=REPLACED + 1 {
                // At a time at which nobody is as good as new who was not from the start.
                let replaced = limiter.set_rules_at(rules(generation, limits), Nanos::ZERO);
                assert_eq!(replaced, Ok(generation));
                in_force.store(generation, Ordering::Release);
            }
            done.store(true, Ordering::Release);
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        let checked: usize = (0..).zip(&seen).map(|of| check(of, limits)).sum();
        let stats = limiter.stats();
        println!("{limits} limits: {checked} decisions, {} rows retired", stats.retired_policies);
        assert!(stats.retired_policies <= 2 * CALLERS, "{}", stats.retired_policies);
        assert_eq!(stats.store_full + stats.evicted_forced, 0);
    }
}

/// Replays what one caller saw.
fn check((caller, seen): (u64, &Vec<Seen>), limits: u64) -> usize {
    let mut model: Option<KeyedModel> = None;
    let (mut latest, mut rules_then) = (0, rules(0, limits));
    let mut generations = 0;
    for Seen { tier, known, cost, now, decision } in seen {
        let generation = decision.generation();
        assert!(
            generation >= *known && generation >= latest,
            "{generation} after {known}, {latest}"
        );
        assert!(generation <= REPLACED + 1);
        if generation != latest {
            generations += 1;
            latest = generation;
            rules_then = match generation {
                1 => Rules::from(policy(&["10/s"])),
                other => rules(other, limits),
            };
        }
        let policy = rules_then.policy_for(("own", caller), *tier);
        let next = KeyedModel::new(policy);
        let model = model.get_or_insert_with(|| next.clone());
        model.set_rules(&next);
        let expected = model.acquire("own", *cost, *now);
        assert_eq!(Outcome::from(*decision), expected, "{caller} under {generation} at {now:?}");
    }
    // (Where threads run in turn, a caller sees few of them.)
    assert!(generations > 1, "{caller} saw {generations} of {REPLACED}");
    seen.len()
}

/// Whatever the rules in between, a key never gets more than the largest of the limits gives: its capacity at
/// once, and that and its rate in any time.
#[test]
fn nothing_is_admitted_beyond_the_union_of_the_rules() {
    const SECONDS: u64 = 20;
    for limits in [1, 2] {
        let sizes = [10, 100, 55, 100, 10, 7];
        let one = |generation: usize| {
            let limit = Limit::per_second(sizes[generation % sizes.len()]).unwrap();
            let large = (limits > 1).then(|| Limit::per_hour(1_000_000_000).unwrap());
            Policy::new([limit.named("n").unwrap()].into_iter().chain(large)).unwrap()
        };
        let limiter = builder(&one(0), limits).build().unwrap();
        let admitted: Vec<AtomicU64> = (0..SECONDS).map(|_| AtomicU64::new(0)).collect();
        let phase = Barrier::new(CALLERS as usize + 1);
        thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    for (second, admitted) in (0..).zip(&admitted) {
                        phase.wait();
                        for _ in 0..2_000 {
                            if limiter
                                .try_acquire_at("hot", 1, at(second * 1_000 * MS))
                                .is_allowed()
                            {
                                admitted.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        phase.wait();
                    }
                });
            }
            let mut generation = 0;
            for second in 0..SECONDS {
                phase.wait();
                for _ in 0..REPLACED / SECONDS {
                    generation += 1;
                    limiter.set_rules_at(one(generation), at(second * 1_000 * MS)).unwrap();
                }
                phase.wait();
            }
        });
        let admitted: Vec<u64> = admitted.into_iter().map(AtomicU64::into_inner).collect();
        println!("{limits} limits: admitted in each second {admitted:?}");
        for from in 0..admitted.len() {
            for to in from..admitted.len() {
                let sum: u64 = admitted[from..=to].iter().sum();
                let most = 100 + 100 * (to - from) as u64;
                assert!(sum <= most, "{sum} in {} seconds", to - from);
            }
        }
    }
}

/// Keys that are moved to make room for others take what they owe along, also from sets that were not gone
/// through yet to sets that were. The store is full to what it was built for, so that newcomers move others.
#[test]
fn who_is_moved_meanwhile_is_not_forgotten() {
    const KEYS: u64 = 1_000;
    for limits in [1, 2] {
        let named = |generation: u64| {
            let policy = policy(&["3/day"]).named(&format!("name-{}", generation % 3)).unwrap();
            Rules::from(policy)
        };
        let builder = Limiter::builder(named(0)).max_keys(CALLERS * KEYS).max_limits(limits);
        let limiter = builder.secret([9, limits]).build().unwrap();
        let start = Barrier::new(CALLERS as usize + 1);
        let done = AtomicBool::new(false);
        let turns: u64 = thread::scope(|scope| {
            let (limiter, done, start) = (&limiter, &done, &start);
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    scope.spawn(move || {
                        let mut random = SplitMix64::new(caller);
                        let mut own: Vec<u64> = (0..KEYS).map(|n| caller << 32 | n).collect();
                        for key in &own {
                            assert!(limiter.try_acquire_at(*key, 1, at(0)).is_allowed());
                        }
                        start.wait();
                        let mut next = KEYS;
                        while !done.load(Ordering::Acquire) && next < 500_000 {
                            let key = &mut own[random.below(KEYS) as usize];
                            assert_eq!(limiter.peek_at(*key, 0, at(0)).remaining(), 2, "{key}");
                            assert!(limiter.reset(*key));
                            *key = caller << 32 | next;
                            assert!(limiter.try_acquire_at(*key, 1, at(0)).is_allowed());
                            next += 1;
                        }
                        for key in &own {
                            assert_eq!(limiter.peek_at(*key, 0, at(0)).remaining(), 2, "{key}");
                        }
                        next - KEYS
                    })
                })
                .collect();
            start.wait();
            for generation in 2..=REPLACED / 2 {
                assert_eq!(limiter.set_rules_at(named(generation), at(0)), Ok(generation));
            }
            done.store(true, Ordering::Release);
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        });
        let stats = limiter.stats();
        println!("{limits} limits: {turns} keys replaced, {} forced out", stats.evicted_forced);
        assert_eq!((stats.evicted_forced, stats.occupied), (0, CALLERS * KEYS));
    }
}

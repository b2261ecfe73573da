//! Reservations and waiting where there is no room, and where the rules change: what must hold whatever
//! is forgotten.
//!
//! Nobody who waits is forgotten, nothing is given back to whom was, no key has more than its capacity,
//! whoever asks when it is told comes to an end, and at the end nothing is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brimful::{
    Algorithm, Denial, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Progress, Queued,
    Reservation, Rules, Turn,
};
use brimful_testkit::Called;
use brimful_testkit::trace::{self, SplitMix64};

const KEYS: u64 = 30;

struct Waiting<'a> {
    turn: Turn<'a>,
    comes: u64,
    flag: Arc<Called>,
}

struct World<'a> {
    limiter: &'a Limiter,
    clock: ManualClock,
    now: u64,
    most: u64,
    turns: Vec<Waiting<'a>>,
    open: Vec<Reservation<'a>>,
    counts: BTreeMap<&'static str, u64>,
    /// Policies that rules are made of.
    policies: Vec<Policy>,
}

impl<'a> World<'a> {
    fn at(&self) -> Nanos {
        Nanos::from_nanos(self.now)
    }

    fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn go_to(&mut self, now: u64) {
        self.now = now;
        self.clock.set(self.at());
    }

    fn step(&mut self, rng: &mut SplitMix64) {
        let next = match rng.below(8) {
            0..=3 => self.now,
            4..=5 => self.now + rng.between(1, 5),
            6 => self.now + rng.between(1, 60),
            _ => self.now - rng.between(0, 20),
        };
        self.go_to(next);
        let (key, cost, at) =
            (format!("key-{}", rng.below(KEYS)), rng.between(1, self.most), self.at());
        let key = key.as_str();
        let is_gold = !self.policies.is_empty() && rng.below(3) == 0;
        let gold = self.limiter.tier("gold");
        match rng.below(20) {
            0..=2 => {
                let look = match is_gold {
                    true => gold.peek_at(key, cost, at),
                    false => self.limiter.peek_at(key, cost, at),
                };
                let decision = match is_gold {
                    true => gold.try_acquire_at(key, cost, at),
                    false => self.limiter.try_acquire_at(key, cost, at),
                };
                assert_eq!(look, decision, "a look before, and the call");
                self.count(if decision.is_allowed() { "admitted" } else { "denied" });
            }
            3..=6 => {
                let reserved = match is_gold {
                    true => gold.reserve_at(key, cost, at),
                    false => self.limiter.reserve_at(key, cost, at),
                };
                if let Ok(reservation) = reserved {
                    self.count("reserved");
                    self.open.push(reservation);
                }
            }
            7..=9 => self.settle(rng),
            10..=13 => {
                let within =
                    [None, Some(Duration::from_nanos(rng.below(50)))][rng.below(2) as usize];
                let queued = self.limiter.enqueue_at(key, cost, within, at);
                match queued {
                    Ok(Queued::Granted(_)) => self.count("granted at once"),
                    Ok(Queued::Waiting(turn)) => {
                        self.count("waiting");
                        self.turns.push(Waiting { turn, comes: self.now, flag: Arc::default() });
                    }
                    Err(refused) => self.count(match refused.denial() {
                        Some(Denial::StoreFull) => "no place",
                        Some(Denial::QueueFull) => "queue full",
                        _ => "refused at once",
                    }),
                }
            }
            14..=16 if !self.turns.is_empty() => {
                let place = rng.below(self.turns.len() as u64) as usize;
                self.poll(place);
            }
            17 if !self.turns.is_empty() => {
                let place = rng.below(self.turns.len() as u64) as usize;
                let Waiting { turn, .. } = self.turns.swap_remove(place);
                match rng.below(2) {
                    0 => drop(turn),
                    _ => turn.leave_at(at),
                }
            }
            18 if rng.below(2) == 0 => self.several(rng),
            18 => {
                let given = self.limiter.refund_at(key, cost, at);
                assert!(given <= cost);
            }
            _ if rng.below(4) == 0 => {
                self.limiter.reset(key);
            }
            _ if !self.policies.is_empty() => {
                let rules = self.rules(rng);
                match rng.below(3) {
                    0 => self.limiter.set_rules_for_new_keys_at(rules, at),
                    _ => self.limiter.set_rules_at(rules, at),
                }
                .expect("rules that fit");
                self.count("rules replaced");
            }
            _ => {}
        }
        self.check(key);
    }

    /// Some keys at once, all or nothing or each by itself; or limits that come with the call.
    fn several(&mut self, rng: &mut SplitMix64) {
        let keys: Vec<String> = (0..3).map(|_| format!("key-{}", rng.below(KEYS))).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (cost, at) = (rng.between(1, self.most), self.at());
        match rng.below(3) {
            0 => {
                let charges: Vec<(&str, u64)> = keys.iter().map(|key| (*key, cost)).collect();
                let decision = self.limiter.try_acquire_all_at(&charges, at).expect("three keys");
                self.count(if decision.is_allowed() { "all admitted" } else { "all denied" });
            }
            1 => {
                let mut decisions = Vec::new();
                self.limiter.try_acquire_many_at(&keys, cost, at, &mut decisions);
                assert_eq!(decisions.len(), keys.len());
                self.count("many");
            }
            _ => {
                let Some(policy) = self.policies.first() else { return };
                let decided = self.limiter.try_acquire_with(keys[0], policy, cost, at);
                self.count(if decided.is_ok() {
                    "with limits of its own"
                } else {
                    "no place for limits"
                });
            }
        }
    }

    fn rules(&self, rng: &mut SplitMix64) -> Rules {
        let mut draw = || match rng.below(20) {
            0 => Policy::unlimited(),
            1 => Policy::blocked(),
            _ => self.policies[rng.below(self.policies.len() as u64) as usize].clone(),
        };
        let mut rules =
            Rules::builder().default(draw()).tier("gold", draw()).exact("key-1", draw());
        if rng.below(4) == 0 {
            let trial = &self.policies[rng.below(self.policies.len() as u64) as usize];
            rules = rules.exact("key-2", trial.clone().shadow());
        }
        rules.build().expect("rules of three policies")
    }

    fn settle(&mut self, rng: &mut SplitMix64) {
        if self.open.is_empty() {
            return;
        }
        let reservation = self.open.swap_remove(rng.below(self.open.len() as u64) as usize);
        let cost = reservation.cost();
        let (at, actual) = (self.at(), rng.below(cost + 3));
        if actual == 0 {
            drop(reservation);
            return self.count("dropped");
        }
        let settled = reservation.commit_at(actual, at);
        assert!(settled.given_back() <= cost.saturating_sub(actual), "more than it cost");
        assert!(settled.shortfall() <= actual.saturating_sub(cost), "more than was missing");
        self.count(if settled.given_back() > 0 { "gave back" } else { "gave nothing back" });
    }

    /// Asks; it is never told that waiting has ended, as who was forgotten would be.
    fn poll(&mut self, place: usize) {
        let at = self.at();
        let waiting = &mut self.turns[place];
        waiting.flag.take();
        match waiting.turn.poll_at(&Waker::from(waiting.flag.clone()), at) {
            Progress::Waiting(wait) => {
                assert!(wait >= Duration::from_nanos(1));
                let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
                waiting.comes = self.now.saturating_add(wait);
                self.count("waits on");
            }
            Progress::Granted(_) => {
                self.turns.swap_remove(place);
                self.count("granted");
            }
            Progress::Refused(refused) => {
                self.turns.swap_remove(place);
                let kind = match refused.denial() {
                    Some(Denial::Limit) if refused.is_never() => "refused for ever",
                    Some(Denial::Limit | Denial::Queued) => "refused later",
                    Some(Denial::StoreFull) => "refused without log entries",
                    Some(Denial::Blocked) => "refused as blocked",
                    other => panic!("refused for {other:?}: {refused:?}"),
                };
                self.count(kind);
            }
        }
    }

    fn check(&self, key: &str) {
        let stats = self.limiter.stats();
        assert!(stats.waiters <= self.turns.len() as u64, "{stats:?}");
        assert!(stats.reservations <= (self.turns.len() + self.open.len()) as u64, "{stats:?}");
        assert!(stats.occupied <= stats.slots, "{stats:?}");
        let look = self.limiter.peek_at(key, 0, self.at());
        let policy = self.limiter.policy_of(&look);
        let capacity = policy.and_then(|policy| policy.limits().iter().map(Limit::capacity).min());
        assert!(capacity.is_none_or(|capacity| look.remaining() <= capacity), "{look:?}");
    }

    /// Everybody asks when it was told, or woken, and comes to an end; then all is settled.
    fn end(&mut self, rng: &mut SplitMix64) {
        let mut polls = 0;
        while !self.turns.is_empty() {
            let when = |waiting: &Waiting<'_>| match waiting.flag.is_set() {
                true => self.now,
                false => waiting.comes.max(self.now),
            };
            let next = (0..self.turns.len()).min_by_key(|place| when(&self.turns[*place]));
            let place = next.expect("one waits");
            let then = when(&self.turns[place]);
            self.go_to(then);
            self.poll(place);
            polls += 1;
            assert!(polls < 3_000, "they ask and ask");
        }
        while !self.open.is_empty() {
            self.settle(rng);
        }
        let stats = self.limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0), "{stats:?}");
        let year = Nanos::from_nanos(self.now) + Duration::from_secs(31_536_000);
        for key in 0..KEYS {
            let look = self.limiter.peek_at(format!("key-{key}").as_str(), 0, year);
            let policy = self.limiter.policy_of(&look).expect("by the rules in force");
            let capacity = policy.limits().iter().map(Limit::capacity).min();
            assert_eq!(look.reset_after(), Duration::ZERO);
            assert!(capacity.is_none_or(|capacity| look.remaining() == capacity), "{look:?}");
        }
    }
}

fn limit(rng: &mut SplitMix64, algorithm: Algorithm) -> Limit {
    trace::nearest_limit(algorithm, rng.between(1, 8), rng.between(5, 200), rng.below(12))
}

fn policy(rng: &mut SplitMix64, count: u64) -> Policy {
    let limits = (0..count).map(|_| {
        let algorithm = Algorithm::ALL[rng.below(4) as usize];
        limit(rng, algorithm)
    });
    trace::policy_of(limits.collect())
}

type Build = fn(&mut SplitMix64, brimful::LimiterBuilder) -> brimful::LimiterBuilder;

fn run(
    name: &str,
    worlds: u64,
    first: u64,
    has_rules: bool,
    build: Build,
) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for seed in 0..worlds {
        let mut rng = SplitMix64::new(first << 32 | seed);
        let count = 1 + rng.below(2);
        let policies: Vec<Policy> = (0..4).map(|_| policy(&mut rng, count)).collect();
        let rules = Rules::builder().default(policies[0].clone());
        let clock = ManualClock::default();
        let builder = Limiter::builder(rules.build().expect("one policy"))
            .max_wait(Duration::MAX)
            .secret([seed, first])
            .clock(clock.clone())
            .max_limits(4);
        let limiter = build(&mut rng, builder).build().expect("a small limiter");
        let mut world = World {
            limiter: &limiter,
            clock,
            now: 1_000_000_000_000,
            most: policies[0].limits().iter().map(Limit::capacity).min().unwrap_or(1),
            turns: Vec::new(),
            open: Vec::new(),
            counts: std::mem::take(&mut counts),
            policies: if has_rules { policies } else { Vec::new() },
        };
        for _ in 0..250 {
            world.step(&mut rng);
        }
        world.end(&mut rng);
        counts = world.counts;
    }
    println!("{name}: {counts:?}");
    for kind in ["waiting", "granted", "gave back", "gave nothing back", "waits on", "dropped"] {
        assert!(counts.get(kind).is_some_and(|count| *count > 100), "{name}: too few: {kind}");
    }
    counts
}

#[test]
fn a_full_store_that_evicts_forgets_nobody_who_waits() {
    run("evict", 400, 0xe1, false, |_, builder| builder.max_keys(6).overflow(Overflow::Evict));
}

#[test]
fn a_full_store_that_refuses_forgets_nobody_who_waits() {
    run("refuse", 400, 0xe2, false, |_, builder| builder.max_keys(6).overflow(Overflow::Refuse));
}

#[test]
fn a_full_store_that_shares_forgets_nobody_who_waits() {
    run("share", 400, 0xe3, false, |_, builder| {
        builder.max_keys(6).overflow(Overflow::Share).max_given(0)
    });
}

#[test]
fn those_who_wait_for_log_entries_come_to_an_end() {
    let counts = run("few log entries", 400, 0xe4, false, |rng, builder| {
        let overflow = [Overflow::Evict, Overflow::Refuse][rng.below(2) as usize];
        builder.max_keys(20).max_log_entries(24).overflow(overflow)
    });
    assert!(counts.get("no place").is_some_and(|count| *count > 10), "{counts:?}");
}

#[test]
fn replaced_rules_and_tiers_leave_nobody_waiting_in_vain() {
    let counts =
        run("rules", 400, 0xe5, true, |_, builder| builder.max_keys(40).max_log_entries(4_000));
    assert!(counts.get("rules replaced").is_some_and(|count| *count > 1_000), "{counts:?}");
}

#[test]
fn replaced_rules_in_a_full_store_leave_nobody_waiting_in_vain() {
    run("rules, full", 400, 0xe6, true, |rng, builder| {
        let all = [Overflow::Evict, Overflow::Refuse, Overflow::Share];
        let overflow = all[rng.below(3) as usize];
        builder.max_keys(6).max_log_entries(40).max_given(0).overflow(overflow)
    });
}

/// One slot, and another key comes: who was forgotten gets nothing back.
#[test]
fn a_reservation_of_a_forgotten_key_gives_nothing_back() {
    let limit = Limit::per_second(10).expect("in range");
    let limiter = Limiter::builder(limit).max_keys(1).overflow(Overflow::Evict);
    let limiter = limiter.build().expect("a small limiter");
    let now = Nanos::from_secs(1_000);
    let reserved = limiter.reserve_at("ann", 4, now).expect("10 are there");
    for other in 0..200 {
        let decision = limiter.try_acquire_at(format!("other-{other}").as_str(), 9, now);
        assert!(decision.is_allowed());
    }
    assert_eq!(limiter.peek_at("ann", 0, now).remaining(), 10, "it was forgotten");
    assert_eq!(limiter.stats().reservations, 0);
    assert!(limiter.try_acquire_at("ann", 5, now).is_allowed());
    assert_eq!(reserved.cancel_at(now), 0);
    assert_eq!(limiter.peek_at("ann", 0, now).remaining(), 5);
}

#[test]
fn a_key_that_others_wait_for_is_not_forgotten() {
    let limit = Limit::per_second(10).expect("in range");
    let limiter = Limiter::builder(limit).max_keys(1).overflow(Overflow::Evict);
    let limiter = limiter.build().expect("a small limiter");
    let now = Nanos::from_secs(1_000);
    assert!(limiter.try_acquire_at("ann", 1, now).is_allowed());
    let queued = limiter.enqueue_at("ann", 10, None, now).expect("it may wait");
    let Queued::Waiting(mut turn) = queued else { panic!("9 are there") };
    for other in 0..200 {
        let _ = limiter.try_acquire_at(format!("other-{other}").as_str(), 9, now);
    }
    assert_eq!(limiter.peek_at("ann", 1, now).denial(), Some(Denial::Queued));
    let then = now + Duration::from_millis(100);
    assert_eq!(turn.due(), then);
    assert!(matches!(turn.poll_at(Waker::noop(), then), Progress::Granted(_)));
    assert_eq!(limiter.peek_at("ann", 0, then).remaining(), 0);
}

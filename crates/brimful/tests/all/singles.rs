//! Beside single calls to another limiter, in stores with room for all.

use std::time::Duration;

use brimful::{AllDecision, Decision, Limiter, Nanos, Policy, Rules};
use brimful_testkit::trace::SplitMix64;

use crate::{NOW, Said, follows, merged};

type Key = (&'static str, u64);

const KINDS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "free", "shut"];
const NUMBERS: u64 = 3;
const STEPS: usize = 30_000;

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn limiter(secret: u64) -> Limiter {
    let policies = [
        policy(&["10/s burst 5"]),
        policy(&["7/min"]),
        policy(&["5/s fixed-window"]),
        policy(&["6 per 5s sliding-window"]),
        policy(&["4 per 3s sliding-log"]),
        policy(&["10/s burst 5", "20 per 5s fixed-window", "6 per 2s sliding-log"]),
        policy(&["9/s sliding-log", "12 per 4s sliding-log", "15/min", "30/h sliding-window"]),
        Policy::unlimited(),
        Policy::blocked(),
    ];
    let rules = Rules::builder().default(policy(&["3/s"]));
    let rules = rules.tier("gold", policy(&["20/s burst 8", "8 per 3s sliding-log"]));
    let rules = rules.tier("log", policy(&["7 per 5s sliding-log"]));
    let rules = rules.tier("shut", Policy::blocked());
    let rules = KINDS
        .iter()
        .zip(policies)
        .fold(rules, |rules, (kind, policy)| rules.pattern(&format!("{kind}:*"), policy));
    let builder = Limiter::builder(rules.build().unwrap()).max_keys(300).max_log_entries(100_000);
    builder.secret([secret, 1]).build().unwrap()
}

/// By a tier or by none; and by the same name, an unknown one.
#[derive(Clone, Copy, Debug)]
struct By(Option<&'static str>);

impl By {
    fn acquire(self, limiter: &Limiter, key: Key, cost: u64, now: Nanos) -> Decision {
        match self.0 {
            None => limiter.try_acquire_at(key, cost, now),
            Some(tier) => limiter.tier(tier).try_acquire_at(key, cost, now),
        }
    }

    fn peek(self, limiter: &Limiter, key: Key, cost: u64, now: Nanos) -> Decision {
        match self.0 {
            None => limiter.peek_at(key, cost, now),
            Some(tier) => limiter.tier(tier).peek_at(key, cost, now),
        }
    }

    fn all(self, limiter: &Limiter, charges: &[(Key, u64)], now: Nanos) -> AllDecision {
        match self.0 {
            None => limiter.try_acquire_all_at(charges, now).unwrap(),
            Some(tier) => limiter.tier(tier).try_acquire_all_at(charges, now).unwrap(),
        }
    }
}

/// What single calls say to each, charging all or none; a refused key is called as well, because a
/// denial may let the time of a stepped clock count, or give the key other limits.
fn singly(limiter: &Limiter, by: By, charges: &[(Key, u64)], now: Nanos) -> Vec<(usize, Said)> {
    let keys = merged(charges);
    let peeked: Vec<Decision> =
        keys.iter().map(|(_, key, cost)| by.peek(limiter, *key, *cost, now)).collect();
    let is_allowed = peeked.iter().all(Decision::is_allowed);
    let each = keys.into_iter().zip(peeked).map(|((place, key, cost), peeked)| {
        let decision = if is_allowed || peeked.is_denied() {
            by.acquire(limiter, key, cost, now)
        } else {
            by.peek(limiter, key, 0, now)
        };
        (place, Said::from(&decision))
    });
    each.collect()
}

/// One draw of everything; two limiters side by side.
struct Pair {
    random: SplitMix64,
    together: Limiter,
    alone: Limiter,
    now: Nanos,
    allowed: u64,
    denied: u64,
}

impl Pair {
    fn key(&mut self) -> Key {
        let few = if self.random.below(4) == 0 { KINDS.len() } else { KINDS.len() - 2 };
        let kind = self.random.below(few as u64);
        (KINDS[usize::try_from(kind).unwrap()], self.random.below(NUMBERS))
    }

    fn cost(&mut self) -> u64 {
        match self.random.below(12) {
            0 => 0,
            1 => 3,
            2 => self.random.below(12),
            3 if self.random.below(20) == 0 => u64::MAX - self.random.below(3),
            _ => 1,
        }
    }

    fn by(&mut self) -> By {
        let tiers = [Some("gold"), Some("log"), Some("unknown"), Some("shut")];
        let tier = usize::try_from(self.random.below(14)).unwrap();
        By(tiers.get(tier).copied().flatten())
    }

    /// Mostly a little later; now and then earlier by less or more than the tolerance.
    fn reading(&mut self) -> Nanos {
        self.now = self.now + Duration::from_millis(self.random.below(400));
        let back = match self.random.below(40) {
            0 => self.random.below(8_000),
            1 => self.random.below(200_000),
            2 if self.random.below(5) == 0 => 7_200_000,
            _ => 0,
        };
        Nanos::from_nanos(self.now.as_nanos() - back * 1_000_000)
    }

    fn step(&mut self) {
        let (by, now) = (self.by(), self.reading());
        let (key, cost) = (self.key(), self.cost());
        match self.random.below(12) {
            0 => {
                let given = [self.together.refund_at(key, cost, now)];
                assert_eq!(given, [self.alone.refund_at(key, cost, now)]);
            }
            1 if cost == 3 => assert_eq!(self.together.reset(key), self.alone.reset(key)),
            2 => {
                let policy = policy(&["11 per 2s sliding-log", "5/s"]);
                let with = |limiter: &Limiter| limiter.try_acquire_with(key, &policy, 1, now);
                assert_eq!(with(&self.together).unwrap(), with(&self.alone).unwrap());
            }
            3 => {
                let decision = by.acquire(&self.together, key, cost, now);
                assert_eq!(decision, by.acquire(&self.alone, key, cost, now));
            }
            _ => self.call(by, now),
        }
    }

    fn call(&mut self, by: By, now: Nanos) {
        let count = if self.random.below(30) == 0 { 16 } else { self.random.between(1, 4) };
        let charges: Vec<(Key, u64)> = (0..count).map(|_| (self.key(), self.cost())).collect();
        let before = self.together.stats();
        let all = by.all(&self.together, &charges, now);
        let each = singly(&self.alone, by, &charges, now);
        assert!(follows(&all, &each), "{charges:?} by {by:?} at {now:?}: {all:?}, not {each:?}");
        let stats = self.together.stats();
        let charged = merged(&charges).iter().filter(|(_, _, cost)| *cost > 0).count() as u64;
        let counted = (stats.admitted - before.admitted, stats.denied - before.denied);
        if all.is_allowed() {
            self.allowed += 1;
            assert_eq!(counted, (charged, 0), "{charges:?}");
        } else {
            self.denied += 1;
            assert_eq!(counted, (0, charged.min(1)), "{charges:?}");
            assert_eq!(stats.occupied, before.occupied, "a denial took a slot");
        }
        assert_eq!(stats.occupied, self.alone.stats().occupied);
        assert_eq!(stats.log_entries, self.alone.stats().log_entries);
        assert_eq!(stats.store_full, 0);
    }

    /// Every key says the same on both sides.
    fn compare(&self, seed: u64, step: usize) {
        for kind in KINDS {
            for key in (0..NUMBERS).map(|number| (kind, number)) {
                for cost in [0, 2] {
                    let both = [&self.together, &self.alone]
                        .map(|limiter| limiter.peek_at(key, cost, self.now));
                    assert_eq!(both[0], both[1], "seed {seed}, step {step}: {key:?}");
                }
            }
        }
    }
}

/// A call for several keys says and leaves what single calls do, whatever their policies, whatever
/// tier and limits they were last called with, at times that go to and fro.
#[test]
fn all_keys_at_once_are_what_single_calls_are() {
    for seed in 0..4 {
        println!("all_keys_at_once_are_what_single_calls_are: seed {seed}");
        let mut pair = Pair {
            random: SplitMix64::new(seed),
            together: limiter(seed),
            alone: limiter(seed),
            now: NOW,
            allowed: 0,
            denied: 0,
        };
        for step in 0..STEPS / 4 {
            pair.step();
            pair.compare(seed, step);
        }
        let Pair { allowed, denied, .. } = pair;
        println!("  {allowed} allowed, {denied} denied");
        assert!(allowed > 1_000 && denied > 1_000, "{allowed} allowed, {denied} denied");
    }
}

//! Beside a model of the slots of a small store, for each overflow policy.

use std::collections::BTreeMap;
use std::time::Duration;

use brimful::{Denial, Limiter, Nanos, Overflow, Policy, Retry, Rules};
use brimful_testkit::trace::SplitMix64;

use crate::{NOW, Said, follows, merged};

/// A kind of policy, and a number.
type Key = (u64, u64);

const NUMBERS: u64 = 5;

/// The number of the key that stands for the state which keys of a kind share.
const SHARED: u64 = 99;

fn policies() -> Vec<Vec<Policy>> {
    let policy = |specs: &[&str]| Policy::parse(specs.iter().copied()).unwrap();
    vec![
        vec![policy(&["6/s burst 8"])],
        vec![
            policy(&["10/s burst 5"]),
            policy(&["4 per 3s sliding-log"]),
            policy(&["10/s burst 6", "9 per 2s fixed-window", "11 per 2s sliding-log"]),
        ],
    ]
}

fn limiter(policies: &[Policy], max_keys: u64, overflow: Overflow) -> Limiter {
    let rules = Rules::builder().default(Policy::blocked());
    let rules = policies
        .iter()
        .enumerate()
        .fold(rules, |rules, (kind, policy)| rules.pattern(&format!("{kind}:*"), policy.clone()));
    let builder = Limiter::builder(rules.build().unwrap()).max_keys(max_keys);
    builder.max_log_entries(10_000).overflow(overflow).build().unwrap()
}

/// What a call should say, and do.
enum Expected {
    Allowed { singly: Vec<(Key, u64)>, slots: Vec<Option<Key>>, evicted: usize },
    Denied,
}

struct Model {
    overflow: Overflow,
    kinds: u64,
    /// Every key has a state of its own here; one that is forgotten is reset.
    states: Limiter,
    slots: Vec<Option<Key>>,
}

impl Model {
    fn look(&self, key: Key, cost: u64, now: Nanos) -> Said {
        Said::from(&self.states.peek_at(key, cost, now))
    }

    fn owes_for(&self, key: Key, now: Nanos) -> Duration {
        self.look(key, 0, now).reset_after
    }

    /// What is said to each key, and what follows.
    fn expect(&self, charges: &[(Key, u64)], now: Nanos) -> (Vec<(usize, Said)>, Expected) {
        let keys = merged(charges);
        let mut said: Vec<(usize, Said)> =
            keys.iter().map(|(place, key, cost)| (*place, self.look(*key, *cost, now))).collect();
        let looks = |said: &mut Vec<(usize, Said)>| {
            for ((_, said), (_, key, _)) in said.iter_mut().zip(&keys) {
                if said.is_allowed() {
                    *said = self.look(*key, 0, now);
                }
            }
        };
        if said.iter().any(|(_, said)| !said.is_allowed()) {
            looks(&mut said);
            return (said, Expected::Denied);
        }
        let charged = |key: &Key| keys.iter().any(|(_, other, cost)| other == key && *cost > 0);
        // Nobody may have a slot in which the call charges somebody.
        let mut slots = self.slots.clone();
        let mut fixed: Vec<bool> =
            slots.iter().map(|slot| slot.as_ref().is_some_and(charged)).collect();
        let mut singly = Vec::new();
        let mut without = Vec::new();
        for (number, (_, key, cost)) in keys.iter().enumerate().filter(|(_, (.., cost))| *cost > 0)
        {
            if self.slots.contains(&Some(*key)) {
                singly.push((*key, *cost));
                continue;
            }
            let empty = slots.iter().position(Option::is_none);
            let refilled = || {
                (0..slots.len()).find(|slot| {
                    !fixed[*slot]
                        && slots[*slot].is_some_and(|key| self.owes_for(key, now).is_zero())
                })
            };
            match empty.or_else(refilled) {
                Some(slot) => {
                    slots[slot] = Some(*key);
                    fixed[slot] = true;
                    singly.push((*key, *cost));
                }
                None => without.push((number, *key, *cost)),
            }
        }
        let mut waits: Vec<Duration> = (0..slots.len())
            .filter(|slot| !fixed[*slot])
            .filter_map(|slot| Some(self.owes_for(slots[slot]?, now)))
            .collect();
        waits.sort();
        match self.overflow {
            Overflow::Share => {
                let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
                for (_, (kind, _), cost) in &without {
                    let sum = sums.entry(*kind).or_default();
                    *sum = sum.saturating_add(*cost);
                }
                for (number, (kind, _), _) in &without {
                    said[*number].1 = self.look((*kind, SHARED), sums[kind], now);
                }
                if said.iter().any(|(_, said)| !said.is_allowed()) {
                    looks(&mut said);
                    for (number, (kind, _), _) in &without {
                        if said[*number].1.is_allowed() {
                            said[*number].1 = self.look((*kind, SHARED), 0, now);
                        }
                    }
                    return (said, Expected::Denied);
                }
                singly.extend(sums.into_iter().map(|(kind, sum)| ((kind, SHARED), sum)));
                (said, Expected::Allowed { singly, slots, evicted: 0 })
            }
            Overflow::Evict if without.len() <= waits.len() => {
                let evicted = without.len();
                singly.extend(without.into_iter().map(|(_, key, cost)| (key, cost)));
                (said, Expected::Allowed { singly, slots, evicted })
            }
            Overflow::Refuse if without.is_empty() => {
                (said, Expected::Allowed { singly, slots, evicted: 0 })
            }
            Overflow::Refuse | Overflow::Evict => {
                looks(&mut said);
                // A key waits for the slot that is free next; or others would be forgotten for it,
                // and are not, because there are too few.
                let mut waits = waits.into_iter();
                for (number, ..) in without {
                    let wait = waits.next();
                    if self.overflow == Overflow::Evict && wait.is_some() {
                        continue;
                    }
                    said[number].1 = Said {
                        retry: wait.map_or(Retry::Never, Retry::After),
                        remaining: 0,
                        reset_after: wait.unwrap_or_default(),
                        limit: None,
                        denial: Some(Denial::StoreFull),
                    };
                }
                (said, Expected::Denied)
            }
        }
    }

    /// Charges the states of the model, and forgets whom the slots have no room for.
    fn charge(&mut self, singly: &[(Key, u64)], slots: Vec<Option<Key>>, now: Nanos) {
        for (before, after) in self.slots.iter().zip(&slots) {
            if before != after
                && let Some(forgotten) = before
            {
                self.states.reset(*forgotten);
            }
        }
        for (key, cost) in singly {
            assert!(self.states.try_acquire_at(*key, *cost, now).is_allowed());
        }
        self.slots = slots;
    }
}

/// What happened.
#[derive(Debug, Default)]
struct Seen {
    allowed: u64,
    denied: u64,
    full: u64,
    forgotten: u64,
    shared: u64,
}

struct Trial {
    random: SplitMix64,
    small: Limiter,
    model: Model,
    now: Nanos,
    seen: Seen,
}

impl Trial {
    fn new(kind: usize, max_keys: u64, overflow: Overflow) -> Self {
        let policies = &policies()[kind];
        let small = limiter(policies, max_keys, overflow);
        let slots = vec![None; usize::try_from(small.stats().slots).unwrap()];
        let states = limiter(policies, 1_000, Overflow::Evict);
        let kinds = policies.len() as u64;
        Self {
            random: SplitMix64::new(max_keys * 10 + kind as u64),
            small,
            model: Model { overflow, kinds, states, slots },
            now: NOW,
            seen: Seen::default(),
        }
    }

    fn step(&mut self) {
        self.now = self.now + Duration::from_millis(self.random.below(120));
        // (Of several victims it is not told whose slot each newcomer got, and so, at earlier
        // times, not which key is forgotten next.)
        let is_early = self.model.overflow != Overflow::Evict && self.random.below(20) == 0;
        let back = if is_early { self.random.below(2_000_000_000) } else { 0 };
        let now = Nanos::from_nanos(self.now.as_nanos() - back);
        let count = self.random.between(1, 4);
        let charges: Vec<(Key, u64)> = (0..count)
            .map(|_| {
                let key = (self.random.below(self.model.kinds), self.random.below(NUMBERS));
                (key, [1, 1, 1, 2, 3, 0][usize::try_from(self.random.below(6)).unwrap()])
            })
            .collect();
        let (said, expected) = self.model.expect(&charges, now);
        let owes = said.iter().any(|(_, said)| !said.reset_after.is_zero());
        let before = self.small.stats();
        let all = self.small.try_acquire_all_at(&charges, now).unwrap();
        let story = || format!("{charges:?} at {now:?}: {all:?}, not {said:?}");
        let full = said.iter().any(|(_, said)| said.denial == Some(Denial::StoreFull));
        if full && self.model.overflow == Overflow::Evict {
            // (Which key is one too many depends on whose slots victims left, and that is not
            // told.)
            let denial = all.decision().denial();
            assert_eq!(
                (all.retry(), denial),
                (Retry::Never, Some(Denial::StoreFull)),
                "{}",
                story()
            );
            assert_eq!((all.remaining(), all.reset_after().is_zero()), (0, !owes), "{}", story());
        } else {
            assert!(follows(&all, &said), "{}", story());
        }
        let stats = self.small.stats();
        let forced = stats.evicted_forced - before.evicted_forced;
        match expected {
            Expected::Denied => {
                self.seen.denied += 1;
                self.seen.full += u64::from(full);
                assert_eq!(stats.store_full - before.store_full, u64::from(full));
                assert_eq!((forced, stats.occupied), (0, before.occupied), "{}", story());
            }
            Expected::Allowed { singly, slots, evicted } => {
                self.seen.allowed += 1;
                self.seen.shared += stats.shared - before.shared;
                self.seen.forgotten += forced;
                assert_eq!(forced, evicted as u64, "{}", story());
                self.model.charge(&singly, slots, now);
                self.find_victims(&charges, now, evicted);
            }
        }
        self.compare(now);
    }

    /// Finds out who was forgotten: those that owe the least.
    fn find_victims(&mut self, charges: &[(Key, u64)], now: Nanos, evicted: usize) {
        if evicted == 0 {
            return;
        }
        let charged = |key: &Key| charges.iter().any(|(other, cost)| other == key && *cost > 0);
        let others: Vec<Key> =
            self.model.slots.iter().flatten().copied().filter(|key| !charged(key)).collect();
        let is_forgotten =
            |key: &Key| Said::from(&self.small.peek_at(*key, 0, now)).reset_after.is_zero();
        let owing = others.into_iter().filter(|key| !self.model.owes_for(*key, now).is_zero());
        let (forgotten, kept): (Vec<Key>, Vec<Key>) = owing.partition(is_forgotten);
        assert_eq!(forgotten.len(), evicted);
        if self.model.kinds == 1 {
            let most = forgotten.iter().map(|key| self.model.owes_for(*key, now)).max();
            let least = kept.iter().map(|key| self.model.owes_for(*key, now)).min();
            assert!(least.is_none_or(|least| most.unwrap() <= least), "{most:?}, {least:?}");
        }
        let new: Vec<Key> = merged(charges)
            .into_iter()
            .filter(|(_, key, cost)| *cost > 0 && !self.model.slots.contains(&Some(*key)))
            .map(|(_, key, _)| key)
            .collect();
        assert_eq!(new.len(), evicted);
        for (victim, key) in forgotten.into_iter().zip(new) {
            self.model.states.reset(victim);
            let slot = self.model.slots.iter_mut().find(|slot| **slot == Some(victim));
            *slot.unwrap() = Some(key);
        }
    }

    /// Every key says what the model's does.
    fn compare(&self, now: Nanos) {
        let occupied = self.model.slots.iter().flatten().count() as u64;
        assert_eq!(self.small.stats().occupied, occupied);
        for key in
            (0..self.model.kinds).flat_map(|kind| (0..NUMBERS).map(move |number| (kind, number)))
        {
            let has_slot = self.model.slots.contains(&Some(key));
            for cost in [0, 2] {
                if cost == 0 || has_slot {
                    let said = Said::from(&self.small.peek_at(key, cost, now));
                    assert_eq!(said, self.model.look(key, cost, now), "{key:?}, {cost}");
                }
            }
        }
    }
}

/// In stores with fewer slots than keys: who finds a slot, who is forgotten, refused or shares, and
/// that a denial leaves every key and every slot as it was.
#[test]
fn full_stores_take_all_keys_or_none() {
    for overflow in Overflow::ALL {
        let mut sum = Seen::default();
        for kind in 0..policies().len() {
            for max_keys in 1..=8 {
                println!("full_stores_take_all_keys_or_none: {overflow}, {kind}, {max_keys} keys");
                let mut trial = Trial::new(kind, max_keys, overflow);
                for _ in 0..1_500 {
                    trial.step();
                }
                let Seen { allowed, denied, full, forgotten, shared } = trial.seen;
                sum.allowed += allowed;
                sum.denied += denied;
                sum.full += full;
                sum.forgotten += forgotten;
                sum.shared += shared;
            }
        }
        println!("  {sum:?}");
        assert!(sum.allowed > 1_000 && sum.denied > 1_000, "{overflow}: {sum:?}");
        assert!(overflow == Overflow::Share || sum.full > 300, "{overflow}: {sum:?}");
        assert_eq!(overflow == Overflow::Evict, sum.forgotten > 1_000, "{overflow}: {sum:?}");
        assert_eq!(overflow == Overflow::Share, sum.shared > 1_000, "{overflow}: {sum:?}");
    }
}

//! Calls that name several keys, and strangers that fill a store.

use brimful::{AllDecision, Decision, Denial, Limiter, Nanos};

use super::calls::{By, cost_of};
use super::pair::Pair;
use super::promises::answers;
use super::setup::{KEYS, TIERS};
use crate::Outcome;
use crate::trace::Draft;

/// Strangers of one sequence, so that it ends soon.
const MOST_STRANGERS: u64 = 2_600;

impl Pair<'_> {
    /// A batch, which is its calls in order.
    pub(super) fn many(&mut self, key: usize, draft: Draft, keys: &[usize]) {
        let (_, cost, now) = self.next(key, By::Nobody, draft);
        let keys: Vec<usize> = std::iter::once(key).chain(keys.iter().copied()).collect();
        let before = self.before(&keys, now);
        let names: Vec<&str> = keys.iter().map(|key| KEYS[*key]).collect();
        let mut decisions = Vec::new();
        self.limiter.try_acquire_many_at(&names, cost, now, &mut decisions);
        assert_eq!(decisions.len(), keys.len());
        for (key, decision) in keys.iter().zip(&decisions) {
            answers(self.policy(*key, By::Nobody), cost, decision);
            self.tally.one(cost, decision);
            if let Some(twin) = &self.twin {
                let single = twin.try_acquire_at(KEYS[*key], cost, now);
                assert_eq!(single, *decision, "a batch");
            }
        }
        let is_full = |decision: &Decision| decision.denial() == Some(Denial::StoreFull);
        if !self.after(&before, decisions.iter().all(Decision::is_denied), now) {
            return;
        }
        if self.setup.has_logs() && decisions.iter().any(is_full) {
            return self.begin_anew(keys);
        }
        for (key, decision) in keys.iter().zip(&decisions) {
            self.compare(*key, By::Nobody, cost, now, decision);
        }
    }

    /// Some keys, all or nothing.
    pub(super) fn all(&mut self, key: usize, by: By, draft: Draft, charges: &[(usize, u8)]) {
        let (_, cost, now) = self.next(key, by, draft);
        let others = charges.iter().map(|(key, kind)| (*key, cost_of(*kind, cost)));
        let charges: Vec<(usize, u64)> = std::iter::once((key, cost)).chain(others).collect();
        let keys: Vec<usize> = charges.iter().map(|(key, _)| *key).collect();
        let before = self.before(&keys, now);
        let named: Vec<(&str, u64)> =
            charges.iter().map(|(key, cost)| (KEYS[*key], *cost)).collect();
        let call = |limiter: &Limiter| match by.tier() {
            None => limiter.try_acquire_all_at(&named, now),
            Some(tier) => limiter.tier(tier).try_acquire_all_at(&named, now),
        };
        let all = call(&self.limiter);
        if let Some(twin) = &self.twin {
            assert_eq!(call(twin), all, "the long way");
        }
        assert_eq!(all.is_err(), charges.len() > Limiter::MAX_KEYS_AT_ONCE);
        let Ok(all) = all else { return };
        let merged = merged(&charges);
        self.tally.all(&merged, &all);
        let charged = charges.iter().any(|(_, cost)| *cost > 0);
        self.tally.unknown_tier += u64::from(by.tier() == Some(TIERS[2]) && charged);
        let is_exact = self.after(&before, all.is_denied(), now);
        if all.is_denied() && !self.setup.is_roomy {
            let stats = self.limiter.stats();
            assert_eq!(stats.evicted_forced, before.stats.evicted_forced, "{all:?}");
        }
        if !is_exact {
            return;
        }
        if all.decision().denial() == Some(Denial::StoreFull) {
            return self.begin_anew(keys);
        }
        let each = self.singly(by, &merged, now);
        assert!(follows(&all, &each), "{charges:?} by {by:?} at {now:?}: {all:?}, not {each:?}");
    }

    /// What the model says to each key: charging all or none, where a key that refuses is called as
    /// well, because its denial may let the time of a stepped clock count, or give it other limits.
    fn singly(
        &mut self,
        by: By,
        merged: &[(usize, usize, u64)],
        now: Nanos,
    ) -> Vec<(usize, Outcome)> {
        let (tier, model) = (by.tier(), &mut self.model);
        let looks = merged.iter().map(|(_, key, cost)| model.peek_as(tier, KEYS[*key], *cost, now));
        let looks: Vec<Outcome> = looks.collect();
        let is_allowed = looks.iter().all(|look| look.allowed);
        let each = merged.iter().zip(looks).map(|((place, key, cost), look)| {
            let outcome = if is_allowed || !look.allowed {
                model.acquire_as(tier, KEYS[*key], *cost, now)
            } else {
                model.peek_as(tier, KEYS[*key], 0, now)
            };
            (*place, outcome)
        });
        each.collect()
    }

    /// Strangers fill the store.
    pub(super) fn flood(&mut self, draft: Draft, from: u8, part: u8) {
        if self.setup.is_roomy {
            return;
        }
        let (_, cost, now) = self.next(1, By::Nobody, draft);
        let before = self.before(&[], now);
        let count = 1 + before.stats.slots * u64::from(part) / 200;
        let count = count.min(MOST_STRANGERS - self.strangers);
        self.strangers += count;
        let mut is_denied = true;
        for place in 0..count {
            let stranger = u64::from(from) * 16 + place;
            let decision = self.limiter.try_acquire_at(stranger, cost, now);
            answers(&self.setup.default, cost, &decision);
            if let Some(twin) = &self.twin {
                let other = twin.try_acquire_at(stranger, cost, now);
                assert_eq!(other, decision, "the long way");
            }
            self.tally.one(cost, &decision);
            is_denied &= decision.is_denied();
        }
        self.after(&before, is_denied, now);
    }
}

/// Sums the costs of keys that are named several times; each with the place of its first mention.
fn merged(charges: &[(usize, u64)]) -> Vec<(usize, usize, u64)> {
    let mut merged: Vec<(usize, usize, u64)> = Vec::new();
    for (place, (key, cost)) in charges.iter().enumerate() {
        match merged.iter_mut().find(|(_, other, _)| other == key) {
            Some((_, _, sum)) => *sum = sum.saturating_add(*cost),
            None => merged.push((place, *key, *cost)),
        }
    }
    merged
}

/// Whether a call says what follows from what was said to each key, given with its place.
fn follows(all: &AllDecision, each: &[(usize, Outcome)]) -> bool {
    let is_allowed = each.iter().all(|(_, said)| said.allowed);
    // The best is the last in this order.
    let rank = |said: &Outcome| match is_allowed {
        true => (false, 0, u64::MAX - said.remaining),
        false => (said.never, said.retry.unwrap_or(0), 0),
    };
    let deciding = each.iter().rev().max_by_key(|(_, said)| rank(said));
    all.is_allowed() == is_allowed
        && all.is_denied() != is_allowed
        && all.key() == deciding.map(|(place, _)| *place)
        && deciding.is_none_or(|(_, said)| *said == Outcome::from(all.decision()))
        && all.retry() == all.decision().retry()
        && Some(all.remaining()) == each.iter().map(|(_, said)| said.remaining).min()
        && Some(all.reset_after().as_nanos()) == each.iter().map(|(_, said)| said.reset_after).max()
}

//! Batches: many keys in one call, as if called in order.

use brimful::{Decision, Denial, Nanos, Overflow};

use super::calls::{Said, logs_of};
use super::setup::{By, name};
use super::totals::Event;
use super::world::{Check, Grown, Id, World};

impl World {
    /// A batch of different keys.
    pub(super) fn batch(&mut self, keys: &[u32], cost: u64, at: Option<Nanos>) -> Check {
        let now = at.unwrap_or(self.now);
        let names: Vec<String> = keys.iter().map(|key| name(*key)).collect();
        for key in keys {
            self.meet(Id::Key(*key));
        }
        let mut said: Vec<Decision> = Vec::new();
        match at {
            None if cost == 1 => self.limiter.try_acquire_many(&names, &mut said),
            _ => self.limiter.try_acquire_many_at(&names, cost, now, &mut said),
        }
        if said.len() != keys.len() {
            return Err(format!("{} decisions for {} keys", said.len(), keys.len()));
        }
        self.totals.count(Event::Batch);
        let before = self.steps();
        let grown = self.passed(now, false, keys.len() as u64);
        if grown.forced > 0 {
            self.forgotten_in_batch(keys, cost, now, &grown)?;
        }
        for (key, decision) in keys.iter().zip(said) {
            self.believe_one_of(*key, cost, now, decision, &grown)?;
            // What the batch did after this key it may have done to it.
            self.belief(*key).since = before;
        }
        if grown.forced > 0 {
            // Those that were forgotten after they were charged.
            for key in keys {
                let new = self
                    .look(*key, By::Nobody, now)
                    .is_some_and(|look| look.reset_after().is_zero());
                let belief = self.belief(*key);
                if new && belief.owes(now) {
                    belief.may_be = vec![None];
                }
            }
        }
        Ok(())
    }

    /// Forgets those that a batch was seen to forget, and allows that its own keys are among them.
    fn forgotten_in_batch(&mut self, keys: &[u32], cost: u64, now: Nanos, grown: &Grown) -> Check {
        let newcomers = keys.len() as u64;
        let logs =
            keys.iter().map(|key| logs_of(self.policy(&self.setup.resolve(*key, By::Nobody))));
        let logs: u64 = logs.sum();
        let no_runs = self.may_lack_runs(logs);
        if self.overflow() != Overflow::Evict || !(no_runs || self.may_be_full(now, newcomers)) {
            return Err(format!("{} keys were forgotten without need", grown.forced));
        }
        if !no_runs && (grown.forced > newcomers || grown.forgiven < grown.forced || cost == 0) {
            return Err(format!("{grown:?} for a batch of {newcomers}"));
        }
        let (victims, _) = self.victims(keys, now)?;
        if victims.len() as u64 > grown.forced {
            return Err(format!("{} keys were forgotten, {} counted", victims.len(), grown.forced));
        }
        for key in keys {
            self.meet(Id::Key(*key)).add(None);
        }
        Ok(())
    }

    fn believe_one_of(
        &mut self,
        key: u32,
        cost: u64,
        now: Nanos,
        decision: Decision,
        grown: &Grown,
    ) -> Check {
        let ruled = self.setup.resolve(key, By::Nobody);
        if cost > 0 {
            let full = decision.denial() == Some(Denial::StoreFull);
            self.expect(decision.is_allowed(), full, &ruled);
        }
        let has_limits = !self.policy(&ruled).limits().is_empty();
        let is_shared = match grown.shared {
            0 => Some(false),
            // Nobody is forgotten then, so that what a key owes shows where it was charged.
            _ if decision.is_allowed() && cost > 0 && has_limits => {
                self.look(key, By::Nobody, now).map(|look| look.reset_after().is_zero())
            }
            _ => None,
        };
        self.believe(&Said { key, ruled, cost, now, decision, is_shared, is_last: false })
    }
}

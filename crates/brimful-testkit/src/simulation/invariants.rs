//! What must hold after every step, and what must hold of a store that forgot a key in debt.

use std::collections::BTreeMap;

use brimful::{Nanos, Overflow};

use super::calls::logs_of;
use super::setup::{Ruled, name};
use super::totals::Event;
use super::world::{Check, Grown, Id, World, decide};
use crate::Outcome;
use crate::model::{Debt, Known};

/// A victim, and what it owed when it was forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    key: u32,
    /// The least and the most that is believed.
    least: Debt,
    most: Debt,
}

impl World {
    /// Finds the keys in debt that a call has forgotten for one of `called`: as many as were
    /// counted, and owing what was counted.
    pub(super) fn evicted(
        &mut self,
        called: &[u32],
        ruled: &Ruled,
        now: Nanos,
        grown: &Grown,
    ) -> Check {
        if grown.forced == 0 {
            return match grown.forgiven {
                0 => Ok(()),
                tokens => Err(format!("{tokens} tokens were forgiven, and nobody was forgotten")),
            };
        }
        let logs = logs_of(self.policy(ruled));
        let no_runs = self.may_lack_runs(logs);
        if self.overflow() != Overflow::Evict || !(no_runs || self.may_be_full(now, 1)) {
            return Err(format!("{} keys were forgotten without need", grown.forced));
        }
        if !no_runs && grown.forced > 1 {
            return Err(format!("{} keys were forgotten for one", grown.forced));
        }
        let (victims, in_doubt) = self.victims(called, now)?;
        self.tell(|| format!("[forgot {}] ", shown(&victims)));
        let (found, counted) = (victims.len() as u64, grown.forced);
        if found > counted || found + in_doubt < counted {
            return Err(format!("{counted} keys were counted as forgotten, {found} are"));
        }
        let sum = |of: fn(&Victim) -> u64| victims.iter().map(of).sum::<u64>();
        let (least, most) = (sum(|victim| victim.least.tokens), sum(|victim| victim.most.tokens));
        let forgiven = grown.forgiven;
        if forgiven < least.max(counted) || (found == counted && forgiven > most) {
            return Err(format!("{forgiven} tokens were forgiven, owed were {least} to {most}"));
        }
        match victims.as_slice() {
            [victim] if self.is_one_set() && !no_runs && found == counted => {
                self.weigh(victim, called, now)
            }
            _ => Ok(()),
        }
    }

    /// Forgets the keys that are as good as new and cannot be so; also how many may or may not have
    /// been in debt.
    pub(super) fn victims(&mut self, called: &[u32], now: Nanos) -> Check<(Vec<Victim>, u64)> {
        let (mut victims, mut in_doubt) = (Vec::new(), 0);
        for key in self.keys() {
            if called.contains(&key) || !self.belief(key).may_owe(now) {
                continue;
            }
            let by = self.belief(key).candidates().next().map(|it| it.known.whose.clone());
            let Some(by) = by.map(|whose| self.setup.who_has(&whose)) else { continue };
            // (A look by limits that have no place in the table: no key has them.)
            if self.look(key, by, now).is_some_and(|look| !look.reset_after().is_zero()) {
                continue;
            }
            let belief = self.meet(Id::Key(key));
            if belief.owes(now) {
                let debts = belief.candidates().map(|it| it.known.model.debt(now));
                let debts: Vec<Debt> = debts.collect();
                let (least, most) = bounds(&debts).ok_or("a key in debt without a state")?;
                victims.push(Victim { key, least, most });
                belief.may_be = vec![None];
            } else {
                in_doubt += 1;
                belief.may_be.retain(|it| it.as_ref().is_none_or(|it| !it.owes(now)));
                belief.add(None);
            }
        }
        Ok((victims, in_doubt))
    }

    /// In a store of one set every other key was a candidate: none owed less than the victim.
    fn weigh(&mut self, victim: &Victim, called: &[u32], now: Nanos) -> Check {
        // Every other time, because it costs as much as all else.
        if self.beliefs.len() > 16 && self.rng.below(8) > 0 {
            return Ok(());
        }
        self.totals.count(Event::Weighed);
        self.meet_all();
        for (id, belief) in &self.beliefs {
            let Id::Key(key) = id else { continue };
            // (One that owes nothing has no slot any more.)
            if called.contains(key) || !belief.owes(now) {
                continue;
            }
            let debts = belief.candidates().map(|it| it.known.model.debt(now));
            let Some(most) = debts.max() else { continue };
            if most < victim.least {
                let (key, victim_key) = (name(*key), name(victim.key));
                return Err(format!("{victim_key} owed {victim:?}, but {key} only {most:?}"));
            }
        }
        Ok(())
    }

    /// The counters add up, and nothing has grown beyond what it was built for.
    pub(super) fn counters(&mut self) -> Check {
        let stats = self.limiter.stats();
        let expected = &self.expected;
        let by_policy: BTreeMap<String, u64> = stats.denied_by_policy.iter().cloned().collect();
        let same = [
            ("admitted", stats.admitted, expected.admitted),
            ("denied", stats.denied, expected.denied),
            ("store_full", stats.store_full, expected.store_full),
            ("unknown_tier", stats.unknown_tier, expected.unknown_tier),
            ("bytes", stats.bytes, self.stats.bytes),
            ("slots", stats.slots, self.stats.slots),
            ("max_keys", stats.max_keys, self.setup.max_keys),
        ];
        for (what, found, expected) in same {
            if found != expected {
                return Err(format!("{what} is {found}, expected {expected}"));
            }
        }
        if by_policy != expected.denied_by_policy {
            let expected = &expected.denied_by_policy;
            return Err(format!("denied by policy {by_policy:?}, expected {expected:?}"));
        }
        let at_most = [
            ("occupied", stats.occupied, stats.slots),
            ("log_entries", stats.log_entries, stats.max_log_entries),
            ("given_policies", stats.given_policies, stats.max_given_policies),
        ];
        for (what, found, most) in at_most {
            if found > most {
                return Err(format!("{what} is {found}, at most {most}"));
            }
        }
        self.occupied(stats.occupied)
    }

    /// As many slots are taken as there are keys that owe, or more, but none by a key that was not
    /// charged.
    fn occupied(&self, occupied: u64) -> Check {
        let keys = || self.beliefs.iter().filter(|(id, _)| matches!(id, Id::Key(_)));
        let least = keys().filter(|(_, belief)| belief.owes(self.furthest)).count() as u64;
        let most = keys().filter(|(_, belief)| !belief.is_absent()).count() as u64;
        match (least..=most).contains(&occupied) {
            true => Ok(()),
            false => Err(format!("{occupied} slots are taken, expected {least} to {most}")),
        }
    }

    /// Every key is as it is believed to be, and elapsed time takes nothing from it.
    pub(super) fn look_at_all(&mut self) -> Check {
        let now = self.now;
        let all = self.keys();
        // Of many keys some, from a random one on.
        let first = self.rng.below(all.len() as u64 + 1) as usize;
        for key in all.iter().cycle().skip(first).take(all.len().min(100)) {
            self.look_at(*key, now)?;
        }
        Ok(())
    }

    pub(super) fn look_at(&mut self, key: u32, now: Nanos) -> Check {
        let whose = self.meet(Id::Key(key)).candidates().next();
        let Some(whose) = whose.map(|it| it.known.whose.clone()) else { return Ok(()) };
        let by = self.setup.who_has(&whose);
        let ruled = self.setup.resolve(key, by);
        let policy = self.policy(&ruled).clone();
        let later = Nanos::from_nanos(now.as_nanos() + self.rng.magnitude(1 << 40));
        let then = match by {
            super::setup::By::Given(_) => None,
            _ => self.look(key, by, later),
        };
        let Some(look) = self.look(key, by, now) else { return Ok(()) };
        self.totals.count(Event::Look);
        let seen = Outcome::from(look);
        let act = |known: &mut Option<Known>| decide(known, &ruled, &policy, 0, now);
        let belief = self.meet(Id::Key(key));
        if !belief.confirm(&seen, act) {
            let expected = belief.answers(act);
            return Err(format!("{} is {seen:?}, expected one of {expected:?}", name(key)));
        }
        let is_ahead =
            belief.candidates().any(|it| it.known.model.last_ns() > now.as_nanos().into());
        match then {
            Some(then) if then.remaining() < look.remaining() && !is_ahead => {
                Err(format!("{} had {look:?} and later {then:?}", name(key)))
            }
            _ => Ok(()),
        }
    }

    /// Resets every key: each was in one slot, and nothing is left of any.
    pub(super) fn forget_all(&mut self) -> Check {
        for key in self.keys() {
            self.reset(key)?;
        }
        let stats = self.limiter.stats();
        if stats.occupied > 0 {
            return Err(format!("{} slots are taken by nobody", stats.occupied));
        }
        if stats.log_entries > 0 && self.overflow() != Overflow::Share {
            return Err(format!("{} log entries are held by nobody", stats.log_entries));
        }
        self.counters()
    }

    pub(super) fn reset(&mut self, key: u32) -> Check {
        let belief = self.meet(Id::Key(key));
        let (is_there, may_be_there) = (!belief.may_be_absent(), !belief.is_absent());
        belief.may_be = vec![None];
        let known = self.limiter.reset(name(key));
        self.tell(|| if known { "it was there; " } else { "it was not there; " }.to_owned());
        self.totals.count_many(Event::Reset, known.into());
        if known && !may_be_there {
            return Err(format!("{} was in a slot, and never charged", name(key)));
        }
        if !known && is_there {
            return Err(format!("{} was in no slot", name(key)));
        }
        match self.limiter.reset(name(key)) {
            true => Err(format!("{} was in two slots", name(key))),
            false => Ok(()),
        }
    }

    pub(super) fn refund(&mut self, key: u32, tokens: u64, at: Option<Nanos>) -> Check {
        let now = at.unwrap_or(self.now);
        self.meet(Id::Key(key));
        let given = match at {
            Some(at) => self.limiter.refund_at(name(key), tokens, at),
            None => self.limiter.refund(name(key), tokens),
        };
        self.tell(|| format!("{given} given back"));
        self.totals.count_many(Event::Refund, u64::from(given > 0));
        self.passed(now, false, 1);
        let act = |known: &mut Option<Known>| {
            known.as_mut().map_or(0, |known| known.model.refund(tokens, now))
        };
        let belief = self.meet(Id::Key(key));
        if belief.observe(&given, act) {
            return Ok(());
        }
        let expected = belief.answers(act);
        Err(format!("{} got {given} back, expected one of {expected:?}", name(key)))
    }
}

/// The least and the most of each figure.
fn bounds(debts: &[Debt]) -> Option<(Debt, Debt)> {
    let reduce = |better: fn(u64, u64) -> u64| {
        debts.iter().copied().reduce(|a, b| Debt {
            share: better(a.share, b.share),
            tokens: better(a.tokens, b.tokens),
        })
    };
    reduce(u64::min).zip(reduce(u64::max))
}

fn shown(victims: &[Victim]) -> String {
    let names: Vec<String> = victims.iter().map(|victim| name(victim.key)).collect();
    names.join(", ")
}

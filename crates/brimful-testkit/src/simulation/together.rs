//! Calls for several keys, all or nothing.

use brimful::{AllDecision, Denial, Nanos, Overflow};

use super::calls::{Said, logs_of, shown};
use super::setup::{By, Ruled, name};
use super::totals::Event;
use super::world::{Check, Grown, Id, World, decide, tier_name};
use crate::Outcome;
use crate::model::Known;

/// One key of a call, named once.
#[derive(Clone, Debug)]
struct Member {
    key: u32,
    /// Its first place in the call.
    place: usize,
    cost: u64,
    ruled: Ruled,
    known: Option<Known>,
    /// What a call for it alone would say, by a slot of its own.
    alone: Outcome,
    /// What a look at it says.
    look: Outcome,
}

impl World {
    /// Several keys, all or nothing.
    pub(super) fn together(&mut self, by: By, charges: &[(u32, u64)], now: Nanos) -> Check {
        for (key, _) in charges {
            if self.meet(Id::Key(*key)).may_be.len() > 1 {
                // What is not known for certain is not compared here.
                self.reset(*key)?;
            }
        }
        let members = self.members(by, charges, now);
        let before: Vec<_> = members.iter().map(|it| self.peek(it.key, by, 0, now)).collect();
        let named: Vec<(String, u64)> =
            charges.iter().map(|(key, cost)| (name(*key), *cost)).collect();
        let all = match by {
            By::Tier(tier) => self.limiter.tier(tier_name(tier)).try_acquire_all_at(&named, now),
            _ => self.limiter.try_acquire_all_at(&named, now),
        };
        let all = all.map_err(|fault| format!("the call failed: {fault}"))?;
        let grown = self.passed(now, false, members.len() as u64);
        self.tell(|| shown(all.decision()));
        let is_charged = members.iter().any(|it| it.cost > 0);
        self.expect_tier(by, is_charged.into());
        self.expect_all(&members, &all)?;
        if all.is_allowed() {
            self.totals.count(Event::Together);
            return self.charged(&members, by, now, &all, &grown);
        }
        self.totals.count(Event::Apart);
        let after: Vec<_> = members.iter().map(|it| self.peek(it.key, by, 0, now)).collect();
        if before != after {
            return Err(format!("a denial changed {before:?} to {after:?}"));
        }
        if grown.forced + grown.forgiven + grown.left_shared > 0 {
            return Err(format!("a denial forgot: {grown:?}"));
        }
        match all.decision().denial() {
            Some(Denial::StoreFull) => self.all_refused(&members, now, &all),
            _ if members.iter().all(|it| it.alone.allowed) => self.all_share(&members, now, &grown),
            _ => {
                self.all_denied(&members, now, &all)?;
                self.hint_for_all(&members, by, now, &all)
            }
        }
    }

    /// The different keys of a call, with the sums of their costs.
    fn members(&mut self, by: By, charges: &[(u32, u64)], now: Nanos) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        for (place, (key, cost)) in charges.iter().enumerate() {
            if let Some(before) = members.iter_mut().find(|member| member.key == *key) {
                before.cost = before.cost.saturating_add(*cost);
                continue;
            }
            let known = self.belief(*key).may_be[0].as_ref().map(|it| it.known.clone());
            let ruled = self.setup.resolve(*key, by);
            let (alone, look) = (Outcome::UNLIMITED, Outcome::UNLIMITED);
            members.push(Member { key: *key, place, cost: *cost, ruled, known, alone, look });
        }
        for member in &mut members {
            let policy = self.policy(&member.ruled);
            let ask = |cost| decide(&mut member.known.clone(), &member.ruled, policy, cost, now);
            (member.alone, member.look) = (ask(member.cost), ask(0));
        }
        members
    }

    fn expect_all(&mut self, members: &[Member], all: &AllDecision) -> Check {
        let charged = || members.iter().filter(|member| member.cost > 0);
        if all.is_allowed() {
            charged().for_each(|member| self.expect(true, false, &member.ruled));
            return Ok(());
        }
        let deciding = members.iter().find(|member| Some(member.place) == all.key());
        let deciding = deciding.ok_or("a denial that no key decided")?;
        let full = all.decision().denial() == Some(Denial::StoreFull);
        if charged().next().is_some() {
            self.expect(false, full, &deciding.ruled);
        }
        Ok(())
    }

    /// All were charged: the model's are, too.
    fn charged(
        &mut self,
        members: &[Member],
        by: By,
        now: Nanos,
        all: &AllDecision,
        grown: &Grown,
    ) -> Check {
        if let Some(refusing) = members.iter().find(|member| !member.alone.allowed) {
            return Err(format!("{} admits no such cost", name(refusing.key)));
        }
        let has_limits = |it: &&Member| !self.policy(&it.ruled).limits().is_empty();
        let charged = members.iter().filter(|it| it.cost > 0).filter(has_limits);
        let keys: Vec<u32> = charged.map(|it| it.key).collect();
        self.evicted_for_all(&keys, members, now, grown)?;
        let mut told: Vec<(usize, Outcome)> = Vec::new();
        let mut sharing: Vec<&Member> = Vec::new();
        for member in members {
            let policy = self.policy(&member.ruled).clone();
            let is_new = member.known.is_none() && member.cost > 0 && !policy.limits().is_empty();
            let look =
                if is_new && grown.shared > 0 { self.peek(member.key, by, 0, now) } else { None };
            if look.is_some_and(|look| look.reset_after().is_zero()) {
                sharing.push(member);
                continue;
            }
            told.push((member.place, member.alone));
            if member.cost == 0 {
                // A look leaves its slot to whoever needs it.
                continue;
            }
            let act =
                |known: &mut Option<Known>| decide(known, &member.ruled, &policy, member.cost, now);
            if !self.meet(Id::Key(member.key)).observe(&member.alone, act) {
                return Err(format!("{} is not where it was", name(member.key)));
            }
        }
        if sharing.len() as u64 != grown.shared {
            return Err(format!("{} share, {} were counted", sharing.len(), grown.shared));
        }
        self.totals.count_many(Event::Shared, grown.shared);
        let mut is_certain = true;
        for member in &sharing {
            match self.share_together(member, &sharing, now)? {
                Some(outcome) => told.push((member.place, outcome)),
                None => is_certain = false,
            }
        }
        if is_certain { self.sums_up(all, told) } else { Ok(()) }
    }

    /// Charges the state that some keys of a call share with the sum of their costs, once; what they
    /// were told, if that is certain.
    fn share_together(
        &mut self,
        member: &Member,
        sharing: &[&Member],
        now: Nanos,
    ) -> Check<Option<Outcome>> {
        let alike = |other: &&&Member| other.ruled.place == member.ruled.place;
        let cost = sharing.iter().filter(alike).map(|member| member.cost).sum();
        let is_first = sharing.iter().find(alike).is_some_and(|first| first.key == member.key);
        let (ruled, policy) = (&member.ruled, self.policy(&member.ruled).clone());
        // Those after the first find it charged: what is left is what all were told.
        let cost = if is_first { cost } else { 0 };
        let act = |known: &mut Option<Known>| decide(known, ruled, &policy, cost, now);
        let shared = self.meet(Id::Shared(ruled.place, false));
        let told = shared.answers(act).first().copied().filter(|_| shared.may_be.len() == 1);
        match shared.observe(&true, |known| act(known).allowed) {
            true => Ok(told),
            false => Err("the shared state admits no such cost".to_owned()),
        }
    }

    /// Keys of a call that want a place, beside those that owe: what owes nothing may have lost its
    /// own, and keeps others out of it if not.
    fn newcomers(&mut self, members: &[Member], now: Nanos) -> u64 {
        let mut newcomers = 0;
        for member in members.iter().filter(|it| it.cost > 0) {
            let has_limits = !self.policy(&member.ruled).limits().is_empty();
            newcomers += u64::from(has_limits && !self.belief(member.key).may_owe(now));
        }
        newcomers
    }

    /// Those that were forgotten for the newcomers of a call.
    fn evicted_for_all(
        &mut self,
        charged: &[u32],
        members: &[Member],
        now: Nanos,
        grown: &Grown,
    ) -> Check {
        if grown.forced == 0 {
            return Ok(());
        }
        let newcomers = self.newcomers(members, now);
        if self.overflow() != Overflow::Evict || !self.may_be_full(now, newcomers) {
            return Err(format!("{} keys were forgotten without need", grown.forced));
        }
        let (victims, in_doubt) = self.victims(charged, now)?;
        let found = victims.len() as u64;
        if found > grown.forced || found + in_doubt < grown.forced || grown.forced > newcomers {
            return Err(format!("{found} keys are forgotten, counted: {grown:?}"));
        }
        Ok(())
    }

    /// A limit refused: who refused keeps what its own denial would leave.
    fn all_denied(&mut self, members: &[Member], now: Nanos, all: &AllDecision) -> Check {
        let mut told = Vec::new();
        for member in members {
            told.push((
                member.place,
                if member.alone.allowed { member.look } else { member.alone },
            ));
            if member.alone.allowed || member.known.is_none() {
                continue;
            }
            let policy = self.policy(&member.ruled).clone();
            let scarce = self.may_lack_runs(logs_of(&policy));
            let belief = self.meet(Id::Key(member.key));
            let was = belief.clone();
            belief.observe(&member.alone, |known| {
                decide(known, &member.ruled, &policy, member.cost, now)
            });
            if scarce {
                // Without entries for its new log it keeps its old limits.
                was.may_be.into_iter().for_each(|it| belief.add(it));
            }
        }
        self.sums_up(all, told)
    }

    /// The hint of a denial is exact for the key that decided. (Without entries for its new log, that
    /// key is where it was.)
    fn hint_for_all(&mut self, members: &[Member], by: By, now: Nanos, all: &AllDecision) -> Check {
        let deciding = members.iter().find(|member| Some(member.place) == all.key());
        let deciding = deciding.ok_or("a denial that no key decided")?;
        if self.may_lack_runs(logs_of(self.policy(&deciding.ruled))) {
            return Ok(());
        }
        let Member { key, cost, .. } = *deciding;
        let (ruled, decision) = (deciding.ruled.clone(), *all.decision());
        let is_shared = Some(false);
        self.hint(&Said { key, ruled, cost, now, decision, is_shared, is_last: true }, by)
    }

    /// There was no place for all of them.
    fn all_refused(&mut self, members: &[Member], now: Nanos, all: &AllDecision) -> Check {
        if members.iter().any(|member| !member.alone.allowed) {
            return Err("refused for want of a place, although a limit refuses".to_owned());
        }
        let newcomers = self.newcomers(members, now);
        let logs: u64 = members.iter().map(|it| logs_of(self.policy(&it.ruled))).sum();
        let no_runs = self.may_lack_runs(logs);
        let no_slots = match self.overflow() {
            Overflow::Refuse => newcomers > 0 && self.may_be_full(now, newcomers),
            // More keys than slots in reach.
            Overflow::Evict => all.retry() == brimful::Retry::Never && members.len() >= 4,
            Overflow::Share => false,
        };
        let one_set_never = self.is_one_set() && (members.len() as u64) > self.stats.slots;
        if no_runs || no_slots || one_set_never {
            self.totals.count(if no_runs { Event::NoEntries } else { Event::Refused });
            return Ok(());
        }
        Err(format!("refused although there is a place: {all:?}"))
    }

    /// The shared states of the newcomers refused.
    fn all_share(&mut self, members: &[Member], now: Nanos, grown: &Grown) -> Check {
        if self.overflow() != Overflow::Share || grown.shared == 0 {
            return Err("denied although every key admits its cost".to_owned());
        }
        for member in members.iter().filter(|it| it.known.is_none()) {
            // Those that refuse keep the time of a stepped clock.
            self.meet(Id::Shared(member.ruled.place, false)).allow_anchor(now);
        }
        Ok(())
    }

    /// What is said of all follows from what was said of each.
    fn sums_up(&self, all: &AllDecision, mut told: Vec<(usize, Outcome)>) -> Check {
        told.sort_by_key(|(place, _)| *place);
        let allowed = told.iter().all(|(_, told)| told.allowed);
        // The first of those with the lowest rank decides.
        let rank = |told: &Outcome| match (allowed, told.allowed) {
            (true, _) => (0, u128::from(told.remaining)),
            (false, true) => (2, 0),
            (false, false) if told.never => (0, 0),
            (false, false) => (1, u128::MAX - told.retry.unwrap_or(0)),
        };
        let deciding = told.iter().min_by_key(|(_, told)| rank(told));
        let remaining = told.iter().map(|(_, told)| told.remaining).min().unwrap_or(u64::MAX);
        let reset = told.iter().map(|(_, told)| told.reset_after).max().unwrap_or(0);
        let found = Outcome::from(all.decision());
        let is_so = all.is_allowed() == allowed
            && all.key() == deciding.map(|(place, _)| *place)
            && deciding.is_none_or(|(_, told)| *told == found)
            && all.remaining() == remaining
            && all.reset_after().as_nanos() == reset;
        match is_so {
            true => Ok(()),
            false => Err(format!("{all:?} does not follow from {told:?}")),
        }
    }
}

//! Calls for one key, and what must follow from each.

use brimful::{Decision, Denial, Error, Nanos, Overflow, Policy, Retry};

use super::belief::Belief;
use super::setup::{By, Ruled, name};
use super::totals::Event;
use super::world::{Check, Grown, Id, World, decide, tier_name};
use crate::Outcome;
use crate::model::Known;

/// Which of the verbs that spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Says only whether, and spends one token at the clock's time.
    Allow,
    /// At the clock's time.
    Clock,
    /// At a time of its own.
    At(Nanos),
}

/// A call that spends tokens of one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spend {
    pub(super) key: u32,
    pub(super) by: By,
    pub(super) cost: u64,
    pub(super) verb: Verb,
}

/// A decision to be believed.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) key: u32,
    pub(super) ruled: Ruled,
    pub(super) cost: u64,
    pub(super) now: Nanos,
    pub(super) decision: Decision,
    /// Whether the state that strangers share decided; `None` when it cannot be told.
    pub(super) is_shared: Option<bool>,
    /// Whether no other key was decided for since.
    pub(super) is_last: bool,
}

impl World {
    /// One call, and all that can be checked around it.
    pub(super) fn spend(&mut self, spend: &Spend) -> Check {
        let Spend { key, by, cost, verb } = *spend;
        let now = if let Verb::At(at) = verb { at } else { self.now };
        let ruled = self.setup.resolve(key, by);
        let is_given = matches!(by, By::Given(_));
        self.meet(Id::Key(key));
        let before = if is_given { None } else { self.peek(key, by, 0, now) };
        let peeked = self.peek(key, by, cost, now).filter(|_| !is_given);
        self.passed_peek(now);
        self.meet(Id::Key(key));
        let decision = match self.ask(spend, peeked) {
            Ok(decision) => decision,
            Err(fault) => return self.refused_by_table(by, now, &fault),
        };
        let grown = self.passed(now, is_given, 1);
        self.totals.count_many(Event::Given, is_given.into());
        if peeked.is_some_and(|peeked| peeked != decision) {
            return Err(format!("a peek said {peeked:?}, the call {decision:?}"));
        }
        self.expect_tier(by, cost);
        if cost > 0 {
            let full = decision.denial() == Some(Denial::StoreFull);
            self.expect(decision.is_allowed(), full, &ruled);
        }
        self.evicted(&[key], &ruled, now, &grown)?;
        let is_shared = Some(grown.shared > 0);
        let said = Said { key, ruled, cost, now, decision, is_shared, is_last: true };
        let was = self.meet(Id::Key(key)).clone();
        self.believe(&said)?;
        self.left_shared(&said, &was, &grown)?;
        if decision.is_denied() && !is_given {
            let after = self.peek(key, by, 0, now);
            if before != after {
                return Err(format!("a denial changed {before:?} to {after:?}"));
            }
            self.hint(&said, by)?;
        }
        Ok(())
    }

    /// Asks the limiter.
    fn ask(&self, spend: &Spend, peeked: Option<Decision>) -> Result<Decision, Error> {
        let Spend { by, cost, verb, .. } = *spend;
        let key = name(spend.key);
        let limiter = &self.limiter;
        Ok(match (by, verb, peeked) {
            (By::Given(place), verb, _) => {
                let at = if let Verb::At(at) = verb { at } else { self.now };
                limiter.try_acquire_with(&key, self.setup.given_policy(place), cost, at)?
            }
            (By::Nobody, Verb::At(at), _) => limiter.try_acquire_at(&key, cost, at),
            (By::Tier(tier), Verb::At(at), _) => {
                limiter.tier(tier_name(tier)).try_acquire_at(&key, cost, at)
            }
            // What else it would say, the peek has said.
            (By::Nobody, Verb::Allow, Some(peeked)) if cost == 1 => {
                assert_eq!(limiter.allow(&key), peeked.is_allowed(), "allow is not the peek");
                peeked
            }
            (By::Tier(tier), Verb::Allow, Some(peeked)) if cost == 1 => {
                let allowed = limiter.tier(tier_name(tier)).allow(&key);
                assert_eq!(allowed, peeked.is_allowed(), "allow is not the peek");
                peeked
            }
            (By::Nobody, ..) => limiter.try_acquire_n(&key, cost),
            (By::Tier(tier), ..) => limiter.tier(tier_name(tier)).try_acquire_n(&key, cost),
        })
    }

    /// The table of policies that came with calls was full: as many others are in use as it has
    /// places.
    fn refused_by_table(&mut self, by: By, now: Nanos, fault: &Error) -> Check {
        let By::Given(place) = by else { return Err(format!("the call failed: {fault}")) };
        let mine = self.setup.given_policy(place).clone();
        self.passed(now, true, 1);
        self.totals.count(Event::TableFull);
        self.tell(|| "no place for the policy".to_owned());
        let mut in_use: Vec<&Policy> = Vec::new();
        let owing = self.beliefs.values().flat_map(Belief::candidates).filter(|it| it.owes(now));
        for policy in owing.filter_map(|it| it.known.whose.given()) {
            if *policy != mine && !in_use.contains(&policy) {
                in_use.push(policy);
            }
        }
        let places = self.stats.max_given_policies;
        if fault.field() != Some("policies given by calls") || (in_use.len() as u64) < places {
            return Err(format!("{fault}, but of {places} places {} are in use", in_use.len()));
        }
        Ok(())
    }

    /// Compares a decision with the model, and keeps the states that would have answered so.
    pub(super) fn believe(&mut self, said: &Said) -> Check {
        let Said { key, ruled, cost, now, decision, is_shared, .. } = said;
        let policy = self.policy(ruled).clone();
        self.tell(|| format!("{}; ", shown(decision)));
        self.crowded(said);
        self.count(decision);
        let belief = self.meet(Id::Key(*key));
        let changes = *cost > 0 && belief.candidates().any(|it| it.known.whose != ruled.whose);
        let in_doubt = belief.may_be.len() > 1;
        self.totals.count_many(Event::Doubt, in_doubt.into());
        self.within_bounds(said, &policy)?;
        if decision.denial() == Some(Denial::StoreFull) {
            return self.refusal(said, &policy);
        }
        let seen = Outcome::from(decision);
        let act = |known: &mut Option<Known>| decide(known, ruled, &policy, *cost, *now);
        if *is_shared != Some(true) {
            // What is never admitted changes no limits when there are no entries for the change.
            let may_stay = changes && decision.is_never() && self.may_lack_runs(logs_of(&policy));
            let belief = self.meet(Id::Key(*key));
            let may_be_absent = belief.may_be_absent();
            let before = belief.may_be.clone();
            let is_so = match cost {
                0 => belief.confirm(&seen, act),
                _ => belief.observe(&seen, act),
            };
            if is_so && may_stay {
                let belief = self.meet(Id::Key(*key));
                before.into_iter().for_each(|it| belief.add(it));
            }
            if is_so {
                self.totals.count_many(Event::Changed, changes.into());
                if is_shared.is_none() && may_be_absent && *cost > 0 {
                    self.may_have_shared(said, &policy, &seen);
                }
                return Ok(());
            }
        }
        if *is_shared != Some(false) && self.overflow() == Overflow::Share {
            return self.shared(said, &policy, &seen);
        }
        let expected = self.belief(*key).answers(act);
        Err(format!("{} was told {seen:?}, expected one of {expected:?}", name(*key)))
    }

    /// Where two states would have denied alike, either may have: the key's own or the shared one.
    fn may_have_shared(&mut self, said: &Said, policy: &Policy, seen: &Outcome) {
        let Said { key, ruled, cost, now, .. } = said;
        let shared = self.meet(Id::Shared(ruled.place, ruled.is_given));
        let mut denied = shared.clone();
        if denied.observe(seen, |known| decide(known, ruled, policy, *cost, *now)) {
            denied.may_be.into_iter().for_each(|it| shared.add(it));
            self.belief(*key).add(None);
        }
    }

    /// The same for a key without a slot, whose policy's shared state decided.
    fn shared(&mut self, said: &Said, policy: &Policy, seen: &Outcome) -> Check {
        let Said { key, ruled, cost, now, .. } = said;
        self.totals.count(Event::Shared);
        self.tell(|| "(shared); ".to_owned());
        if !self.may_be_full(*now, 1) {
            return Err("a key shares although there is room for one of its own".to_owned());
        }
        let own = self.meet(Id::Key(*key));
        own.may_be.retain(Option::is_none);
        if own.may_be.is_empty() {
            return Err(format!("{} has a slot, and shares", name(*key)));
        }
        let act = |known: &mut Option<Known>| decide(known, ruled, policy, *cost, *now);
        let shared = self.meet(Id::Shared(ruled.place, ruled.is_given));
        if shared.observe(seen, act) {
            return Ok(());
        }
        let expected = shared.answers(act);
        Err(format!("a key that shares was told {seen:?}, expected one of {expected:?}"))
    }

    /// A denial for want of a place: there was none, and nothing changed.
    fn refusal(&mut self, said: &Said, policy: &Policy) -> Check {
        let Said { key, ruled, cost, now, decision, .. } = said;
        let Retry::After(wait) = decision.retry() else {
            return Err(format!("a refusal without a hint: {decision:?}"));
        };
        let figures = (decision.remaining(), decision.reset_after(), decision.limit());
        if figures != (0, wait, None) || wait.is_zero() || *cost == 0 {
            return Err(format!("not how a refusal speaks: {decision:?}"));
        }
        let logs = logs_of(policy);
        let no_runs = self.may_lack_runs(logs);
        let admitted = policy.limits().iter().all(|limit| *cost <= limit.capacity());
        let may_be_absent = self.meet(Id::Key(*key)).may_be_absent();
        let no_slot = self.overflow() == Overflow::Refuse
            && admitted
            && may_be_absent
            && self.may_be_full(*now, 1);
        if no_slot && !no_runs {
            self.belief(*key).may_be.retain(Option::is_none);
            self.totals.count(Event::Refused);
            return if said.is_last { self.refusal_hint(said, wait) } else { Ok(()) };
        }
        if !no_runs {
            return Err(format!("refused although there is a place: {decision:?}"));
        }
        self.totals.count(Event::NoEntries);
        // The limits of the call may have become the key's before it was refused.
        for it in self.belief(*key).clone().may_be.into_iter().flatten() {
            if it.known.whose != ruled.whose {
                let model = it.known.model.changed(policy, *now);
                let known = Known { whose: ruled.whose.clone(), model };
                self.belief(*key).add_known(known);
            }
        }
        Ok(())
    }

    /// A key that got a slot is counted when its policy's shared state owed then.
    fn left_shared(&mut self, said: &Said, was: &Belief, grown: &Grown) -> Check {
        let is_placed = said.decision.is_allowed() && said.cost > 0 && grown.shared == 0;
        let has_limits = !self.policy(&said.ruled).limits().is_empty();
        let may_be_new = is_placed && has_limits && was.may_be_absent();
        let id = Id::Shared(said.ruled.place, said.ruled.is_given);
        let shared = self.meet(id);
        let (owes, may_owe) = (shared.owes(said.now), shared.may_owe(said.now));
        let least = u64::from(may_be_new && was.is_absent() && owes);
        let most = u64::from(may_be_new && may_owe);
        let left = grown.left_shared;
        if (least..=most).contains(&left) {
            return Ok(());
        }
        Err(format!("{left} keys left a shared state, expected {least} to {most}"))
    }

    /// What holds of any decision, whatever the model says.
    fn within_bounds(&self, said: &Said, policy: &Policy) -> Check {
        let Said { decision, cost, .. } = said;
        let least = policy.limits().iter().map(brimful::Limit::capacity).min();
        let never = policy.is_blocked() || least.is_some_and(|capacity| *cost > capacity);
        if decision.is_never() != never {
            return Err(format!("never: {}, and should be {never}", decision.is_never()));
        }
        if least.is_some_and(|capacity| decision.remaining() > capacity) {
            return Err(format!("more than the capacity remains: {decision:?}"));
        }
        if decision.retry_after().is_some_and(|wait| wait.is_zero()) {
            return Err(format!("a hint of no time: {decision:?}"));
        }
        Ok(())
    }

    /// Counts a newcomer that found a slot where few are free, and keys are moved for one another.
    fn crowded(&mut self, said: &Said) {
        let is_placed =
            said.decision.is_allowed() && said.cost > 0 && said.is_shared == Some(false);
        let is_crowded = self.stats.occupied * 5 > self.stats.slots * 4;
        if is_placed && is_crowded && !self.is_one_set() && self.belief(said.key).is_absent() {
            self.totals.count(Event::Crowded);
        }
    }

    fn count(&mut self, decision: &Decision) {
        self.totals.count(Event::Decision);
        self.totals.count(match decision.retry() {
            Retry::Now => Event::Allowed,
            Retry::After(_) => Event::Denied,
            Retry::Never => Event::Never,
        });
    }

    /// What is believed of a key.
    pub(super) fn belief(&mut self, key: u32) -> &mut Belief {
        let step = self.steps();
        self.beliefs.entry(Id::Key(key)).or_insert_with(|| Belief::absent(step))
    }
}

/// Entries that one request of a policy takes at most.
pub(super) fn logs_of(policy: &Policy) -> u64 {
    let logs = policy.limits().iter();
    let logs = logs.filter(|limit| limit.chosen_algorithm() == brimful::Algorithm::SlidingLog);
    logs.count() as u64
}

/// A decision in a few words.
pub(super) fn shown(decision: &Decision) -> String {
    let left = match decision.remaining() {
        u64::MAX => "all".to_owned(),
        left => left.to_string(),
    };
    match (decision.retry(), decision.denial()) {
        (Retry::Now, _) => format!("allowed, {left} left"),
        (Retry::After(wait), Some(Denial::StoreFull)) => format!("no place for {wait:?}"),
        (Retry::After(wait), _) => format!("denied for {wait:?}, {left} left"),
        (Retry::Never, _) => format!("denied for good, {left} left"),
    }
}

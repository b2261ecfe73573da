//! What the limiter makes of a configuration: its rules, and the settings that it refuses.

use brimful::{Limiter, LimiterBuilder, Policy, Rules};

use crate::error::Error;
use crate::faults::Faults;
use crate::model::{Model, Store, Target};
use crate::read::{Readings, Spots};
use crate::source::Spot;

/// What is wrong.
pub(crate) fn found(fault: &brimful::Error) -> String {
    fault.found()
}

/// What would be right.
pub(crate) fn expected(fault: &brimful::Error) -> String {
    match fault.field() {
        Some(_) => format!("expected {}", fault.expected()),
        None => fault.expected().to_owned(),
    }
}

/// The bytes of a text that are wrong.
pub(crate) fn span(fault: &brimful::Error) -> Option<std::ops::Range<usize>> {
    fault.span()
}

/// The policy decides and counts, and never denies.
pub(crate) fn shadowed(policy: Policy) -> Policy {
    policy.shadow()
}

/// The rules of a model.
pub(crate) fn rules(model: &Model) -> Result<Rules, brimful::Error> {
    let mut builder = Rules::builder();
    for rule in &model.rules {
        let policy = rule.grant.policy.clone();
        builder = match &rule.target {
            Target::Default => builder.default(policy),
            Target::Tier(name) => builder.tier(name, policy),
            Target::Exact(key) => builder.exact(key, policy),
            Target::Pattern(pattern) => builder.pattern(pattern, policy),
        };
    }
    for member in &model.members {
        builder = builder.member(&member.key, &member.tier);
    }
    builder.build()
}

/// The rules of what was read, when nothing in it is wrong.
pub(crate) fn checked(readings: Readings) -> Result<(Readings, Rules), Error> {
    let Readings { model, sources, store_spots, mut faults } = readings;
    if !faults.is_empty() {
        return Err(faults.into_error(&sources));
    }
    let rules = match rules(&model) {
        Ok(rules) => rules,
        Err(fault) => {
            faults.note(blamed(&model), found(&fault), expected(&fault));
            return Err(faults.into_error(&sources));
        }
    };
    check_store(&rules, &model.store, &store_spots, &mut faults);
    if !faults.is_empty() {
        return Err(faults.into_error(&sources));
    }
    Ok((Readings { model, sources, store_spots, faults }, rules))
}

/// What is at fault when the rules cannot stand together, although each can alone: one on trial has too
/// many limits beside an enforced one. The one with the most is pointed at.
fn blamed(model: &Model) -> Spot {
    let trials = model.rules.iter().filter(|rule| rule.grant.shadow);
    let widest = trials.max_by_key(|rule| rule.grant.policy.limits().len());
    widest.map_or(Spot::beginning(0), |rule| rule.spot)
}

/// The most keys that a store can be built for.
pub(crate) const MAX_KEYS: u64 = 1 << 32;

/// Notes what a limiter would refuse of the settings of its store, without the memory that it would take.
fn check_store(rules: &Rules, store: &Store, spots: &Spots, faults: &mut Faults) {
    let smallest = || Limiter::builder(rules.clone()).max_keys(1);
    let mut check = |builder: LimiterBuilder, spot: Option<Spot>| {
        if let (Err(fault), Some(spot)) = (builder.build(), spot) {
            faults.note(spot, found(&fault), expected(&fault));
        }
    };
    if let Some(max_keys) = store.max_keys.filter(|keys| !(1..=MAX_KEYS).contains(keys)) {
        check(smallest().max_keys(max_keys), spots.max_keys);
    }
    if let Some(max_given) = store.max_given {
        check(smallest().max_given(max_given), spots.max_given);
    }
    if let Some(max_limits) = store.max_limits {
        check(smallest().max_limits(max_limits), spots.max_limits);
    }
    if let Some(entries) = store.max_log_entries {
        // A few are enough to tell whether there are enough, and too many are refused at once.
        let few = if entries <= MAX_LOG_ENTRIES { ENOUGH_ENTRIES } else { u64::MAX };
        let entries = entries.min(few);
        check(smallest().max_log_entries(entries), spots.max_log_entries);
    }
}

/// The most entries of all logs together.
pub(crate) const MAX_LOG_ENTRIES: u64 = (1 << 32) - 10;

/// More entries than one key can have logs.
const ENOUGH_ENTRIES: u64 = 64;

//! What the limiter makes of a configuration: its rules, and the settings that it refuses.

use brimful::{Policy, Rules};

use crate::error::Error;
use crate::faults::Faults;
use crate::model::{Model, Target};
use crate::read::Readings;
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
    policy
}

/// The rules of a model.
pub(crate) fn rules(model: &Model) -> Result<Rules, brimful::Error> {
    let mut builder = Rules::builder();
    for rule in &model.rules {
        let policy = rule.grant.policy.clone();
        builder = match &rule.target {
            _ if rule.grant.shadow => builder,
            Target::Default => builder.default(policy),
            Target::Tier(name) => builder.tier(name, policy),
            Target::Exact(key) => builder.exact(key, policy),
            Target::Pattern(pattern) => builder.pattern(pattern, policy),
        };
    }
    builder.build()
}

/// The rules of what was read, when nothing in it is wrong.
pub(crate) fn checked(readings: Readings) -> Result<(Readings, Rules), Error> {
    if !readings.faults.is_empty() {
        return Err(readings.faults.into_error(&readings.sources));
    }
    match rules(&readings.model) {
        Ok(rules) => Ok((readings, rules)),
        Err(fault) => {
            // Nothing that is known: what the builder refuses is looked for before.
            let mut faults = Faults::default();
            faults.note(Spot::beginning(0), found(&fault), expected(&fault));
            Err(faults.into_error(&readings.sources))
        }
    }
}

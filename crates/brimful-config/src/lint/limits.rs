//! What can be said of limits alone.

use brimful::{Algorithm, Limit};

use super::implied::is_implied;
use super::{LintKind, Notes};
use crate::model::{Grant, Said};
use crate::number;
use crate::source::Spot;

const DAY_NS: u128 = 86_400_000_000_000;

pub(super) fn note(notes: &mut Notes<'_>) {
    let config = notes.config;
    let named = config.model.policies.iter().filter_map(|named| named.grant.as_ref());
    let inline = config.model.rules.iter().map(|rule| &rule.grant);
    let inline = inline.filter(|grant| grant.said == Said::Limits);
    for grant in named.chain(inline) {
        each(notes, grant);
        pairs(notes, grant);
    }
}

fn each(notes: &mut Notes<'_>, grant: &Grant) {
    let max_cost = notes.config.max_cost();
    for (limit, spot) in limits(grant) {
        let capacity = limit.capacity();
        if capacity < max_cost {
            let text = format!(
                "a request of cost {max_cost} is never admitted: `{limit}` holds {capacity} at most"
            );
            notes.note(LintKind::BurstBelowCost, spot, &text);
        }
        let tokens = u128::from(limit.tokens());
        let fill = u128::from(capacity).saturating_mul(limit.period().as_nanos());
        if limit.chosen_algorithm() == Algorithm::TokenBucket
            && fill > DAY_NS.saturating_mul(tokens)
        {
            let days = number::tenths(fill, DAY_NS.saturating_mul(tokens));
            let rate = number::per_second(limit);
            let text = format!(
                "the whole burst of {capacity} takes {days} days to come back; sustained, \
                 `{limit}` admits {rate}"
            );
            notes.note(LintKind::SlowRefill, spot, &text);
        }
    }
}

/// Of two limits that imply each other the later one is told.
fn pairs(notes: &mut Notes<'_>, grant: &Grant) {
    let limits: Vec<_> = limits(grant).collect();
    for (place, (limit, spot)) in limits.iter().enumerate() {
        let other = limits.iter().enumerate().find(|(at, (other, _))| {
            *at != place && is_implied(limit, other) && (*at < place || !is_implied(other, limit))
        });
        if let Some((_, (other, _))) = other {
            let text = format!("`{limit}` never refuses what `{other}` admits");
            notes.note(LintKind::ImpliedLimit, *spot, &text);
        }
    }
}

fn limits(grant: &Grant) -> impl Iterator<Item = (&Limit, Spot)> {
    grant.policy.limits().iter().zip(grant.limits.iter().copied())
}

//! Limits that apply together become the limits of one policy.
//!
//! All limits of a namespace that mention the same names have the same **form**, and a key of that
//! form says the value of each of the names. So each counter of such a limit belongs to exactly
//! one key, and limits whose conditions both hold for a key can be charged together there. For
//! each set of limits that some key has in common there is a pattern, with the limits of all in
//! the set.

use std::collections::{BTreeMap, BTreeSet};

use brimful::{Limit, Policy};

use super::super::output::Grant;
use super::super::pattern::{Segment, written};
use crate::source::Spot;

/// A limit of the file.
pub(super) struct Counter {
    pub(super) namespace: String,
    /// The values that names must have.
    pub(super) conditions: BTreeMap<String, String>,
    /// The names that are mentioned, in conditions or as variables.
    pub(super) names: BTreeSet<String>,
    /// `None` when nothing is admitted.
    pub(super) limit: Option<Limit>,
    pub(super) place: Spot,
}

/// Limits of the same namespace that mention the same names.
pub(super) struct Form<'a> {
    pub(super) namespace: &'a str,
    pub(super) names: &'a BTreeSet<String>,
    pub(super) counters: Vec<&'a Counter>,
}

/// A rule of the result.
pub(super) struct Found {
    pub(super) pattern: String,
    pub(super) grant: Grant,
    /// The limits that it stands for.
    pub(super) places: Vec<Spot>,
    /// Those of them whose names are left out.
    pub(super) unnamed: Vec<Spot>,
}

/// Why limits cannot be combined.
pub(super) enum Refusal {
    /// More patterns than [`MAX_PATTERNS`] would be needed; one of the limits.
    Patterns(Spot),
    /// The ninth limit of a policy, and the first.
    Limits(Spot, Spot),
}

/// The most patterns that the limits of one form may need.
pub(super) const MAX_PATTERNS: usize = 4096;

/// For each name of a form its value, or any.
type Shape = Vec<Option<String>>;

/// The forms in the order of their first limits.
pub(super) fn forms(counters: &[Counter]) -> Vec<Form<'_>> {
    let mut numbers: BTreeMap<(&str, &BTreeSet<String>), usize> = BTreeMap::new();
    let mut forms: Vec<Form<'_>> = Vec::new();
    for counter in counters {
        let (namespace, names) = (counter.namespace.as_str(), &counter.names);
        let number = *numbers.entry((namespace, names)).or_insert(forms.len());
        match forms.get_mut(number) {
            Some(form) => form.counters.push(counter),
            None => forms.push(Form { namespace, names, counters: vec![counter] }),
        }
    }
    forms
}

/// The patterns of a form.
pub(super) fn patterns(form: &Form<'_>) -> Result<Vec<Found>, Refusal> {
    let mut shapes: BTreeMap<Shape, Vec<&Counter>> = BTreeMap::new();
    for counter in &form.counters {
        shapes.entry(shape(form, counter)).or_default().push(counter);
    }
    let closed = closed(&shapes)?;
    let found = closed.iter().map(|shape| {
        let apply = shapes.iter().filter(|(of, _)| includes(of, shape));
        let mut together: Vec<&Counter> =
            apply.flat_map(|(_, counters)| counters).copied().collect();
        together.sort_by_key(|counter| counter.place);
        let (grant, unnamed) = grant(&together)?;
        let places = together.iter().map(|counter| counter.place).collect();
        Ok(Found { pattern: pattern(form, shape), grant, places, unnamed })
    });
    found.collect()
}

/// The shapes, and whatever several of them have in common.
fn closed(shapes: &BTreeMap<Shape, Vec<&Counter>>) -> Result<BTreeSet<Shape>, Refusal> {
    let mut closed: BTreeSet<Shape> = BTreeSet::new();
    for (shape, counters) in shapes {
        let met: Vec<Shape> = closed.iter().filter_map(|other| common(shape, other)).collect();
        closed.extend(met);
        closed.insert(shape.clone());
        if let Some(counter) = counters.first().filter(|_| closed.len() > MAX_PATTERNS) {
            return Err(Refusal::Patterns(counter.place));
        }
    }
    Ok(closed)
}

fn shape(form: &Form<'_>, counter: &Counter) -> Shape {
    form.names.iter().map(|name| counter.conditions.get(name).cloned()).collect()
}

/// What a key has that both fit; `None` when no key does.
fn common(one: &Shape, other: &Shape) -> Option<Shape> {
    let both = one.iter().zip(other).map(|pair| match pair {
        (Some(a), Some(b)) if a != b => None,
        (Some(value), _) | (_, Some(value)) => Some(Some(value.clone())),
        (None, None) => Some(None),
    });
    both.collect()
}

/// Whether every key that fits `special` fits `general` too.
fn includes(general: &Shape, special: &Shape) -> bool {
    general.iter().zip(special).all(|(of, value)| of.is_none() || of == value)
}

/// What keys get to which all these limits apply, and the limits that lose their names by it.
fn grant(together: &[&Counter]) -> Result<(Grant, Vec<Spot>), Refusal> {
    let mut kept: Vec<(&Limit, Spot)> = Vec::new();
    let mut unnamed = Vec::new();
    for counter in together {
        let Some(limit) = &counter.limit else {
            return Ok((Grant::Blocked, Vec::new()));
        };
        // Two limits of one quota that are always charged together are always at one count.
        let quota = |of: &Limit| (of.tokens(), of.period());
        let same = kept.iter_mut().find(|(other, _)| quota(other) == quota(limit));
        match same {
            Some(same) if !is_named(same.0) => *same = (limit, counter.place),
            Some(same) if is_named(limit) && limit.name() != same.0.name() => {
                unnamed.push(counter.place);
            }
            Some(_) => {}
            None => kept.push((limit, counter.place)),
        }
        if kept.len() > Policy::MAX_LIMITS {
            let first = together.first().map_or(counter.place, |first| first.place);
            return Err(Refusal::Limits(counter.place, first));
        }
    }
    let names: BTreeSet<&str> = kept.iter().map(|(limit, _)| limit.name()).collect();
    if names.len() == kept.len() {
        return Ok((
            Grant::Limits(kept.into_iter().map(|(limit, _)| limit.clone()).collect()),
            unnamed,
        ));
    }
    // By default a limit is named after its quota, and those differ.
    unnamed.extend(kept.iter().filter(|(limit, _)| is_named(limit)).map(|(_, place)| *place));
    Ok((Grant::Limits(kept.into_iter().map(|(limit, _)| plain(limit)).collect()), unnamed))
}

fn is_named(limit: &Limit) -> bool {
    limit.name() != plain(limit).name()
}

/// The same limit with the name that it has by default.
fn plain(limit: &Limit) -> Limit {
    let plain = Limit::new(limit.tokens(), limit.period());
    let plain = plain.and_then(|plain| plain.algorithm(limit.chosen_algorithm()));
    // A limit that exists can be made again.
    plain.unwrap_or_else(|_| limit.clone())
}

fn pattern(form: &Form<'_>, shape: &Shape) -> String {
    let mut segments = vec![Segment::Literal(form.namespace.to_owned())];
    for (name, value) in form.names.iter().zip(shape) {
        segments.push(Segment::Literal(name.clone()));
        segments.push(value.clone().map_or(Segment::ANY, Segment::Literal));
    }
    written(&segments, false)
}

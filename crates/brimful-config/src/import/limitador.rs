//! The limits of limitador.

mod combine;
mod name;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use super::output::{self, Rule, printable};
use super::read::Reading;
use crate::node::Node;
use combine::{Counter, Form, Found, Refusal};

/// The rules of a file, as TOML; what it says is nothing when there are faults.
pub(super) fn import(reading: &mut Reading, root: &Node) -> String {
    let counters = read::counters(reading, root);
    let forms = combine::forms(&counters);
    windows(reading, &counters);
    several(reading, &forms);
    let mut rules = Vec::new();
    let mut unnamed = BTreeSet::new();
    for form in &forms {
        match combine::patterns(form) {
            Ok(mut found) => {
                // In the order of the file, those for more limits last.
                found.sort_by_key(|found| (found.places.last().copied(), found.places.len()));
                unnamed.extend(found.iter().flat_map(|found| &found.unnamed).copied());
                rules.extend(found.into_iter().map(|found| rule(reading, found)));
            }
            Err(refusal) => refuse(reading, &refusal),
        }
    }
    for place in unnamed {
        let found = "another limit that applies with this one has its name, or its quota";
        reading.warnings.note(place, found, "where both apply, `name` is left out");
    }
    output::written(&comments(reading, &forms), &rules)
}

fn windows(reading: &mut Reading, counters: &[Counter]) {
    if let Some(first) = counters.first() {
        let found = "windows begin at multiples of their length since 1970, in UTC";
        let expected = "those of limitador begin with the first request that they count";
        reading.warnings.note(first.place, found, expected);
    }
}

/// Says which limits need keys of their own.
fn several(reading: &mut Reading, forms: &[Form<'_>]) {
    let mut firsts: BTreeMap<&str, &Form<'_>> = BTreeMap::new();
    for form in forms {
        let Some(before) = firsts.get(form.namespace) else {
            firsts.insert(form.namespace, form);
            continue;
        };
        let firsts = (form.counters.first(), before.counters.first());
        let (Some(counter), Some(other)) = firsts else { continue };
        let found = format!(
            "this limit is on {}, and another of `{}` on {}",
            names(form),
            form.namespace,
            names(before)
        );
        let expected =
            "they count by different keys: a request must ask for all of its keys together";
        reading.warnings.note_second(counter.place, found, expected, other.place);
    }
}

fn names(form: &Form<'_>) -> String {
    if form.names.is_empty() {
        return "nothing but its namespace".into();
    }
    let names: Vec<String> = form.names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn refuse(reading: &mut Reading, refusal: &Refusal) {
    match refusal {
        Refusal::Patterns(place) => {
            let found = format!(
                "the limits of this one's names would need more than {} patterns",
                combine::MAX_PATTERNS
            );
            let expected = "expected fewer limits on the same names, or fewer that apply together";
            reading.faults.note(*place, found, expected);
        }
        Refusal::Limits(place, first) => {
            let found = "more than 8 limits apply to the same requests";
            let expected = "a policy has at most 8 limits; leave out those that others imply";
            reading.faults.note_second(*place, found, expected, *first);
        }
    }
}

fn rule(reading: &Reading, found: Found) -> Rule {
    // Some of many say enough.
    let mut about: Vec<String> = Vec::new();
    about.extend(found.places.iter().take(4).map(|place| reading.line(*place)));
    if found.places.len() > 4 {
        about.push("…".into());
    }
    Rule { pattern: found.pattern, grant: found.grant, shadow: false, about: about.join(", ") }
}

fn comments(reading: &Reading, forms: &[Form<'_>]) -> Vec<String> {
    let mut comments = vec![format!("The limits of limitador in {}.", printable(&reading.name()))];
    if forms.is_empty() {
        return comments;
    }
    comments.extend([
        String::new(),
        "The keys of a request are lists, in which <name> stands for the value of a name. A".into(),
        "request has those whose names it has all, and asks for them together:".into(),
    ]);
    for form in forms {
        let mut parts = vec![format!("{:?}", form.namespace)];
        for name in form.names {
            parts.push(format!("{name:?}"));
            parts.push(format!("<{name}>"));
        }
        comments.push(format!("  ({})", parts.join(", ")));
    }
    comments
}

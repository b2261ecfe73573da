//! What can be said of rules and keys.

use std::collections::{HashMap, HashSet};

use super::{LintKind, Notes};
use crate::key::OwnedKey;
use crate::model::{Grant, Said, Target};
use crate::source::Spot;

pub(super) fn note(notes: &mut Notes<'_>) {
    unused_policies(notes);
    behind_all(notes);
    on_trial(notes);
    members(notes);
    stars(notes);
    let config = notes.config;
    for changed in &config.model.changed {
        let text = format!("`{}` is read as `{}`, as `keys` says", changed.from, changed.to);
        notes.note(LintKind::Normalized, changed.spot, &text);
    }
}

fn unused_policies(notes: &mut Notes<'_>) {
    let config = notes.config;
    let named: HashSet<&str> = config
        .model
        .rules
        .iter()
        .filter_map(|rule| match &rule.grant.said {
            Said::Name(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    for policy in config.model.policies.iter().filter(|policy| !named.contains(&*policy.name)) {
        let text = format!("no rule names the policy `{}`", policy.name);
        notes.note(LintKind::UnusedPolicy, policy.spot, &text);
    }
}

/// Every pattern comes before the default. Those whose segments are all `*` leave it nothing, or the empty
/// list alone: the one key without a segment, which `*:**` does not match.
fn behind_all(notes: &mut Notes<'_>) {
    let config = notes.config;
    let rules = &config.model.rules;
    let enforced = rules.iter().filter(|rule| !rule.grant.shadow);
    let (mut open, mut closed) = (None, HashSet::new());
    for rule in enforced.clone() {
        let Target::Pattern(pattern) = &rule.target else { continue };
        match stars_alone(pattern) {
            Some((segments, true)) => {
                open = Some(open.map_or(segments, |o: usize| o.min(segments)))
            }
            Some((segments, false)) => _ = closed.insert(segments),
            None => {}
        }
    }
    let Some(open) = open.filter(|open| (1..*open).all(|segments| closed.contains(&segments)))
    else {
        return;
    };
    let empty = Target::Exact(OwnedKey::Parts(Vec::new()));
    let text = match open {
        0 => "no key comes to the default: the pattern `**` matches all",
        _ if enforced.clone().any(|rule| rule.target == empty) => {
            "no key comes to the default: patterns match all but the empty list, which has an override"
        }
        _ => "no key but the empty list comes to the default: patterns match all others",
    };
    for rule in rules.iter().filter(|rule| rule.target == Target::Default) {
        notes.note(LintKind::NeverMatches, rule.spot, text);
    }
}

/// How many segments a key has that a pattern of stars alone matches, and whether more may follow.
fn stars_alone(pattern: &str) -> Option<(usize, bool)> {
    let (closed, open) = match pattern.strip_suffix("**") {
        Some(before) => (before.strip_suffix(':').unwrap_or(before), true),
        None => (pattern, false),
    };
    let mut segments = closed.split(':').filter(|_| !closed.is_empty());
    let count = segments.clone().count();
    segments.all(|segment| segment == "*").then_some((count, open))
}

fn on_trial(notes: &mut Notes<'_>) {
    let config = notes.config;
    let rules = &config.model.rules;
    let enforced: HashMap<&Target, &Grant> = rules
        .iter()
        .filter(|rule| !rule.grant.shadow)
        .map(|rule| (&rule.target, &rule.grant))
        .collect();
    for rule in rules.iter().filter(|rule| rule.grant.shadow) {
        match enforced.get(&rule.target) {
            Some(grant) if says_the_same(grant, &rule.grant) => {
                let text = "what is on trial here is what is enforced beside it";
                notes.note(LintKind::IdleTrial, rule.spot, text);
            }
            None if rule.target == Target::Default => {
                let text = "the default is on trial alone: keys without another rule are unlimited";
                notes.note(LintKind::DefaultOnTrial, rule.spot, text);
            }
            _ => {}
        }
    }
}

fn says_the_same(one: &Grant, other: &Grant) -> bool {
    one.policy.limits() == other.policy.limits()
        && one.policy.is_blocked() == other.policy.is_blocked()
}

fn stars(notes: &mut Notes<'_>) {
    let config = notes.config;
    let exact = config.model.rules.iter().filter_map(|rule| match &rule.target {
        Target::Exact(key) => Some((key, rule.spot)),
        _ => None,
    });
    let members = config.model.members.iter().map(|member| (&member.key, member.spot));
    for (key, spot) in exact.chain(members).filter(|(key, _)| key.has_star()) {
        let text = format!("the key {key} is this key alone: only `pattern` has wildcards");
        notes.note(LintKind::StarInKey, spot, &text);
    }
}

fn members(notes: &mut Notes<'_>) {
    let config = notes.config;
    let enforced = config.model.rules.iter().filter(|rule| !rule.grant.shadow);
    let exact: HashMap<_, Spot> = enforced
        .filter_map(|rule| match &rule.target {
            Target::Exact(key) => Some((key, rule.spot)),
            _ => None,
        })
        .collect();
    for member in &config.model.members {
        if let Some(spot) = exact.get(&member.key) {
            let (file, at) = config.place(*spot);
            let text = format!(
                "the key {} is a member of `{}` in vain: {}:{} gives it an exact override",
                member.key,
                member.tier,
                file.display(),
                at.line
            );
            notes.note(LintKind::OverriddenMember, member.spot, &text);
        }
    }
    for (spot, first) in &config.model.repeated {
        let (file, at) = config.place(*first);
        let text = format!("this is listed before, at {}:{}", file.display(), at.line);
        notes.note(LintKind::RepeatedMember, *spot, &text);
    }
}

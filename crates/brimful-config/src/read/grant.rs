//! What a policy or a rule gives: limits, another policy's name, or a word.

use std::collections::HashMap;

use brimful::{Limit, Policy};

use super::Reader;
use super::value::{Fields, meant};
use crate::limiter;
use crate::model::{Grant, Said};
use crate::node::{Entry, Node};
use crate::source::Spot;
use crate::text::near;

pub(crate) const RULE: &[&str] = &["limit", "limits", "policy", "unlimited", "blocked", "shadow"];

/// A limit that serves as an example.
const EXAMPLE: &str = "a limit is text, for example `100/min burst 20`";
/// Names beyond this many are not looked through for a near miss.
const LOOKED_AT: usize = 1000;

/// The names of policies.
#[derive(Default)]
pub(super) struct Names {
    /// Where each of `[policies]` is in the model.
    pub(super) policies: HashMap<String, usize>,
    /// The numbers of the limits that rules say themselves, by the name that was wanted.
    inline: HashMap<String, HashMap<Policy, usize>>,
}

/// Who says something.
pub(super) struct Saying<'a> {
    /// In messages.
    pub(super) what: &'a str,
    /// The name of a policy of `[policies]`.
    pub(super) named: Option<&'a str>,
    /// What else the name of the policy begins with.
    pub(super) prefix: &'a str,
    pub(super) at: Spot,
}

impl Reader {
    /// Exactly one of `limit`, `limits`, `policy`, `unlimited` and `blocked`, and `shadow`.
    pub(super) fn grant(&mut self, fields: Fields<'_>, saying: &Saying<'_>) -> Option<Grant> {
        let shadow = fields.get("shadow").and_then(|entry| self.flag(entry)).unwrap_or(false);
        let ways = ["limit", "limits", "policy", "unlimited", "blocked"];
        let policy_too = saying.named.is_none();
        let mut said = fields
            .iter()
            .filter(|entry| ways.contains(&entry.name.as_str()))
            .filter(|entry| policy_too || entry.name != "policy");
        let Some(first) = said.next() else {
            let expected = if policy_too {
                "expected one of `limit`, `limits`, `policy`, `unlimited` and `blocked`"
            } else {
                "expected one of `limit`, `limits`, `unlimited` and `blocked`"
            };
            if !fields.has_mistaken(&ways) {
                let found = format!("{} says nothing of what its keys get", saying.what);
                self.faults.note(saying.at, found, expected);
            }
            return None;
        };
        let mut alone = true;
        for second in said {
            alone = false;
            let found = format!("`{}` and `{}` stand together", first.name, second.name);
            let first = Self::spot(&first.name_span);
            self.faults.note_second(Self::spot(&second.name_span), found, "keep one", first);
        }
        let grant = match first.name.as_str() {
            "policy" => self.named_policy(first),
            "unlimited" => self.said(first).then(|| word(Policy::unlimited(), Said::Unlimited)),
            "blocked" => self.said(first).then(|| word(Policy::blocked(), Said::Blocked)),
            _ => self.limits(&first.node, saying, shadow),
        };
        let mut grant = grant.filter(|_| alone)?;
        if let Some(name) = saying.named {
            // A name that is not of the right form is noted already.
            grant.policy = grant.policy.clone().named(name).unwrap_or(grant.policy);
        }
        if shadow && !grant.shadow {
            grant.shadow = true;
            grant.policy = limiter::shadowed(grant.policy);
        }
        Some(grant)
    }

    /// `unlimited = true`; `false` says nothing.
    fn said(&mut self, entry: &Entry) -> bool {
        let flag = self.flag(entry);
        if flag == Some(false) {
            let found = format!("`{}` is `false`", entry.name);
            let expected = "leave it out, and say what its keys get";
            self.faults.note(Self::spot(&entry.node.span), found, expected);
        }
        flag == Some(true)
    }

    fn named_policy(&mut self, entry: &Entry) -> Option<Grant> {
        let expected = "`policy` is the name of a policy, `unlimited` or `blocked`";
        let name = self.text(&entry.node, expected)?;
        match name {
            "unlimited" => return Some(word(Policy::unlimited(), Said::Unlimited)),
            "blocked" => return Some(word(Policy::blocked(), Said::Blocked)),
            _ => {}
        }
        if let Some(place) = self.names.policies.get(name) {
            // One that cannot be read is at fault itself.
            let grant = self.model.policies.get(*place)?.grant.clone()?;
            return Some(Grant { said: Said::Name(name.to_owned()), ..grant });
        }
        let known = self.model.policies.iter().take(LOOKED_AT).map(|named| named.name.as_str());
        let words = ["unlimited", "blocked"];
        let near = (!self.faults.are_many()).then(|| near::nearest(name, known.chain(words)));
        let found = format!("there is no policy `{name}`{}", meant(near.flatten()));
        // A limit where a policy's name should be.
        let expected = if name.parse::<Limit>().is_ok() {
            format!("for a limit write {}", self.field("limit", &crate::print::quoted(name)))
        } else {
            "name one of `policies`, `unlimited` or `blocked`".to_owned()
        };
        let spot = self.within(&entry.node, name, 0..name.len());
        self.faults.note(spot, found, expected);
        None
    }

    /// A limit, or a list of 1 to 8.
    fn limits(&mut self, node: &Node, saying: &Saying<'_>, shadow: bool) -> Option<Grant> {
        let items = self.list(node, "`limits`", true)?;
        if let [only] = items
            && let crate::node::Value::Text(text) = &only.value
        {
            match text.trim() {
                "unlimited" => return Some(word(Policy::unlimited(), Said::Unlimited)),
                "blocked" => return Some(word(Policy::blocked(), Said::Blocked)),
                _ => {}
            }
        }
        if items.len() > Policy::MAX_LIMITS || items.is_empty() {
            let ninth = items.get(Policy::MAX_LIMITS).unwrap_or(node);
            let found = format!("there are {} limits", items.len());
            let words = [self.field("unlimited", "true"), self.field("blocked", "true")];
            let expected = format!("expected 1 to 8; for none write {}", words.join(" or "));
            self.faults.note(Self::spot(&ninth.span), found, expected);
            return None;
        }
        let mut limits: Vec<(Limit, Spot)> = Vec::new();
        let mut whole = true;
        for item in items {
            let Some(limit) = self.limit(item) else {
                whole = false;
                continue;
            };
            let spot = Self::spot(&item.span);
            if let Some((_, first)) = limits.iter().find(|(other, _)| other.name() == limit.name())
            {
                let found = format!("two limits are named `{}`", limit.name());
                let expected = "give each a name of its own: `name: 10/s`";
                self.faults.note_second(spot, found, expected, *first);
                whole = false;
            }
            limits.push((limit, spot));
        }
        let spots = limits.iter().map(|(_, spot)| *spot).collect();
        // What could be at fault is noted above.
        let policy =
            Policy::new(limits.into_iter().map(|(limit, _)| limit)).ok().filter(|_| whole)?;
        let policy = match saying.named {
            Some(_) => policy,
            None => self.names.inline(policy, saying.prefix, shadow),
        };
        Some(Grant { policy, said: Said::Limits, shadow: false, limits: spots })
    }

    fn limit(&mut self, node: &Node) -> Option<Limit> {
        let text = self.text(node, EXAMPLE)?;
        match text.parse() {
            Ok(limit) => Some(limit),
            Err(fault) => {
                let fault: brimful::Error = fault;
                if matches!(text.trim(), "unlimited" | "blocked") {
                    let found = format!("`{}` stands beside other limits", text.trim());
                    self.faults.note(Self::spot(&node.span), found, "it must stand alone");
                } else {
                    self.refused(node, text, &fault);
                }
                None
            }
        }
    }
}

/// A policy that is a word, named by it.
fn word(policy: Policy, said: Said) -> Grant {
    let name = if policy.is_blocked() { "blocked" } else { "unlimited" };
    let policy = policy.clone().named(name).unwrap_or(policy);
    Grant { policy, said, shadow: false, limits: Vec::new() }
}

impl Names {
    /// Names the limits that a rule says itself: `default`, `tier gold`, `exact 1000/min` (by its
    /// limits, so that a thousand keys with equal ones share a policy), `pattern tenant.*.search`.
    /// Those of a rule on trial end in ` on trial`. Characters that a name cannot have are replaced. Other limits under a name that is taken get a
    /// number: `tier gold #2`.
    fn inline(&mut self, policy: Policy, prefix: &str, shadow: bool) -> Policy {
        let wanted = match prefix {
            "exact" => {
                let names: Vec<&str> = policy.limits().iter().map(Limit::name).collect();
                format!("exact {}", names.join(", "))
            }
            other => other.to_owned(),
        };
        let trial = if shadow { " on trial" } else { "" };
        let most = Limit::MAX_NAME.saturating_sub(trial.len());
        let wanted = format!("{}{trial}", printable(&wanted, most));
        let taken = usize::from(self.policies.contains_key(&wanted));
        let same_name = self.inline.entry(wanted.clone()).or_default();
        let next = same_name.len();
        let place = *same_name.entry(policy.clone()).or_insert(next);
        let number = place.saturating_add(1).saturating_add(taken);
        let name = match number {
            1 => wanted,
            number => {
                let end = format!(" #{number}");
                let most = Limit::MAX_NAME.saturating_sub(end.len());
                format!("{}{end}", wanted.get(..most).unwrap_or(&wanted).trim_end())
            }
        };
        policy.clone().named(&name).unwrap_or(policy)
    }
}

/// The first characters of a text, as a name: printable ASCII without `:`, `"` and `\`.
fn printable(text: &str, most: usize) -> String {
    let replaced = text.chars().take(most).map(|character| match character {
        ':' => '.',
        '"' | '\\' => '_',
        ' '..='~' => character,
        _ => '_',
    });
    replaced.collect::<String>().trim().to_owned()
}

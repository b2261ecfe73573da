//! The whole file, section by section.

use std::collections::HashMap;

use brimful::{Policy, Rules};

use super::Reader;
use super::grant::{RULE, Saying};
use crate::limiter;
use crate::model::{Named, Rule, Target};
use crate::node::{Entry, Node, Value};
use crate::source::Spot;

pub(crate) const DOCUMENT: &[&str] =
    &["store", "keys", "requests", "default", "policies", "tiers", "exact", "pattern"];
/// What a tier has beside what every rule has.
pub(crate) const TIER: &[&str] =
    &["limit", "limits", "policy", "unlimited", "blocked", "shadow", "members", "members_file"];
pub(crate) const EXACT: &[&str] =
    &["key", "limit", "limits", "policy", "unlimited", "blocked", "shadow"];
pub(crate) const PATTERN: &[&str] =
    &["match", "limit", "limits", "policy", "unlimited", "blocked", "shadow"];
/// What a policy has: it cannot name another.
pub(crate) const POLICY: &[&str] = &["limit", "limits", "unlimited", "blocked", "shadow"];

impl Reader {
    /// Reads the sections in an order in which each needs only what was read before.
    pub(super) fn document(&mut self, root: &Node) {
        let Some(fields) = self.table(root, "the file", DOCUMENT) else { return };
        if let Some(entry) = fields.get("keys") {
            self.keys(&entry.node);
        }
        if let Some(entry) = fields.get("store") {
            self.store(&entry.node);
        }
        if let Some(entry) = fields.get("requests") {
            self.requests(&entry.node);
        }
        if let Some(entry) = fields.get("policies") {
            self.policies(&entry.node);
        }
        match fields.get("default") {
            Some(entry) => self.default(entry),
            None => {
                let (limit, word) =
                    (self.field("limit", "\"100/min\""), self.field("unlimited", "true"));
                let expected =
                    format!("say in `default` what others get: {limit}, or {word} to admit them");
                self.faults.note(Spot::beginning(0), "there is no `default`", expected);
            }
        }
        if let Some(entry) = fields.get("tiers") {
            self.tiers(&entry.node);
        }
        if let Some(entry) = fields.get("exact") {
            self.exacts(&entry.node);
        }
        if let Some(entry) = fields.get("pattern") {
            self.patterns(&entry.node);
        }
        self.one_tier_each();
        self.contradictions();
    }

    fn policies(&mut self, node: &Node) {
        let Some(fields) = self.free_table(node, "`policies`") else { return };
        for entry in fields.iter() {
            let spot = Self::spot(&entry.name_span);
            let name = entry.name.as_str();
            if matches!(name, "unlimited" | "blocked") {
                let found = format!("a policy is named `{name}`, which is a word of its own");
                let expected = "give it another name; rules can name the word without it";
                self.faults.note(spot, found, expected);
                continue;
            }
            if let Err(fault) = Policy::blocked().named(name) {
                self.faults.note(spot, limiter::found(&fault), limiter::expected(&fault));
            }
            let what = format!("the policy `{name}`");
            let grant = self.table(&entry.node, &what, POLICY).and_then(|fields| {
                self.grant(fields, &Saying { what: &what, named: Some(name), prefix: "", at: spot })
            });
            self.names.policies.insert(name.to_owned(), self.model.policies.len());
            self.model.policies.push(Named { name: name.to_owned(), spot, grant });
        }
    }

    /// One rule, or a list of an enforced one and a shadow rule.
    fn rules_of<'a>(&mut self, entry: &'a Entry) -> &'a [Node] {
        match &entry.node.value {
            Value::List(rules) => {
                if rules.is_empty() {
                    let found = format!("`{}` is an empty list", entry.name);
                    self.faults.note(Self::spot(&entry.node.span), found, "expected a rule");
                }
                rules
            }
            _ => std::slice::from_ref(&entry.node),
        }
    }

    fn default(&mut self, entry: &Entry) {
        let spot = Self::spot(&entry.name_span);
        for node in self.rules_of(entry) {
            let what = "the default";
            let Some(fields) = self.table(node, what, RULE) else { continue };
            let saying = Saying { what, named: None, prefix: "default", at: spot };
            if let Some(grant) = self.grant(fields, &saying) {
                let spot =
                    if self.rules_of(entry).len() > 1 { Self::spot(&node.span) } else { spot };
                self.model.rules.push(Rule { target: Target::Default, grant, spot });
            }
        }
    }

    fn tiers(&mut self, node: &Node) {
        let Some(fields) = self.free_table(node, "`tiers`") else { return };
        for entry in fields.iter() {
            let mut spot = Self::spot(&entry.name_span);
            let name = entry.name.as_str();
            // The name alone is checked.
            let check = Rules::builder().default(Policy::blocked()).tier(name, Policy::blocked());
            if let Err(fault) = check.build() {
                self.faults.note(spot, limiter::found(&fault), limiter::expected(&fault));
            }
            let what = format!("the tier `{name}`");
            let rules = self.rules_of(entry);
            for node in rules {
                if rules.len() > 1 {
                    spot = Self::spot(&node.span);
                }
                let Some(fields) = self.table(node, &what, TIER) else { continue };
                let prefix = format!("tier {name}");
                let saying = Saying { what: &what, named: None, prefix: &prefix, at: spot };
                if let Some(grant) = self.grant(fields, &saying) {
                    self.model.rules.push(Rule {
                        target: Target::Tier(name.to_owned()),
                        grant,
                        spot,
                    });
                }
                self.members(fields, name);
            }
        }
    }

    fn exacts(&mut self, node: &Node) {
        let Some(rules) = self.list(node, "`exact`", false) else { return };
        for node in rules {
            let what = "an exact override";
            let Some(fields) = self.table(node, what, EXACT) else { continue };
            let Some(entry) = fields.get("key") else {
                if !fields.has_mistaken(&["key"]) {
                    let expected = format!("say whose it is: {}", self.field("key", "\"partner\""));
                    self.faults.note(
                        Self::spot(&node.span),
                        "an exact override has no `key`",
                        expected,
                    );
                }
                continue;
            };
            let spot = Self::spot(&entry.node.span);
            let key = self.key(&entry.node);
            let saying = Saying { what, named: None, prefix: "exact", at: spot };
            let grant = self.grant(fields, &saying);
            if let (Some(key), Some(grant)) = (key, grant) {
                self.model.rules.push(Rule { target: Target::Exact(key), grant, spot });
            }
        }
    }

    fn patterns(&mut self, node: &Node) {
        let Some(rules) = self.list(node, "`pattern`", false) else { return };
        for node in rules {
            let what = "a pattern";
            let Some(fields) = self.table(node, what, PATTERN) else { continue };
            let Some(entry) = fields.get("match") else {
                if !fields.has_mistaken(&["match"]) {
                    let example = self.field("match", "\"tenant:*:search\"");
                    let expected = format!("say which keys it is for: {example}");
                    self.faults.note(Self::spot(&node.span), "a pattern has no `match`", expected);
                }
                continue;
            };
            let spot = Self::spot(&entry.node.span);
            let pattern = self.pattern(&entry.node);
            let prefix = format!("pattern {}", pattern.as_deref().unwrap_or(""));
            let saying = Saying { what, named: None, prefix: &prefix, at: spot };
            let grant = self.grant(fields, &saying);
            if let (Some(pattern), Some(grant)) = (pattern, grant) {
                self.model.rules.push(Rule { target: Target::Pattern(pattern), grant, spot });
            }
        }
    }

    /// Rules that say different things of the same. One that is enforced and one in shadow may stand
    /// together.
    fn contradictions(&mut self) {
        let mut seen: HashMap<(&Target, bool), Spot> = HashMap::new();
        for rule in &self.model.rules {
            let Some(first) = seen.insert((&rule.target, rule.grant.shadow), rule.spot) else {
                continue;
            };
            seen.insert((&rule.target, rule.grant.shadow), first);
            let of = rule.target.described();
            let kind = if rule.grant.shadow { "shadow rules" } else { "rules" };
            let found = format!("{of} has two {kind}");
            let expected = "keep one; an enforced rule and a shadow rule may stand together";
            self.faults.note_second(rule.spot, found, expected, first);
        }
    }
}

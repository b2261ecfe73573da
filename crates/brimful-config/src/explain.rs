//! Why a key gets what it gets.

use std::fmt;
use std::path::{Path, PathBuf};

use brimful::{AsKey, Key, Limit, RuleLevel, RuleMatch};
use serde::Serialize;

use crate::bound;
use crate::config::Config;
use crate::model::{Rule, Target};
use crate::text::shown;

/// Which rules of a configuration apply to a key, and which of them decides.
///
/// `{}` prints the chain, a few lines for each rule. It serializes as `{"key", "tier", "rules": [{"level",
/// "rule", "file", "line", "column", "role", "shadow", "policy", "unlimited", "blocked", "limits": [{"name",
/// "limit", "bound"}]}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    key: String,
    tier: Option<String>,
    rules: Vec<Explained>,
}

/// One rule of an [`Explanation`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    level: &'static str,
    rule: String,
    file: PathBuf,
    line: usize,
    column: usize,
    role: Role,
    shadow: bool,
    policy: String,
    unlimited: bool,
    blocked: bool,
    limits: Vec<Bounded>,
}

/// A limit and what it admits at worst.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bounded {
    name: String,
    limit: String,
    bound: String,
}

/// What a rule does for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// It decides: it is the first of the chain that is enforced.
    Decides,
    /// It is on trial: what it would do is said beside the decision.
    OnTrial,
    /// It is not heard, because a more specific rule is.
    Unheard,
}

impl Config {
    /// All rules that apply to a key for callers of a tier, or of none. Texts of the key are brought to
    /// the form of [`keys`](Self::keys) first.
    #[must_use]
    pub fn explain(&self, key: impl AsKey, tier: Option<&str>) -> Explanation {
        self.keys().with_key(key, |key| {
            let found = self.rules().matching(key, tier);
            let decides = found.iter().position(|rule| !rule.policy().is_shadow());
            let role = |at: usize| match decides {
                Some(first) if at == first => Role::Decides,
                // Of the rules on trial the first is heard.
                Some(first) if at == 0 && first > 0 => Role::OnTrial,
                _ => Role::Unheard,
            };
            let rules = found.iter().enumerate();
            let rules = rules.map(|(at, rule)| self.explained(key, tier, rule, role(at)));
            Explanation {
                key: shown_key(key),
                tier: tier.map(str::to_owned),
                rules: rules.collect(),
            }
        })
    }

    fn explained(
        &self,
        key: Key<'_>,
        tier: Option<&str>,
        found: &RuleMatch<'_>,
        role: Role,
    ) -> Explained {
        let policy = found.policy();
        let rule = self.rule_of(key, tier, found);
        let (file, at) = match rule {
            Some(rule) => {
                let (file, at) = self.place(rule.spot);
                (file, (at.line, at.column))
            }
            None => (Path::new(""), (0, 0)),
        };
        Explained {
            level: level_name(found.level()),
            rule: rule.map_or_else(|| "the default".to_owned(), |rule| rule.target.described()),
            file: file.to_owned(),
            line: at.0,
            column: at.1,
            role,
            shadow: policy.is_shadow(),
            policy: policy.name().to_owned(),
            unlimited: policy.is_unlimited(),
            blocked: policy.is_blocked(),
            limits: policy.limits().iter().map(bounded).collect(),
        }
    }

    /// The rule of the file that was found. There is none for the default that is enforced when the file
    /// has one on trial alone.
    fn rule_of(&self, key: Key<'_>, tier: Option<&str>, found: &RuleMatch<'_>) -> Option<&Rule> {
        let is_shadow = found.policy().is_shadow();
        let mut rules = self.model.rules.iter();
        let tier_is = |name: &str, rule: &Rule| {
            matches!(&rule.target, Target::Tier(tier) if tier == name)
                && rule.grant.shadow == is_shadow
        };
        match found.level() {
            RuleLevel::Exact => {
                let wanted = encoded(key);
                rules.find(|rule| match &rule.target {
                    Target::Exact(key) => {
                        rule.grant.shadow == is_shadow && key.with_key(encoded) == wanted
                    }
                    _ => false,
                })
            }
            RuleLevel::Tier => rules.find(|rule| tier_is(tier.unwrap_or(""), rule)),
            RuleLevel::Member => {
                let wanted = encoded(key);
                let mut members = self.model.members.iter();
                let member = members.find(|member| member.key.with_key(encoded) == wanted)?;
                rules.find(|rule| tier_is(&member.tier, rule))
            }
            RuleLevel::Pattern => {
                let is_pattern = |rule: &&Rule| matches!(rule.target, Target::Pattern(_));
                rules.filter(is_pattern).nth(found.number())
            }
            _ => {
                rules.find(|rule| rule.target == Target::Default && rule.grant.shadow == is_shadow)
            }
        }
    }
}

fn level_name(level: RuleLevel) -> &'static str {
    match level {
        RuleLevel::Exact => "exact",
        RuleLevel::Tier => "tier",
        RuleLevel::Member => "member",
        RuleLevel::Pattern => "pattern",
        _ => "default",
    }
}

fn bounded(limit: &Limit) -> Bounded {
    Bounded { name: limit.name().to_owned(), limit: limit.to_string(), bound: bound::of(limit) }
}

/// The bytes that stand for a key.
fn encoded(key: Key<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut |part| bytes.extend_from_slice(part));
    bytes
}

fn shown_key(key: Key<'_>) -> String {
    match key {
        Key::Text(text) => crate::print::quoted(text),
        Key::Bytes(bytes) => crate::print::quoted(&String::from_utf8_lossy(bytes)),
        Key::Unsigned(number) => number.to_string(),
        Key::Negative(distance) => format!("-{distance}"),
        Key::Ip(prefix) => prefix.to_string(),
        Key::Parts(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| shown_key(*part)).collect();
            format!("[{}]", parts.join(", "))
        }
        _ => "?".to_owned(),
    }
}

impl Explanation {
    /// The rules that apply, the most specific first, the default last.
    #[must_use]
    pub fn rules(&self) -> &[Explained] {
        &self.rules
    }

    /// The rule that decides.
    #[must_use]
    pub fn decides(&self) -> Option<&Explained> {
        self.rules.iter().find(|rule| rule.role == Role::Decides)
    }

    /// The rule on trial beside it, if there is one.
    #[must_use]
    pub fn on_trial(&self) -> Option<&Explained> {
        self.rules.iter().find(|rule| rule.role == Role::OnTrial)
    }
}

impl Explained {
    /// `exact`, `tier`, `member`, `pattern` or `default`.
    #[must_use]
    pub fn level(&self) -> &str {
        self.level
    }

    /// What it does for the key.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it is on trial, heard or not.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.shadow
    }

    /// The file that says it; empty when none does.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1; 0 for the default that is enforced when the file has one on trial alone.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, in characters; 0 as [`line`](Self::line).
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The name of its policy.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// Its limits; none for `unlimited` and `blocked`.
    #[must_use]
    pub fn limits(&self) -> &[Bounded] {
        &self.limits
    }
}

impl Bounded {
    /// The limit, as it is written.
    #[must_use]
    pub fn limit(&self) -> &str {
        &self.limit
    }

    /// What it admits at worst, in words.
    #[must_use]
    pub fn bound(&self) -> &str {
        &self.bound
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {}, ", shown::message(&self.key))?;
        match &self.tier {
            Some(tier) => {
                let known = self.rules.iter().any(|rule| rule.level == "tier");
                let known = if known { "" } else { ", which is not in the file" };
                write!(f, "tier `{}`{known}", shown::message(tier))?;
            }
            None => f.write_str("no tier")?,
        }
        self.rules.iter().try_for_each(|rule| write!(f, "\n{rule}"))
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Decides => "decides",
            Role::OnTrial => "on trial",
            Role::Unheard if self.shadow => "not heard on trial",
            Role::Unheard => "not heard",
        };
        write!(f, "{role}: {}", shown::message(&self.rule))?;
        if self.level == "member" {
            f.write_str(", of which it is a member")?;
        }
        if self.line > 0 {
            let file = shown::message(&self.file.to_string_lossy());
            write!(f, " ({file}:{}:{})", self.line, self.column)?;
        }
        match (self.unlimited, self.blocked) {
            (true, _) => f.write_str("\n  unlimited"),
            (_, true) => f.write_str("\n  blocked"),
            _ => {
                write!(f, "\n  policy `{}`", self.policy)?;
                let mut limits = self.limits.iter();
                limits.try_for_each(|limit| write!(f, "\n    {}: {}", limit.limit, limit.bound))
            }
        }
    }
}

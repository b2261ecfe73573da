//! Takes rules one by one, and checks that no two of them say different things of one key.

use std::collections::HashMap;
use std::fmt;

use super::pattern::{Part, Pattern};
use super::patterns::Patterns;
use super::segments::Segments;
use super::{KeyHash, Rules, Secret};
use crate::error::Error;
use crate::key::{AsKey, Key};
use crate::policy::{Policy, check_name};
use crate::rows::{Row, Scope, Tier};
use crate::step::Plan;

/// Builds [`Rules`]. The order of the calls means nothing; the first fault in it is the one that
/// [`build`](Self::build) returns.
#[derive(Clone)]
pub struct RulesBuilder {
    /// Different policies, by content.
    numbers: HashMap<Policy, u32>,
    default: Option<u32>,
    exact: HashMap<KeyHash, u32>,
    tiers: HashMap<Box<str>, u32>,
    patterns: HashMap<Pattern, u32>,
    secret: Secret,
    fault: Option<Error>,
}

impl RulesBuilder {
    pub(super) fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            default: None,
            exact: HashMap::new(),
            tiers: HashMap::new(),
            patterns: HashMap::new(),
            secret: Secret::random(),
            fault: None,
        }
    }

    /// The policy of every key that nothing else is said of. Needed, once.
    #[must_use]
    pub fn default(mut self, policy: impl Into<Policy>) -> Self {
        let policy = self.number(policy.into());
        if let Some(before) = self.default.replace(policy) {
            self.twice("there are two default policies", before, policy, "keep one");
        }
        self
    }

    /// Gives one key a policy of its own, whatever the tier of the caller. There may be millions:
    /// each takes about 50 bytes, and different policies are kept once.
    #[must_use]
    pub fn exact(mut self, key: impl AsKey, policy: impl Into<Policy>) -> Self {
        let policy = self.number(policy.into());
        key.with_key(|key| {
            if let Some(before) = self.exact.insert(self.secret.hash(key), policy) {
                let what = format!("the key `{}` has two exact overrides", shown(key));
                self.twice(what, before, policy, "give each key one override");
            }
        });
        self
    }

    /// The policy of callers of a tier. The name is 1 to 64 printable ASCII characters, as for
    /// [`Limit::named`](crate::Limit::named).
    #[must_use]
    pub fn tier(mut self, name: &str, policy: impl Into<Policy>) -> Self {
        let policy = self.number(policy.into());
        if let Err(fault) = check_name("tier", name) {
            self.fault.get_or_insert(fault);
        } else if let Some(before) = self.tiers.insert(name.into(), policy) {
            self.twice(format!("the tier `{name}` is given twice"), before, policy, "keep one");
        }
        self
    }

    /// The policy of keys that match a pattern ([`Rules`] says how patterns are written).
    #[must_use]
    pub fn pattern(mut self, pattern: &str, policy: impl Into<Policy>) -> Self {
        let policy = self.number(policy.into());
        match Pattern::parse(pattern) {
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
            Ok(parsed) => {
                if let Some(before) = self.patterns.insert(parsed, policy) {
                    let what = format!("the pattern `{pattern}` is given twice");
                    self.twice(what, before, policy, "keep one, or make one more specific");
                }
            }
        }
        self
    }

    /// Checks the rules.
    ///
    /// # Errors
    /// There is no default or more than one, a key, a tier or a pattern is given twice, or a tier's
    /// name or a pattern cannot be read.
    pub fn build(self) -> Result<Rules, Error> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let Some(default) = self.default else {
            let expected = "name one with `default`; to admit such keys, `Policy::unlimited()`";
            return Err(Error::conflict("there is no default policy", expected));
        };
        let policies = in_order(self.numbers);
        let mut rows = RowsOf { policies: &policies, rows: Vec::new(), numbers: HashMap::new() };
        let no_tier = Scope::Tier(Tier::NONE);
        rows.number(default, no_tier);
        let mut rules = Rules {
            default: policies.get(index(default)).cloned().unwrap_or(Policy::blocked()),
            rows: [].into(),
            policies: policies.len(),
            exact: self.exact,
            tiers: HashMap::with_capacity(self.tiers.len()),
            tier_rows: [].into(),
            patterns: Patterns::new(self.secret),
            secret: self.secret,
        };
        // Rows are numbered in an order that the maps' own does not change.
        let mut tier_rows = Vec::with_capacity(self.tiers.len());
        let mut tiers: Vec<_> = self.tiers.into_iter().collect();
        tiers.sort_unstable_by_key(|(_, policy)| *policy);
        for (place, (name, policy)) in (0..).zip(tiers) {
            let tier = Tier::at(place);
            tier_rows.push(rows.number(policy, Scope::Tier(tier)));
            rules.tiers.insert(name, tier);
        }
        let mut patterns: Vec<_> = self.patterns.into_iter().collect();
        patterns.sort_unstable_by_key(|(_, policy)| *policy);
        for (pattern, policy) in patterns {
            rules.patterns.insert(&pattern, rows.number(policy, no_tier));
        }
        let mut overrides: Vec<u32> = rules.exact.values().copied().collect();
        overrides.sort_unstable();
        overrides.dedup();
        for policy in overrides {
            rows.number(policy, Scope::EveryTier);
        }
        for policy in rules.exact.values_mut() {
            *policy = rows.number(*policy, Scope::EveryTier);
        }
        // Rows and the numbers of rows that come with calls share 32 bits.
        let most = 1 << 31;
        if rows.rows.len() > most {
            let expected = format!("at most {most}, each counted once for each tier");
            return Err(Error::range("policies", rows.rows.len(), expected));
        }
        rules.rows = rows.rows.into();
        rules.tier_rows = tier_rows.into();
        Ok(rules)
    }

    /// The number of a policy, the same for the same content.
    fn number(&mut self, policy: Policy) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(policy).or_insert(next)
    }

    fn twice(&mut self, what: impl fmt::Display, before: u32, after: u32, expected: &str) {
        let name = |number| {
            let found = self.numbers.iter().find(|(_, other)| **other == number);
            found.map_or_else(String::new, |(policy, _)| described(policy))
        };
        let what = format!("{what}: with {} and with {}", name(before), name(after));
        self.fault.get_or_insert(Error::conflict(what, expected));
    }
}

/// Rules with nothing but a default.
pub(super) fn with_default(policy: Policy) -> Rules {
    let plan = Plan::new(&policy, Rules::DEFAULT);
    let row = Row { plan, scope: Scope::Tier(Tier::NONE), shared: 0 };
    let secret = Secret::random();
    Rules {
        default: policy,
        rows: [row].into(),
        policies: 1,
        exact: HashMap::new(),
        tiers: HashMap::new(),
        tier_rows: [].into(),
        patterns: Patterns::new(secret),
        secret,
    }
}

/// The rows that rules name, each once.
struct RowsOf<'a> {
    policies: &'a [Policy],
    rows: Vec<Row>,
    numbers: HashMap<(u32, Scope), u32>,
}

impl RowsOf<'_> {
    fn number(&mut self, policy: u32, scope: Scope) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry((policy, scope)).or_insert(next);
        if number == next
            && let Some(content) = self.policies.get(index(policy))
        {
            let plan = Plan::new(content, number);
            self.rows.push(Row { plan, scope, shared: index(policy) });
        }
        number
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn in_order(numbers: HashMap<Policy, u32>) -> Vec<Policy> {
    let mut policies: Vec<_> = numbers.into_iter().collect();
    policies.sort_unstable_by_key(|(_, number)| *number);
    policies.into_iter().map(|(policy, _)| policy).collect()
}

/// A policy in an error: its limits, because the name is often the default one.
fn described(policy: &Policy) -> String {
    let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
    let name = match policy.name() {
        "default" => String::new(),
        name => format!(" (named {name})"),
    };
    match &*limits {
        [] if policy.is_blocked() => format!("`blocked`{name}"),
        [] => format!("`unlimited`{name}"),
        _ => format!("`{}`{name}", limits.join(", ")),
    }
}

/// A key in an error, as the pattern that only it matches; the beginning of a long one.
fn shown(key: Key<'_>) -> String {
    const SHOWN: usize = 64;
    let segments = Segments::of(key);
    let literals = segments.as_slice().iter().map(|segment| {
        let text = segment.as_bytes();
        Part::Literal(text.get(..=SHOWN).unwrap_or(text).into())
    });
    let pattern = Pattern { segments: literals.collect(), open: false }.to_string();
    let mut shown: String = pattern.chars().take(SHOWN).collect();
    if shown.len() < pattern.len() {
        shown.push('…');
    }
    shown.replace(char::is_control, "\u{fffd}")
}

impl fmt::Debug for RulesBuilder {
    /// How many of each kind; no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesBuilder")
            .field("has_default", &self.default.is_some())
            .field("exact", &self.exact.len())
            .field("tiers", &self.tiers.len())
            .field("patterns", &self.patterns.len())
            .field("policies", &self.numbers.len())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

//! Takes rules one by one, and checks that no two of them say different things of one key.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::pairs::{self, Levels, Pair};
use super::pattern::{Part, Pattern};
use super::patterns::{End, Patterns};
use super::said::Said;
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
    default: Said,
    exact: HashMap<KeyHash, Said>,
    tiers: HashMap<Box<str>, Said>,
    members: HashMap<KeyHash, Box<str>>,
    patterns: HashMap<Pattern, End>,
    /// Calls of [`pattern`](Self::pattern).
    pattern_calls: u32,
    secret: Secret,
    fault: Option<Error>,
}

impl RulesBuilder {
    pub(super) fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            default: Said::NOTHING,
            exact: HashMap::new(),
            tiers: HashMap::new(),
            members: HashMap::new(),
            patterns: HashMap::new(),
            pattern_calls: 0,
            secret: Secret::random(),
            fault: None,
        }
    }

    /// The policy of every key that nothing else is said of. Needed, once.
    #[must_use]
    pub fn default(mut self, policy: impl Into<Policy>) -> Self {
        let (policy, is_shadow) = self.number(policy.into());
        if let Some(before) = self.default.say(policy, is_shadow) {
            self.twice("there are two default policies", before, policy, "keep one");
        }
        self
    }

    /// Gives one key a policy of its own, whatever the tier of the caller. There may be millions:
    /// each takes about 50 bytes, and different policies are kept once.
    #[must_use]
    pub fn exact(mut self, key: impl AsKey, policy: impl Into<Policy>) -> Self {
        let (policy, is_shadow) = self.number(policy.into());
        key.with_key(|key| {
            let said = self.exact.entry(self.secret.hash(key)).or_insert(Said::NOTHING);
            if let Some(before) = said.say(policy, is_shadow) {
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
        let (policy, is_shadow) = self.number(policy.into());
        if let Err(fault) = check_name("tier", name) {
            self.fault.get_or_insert(fault);
            return self;
        }
        let said = self.tiers.entry(name.into()).or_insert(Said::NOTHING);
        if let Some(before) = said.say(policy, is_shadow) {
            self.twice(format!("the tier `{name}` is given twice"), before, policy, "keep one");
        }
        self
    }

    /// Makes a key a member of a tier: callers who name no tier, or one that the rules do not know, get
    /// that tier's policy for it. There may be millions, as for [`exact`](Self::exact).
    #[must_use]
    pub fn member(mut self, key: impl AsKey, tier: &str) -> Self {
        key.with_key(|key| {
            let before = self.members.insert(self.secret.hash(key), tier.into());
            if let Some(before) = before {
                let what = format!(
                    "the key `{}` is a member twice: of `{before}` and of `{tier}`",
                    shown(key)
                );
                self.fault.get_or_insert(Error::conflict(what, "give each key one tier"));
            }
        });
        self
    }

    /// The policy of keys that match a pattern ([`Rules`] says how patterns are written).
    #[must_use]
    pub fn pattern(mut self, pattern: &str, policy: impl Into<Policy>) -> Self {
        let (policy, is_shadow) = self.number(policy.into());
        let call = self.pattern_calls;
        self.pattern_calls = call.saturating_add(1);
        match Pattern::parse(pattern) {
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
            Ok(parsed) => {
                let end = self.patterns.entry(parsed).or_insert(End::NOTHING);
                let before = end.said.say(policy, is_shadow);
                end.numbers.say(call, is_shadow);
                if let Some(before) = before {
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
    /// There is no default or more than one, a key, a tier or a pattern is given twice, a key is a member
    /// of two tiers or of one that is not there, a tier's name or a pattern cannot be read, or a policy
    /// on trial has too many limits for a key that has the enforced ones as well.
    pub fn build(mut self) -> Result<Rules, Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.check_default()?;
        let tiers = self.tiers_by_number();
        let pairs = self.levels(&tiers)?.pairs()?;
        let policies = in_order(std::mem::take(&mut self.numbers));
        let mut rows = RowsOf { policies: &policies, rows: Vec::new(), numbers: HashMap::new() };
        let no_tier = Scope::Tier(Tier::NONE);
        // Rows are numbered in an order that the maps' own does not change.
        let default = rows.said(self.default, no_tier);
        let of_tiers = tiers.iter().map(|(_, tier, said)| (*tier, *said));
        let of_tiers: HashMap<Tier, Said> =
            of_tiers.map(|(tier, said)| (tier, rows.said(said, Scope::Tier(tier)))).collect();
        let patterns = rows.patterns(self.patterns, self.secret);
        rows.overrides(&mut self.exact);
        let names: HashMap<Box<str>, Tier> =
            tiers.iter().map(|(name, tier, _)| (name.clone(), *tier)).collect();
        let members: HashMap<KeyHash, Tier> = self
            .members
            .into_iter()
            .filter_map(|(key, name)| Some((key, *names.get(&name)?)))
            .collect();
        let with_members: HashSet<Tier> = members.values().copied().collect();
        let of_members = tiers
            .iter()
            .filter(|(_, tier, _)| with_members.contains(tier))
            .map(|(_, tier, said)| (*tier, rows.said(*said, no_tier)))
            .collect();
        let pairs = rows.pairs(pairs)?;
        // Numbers of rows have other marks in their upper bits.
        if rows.rows.len() > Row::MOST {
            let expected = format!("at most {}, each counted once for each tier", Row::MOST);
            return Err(Error::range("policies", rows.rows.len(), expected));
        }
        Ok(Rules {
            rows: rows.rows.into(),
            policies: policies.into(),
            default,
            exact: self.exact,
            names,
            tiers: of_tiers,
            members,
            of_members,
            patterns,
            pairs,
            secret: self.secret,
        })
    }

    /// There is a default; what is on trial for all keys is so beside `unlimited`.
    fn check_default(&mut self) -> Result<(), Error> {
        if self.default == Said::NOTHING {
            let expected = "name one with `default`; to admit such keys, `Policy::unlimited()`";
            return Err(Error::conflict("there is no default policy", expected));
        }
        if self.default.enforced().is_none() {
            let (unlimited, _) = self.number(Policy::unlimited());
            self.default.say(unlimited, false);
        }
        Ok(())
    }

    /// The tiers, in the order in which their policies were given.
    fn tiers_by_number(&self) -> Vec<(Box<str>, Tier, Said)> {
        let named = self.tiers.iter().map(|(name, said)| (name.clone(), Tier::named(name), *said));
        let mut tiers: Vec<_> = named.collect();
        tiers.sort_unstable_by(|(name, _, said), (other_name, _, other)| {
            let order = |said: &Said| (said.enforced(), said.shadow());
            order(said).cmp(&order(other)).then_with(|| name.cmp(other_name))
        });
        tiers
    }

    fn levels(&self, tiers: &[(Box<str>, Tier, Said)]) -> Result<Levels, Error> {
        let by_tier: HashMap<Tier, Said> =
            tiers.iter().map(|(_, tier, said)| (*tier, *said)).collect();
        if by_tier.len() < tiers.len() {
            // Two names of a hundred have one hash in one case of 10^15.
            let expected = "give one of them another name";
            return Err(Error::conflict("two tiers cannot be told apart", expected));
        }
        let mut with_members = HashSet::new();
        for name in self.members.values() {
            if !self.tiers.contains_key(name) {
                let what = format!("a key is a member of the tier `{name}`, which is not there");
                return Err(Error::conflict(what, "name it with `tier`"));
            }
            with_members.insert(Tier::named(name));
        }
        Ok(Levels {
            exact: self.exact.values().copied().collect(),
            tiers: by_tier,
            with_members,
            patterns: self.patterns.values().map(|end| end.said).collect(),
            default: self.default,
        })
    }

    /// The number of a policy, the same for the same content, and whether it is on trial.
    fn number(&mut self, policy: Policy) -> (u32, bool) {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let is_shadow = policy.is_shadow();
        (*self.numbers.entry(policy).or_insert(next), is_shadow)
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
    let (policies, shadow) = match policy.is_shadow() {
        true => (vec![Policy::unlimited(), policy], Some(1)),
        false => (vec![policy], None),
    };
    let mut rows = RowsOf { policies: &policies, rows: Vec::new(), numbers: HashMap::new() };
    let no_tier = Scope::Tier(Tier::NONE);
    let mut default = Said::NOTHING;
    default.say(rows.number(0, None, no_tier), false);
    let mut pairs = HashMap::new();
    if let Some(shadow) = shadow {
        default.say(shadow, true);
        pairs.insert((0, shadow, Tier::NONE), rows.number(0, Some(shadow), no_tier));
    }
    let secret = Secret::random();
    Rules {
        rows: rows.rows.into(),
        policies: policies.into(),
        default,
        exact: HashMap::new(),
        names: HashMap::new(),
        tiers: HashMap::new(),
        members: HashMap::new(),
        of_members: HashMap::new(),
        patterns: Patterns::new(secret),
        pairs,
        secret,
    }
}

/// The rows that rules name, each once.
struct RowsOf<'a> {
    policies: &'a [Policy],
    rows: Vec<Row>,
    numbers: HashMap<(u32, Option<u32>, Scope), u32>,
}

impl RowsOf<'_> {
    /// What is said, with the enforced policy's row in that scope.
    fn said(&mut self, said: Said, scope: Scope) -> Said {
        said.with_row(|policy| self.number(policy, None, scope))
    }

    fn number(&mut self, policy: u32, shadow: Option<u32>, scope: Scope) -> u32 {
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry((policy, shadow, scope)).or_insert(next);
        if number == next
            && let Some(content) = self.policies.get(index(policy))
        {
            let shadow = shadow.and_then(|shadow| self.policies.get(index(shadow)));
            self.rows.push(Row::new(Plan::new(content, shadow), scope, policy));
        }
        number
    }

    /// The tree of the patterns.
    fn patterns(&mut self, patterns: HashMap<Pattern, End>, secret: Secret) -> Patterns {
        let mut patterns: Vec<(Pattern, End)> = patterns.into_iter().collect();
        patterns.sort_unstable_by_key(|(_, end)| (end.numbers.enforced(), end.numbers.shadow()));
        let mut tree = Patterns::new(secret);
        for (pattern, end) in patterns {
            let said = self.said(end.said, Scope::Tier(Tier::NONE));
            tree.insert(&pattern, End { said, ..end });
        }
        tree
    }

    /// Gives exact overrides their rows.
    fn overrides(&mut self, exact: &mut HashMap<KeyHash, Said>) {
        let mut policies: Vec<u32> = exact.values().filter_map(|said| said.enforced()).collect();
        policies.sort_unstable();
        policies.dedup();
        for policy in policies {
            self.number(policy, None, Scope::EveryTier);
        }
        for said in exact.values_mut() {
            *said = self.said(*said, Scope::EveryTier);
        }
    }

    /// The rows of policies with others on trial beside them.
    fn pairs(&mut self, pairs: Vec<Pair>) -> Result<HashMap<Pair, u32>, Error> {
        let mut numbers = HashMap::with_capacity(pairs.len());
        for pair @ (enforced, shadow, tier) in pairs {
            self.check_fits(enforced, shadow)?;
            numbers.insert(pair, self.number(enforced, Some(shadow), Scope::Tier(tier)));
        }
        Ok(numbers)
    }

    /// Whether a key has levels for both.
    fn check_fits(&self, enforced: u32, shadow: u32) -> Result<(), Error> {
        let policies = self.policies.get(index(enforced)).zip(self.policies.get(index(shadow)));
        policies.map_or(Ok(()), |(enforced, shadow)| pairs::fits(enforced, shadow))
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
            .field("has_default", &(self.default != Said::NOTHING))
            .field("exact", &self.exact.len())
            .field("tiers", &self.tiers.len())
            .field("members", &self.members.len())
            .field("patterns", &self.patterns.len())
            .field("policies", &self.numbers.len())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

//! Which policy a key gets: exact override, tier, pattern or default.

mod builder;
mod matching;
mod pairs;
mod pattern;
mod patterns;
mod said;
mod segments;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::hash::{KeyHash, Secret};
use crate::key::{AsKey, Key};
use crate::limit::Limit;
use crate::policy::Policy;
use crate::rows::{Row, Tier};
use pairs::Pair;
use patterns::Patterns;
use said::Said;

pub use builder::RulesBuilder;
pub use matching::{RuleLevel, RuleMatch};

/// What a key gets for which nothing else is said.
static UNLIMITED: std::sync::LazyLock<Policy> = std::sync::LazyLock::new(Policy::unlimited);

/// Which policy a key gets. The most specific rule wins, in whatever order they were given, and
/// rules are never combined:
///
/// 1. an **exact** override of the key;
/// 2. the **tier** that the caller gives ([`Limiter::tier`](crate::Limiter::tier)), or when it gives
///    none, the tier of which the key is a [member](RulesBuilder::member);
/// 3. the most specific **pattern** that matches the key;
/// 4. the **default**.
///
/// A tier that the rules do not know is as none.
///
/// # Rules on trial
///
/// A policy that is a [shadow](Policy::shadow) takes no key away from the rules that are enforced: the
/// first enforced rule of the chain decides, and the first rule on trial that comes before it, if
/// there is one, says beside it what it would have done. One key, tier or pattern may have a rule of each
/// kind, and so may all others have two defaults; when only one on trial is given, they are unlimited.
///
/// # Patterns
///
/// A pattern says what each segment of a key must be. Text and bytes are split into segments at
/// each `:`; of a list ([`Key::Parts`](crate::Key::Parts)) every part is one segment, whatever it
/// contains, with numbers and addresses as they are printed. So `tenant:*:search` matches the text
/// `"tenant:42:search"` and the list `("tenant", 42, "search")`, which are two keys.
///
/// | segment | matches |
/// |---|---|
/// | `search` | this segment |
/// | `se*` | a segment that begins with `se` |
/// | `*` | any one segment, an empty one too |
/// | `**`, at the end | all further segments, or none |
///
/// `\*`, `\:` and `\\` stand for the characters themselves. A pattern has at most 32 segments
/// before its `**`.
///
/// Of two patterns that match a key the more specific one is found by reading both from the left
/// to the first segment in which they differ: there a literal comes before a prefix, a longer
/// prefix before a shorter one and before `*`, and all of these, as well as the end of the pattern,
/// before `**`. In this order two patterns tie only when they are the same, and giving a pattern
/// twice is an error. Segments further left weigh more: for the key `tenant:acme:search` the
/// pattern `tenant:acme:**` comes before `tenant:*:search`.
///
/// ```
/// use brimful::{Limit, Limiter, Policy, Rules};
///
/// let rules = Rules::builder()
///     .default(Limit::per_minute(100)?)
///     .exact("tenant:7:search", Policy::unlimited())
///     .tier("gold", Limit::per_minute(1000)?)
///     .pattern("tenant:*:search", Limit::per_minute(10)?)
///     .build()?;
/// assert_eq!(rules.policy_for(("tenant", 42, "search"), None).limits()[0].tokens(), 10);
/// assert_eq!(rules.policy_for("tenant:42:search", Some("gold")).limits()[0].tokens(), 1000);
/// assert!(rules.policy_for("tenant:7:search", Some("gold")).is_unlimited());
///
/// let limiter = Limiter::new(rules)?;
/// assert!(limiter.allow("tenant:42:search"));
/// assert!(limiter.tier("gold").allow("tenant:42:search"));
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone)]
pub struct Rules {
    /// That of the enforced default is the first.
    rows: Arc<[Row]>,
    /// Different policies, by number.
    policies: Arc<[Policy]>,
    default: Said,
    exact: HashMap<KeyHash, Said>,
    names: HashMap<Box<str>, Tier>,
    tiers: HashMap<Tier, Said>,
    /// The tier of keys whose callers name none.
    members: HashMap<KeyHash, Tier>,
    /// What is said of those keys, by tier.
    of_members: HashMap<Tier, Said>,
    patterns: Patterns,
    /// The rows of enforced policies with others on trial beside them.
    pairs: HashMap<Pair, u32>,
    /// Keys of exact overrides and of members are kept as hashes.
    secret: Secret,
}

impl Rules {
    /// Begins with no rules. A default is needed.
    #[must_use]
    pub fn builder() -> RulesBuilder {
        RulesBuilder::new()
    }

    /// The policy that is enforced for a key and callers of a tier, or of none.
    #[must_use]
    pub fn policy_for(&self, key: impl AsKey, tier: Option<&str>) -> &Policy {
        self.row_for(key, tier).map_or(&UNLIMITED, |row| row.plan.policy())
    }

    /// The policy that is on trial for a key and callers of a tier, or of none: that of the most specific
    /// rule with one, unless a more specific rule is enforced.
    #[must_use]
    pub fn shadow_for(&self, key: impl AsKey, tier: Option<&str>) -> Option<&Policy> {
        self.row_for(key, tier)?.plan.shadow().map(|shadow| &**shadow)
    }

    fn row_for(&self, key: impl AsKey, tier: Option<&str>) -> Option<&Row> {
        let tier = tier.and_then(|name| self.tier(name)).unwrap_or(Tier::NONE);
        let row = key.with_key(|key| self.resolve(key, tier));
        // Every row that the rules name is there.
        self.rows.get(usize::try_from(row).ok()?)
    }

    /// The tier of that name; `None` when the rules have none.
    pub(crate) fn tier(&self, name: &str) -> Option<Tier> {
        self.names.get(name).copied()
    }

    /// Whether there is such a tier.
    pub(crate) fn knows(&self, tier: Tier) -> bool {
        self.tiers.contains_key(&tier)
    }

    /// The row of a key for callers of a tier; one that the rules do not know is none.
    pub(crate) fn resolve(&self, key: Key<'_>, tier: Tier) -> u32 {
        let said = self.chain(key, tier);
        let row = said.enforced().unwrap_or(Self::DEFAULT);
        let Some(shadow) = said.shadow() else { return row };
        let tier = if self.knows(tier) { tier } else { Tier::NONE };
        let policy = usize::try_from(row).ok().and_then(|row| Some(self.rows.get(row)?.policy));
        let pair = policy.and_then(|enforced| self.pairs.get(&(enforced, shadow, tier)));
        // Every pair that the chain can come to is there.
        pair.copied().unwrap_or(row)
    }

    /// The row of the enforced default.
    const DEFAULT: u32 = 0;

    /// What the rules say. This is the whole chain.
    fn chain(&self, key: Key<'_>, tier: Tier) -> Said {
        let has_hashes = !(self.exact.is_empty() && self.members.is_empty());
        let hash = has_hashes.then(|| self.secret.hash(key));
        let exact = hash.and_then(|hash| self.exact.get(&hash).copied());
        let mut said = exact.unwrap_or(Said::NOTHING);
        if said.enforced().is_none() {
            said = said.then(self.tier_or_membership(hash, tier));
        }
        if said.enforced().is_none() {
            said = said.then(self.patterns.find(key));
        }
        said.then(self.default)
    }

    fn tier_or_membership(&self, hash: Option<KeyHash>, tier: Tier) -> Said {
        let by_caller = self.tiers.get(&tier);
        let by_membership = || self.of_members.get(self.members.get(&hash?)?);
        by_caller.or_else(by_membership).copied().unwrap_or(Said::NOTHING)
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl From<Policy> for Rules {
    /// The same policy for every key.
    fn from(policy: Policy) -> Self {
        builder::with_default(policy)
    }
}

impl From<Limit> for Rules {
    /// The same limit for every key.
    fn from(limit: Limit) -> Self {
        Self::from(Policy::from(limit))
    }
}

impl fmt::Debug for Rules {
    /// How many of each kind; no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("default", &self.rows.first().map(|row| row.plan.policy()))
            .field("exact", &self.exact.len())
            .field("tiers", &self.tiers.len())
            .field("members", &self.members.len())
            .field("patterns", &self.patterns.len())
            .field("policies", &self.policies.len())
            .finish_non_exhaustive()
    }
}

//! Which policy a key gets: exact override, tier, pattern or default.

mod builder;
mod pattern;
mod patterns;
mod segments;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::hash::{KeyHash, Secret};
use crate::key::{AsKey, Key};
use crate::limit::Limit;
use crate::policy::Policy;
use crate::rows::{Row, Tier};
use patterns::Patterns;

pub use builder::RulesBuilder;

/// Which policy a key gets. The most specific rule wins, in whatever order they were given, and
/// rules are never combined:
///
/// 1. an **exact** override of the key;
/// 2. the **tier** that the caller gives ([`Limiter::tier`](crate::Limiter::tier));
/// 3. the most specific **pattern** that matches the key;
/// 4. the **default**.
///
/// A tier that the rules do not know falls through to the patterns.
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
    default: Policy,
    /// That of the default is the first.
    rows: Arc<[Row]>,
    /// How many different policies there are.
    policies: usize,
    exact: HashMap<KeyHash, u32>,
    /// By name.
    tiers: HashMap<Box<str>, Tier>,
    /// The row of each tier.
    tier_rows: Box<[u32]>,
    patterns: Patterns,
    /// Keys of exact overrides are kept as hashes.
    secret: Secret,
}

impl Rules {
    /// The row of the default policy.
    pub(crate) const DEFAULT: u32 = 0;

    /// Begins with no rules. A default is needed.
    #[must_use]
    pub fn builder() -> RulesBuilder {
        RulesBuilder::new()
    }

    /// The policy of a key for callers of a tier, or of none.
    #[must_use]
    pub fn policy_for(&self, key: impl AsKey, tier: Option<&str>) -> &Policy {
        let tier = tier.and_then(|name| self.tier(name)).unwrap_or(Tier::NONE);
        let row = key.with_key(|key| self.resolve(key, tier));
        let row = usize::try_from(row).ok().and_then(|row| self.rows.get(row));
        // Every row that the rules name is there.
        row.map_or(&self.default, |row| row.plan.policy())
    }

    /// The tier of that name; `None` when the rules have none.
    pub(crate) fn tier(&self, name: &str) -> Option<Tier> {
        self.tiers.get(name).copied()
    }

    /// The row of a key for callers of a tier. This is the whole chain.
    pub(crate) fn resolve(&self, key: Key<'_>, tier: Tier) -> u32 {
        self.exact_row(key)
            .or_else(|| self.tier_rows.get(tier.place()?).copied())
            .or_else(|| self.patterns.find(key))
            .unwrap_or(Self::DEFAULT)
    }

    fn exact_row(&self, key: Key<'_>) -> Option<u32> {
        if self.exact.is_empty() {
            return None;
        }
        self.exact.get(&self.secret.hash(key)).copied()
    }

    pub(crate) fn rows(&self) -> &Arc<[Row]> {
        &self.rows
    }

    /// How many different policies there are.
    pub(crate) fn policies(&self) -> usize {
        self.policies
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
            .field("default", &self.default)
            .field("exact", &self.exact.len())
            .field("tiers", &self.tiers.len())
            .field("patterns", &self.patterns.len())
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

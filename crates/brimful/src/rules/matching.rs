//! All rules that apply to a key, for those who ask why it got its limits.

use super::Rules;
use super::said::Said;
use crate::key::{AsKey, Key};
use crate::policy::Policy;
use crate::rows::Tier;

/// Where a rule stands in the chain; the more specific ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RuleLevel {
    /// An override of this very key.
    Exact,
    /// The tier that the caller gives.
    Tier,
    /// The tier of which the key is a member, when the caller gives none.
    Member,
    /// A pattern that matches the key.
    Pattern,
    /// What all other keys get.
    Default,
}

/// A rule that applies to a key ([`Rules::matching`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch<'a> {
    level: RuleLevel,
    number: usize,
    policy: &'a Policy,
}

impl<'a> RuleMatch<'a> {
    /// Where it stands in the chain.
    #[must_use]
    pub fn level(&self) -> RuleLevel {
        self.level
    }

    /// Which pattern it is: that of the first call of [`RulesBuilder::pattern`](super::RulesBuilder::pattern)
    /// has number 0, and so on. 0 for all that are not patterns.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// What it says. It may be [on trial](Policy::is_shadow).
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }
}

impl Rules {
    /// All rules that apply to a key for callers of a tier, or of none: the most specific first, the
    /// default last. The first that is not [on trial](Policy::is_shadow) is the one that is enforced; and
    /// the first of all, if it is on trial, is the one that stands beside it.
    ///
    /// ```
    /// use brimful::{Limit, RuleLevel, Rules};
    ///
    /// let rules = Rules::builder()
    ///     .default(Limit::per_minute(100)?)
    ///     .pattern("tenant:**", Limit::per_minute(50)?)
    ///     .pattern("tenant:*:search", Limit::per_minute(10)?)
    ///     .build()?;
    /// let found = rules.matching("tenant:42:search", None);
    /// let found: Vec<_> = found.iter().map(|rule| (rule.level(), rule.number())).collect();
    /// use RuleLevel::{Default, Pattern};
    /// assert_eq!(found, [(Pattern, 1), (Pattern, 0), (Default, 0)]);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    #[must_use]
    pub fn matching(&self, key: impl AsKey, tier: Option<&str>) -> Vec<RuleMatch<'_>> {
        let tier = tier.and_then(|name| self.tier(name)).unwrap_or(Tier::NONE);
        key.with_key(|key| self.matching_key(key, tier))
    }

    fn matching_key(&self, key: Key<'_>, tier: Tier) -> Vec<RuleMatch<'_>> {
        let hash = self.secret.hash(key);
        let mut found = Vec::new();
        self.add(&mut found, RuleLevel::Exact, self.exact.get(&hash).copied());
        match self.tiers.get(&tier) {
            Some(said) => self.add(&mut found, RuleLevel::Tier, Some(*said)),
            None => {
                let of_members = self.members.get(&hash).and_then(|tier| self.of_members.get(tier));
                self.add(&mut found, RuleLevel::Member, of_members.copied());
            }
        }
        self.patterns.each(key, &mut |end| {
            let numbers = [end.numbers.shadow(), end.numbers.enforced()];
            let before = found.len();
            self.add(&mut found, RuleLevel::Pattern, Some(end.said));
            for (rule, number) in found.iter_mut().skip(before).zip(numbers.into_iter().flatten()) {
                rule.number = usize::try_from(number).unwrap_or(usize::MAX);
            }
            false
        });
        self.add(&mut found, RuleLevel::Default, Some(self.default));
        found
    }

    /// What is on trial before what is enforced.
    fn add<'a>(&'a self, found: &mut Vec<RuleMatch<'a>>, level: RuleLevel, said: Option<Said>) {
        let said = said.unwrap_or(Said::NOTHING);
        let at = |number: u32| usize::try_from(number).ok();
        let shadow = said.shadow().and_then(|number| self.policies.get(at(number)?));
        let row = said.enforced().and_then(|row| self.rows.get(at(row)?));
        let policies = shadow.into_iter().chain(row.map(|row| &**row.plan.policy()));
        found.extend(policies.map(|policy| RuleMatch { level, number: 0, policy }));
    }
}

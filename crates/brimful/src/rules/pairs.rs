//! Which policies on trial can stand beside which enforced ones: a row for each pair.
//!
//! A key and a tier get what the chain says, and of each level only some things can be said. So all
//! that can be said in the end is found by going through the levels from the default up.

use std::collections::{HashMap, HashSet};

use super::said::Said;
use crate::error::Error;
use crate::policy::Policy;
use crate::rows::Tier;

/// All that the levels of the chain can say, with policies by number.
pub(super) struct Levels {
    pub(super) exact: HashSet<Said>,
    pub(super) tiers: HashMap<Tier, Said>,
    /// The tiers that have members.
    pub(super) with_members: HashSet<Tier>,
    pub(super) patterns: HashSet<Said>,
    pub(super) default: Said,
}

/// An enforced policy and the one on trial beside it, for callers of a tier or of none.
pub(super) type Pair = (u32, u32, Tier);

/// The most pairs, so that rules which need more are refused instead of using up the memory.
const MOST: usize = 1 << 20;

impl Levels {
    /// All pairs that a call can come to, in a certain order.
    pub(super) fn pairs(&self) -> Result<Vec<Pair>, Error> {
        let mut all = Vec::new();
        if !self.has_shadows() {
            return Ok(all);
        }
        let patterns = self.by_patterns();
        for tier in self.tiers.keys().copied().chain([Tier::NONE]) {
            let below: HashSet<Said> = self
                .by_tier(tier)
                .iter()
                .flat_map(|said| patterns.iter().map(|pattern| said.then(*pattern)))
                .map(|said| said.then(self.default))
                .collect();
            let exact = self.exact.iter().chain([&Said::NOTHING]);
            let said = exact.flat_map(|exact| below.iter().map(|said| exact.then(*said)));
            let said: HashSet<Said> = said.collect();
            let pairs = said.iter().filter_map(|said| said.enforced().zip(said.shadow()));
            all.extend(pairs.map(|(enforced, shadow)| (enforced, shadow, tier)));
            if all.len() > MOST {
                let expected = format!("at most {MOST}, each counted once for each tier");
                return Err(Error::range("policies on trial beside others", "more", expected));
            }
        }
        all.sort_unstable();
        Ok(all)
    }

    fn has_shadows(&self) -> bool {
        let all = self.exact.iter().chain(self.tiers.values()).chain(&self.patterns);
        all.chain([&self.default]).any(|said| said.shadow().is_some())
    }

    /// What callers of a tier can be told at the level of tiers.
    fn by_tier(&self, tier: Tier) -> HashSet<Said> {
        match self.tiers.get(&tier) {
            Some(said) => HashSet::from([*said]),
            None => {
                let members = self.with_members.iter().filter_map(|tier| self.tiers.get(tier));
                members.copied().chain([Said::NOTHING]).collect()
            }
        }
    }

    /// A key may match several patterns, so that what is on trial can come from one and what is enforced
    /// from another.
    fn by_patterns(&self) -> HashSet<Said> {
        let mut all = HashSet::from([Said::NOTHING]);
        for first in self.patterns.iter().copied().chain([Said::NOTHING]) {
            all.insert(first);
            if first.enforced().is_none() {
                all.extend(self.patterns.iter().map(|second| first.then(*second)));
            }
        }
        all
    }
}

/// Whether a key has levels for both.
pub(super) fn fits(enforced: &Policy, shadow: &Policy) -> Result<(), Error> {
    let limits = enforced.limits().len().saturating_add(shadow.limits().len());
    if limits <= Policy::MAX_LIMITS {
        return Ok(());
    }
    let what = format!(
        "the policy `{}` on trial beside `{}` makes {limits} limits for one key",
        shadow.name(),
        enforced.name()
    );
    Err(Error::conflict(what, format!("at most {} in all", Policy::MAX_LIMITS)))
}

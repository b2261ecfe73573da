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
        let patterns = self.by_patterns()?;
        // A rule for the very key that is enforced stands by itself.
        let (closed, open): (Vec<Said>, Vec<Said>) =
            self.exact.iter().chain([&Said::NOTHING]).partition(|said| said.enforced().is_some());
        for tier in self.tiers.keys().copied().chain([Tier::NONE]) {
            let of_tier = self.by_tier(tier);
            check(open.len().saturating_mul(of_tier.len()).saturating_mul(patterns.len()))?;
            let below: HashSet<Said> = of_tier
                .iter()
                .flat_map(|said| patterns.iter().map(|pattern| said.then(*pattern)))
                .map(|said| said.then(self.default))
                .collect();
            let said = open.iter().flat_map(|exact| below.iter().map(|said| exact.then(*said)));
            let said: HashSet<Said> = said.chain(closed.iter().copied()).collect();
            let pairs = said.iter().filter_map(|said| said.enforced().zip(said.shadow()));
            all.extend(pairs.map(|(enforced, shadow)| (enforced, shadow, tier)));
            check(all.len())?;
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
    fn by_patterns(&self) -> Result<HashSet<Said>, Error> {
        let mut all = self.patterns.clone();
        all.insert(Said::NOTHING);
        let open = || self.patterns.iter().filter(|said| said.enforced().is_none());
        check(open().count().saturating_mul(self.patterns.len()))?;
        for first in open() {
            all.extend(self.patterns.iter().map(|second| first.then(*second)));
        }
        Ok(all)
    }
}

/// Refuses rules that would take too many pairs, before the memory is used up.
fn check(pairs: usize) -> Result<(), Error> {
    if pairs <= MOST {
        return Ok(());
    }
    let what = format!("policies on trial can stand beside enforced ones in up to {pairs} ways");
    let expected =
        format!("at most {MOST}, each counted once for each tier: fewer different ones on trial");
    Err(Error::conflict(what, expected))
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

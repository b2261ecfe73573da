//! What the number in a slot stands for: how its key was resolved, and the limits that it got.
//!
//! Most rows come from the rules and are fixed when the limiter is built. Others come with calls
//! that bring their limits; these are interned in a bounded table ([`given`]).

mod given;

use std::sync::Arc;

use crate::error::Error;
use crate::policy::Policy;
use crate::step::Plan;
use crate::sync::{self, AtomicBool, Ordering, RwLock, RwLockReadGuard};
use crate::time::Nanos;
use given::Given;

pub(crate) use given::GENERATIONS;

/// A tier by its number in the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tier(u32);

impl Tier {
    /// Calls that name no tier, or one that the rules do not know.
    pub(crate) const NONE: Self = Self(0);

    /// The tier at `place` in the rules.
    pub(crate) fn at(place: u32) -> Self {
        Self(place.saturating_add(1))
    }

    /// The place in the rules; `None` for [`NONE`](Self::NONE).
    pub(crate) fn place(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(1)?).ok()
    }
}

/// Whose calls a row answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Those of every tier: the key has an exact override.
    EveryTier,
    /// Those of one tier, or of none.
    Tier(Tier),
    /// Those that bring these very limits.
    Given,
}

/// What a call wants its key to be resolved to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// What the rules say to callers of this tier.
    ByRules(Tier),
    /// This row, whose limits came with the call.
    Given(u32),
}

/// One resolution.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) plan: Plan,
    pub(crate) scope: Scope,
    /// The place of the state that keys of this policy share when the store is full.
    pub(crate) shared: usize,
}

/// All rows of a limiter.
#[derive(Debug)]
pub(crate) struct Rows {
    fixed: Arc<[Row]>,
    /// Set for good before the first slot can hold the number of a given row.
    has_given: AtomicBool,
    given: RwLock<Given>,
}

/// The rows as they stand while this is held: take it with the sets locked, and give it back before
/// another set is locked.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    fixed: &'a [Row],
    given: Option<RwLockReadGuard<'a, Given>>,
}

impl Rows {
    /// The rows of some rules, and room for `max_given` others, at most [`Given::MAX`]. The shared
    /// states of `policies` different policies come before theirs.
    pub(crate) fn new(fixed: Arc<[Row]>, policies: usize, max_given: usize) -> Self {
        let given = RwLock::new(Given::new(policies, max_given));
        Self { fixed, has_given: AtomicBool::new(false), given }
    }

    /// The most rows that a limiter can have room for beside those of the rules.
    pub(crate) const MAX_GIVEN: usize = Given::MAX;

    pub(crate) fn fixed(&self) -> &[Row] {
        &self.fixed
    }

    /// The policy of a row of the rules; `None` for one that came with a call.
    pub(crate) fn policy(&self, row: u32) -> Option<&Policy> {
        let row = self.fixed.get(usize::try_from(row).ok()?)?;
        Some(row.plan.policy())
    }

    /// Holds the rows for a look at locked sets. What other threads wrote to these sets was written
    /// after [`has_given`](Self::has_given) was set, so that it is seen here.
    #[inline]
    pub(crate) fn hold(&self) -> Held<'_> {
        let given = self.has_given.load(Ordering::Relaxed).then(|| sync::read(&self.given));
        Held { fixed: &self.fixed, given }
    }

    /// The row of a policy that comes with a call at `now`, and whether it took the place of one
    /// that nothing owes to any more. It stays until that can be said of it too.
    ///
    /// # Errors
    /// All places are taken, and something may be owed to each.
    pub(crate) fn give(&self, policy: &Policy, now: Nanos) -> Result<(u32, bool), Error> {
        if let Some(row) = sync::read(&self.given).find(policy, now) {
            return Ok((row, false));
        }
        self.has_given.store(true, Ordering::Relaxed);
        sync::write(&self.given).insert(policy, now)
    }

    /// How many policies that came with calls are interned, and how many can be.
    pub(crate) fn given(&self) -> (usize, usize) {
        let given = sync::read(&self.given);
        (given.len(), given.most())
    }
}

impl Held<'_> {
    /// The row of that number; `None` when it has been given to other limits since, because nothing
    /// was owed to it: a slot that holds its number is as good as new.
    #[inline]
    pub(crate) fn get(&self, row: u32) -> Option<&Row> {
        match self.fixed.get(usize::try_from(row).ok()?) {
            Some(row) => Some(row),
            None => self.given.as_ref()?.get(row),
        }
    }

    #[inline]
    pub(crate) fn plan(&self, row: u32) -> Option<&Plan> {
        self.get(row).map(|row| &row.plan)
    }

    /// Whether a key of that row has what the call wants.
    #[inline]
    pub(crate) fn serves(&self, row: u32, wanted: Wanted) -> bool {
        match wanted {
            Wanted::ByRules(tier) => self
                .get(row)
                .is_some_and(|row| row.scope == Scope::Tier(tier) || row.scope == Scope::EveryTier),
            Wanted::Given(given) => row == given,
        }
    }

    /// A plan that keeps runs in the same places as the one that the number stood for when it was
    /// written to a slot.
    pub(crate) fn releasing(&self, row: u32) -> Option<&Plan> {
        match self.fixed.get(usize::try_from(row).ok()?) {
            Some(row) => Some(&row.plan),
            None => self.given.as_ref()?.at_place_of(row),
        }
    }
}

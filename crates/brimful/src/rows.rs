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
use given::Given;

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

impl Row {
    /// The limits of this row, of that number, if they are what the call wants.
    #[inline]
    fn plan_for(&self, number: u32, wanted: Wanted) -> Option<&Plan> {
        let serves = match wanted {
            Wanted::ByRules(tier) => {
                self.scope == Scope::Tier(tier) || self.scope == Scope::EveryTier
            }
            Wanted::Given(given) => number == given,
        };
        serves.then_some(&self.plan)
    }
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

    /// Whether no policy ever came with a call, so that sets that are locked now hold rows of the
    /// rules alone.
    pub(crate) fn are_fixed(&self) -> bool {
        !self.has_given.load(Ordering::Relaxed)
    }

    /// The limits of a row of the rules.
    pub(crate) fn fixed_plan(&self, number: u32) -> Option<&Plan> {
        Some(&self.fixed.get(usize::try_from(number).ok()?)?.plan)
    }

    /// The same, if they are what the call wants.
    #[inline]
    pub(crate) fn fixed_plan_for(&self, number: u32, wanted: Wanted) -> Option<&Plan> {
        self.fixed.get(usize::try_from(number).ok()?)?.plan_for(number, wanted)
    }

    /// Holds the rows for a look at locked sets. What other threads wrote to these sets was written
    /// after [`has_given`](Self::has_given) was set, so that it is seen here.
    #[inline]
    pub(crate) fn hold(&self) -> Held<'_> {
        let given = self.has_given.load(Ordering::Relaxed).then(|| sync::read(&self.given));
        Held { fixed: &self.fixed, given }
    }

    /// The row of a policy that comes with a call, for as long as the call has it.
    ///
    /// # Errors
    /// All places are taken by others that are in use.
    pub(crate) fn give(&self, policy: &Policy) -> Result<InUse<'_>, Error> {
        let known = sync::read(&self.given).join(policy);
        if let Some(row) = known {
            return Ok(InUse { rows: self, row, is_new: false });
        }
        self.has_given.store(true, Ordering::Relaxed);
        let row = sync::write(&self.given).insert(policy)?;
        Ok(InUse { rows: self, row, is_new: true })
    }

    /// Whether more than half of the places for policies that come with calls are in use.
    pub(crate) fn is_half_given(&self) -> bool {
        sync::read(&self.given).is_half_used()
    }

    /// Shared states that can be in use: those of the rules, and of policies that came with calls.
    pub(crate) fn shared_states(&self) -> usize {
        sync::read(&self.given).shared_states()
    }

    /// How many policies that came with calls are interned, and how many can be.
    pub(crate) fn given(&self) -> (usize, usize) {
        let given = sync::read(&self.given);
        (given.len(), given.most())
    }
}

/// A row that came with a call, while the call is under way: its place is not given to others.
#[derive(Debug)]
pub(crate) struct InUse<'a> {
    rows: &'a Rows,
    pub(crate) row: u32,
    /// Whether it was interned for this call.
    pub(crate) is_new: bool,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.rows.hold().remove_user(self.row);
    }
}

impl Held<'_> {
    /// The row of a number that a slot holds or a call has in use.
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
        self.plan_for(row, wanted).is_some()
    }

    /// The limits of that row, if they are what the call wants.
    #[inline]
    pub(crate) fn plan_for(&self, number: u32, wanted: Wanted) -> Option<&Plan> {
        self.get(number)?.plan_for(number, wanted)
    }

    /// Whether the row came with a call.
    pub(crate) fn is_given(&self, row: u32) -> bool {
        self.get(row).is_some_and(|row| row.scope == Scope::Given)
    }

    /// One more slot holds the row's number.
    pub(crate) fn add_user(&self, row: u32) {
        if let Some(given) = &self.given {
            given.add_user(row);
        }
    }

    /// One slot fewer holds the row's number.
    pub(crate) fn remove_user(&self, row: u32) {
        if let Some(given) = &self.given {
            given.remove_user(row);
        }
    }
}

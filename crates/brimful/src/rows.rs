//! What the number in a slot stands for: how its key was resolved, and the limits that it got.
//!
//! Most rows come from the rules. When the rules are replaced, the new rows get numbers of the other
//! **side**, and every set is gone through: what still owes under an old row gets the number of a
//! [retired](retired) row of the same limits, and after that no slot holds a number of the old side. Other
//! rows come with calls that bring their limits ([`given`]). Both are interned in tables of their own.

mod brief;
mod given;
mod held;
mod retired;

use std::sync::Arc;

use crate::decision::Origin;
use crate::error::Error;
use crate::hash;
use crate::policy::Policy;
use crate::step::Plan;
use crate::sync::{self, AtomicBool, AtomicU64, Ordering, RwLock};
use brief::Briefs;

pub(crate) use brief::Brief;
use given::Given;
pub(crate) use held::Held;
use retired::{Retired, Retiring};

pub(crate) use retired::RetiredIndex;

/// A tier by a hash of its name, so that it is the same in all rules. (Names that callers bring are
/// looked up as they are.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tier(u64);

impl Tier {
    /// Calls that name no tier, or one that the rules do not know.
    pub(crate) const NONE: Self = Self(1);

    /// Marks the hash of a name; no other tier has it.
    const NAMED: u64 = 1 << 63;

    pub(crate) fn named(name: &str) -> Self {
        Self(hash::of_text(name) | Self::NAMED)
    }

    /// Not 0.
    fn number(self) -> u64 {
        self.0
    }
}

/// Whose calls a row answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Those of every tier: the key has an exact override.
    EveryTier,
    /// Those of one tier, or of none.
    Tier(Tier),
    /// Those that bring these very limits, or nobody's: the rules that it comes from are replaced.
    Nobody,
}

/// Who calls: under a tier of some rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The tier, if those rules know it, else none.
    pub(crate) tier: Tier,
    /// The tier that was named, whether or not rules know it.
    pub(crate) named: Tier,
    pub(crate) generation: u64,
}

/// What a call wants its key to be resolved to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// What the rules say to this caller.
    ByRules(Caller),
    /// This row, whose limits came with the call.
    Given(u32),
}

/// One resolution.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) plan: Plan,
    pub(crate) scope: Scope,
    /// The number of the policy in the rules.
    pub(crate) policy: u32,
    /// Whether it goes on answering although its rules are replaced, until its keys owe nothing.
    pub(crate) is_kept: bool,
    /// The counter of the name of the policy on trial.
    pub(crate) shadow_label: u32,
    /// The place of the state that keys of these policies share when the store is full.
    pub(crate) shared: usize,
}

/// Marks the numbers of rows that came with calls.
const GIVEN: u32 = 1 << 31;
/// Marks those of rows whose rules are replaced, while keys owe under them.
const RETIRED: u32 = 1 << 30;
/// The side of those that are in force, and in turn of those that are about to be.
const SIDE_BIT: u32 = 29;
const INDEX: u32 = (1 << SIDE_BIT) - 1;

impl Row {
    /// The most rows of some rules.
    pub(crate) const MOST: usize = 1 << SIDE_BIT;

    pub(crate) fn new(plan: Plan, scope: Scope, policy: u32) -> Self {
        Self { plan, scope, policy, is_kept: false, shadow_label: 0, shared: 0 }
    }

    /// The same with that origin.
    pub(crate) fn with_origin(self, origin: Origin) -> Self {
        Self { plan: self.plan.with_origin(origin), ..self }
    }

    /// The limits of this row, of that number, if they are what the call wants.
    #[inline]
    fn plan_for(&self, number: u32, wanted: Wanted, kept_from: u64) -> Option<&Plan> {
        let serves = match wanted {
            Wanted::ByRules(Caller { tier, named, generation }) => {
                let own = self.plan.origin.generation;
                let is_kept = self.is_kept && own >= kept_from;
                let is_scope = self.scope == Scope::Tier(tier) || self.scope == Scope::EveryTier;
                // A tier that was kept may be gone from the rules.
                (is_scope && (own == generation || is_kept))
                    || (is_kept && self.scope == Scope::Tier(named))
            }
            Wanted::Given(given) => number == given,
        };
        serves.then_some(&self.plan)
    }
}

/// The number of the row at `index` of the rules of that side.
pub(crate) fn number(side: usize, index: u32) -> u32 {
    if side == 0 { index } else { index | (1 << SIDE_BIT) }
}

/// All rows of a limiter.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Which rules are in force, counted from 1.
    generation: AtomicU64,
    /// What the short way reads, of both sides.
    briefs: [Briefs; 2],
    has_briefs: bool,
    are_briefed: AtomicBool,
    /// The rows that the limiter was built with.
    first: Arc<[Row]>,
    /// Set for good before the first slot can hold the number of another row.
    has_others: AtomicBool,
    table: RwLock<Table>,
    /// Slots that hold the numbers of given and of retired rows.
    strangers: AtomicU64,
}

/// The rows as they stand.
#[derive(Debug)]
struct Table {
    side: usize,
    current: Arc<[Row]>,
    /// Those of the other side, while sets are gone through for them.
    old: Arc<[Row]>,
    /// The numbers of the retired rows that take the place of the old ones.
    retired_as: Vec<u32>,
    retired: Retired,
    given: Given,
    /// Rows of older rules are kept no longer: the last time, all keys were to have the new ones.
    kept_from: u64,
}

/// Rows that are about to be put in force.
#[derive(Debug)]
pub(crate) struct Replacement {
    rows: Arc<[Row]>,
    generation: u64,
    kept: bool,
    retiring: Retiring,
}

/// The generation of the rules that a limiter is built with.
pub(crate) const FIRST_GENERATION: u64 = 1;

impl Rows {
    /// The rows of some rules, and room for `max_given` others, at most [`MAX_GIVEN`](Self::MAX_GIVEN),
    /// whose shared states come after the first `shared`. With `has_briefs` they can be read by
    /// [`brief`](Self::brief).
    pub(crate) fn new(
        first: Arc<[Row]>,
        shared: usize,
        max_given: usize,
        has_briefs: bool,
    ) -> Self {
        let table = Table {
            side: 0,
            current: first.clone(),
            old: [].into(),
            retired_as: Vec::new(),
            retired: Retired::default(),
            given: Given::new(shared, max_given),
            kept_from: FIRST_GENERATION,
        };
        let rows = Self {
            generation: AtomicU64::new(FIRST_GENERATION),
            briefs: [(); 2].map(|()| Briefs::new(if has_briefs { first.len() } else { 0 })),
            has_briefs,
            are_briefed: AtomicBool::new(false),
            first,
            has_others: AtomicBool::new(false),
            table: RwLock::new(table),
            strangers: AtomicU64::new(0),
        };
        rows.take_down(0, &rows.first);
        rows
    }

    /// The most rows that a limiter can have room for beside those of the rules.
    pub(crate) const MAX_GIVEN: usize = Given::MAX;

    /// Which rules are in force.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The side that the next rules will have.
    pub(crate) fn next_side(&self) -> usize {
        1 - sync::read(&self.table).side
    }

    /// Makes ready to put other rows in force, of the next side and generation. The keys that hold slots
    /// under those that are in force now are then resolved anew when they are next asked for, unless they are
    /// `kept`. One thread does so at a time.
    pub(crate) fn prepare(
        &self,
        rows: Arc<[Row]>,
        (generation, kept): (u64, bool),
        index: &mut RetiredIndex,
    ) -> Replacement {
        self.take_down(self.next_side(), &rows);
        let old = sync::read(&self.table).current.clone();
        Replacement { rows, generation, kept, retiring: index.retire(&old, kept) }
    }

    /// Puts them in force. Nobody may be resolving meanwhile; and before it is called again every set was
    /// gone through ([`lasting`](Held::lasting)) and [`retire`](Self::retire) was called.
    pub(crate) fn replace(&self, replacement: Replacement) {
        let Replacement { rows, generation, kept, retiring } = replacement;
        self.has_others.store(true, Ordering::Relaxed);
        let mut table = sync::write(&self.table);
        let table = &mut *table;
        table.side = 1 - table.side;
        table.old = std::mem::replace(&mut table.current, rows);
        table.retired_as = table.retired.add(retiring);
        if !kept {
            table.kept_from = generation;
        }
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Lets the old rows go, after no slot holds their numbers any more.
    pub(crate) fn retire(&self, index: &mut RetiredIndex) {
        let unused = sync::read(&self.table).retired.unused();
        let (old, numbers, unused) = {
            let mut table = sync::write(&self.table);
            let table = &mut *table;
            let old = std::mem::replace(&mut table.old, [].into());
            (old, std::mem::take(&mut table.retired_as), table.retired.take(unused))
        };
        // With no lock held, because it may take a while.
        index.forget(&unused);
        drop((old, numbers, unused));
    }

    /// Takes down the rows of a side that no slot has numbers of.
    fn take_down(&self, side: usize, rows: &[Row]) {
        let are_enough = rows.iter().all(|row| row.plan.width() == 0 || Brief::is_enough(row));
        self.are_briefed.store(are_enough, Ordering::Relaxed);
        if let Some(briefs) = self.briefs.get(side).filter(|_| self.has_briefs) {
            briefs.write(rows);
        }
    }

    /// Whether no slot holds the number of a row that is not of the rules, among the sets that are
    /// locked now.
    pub(crate) fn are_fixed(&self) -> bool {
        self.strangers.load(Ordering::Relaxed) == 0
    }

    /// Whether every row with limits has a brief.
    pub(crate) fn are_briefed(&self) -> bool {
        self.are_briefed.load(Ordering::Relaxed)
    }

    /// The constants of a row of the rules, if it has one limit; with the set locked that holds its number.
    #[inline(always)]
    pub(crate) fn brief(&self, row: u32) -> Option<&Brief> {
        // Numbers with marks have no side.
        let side = self.briefs.get(usize::try_from(row >> SIDE_BIT).ok()?)?;
        side.get(index(row))
    }

    /// The same, if it is what the call wants. (For the number that the rules in force have just given,
    /// no set need be locked.)
    #[inline(always)]
    pub(crate) fn brief_for(&self, row: u32, wanted: Wanted) -> Option<&Brief> {
        match wanted {
            Wanted::ByRules(caller) => self.brief(row).filter(|brief| brief.serves(caller)),
            Wanted::Given(_) => None,
        }
    }

    /// Holds the rows for a look at locked sets. What other threads wrote to these sets was written
    /// after [`has_others`](Self::has_others) was set, so that it is seen here.
    #[inline]
    pub(crate) fn hold(&self) -> Held<'_> {
        let table = self.has_others.load(Ordering::Relaxed).then(|| sync::read(&self.table));
        Held { first: &self.first, table, strangers: &self.strangers }
    }

    /// The row of a policy that comes with a call, for as long as the call has it.
    ///
    /// # Errors
    /// All places are taken by others that are in use.
    pub(crate) fn give(&self, policy: &Policy) -> Result<InUse<'_>, Error> {
        let known = sync::read(&self.table).given.join(policy);
        if let Some(row) = known {
            return Ok(InUse { rows: self, row, is_new: false });
        }
        self.has_others.store(true, Ordering::Relaxed);
        let row = sync::write(&self.table).given.insert(policy)?;
        Ok(InUse { rows: self, row, is_new: true })
    }

    /// Whether a policy that comes with a call is interned already.
    pub(crate) fn knows(&self, policy: &Policy) -> bool {
        sync::read(&self.table).given.knows(policy)
    }

    /// Whether more than half of the places for policies that come with calls are in use.
    pub(crate) fn is_half_given(&self) -> bool {
        sync::read(&self.table).given.is_half_used()
    }

    /// Shared states that can be in use: those of the rules, and of policies that came with calls.
    pub(crate) fn shared_states(&self) -> usize {
        sync::read(&self.table).given.shared_states()
    }

    /// How many policies that came with calls are interned, and how many can be.
    pub(crate) fn given(&self) -> (usize, usize) {
        let given = &sync::read(&self.table).given;
        (given.len(), given.most())
    }

    /// How many rows there are whose rules are replaced.
    pub(crate) fn retired(&self) -> usize {
        sync::read(&self.table).retired.len()
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
        sync::read(&self.rows.table).given.remove_user(self.row);
    }
}

fn is_side(row: u32, side: usize) -> bool {
    usize::try_from(row >> SIDE_BIT) == Ok(side)
}

/// The place in its table that a number stands for.
#[inline]
fn index(row: u32) -> usize {
    usize::try_from(row & INDEX).unwrap_or(usize::MAX)
}

//! The constants of rows with one limit, and nothing on trial, in atomic words, so that they are read without a lock while
//! others replace the rules.
//!
//! What a word holds is never read while it changes: a row's words are written before any slot can
//! hold its number, and again only after every set was locked, and none held that number any more. So who
//! reads them with a set locked, by the number in one of its slots, sees what belongs together.

use super::{Caller, Row, Scope};
use crate::algorithm::Machine;
use crate::chunks::Chunks;
use crate::decision::Origin;
use crate::step::Terms;
use crate::sync::{self, AtomicU64, Ordering};

/// Those of one side.
#[derive(Debug)]
pub(super) struct Briefs {
    /// As many as the limiter was built with, and some more.
    near: Box<[Brief]>,
    far: Chunks<Brief>,
}

impl Briefs {
    /// Room for so many, which can grow.
    pub(super) fn new(rows: usize) -> Self {
        let least = if sync::IS_MODEL { 1 } else { 16 };
        let near = if rows == 0 { 0 } else { rows.max(least) };
        Self { near: (0..near).map(|_| Brief::default()).collect(), far: Chunks::default() }
    }

    /// Takes the rows down, from index 0 on.
    pub(super) fn write(&self, rows: &[Row]) {
        self.far.grow(rows.len().saturating_sub(self.near.len()));
        for (brief, row) in self.near.iter().chain(self.far.iter()).zip(rows) {
            brief.write(row);
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> Option<&Brief> {
        match self.near.get(index) {
            Some(near) => Some(near),
            None => self.get_far(index),
        }
    }

    #[cold]
    fn get_far(&self, index: usize) -> Option<&Brief> {
        self.far.get(index.checked_sub(self.near.len())?)
    }
}

/// A row of one limit, and nothing on trial. (One cache line.)
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Brief {
    generation: AtomicU64,
    /// Whose calls it answers: [`EVERY_TIER`], or the tier.
    scope: AtomicU64,
    label: AtomicU64,
    tolerance: AtomicU64,
    /// All zero for a row that has no constants here.
    machine: [AtomicU64; 4],
}

/// No tiers have these numbers.
const EVERY_TIER: u64 = 0;
const NOBODY: u64 = 2;

impl Brief {
    /// Whether a row can be taken down: it has one limit, and nothing on trial.
    pub(super) fn is_enough(row: &Row) -> bool {
        row.plan.one_machine().is_some() && !row.plan.has_trial
    }

    /// Takes down a row; of one with more limits, only that nobody finds its limits here.
    fn write(&self, row: &Row) {
        let terms = &*row.plan;
        let machine = terms.one_machine().filter(|_| Self::is_enough(row));
        let scope = match row.scope {
            _ if machine.is_none() => NOBODY,
            Scope::EveryTier => EVERY_TIER,
            Scope::Tier(tier) => tier.number(),
            Scope::Nobody => NOBODY,
        };
        let words = [&self.generation, &self.scope, &self.label, &self.tolerance];
        let values = [terms.origin.generation, scope, terms.origin.label.into(), terms.tolerance];
        let machine = machine.map_or([0; 4], Machine::words);
        let all = words.into_iter().zip(values).chain(self.machine.iter().zip(machine));
        for (word, value) in all {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Whether it is what the call wants.
    #[inline(always)]
    pub(super) fn serves(&self, caller: Caller) -> bool {
        let scope = self.scope.load(Ordering::Relaxed);
        let is_scope = scope == caller.tier.number() || scope == EVERY_TIER;
        is_scope && self.generation.load(Ordering::Relaxed) == caller.generation
    }

    /// The limit, if it is a token bucket. (The compiler then knows which algorithm it is.)
    #[inline(always)]
    pub(crate) fn bucket(&self, row: u32) -> Option<Terms<[Machine; 1]>> {
        Some(self.terms_with(row, Machine::bucket_of_words(self.words())?))
    }

    /// The limit; none when there are more, or none.
    #[inline(always)]
    pub(crate) fn terms(&self, row: u32) -> Option<Terms<[Machine; 1]>> {
        Some(self.terms_with(row, Machine::of_words(self.words())?))
    }

    #[inline(always)]
    fn words(&self) -> [u64; 4] {
        self.machine.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn terms_with(&self, row: u32, machine: Machine) -> Terms<[Machine; 1]> {
        let label = u32::try_from(self.label.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let generation = self.generation.load(Ordering::Relaxed);
        Terms {
            origin: Origin { generation, row, label },
            machines: [machine],
            enforced: 1,
            has_trial: false,
            would_block: false,
            tolerance: self.tolerance.load(Ordering::Relaxed),
            has_log: false,
        }
    }
}

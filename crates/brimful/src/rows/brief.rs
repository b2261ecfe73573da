//! The constants of rows with one limit in atomic words, so that they are read without a lock while
//! others replace the rules.
//!
//! What a word holds is never read while it changes: a row's words are written before any slot can
//! hold its number, and again only after every set was locked, and none held that number any more. So who
//! reads them with a set locked, by the number in one of its slots, sees what belongs together.

use super::{Caller, Row, Scope};
use crate::algorithm::Machine;
use crate::decision::Origin;
use crate::step::Terms;
use crate::sync::{AtomicU64, Ordering};

/// A row of at most one limit. (One cache line.)
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Brief {
    generation: AtomicU64,
    /// Whose calls it answers: [`EVERY_TIER`], or the tier.
    scope: AtomicU64,
    /// The label, above the flags.
    label_and_flags: AtomicU64,
    tolerance: AtomicU64,
    machine: [AtomicU64; 4],
}

/// No tiers have these numbers.
const EVERY_TIER: u64 = 0;
const NOBODY: u64 = 2;

const IS_ENFORCED: u64 = 1;
const WOULD_BLOCK: u64 = 2;
const HAS_LIMIT: u64 = 4;
const FLAGS: u32 = 3;

impl Brief {
    /// Takes down a row; of one with more limits only that it has no constants here.
    pub(super) fn write(&self, row: &Row) {
        let terms = &*row.plan;
        let [machine] = match terms.one_machine() {
            Some(machine) => [machine.words()],
            None => [[0; 4]],
        };
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        let flags = flag(!terms.is_trial_only(), IS_ENFORCED)
            | flag(terms.would_block, WOULD_BLOCK)
            | flag(terms.one_machine().is_some(), HAS_LIMIT);
        let scope = match row.scope {
            Scope::EveryTier => EVERY_TIER,
            Scope::Tier(tier) => tier.number(),
            Scope::Nobody => NOBODY,
        };
        let label_and_flags = (u64::from(terms.origin.label) << FLAGS) | flags;
        let words = [&self.generation, &self.scope, &self.label_and_flags, &self.tolerance];
        let values = [terms.origin.generation, scope, label_and_flags, terms.tolerance];
        for (word, value) in words.into_iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        for (word, value) in self.machine.iter().zip(machine) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// The limit, if it is what the call wants.
    #[inline]
    pub(super) fn terms_for(&self, row: u32, caller: Caller) -> Option<Terms<[Machine; 1]>> {
        let scope = self.scope.load(Ordering::Relaxed);
        let is_scope = scope == caller.tier.number() || scope == EVERY_TIER;
        let is_current = self.generation.load(Ordering::Relaxed) == caller.generation;
        if is_scope && is_current { self.terms(row) } else { None }
    }

    /// The limit; none when there are more, or none.
    #[inline]
    pub(super) fn terms(&self, row: u32) -> Option<Terms<[Machine; 1]>> {
        let label_and_flags = self.label_and_flags.load(Ordering::Relaxed);
        if label_and_flags & HAS_LIMIT == 0 {
            return None;
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let label = u32::try_from(label_and_flags >> FLAGS).unwrap_or(u32::MAX);
        let words = self.machine.each_ref().map(|word| word.load(Ordering::Relaxed));
        Some(Terms {
            origin: Origin { generation, row, label },
            machines: [Machine::of_words(words)],
            enforced: usize::from(label_and_flags & IS_ENFORCED != 0),
            would_block: label_and_flags & WOULD_BLOCK != 0,
            tolerance: self.tolerance.load(Ordering::Relaxed),
            has_log: false,
        })
    }
}

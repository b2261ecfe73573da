//! Replacing the rules of a limiter that is in use.

use std::collections::HashMap;
use std::sync::Arc;

use super::{InForce, Limiter};
use crate::decision::Origin;
use crate::error::Error;
use crate::policy::Policy;
use crate::rows::{self, RetiredIndex, Row};
use crate::rules::Rules;
use crate::stats::DecisionCounters;
use crate::sync;
use crate::time::Nanos;

impl Limiter {
    /// Puts other rules in force, all at once: each decision is by the old rules or by the new ones, and
    /// says by which ([`Decision::generation`](crate::Decision::generation)). Returns the generation of the
    /// new ones.
    ///
    /// A key keeps what it has spent. It is resolved anew when it is next asked for, and carries over
    /// what it owes as [`TierLimiter`](crate::TierLimiter) says: the fraction of a bucket, the counts of
    /// windows, the entries of a log, limit by limit. So a raised limit locks nobody out, a lowered
    /// one hands nothing out, one that is as before is untouched, and changing to and fro gains nothing.
    ///
    /// The calling thread builds what the new rules need, and then goes through the whole store, one set at a
    /// time (50 to 100 ns each); it also frees the slots that owe nothing. Other threads wait for
    /// none of that, but for one set, and those that ask the rules about a new key, or in a store for more than
    /// one limit, for the exchange itself. One thread does so at a time.
    ///
    /// # Errors
    /// The store was built for policies of fewer limits
    /// ([`LimiterBuilder::max_limits`](crate::LimiterBuilder::max_limits)), without entries for sliding
    /// logs or with fewer than a policy has logs
    /// ([`LimiterBuilder::max_log_entries`](crate::LimiterBuilder::max_log_entries)), or, under
    /// [`Overflow::Share`](crate::Overflow::Share), for fewer policies. The old rules stay in force then,
    /// and nothing has changed.
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Nanos};
    ///
    /// let limiter = Limiter::per_minute(10)?;
    /// let now = Nanos::from_secs(1);
    /// assert_eq!(limiter.try_acquire_at("k", 5, now).remaining(), 5); // half of 10
    /// limiter.set_rules_at(Limit::per_minute(100)?, now)?;
    /// let decision = limiter.try_acquire_at("k", 20, now);
    /// assert_eq!((decision.remaining(), decision.generation()), (30, 2)); // half of 100, and 20 less
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn set_rules(&self, rules: impl Into<Rules>) -> Result<u64, Error> {
        self.replace_rules(rules.into(), false, self.clock.now())
    }

    /// As [`set_rules`](Self::set_rules), at a given time: keys that owe nothing then are forgotten.
    ///
    /// # Errors
    /// As [`set_rules`](Self::set_rules).
    pub fn set_rules_at(&self, rules: impl Into<Rules>, now: Nanos) -> Result<u64, Error> {
        self.replace_rules(rules.into(), false, now)
    }

    /// As [`set_rules`](Self::set_rules), for new keys only: a key that owes anything goes on under the
    /// limits that it has, for the same tier, until it owes nothing. Its decisions say by which rules
    /// they were made.
    ///
    /// # Errors
    /// As [`set_rules`](Self::set_rules).
    pub fn set_rules_for_new_keys(&self, rules: impl Into<Rules>) -> Result<u64, Error> {
        self.replace_rules(rules.into(), true, self.clock.now())
    }

    /// As [`set_rules_for_new_keys`](Self::set_rules_for_new_keys), at a given time.
    ///
    /// # Errors
    /// As [`set_rules`](Self::set_rules).
    pub fn set_rules_for_new_keys_at(
        &self,
        rules: impl Into<Rules>,
        now: Nanos,
    ) -> Result<u64, Error> {
        self.replace_rules(rules.into(), true, now)
    }

    fn replace_rules(&self, rules: Rules, kept: bool, now: Nanos) -> Result<u64, Error> {
        let mut replacing = sync::lock(&self.replacing);
        let Replacing { places, retired } = &mut *replacing;
        for row in rules.rows() {
            self.has_room_for(&row.plan)?;
        }
        let shared = places.assign(rules.rows())?;
        let generation = self.rows.generation().saturating_add(1);
        let side = self.rows.next_side();
        let rows = placed(&rules, (generation, side), &shared, &self.counters);
        let rows = self.rows.prepare(rows, (generation, kept), retired);
        let next = InForce { rules: Arc::new(rules), generation, side };
        let before = {
            let mut in_force = sync::write(&self.rules);
            self.rows.replace(rows);
            std::mem::replace(&mut *in_force, next)
        };
        self.store.let_go(&self.rows, now);
        self.rows.retire(retired);
        // With no lock held, because it may take a while.
        drop((replacing, before));
        if !kept {
            self.store.wake_all();
        }
        Ok(generation)
    }
}

/// What the thread that replaces rules has to itself.
#[derive(Debug)]
pub(super) struct Replacing {
    pub(super) places: SharedPlaces,
    pub(super) retired: RetiredIndex,
}

/// The rows of some rules as a limiter has them.
pub(super) fn placed(
    rules: &Rules,
    (generation, side): (u64, usize),
    shared: &[usize],
    counters: &DecisionCounters,
) -> Arc<[Row]> {
    let rows = (0..).zip(rules.rows()).zip(shared);
    let placed = rows.map(|((index, row), shared)| {
        let label = counters.label(row.plan.policy().name());
        let shadow_label = row.plan.shadow().map_or(0, |shadow| counters.label(shadow.name()));
        let origin = Origin { generation, row: rows::number(side, index), label };
        Row { shadow_label, shared: *shared, ..row.clone().with_origin(origin) }
    });
    placed.collect()
}

/// Which policies have which of the states that keys share when the store is full.
#[derive(Debug)]
pub(super) struct SharedPlaces {
    /// By place.
    content: Vec<Option<Content>>,
    /// Whether the store shares at all; else all have the same place, and nobody asks for it.
    is_used: bool,
}

/// A policy, and the one on trial beside it.
type Content = (Arc<Policy>, Option<Arc<Policy>>);

impl SharedPlaces {
    /// Places for the policies of such rules, and for as many others, at least 16.
    pub(super) fn for_rules(rows: &[Row], is_used: bool) -> Self {
        let mut different: Vec<Content> = rows.iter().map(content).collect();
        let mut known = std::collections::HashSet::new();
        different.retain(|content| known.insert(content.clone()));
        let most = if is_used { different.len() + different.len().max(16) } else { 1 };
        Self { content: vec![None; most], is_used }
    }

    pub(super) fn len(&self) -> usize {
        self.content.len()
    }

    /// A place for each row: that of the same policy before, else that of one of the same name, else an
    /// unused one. An error changes nothing.
    pub(super) fn assign(&mut self, rows: &[Row]) -> Result<Vec<usize>, Error> {
        if !self.is_used {
            return Ok(vec![0; rows.len()]);
        }
        let mut left = Left::of(&self.content);
        let mut by_content: HashMap<Content, usize> = HashMap::new();
        for find in [Left::same, Left::namesake, Left::unused] {
            for content in rows.iter().map(content) {
                if !by_content.contains_key(&content)
                    && let Some(place) = find(&mut left, &content)
                {
                    by_content.insert(content, place);
                }
            }
        }
        let places = rows.iter().map(|row| by_content.get(&content(row)).copied());
        let places: Option<Vec<usize>> = places.collect();
        let Some(places) = places else {
            let expected =
                format!("at most {}, for each of which the store has a shared state", self.len());
            return Err(Error::range("policies", "more", expected));
        };
        // What other policies had is theirs until it is taken.
        for (content, place) in by_content {
            if let Some(old) = self.content.get_mut(place) {
                *old = Some(content);
            }
        }
        Ok(places)
    }
}

/// The places that are not taken yet.
struct Left {
    by_content: HashMap<Content, usize>,
    /// The first ones last.
    by_name: HashMap<Box<str>, Vec<usize>>,
    unused: Vec<usize>,
    is_taken: Vec<bool>,
}

impl Left {
    fn of(places: &[Option<Content>]) -> Self {
        let mut left = Self {
            by_content: HashMap::new(),
            by_name: HashMap::new(),
            unused: (0..places.len()).rev().collect(),
            is_taken: vec![false; places.len()],
        };
        for (place, content) in places.iter().enumerate().rev() {
            if let Some(content) = content {
                left.by_content.insert(content.clone(), place);
                left.by_name.entry(content.0.name().into()).or_default().push(place);
            }
        }
        // Those that nobody had come first.
        left.unused.sort_by_key(|place| places.get(*place).is_some_and(Option::is_none));
        left
    }

    /// That of the same policy.
    fn same(&mut self, content: &Content) -> Option<usize> {
        let place = self.by_content.get(content).copied()?;
        self.take(place)
    }

    /// That of a policy of the same name.
    fn namesake(&mut self, content: &Content) -> Option<usize> {
        while let Some(place) = self.by_name.get_mut(content.0.name())?.pop() {
            if let Some(place) = self.take(place) {
                return Some(place);
            }
        }
        None
    }

    fn unused(&mut self, _: &Content) -> Option<usize> {
        while let Some(place) = self.unused.pop() {
            if let Some(place) = self.take(place) {
                return Some(place);
            }
        }
        None
    }

    fn take(&mut self, place: usize) -> Option<usize> {
        let is_taken = self.is_taken.get_mut(place)?;
        (!std::mem::replace(is_taken, true)).then_some(place)
    }
}

fn content(row: &Row) -> Content {
    (row.plan.policy().clone(), row.plan.shadow().cloned())
}

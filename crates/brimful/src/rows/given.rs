//! Rows for limits that come with calls: a bounded table, interned by content.
//!
//! A place in the table is given to other limits once nothing is owed under the present ones, which
//! its two times tell. Slots may hold its number still: the number has a generation, so that they
//! are then seen to stand for nothing, and a slot that stands for nothing is free.
//!
//! The generation has 15 bits. Each change of a place pays for a look at so many sets that all are
//! seen, and their outdated numbers emptied, before any number comes again
//! ([`GENERATIONS`] says how many changes that takes).

use std::collections::HashMap;

use super::{Row, Scope};
use crate::error::Error;
use crate::policy::Policy;
use crate::step::Plan;
use crate::sync::{AtomicU64, Ordering};
use crate::time::Nanos;

/// Marks the number of a given row; those of the rules are below.
const GIVEN: u32 = 1 << 31;
const PLACE_BITS: u32 = 16;
/// A number comes again after at least this many changes in the table.
pub(crate) const GENERATIONS: u32 = 1 << (31 - PLACE_BITS);

/// The table.
#[derive(Debug)]
pub(super) struct Given {
    entries: Vec<Entry>,
    by_content: HashMap<Policy, usize>,
    most: usize,
    /// The shared state of the first place.
    first_shared: usize,
    /// The place where the next search for one to change begins.
    hand: usize,
}

#[derive(Debug)]
struct Entry {
    row: Row,
    number: u32,
    /// The latest call that used it.
    last: AtomicU64,
    /// From then on nothing is owed.
    over: AtomicU64,
}

impl Given {
    /// Numbers are at most 2^32 - 2, because a slot keeps them plus one.
    pub(super) const MAX: usize = (1 << PLACE_BITS) - 1;

    pub(super) fn new(first_shared: usize, most: usize) -> Self {
        let most = most.min(Self::MAX);
        Self { entries: Vec::new(), by_content: HashMap::new(), most, first_shared, hand: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The number of the policy, used at `now`.
    pub(super) fn find(&self, policy: &Policy, now: Nanos) -> Option<u32> {
        let entry = self.entries.get(*self.by_content.get(policy)?)?;
        entry.touch(now);
        Some(entry.number)
    }

    /// As [`find`](Self::find), and interns a policy that is not there; says whether another had
    /// to make place.
    pub(super) fn insert(&mut self, policy: &Policy, now: Nanos) -> Result<(u32, bool), Error> {
        if let Some(number) = self.find(policy, now) {
            // Another thread was faster.
            return Ok((number, false));
        }
        let place = self.entries.len();
        if place < self.most {
            let number = number(place, 0);
            self.entries.push(Entry::new(policy, number, self.first_shared + place, now));
            self.by_content.insert(policy.clone(), place);
            return Ok((number, false));
        }
        let plan = Plan::new(policy, 0);
        let Some(place) = self.place_that_is_over(plan.log_places(), now) else {
            let found = format!("more than {} within the time to refill", self.most);
            let expected = "fewer different ones, or a limiter built with a larger `max_given`";
            return Err(Error::range("policies given by calls", found, expected));
        };
        if let Some(entry) = self.entries.get_mut(place) {
            self.by_content.remove(entry.row.plan.policy());
            let generation = (entry.number & !GIVEN) >> PLACE_BITS;
            let number = number(place, (generation + 1) % GENERATIONS);
            *entry = Entry::new(policy, number, self.first_shared + place, now);
            self.by_content.insert(policy.clone(), place);
            return Ok((number, true));
        }
        Err(Error::range("policies given by calls", 0, "a limiter built with a `max_given`"))
    }

    /// The row of that number, unless its place was given to others.
    pub(super) fn get(&self, number: u32) -> Option<&Row> {
        self.entry(number).filter(|entry| entry.number == number).map(|entry| &entry.row)
    }

    /// The plan that has the place of that number now.
    pub(super) fn at_place_of(&self, number: u32) -> Option<&Plan> {
        self.entry(number).map(|entry| &entry.row.plan)
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        let place = number & ((1 << PLACE_BITS) - 1);
        self.entries.get(usize::try_from(place).ok()?).filter(|_| number & GIVEN != 0)
    }

    /// A place with nothing owed, whose logs stand where `logs` says: slots that still hold its
    /// number must give back what they hold in the arena.
    fn place_that_is_over(&mut self, logs: u8, now: Nanos) -> Option<usize> {
        let count = self.entries.len();
        let places = (self.hand..count).chain(0..self.hand.min(count));
        let mut found = None;
        for place in places {
            let Some(entry) = self.entries.get(place) else { continue };
            if entry.row.plan.log_places() == logs && entry.is_over(now) {
                found = Some(place);
                break;
            }
        }
        self.hand = found? + 1;
        found
    }
}

impl Entry {
    fn new(policy: &Policy, number: u32, shared: usize, now: Nanos) -> Self {
        let row = Row { plan: Plan::new(policy, number), scope: Scope::Given, shared };
        let entry = Self { row, number, last: AtomicU64::new(0), over: AtomicU64::new(0) };
        entry.touch(now);
        entry
    }

    /// Something may be owed from `now` on.
    fn touch(&self, now: Nanos) {
        let over = now.plus_nanos(self.row.plan.recovery());
        self.anchor(now);
        self.last.fetch_max(now.as_nanos(), Ordering::Relaxed);
        self.over.fetch_max(over.as_nanos(), Ordering::Relaxed);
    }

    fn is_over(&self, now: Nanos) -> bool {
        self.anchor(now);
        now.as_nanos() >= self.over.load(Ordering::Relaxed)
    }

    /// After the clock was stepped back, what is owed is owed from `now` on, as for a key.
    fn anchor(&self, now: Nanos) {
        let last = Nanos::from_nanos(self.last.load(Ordering::Relaxed));
        if self.row.plan.is_stepped(last, now) {
            let over = now.plus_nanos(self.row.plan.recovery());
            self.last.store(now.as_nanos(), Ordering::Relaxed);
            self.over.store(over.as_nanos(), Ordering::Relaxed);
        }
    }
}

fn number(place: usize, generation: u32) -> u32 {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    GIVEN | (generation << PLACE_BITS) | place
}

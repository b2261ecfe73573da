//! Rows for limits that come with calls: a bounded table, interned by content.
//!
//! A place in the table counts its users: the slots that hold its number, and the calls under way
//! with its limits. It is given to other limits only when there are none.

use std::collections::HashMap;

use super::{GIVEN, Row, Scope};
use crate::decision::Origin;
use crate::error::Error;
use crate::policy::Policy;
use crate::step::Plan;
use crate::sync::{self, AtomicBool, AtomicU64, Mutex, Ordering};

/// The table.
#[derive(Debug)]
pub(super) struct Given {
    entries: Vec<Entry>,
    by_content: HashMap<Policy, usize>,
    most: usize,
    /// The shared state of the first place.
    first_shared: usize,
    /// Places that had no users when they were put here; each at most once.
    unused: Mutex<Vec<usize>>,
    /// Places that have users.
    in_use: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    /// As it came.
    policy: Policy,
    row: Row,
    users: AtomicU64,
    /// Whether the place is in the list of unused ones.
    is_listed: AtomicBool,
}

impl Given {
    pub(super) const MAX: usize = (1 << 16) - 1;

    pub(super) fn new(first_shared: usize, most: usize) -> Self {
        Self {
            entries: Vec::new(),
            by_content: HashMap::new(),
            most: most.min(Self::MAX),
            first_shared,
            unused: Mutex::default(),
            in_use: AtomicU64::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether more than half of the places are in use.
    pub(super) fn is_half_used(&self) -> bool {
        let in_use = usize::try_from(self.in_use.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        in_use > self.most / 2
    }

    /// Shared states up to those of the last place that was ever taken.
    pub(super) fn shared_states(&self) -> usize {
        self.first_shared.saturating_add(self.entries.len())
    }

    /// The row of that number.
    pub(super) fn get(&self, number: u32) -> Option<&Row> {
        self.entry(number).map(|(_, entry)| &entry.row)
    }

    /// Whether the policy has a number.
    pub(super) fn knows(&self, policy: &Policy) -> bool {
        self.by_content.contains_key(policy)
    }

    /// The number of the policy, which has one more user now.
    pub(super) fn join(&self, policy: &Policy) -> Option<u32> {
        let number = number(*self.by_content.get(policy)?);
        self.add_user(number);
        Some(number)
    }

    /// As [`join`](Self::join), and interns a policy that is not there.
    pub(super) fn insert(&mut self, policy: &Policy) -> Result<u32, Error> {
        if let Some(number) = self.join(policy) {
            // Another thread was faster.
            return Ok(number);
        }
        let place = match self.entries.len() {
            0 => {
                // Nobody waits for the table to grow later.
                self.entries.reserve_exact(self.most);
                self.by_content.reserve(self.most);
                sync::lock(&self.unused).reserve_exact(self.most);
                0
            }
            place => place,
        };
        if place < self.most {
            self.entries.push(self.entry_for(policy, place));
            self.by_content.insert(policy.clone(), place);
            return Ok(number(place));
        }
        let Some(place) = self.unused_place() else {
            let found = match self.most {
                0 => "there".to_owned(),
                most => format!("more than {most} in use"),
            };
            let expected = "fewer different ones, or a limiter built with a larger `max_given`";
            return Err(Error::range("policies given by calls", found, expected));
        };
        let fresh = self.entry_for(policy, place);
        if let Some(entry) = self.entries.get_mut(place) {
            self.by_content.remove(&entry.policy);
            *entry = fresh;
        }
        self.by_content.insert(policy.clone(), place);
        Ok(number(place))
    }

    /// One more slot holds the number.
    pub(super) fn add_user(&self, number: u32) {
        if let Some((_, entry)) = self.entry(number)
            && entry.users.fetch_add(1, Ordering::Relaxed) == 0
        {
            self.in_use.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One slot fewer holds it, or a call is done with it.
    pub(super) fn remove_user(&self, number: u32) {
        if let Some((place, entry)) = self.entry(number)
            && entry.users.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.in_use.fetch_sub(1, Ordering::Relaxed);
            if !entry.is_listed.swap(true, Ordering::Relaxed) {
                sync::lock(&self.unused).push(place);
            }
        }
    }

    /// Takes a place from the list that is still unused. (With the table locked for writing, no user
    /// comes or goes.)
    fn unused_place(&mut self) -> Option<usize> {
        let mut unused = sync::lock(&self.unused);
        while let Some(place) = unused.pop() {
            let Some(entry) = self.entries.get(place) else { continue };
            entry.is_listed.store(false, Ordering::Relaxed);
            if entry.users.load(Ordering::Relaxed) == 0 {
                return Some(place);
            }
        }
        None
    }

    /// With one user: the call that brings it.
    fn entry_for(&self, policy: &Policy, place: usize) -> Entry {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        let plan = Plan::alone(policy).with_origin(Origin { row: number(place), ..Origin::NONE });
        let shared = self.first_shared.saturating_add(place);
        let row = Row { shared, ..Row::new(plan, Scope::Nobody, 0) };
        let policy = policy.clone();
        Entry { policy, row, users: AtomicU64::new(1), is_listed: AtomicBool::new(false) }
    }

    fn entry(&self, number: u32) -> Option<(usize, &Entry)> {
        let place = usize::try_from(number.checked_sub(GIVEN)?).ok()?;
        Some((place, self.entries.get(place)?))
    }
}

fn number(place: usize) -> u32 {
    // Places are below 2^16.
    GIVEN | u32::try_from(place).unwrap_or(0)
}

//! Values by scope and policy: found without a lock, and never more than so many.

use std::hash::{BuildHasher as _, RandomState};
use std::iter;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What further names are counted under.
pub(crate) const OTHERS: &str = "others";

/// The most names that anybody can ask for.
pub(crate) const MOST_NAMES: usize = 1 << 16;

/// A longer name is one of the others. (Those of policies end at 64 bytes.)
const LONGEST_NAME: usize = 256;

/// One row for each pair of a scope and a policy, up to `max` pairs; beside them, one row for the other
/// policies of each scope that has a pair, and one for all that is left: at most `2 * max + 1` rows.
///
/// Rows are found by their hash in chains that only grow at their ends, so that whoever reads one waits for
/// nobody.
#[derive(Debug)]
pub(crate) struct Series<T> {
    heads: Box<[Link<T>]>,
    rest: Row<T>,
    hasher: RandomState,
    max: usize,
    /// How many pairs have rows of their own. Whoever adds one holds it.
    named: Mutex<usize>,
    /// Set when there are `max`, so that the many that come afterwards need not wait for each other to hear it.
    full: OnceLock<()>,
}

type Link<T> = OnceLock<Box<Row<T>>>;

#[derive(Debug)]
pub(crate) struct Row<T> {
    pub(crate) scope: Box<str>,
    pub(crate) policy: Box<str>,
    pub(crate) value: T,
    hash: u64,
    next: Link<T>,
}

impl<T: Default> Row<T> {
    fn new(scope: &str, policy: &str, hash: u64) -> Self {
        let (value, next) = (T::default(), OnceLock::new());
        Self { scope: scope.into(), policy: policy.into(), value, hash, next }
    }
}

impl<T: Default> Series<T> {
    /// At most `max` pairs, itself at most [`MOST_NAMES`].
    pub(crate) fn new(max: usize) -> Self {
        let max = max.min(MOST_NAMES);
        Self {
            // Chains of some four rows when all are there.
            heads: iter::repeat_with(OnceLock::new).take(max.div_ceil(2).max(1)).collect(),
            rest: Row::new(OTHERS, OTHERS, 0),
            hasher: RandomState::new(),
            max,
            named: Mutex::new(0),
            full: OnceLock::new(),
        }
    }

    /// The row in which that pair is counted.
    pub(crate) fn row(&self, scope: &str, policy: &str) -> &Row<T> {
        let policy = if policy.len() > LONGEST_NAME { OTHERS } else { policy };
        let hash = self.hash(scope, policy);
        match self.find(scope, policy, hash) {
            Ok(row) => row,
            Err(_) => self.add(scope, policy, hash),
        }
    }

    /// All rows but that of what is left, in no order.
    fn named_rows(&self) -> impl Iterator<Item = &Row<T>> {
        self.heads
            .iter()
            .flat_map(|head| iter::successors(head.get(), |row| row.next.get()).map(|row| &**row))
    }

    /// All rows, in order of scope and policy.
    pub(crate) fn rows(&self) -> Vec<&Row<T>> {
        let mut rows: Vec<_> = self.named_rows().chain([&self.rest]).collect();
        rows.sort_unstable_by(|a, b| (&a.scope, &a.policy).cmp(&(&b.scope, &b.policy)));
        rows
    }

    fn hash(&self, scope: &str, policy: &str) -> u64 {
        self.hasher.hash_one((scope, policy))
    }

    /// The row of these names, or the end of the chain where it would stand.
    fn find(&self, scope: &str, policy: &str, hash: u64) -> Result<&Row<T>, Option<&Link<T>>> {
        if (scope, policy) == (OTHERS, OTHERS) {
            return Ok(&self.rest);
        }
        let heads = u64::try_from(self.heads.len()).unwrap_or(u64::MAX);
        let place = hash.checked_rem(heads).and_then(|place| usize::try_from(place).ok());
        let mut link = place.and_then(|place| self.heads.get(place));
        while let Some(row) = link.and_then(OnceLock::get) {
            if row.hash == hash && *row.scope == *scope && *row.policy == *policy {
                return Ok(row);
            }
            link = Some(&row.next);
        }
        Err(link)
    }

    #[cold]
    fn add(&self, scope: &str, policy: &str, hash: u64) -> &Row<T> {
        if scope.len() > LONGEST_NAME || self.full.get().is_some() {
            return self.other(scope);
        }
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let end = match self.find(scope, policy, hash) {
            // Someone was first.
            Ok(row) => return row,
            Err(end) => end,
        };
        if *named >= self.max {
            self.full.get_or_init(|| ());
            return self.other(scope);
        }
        let Some(end) = end else { return &self.rest };
        let row = end.get_or_init(|| Box::new(Row::new(scope, policy, hash)));
        *named = named.saturating_add(1);
        // The row of the scope's others, which counts for no name.
        let hash = self.hash(scope, OTHERS);
        if let Err(Some(end)) = self.find(scope, OTHERS, hash) {
            end.get_or_init(|| Box::new(Row::new(scope, OTHERS, hash)));
        }
        row
    }

    /// The row of the scope's others, or that of what is left for a scope that has none.
    fn other(&self, scope: &str) -> &Row<T> {
        self.find(scope, OTHERS, self.hash(scope, OTHERS)).unwrap_or(&self.rest)
    }
}

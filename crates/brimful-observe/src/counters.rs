//! How many requests, and how many tokens.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::{Event, Outcome};
use crate::observer::Observer;
use crate::series::{OTHERS, Series};

/// Requests and tokens by scope, policy and outcome.
///
/// ```
/// use brimful::Limiter;
/// use brimful_observe::{Counters, Event, Observer, Outcome};
///
/// let limiter = Limiter::per_hour(5)?;
/// let counters = Counters::new();
/// for cost in [3, 3, 1] {
///     let decision = limiter.try_acquire_n("ann", cost);
///     counters.observe(&Event::new("api", "default", Outcome::of(&decision)).cost(cost));
/// }
///
/// let [admitted, denied] = &counters.snapshot()[..] else { panic!("two outcomes") };
/// assert_eq!((admitted.outcome, admitted.requests, admitted.tokens), (Outcome::Admitted, 2, 4));
/// assert_eq!((denied.outcome, denied.requests, denied.tokens), (Outcome::Denied, 1, 3));
/// # Ok::<(), brimful::Error>(())
/// ```
///
/// # What is counted
///
/// The cost of a request is counted whole, with its outcome. So the tokens that were admitted were charged,
/// those that were denied were not, and the tokens of all outcomes are those that were asked for. (A request
/// that a policy on trial would have denied counts as that; it was charged if a policy is enforced beside the
/// trial.)
///
/// # Memory
///
/// So many pairs of a scope and a policy have names of their own, those that came (or were
/// [declared](Self::declare)) first; names of more than 256 bytes never do. Further policies of the same scope
/// are counted together under the policy [`OTHERS`](Self::OTHERS) of that scope, and those of further scopes
/// under the scope and policy of that name. So the sums over a scope that has names stay right. There are at
/// most `2 n + 1` pairs, whatever requests bring (`names_are_bounded_and_sums_stay_right`).
///
/// # What it costs
///
/// A pair that is known is found and counted without a lock and without an allocation
/// (`counting_a_known_name_allocates_nothing`). A count that has reached [`u64::MAX`] stays there.
#[derive(Debug)]
pub struct Counters {
    series: Series<Row>,
}

/// By the place of the outcome in [`Outcome::ALL`].
#[derive(Debug, Default)]
struct Row([Pair; Outcome::ALL.len()]);

#[derive(Debug, Default)]
struct Pair {
    requests: AtomicU64,
    tokens: AtomicU64,
}

/// One row of a [snapshot](Counters::snapshot).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// [`Event::scope`], or [`Counters::OTHERS`].
    pub scope: String,
    /// [`Event::policy`], or [`Counters::OTHERS`].
    pub policy: String,
    /// [`Event::outcome`].
    pub outcome: Outcome,
    /// How many requests.
    pub requests: u64,
    /// What they asked for, in all.
    pub tokens: u64,
}

impl Counters {
    /// How many pairs of a scope and a policy have names of their own by default.
    pub const DEFAULT_MAX_SERIES: usize = 1_024;

    /// The scope and the policy under which further ones are counted, together with those of that name.
    pub const OTHERS: &str = OTHERS;

    /// Nothing counted yet; names for [`DEFAULT_MAX_SERIES`](Self::DEFAULT_MAX_SERIES) pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_series(Self::DEFAULT_MAX_SERIES)
    }

    /// Nothing counted yet; names for `max_series` pairs of a scope and a policy, at most 65,536.
    #[must_use]
    pub fn with_max_series(max_series: usize) -> Self {
        Self { series: Series::new(max_series) }
    }

    /// Gives a pair its name before anything is counted, so that it has one whatever names come later, and
    /// metrics show it with 0.
    pub fn declare(&self, scope: &str, policy: &str) {
        self.series.row(scope, policy);
    }

    /// What was counted, in order of scope, policy and outcome; outcomes that did not occur are left out.
    ///
    /// Each number is right, but while others count, two of them may be of different moments: the tokens of a
    /// request may be there and the request not.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Count> {
        let mut counts = Vec::new();
        self.visit(|scope, policy, outcome, requests, tokens| {
            if requests > 0 {
                let (scope, policy) = (scope.to_owned(), policy.to_owned());
                counts.push(Count { scope, policy, outcome, requests, tokens });
            }
        });
        counts
    }

    /// All pairs with all outcomes, in order.
    pub(crate) fn visit<'a>(&'a self, mut visit: impl FnMut(&'a str, &'a str, Outcome, u64, u64)) {
        for row in self.series.rows() {
            for (outcome, pair) in Outcome::ALL.into_iter().zip(&row.value.0) {
                let requests = pair.requests.load(Ordering::Relaxed);
                let tokens = pair.tokens.load(Ordering::Relaxed);
                visit(&row.scope, &row.policy, outcome, requests, tokens);
            }
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Counters {
    fn observe(&self, event: &Event<'_>) {
        let row = self.series.row(event.scope, event.policy);
        if let Some(pair) = row.value.0.get(event.outcome.index()) {
            add(&pair.tokens, event.cost);
            add(&pair.requests, 1);
        }
    }
}

/// Adds up to [`u64::MAX`], and stays there.
pub(crate) fn add(count: &AtomicU64, by: u64) {
    let sum = |before: u64| Some(before.saturating_add(by));
    // It always has a sum.
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
}

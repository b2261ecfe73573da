//! Settings of a limiter, checked once when it is built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::rules::{Replacing, SharedPlaces, placed};
use super::{InForce, Limiter};
use crate::algorithm::arena::Arena;
use crate::clock::{Clock, Source};
use crate::error::Error;
use crate::hash::Secret;
use crate::policy::Policy;
use crate::rows::{self, RetiredIndex, Row, Rows};
use crate::rules::Rules;
use crate::stats::DecisionCounters;
use crate::store::{Bounds, Overflow, Shape, Store};
use crate::sync::{Mutex, RwLock};

/// Builds a [`Limiter`].
///
/// ```
/// use brimful::{Limit, Limiter, Overflow, Policy, Rules};
///
/// let rules = Rules::builder()
///     .default(Limit::per_minute(100)?.burst(20)?)
///     .exact("partner", Limit::per_minute(1000)?)
///     .exact("monitoring", Policy::unlimited())
///     .exact("banned", Policy::blocked())
///     .build()?;
/// let limiter = Limiter::builder(rules)
///     .max_keys(1_000_000)
///     .overflow(Overflow::Refuse)
///     .build()?;
/// assert!(limiter.try_acquire("banned").is_never());
/// # Ok::<(), brimful::Error>(())
/// ```
pub struct LimiterBuilder {
    rules: Rules,
    max_keys: u64,
    overflow: Overflow,
    max_log_entries: Option<u64>,
    max_given: u64,
    max_limits: Option<u64>,
    max_reservations: u64,
    max_waiters: u64,
    max_waiters_per_key: u64,
    max_wait: Duration,
    secret: Option<[u64; 2]>,
    /// `None`: the system's. It is made when the limiter is, because where there is none, making it
    /// panics.
    clock: Option<Source>,
}

impl LimiterBuilder {
    /// Keys that a limiter is built for when nothing else is said: 100,000, which takes 4 MB for
    /// policies of one limit.
    pub const DEFAULT_MAX_KEYS: u64 = 100_000;

    /// Policies that may come with calls at one time when nothing else is said.
    pub const DEFAULT_MAX_GIVEN: u64 = 1024;

    /// Reservations that may be open at one time when nothing else is said.
    pub const DEFAULT_MAX_RESERVATIONS: u64 = 1_000_000;

    /// Those who may wait at one time when nothing else is said.
    pub const DEFAULT_MAX_WAITERS: u64 = 100_000;

    /// Those who may wait for one key when nothing else is said.
    pub const DEFAULT_MAX_WAITERS_PER_KEY: u64 = 1_000;

    /// The longest that one may have to wait when nothing else is said.
    pub const DEFAULT_MAX_WAIT: Duration = Duration::from_secs(3_600);

    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            max_keys: Self::DEFAULT_MAX_KEYS,
            overflow: Overflow::default(),
            max_log_entries: None,
            max_given: Self::DEFAULT_MAX_GIVEN,
            max_limits: None,
            max_reservations: Self::DEFAULT_MAX_RESERVATIONS,
            max_waiters: Self::DEFAULT_MAX_WAITERS,
            max_waiters_per_key: Self::DEFAULT_MAX_WAITERS_PER_KEY,
            max_wait: Self::DEFAULT_MAX_WAIT,
            secret: None,
            clock: None,
        }
    }

    /// How many keys can owe at once without any being forgotten: 1 to 2^32. The store has five
    /// slots for four of them, of 32 bytes for policies of one limit and about 12 more for each
    /// further limit of the widest policy. A key that owes nothing needs no slot.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.max_keys = max_keys;
        self
    }

    /// What happens to a new key when no slot is free.
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// How many entries all sliding logs together can hold, of 16 bytes each: 1 to 2^32 - 10. By
    /// default four for each slot, and never fewer than one key's log needs. Without a sliding
    /// log in any policy of the rules there are none by default; those that are asked for here are for
    /// policies that come with calls.
    ///
    /// Logs of idle keys keep expired entries for a while. As long as fewer than `(S - Z) / 2` of
    /// `S` entries are unexpired at any time, they are never used up, where `Z` is the number of
    /// sets (slots / 4 in a store of more than 1,024 slots; under [`Overflow::Share`] one more for each
    /// policy of the rules and each that came with a call) and `S` is at least `2 Z`.
    #[must_use]
    pub fn max_log_entries(mut self, max_log_entries: u64) -> Self {
        self.max_log_entries = Some(max_log_entries);
        self
    }

    /// How many different policies that came with calls
    /// ([`Limiter::try_acquire_with`](Limiter::try_acquire_with)) can be in use: 0 to 65,535, by
    /// default 1,024. A policy is in use while a key owes anything under it, and then until that key
    /// is found to owe no more. In a store of up to 1,024 sets (4,096 slots) a call that needs a
    /// place finds all such keys at once; in a larger one it may be refused a few times first.
    ///
    /// Under [`Overflow::Share`] each place takes a slot from the beginning. The first policy that
    /// comes allocates the table, about 220 bytes a place, and each its own constants, 0.2 to 2 kB;
    /// that is not counted in [`Stats::bytes`](crate::Stats::bytes).
    #[must_use]
    pub fn max_given(mut self, max_given: u64) -> Self {
        self.max_given = max_given;
        self
    }

    /// How many limits the slots have room for: 1 to 8, by default what the widest policy of the
    /// rules has. More is for policies that come with calls.
    #[must_use]
    pub fn max_limits(mut self, max_limits: u64) -> Self {
        self.max_limits = Some(max_limits);
        self
    }

    /// How many [`Reservation`](crate::Reservation)s may be open at one time, by default 1,000,000; those of which
    /// nothing can come back any more need not count. One more is denied with
    /// [`Denial::StoreFull`](crate::Denial::StoreFull). Their memory is allocated as they come: about 60 bytes each,
    /// 32 more for each further limit of the policy, and as much as that again while it grows. Settling one of a bucket
    /// takes longer the more are open for the same key (half a microsecond with a hundred, 50 with ten thousand).
    #[must_use]
    pub fn max_reservations(mut self, max_reservations: u64) -> Self {
        self.max_reservations = max_reservations;
        self
    }

    /// How many may [wait](Limiter::enqueue) at one time, by default 100,000. One more is refused with
    /// [`Denial::QueueFull`](crate::Denial::QueueFull). Their memory is allocated as they come.
    #[must_use]
    pub fn max_waiters(mut self, max_waiters: u64) -> Self {
        self.max_waiters = max_waiters;
        self
    }

    /// How many may wait for one key at one time, by default 1,000. One more is refused with
    /// [`Denial::QueueFull`](crate::Denial::QueueFull). When it was granted or somebody has gone, the next call for the
    /// key looks through its queue once to say when a newcomer's turn is, with the key's set locked.
    #[must_use]
    pub fn max_waiters_per_key(mut self, max_waiters_per_key: u64) -> Self {
        self.max_waiters_per_key = max_waiters_per_key;
        self
    }

    /// The longest that anybody may have to wait, by default an hour. Who would have to wait longer is refused
    /// at once.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Where verbs without a time get it from; by default a [`SystemClock`](crate::SystemClock), asked
    /// as its page says. (One that is passed here is asked in each call.)
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Source::Custom(Box::new(clock)));
        self
    }

    /// The key of the hash that turns keys into fingerprints, instead of a random one: for tests
    /// and measurements that must repeat. Who knows it can choose keys that collide.
    #[must_use]
    pub fn secret(mut self, secret: [u64; 2]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Checks the settings and allocates everything the limiter will ever use, but for the policies
    /// that come with calls.
    ///
    /// # Errors
    /// A setting is outside its range, or there is not enough memory.
    pub fn build(self) -> Result<Limiter, Error> {
        let max_keys = within("max_keys", self.max_keys, 1, Shape::MAX_KEYS)?;
        let max_given = within("max_given", self.max_given, 0, number(Rows::MAX_GIVEN))?;
        let max_given = usize::try_from(max_given).unwrap_or(Rows::MAX_GIVEN);
        let fixed = self.rules.rows();
        let mut places = SharedPlaces::for_rules(fixed, self.overflow == Overflow::Share);
        let widest = fixed.iter().map(|row| row.plan.width()).max().unwrap_or(0).max(1);
        let max_limits = match self.max_limits {
            None => widest,
            Some(wanted) => {
                let most = number(Policy::MAX_LIMITS);
                let wanted = within("max_limits", wanted, number(widest), most)?;
                usize::try_from(wanted).unwrap_or(Policy::MAX_LIMITS)
            }
        };
        let mut shape = Shape {
            max_keys,
            width: max_limits,
            policies: places.len().saturating_add(max_given),
            log_entries: 0,
            overflow: self.overflow,
            bounds: Bounds {
                waiters: self.max_waiters,
                waiters_per_key: self.max_waiters_per_key,
                wait: self.max_wait.as_nanos(),
                receipts: self.max_reservations,
            },
        };
        shape.log_entries = log_entries(fixed, &shape, self.max_log_entries)?;
        let store = Store::new(&shape)?;
        let counters = DecisionCounters::new();
        let shared = places.assign(fixed)?;
        let (generation, side) = (rows::FIRST_GENERATION, 0);
        let rows = placed(&self.rules, (generation, side), &shared, &counters);
        Ok(Limiter {
            counters,
            rows: Rows::new(rows, places.len(), max_given, store.is_plain()),
            store,
            rules: RwLock::new(InForce { rules: Arc::new(self.rules), generation, side }),
            replacing: Mutex::new(Replacing { places, retired: RetiredIndex::default() }),
            max_limits,
            max_log_entries: usize::try_from(shape.log_entries).unwrap_or(usize::MAX),
            secret: self.secret.map_or_else(Secret::random, Secret::new),
            clock: self.clock.unwrap_or_else(Source::system),
            max_keys,
        })
    }
}

/// Checks that a setting is in its range.
fn within(field: &'static str, value: u64, least: u64, most: u64) -> Result<u64, Error> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(Error::range(field, value, format!("{least} to {most}")))
    }
}

fn number(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

impl fmt::Debug for LimiterBuilder {
    /// The secret is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterBuilder")
            .field("rules", &self.rules)
            .field("max_keys", &self.max_keys)
            .field("overflow", &self.overflow)
            .field("max_log_entries", &self.max_log_entries)
            .field("max_given", &self.max_given)
            .field("max_limits", &self.max_limits)
            .field("max_reservations", &self.max_reservations)
            .field("max_waiters", &self.max_waiters)
            .field("max_waiters_per_key", &self.max_waiters_per_key)
            .field("max_wait", &self.max_wait)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// The size of the arena for the logs of these rules.
fn log_entries(rows: &[Row], shape: &Shape, wanted: Option<u64>) -> Result<u32, Error> {
    const ENTRIES_PER_SLOT: u64 = 4;
    let most = u64::from(Arena::MAX_RUNS);
    if let Some(wanted) = wanted.filter(|wanted| !(1..=most).contains(wanted)) {
        return Err(Error::range("max_log_entries", wanted, format!("1 to {most}")));
    }
    let of_row = |of: fn(&Policy) -> u64| {
        let all = rows.iter().map(|row| {
            of(row.plan.policy()).saturating_add(row.plan.shadow().map_or(0, |shadow| of(shadow)))
        });
        all.max().unwrap_or(0)
    };
    let one_key = of_row(Policy::log_entries);
    if one_key == 0 && wanted.is_none() {
        return Ok(0);
    }
    // One request takes an entry in each log of its policy.
    let logs = of_row(|policy| number(policy.logs()));
    if let Some(wanted) = wanted.filter(|wanted| *wanted < logs) {
        let expected = format!("at least {logs}, one for each sliding log of a policy");
        return Err(Error::range("max_log_entries", wanted, expected));
    }
    let slots = number(Store::slots_of(shape));
    let usual = slots.saturating_mul(ENTRIES_PER_SLOT).max(one_key).min(most);
    Ok(u32::try_from(wanted.unwrap_or(usual)).unwrap_or(Arena::MAX_RUNS))
}

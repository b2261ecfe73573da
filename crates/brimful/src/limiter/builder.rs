//! Settings of a limiter, checked once when it is built.

use std::fmt;

use super::Limiter;
use crate::algorithm::arena::Arena;
use crate::clock::{Clock, Source, SystemClock};
use crate::error::Error;
use crate::hash::Secret;
use crate::key::AsKey;
use crate::policy::Policy;
use crate::rules::Rules;
use crate::stats::DecisionCounters;
use crate::store::{Overflow, Shape, Store};

/// Builds a [`Limiter`].
///
/// ```
/// use brimful::{Limit, Limiter, Overflow, Policy};
///
/// let limiter = Limiter::builder(Limit::per_minute(100)?.burst(20)?)
///     .exact("partner", Limit::per_minute(1000)?)
///     .exact("monitoring", Policy::unlimited())
///     .exact("banned", Policy::blocked())
///     .max_keys(1_000_000)
///     .overflow(Overflow::Refuse)
///     .build()?;
/// assert!(limiter.try_acquire("banned").is_never());
/// # Ok::<(), brimful::Error>(())
/// ```
pub struct LimiterBuilder {
    default: Policy,
    /// Encoded keys and their policies.
    exact: Vec<(Vec<u8>, Policy)>,
    max_keys: u64,
    overflow: Overflow,
    max_log_entries: Option<u64>,
    secret: Option<[u64; 2]>,
    clock: Source,
}

impl LimiterBuilder {
    /// Keys that a limiter is built for when nothing else is said: 100,000, which takes 4 MB for
    /// policies of one limit.
    pub const DEFAULT_MAX_KEYS: u64 = 100_000;

    pub(super) fn new(default: Policy) -> Self {
        Self {
            default,
            exact: Vec::new(),
            max_keys: Self::DEFAULT_MAX_KEYS,
            overflow: Overflow::default(),
            max_log_entries: None,
            secret: None,
            clock: Source::System(SystemClock::new()),
        }
    }

    /// Gives one key a policy of its own. It wins over the default wherever it stands.
    #[must_use]
    pub fn exact(mut self, key: impl AsKey, policy: impl Into<Policy>) -> Self {
        let mut encoded = Vec::new();
        key.with_key(|key| key.encode(&mut |bytes| encoded.extend_from_slice(bytes)));
        self.exact.push((encoded, policy.into()));
        self
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

    /// How many entries all sliding logs together can hold, of 16 bytes each: 1 to 2^32 - 2. By
    /// default four for each slot, and never fewer than one key's log needs. Without a sliding
    /// log in any policy there are none.
    ///
    /// Logs of idle keys keep expired entries for a while. As long as fewer than `(S - Z) / 2` of
    /// `S` entries are unexpired at any time, they are never used up, where `Z` is the number of
    /// sets (slots / 4 in a store of more than 1,024 slots) and `S` is at least `2 Z`.
    #[must_use]
    pub fn max_log_entries(mut self, max_log_entries: u64) -> Self {
        self.max_log_entries = Some(max_log_entries);
        self
    }

    /// Where verbs without a time get it from; by default a [`SystemClock`].
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Source::Custom(Box::new(clock));
        self
    }

    /// The key of the hash that turns keys into fingerprints, instead of a random one: for tests
    /// and measurements that must repeat. Who knows it can choose keys that collide.
    #[must_use]
    pub fn secret(mut self, secret: [u64; 2]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Checks the settings and allocates everything the limiter will ever use.
    ///
    /// # Errors
    /// A setting is outside its range, a key has two overrides, or there is not enough memory.
    pub fn build(self) -> Result<Limiter, Error> {
        if !(1..=Shape::MAX_KEYS).contains(&self.max_keys) {
            let expected = format!("1 to {}", Shape::MAX_KEYS);
            return Err(Error::range("max_keys", self.max_keys, expected));
        }
        let secret = self.secret.map_or_else(Secret::random, Secret::new);
        let exact = self.exact.iter();
        let overrides = exact
            .map(|(key, policy)| (secret.hash_encoded(key), policy.clone()))
            .collect::<Vec<_>>();
        let rules = Rules::new(self.default, overrides)?;
        let mut shape = Shape {
            max_keys: self.max_keys,
            width: rules.plans().iter().map(|plan| plan.width()).max().unwrap_or(1),
            rows: rules.plans().len(),
            log_entries: 0,
            overflow: self.overflow,
        };
        shape.log_entries = log_entries(&rules, &shape, self.max_log_entries)?;
        Ok(Limiter {
            counters: DecisionCounters::new(shape.rows),
            store: Store::new(&shape)?,
            rules,
            secret,
            clock: self.clock,
            max_keys: self.max_keys,
        })
    }
}

impl fmt::Debug for LimiterBuilder {
    /// Neither the keys of overrides nor the secret are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterBuilder")
            .field("default", &self.default)
            .field("exact", &self.exact.len())
            .field("max_keys", &self.max_keys)
            .field("overflow", &self.overflow)
            .field("max_log_entries", &self.max_log_entries)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// The size of the arena for the logs of these rules.
fn log_entries(rules: &Rules, shape: &Shape, wanted: Option<u64>) -> Result<u32, Error> {
    const ENTRIES_PER_SLOT: u64 = 4;
    let most = u64::from(Arena::MAX_RUNS);
    if let Some(wanted) = wanted.filter(|wanted| !(1..=most).contains(wanted)) {
        return Err(Error::range("max_log_entries", wanted, format!("1 to {most}")));
    }
    let one_key = rules.policies().iter().map(Policy::log_entries).max().unwrap_or(0);
    if one_key == 0 {
        return Ok(0);
    }
    // One request takes an entry in each log of its policy.
    let logs = rules.plans().iter().map(|plan| plan.logs()).max().unwrap_or(0);
    let logs = u64::try_from(logs).unwrap_or(u64::MAX);
    if let Some(wanted) = wanted.filter(|wanted| *wanted < logs) {
        let expected = format!("at least {logs}, one for each sliding log of a policy");
        return Err(Error::range("max_log_entries", wanted, expected));
    }
    let slots = u64::try_from(Store::slots_of(shape)).unwrap_or(u64::MAX);
    let usual = slots.saturating_mul(ENTRIES_PER_SLOT).max(one_key).min(most);
    Ok(u32::try_from(wanted.unwrap_or(usual)).unwrap_or(Arena::MAX_RUNS))
}

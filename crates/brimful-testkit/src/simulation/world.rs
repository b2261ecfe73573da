//! A limiter, its clock, and what is believed of every key.

use std::collections::BTreeMap;

use brimful::{Decision, Limiter, ManualClock, Nanos, Overflow, Policy, Stats};

use super::belief::{Belief, Past};
use super::setup::{By, Ruled, STRANGERS, Setup, TIERS, name};
use super::totals::{Event, Totals};
use crate::Outcome;
use crate::model::Known;
use crate::trace::SplitMix64;

/// An error says what is wrong.
pub(super) type Check<T = ()> = Result<T, String>;

/// Whose state it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Key(u32),
    /// That of all keys without a slot, under the policy of that place.
    Shared(usize, bool),
}

/// One step, as it matters to keys that it was not about.
#[derive(Clone, Copy, Debug)]
struct Passed {
    reading: Nanos,
    /// It may have forgotten keys that owed nothing.
    forgets: bool,
    /// It may have dropped expired entries from logs.
    trims: bool,
}

/// What a call changed in the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grown {
    pub(super) lossless: u64,
    pub(super) forced: u64,
    pub(super) forgiven: u64,
    pub(super) refused: u64,
    pub(super) shared: u64,
    pub(super) left_shared: u64,
}

/// What the counters must say.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) admitted: u64,
    pub(super) denied: u64,
    pub(super) denied_by_policy: BTreeMap<String, u64>,
    pub(super) store_full: u64,
    pub(super) unknown_tier: u64,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) limiter: Limiter,
    pub(super) clock: ManualClock,
    pub(super) rng: SplitMix64,
    /// What the clock reads.
    pub(super) now: Nanos,
    /// The latest reading that any call was decided at.
    pub(super) latest: Nanos,
    /// The latest reading of any call or peek.
    pub(super) furthest: Nanos,
    /// Keys with a slot, perhaps, and shared states.
    pub(super) beliefs: BTreeMap<Id, Belief>,
    past: Vec<Passed>,
    /// As of the last call.
    pub(super) stats: Stats,
    /// The most log entries that were held at a time of the last call.
    used: u64,
    pub(super) expected: Expected,
    pub(super) totals: Totals,
    /// A denial, and when it should be no more.
    pub(super) advice: Option<(u32, By, u64, Nanos)>,
    /// Strangers so far.
    pub(super) strangers: u32,
    /// What to say of the present step; `None` when nobody listens.
    pub(super) told: Option<String>,
}

impl World {
    pub(super) fn new(seed: u64, is_told: bool) -> Self {
        let mut rng = SplitMix64::new(seed);
        let setup = Setup::draw(&mut rng);
        let clock = ManualClock::new(setup.start);
        let limiter = setup.build(&clock);
        Self {
            clock,
            rng,
            now: setup.start,
            latest: setup.start,
            furthest: setup.start,
            beliefs: BTreeMap::new(),
            past: Vec::new(),
            stats: limiter.stats(),
            used: 0,
            expected: Expected::default(),
            totals: Totals::default(),
            advice: None,
            strangers: 0,
            told: is_told.then(String::new),
            setup,
            limiter,
        }
    }

    /// Adds to what is said of the present step.
    pub(super) fn tell(&mut self, words: impl FnOnce() -> String) {
        if let Some(told) = &mut self.told {
            told.push_str(&words());
        }
    }

    /// Sets the clock.
    pub(super) fn set_clock(&mut self, now: Nanos) {
        self.now = now;
        self.clock.set(now);
    }

    /// Who calls: mostly one without a tier.
    pub(super) fn caller(&mut self, often: bool) -> By {
        self.setup.caller(&mut self.rng, often)
    }

    /// A key that was never seen.
    pub(super) fn stranger(&mut self) -> u32 {
        self.strangers += 1;
        STRANGERS + self.strangers
    }

    pub(super) fn policy(&self, ruled: &Ruled) -> &Policy {
        &self.setup.policies[ruled.place]
    }

    /// Whether the whole store is one set, so that all keys are candidates for any place.
    pub(super) fn is_one_set(&self) -> bool {
        self.stats.slots <= 64
    }

    /// What is believed of a key, with all that others may have done to it by now.
    pub(super) fn meet(&mut self, id: Id) -> &mut Belief {
        let step = self.past.len();
        let belief = self.beliefs.entry(id).or_insert_with(|| Belief::absent(step));
        if belief.since < step {
            let since = &self.past[belief.since..];
            let latest = |is: fn(&Passed) -> bool| {
                since.iter().filter(|passed| is(passed)).map(|passed| passed.reading).max()
            };
            let past = Past {
                forgot: latest(|passed| passed.forgets),
                trimmed: latest(|passed| passed.trims),
            };
            belief.allow(past);
            belief.since = step;
        }
        belief
    }

    /// The same for all keys.
    pub(super) fn meet_all(&mut self) {
        for key in self.keys() {
            self.meet(Id::Key(key));
        }
    }

    /// How many calls there were.
    pub(super) fn steps(&self) -> usize {
        self.past.len()
    }

    /// Takes note of what a call at that reading may have done to others. Call it once after each
    /// call that could change anything, before anything else is believed.
    pub(super) fn passed(&mut self, reading: Nanos, gives: bool, keys: u64) -> Grown {
        let before = std::mem::replace(&mut self.stats, self.limiter.stats());
        let after = &self.stats;
        let grown = Grown {
            lossless: after.evicted_lossless - before.evicted_lossless,
            forced: after.evicted_forced - before.evicted_forced,
            forgiven: after.forgiven_tokens - before.forgiven_tokens,
            refused: after.store_full - before.store_full,
            shared: after.shared - before.shared,
            left_shared: after.left_shared - before.left_shared,
        };
        // A request takes one for each limit at most, and so may one that comes before it.
        let more = 8 * keys;
        self.used = before.log_entries.max(after.log_entries) + more - 8;
        let trims =
            after.max_log_entries > 0 && (gives || 2 * (self.used + 8) > after.max_log_entries);
        let is_full = after.max_log_entries > 0 && self.used + 8 >= after.max_log_entries;
        self.past.push(Passed { reading, forgets: grown.lossless > 0 || gives, trims });
        self.totals.count_many(Event::Lossless, grown.lossless);
        self.totals.count_many(Event::Forced, grown.forced);
        self.totals.count_many(Event::LeftShared, grown.left_shared);
        if self.latest > reading {
            let back = self.latest.since(reading).as_secs();
            self.totals.count(if back <= 10 { Event::Back } else { Event::Stepped });
        }
        self.latest = self.latest.max(reading);
        self.furthest = self.furthest.max(reading);
        if is_full || grown.forced + grown.refused + grown.shared > 0 {
            self.allow_anchors(reading);
        }
        grown
    }

    /// A peek by limits whose logs found too few entries: it may have dropped expired ones.
    pub(super) fn passed_peek(&mut self, reading: Nanos) {
        if !self.setup.has_logs() {
            return;
        }
        let stats = self.limiter.stats();
        let found = (stats.log_entries, stats.occupied);
        if found != (self.stats.log_entries, self.stats.occupied) {
            self.past.push(Passed { reading, forgets: false, trims: true });
            self.furthest = self.furthest.max(reading);
            (self.stats.log_entries, self.stats.occupied) = found;
        }
    }

    /// A store without a place lets keys whose time lies ahead of a stepped clock refill.
    fn allow_anchors(&mut self, reading: Nanos) {
        if self.latest.since(reading).as_secs() < 10 {
            return;
        }
        let mut anchored = 0;
        for belief in self.beliefs.values_mut() {
            anchored += u64::from(belief.allow_anchor(reading));
        }
        self.totals.count_many(Event::Anchored, anchored);
    }

    /// What the key is told that asks for nothing. Where a policy comes with the look, it may forget
    /// others as a call does.
    pub(super) fn look(&mut self, key: u32, by: By, now: Nanos) -> Option<Decision> {
        let seen = self.peek(key, by, 0, now);
        if let By::Given(_) = by {
            self.passed(now, true, 1);
        }
        seen
    }

    /// What a call would be told; a policy that comes with the call can only be looked at, and
    /// sometimes not.
    pub(super) fn peek(&self, key: u32, by: By, cost: u64, now: Nanos) -> Option<Decision> {
        let key = name(key);
        match by {
            By::Nobody => Some(self.limiter.peek_at(&key, cost, now)),
            By::Tier(tier) => Some(self.limiter.tier(tier_name(tier)).peek_at(&key, cost, now)),
            By::Given(_) if cost > 0 => None,
            By::Given(place) => {
                let policy = self.setup.given_policy(place);
                self.limiter.try_acquire_with(&key, policy, 0, now).ok()
            }
        }
    }

    /// Keys that may owe at `now`.
    pub(super) fn owing(&self, now: Nanos) -> u64 {
        let keys = self.beliefs.iter().filter(|(id, _)| matches!(id, Id::Key(_)));
        keys.filter(|(_, belief)| belief.may_owe(now)).count() as u64
    }

    /// Whether so many keys owe that a newcomer may find no slot.
    pub(super) fn may_be_full(&self, now: Nanos, newcomers: u64) -> bool {
        let enough = if self.is_one_set() { self.stats.slots } else { self.setup.max_keys };
        self.owing(now) + newcomers > enough
    }

    /// Whether the last call may have found too few entries for so many logs.
    pub(super) fn may_lack_runs(&self, logs: u64) -> bool {
        logs > 0 && self.used + 2 * logs > self.stats.max_log_entries
    }

    /// Keys that are believed to have a slot, perhaps.
    pub(super) fn keys(&self) -> Vec<u32> {
        let key = |(id, belief): (&Id, &Belief)| match id {
            Id::Key(key) if !belief.is_absent() => Some(*key),
            _ => None,
        };
        self.beliefs.iter().filter_map(key).collect()
    }

    /// Keys without a slot need no entry.
    pub(super) fn tidy(&mut self) {
        self.beliefs.retain(|_, belief| !belief.is_absent());
    }

    /// Counts a decision that was asked for with a cost above 0.
    pub(super) fn expect(&mut self, allowed: bool, full: bool, ruled: &Ruled) {
        if allowed {
            self.expected.admitted += 1;
            return;
        }
        self.expected.denied += 1;
        self.expected.store_full += u64::from(full);
        let name = match ruled.is_given {
            true => Stats::GIVEN.to_owned(),
            false => self.policy(ruled).name().to_owned(),
        };
        *self.expected.denied_by_policy.entry(name).or_insert(0) += 1;
    }

    pub(super) fn expect_tier(&mut self, by: By, cost: u64) {
        if let By::Tier(tier) = by
            && cost > 0
            && !self.setup.is_known(tier)
        {
            self.expected.unknown_tier += 1;
        }
    }

    pub(super) fn overflow(&self) -> Overflow {
        self.setup.overflow
    }
}

/// The answer of the model to a call by those limits.
pub(super) fn decide(
    known: &mut Option<Known>,
    ruled: &Ruled,
    policy: &Policy,
    cost: u64,
    now: Nanos,
) -> Outcome {
    Known::decide(known, &ruled.whose, policy, cost, now)
}

pub(super) fn tier_name(tier: usize) -> &'static str {
    TIERS[tier]
}

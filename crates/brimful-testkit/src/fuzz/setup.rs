//! The limiter that a sequence of calls is made to, and its model.

use std::fmt;
use std::time::Duration;

use brimful::{
    Algorithm, Limit, Limiter, LimiterBuilder, ManualClock, Nanos, Overflow, Policy, Rules,
};

use super::Bytes;
use crate::KeyedModel;
use crate::trace::nearest_limit;

/// The keys that are asked for; the first has an exact override.
pub(super) const KEYS: [&str; 6] = ["own", "a", "b", "c", "d", "e"];
/// Tiers that the rules know, and one that they do not.
pub(super) const TIERS: [&str; 3] = ["gold", "log", "unknown"];
/// Policies that come with calls.
pub(super) const GIVEN: usize = 3;

/// Keys that a store with room for all of [`KEYS`] is built for: as one set, or as sets of four slots.
const ROOMY: [u64; 2] = [50, 830];

/// The settings of one sequence.
pub(super) struct Setup {
    pub(super) default: Policy,
    pub(super) own: Policy,
    pub(super) tiers: [Policy; 2],
    pub(super) given: [Policy; GIVEN],
    /// There is always a slot, an entry, and a place for a policy: the model is right to the end.
    pub(super) is_roomy: bool,
    pub(super) max_keys: u64,
    pub(super) overflow: Overflow,
    pub(super) max_given: u64,
    max_limits: usize,
    /// Entries, where they are to be scarce.
    few_entries: u64,
    /// Readings of the clock that never go back.
    pub(super) is_forward: bool,
    pub(super) start: Nanos,
}

impl Setup {
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Self {
        let shape = bytes.byte();
        let kind = shape % 8;
        let is_roomy = kind < 4;
        let few = u64::from(bytes.byte());
        let max_keys = match kind {
            0..=2 => ROOMY[0],
            3 => ROOMY[1],
            4 | 5 => 1 + few % 8,
            6 => 60,
            _ => 830,
        };
        let flags = bytes.byte();
        // Of one limit without a log each, so that a store of small sets is a plain one.
        let is_plain = flags & 3 == 0;
        let start = match bytes.below(4) {
            0 => Nanos::from_nanos(bytes.magnitude(63)),
            _ => Nanos::from_secs(1_800_000_000),
        };
        let mut policy = || policy(bytes, is_plain);
        let [default, own] = [(); 2].map(|()| policy());
        let (tiers, given) = ([(); 2].map(|()| policy()), [(); GIVEN].map(|()| policy()));
        let by_rules = [&default, &own, &tiers[0], &tiers[1]];
        let widest = by_rules.iter().map(|policy| policy.limits().len()).max().unwrap_or(0).max(1);
        let all = given.iter().map(|policy| policy.limits().len()).fold(widest, usize::max);
        let is_wide = is_roomy || flags & 4 == 0;
        Self {
            max_limits: if is_wide { all } else { widest },
            default,
            own,
            tiers,
            given,
            is_roomy,
            max_keys,
            overflow: Overflow::ALL[usize::from(flags >> 3) % Overflow::ALL.len()],
            max_given: if is_roomy { 2 * GIVEN as u64 + 2 } else { u64::from(flags >> 5) % 5 },
            few_entries: few / 8,
            is_forward: shape & 8 == 0,
            start,
        }
    }

    fn policies(&self) -> impl Iterator<Item = &Policy> {
        [&self.default, &self.own].into_iter().chain(&self.tiers).chain(&self.given)
    }

    pub(super) fn has_logs(&self) -> bool {
        self.policies().any(|policy| logs(policy) > 0)
    }

    /// Whether a store of small sets is a plain one.
    pub(super) fn is_plain(&self) -> bool {
        self.max_limits == 1 && !self.has_logs()
    }

    /// Whether the policy that comes with a call can be decided by, as far as its own size goes.
    pub(super) fn has_room_for(&self, given: usize, max_log_entries: u64) -> bool {
        let policy = &self.given[given];
        policy.limits().len() <= self.max_limits && logs(policy) as u64 <= max_log_entries
    }

    pub(super) fn rules(&self) -> Rules {
        let [gold, log] = self.tiers.clone();
        let rules = Rules::builder().default(self.default.clone()).exact(KEYS[0], self.own.clone());
        rules.tier(TIERS[0], gold).tier(TIERS[1], log).build().expect("good rules")
    }

    /// The limiter, with slots for so many limits `more` than needed; `asked` is how often keys are
    /// asked for in the whole sequence. (Limiters of the same rules name them by the same numbers.)
    pub(super) fn limiter(
        &self,
        rules: &Rules,
        more: usize,
        asked: usize,
        clock: &ManualClock,
    ) -> Limiter {
        let builder = Limiter::builder(rules.clone())
            .max_keys(self.max_keys)
            .max_limits((self.max_limits + more) as u64)
            .max_given(self.max_given)
            .overflow(self.overflow)
            .secret([7, 11])
            .clock(clock.clone());
        self.with_entries(builder, asked).build().expect("good settings")
    }

    fn with_entries(&self, builder: LimiterBuilder, asked: usize) -> LimiterBuilder {
        if !self.has_logs() {
            return builder;
        }
        if self.is_roomy {
            // Two for each limit of each key: one taken over, and one charged.
            return builder.max_log_entries(16 * (1 + asked as u64));
        }
        let rules = [&self.default, &self.own, &self.tiers[0], &self.tiers[1]];
        let least = rules.into_iter().map(logs).max().unwrap_or(0).max(1);
        builder.max_log_entries(least as u64 + self.few_entries)
    }

    pub(super) fn model(&self) -> KeyedModel {
        let model = KeyedModel::new(&self.default).with(KEYS[0], &self.own);
        model.with_tier(TIERS[0], &self.tiers[0]).with_tier(TIERS[1], &self.tiers[1])
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_keys, overflow, max_given, max_limits, few_entries, .. } = self;
        let (roomy, start) = (self.is_roomy, self.start);
        writeln!(f, "{max_keys} keys, {overflow}, roomy: {roomy}, from {start:?},")?;
        writeln!(f, "{max_limits} limits, {few_entries} entries to spare, {max_given} given")?;
        let names = ["default", "own", "gold", "log", "given 0", "given 1", "given 2"];
        for (name, policy) in names.iter().zip(self.policies()) {
            let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
            let blocked = if policy.is_blocked() { " blocked" } else { "" };
            writeln!(f, "  {name}: {limits:?}{blocked}")?;
        }
        Ok(())
    }
}

fn logs(policy: &Policy) -> usize {
    let is_log = |limit: &&Limit| limit.chosen_algorithm() == Algorithm::SlidingLog;
    policy.limits().iter().filter(is_log).count()
}

/// A word now and then, mostly a few limits.
fn policy(bytes: &mut Bytes<'_>, is_plain: bool) -> Policy {
    let kind = bytes.byte() % 32;
    let count = match kind {
        0 => return Policy::unlimited(),
        1 => return Policy::blocked(),
        _ if is_plain => 1,
        2..=19 => 1,
        20..=28 => 2 + usize::from(kind % 2),
        _ => 4 + bytes.below(5),
    };
    let mut limits: Vec<Limit> = Vec::new();
    for place in 0..count {
        let limit = limit(bytes, is_plain);
        let is_taken = limits.iter().any(|other| other.name() == limit.name());
        let name = format!("limit-{place}");
        limits.push(if is_taken { limit.named(&name).expect("a good name") } else { limit });
    }
    Policy::new(limits).expect("1 to 8 limits")
}

/// A limit from anywhere in the range, or one of a few tokens whose period others have too.
fn limit(bytes: &mut Bytes<'_>, is_plain: bool) -> Limit {
    const PERIODS: [u64; 6] =
        [1, 30, 1_000_000_007, 10_000_000_000, 12_000_000_000, 60_000_000_000];
    let kind = bytes.byte();
    let algorithm = match Algorithm::ALL[usize::from(kind % 4)] {
        Algorithm::SlidingLog if is_plain => Algorithm::TokenBucket,
        algorithm => algorithm,
    };
    let bursts = kind & 4 != 0;
    let limit = if kind & 8 == 0 {
        let tokens = 1 + bytes.below(30) as u64;
        let burst = if bursts { 1 + bytes.below(40) as u64 } else { 0 };
        nearest_limit(algorithm, tokens, bytes.pick(&PERIODS), burst)
    } else {
        let (tokens, mut period) = (bytes.magnitude(40), bytes.magnitude(55));
        if period > 1 << 33 && kind & 0x80 != 0 {
            period = period / 1_000_000_000 * 1_000_000_000;
        }
        let burst = if bursts { bytes.magnitude(40) } else { 0 };
        nearest_limit(algorithm, tokens, period, burst)
    };
    match ["", "a", "b", "c"].get(usize::from(kind >> 4) % 8) {
        None | Some(&"") => limit,
        Some(name) => limit.named(name).expect("a good name"),
    }
}

/// How far a look at the hint may go.
pub(super) fn later(now: Nanos, wait: Duration) -> Option<Nanos> {
    let then = u128::from(now.as_nanos()) + wait.as_nanos();
    let then = u64::try_from(then).ok().map(Nanos::from_nanos)?;
    (then < Nanos::MAX).then_some(then)
}

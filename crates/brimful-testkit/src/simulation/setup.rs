//! What one seed builds: policies, rules, and a store.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use brimful::{Algorithm, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Rules};

use crate::model::Whose;
use crate::trace::SplitMix64;

/// Keys from here on are strangers, who come once or seldom; those before are regulars.
pub(super) const STRANGERS: u32 = 1_000;

/// Whose limits a call is decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// A caller without a tier.
    Nobody,
    /// A tier, by its place; one beyond the last is unknown to the rules.
    Tier(usize),
    /// A policy that comes with the call, by its place.
    Given(usize),
}

/// The limits of one call.
#[derive(Clone, Debug)]
pub(super) struct Ruled {
    pub(super) whose: Whose,
    /// The place of the policy in [`Setup::policies`].
    pub(super) place: usize,
    pub(super) is_given: bool,
}

/// All that is fixed for one seed.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// No two are equal, because each has a name of its own.
    pub(super) policies: Vec<Policy>,
    /// By their places in `policies`, as all that follow.
    default: usize,
    /// That of strangers.
    pattern: Option<usize>,
    exact: BTreeMap<u32, usize>,
    tiers: Vec<usize>,
    given: Vec<usize>,
    /// Regular keys.
    pub(super) regulars: u32,
    pub(super) max_keys: u64,
    pub(super) overflow: Overflow,
    /// Entries of logs, when the builder is told how many.
    max_log_entries: Option<u64>,
    max_given: u64,
    secret: [u64; 2],
    pub(super) start: Nanos,
}

impl Setup {
    pub(super) fn draw(rng: &mut SplitMix64) -> Self {
        let regulars = 2 + small(rng, 7);
        let kind = Kind::draw(rng);
        let mut policies = Vec::new();
        let mut policy = |rng: &mut SplitMix64, words: bool| {
            let place = policies.len();
            policies.push(kind.policy(rng, place, words));
            place
        };
        let is_word = is_one_in(rng, 60);
        let default = policy(rng, is_word);
        let pattern = (rng.below(4) == 0).then(|| policy(rng, false));
        let mut exact = BTreeMap::new();
        for _ in 0..rng.below(4) {
            let key = small(rng, u64::from(regulars));
            let is_word = is_one_in(rng, 3);
            exact.insert(key, policy(rng, is_word));
        }
        let mut perhaps_word = |rng: &mut SplitMix64, one_in: u64| {
            let is_word = is_one_in(rng, one_in);
            policy(rng, is_word)
        };
        let tiers = (0..rng.below(4)).map(|_| perhaps_word(rng, 8)).collect();
        let has_given = kind.policies_change && rng.below(2) == 0;
        let count = if has_given { 1 + rng.below(4) } else { 0 };
        let given: Vec<usize> = (0..count).map(|_| perhaps_word(rng, 12)).collect();
        let max_given = match given.len() as u64 {
            0 => 0,
            count => rng.between(1, count + 1),
        };
        let logs = policies.iter().map(logs).max().unwrap_or(0);
        let max_log_entries = match rng.below(3) {
            _ if logs == 0 => None,
            0 => Some(logs + rng.below(40)),
            1 => Some(logs.max(100 + rng.below(100))),
            _ => Some(PLENTY),
        };
        Self {
            policies,
            default,
            pattern,
            exact,
            tiers,
            given,
            regulars,
            max_keys: max_keys(rng),
            overflow: Overflow::ALL[rng.below(3) as usize],
            max_log_entries,
            max_given,
            secret: [rng.next_u64(), rng.next_u64()],
            start: match rng.below(8) {
                // Windows and entries from before the epoch.
                0 => Nanos::from_nanos(rng.magnitude(200_000_000_000)),
                _ => Nanos::from_nanos(1_799_971_200_000_000_000 + rng.below(1 << 45)),
            },
        }
    }

    pub(super) fn build(&self, clock: &ManualClock) -> Limiter {
        let policy = |place: &usize| self.policies[*place].clone();
        let mut rules = Rules::builder().default(policy(&self.default));
        for (key, place) in &self.exact {
            rules = rules.exact(name(*key), policy(place));
        }
        for (tier, place) in self.tiers.iter().enumerate() {
            rules = rules.tier(TIERS[tier], policy(place));
        }
        if let Some(place) = &self.pattern {
            rules = rules.pattern("new:*", policy(place));
        }
        let widest = self.policies.iter().map(|policy| policy.limits().len()).max().unwrap_or(1);
        let mut builder = Limiter::builder(rules.build().expect("rules that fit together"))
            .max_keys(self.max_keys)
            .overflow(self.overflow)
            .max_given(self.max_given)
            .max_limits(u64::try_from(widest.max(1)).unwrap_or(1))
            .secret(self.secret)
            .clock(clock.clone());
        if let Some(entries) = self.max_log_entries {
            builder = builder.max_log_entries(entries);
        }
        builder.build().expect("settings within their ranges")
    }

    /// What the rules say: exact override, tier, pattern, default.
    pub(super) fn resolve(&self, key: u32, by: By) -> Ruled {
        if let By::Given(place) = by {
            let place = self.given[place];
            return self.ruled(Whose::Given(self.policies[place].clone()), place, true);
        }
        if let Some(place) = self.exact.get(&key) {
            return self.ruled(Whose::Own, *place, false);
        }
        if let By::Tier(tier) = by
            && let Some(place) = self.tiers.get(tier)
        {
            return self.ruled(Whose::Tier(Some(TIERS[tier].into())), *place, false);
        }
        let pattern = self.pattern.filter(|_| key >= STRANGERS);
        self.ruled(Whose::Tier(None), pattern.unwrap_or(self.default), false)
    }

    fn ruled(&self, whose: Whose, place: usize, is_given: bool) -> Ruled {
        Ruled { whose, place, is_given }
    }

    /// A caller: mostly one without a tier.
    pub(super) fn caller(&self, rng: &mut SplitMix64, often: bool) -> By {
        let given = self.given.len() as u64;
        match rng.below(if often { 4 } else { 16 }) {
            0 | 1 if given > 0 => By::Given(rng.below(given) as usize),
            0..=2 => By::Tier(rng.below(self.tiers.len() as u64 + 1) as usize),
            _ => By::Nobody,
        }
    }

    /// The policy at that place of those that come with calls.
    pub(super) fn given_policy(&self, place: usize) -> &Policy {
        &self.policies[self.given[place]]
    }

    /// Whether the rules have that tier.
    pub(super) fn is_known(&self, tier: usize) -> bool {
        tier < self.tiers.len()
    }

    /// The caller who is answered by limits that a key is under.
    pub(super) fn who_has(&self, whose: &Whose) -> By {
        match whose {
            Whose::Own | Whose::Tier(None) => By::Nobody,
            Whose::Tier(Some(name)) => {
                By::Tier(TIERS.iter().position(|tier| tier == name).unwrap_or(TIERS.len()))
            }
            Whose::Given(policy) => {
                let of = |place: &usize| self.policies[*place] == *policy;
                By::Given(self.given.iter().position(of).unwrap_or(0))
            }
        }
    }

    /// Whether a log of one of the policies could find the arena without room, or half used.
    pub(super) fn has_logs(&self) -> bool {
        self.max_log_entries.is_some()
    }
}

/// Entries that no seed uses up by half.
const PLENTY: u64 = 12_000;

/// The names of tiers, with one that no rules have.
pub(super) const TIERS: [&str; 4] = ["gold", "silver", "bronze", "unheard"];

/// The text of a key.
pub(super) fn name(key: u32) -> String {
    if key < STRANGERS { format!("key-{key}") } else { format!("new:{}", key - STRANGERS) }
}

fn logs(policy: &Policy) -> u64 {
    let is_log = |limit: &&Limit| limit.chosen_algorithm() == Algorithm::SlidingLog;
    policy.limits().iter().filter(is_log).count() as u64
}

/// One time in so many.
fn is_one_in(rng: &mut SplitMix64, one_in: u64) -> bool {
    rng.below(one_in) == 0
}

fn small(rng: &mut SplitMix64, below: u64) -> u32 {
    u32::try_from(rng.below(below)).unwrap_or(0)
}

/// Mostly so few that floods matter; one set, sets of 13 to 16, and lines of four.
fn max_keys(rng: &mut SplitMix64) -> u64 {
    match rng.below(100) {
        0..=34 => rng.between(1, 6),
        35..=69 => rng.between(7, 51),
        70..=93 => rng.between(52, 110),
        94..=97 => rng.between(111, 819),
        _ => rng.between(820, 2_000),
    }
}

/// What the policies of one seed have in common.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// A single limit without entries in every policy, so that the store is plain if it is large.
    is_plain: bool,
    /// No sliding log in any policy.
    no_logs: bool,
    /// Limits that forget slowly, so that stores fill up.
    is_slow: bool,
    /// Several policies for a key.
    policies_change: bool,
}

impl Kind {
    fn draw(rng: &mut SplitMix64) -> Self {
        Self {
            is_plain: rng.below(4) == 0,
            no_logs: rng.below(2) == 0,
            is_slow: rng.below(2) == 0,
            policies_change: rng.below(2) == 0,
        }
    }

    /// A policy, or with `words` perhaps one that is a word.
    fn policy(self, rng: &mut SplitMix64, place: usize, words: bool) -> Policy {
        let policy = match rng.below(2) {
            0 if words => Policy::unlimited(),
            _ if words => Policy::blocked(),
            _ => self.limits(rng),
        };
        policy.named(&format!("policy-{place}")).expect("a name of letters and digits")
    }

    fn limits(self, rng: &mut SplitMix64) -> Policy {
        let count = match rng.below(12) {
            _ if self.is_plain => 1,
            0..=5 => 1,
            6..=8 => 2,
            9 | 10 => 3,
            _ => rng.between(4, 8),
        };
        let mut limits: Vec<Limit> = Vec::new();
        for place in 0..count {
            let limit = self.limit(rng);
            let taken = limits.iter().any(|other| other.name() == limit.name());
            // Some share a name with a limit of another policy, so that they go on from it.
            let name = match rng.below(3) {
                _ if taken => Some(format!("limit-{place}")),
                0 => Some(format!("limit-{place}")),
                _ => None,
            };
            limits.push(match name {
                Some(name) => limit.named(&name).expect("a name of letters and digits"),
                None => limit,
            });
        }
        Policy::new(limits).expect("1 to 8 limits, each with a name of its own")
    }

    fn limit(self, rng: &mut SplitMix64) -> Limit {
        const MS: u64 = 1_000_000;
        const QUICK: [u64; 8] =
            [30, 999, MS, 100 * MS, 1_000 * MS, 1_000 * MS + 7, 12_000 * MS, 60_000 * MS];
        const SLOW: [u64; 4] = [60_000 * MS, 3_600_000 * MS, 86_400_000 * MS, 31 * 86_400_000 * MS];
        let period = match self.is_slow {
            true => SLOW[rng.below(4) as usize],
            false => QUICK[rng.below(8) as usize],
        };
        let tokens = rng.between(1, 12);
        let limit = Limit::new(tokens, Duration::from_nanos(period)).expect("a limit in range");
        let algorithm = match rng.below(8) {
            0..=2 => Algorithm::TokenBucket,
            3 | 4 => Algorithm::FixedWindow,
            5 if !self.no_logs && !self.is_plain => Algorithm::SlidingLog,
            6 if !self.no_logs && !self.is_plain => Algorithm::SlidingLog,
            _ => Algorithm::SlidingWindow,
        };
        match algorithm {
            Algorithm::TokenBucket if rng.below(2) == 0 => {
                limit.burst(rng.between(1, 20)).expect("a burst in range")
            }
            other => limit.algorithm(other).expect("no burst was given"),
        }
    }
}

impl fmt::Display for Setup {
    /// The opening of the story: a line for each setting and policy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_keys, overflow, regulars, start, max_given, .. } = self;
        write!(f, "a store for {max_keys} keys, overflow {overflow}")?;
        if let Some(entries) = self.max_log_entries {
            write!(f, ", {entries} log entries")?;
        }
        writeln!(f, ", {max_given} places for given policies")?;
        writeln!(f, "{regulars} regular keys; the clock starts at {} ns", start.as_nanos())?;
        for (place, policy) in self.policies.iter().enumerate() {
            writeln!(f, "policy-{place}: {} ({})", limits_of(policy), self.users(place))?;
        }
        Ok(())
    }
}

impl Setup {
    fn users(&self, place: usize) -> String {
        let mut users = Vec::new();
        if self.default == place {
            users.push("default".to_owned());
        }
        if self.pattern == Some(place) {
            users.push("pattern new:*".to_owned());
        }
        let exact = self.exact.iter().filter(|(_, other)| **other == place);
        users.extend(exact.map(|(key, _)| format!("exact {}", name(*key))));
        let tiers = self.tiers.iter().zip(TIERS).filter(|(other, _)| **other == place);
        users.extend(tiers.map(|(_, tier)| format!("tier {tier}")));
        if self.given.contains(&place) {
            users.push("given with calls".to_owned());
        }
        users.join(", ")
    }
}

fn limits_of(policy: &Policy) -> String {
    if policy.is_unlimited() {
        return "unlimited".to_owned();
    }
    if policy.is_blocked() {
        return "blocked".to_owned();
    }
    let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
    limits.join(", ")
}

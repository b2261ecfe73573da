//! A limiter and the model side by side, over keys whose limits change from call to call.
#![allow(dead_code, reason = "each of the tests uses a part")]

use std::time::Duration;

use brimful::{Algorithm, Limit, Limiter, Nanos, Policy, Rules};
use brimful_testkit::trace::{Cursor, Draft, Scale, Verb};
use brimful_testkit::{KeyedModel, Outcome, runner, strategy};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::prop_assert_eq;
use proptest::test_runner::{TestCaseResult, TestError};

const CASES: u32 = 250;
const OPERATIONS: usize = 300;
const KEYS: [&str; 4] = ["own", "a", "b", "c"];

/// Whose limits a call is to be decided by.
#[derive(Clone, Copy, Debug)]
enum By {
    /// A caller without a tier.
    Nobody,
    /// A tier, by its place; one beyond the last is unknown to the rules.
    Tier(usize),
    /// A policy that comes with the call, by its place.
    Given(usize),
    /// Nobody, after the rules of that setup were put in force.
    Replaced(usize),
}

/// All policies of one sequence.
#[derive(Clone, Debug)]
struct Setup {
    default: Policy,
    /// The exact override of the first key.
    own: Policy,
    tiers: Vec<Policy>,
    given: Vec<Policy>,
}

/// One call: which key, by whom, and what.
type Call = (usize, By, Draft);

/// Runs sequences of 300 calls: `PROPTEST_CASES` of them, or [`CASES`].
pub(crate) fn check(name: &str, given: usize, regressions: &'static str) {
    let calls = vec((0..KEYS.len(), by(given), strategy::draft()), OPERATIONS);
    check_setups(name, vec(setup(given), 1..=1), calls, regressions);
}

/// The same with rules that are replaced between calls.
pub(crate) fn check_replaced(name: &str, given: usize, regressions: &'static str) {
    let by = prop_oneof![9 => by(given), 1 => (0..3_usize).prop_map(By::Replaced)];
    let calls = vec((0..KEYS.len(), by, strategy::draft()), OPERATIONS);
    check_setups(name, vec(setup(given), 3..=3), calls, regressions);
}

fn check_setups(
    name: &str,
    setups: impl Strategy<Value = Vec<Setup>>,
    calls: impl Strategy<Value = Vec<Call>>,
    regressions: &'static str,
) {
    let (mut runner, seed) = runner(name, CASES, regressions);
    let sequences = (setups, strategy::now(), calls);
    let result = runner.run(&sequences, |(setups, start, calls)| {
        let mut pair = Pair::new(&setups, start);
        calls.iter().try_for_each(|call| pair.call(call))
    });
    if let Err(TestError::Fail(why, (setups, start, calls))) = result {
        let mut pair = Pair::new(&setups, start);
        let _ = calls.iter().try_for_each(|call| pair.call(call));
        let setups: Vec<String> = setups.iter().map(Setup::story).collect();
        panic!("{name}: {why}\n  BRIMFUL_SEED={seed}\n{}\n{}", setups.join("\n"), pair.story);
    }
    result.expect("sequences can be drawn");
}

fn by(given: usize) -> impl Strategy<Value = By> {
    let tier = prop_oneof![Just(By::Nobody), (0..5_usize).prop_map(By::Tier)];
    match given {
        0 => tier.boxed(),
        _ => prop_oneof![tier, (0..given).prop_map(By::Given)].boxed(),
    }
}

fn setup(given: usize) -> impl Strategy<Value = Setup> {
    let tiers = vec(policy(), 2..=4);
    (policy(), policy(), tiers, vec(policy(), given))
        .prop_map(|(default, own, tiers, given)| Setup { default, own, tiers, given })
}

/// 1 to 8 limits of any algorithms, half of them with periods and names that others have too; or,
/// now and then, a word.
fn policy() -> impl Strategy<Value = Policy> {
    let algorithm = (0..Algorithm::ALL.len()).prop_map(|place| Algorithm::ALL[place]);
    let wide = algorithm.prop_flat_map(strategy::limit);
    let limit = prop_oneof![wide, alike()];
    let named = (limit, prop_oneof![Just(None), (0..4_usize).prop_map(Some)]);
    prop_oneof![
        1 => Just(Policy::unlimited()),
        1 => Just(Policy::blocked()),
        14 => vec(named.clone(), 1..=3).prop_map(|limits| named_policy(&limits)),
        8 => vec(named, 1..=8).prop_map(|limits| named_policy(&limits)),
    ]
}

fn alike() -> impl Strategy<Value = Limit> {
    const PERIODS: [u64; 5] = [30, 1_000_000_007, 10_000_000_000, 12_000_000_000, 60_000_000_000];
    (0..Algorithm::ALL.len(), 1..=30_u64, 0..PERIODS.len(), 1..=40_u64, any::<bool>()).prop_map(
        |(algorithm, tokens, period, capacity, burst)| {
            let limit = Limit::new(tokens, Duration::from_nanos(PERIODS[period])).unwrap();
            match Algorithm::ALL[algorithm] {
                Algorithm::TokenBucket if burst => limit.burst(capacity).unwrap(),
                other => limit.algorithm(other).unwrap(),
            }
        },
    )
}

/// The limits under the names that were drawn for them, by default their own, as far as nobody
/// before them has the same.
fn named_policy(limits: &[(Limit, Option<usize>)]) -> Policy {
    let mut named: Vec<Limit> = Vec::new();
    for (place, (limit, name)) in limits.iter().enumerate() {
        let wanted = match name {
            Some(name) => limit.clone().named(["a", "b", "c", "d"][*name]).unwrap(),
            None => limit.clone(),
        };
        let taken = named.iter().any(|other| other.name() == wanted.name());
        named.push(if taken { wanted.named(&format!("limit-{place}")).unwrap() } else { wanted });
    }
    Policy::new(named).unwrap()
}

impl Setup {
    fn policy(&self, key: usize, by: By) -> &Policy {
        match by {
            By::Given(place) => &self.given[place],
            _ if key == 0 => &self.own,
            By::Tier(place) => self.tiers.get(place).unwrap_or(&self.default),
            By::Nobody | By::Replaced(_) => &self.default,
        }
    }

    fn rules(&self) -> Rules {
        let rules = Rules::builder().default(self.default.clone()).exact(KEYS[0], self.own.clone());
        let tiers = self.tiers.iter().enumerate();
        let rules = tiers.fold(rules, |rules, (place, policy)| {
            rules.tier(&format!("tier-{place}"), policy.clone())
        });
        rules.build().unwrap()
    }

    fn limiter(&self) -> Limiter {
        Limiter::builder(self.rules())
            .max_keys(50)
            .max_limits(8)
            // Two for each limit of each call: one taken over, and one charged.
            .max_log_entries(16 * OPERATIONS as u64)
            .build()
            .unwrap()
    }

    fn model(&self) -> KeyedModel {
        let model = KeyedModel::new(&self.default).with(KEYS[0], &self.own);
        let tiers = self.tiers.iter().enumerate();
        tiers
            .fold(model, |model, (place, policy)| model.with_tier(&format!("tier-{place}"), policy))
    }

    fn story(&self) -> String {
        let show = |policy: &Policy| {
            let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
            format!("{limits:?}{}", if policy.is_blocked() { " blocked" } else { "" })
        };
        let mut lines = format!("  default {}\n  own {}", show(&self.default), show(&self.own));
        for (what, policies) in [("tier", &self.tiers), ("given", &self.given)] {
            for (place, policy) in policies.iter().enumerate() {
                lines += &format!("\n  {what} {place} {}", show(policy));
            }
        }
        lines
    }
}

/// The two, and one clock for each key.
struct Pair<'a> {
    setups: &'a [Setup],
    /// That whose rules are in force.
    setup: &'a Setup,
    generation: u64,
    limiter: Limiter,
    model: KeyedModel,
    cursors: [Cursor; KEYS.len()],
    story: String,
}

impl<'a> Pair<'a> {
    fn new(setups: &'a [Setup], start: Nanos) -> Self {
        let setup = &setups[0];
        let (limiter, model) = (setup.limiter(), setup.model());
        let cursors = [(); KEYS.len()].map(|()| Cursor::new(start));
        Self { setups, setup, generation: 1, limiter, model, cursors, story: String::new() }
    }

    fn call(&mut self, (place, by, draft): &Call) -> TestCaseResult {
        let key = KEYS[*place];
        if let By::Replaced(setup) = by {
            self.replace(&self.setups[*setup % self.setups.len()]);
        }
        let scale = Scale::of(self.setup.policy(*place, *by));
        let (verb, amount, now) = self.cursors[*place].next(draft.fit(&scale));
        self.story += &format!("  {key} by {by:?}: {verb:?} {amount} at {}\n", now.as_nanos());
        match verb {
            Verb::Acquire | Verb::Peek => {
                let peek = verb == Verb::Peek;
                let (outcome, expected) = self.decide(key, *by, peek, amount, now);
                prop_assert_eq!(outcome, expected, "{} by {:?} at {:?}", key, by, now);
                if !peek {
                    self.cursors[*place].saw(amount, &expected);
                }
            }
            Verb::Refund => {
                let given = self.limiter.refund_at(key, amount, now);
                prop_assert_eq!(given, self.model.refund(key, amount, now), "refund {}", key);
            }
            Verb::Reset => {
                let known = self.limiter.reset(key);
                prop_assert_eq!(known, self.model.state(key).is_some(), "reset {}", key);
                self.model.reset(key);
            }
        }
        Ok(())
    }

    /// At a time at which nothing has refilled, because each key has a clock of its own. A key that owes
    /// nothing even so is let go.
    fn replace(&mut self, setup: &'a Setup) {
        self.setup = setup;
        self.generation += 1;
        assert_eq!(self.limiter.set_rules_at(setup.rules(), Nanos::ZERO), Ok(self.generation));
        self.model.set_rules(&setup.model());
        for key in KEYS {
            let state = self.model.state(key);
            let is_full =
                state.and_then(|state| Some(state.peek(0, state.last()?).reset_after == 0));
            if is_full == Some(true) {
                self.model.reset(key);
            }
        }
    }

    /// What the limiter says, and what the model says. (There is no peek by a policy that comes
    /// with the call, so that it is a call that costs nothing.)
    fn decide(
        &mut self,
        key: &str,
        by: By,
        peek: bool,
        cost: u64,
        now: Nanos,
    ) -> (Outcome, Outcome) {
        let Self { setup, limiter, model, .. } = self;
        match by {
            By::Nobody | By::Replaced(_) if peek => {
                (limiter.peek_at(key, cost, now).into(), model.peek(key, cost, now))
            }
            By::Nobody | By::Replaced(_) => {
                (limiter.try_acquire_at(key, cost, now).into(), model.acquire(key, cost, now))
            }
            By::Tier(place) => {
                let name = format!("tier-{place}");
                let (seen, name) = (limiter.tier(&name), Some(name.as_str()));
                if peek {
                    (seen.peek_at(key, cost, now).into(), model.peek_as(name, key, cost, now))
                } else {
                    let decision = seen.try_acquire_at(key, cost, now);
                    (decision.into(), model.acquire_as(name, key, cost, now))
                }
            }
            By::Given(place) => {
                let policy = &setup.given[place];
                let cost = if peek { 0 } else { cost };
                let decision = limiter.try_acquire_with(key, policy, cost, now).unwrap();
                (decision.into(), model.acquire_with(policy, key, cost, now))
            }
        }
    }
}

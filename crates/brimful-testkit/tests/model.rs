//! `Meter` against the model in exact rationals, over the whole range.
//!
//! Each test draws sequences of 200 operations: `PROPTEST_CASES` of them, or 2,000. A run prints
//! its seed, and `BRIMFUL_SEED` repeats it. A sequence that failed once is kept in
//! `model.proptest-regressions` and tried first from then on.

use brimful::{Algorithm, Decision, Meter, Nanos, Policy, Retry};
use brimful_testkit::trace::{Cursor, Draft, Scale, Verb};
use brimful_testkit::{Model, Outcome, runner, strategy};
use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::{TestCaseError, TestCaseResult, TestError};
use proptest::{prop_assert, prop_assert_eq};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model.proptest-regressions");
const CASES: u32 = 2_000;
const OPERATIONS: usize = 200;

#[test]
fn token_bucket() {
    one_limit("token_bucket", Algorithm::TokenBucket);
}

#[test]
fn fixed_window() {
    one_limit("fixed_window", Algorithm::FixedWindow);
}

#[test]
fn sliding_log() {
    one_limit("sliding_log", Algorithm::SlidingLog);
}

#[test]
fn sliding_window() {
    one_limit("sliding_window", Algorithm::SlidingWindow);
}

#[test]
fn several_limits() {
    check("several_limits", strategy::policy(2..=8));
}

fn one_limit(name: &str, algorithm: Algorithm) {
    check(name, strategy::limit(algorithm).prop_map(Policy::from));
}

fn check(name: &str, policies: impl Strategy<Value = Policy>) {
    let (mut runner, seed) = runner(name, CASES, REGRESSIONS);
    let sequences = (policies, strategy::now(), vec(strategy::draft(), OPERATIONS));
    let result = runner.run(&sequences, |(policy, start, drafts)| run(&policy, start, &drafts));
    if let Err(TestError::Fail(why, (policy, start, drafts))) = result {
        let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
        panic!(
            "{name}: {why}\n  BRIMFUL_SEED={seed}\n  {limits:?}\n  from {start:?}\n{}",
            story(&policy, start, &drafts)
        );
    }
    result.expect("sequences can be drawn");
}

fn run(policy: &Policy, start: Nanos, drafts: &[Draft]) -> TestCaseResult {
    let scale = Scale::of(policy);
    let mut cursor = Cursor::new(start);
    let (mut meter, mut model) = (Meter::new(policy), Model::new(policy));
    for (step, draft) in drafts.iter().enumerate() {
        let (verb, amount, now) = cursor.next(draft.fit(&scale));
        match verb {
            Verb::Acquire => {
                let expected = model.acquire(amount, now);
                let peeked = meter.peek_at(amount, now);
                let decision = meter.try_acquire_at(amount, now);
                prop_assert_eq!(Outcome::from(&decision), expected, "operation {}", step);
                prop_assert_eq!(peeked, decision, "a peek before operation {}", step);
                hint_is_tight(&meter, amount, now, &decision)?;
                cursor.saw(amount, &expected);
            }
            Verb::Peek => {
                let decision = meter.peek_at(amount, now);
                let expected = model.peek(amount, now);
                prop_assert_eq!(Outcome::from(&decision), expected, "operation {}", step);
                // A denial by a stepped clock moves the key's time along, and its hint counts from
                // there; a look leaves it, and readings after it are judged anew.
                if !is_stepped(&model, now) {
                    hint_is_tight(&meter, amount, now, &decision)?;
                }
            }
            Verb::Refund => {
                let given = meter.refund_at(amount, now);
                prop_assert_eq!(given, model.refund(amount, now), "operation {}", step);
            }
            Verb::Reset => {
                meter.reset();
                model.reset();
            }
        }
    }
    Ok(())
}

fn is_stepped(model: &Model, now: Nanos) -> bool {
    model.last().is_some_and(|last| last.since(now).as_nanos() > model.tolerance())
}

/// Admitted when the hint says, and not a nanosecond before, as far as time goes on.
fn hint_is_tight(
    meter: &Meter,
    cost: u64,
    now: Nanos,
    decision: &Decision,
) -> Result<(), TestCaseError> {
    let Retry::After(wait) = decision.retry() else { return Ok(()) };
    let then = u128::from(now.as_nanos()) + wait.as_nanos();
    let Ok(then) = u64::try_from(then) else { return Ok(()) };
    if then < Nanos::MAX.as_nanos() {
        let early = meter.peek_at(cost, Nanos::from_nanos(then - 1));
        prop_assert!(early.is_denied(), "{cost} at {now:?}, told to wait {wait:?}: too long");
        let there = meter.peek_at(cost, Nanos::from_nanos(then));
        prop_assert!(there.is_allowed(), "{cost} at {now:?}, told to wait {wait:?}: too short");
    }
    Ok(())
}

/// The operations of a sequence that failed, as the limiter saw them.
fn story(policy: &Policy, start: Nanos, drafts: &[Draft]) -> String {
    let scale = Scale::of(policy);
    let mut cursor = Cursor::new(start);
    let mut model = Model::new(policy);
    let mut lines = String::new();
    for (step, draft) in drafts.iter().enumerate() {
        let (verb, amount, now) = cursor.next(draft.fit(&scale));
        let ns = now.as_nanos();
        let answer = match verb {
            Verb::Acquire => {
                let outcome = model.acquire(amount, now);
                cursor.saw(amount, &outcome);
                format!("{outcome:?}")
            }
            Verb::Peek => format!("{:?}", model.peek(amount, now)),
            Verb::Refund => model.refund(amount, now).to_string(),
            Verb::Reset => {
                model.reset();
                String::new()
            }
        };
        lines += &format!("  {step:3} {verb:?} {amount} at {ns}: the model says {answer}\n");
    }
    lines
}

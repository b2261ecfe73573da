//! Faults that people met in other limiters, by kind: each test is the kind, as a property or a
//! table, and the numbers of each case that was met are a row of it, under the case's id.
//!
//! The cases are in `brimful-testkit/data/field-cases.jsonl`; `brimful-testkit/cases.toml` says
//! which test keeps which case, and that file is itself checked by `brimful-testkit/tests/cases.rs`.

mod arithmetic;
mod boundary;
mod clock;
mod concurrency;
mod config;
mod cost;
mod eviction;
mod headers;
mod idle_burst;
mod keys;
mod memory;
mod multi_limit;
mod no_clock;
mod overflow;
mod precedence;
mod reload;
mod retry_hint;
mod shutdown;
mod startup_burst;
mod waiting;
mod zero_limit;

use std::time::Duration;

use brimful::{Decision, Limit, Meter, Nanos, Policy};
use proptest::prelude::ProptestConfig;

/// Where the cases' second 0 lies: at the beginning of an hour, so that windows begin there.
const START: Nanos = Nanos::from_secs(1_800_000_000);

fn ms(ms: u64) -> Nanos {
    START + Duration::from_millis(ms)
}

fn secs(secs: u64) -> Nanos {
    START + Duration::from_secs(secs)
}

fn limit(spec: &str) -> Limit {
    spec.parse().unwrap_or_else(|fault| panic!("{fault:#}"))
}

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap_or_else(|fault| panic!("{fault:#}"))
}

fn meter(spec: &str) -> Meter {
    Meter::new(&limit(spec).into())
}

/// A meter of which everything was spent at `now`.
fn drained(spec: &str, now: Nanos) -> Meter {
    let mut meter = meter(spec);
    assert!(meter.try_acquire_at(limit(spec).capacity(), now).is_allowed(), "{spec}");
    meter
}

/// Asks for one at each time: `+` for admitted, `-` for denied.
fn asked(meter: &mut Meter, times: impl IntoIterator<Item = Nanos>) -> String {
    let sign = |decision: Decision| if decision.is_allowed() { '+' } else { '-' };
    times.into_iter().map(|now| sign(meter.try_acquire_at(1, now))).collect()
}

/// How many of those that ask for one at each time are admitted.
fn admitted(meter: &mut Meter, times: impl IntoIterator<Item = Nanos>) -> u64 {
    times.into_iter().map(|now| u64::from(meter.try_acquire_at(1, now).is_allowed())).sum()
}

/// When a caller who comes at `now` and asks again exactly when told is admitted.
fn waited(meter: &mut Meter, cost: u64, now: Nanos) -> Nanos {
    let first = meter.try_acquire_at(cost, now);
    let Some(wait) = first.retry_after() else {
        assert!(first.is_allowed(), "{cost} will never be admitted: {first:?}");
        return now;
    };
    assert!(!wait.is_zero(), "a denial says: now");
    assert!(meter.try_acquire_at(cost, now + wait).is_allowed(), "a hint of {wait:?} is too short");
    now + wait
}

/// As many cases as `PROPTEST_CASES` says, or 256.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

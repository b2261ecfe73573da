//! Runs of random sequences that can be repeated.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestRunner};

/// A runner of `PROPTEST_CASES` sequences, or of so many `cases`, and its seed, which it prints;
/// `BRIMFUL_SEED` repeats a run. Sequences that failed once are kept in the file `regressions` and
/// tried first.
///
/// # Panics
/// `BRIMFUL_SEED` is not a number.
#[must_use]
pub fn runner(name: &str, cases: u32, regressions: &'static str) -> (TestRunner, u64) {
    let cases = env::var_os("PROPTEST_CASES").map_or(cases, |_| Config::default().cases);
    let seed = match env::var("BRIMFUL_SEED") {
        Ok(seed) => seed.parse().expect("BRIMFUL_SEED is a number"),
        // Randomly keyed, so a new seed in each run.
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    println!("{name}: {cases} sequences, BRIMFUL_SEED={seed}");
    let runner = TestRunner::new(Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..Config::default()
    });
    (runner, seed)
}

//! A keyed limiter: one line, then rules with two limits for most keys and another for one.

use brimful::{Limit, Limiter, Policy, Rules};

fn main() -> Result<(), brimful::Error> {
    // One line: ten a second for each key.
    let limiter = Limiter::per_second(10)?;
    assert!(limiter.allow("198.51.100.7"));

    // Two limits that must both admit, a burst, and one key with a policy of its own.
    let api = Policy::new([Limit::per_second(10)?.burst(20)?, Limit::per_hour(1_000)?])?;
    let rules = Rules::builder().default(api).exact(("tenant", 42), Limit::per_second(100)?);
    let limiter = Limiter::builder(rules.build()?).max_keys(1_000_000).build()?;

    let decision = limiter.try_acquire_n(("tenant", 7), 21);
    if decision.is_denied() {
        let limit = limiter.limit_of(&decision);
        println!(
            "refused by {:?}; wait {:?}, never: {}",
            limit.as_ref().map(Limit::name),
            decision.retry_after(),
            decision.is_never()
        );
    }
    println!("{:?}", limiter.stats());
    Ok(())
}

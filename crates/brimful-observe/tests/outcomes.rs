//! Each answer of a limiter has its outcome.

use std::sync::Arc;
use std::time::Duration;

use brimful::{Decision, Limit, Limiter, ManualClock, Nanos, Overflow, Policy};
use brimful_observe::Outcome;

fn builder(policy: impl Into<Policy>) -> brimful::LimiterBuilder {
    Limiter::builder(policy.into()).clock(ManualClock::new(Nanos::from_secs(1_000_000)))
}

fn hourly() -> Limit {
    Limit::per_hour(1).unwrap()
}

/// What becomes of a second request of the same key.
fn second(limiter: &Limiter) -> Outcome {
    let _first = limiter.try_acquire("ann");
    Outcome::of(&limiter.try_acquire("ann"))
}

#[test]
fn each_answer_has_its_outcome() {
    let limiter = builder(hourly()).build().unwrap();
    assert_eq!(Outcome::of(&limiter.try_acquire("ann")), Outcome::Admitted);
    assert_eq!(Outcome::of(&limiter.peek("ann", 1)), Outcome::Denied);
    assert_eq!(second(&limiter), Outcome::Denied);
    assert_eq!(second(&builder(Policy::blocked()).build().unwrap()), Outcome::Blocked);
    assert_eq!(second(&builder(Policy::unlimited()).build().unwrap()), Outcome::Admitted);
    assert_eq!(
        second(&builder(Policy::from(hourly()).shadow()).build().unwrap()),
        Outcome::WouldDeny
    );

    let full = builder(hourly()).max_keys(8).overflow(Overflow::Refuse).build().unwrap();
    let outcomes: Vec<_> = (0..100_u32).map(|key| Outcome::of(&full.try_acquire(key))).collect();
    assert!(outcomes.contains(&Outcome::StoreFull), "{outcomes:?}");

    let closed = Arc::new(builder(hourly()).build().unwrap());
    let _spent = closed.try_acquire("ann");
    closed.close();
    let refused = closed.enqueue("ann", 1, None).map(|_| ()).unwrap_err();
    assert_eq!(Outcome::of(&refused), Outcome::Closed);
    assert_eq!(Outcome::of(&Decision::CLOSED), Outcome::Closed);
}

#[test]
fn who_comes_while_others_wait_is_told_so() {
    let limiter = builder(hourly())
        .max_waiters_per_key(1)
        .max_wait(Duration::from_secs(86_400))
        .build()
        .unwrap();
    let _first = limiter.try_acquire("ann");
    let within = Some(Duration::from_secs(86_400));
    let _waits = limiter.enqueue("ann", 1, within).unwrap();
    assert_eq!(Outcome::of(&limiter.try_acquire("ann")), Outcome::Queued);
    let refused = limiter.enqueue("ann", 1, within).map(|_| ()).unwrap_err();
    assert_eq!(Outcome::of(&refused), Outcome::QueueFull);
}

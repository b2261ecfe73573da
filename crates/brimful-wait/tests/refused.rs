//! What a refusal says.

use std::error::Error as _;
use std::time::Duration;

use brimful::{Limit, Limiter, ManualClock, Overflow, Policy, Queued, Rules};
use brimful_wait::Refused;
use brimful_wait::blocking::WaitBlocking;

fn builder(limit: &str) -> brimful::LimiterBuilder {
    Limiter::builder(limit.parse::<Limit>().unwrap()).clock(ManualClock::default())
}

/// The refusal of who waits at most a moment.
fn refused(limiter: &Limiter, key: &str, cost: u64) -> Refused {
    let refused = limiter.acquire_within_blocking(key, cost, Duration::ZERO).unwrap_err();
    assert!(refused.decision().is_denied());
    assert!(refused.source().is_none());
    refused
}

#[test]
fn a_refusal_says_why_and_what_would_help() {
    let limiter = builder("10/s").max_waiters_per_key(1).build().unwrap();
    limiter.acquire_n_blocking("k", 10).unwrap();
    let text = |cost| refused(&limiter, "k", cost).to_string();
    let spent =
        "the key has spent what its limit allows, and the wait would be too long; retry after ";
    assert_eq!(text(1), format!("{spent}100 ms"));
    assert_eq!(text(10), format!("{spent}1 s"));
    assert_eq!(text(11), "the cost can never be admitted: it is above what the key's limits hold");

    let Ok(Queued::Waiting(turn)) = limiter.enqueue("k", 10, None) else { panic!() };
    assert_eq!(
        text(1),
        "others wait for the key's tokens, and the wait behind them would be too long; retry after 2 s"
    );
    let full = limiter.acquire_blocking("k").unwrap_err();
    assert_eq!(full.to_string(), "the queue is full; retry after 1 s");
    drop(turn);

    limiter.close();
    assert_eq!(text(1), "waiting has ended: the limiter was closed or dropped");
}

#[test]
fn times_are_rounded_up() {
    let limiter = builder("7/s").build().unwrap();
    limiter.acquire_n_blocking("k", 7).unwrap();
    for (cost, wait) in [(1, "143 ms"), (6, "858 ms"), (7, "1 s")] {
        let text = refused(&limiter, "k", cost).to_string();
        assert!(text.ends_with(&format!("; retry after {wait}")), "{text}");
    }
    let limiter = builder("1000 per 1000001ms").build().unwrap();
    limiter.acquire_n_blocking("k", 1000).unwrap();
    let text = refused(&limiter, "k", 1).to_string();
    assert!(text.ends_with("; retry after 2 s"), "{text}");
}

#[test]
fn a_blocked_key_and_a_full_store_have_their_own_words() {
    let limiter =
        Limiter::new(Rules::builder().default(Policy::blocked()).build().unwrap()).unwrap();
    assert_eq!(refused(&limiter, "k", 1).to_string(), "the key is blocked");

    let limiter = builder("1/h").max_keys(1).overflow(Overflow::Refuse).build().unwrap();
    let full = (0..100_u64).find_map(|key| limiter.acquire_blocking(key).err()).unwrap();
    let text = full.to_string();
    assert_eq!(text, "there is no place to remember the key; retry after 3600 s");
}

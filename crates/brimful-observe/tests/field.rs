//! Faults of statistics that people met in other limiters. Each row carries the number of its case
//! (`brimful-testkit/cases.toml`).

mod common;

use std::collections::HashSet;

use brimful::{AsKey as _, Limiter, ManualClock, Nanos, Policy};
#[cfg(feature = "tracing")]
use brimful_observe::Denials;
use brimful_observe::{Counters, Event, Observer, Outcome, Redact, TopKeys};
use common::Numbers;

fn limiter(specs: &str) -> Limiter {
    let policy = Policy::parse(specs.split(',')).unwrap();
    let clock = ManualClock::new(Nanos::from_secs(1_000_000));
    Limiter::builder(policy).clock(clock).build().unwrap()
}

/// Asks, and tells the observer.
fn ask(limiter: &Limiter, key: &str, cost: u64, observer: &dyn Observer) -> Outcome {
    let decision = limiter.try_acquire_n(key, cost);
    let outcome = Outcome::of(&decision);
    key.with_key(|key| {
        observer.observe(
            &Event::new("api", "default", outcome).cost(cost).key(key).decision(&decision),
        );
    });
    outcome
}

/// Requests and tokens of an outcome.
fn counted(counters: &Counters, outcome: Outcome) -> (u64, u64) {
    let counts = counters.snapshot();
    let count = counts.iter().find(|count| count.outcome == outcome);
    count.map_or((0, 0), |count| (count.requests, count.tokens))
}

/// What was counted as admitted is what is owed, also when one limit of several refuses.
#[test]
fn statistics_are_what_was_charged() {
    // Case, limits (the first to refuse, and one that would not), cost, requests, admitted.
    let rows: [(u32, &str, u64, u64, u64); 3] = [
        (239, "1/h, 100/day", 1, 10, 1),
        (239, "100/day, 3/h", 2, 10, 1),
        (239, "10/h, 10/day", 3, 10, 3),
    ];
    for (id, specs, cost, requests, admitted) in rows {
        let (limiter, counters) = (limiter(specs), Counters::new());
        for _ in 0..requests {
            ask(&limiter, "ann", cost, &counters);
        }
        let denied = requests - admitted;
        assert_eq!(counted(&counters, Outcome::Admitted), (admitted, admitted * cost), "case {id}");
        assert_eq!(counted(&counters, Outcome::Denied), (denied, denied * cost), "case {id}");
        // As much is owed: no more can be given back.
        assert_eq!(limiter.refund("ann", u64::MAX), admitted * cost, "case {id}");
        let stats = limiter.stats();
        assert_eq!((stats.admitted, stats.denied), (admitted, denied), "case {id}");
    }
}

/// A request is admitted or denied, and counted as that, whole.
///
/// The case wants a request for 5 of which 2 were there to be counted as 3 over the limit. Here nothing of a denied
/// cost is charged: the 2 are still there for whoever asks for less, and no 3 of the 5 differ from the other 2.
/// So it counts as one request denied and 5 tokens denied. What is kept of the case: the sums of what was admitted
/// and denied are those of what was asked for, no count wraps, and a count that is full stays so.
#[test]
fn a_big_cost_is_counted_whole_and_never_wraps() {
    let at_most = u64::MAX;
    // Case, costs one after the other under 10 an hour, tokens admitted, tokens denied.
    let rows: [(u32, &[u64], u64, u64); 4] = [
        (240, &[8, 5, 5], 8, 10),
        (240, &[8, 5, 2], 10, 5),
        (240, &[8, 5, 4_294_967_295, 4_294_967_295], 8, 5 + 2 * 4_294_967_295),
        (240, &[8, at_most, at_most, 5], 8, at_most),
    ];
    for (id, costs, admitted, denied) in rows {
        let (limiter, counters) = (limiter("10/h"), Counters::new());
        for cost in costs {
            ask(&limiter, "ann", *cost, &counters);
        }
        let (yes, no) =
            (counted(&counters, Outcome::Admitted), counted(&counters, Outcome::Denied));
        assert_eq!((yes.1, no.1), (admitted, denied), "case {id}: {costs:?}");
        assert_eq!(yes.0 + no.0, costs.len() as u64, "case {id}: {costs:?}");
    }
}

/// Whatever requests bring, there are so many series, and names that were declared are among them.
#[test]
fn values_of_requests_make_no_series() {
    // Case, how many different values.
    let rows: [(u32, u64); 1] = [(243, 100_000)];
    for (id, values) in rows {
        let (limiter, counters) = (limiter("1000000/s"), Counters::new());
        let top = TopKeys::new(10, Redact::Hash).unwrap();
        #[cfg(feature = "tracing")]
        let denials = Denials::new().unwrap();
        #[cfg(not(feature = "tracing"))]
        let denials = ();
        counters.declare("api", "configured");
        let mut numbers = Numbers(3);
        for value in 0..values {
            // As a key, as a cost, and as the name of a policy that came with the call.
            let key = value.to_string();
            ask(&limiter, &key, numbers.next(), &(&counters, &top, &denials));
            let event = Event::new("api", &key, Outcome::Denied).cost(value);
            (&counters, &top, &denials).observe(&event);
        }
        counters.observe(&Event::new("api", "configured", Outcome::Admitted));

        let counts = counters.snapshot();
        let pairs: HashSet<_> = counts.iter().map(|count| (&count.scope, &count.policy)).collect();
        assert_eq!(pairs.len(), Counters::DEFAULT_MAX_SERIES + 1, "case {id}");
        let configured = counts.iter().find(|count| count.policy == "configured");
        assert_eq!(configured.map(|count| count.requests), Some(1), "case {id}");
        let requests: u64 = counts.iter().map(|count| count.requests).sum();
        assert_eq!(requests, 2 * values + 1, "case {id}");
        assert_eq!(top.list().keys.len(), 10, "case {id}");
    }
}

//! What was counted is what happened, under so many names.

mod common;

use std::collections::{BTreeMap, HashSet};
use std::sync::Barrier;

use brimful_observe::{Count, Counters, Event, Observer, Outcome};
use common::Numbers;

type Sums = BTreeMap<(String, String, Outcome), (u64, u64)>;

fn sums(counts: Vec<Count>) -> Sums {
    let rows = counts.into_iter();
    rows.map(|c| ((c.scope, c.policy, c.outcome), (c.requests, c.tokens))).collect()
}

#[test]
fn counts_are_those_of_a_map() {
    let (counters, mut expected) = (Counters::new(), Sums::new());
    let mut numbers = Numbers(1);
    for _ in 0..20_000 {
        let (scope, policy) = (format!("s{}", numbers.below(5)), format!("p{}", numbers.below(40)));
        let outcome = Outcome::ALL[numbers.below(10) as usize];
        let cost = numbers.next() >> numbers.below(64);
        counters.observe(&Event::new(&scope, &policy, outcome).cost(cost));
        let sum = expected.entry((scope, policy, outcome)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(cost));
    }
    let counted = counters.snapshot();
    assert!(counted.is_sorted_by_key(|c| (c.scope.clone(), c.policy.clone(), c.outcome)));
    assert_eq!(sums(counted), expected);
}

#[test]
fn a_count_that_is_full_stays_full() {
    let counters = Counters::new();
    for cost in [u64::MAX - 1, 1, 1, u64::MAX, 7] {
        counters.observe(&Event::new("api", "default", Outcome::Denied).cost(cost));
    }
    let counted = counters.snapshot();
    assert_eq!((counted[0].requests, counted[0].tokens), (5, u64::MAX));
}

#[test]
fn names_are_bounded_and_sums_stay_right() {
    const MOST: usize = 16;
    let counters = Counters::with_max_series(MOST);
    counters.declare("api", "late but declared");
    let mut by_scope: BTreeMap<String, u64> = BTreeMap::new();
    let long = "x".repeat(10_000);
    let mut numbers = Numbers(2);
    for step in 0..20_000_u64 {
        // Scopes that bring as many names as there are, and then many more of both.
        let scope = match step {
            0..100 => format!("s{}", step % 4),
            _ => format!("s{}", numbers.below(1_000)),
        };
        let policy =
            if step % 50 == 7 { long.clone() } else { format!("p{}", numbers.below(5_000)) };
        counters.observe(&Event::new(&scope, &policy, Outcome::Denied).cost(3));
        *by_scope.entry(scope).or_default() += 3;
    }
    counters.observe(&Event::new("api", "late but declared", Outcome::Denied));

    let counted = counters.snapshot();
    let pairs: HashSet<_> = counted.iter().map(|c| (&*c.scope, &*c.policy)).collect();
    assert_eq!(pairs.len(), counted.len(), "each pair once");
    let (others, named): (Vec<_>, Vec<_>) =
        pairs.iter().partition(|pair| pair.1 == Counters::OTHERS);
    assert_eq!(named.len(), MOST, "so many have names of their own");
    assert!(others.len() <= MOST + 1, "{} rows of others", others.len());
    assert!(counted.iter().all(|c| c.policy.len() <= 256));

    let sum = |scope: &str| -> u64 {
        counted.iter().filter(|c| c.scope == scope).map(|c| c.tokens).sum()
    };
    assert_eq!(counted.iter().map(|c| c.tokens).sum::<u64>(), 20_000 * 3 + 1);
    for scope in ["s0", "s1", "s2", "s3"] {
        assert_eq!(sum(scope), by_scope[scope], "{scope}");
    }
    assert_eq!(sum("api"), 1);
    assert!(named.contains(&&("api", "late but declared")));
}

#[test]
fn a_policy_with_too_long_a_name_is_one_of_the_others_of_its_scope() {
    let counters = Counters::with_max_series(10);
    let [fits, long] = [256, 257].map(|length| "x".repeat(length));
    for (scope, policy) in [("api", &long), ("api", &fits), (&long, &fits), ("api", &long)] {
        counters.observe(&Event::new(scope, policy, Outcome::Admitted));
    }
    let counted = counters.snapshot();
    let rows: Vec<_> = counted.iter().map(|c| (&*c.scope, &*c.policy, c.requests)).collect();
    assert_eq!(rows, [("api", "others", 2), ("api", &*fits, 1), ("others", "others", 1)]);
}

#[test]
fn no_names_at_all_is_one_row() {
    let counters = Counters::with_max_series(0);
    for policy in ["a", "b", "others"] {
        counters.observe(&Event::new("api", policy, Outcome::Admitted));
    }
    let counted = counters.snapshot();
    assert_eq!(counted.len(), 1);
    assert_eq!(
        (&*counted[0].scope, &*counted[0].policy, counted[0].requests),
        ("others", "others", 3)
    );
}

/// Threads that bring the same new names at the same moment: nothing is lost, and no name is there twice.
#[test]
fn threads_that_bring_the_same_names_share_them() {
    const THREADS: u64 = 4;
    const NAMES: u64 = 300;
    let counters = Counters::with_max_series(200);
    let start = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                for round in 0..10 {
                    for name in 0..NAMES {
                        let policy = format!("p{name}");
                        counters
                            .observe(&Event::new("api", &policy, Outcome::Admitted).cost(round));
                    }
                }
            });
        }
    });
    let counted = counters.snapshot();
    assert_eq!(counted.len(), 201);
    for count in &counted {
        let names = if count.policy == Counters::OTHERS { 100 } else { 1 };
        assert_eq!(count.requests, names * THREADS * 10, "{}", count.policy);
        assert_eq!(count.tokens, names * THREADS * 45, "{}", count.policy);
    }
}

#[test]
fn names_are_fixed_and_all_there() {
    let names: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    let expected = [
        "admitted",
        "denied",
        "blocked",
        "store_full",
        "queued",
        "queue_full",
        "closed",
        "would_deny",
        "missing_key",
        "skipped",
        "gave_up",
    ];
    assert_eq!(names, expected);
    assert!(Outcome::ALL.is_sorted());
    let denials = Outcome::ALL.iter().filter(|outcome| outcome.is_denial());
    assert_eq!(denials.map(|outcome| outcome.name()).collect::<Vec<_>>(), expected[1..7]);
}

#[test]
fn all_in_a_tuple_or_a_list_are_told() {
    let [a, b, c, d] = [(); 4].map(|()| Counters::new());
    let event = Event::new("api", "default", Outcome::Admitted);
    (&a, Some(&b), vec![Box::new(&c) as Box<dyn Observer>], None::<Counters>).observe(&event);
    (&a, &d, ()).observe(&event);
    (&a, &b).observe(&event);
    let counted = [&a, &b, &c, &d].map(|counters| counters.snapshot()[0].requests);
    assert_eq!(counted, [3, 2, 1, 1]);
}

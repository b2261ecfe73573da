//! A replay decides as the exact rational model does on the same lines in the same order.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use brimful::{Algorithm, Nanos, Policy};
use brimful_lab::{Replay, Summary, combined};
use brimful_testkit::{KeyedModel, Outcome};

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");

/// What `brimful replay --algorithm all` prints of it with `--limit 10/min`.
const KEPT: &str = include_str!("../../brimful-cli/tests/access-log-all.txt");

struct Request {
    at: Nanos,
    key: String,
}

fn requests(log: &[u8]) -> Vec<Request> {
    let lines = log.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let events = lines.map(|line| combined::parse(line).unwrap());
    events.map(|event| Request { at: event.at, key: event.key.into_owned() }).collect()
}

/// What the model says of `requests` in their order.
fn outcomes(policy: &Policy, requests: &[Request]) -> Vec<Outcome> {
    let mut model = KeyedModel::new(policy);
    requests.iter().map(|request| model.acquire(&request.key, 1, request.at)).collect()
}

/// The requests that the model denies.
fn denied<'a>(
    requests: &'a [Request],
    outcomes: &'a [Outcome],
) -> impl Iterator<Item = &'a Request> {
    let pairs = requests.iter().zip(outcomes);
    pairs.filter(|(_, outcome)| !outcome.allowed).map(|(request, _)| request)
}

/// Key, denied, requests: the ten most denied.
fn top_denied(requests: &[Request], outcomes: &[Outcome]) -> Vec<(String, u64, u64)> {
    let mut counts: HashMap<&str, (u64, u64)> = HashMap::new();
    for (request, outcome) in requests.iter().zip(outcomes) {
        let count = counts.entry(&request.key).or_default();
        count.0 += u64::from(!outcome.allowed);
        count.1 += 1;
    }
    let denied = counts.into_iter().filter(|(_, (denied, _))| *denied > 0);
    let mut top: Vec<_> =
        denied.map(|(key, (denied, all))| (key.to_owned(), denied, all)).collect();
    top.sort_by_key(|(key, denied, all)| (Reverse(*denied), *all, key.clone()));
    top.truncate(10);
    top
}

fn assert_agrees(policy: &Policy, log: &[u8], requests: &[Request], reorder: Duration) {
    let expected = outcomes(policy, requests);
    let mut found = Vec::new();
    let summary = Replay::new(policy.clone())
        .reorder(reorder)
        .run(log, |decided| {
            found.push((decided.key.to_owned(), Outcome::from(&decided.decision)));
            Ok(())
        })
        .unwrap();
    let keys = requests.iter().map(|request| request.key.clone());
    let with_keys: Vec<_> = keys.zip(expected.iter().copied()).collect();
    assert!(found == with_keys, "a decision differs: {policy:?}");
    assert_summary(&summary, requests, &expected);
}

/// The figures of a summary are those of the model's outcomes.
fn assert_summary(summary: &Summary, requests: &[Request], expected: &[Outcome]) {
    let policy = &summary.policy;
    let admitted = expected.iter().filter(|outcome| outcome.allowed).count() as u64;
    let mut different: Vec<&str> = requests.iter().map(|request| &*request.key).collect();
    different.sort_unstable();
    different.dedup();
    assert_eq!(summary.requests, requests.len() as u64);
    assert_eq!(summary.keys, different.len() as u64);
    assert_eq!((summary.admitted, summary.denied), (admitted, summary.requests - admitted));
    assert!(summary.denied > 0, "{policy:?} denies nothing, so the test says little");
    let top = summary.top_denied.iter().map(|row| (row.key.clone(), row.denied, row.requests));
    assert_eq!(top.collect::<Vec<_>>(), top_denied(requests, expected));
    let denied_keys: HashSet<&str> =
        denied(requests, expected).map(|request| &*request.key).collect();
    assert_eq!(summary.denied_keys, denied_keys.len() as u64);
    let busiest = summary.busiest.unwrap();
    let of_second =
        |at: Nanos| at.as_nanos() / 1_000_000_000 * 1_000_000_000 == busiest.at.as_nanos();
    let in_busiest = denied(requests, expected).filter(|request| of_second(request.at)).count();
    assert_eq!(busiest.denied, in_busiest as u64);
    assert_eq!((summary.store.admitted, summary.store.denied), (summary.admitted, summary.denied));
}

fn policies() -> Vec<Policy> {
    let mut all = Vec::new();
    for algorithm in Algorithm::ALL {
        for specs in [&["5/min"][..], &["3 per 10s"], &["2/s", "4/min", "20/h"]] {
            all.push(brimful_lab::policy(specs, Some(algorithm)).unwrap());
        }
    }
    all.push(brimful_lab::policy(&["10/min burst 20"], None).unwrap());
    all.push(
        brimful_lab::policy(&["3/s sliding-log", "6/min burst 8", "9/h fixed-window"], None)
            .unwrap(),
    );
    all
}

/// What the model says of `requests` under one algorithm must be its column.
#[test]
fn all_algorithms_side_by_side() {
    let log = std::fs::read(LOG).unwrap();
    let mut requests = requests(&log);
    requests.sort_by_key(|request| request.at);
    for specs in [&["10/min"][..], &["10/min burst 20"], &["2/s", "4/min burst 7", "20/h"]] {
        let policy = brimful_lab::policy_of_any_algorithm(specs).unwrap();
        let all = Replay::new(policy).run_all(&*log).unwrap();
        if specs == ["10/min"] {
            // What the tool prints and is kept is what the model is compared with here.
            assert_eq!(all.to_string(), KEPT);
        }
        assert_eq!(all.summaries.len(), Algorithm::ALL.len());
        // Each policy is written out: only the token bucket keeps its burst.
        let without: Vec<String> =
            specs.iter().map(|spec| spec.split(" burst").next().unwrap().to_owned()).collect();
        let mut tops = HashMap::new();
        for (place, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            let policy = match algorithm {
                Algorithm::TokenBucket => brimful_lab::policy(specs, None).unwrap(),
                _ => brimful_lab::policy(&without, Some(algorithm)).unwrap(),
            };
            let summary = &all.summaries[place];
            assert_eq!(summary.policy, Some(policy.clone()));
            assert_summary(summary, &requests, &outcomes(&policy, &requests));
            // A key's row in the table of all has the figures of its own.
            for (key, denied, _) in top_denied(&requests, &outcomes(&policy, &requests)) {
                tops.entry(key).or_insert([0; 4])[place] = denied;
            }
        }
        let first = &all.top_denied[0];
        assert_eq!(first.denied, tops[&first.key]);
        assert_eq!(all.top_denied.len(), 10);
        // The same as four replays one by one.
        for (summary, policy) in
            all.summaries.iter().zip(all.summaries.iter().flat_map(|s| &s.policy))
        {
            let alone = Replay::new(policy.clone()).run(&*log, |_| Ok(())).unwrap();
            assert_eq!(*summary, alone);
        }
    }
}

#[test]
fn in_the_order_of_time_for_every_algorithm() {
    let log = std::fs::read(LOG).unwrap();
    let mut requests = requests(&log);
    requests.sort_by_key(|request| request.at);
    for policy in policies() {
        assert_agrees(&policy, &log, &requests, Duration::from_secs(60));
    }
}

/// Lines as they come, with times that go back by up to 59 s.
#[test]
fn in_the_order_of_the_lines_for_every_algorithm() {
    let log = std::fs::read(LOG).unwrap();
    let requests = requests(&log);
    for policy in policies() {
        assert_agrees(&policy, &log, &requests, Duration::ZERO);
    }
}

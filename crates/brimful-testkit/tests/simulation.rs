//! Ten thousand simulated traces; see `brimful_testkit::simulation` for what each must keep.
//!
//! `BRIMFUL_SEEDS=20000..30000` runs those of these seeds instead, without a look at how often each
//! event happened.

use std::env;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful_testkit::simulation::{self, Event, Totals};

const SEEDS: Range<u64> = 0..10_000;

#[test]
fn every_seed_keeps_the_invariants() {
    let wanted = env::var("BRIMFUL_SEEDS").ok();
    let seeds = wanted.as_deref().map_or(SEEDS, range);
    let (totals, failures) = run_all(&seeds);
    println!("seeds {seeds:?}: {totals}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if wanted.is_none() {
        everything_happened(&totals);
    }
}

fn range(text: &str) -> Range<u64> {
    let parse = |number: &str| number.parse::<u64>().ok();
    let ends = text.split_once("..").and_then(|(from, to)| Some((parse(from)?, parse(to)?)));
    let (from, to) = ends.filter(|(from, to)| from < to).expect("BRIMFUL_SEEDS is from..to");
    from..to
}

/// All seeds, spread over the processors; the first failures in the order of the seeds.
fn run_all(seeds: &Range<u64>) -> (Totals, Vec<String>) {
    const FAILURES: usize = 3;
    let next = AtomicU64::new(seeds.start);
    let sum = Mutex::new((Totals::default(), Vec::new()));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut totals = Totals::default();
        for _ in seeds.clone() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            match one(seed) {
                Ok(more) => totals.add(&more),
                Err(why) => sum.lock().unwrap().1.push((seed, why)),
            }
            if sum.lock().unwrap().1.len() >= FAILURES {
                break;
            }
        }
        sum.lock().unwrap().0.add(&totals);
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (totals, mut failures) = sum.into_inner().unwrap();
    failures.sort_unstable();
    (totals, failures.into_iter().map(|(_, why)| why).collect())
}

/// A panic is a failure too; its own words are above.
fn one(seed: u64) -> Result<Totals, String> {
    let replay = "cargo run -p brimful-testkit --example simulate --";
    match catch_unwind(AssertUnwindSafe(|| simulation::run(seed))) {
        Ok(Ok(totals)) => Ok(totals),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!("seed {seed} panicked: {replay} {seed}")),
    }
}

/// A generator that no longer makes something does not pass unseen, nor one that makes hardly
/// anything certain: about half of what these seeds make, and of doubts twice.
fn everything_happened(totals: &Totals) {
    for (event, least) in AT_LEAST {
        let times = totals.of(event);
        assert!(times >= least, "{event:?} happened {times} times, at least {least} were expected");
    }
    let doubts = totals.of(Event::Doubt) * 100 / totals.of(Event::Decision);
    assert!(doubts <= 8, "{doubts} of 100 decisions were about keys in more than one state");
}

const AT_LEAST: [(Event, u64); 27] = [
    (Event::Step, 450_000),
    (Event::Decision, 900_000),
    (Event::Allowed, 600_000),
    (Event::Denied, 250_000),
    (Event::Never, 45_000),
    (Event::Hint, 50_000),
    (Event::Look, 600_000),
    (Event::Lossless, 95_000),
    (Event::Forced, 100_000),
    (Event::Weighed, 13_000),
    (Event::Refused, 90_000),
    (Event::Timed, 7_000),
    (Event::NoEntries, 35_000),
    (Event::Shared, 95_000),
    (Event::LeftShared, 4_000),
    (Event::Back, 60_000),
    (Event::Stepped, 28_000),
    (Event::Anchored, 50_000),
    (Event::Changed, 32_000),
    (Event::Given, 10_000),
    (Event::TableFull, 500),
    (Event::Refund, 7_000),
    (Event::Reset, 280_000),
    (Event::Batch, 65_000),
    (Event::Together, 10_000),
    (Event::Apart, 10_000),
    (Event::Crowded, 100_000),
];

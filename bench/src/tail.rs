//! How long the slowest calls take while a full store is given new keys.

use std::sync::Barrier;

use crate::contenders::{self, Check, Contender, Entrant, Made, Setting};
use crate::keys::{self, Popularity, Random};
use crate::measure::{self, Values};
use crate::report::Report;
use crate::workload::{self, LIVE, Plan};

const THREADS: usize = 2;
/// One call in so many brings a new key.
const NEW_EVERY: u64 = 100;
const QUANTILES: [(&str, f64); 4] = [
    ("p999-bound/p50", 0.5),
    ("p999-bound/p99", 0.99),
    ("p999-bound/p99.9", 0.999),
    ("p999-bound/max", 1.0),
];

/// What it costs to read the clock twice: a part of every other row.
struct Clock;

impl Check<String> for Clock {
    fn check(&self, _: &String) -> bool {
        true
    }
}

struct Timed<'a> {
    name: &'static str,
    contender: &'a dyn Contender<String>,
    quantiles: [Values; QUANTILES.len()],
}

/// `filled` are the contenders that hold every live key already; brimful is made anew with limits
/// under which keys are full again soon, and under which every key owes.
pub fn measure(
    plan: &Plan,
    filled: &[(Entrant, Made<String>)],
    live: &[String],
    random: &mut Random,
    report: &mut Report,
) {
    let refilled = Setting::per_second(10, LIVE);
    let owing = Setting::per_hour(1, 1000, LIVE);
    let ours = [("brimful", refilled), ("brimful-owing", owing)];
    let ours = measure::by_twos(ours.into_iter(), |(name, setting)| {
        let contender: Made<String> = Box::new(contenders::Allow(contenders::limiter(&setting)));
        contender.run(live);
        (name, contender)
    });
    let clock: Made<String> = Box::new(Clock);
    let ours = ours.iter().map(|(name, contender)| (*name, contender));
    let others = filled.iter().filter(|(entrant, _)| !entrant.name.starts_with("brimful"));
    let others = others.map(|(entrant, contender)| (entrant.name, contender));
    let mut rows: Vec<Timed> = ours
        .chain(others)
        .chain([("clock", &clock)])
        .map(|(name, contender)| Timed {
            name,
            contender: contender.as_ref(),
            quantiles: Default::default(),
        })
        .collect();
    let mut new_keys = LIVE..;
    for _ in 0..plan.rounds {
        let keys = with_new(plan.tail_calls * THREADS, &mut new_keys, random);
        random.shuffle(&mut rows);
        for row in &mut rows {
            let times = times(row.contender, &keys);
            for ((_, share), values) in QUANTILES.iter().zip(&mut row.quantiles) {
                let rank = (times.len() as f64 * share).ceil() as usize;
                values.push(times[rank.clamp(1, times.len()) - 1] as f64);
            }
        }
    }
    rows.sort_by_key(|row| workload::place(row.name));
    for (index, (name, _)) in QUANTILES.iter().enumerate() {
        for row in &rows {
            report.figure(name, row.name, "ns", row.quantiles[index].clone());
        }
        report.ratios(name);
    }
}

/// Live keys, and here and there one that no contender has seen.
fn with_new(
    count: usize,
    new_keys: &mut impl Iterator<Item = u64>,
    random: &mut Random,
) -> Vec<String> {
    let live = Popularity::Uniform { live: LIVE };
    (0..count)
        .map(|_| {
            let new = if random.below(NEW_EVERY) == 0 { new_keys.next() } else { None };
            keys::text(new.unwrap_or_else(|| live.draw(random)), keys::TEXT)
        })
        .collect()
}

/// The times of all calls on all threads, in ascending order.
fn times(contender: &dyn Contender<String>, keys: &[String]) -> Vec<u64> {
    let barrier = Barrier::new(THREADS);
    let mut times = measure::on_threads(keys.chunks_exact(keys.len() / THREADS), |keys| {
        let mut times = Vec::with_capacity(keys.len());
        barrier.wait();
        contender.time_each(keys, &mut times);
        times
    })
    .concat();
    times.sort_unstable();
    times
}

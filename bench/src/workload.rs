//! The workloads by name: what each prepares, and what is asked of it.

use std::mem;
use std::time::Instant;

use crate::contenders::{self, Contender, Entrant, Made, Setting};
use crate::keys::{self, Popularity, Random, Zipf};
use crate::measure::{self, Values};
use crate::memory;
use crate::report::Report;
use crate::tail;

/// Each workload, and what is done in it.
pub const ALL: [(&str, &str); 15] = [
    (
        UNIFORM,
        "10^6 live keys of 24 bytes, asked for evenly, 1000 a second and burst 1000; one thread",
    ),
    ("text-1e6-zipf-1t", "the same, asked for by Zipf with exponent 1"),
    (
        "text-1e6-uniform-2t",
        "evenly, half of the calls on each of two threads; the slower one's time",
    ),
    (
        "text-1e6-zipf-2t",
        "by Zipf, half of the calls on each of two threads; the slower one's time",
    ),
    (BATCH, "brimful with 16 keys a call, time for each key; the others as in text-1e6-uniform-1t"),
    (NUMBERS, "10^7 live keys that are u64, asked for evenly; one thread"),
    ("hot-1e3-1t", "10^3 keys, asked for evenly, 10^9 a second; one thread"),
    ("hot-key-2t", "one key, 10^9 a second; two threads"),
    (DENIED, "10^6 keys, one an hour and burst 1, all spent; one thread"),
    (FIRST, "10^6 new keys for an empty limiter; one thread"),
    (CONSTRUCT, "making that limiter"),
    (
        BYTES,
        "what 10^6 keys ask of the allocator, and what is mapped beside it; after the slash the \
         length of the keys; \
         brimful-decision has brimful's store, governor-foldhash governor's",
    ),
    (RESIDENT, "by how much 10^6 keys make the process's resident memory grow"),
    (ALLOCATIONS, "allocations in a call for a live key"),
    (
        TAIL,
        "single calls on two threads, evenly over 10^6 live keys, one call in 100 with a new key; \
         brimful with room for 10^6 and 10 a second (new keys take refilled slots), brimful-owing \
         with one an hour and burst 1000 (every live key owes), the others as in \
         text-1e6-uniform-1t; clock is what reading the clock adds to each row",
    ),
];

const UNIFORM: &str = "text-1e6-uniform-1t";
const BATCH: &str = "text-1e6-batch16-1t";
const NUMBERS: &str = "u64-1e7-uniform-1t";
const DENIED: &str = "denied-1e6-1t";
const FIRST: &str = "first-1e6";
const CONSTRUCT: &str = "construct-1e6";
pub const BYTES: &str = "bytes-text-1e6";
pub const RESIDENT: &str = "rss-text-1e6";
pub const ALLOCATIONS: &str = "allocs-per-call";
const TAIL: &str = "p999-bound";

/// Keys that are live in most workloads.
pub const LIVE: u64 = 1_000_000;
const MANY: u64 = 10_000_000;

/// Nearly everything is admitted while keys are asked for evenly.
pub const USUAL: Setting = Setting::per_second(1000, LIVE);
/// Everything is admitted, however often the same key is asked for.
const AMPLE: Setting = Setting::per_second(1_000_000_000, 1000);
/// Every key is admitted once.
const ONCE: Setting = Setting::per_hour(1, 1, LIVE);

/// How much is measured.
pub struct Plan {
    pub rounds: usize,
    /// Calls of a contender in a round.
    pub calls: usize,
    /// Rounds of [`FIRST`], each with a new limiter.
    pub first_rounds: usize,
    /// Calls of each thread in a round of [`TAIL`].
    pub tail_calls: usize,
    /// Contenders whose memory is measured with long keys too; all when there are none.
    pub long_keys: &'static [&'static str],
    /// Whether [`NUMBERS`] is measured when it is not asked for by name.
    pub numbers: bool,
    /// Names asked for; all when there are none.
    pub only: Vec<String>,
}

impl Plan {
    pub const QUICK: Self = Self {
        rounds: 7,
        calls: 25_000,
        first_rounds: 1,
        tail_calls: 20_000,
        long_keys: &["brimful", "governor", "quota"],
        numbers: false,
        only: Vec::new(),
    };

    pub const FULL: Self = Self {
        rounds: 15,
        calls: 200_000,
        first_rounds: 7,
        tail_calls: 200_000,
        long_keys: &[],
        numbers: true,
        only: Vec::new(),
    };

    pub fn wants(&self, name: &str) -> bool {
        if self.only.is_empty() {
            name != NUMBERS || self.numbers
        } else {
            self.only.iter().any(|wanted| wanted == name)
        }
    }
}

/// Where a contender stands in lists: brimful, the peers, the floors.
pub fn place(name: &str) -> (bool, usize) {
    let entrants = contenders::all();
    let place = entrants.iter().position(|entrant| entrant.name == name);
    (!name.starts_with("brimful"), place.unwrap_or(entrants.len()))
}

/// A text workload with live keys.
struct Stream {
    name: &'static str,
    threads: usize,
    popularity: Popularity,
    /// How many calls are to be admitted, where that is the same for all.
    admits: Option<Admits>,
}

#[derive(Clone, Copy)]
enum Admits {
    All,
    Nothing,
}

type Filled = Vec<(Entrant, Made<String>)>;

/// Measures what the plan wants.
pub fn measure(plan: &Plan, entrants: &[Entrant], report: &mut Report) {
    let mut random = Random::new(1);
    memory::measure(plan, entrants, report);
    let live: Vec<String> = keys::each_once(LIVE).map(|id| keys::text(id, keys::TEXT)).collect();
    usual(plan, entrants, &live, &mut random, report);
    if plan.wants(DENIED) {
        let filled = fill(entrants, &ONCE, &live);
        let popularity = Popularity::Uniform { live: LIVE };
        let admits = Some(Admits::Nothing);
        let stream = Stream { name: DENIED, threads: 1, popularity, admits };
        stream.measure(plan, &filled, &mut random, report);
        leave(filled);
    }
    for (name, threads, keys) in [("hot-1e3-1t", 1, 1000), ("hot-key-2t", 2, 1)] {
        if plan.wants(name) {
            let hot: Vec<String> = (0..keys).map(|id| keys::text(id, keys::TEXT)).collect();
            let filled = fill(entrants, &AMPLE, &hot);
            let popularity = Popularity::Uniform { live: keys };
            let stream = Stream { name, threads, popularity, admits: Some(Admits::All) };
            stream.measure(plan, &filled, &mut random, report);
        }
    }
    drop(live);
    if plan.wants(NUMBERS) {
        numbers(plan, entrants, &mut random, report);
    }
}

/// Workloads that share one filled store of each contender.
fn usual(
    plan: &Plan,
    entrants: &[Entrant],
    live: &[String],
    random: &mut Random,
    report: &mut Report,
) {
    let uniform = || Popularity::Uniform { live: LIVE };
    let zipf = || Popularity::Zipf(Zipf::new(LIVE));
    let mut streams = vec![
        Stream { name: "text-1e6-zipf-1t", threads: 1, popularity: zipf(), admits: None },
        Stream {
            name: "text-1e6-uniform-2t",
            threads: 2,
            popularity: uniform(),
            admits: Some(Admits::All),
        },
        Stream { name: "text-1e6-zipf-2t", threads: 2, popularity: zipf(), admits: None },
    ];
    streams.retain(|stream| plan.wants(stream.name));
    let one_thread = plan.wants(UNIFORM) || plan.wants(BATCH);
    let fresh = plan.wants(FIRST) || plan.wants(CONSTRUCT);
    if streams.is_empty() && !one_thread && !fresh && !plan.wants(TAIL) {
        return;
    }
    let filled = if fresh {
        first(plan, entrants, live, random, report)
    } else {
        fill(entrants, &USUAL, live)
    };
    if one_thread {
        uniform_with_batch(plan, &filled, live, random, report);
    }
    for stream in streams {
        stream.measure(plan, &filled, random, report);
    }
    if plan.wants(TAIL) {
        tail::measure(plan, &filled, live, random, report);
    }
    leave(filled);
}

/// Makes and fills new limiters in rounds, and keeps those of the last.
fn first(
    plan: &Plan,
    entrants: &[Entrant],
    live: &[String],
    random: &mut Random,
    report: &mut Report,
) -> Filled {
    let mut found = vec![First::default(); entrants.len()];
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    let mut filled = Filled::new();
    for _ in 0..plan.first_rounds {
        measure::by_twos(filled.drain(..), drop);
        random.shuffle(&mut order);
        for &index in &order {
            let start = Instant::now();
            let contender = (entrants[index].text)(&USUAL);
            found[index].construct.push(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            contender.run(live);
            found[index].first.push(start.elapsed().as_nanos() as f64 / live.len() as f64);
            filled.push((entrants[index], contender));
        }
    }
    filled.sort_by_key(|(entrant, _)| place(entrant.name));
    for (name, unit) in [(CONSTRUCT, "ms"), (FIRST, "ns")] {
        if plan.wants(name) {
            for (entrant, found) in entrants.iter().zip(&found) {
                let values = if name == FIRST { &found.first } else { &found.construct };
                report.figure(name, entrant.name, unit, values.clone());
            }
            report.note(format!("note {name} rounds {}", plan.first_rounds));
        }
    }
    report.ratios(FIRST);
    filled
}

/// What was found of a contender while it was filled.
#[derive(Clone, Default)]
struct First {
    construct: Values,
    first: Values,
}

/// One limiter of each entrant that holds the keys; two are filled at a time.
fn fill(entrants: &[Entrant], setting: &Setting, keys: &[String]) -> Filled {
    let make = |entrant: &Entrant| {
        let contender = (entrant.text)(setting);
        contender.run(keys);
        contender
    };
    entrants.iter().copied().zip(measure::by_twos(entrants.iter(), make)).collect()
}

/// Leaves the memory to the end of the process: giving back millions of keys takes seconds.
fn leave(filled: Filled) {
    mem::forget(filled);
}

impl Stream {
    fn measure(&self, plan: &Plan, filled: &Filled, random: &mut Random, report: &mut Report) {
        let rows = rows(filled);
        let calls = plan.calls;
        let taken = measure::rounds(&rows, plan.rounds, self.threads, random, |random| {
            self.popularity.texts(random, calls)
        });
        for ((entrant, _), taken) in filled.iter().zip(taken) {
            note_admitted(self.name, entrant, &taken, self.admits, report);
            report.figure(self.name, entrant.name, "ns", taken.ns);
        }
        report.ratios(self.name);
    }
}

fn rows(filled: &Filled) -> Vec<&dyn Contender<String>> {
    filled.iter().map(|(_, contender)| contender.as_ref()).collect()
}

/// The row of one thread and even popularity, and in the same rounds brimful's calls with many keys.
fn uniform_with_batch(
    plan: &Plan,
    filled: &Filled,
    live: &[String],
    random: &mut Random,
    report: &mut Report,
) {
    let batch = contenders::batch(&USUAL);
    batch.run(live);
    let mut rows = rows(filled);
    rows.push(batch.as_ref());
    let popularity = Popularity::Uniform { live: LIVE };
    let mut taken = measure::rounds(&rows, plan.rounds, 1, random, |random| {
        popularity.texts(random, plan.calls)
    });
    let batch = taken.pop();
    if plan.wants(UNIFORM) {
        for ((entrant, _), taken) in filled.iter().zip(&taken) {
            note_admitted(UNIFORM, entrant, taken, Some(Admits::All), report);
            report.figure(UNIFORM, entrant.name, "ns", taken.ns.clone());
        }
        report.ratios("text-1e6-uniform-1t");
    }
    if let Some(batch) = batch.filter(|_| plan.wants(BATCH)) {
        report.figure(BATCH, "brimful", "ns", batch.ns);
        for ((entrant, _), taken) in filled.iter().zip(taken) {
            if !entrant.name.starts_with("brimful") {
                report.figure(BATCH, entrant.name, "ns", taken.ns);
            }
        }
        report.ratios(BATCH);
    }
}

/// Says so when a contender did not admit what the workload is for.
fn note_admitted(
    workload: &str,
    entrant: &Entrant,
    taken: &measure::Taken,
    admits: Option<Admits>,
    report: &mut Report,
) {
    let (wrong, expected) = match admits {
        None => return,
        Some(Admits::All) => (taken.calls - taken.admitted, "all"),
        Some(Admits::Nothing) => (taken.admitted, "none"),
    };
    // A thousandth may be what was refilled or spent besides.
    if entrant.decides && wrong * 1000 > taken.calls {
        report.note(format!(
            "inexact {workload} {} admitted {} of {} calls, expected {expected}",
            entrant.name, taken.admitted, taken.calls
        ));
    }
}

/// Ten million keys that are numbers, for those who take them.
fn numbers(plan: &Plan, entrants: &[Entrant], random: &mut Random, report: &mut Report) {
    for entrant in entrants.iter().filter(|entrant| entrant.number.is_none()) {
        report.note(format!("absent {} {NUMBERS}: takes text keys only", entrant.name));
    }
    let setting = Setting { keys: MANY, ..USUAL };
    let live: Vec<u64> = keys::each_once(MANY).collect();
    let able = || entrants.iter().filter_map(|entrant| Some((entrant, entrant.number?)));
    let filled = measure::by_twos(able(), |(_, make)| {
        let contender = make(&setting);
        contender.run(&live);
        contender
    });
    let rows: Vec<&dyn Contender<u64>> = filled.iter().map(AsRef::as_ref).collect();
    let taken = measure::rounds(&rows, plan.rounds, 1, random, |random| {
        (0..plan.calls).map(|_| random.below(MANY)).collect()
    });
    for ((entrant, _), taken) in able().zip(taken) {
        note_admitted(NUMBERS, entrant, &taken, Some(Admits::All), report);
        report.figure(NUMBERS, entrant.name, "ns", taken.ns);
    }
    report.ratios(NUMBERS);
}

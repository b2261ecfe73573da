//! Measurements of brimful beside its neighbours.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml -- --quick
//! cargo run --release --manifest-path bench/Cargo.toml -- --full
//! cargo run --release --manifest-path bench/Cargo.toml -- --quick --only hot-1e3-1t,first-1e6
//! ```
//!
//! Exit codes: 0 measured; 1 brimful did not decide as the model does, or allocated in a call; 2 the
//! arguments are wrong.
#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use brimful_bench::contenders::{self, Entrant};
use brimful_bench::report::{self, Page, Report};
use brimful_bench::trace;
use brimful_bench::workload::{self, Plan};

const USAGE: &str = "usage: brimful-bench --quick|--full [--only WORKLOAD[,WORKLOAD]...]
  --quick   all but the row of 10^7 keys, in less than a minute; prints
  --full    everything, with longer rounds; prints, and writes bench/RESULTS.md
  --only    these workloads alone; prints";

enum Wanted {
    Plan { plan: Plan, write: bool },
    Help,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match parse(&arguments) {
        Ok(Wanted::Plan { plan, write }) => measure(&plan, write),
        Ok(Wanted::Help) => {
            println!("{USAGE}\nworkloads:");
            for (name, what) in workload::ALL {
                println!("  {name}: {what}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("brimful-bench: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let mut plan = None;
    let mut only = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" | "--full" if plan.is_some() => {
                return Err("--quick or --full, once".to_owned());
            }
            "--quick" => plan = Some((Plan::QUICK, false)),
            "--full" => plan = Some((Plan::FULL, true)),
            "--only" => {
                let names = arguments.next().ok_or("--only needs a workload")?;
                only.extend(names.split(',').map(str::to_owned));
            }
            "--help" | "-h" => return Ok(Wanted::Help),
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    let (plan, full) = plan.ok_or("--quick or --full is missing")?;
    let names = workload::ALL.map(|(name, _)| name);
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(format!("no workload is named {unknown:?}; there are: {names}"));
    }
    let write = full && only.is_empty();
    Ok(Wanted::Plan { plan: Plan { only, ..plan }, write })
}

fn measure(plan: &Plan, write: bool) -> ExitCode {
    let start = Instant::now();
    let entrants = contenders::all();
    let mut report = Report::begin();
    report::note_absent(&mut report);
    if !decide_rightly(&entrants, &mut report) {
        return ExitCode::FAILURE;
    }
    workload::measure(plan, &entrants, &mut report);
    eprintln!("measured in {:.1} s", start.elapsed().as_secs_f64());
    if report.allocates() {
        eprintln!("brimful-bench: brimful allocates in calls for live keys");
        return ExitCode::FAILURE;
    }
    if write {
        match report.write(&page(&entrants)) {
            Ok(path) => eprintln!("wrote {}", path.display()),
            Err(error) => {
                eprintln!("brimful-bench: RESULTS.md was not written: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn page(entrants: &[Entrant]) -> Page {
    Page {
        file: "RESULTS.md",
        title: "Results",
        command: "cargo run --release --manifest-path bench/Cargo.toml -- --full",
        ratio: "The ratio is brimful's median to the contender's: below 1 brimful takes less.",
        workloads: &workload::ALL,
        contenders: entrants.iter().map(|Entrant { name, note, .. }| (*name, *note)).collect(),
    }
}

/// False when brimful does not; a peer that does not is noted.
fn decide_rightly(entrants: &[Entrant], report: &mut Report) -> bool {
    let mut right = true;
    let ours = trace::by_given_times().and_then(|()| trace::batch_by_own_clock());
    if let Err(difference) = ours {
        eprintln!("brimful-bench: brimful does not decide as the model does: {difference}");
        right = false;
    }
    for inexact in trace::by_own_clock(entrants) {
        if inexact.name.starts_with("brimful") {
            eprintln!("brimful-bench: {} is inexact: {}", inexact.name, inexact.reason);
            right = false;
        }
        report.note(format!("inexact {} {}", inexact.name, inexact.reason));
    }
    right
}

//! What the layer of brimful-tower costs a request, beside that of tower_governor.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml --features tower --bin tower -- --quick
//! cargo run --release --manifest-path bench/Cargo.toml --features tower --bin tower -- --full
//! ```
//!
//! Exit codes: 0 measured; 1 a contender let through what it should not or the reverse, or a server
//! could not be asked; 2 the arguments are wrong.
#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use brimful_bench::layer::contenders::ENTRANTS;
use brimful_bench::layer::{Plan, WORKLOADS, direct, served};
use brimful_bench::report::{Page, Report};

const USAGE: &str = "usage: tower --quick|--full
  --quick   everything, in less than a minute; prints
  --full    everything, with more rounds; prints, and writes bench/TOWER.md";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (plan, write) = match arguments[..] {
        ["--quick"] => (Plan::QUICK, false),
        ["--full"] => (Plan::FULL, true),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match measure(&plan, write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tower: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(plan: &Plan, write: bool) -> Result<(), String> {
    let start = Instant::now();
    let mut report = Report::begin();
    direct::measure(plan, &mut report)?;
    served::measure(plan, &mut report).map_err(|error| format!("a server: {error}"))?;
    eprintln!("measured in {:.1} s", start.elapsed().as_secs_f64());
    if write {
        let path =
            report.write(&page()).map_err(|error| format!("no page was written: {error}"))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

fn page() -> Page {
    let mut contenders: Vec<_> =
        ENTRANTS.iter().map(|entrant| (entrant.name, entrant.note)).collect();
    contenders.push(("bare-again", "the bare service in another server"));
    Page {
        file: "TOWER.md",
        title: "The layer",
        command: "cargo run --release --manifest-path bench/Cargo.toml --features tower --bin tower -- --full",
        ratio: "The ratio is brimful's median to the contender's: below 1 brimful takes less time, \
                or does less in a second.",
        workloads: &WORKLOADS,
        contenders,
    }
}

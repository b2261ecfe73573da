//! What keys take in memory: asked of the allocator or mapped, and resident. Each contender is
//! measured in a process of its own, because what one gives back another would get. That process is
//! another program, `src/bin/memory.rs`: it counts allocations, which would slow down those that are
//! timed.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::contenders::Entrant;
use crate::keys;
use crate::measure::{self, Values};
use crate::report::{self, Report};
use crate::workload::{ALLOCATIONS, BYTES, Plan, RESIDENT};

/// What is measured in processes of their own, two at a time: nothing is timed in them.
pub fn measure(plan: &Plan, entrants: &[Entrant], report: &mut Report) {
    let bytes = [BYTES, RESIDENT].into_iter().any(|name| plan.wants(name));
    if !bytes && !plan.wants(ALLOCATIONS) {
        return;
    }
    let program = match Program::build() {
        Ok(program) => program,
        Err(error) => return report.note(format!("absent all memory: {error}")),
    };
    if plan.wants(ALLOCATIONS) {
        match program.allocations_per_call() {
            Ok(allocations) => {
                let values = Values::from(allocations);
                report.figure(ALLOCATIONS, "brimful", "allocations", values);
            }
            Err(error) => report.note(format!("absent brimful {ALLOCATIONS}: {error}")),
        }
    }
    if bytes {
        bytes_per_key(plan, &program, entrants, report);
    }
}

fn bytes_per_key(plan: &Plan, program: &Program, entrants: &[Entrant], report: &mut Report) {
    // The floor of the hash alone has no store, and two have the store of another.
    const LEFT_OUT: [&str; 3] = ["floor-hash", "brimful-decision", "governor-foldhash"];
    let storing = |names: &'static [&'static str]| {
        entrants.iter().filter(move |entrant| {
            let wanted = names.is_empty() || names.contains(&entrant.name);
            wanted && !LEFT_OUT.contains(&entrant.name)
        })
    };
    for (length, names) in [(keys::TEXT, Default::default()), (200, plan.long_keys)] {
        let found = measure::by_twos(storing(names), |entrant| program.bytes(entrant.name, length));
        for name in [BYTES, RESIDENT].into_iter().filter(|name| plan.wants(name)) {
            let workload = format!("{name}/{length}");
            for (entrant, found) in storing(names).zip(&found) {
                report_bytes(&workload, entrant, found, report);
            }
            report.ratios(&workload);
            if !names.is_empty() {
                report.note(format!("note {workload} these contenders alone; all in a full run"));
            }
        }
    }
}

fn report_bytes(workload: &str, entrant: &Entrant, found: &io::Result<Bytes>, report: &mut Report) {
    match found {
        Ok(Bytes { allocated, resident }) => {
            let value = if workload.starts_with(BYTES) { *allocated } else { *resident };
            report.figure(workload, entrant.name, "B/key", Values::from(value));
        }
        Err(error) => report.note(format!("absent {} {workload}: {error}", entrant.name)),
    }
}

/// Bytes for each key.
struct Bytes {
    allocated: f64,
    resident: f64,
}

/// The program that measures memory.
struct Program(PathBuf);

impl Program {
    /// Builds it beside this one, with the same features.
    fn build() -> io::Result<Self> {
        let this = env::current_exe()?;
        let (Some(profile), Some(target)) = (this.parent(), this.ancestors().nth(2)) else {
            return Err(io::Error::other("this program is in no target directory"));
        };
        let features = [
            ("peers", cfg!(feature = "peers")),
            ("quota-slot-cache", cfg!(feature = "quota-slot-cache")),
        ];
        let features = features.into_iter().filter(|(_, on)| *on).map(|(name, _)| name);
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--locked", "--bin", "memory", "--no-default-features"]);
        build.args(["--features", &features.collect::<Vec<_>>().join(",")]);
        build.arg("--manifest-path").arg(report::bench().join("Cargo.toml"));
        build.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        if !build.status()?.success() {
            return Err(io::Error::other("it was not built"));
        }
        Ok(Self(profile.join("memory")))
    }

    /// Measures one contender.
    fn bytes(&self, contender: &str, length: usize) -> io::Result<Bytes> {
        match self.figures(&["bytes", contender, &length.to_string()])?[..] {
            [allocated, resident] => Ok(Bytes { allocated, resident }),
            _ => Err(io::Error::other("two figures were expected")),
        }
    }

    /// Allocations of brimful in a call for a live key.
    fn allocations_per_call(&self) -> io::Result<f64> {
        match self.figures(&["allocations"])?[..] {
            [allocations] => Ok(allocations),
            _ => Err(io::Error::other("one figure was expected")),
        }
    }

    fn figures(&self, arguments: &[&str]) -> io::Result<Vec<f64>> {
        let output = Command::new(&self.0).args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(said.trim().replace('\n', " ")));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        text.split_whitespace().map(|word| word.parse().map_err(io::Error::other)).collect()
    }
}

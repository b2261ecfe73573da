//! What keys take in memory: asked of the allocator, and resident. Each contender is measured in a
//! process of its own, because what one gives back another would get.

use std::alloc::System;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::process::Command;

use brimful::{Limit, Limiter};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::contenders::{Entrant, Setting};
use crate::keys;

/// Counts what is allocated: two additions for each allocation, which is all that it costs.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The argument by which this program measures one contender for itself.
pub const ARGUMENT: &str = "--memory-of";

/// Bytes for each key.
pub struct Bytes {
    pub allocated: f64,
    pub resident: f64,
}

/// Measures a contender in a new process.
pub fn of(entrant: &Entrant, length: usize) -> io::Result<Bytes> {
    let program = env::current_exe()?;
    let output =
        Command::new(program).args([ARGUMENT, entrant.name, &length.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.split_whitespace().map(str::parse);
    match (figures.next(), figures.next()) {
        (Some(Ok(allocated)), Some(Ok(resident))) if output.status.success() => {
            Ok(Bytes { allocated, resident })
        }
        _ => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// In that process: prints the two figures.
pub fn print(entrant: &Entrant, length: usize, setting: &Setting) {
    const DIGITS: usize = 8;
    let live = setting.keys;
    let mut key = [keys::text(0, length)];
    let before = resident();
    let region = Region::new(ALLOCATOR);
    let contender = (entrant.text)(setting);
    for id in keys::each_once(live) {
        // The end alone, in place: quick, and nothing else is allocated.
        key[0].truncate(length - DIGITS);
        write!(key[0], "{id:0DIGITS$}").expect("writing to a string");
        contender.run(&key);
    }
    let change = region.change();
    let allocated = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    let grown = resident() - before;
    println!("{} {}", allocated / live as f64, grown / live as f64);
}

/// Allocations of brimful in each of many calls for live keys.
pub fn allocations_per_call() -> f64 {
    const CALLS: u64 = 100_000;
    let limit = Limit::per_second(1000).expect("a limit within range");
    let limiter = Limiter::builder(limit).max_keys(CALLS).build().expect("enough memory");
    let keys: Vec<String> = keys::each_once(CALLS).map(|id| keys::text(id, keys::TEXT)).collect();
    let all = |keys: &[String]| keys.iter().filter(|key| limiter.allow(key)).count();
    all(&keys);
    let region = Region::new(ALLOCATOR);
    all(&keys);
    let change = region.change();
    (change.allocations + change.reallocations) as f64 / CALLS as f64
}

/// Resident bytes of this process.
fn resident() -> f64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let kilobytes = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Rss:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}

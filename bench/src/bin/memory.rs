//! Measures the memory of one contender, for `brimful-bench`, which builds and runs it.
//!
//! `memory bytes CONTENDER LENGTH` prints the bytes that each of many keys asks of the allocator, or
//! that were mapped for it, and by how many each makes the process's resident memory grow.
//! `memory allocations` prints the allocations of brimful in a call for a live key.
#![forbid(unsafe_code)]

use std::alloc::System;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use brimful_bench::contenders::{self, Entrant, Setting};
use brimful_bench::keys;
use brimful_bench::workload::USUAL;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["allocations"] => allocations_per_call(),
        ["bytes", name, length] => {
            let entrant = contenders::all().into_iter().find(|entrant| entrant.name == name);
            let (Some(entrant), Ok(length)) = (entrant, length.parse()) else {
                eprintln!("memory: no contender is named {name}, or {length} is no length");
                return ExitCode::from(2);
            };
            bytes_per_key(&entrant, length);
        }
        _ => {
            eprintln!("usage: memory bytes CONTENDER LENGTH | memory allocations");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn bytes_per_key(entrant: &Entrant, length: usize) {
    const DIGITS: usize = 8;
    let live = USUAL.keys;
    let mut key = [keys::text(0, length)];
    let (before, mapped_before) = (resident(), kilobytes("status", "VmSize:"));
    let region = Region::new(ALLOCATOR);
    let contender = (entrant.text)(&USUAL);
    // A store may be mapped beside the allocator. What the allocator maps in advance is less.
    const IN_ADVANCE: f64 = 1024.0 * 1024.0;
    let mapped = kilobytes("status", "VmSize:") - mapped_before - grown_by(&region);
    let mapped = if mapped > IN_ADVANCE { mapped } else { 0.0 };
    for id in keys::each_once(live) {
        // The end alone, in place: quick, and nothing else is allocated.
        key[0].truncate(length - DIGITS);
        write!(key[0], "{id:0DIGITS$}").expect("writing to a string");
        contender.run(&key);
    }
    let allocated = grown_by(&region) + mapped;
    let grown = resident() - before;
    println!("{} {}", allocated / live as f64, grown / live as f64);
}

/// Bytes that were asked of the allocator and not given back.
fn grown_by(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    change.bytes_allocated as f64 - change.bytes_deallocated as f64
}

fn allocations_per_call() {
    const CALLS: u64 = 100_000;
    let limiter = contenders::limiter(&Setting::per_second(1000, CALLS));
    let keys: Vec<String> = keys::each_once(CALLS).map(|id| keys::text(id, keys::TEXT)).collect();
    let all = |keys: &[String]| keys.iter().filter(|key| limiter.allow(key)).count();
    all(&keys);
    let region = Region::new(ALLOCATOR);
    all(&keys);
    let change = region.change();
    println!("{}", (change.allocations + change.reallocations) as f64 / CALLS as f64);
}

/// Resident bytes of this process.
fn resident() -> f64 {
    kilobytes("smaps_rollup", "Rss:")
}

/// What a file on this process says in kilobytes, in bytes.
fn kilobytes(file: &str, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}

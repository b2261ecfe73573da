//! Writes a JSON lines log to stdout, the same for the same arguments:
//!
//! ```text
//! cargo run --release -p brimful-lab --example gen_jsonl -- LINES KEYS [SEED]
//! ```
//!
//! 1,000 events a second on average, in order, of keys of which some are busier than others.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: gen_jsonl LINES KEYS [SEED], whole numbers, KEYS at least 1";

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|arg| arg.parse()).collect();
    let (lines, keys, seed) = match numbers.as_deref() {
        Ok([lines, keys @ 1..=u64::MAX]) => (*lines, *keys, 1),
        Ok([lines, keys @ 1..=u64::MAX, seed]) => (*lines, *keys, *seed),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match write(lines, keys, seed) {
        Err(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: {fault}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn write(lines: u64, keys: u64, seed: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let mut state = seed;
    // 2024-01-01T00:00:00Z
    let mut at_ns = 1_704_067_200_000_000_000_u64;
    for _ in 0..lines {
        let draw = next(&mut state);
        at_ns += draw % 2_000_000;
        // The lesser of two draws: low numbers are the busy keys.
        let key = ((draw >> 32) % keys).min(next(&mut state) % keys);
        writeln!(out, r#"{{"at_ns": {at_ns}, "key": "user-{key}", "cost": {}}}"#, 1 + draw % 3)?;
    }
    out.flush()
}

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

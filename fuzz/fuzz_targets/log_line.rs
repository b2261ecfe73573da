//! Any bytes as a log.
#![no_main]

#[path = "../../crates/brimful-lab/tests/log_lines/mod.rs"]
mod log_lines;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| log_lines::check(bytes));

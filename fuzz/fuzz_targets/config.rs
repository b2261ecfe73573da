//! Any bytes as a file of rules, or as one to import.
#![no_main]

#[path = "../../crates/brimful-config/tests/any_file/mod.rs"]
mod any_file;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_file::check(bytes));

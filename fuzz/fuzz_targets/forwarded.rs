//! Any bytes as the headers that say who a client is.
#![no_main]

#[path = "../../crates/brimful-tower/tests/keys/any_headers/mod.rs"]
mod any_headers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_headers::check(bytes));

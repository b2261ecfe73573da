//! Any text as a limit, a policy, a name and a pattern.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brimful_testkit::fuzz::limit(bytes));

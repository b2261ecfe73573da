//! Any calls to any limiter, beside the exact model.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brimful_testkit::fuzz::limiter(bytes));

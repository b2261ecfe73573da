//! The inputs that fuzzing found, checked once more.

use brimful_testkit::fuzz::{self, corpus};

#[test]
fn limiter() {
    corpus::replay("limiter", fuzz::limiter);
}

#[test]
fn limit() {
    corpus::replay("limit", fuzz::limit);
}

#[test]
fn a_file_that_ends_within_an_input_is_refused() {
    assert_eq!(corpus::unpack(&[1, 0, 7, 0, 0, 2, 0, 8, 9]).unwrap(), [&[7][..], &[], &[8, 9]]);
    for cut in [&[1][..], &[1, 0], &[1, 0, 7, 2, 0, 8]] {
        assert!(corpus::unpack(cut).is_err());
    }
}

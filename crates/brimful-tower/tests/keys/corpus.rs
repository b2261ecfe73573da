//! The inputs that fuzzing found, checked once more.

use brimful_testkit::fuzz::corpus;

#[test]
fn forwarded() {
    corpus::replay("forwarded", crate::any_headers::check);
}

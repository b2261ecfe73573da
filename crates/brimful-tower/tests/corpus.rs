//! The inputs that fuzzing found, checked once more.

mod any_headers;

use brimful_testkit::fuzz::corpus;

#[test]
fn forwarded() {
    corpus::replay("forwarded", any_headers::check);
}

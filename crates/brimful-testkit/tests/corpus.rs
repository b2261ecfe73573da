//! The inputs that fuzzing found, checked once more.

use brimful_testkit::fuzz::{self, corpus};

#[test]
fn limit() {
    corpus::replay("limit", fuzz::limit);
}

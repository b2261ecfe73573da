//! The inputs that fuzzing found, checked once more.

mod any_file;

use brimful_testkit::fuzz::corpus;

#[test]
fn config() {
    corpus::replay("config", any_file::check);
}

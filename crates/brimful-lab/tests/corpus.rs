//! The inputs that fuzzing found, checked once more.

mod log_lines;

use brimful_testkit::fuzz::corpus;

#[test]
fn log_line() {
    corpus::replay("log_line", log_lines::check);
}

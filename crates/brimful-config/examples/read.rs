//! Reads a file of rules and prints what is wrong with it.
use brimful_config::Config;
fn main() {
    for path in std::env::args().skip(1) {
        match Config::load(&path) {
            Ok(config) => println!("{:?}", config.rules()),
            Err(error) => println!("{error:#}"),
        }
    }
}

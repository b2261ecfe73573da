//! Tells the story of one simulated trace, one line a step:
//!
//! ```text
//! cargo run -p brimful-testkit --example simulate -- 42
//! cargo run -p brimful-testkit --example simulate -- 42 --from 100
//! ```
//!
//! Exit code 1: the limiter did what it must not, and the last line says what. 2: the arguments
//! cannot be read.

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use brimful_testkit::simulation;

const USAGE: &str = "usage: simulate SEED [--from STEP]";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match parse(&arguments) {
        Ok((seed, from)) => tell(seed, from),
        Err(fault) => {
            eprintln!("{fault}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The seed, and the step from which on to tell.
fn parse(arguments: &[String]) -> Result<(u64, u64), String> {
    let number = |what: &str, text: &String| {
        text.parse::<u64>().map_err(|_| format!("{what} is `{text}`, expected a whole number"))
    };
    match arguments {
        [seed] => Ok((number("the seed", seed)?, 0)),
        [seed, option, from] if option == "--from" => {
            Ok((number("the seed", seed)?, number("--from", from)?))
        }
        [] => Err("no seed was given".to_owned()),
        [_, option, ..] => Err(format!("`{option}` is not understood")),
    }
}

fn tell(seed: u64, from: u64) -> ExitCode {
    let story = simulation::story(seed);
    let number = |line: &str| line.split_whitespace().next().and_then(|word| word.parse().ok());
    let is_told = |line: &&String| {
        !line.starts_with(' ') || number(line).is_none_or(|step: u64| step >= from)
    };
    let mut out = io::stdout().lock();
    for line in story.lines.iter().filter(is_told) {
        if writeln!(out, "{line}").is_err() {
            // Nobody reads on.
            return ExitCode::SUCCESS;
        }
    }
    match story.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            eprintln!("step {}: {}", failure.step, failure.why);
            ExitCode::FAILURE
        }
    }
}

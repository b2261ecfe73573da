//! `brimful`: the command-line tool.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod args;
mod compare;
mod config;
mod failure;
mod key;
mod progress;
mod replay;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Replay(args) => replay::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Config(command) => config::run(&command),
        Command::Schema => config::schema(),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

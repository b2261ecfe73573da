//! What can be said on the command line.

mod replay;

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};

use crate::compare::CompareArgs;
use crate::config::ConfigCommand;
pub(crate) use replay::{Choice, ReplayArgs};

/// Those of all commands.
const EXIT_CODES: &str = "\
Exit codes:
  0  done; also when nobody reads the output any more (`| head`)
  1  --strict, and there were bad lines or warnings
  2  the arguments, the input or the output cannot be used";

/// An exact, keyed, bounded rate limiter.
#[derive(Debug, Parser)]
#[command(name = "brimful", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what a limit would have done to a log
    ///
    /// Reads a log in virtual time, which is the log's own, and prints what the limit would have
    /// done: how many requests of which keys it would have denied, and what that takes to remember.
    #[command(
        after_help = replay::EXIT_CODES,
        after_long_help = format!("{}\n{}", replay::NOTES, replay::EXIT_CODES)
    )]
    Replay(ReplayArgs),

    /// Say what a limit admits at worst under each algorithm
    ///
    /// Puts the four algorithms side by side for a limit: the memory that a key takes, and the worst
    /// burst, by formula and as measured with requests that try to get the most out of it.
    Compare(CompareArgs),

    /// Check files of rules, explain what they say, import those of others
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Print the JSON Schema of files of rules, for editors
    Schema,
}

/// One of `names`, which are listed in the help.
fn one_of<T>(names: impl Into<PossibleValuesParser>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    names.into().try_map(|name| name.parse::<T>())
}

fn whole_number(text: &str) -> Result<u64, String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // Above the range of any option, which names it.
        Ok(text.parse().unwrap_or(u64::MAX))
    } else {
        Err("expected a whole number".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brimful::Algorithm;
    use clap::CommandFactory;
    use proptest::prelude::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    proptest! {
        /// Whatever stands behind the options, it is read or refused.
        #[test]
        fn arguments_never_panic(limit in ".*", reorder in ".*", keys in ".*", key in ".*") {
            let args = ["brimful", "replay", "-", "--limit", &limit, "--reorder", &reorder, "--max-keys", &keys, "--key", &key];
            if let Ok(args) = Args::try_parse_from(args) {
                let Command::Replay(args) = args.command else { unreachable!() };
                for algorithm in [None, Some(Algorithm::SlidingLog)] {
                    let _ = brimful_lab::policy(&args.limits, algorithm);
                }
                let _ = brimful_lab::policy_of_any_algorithm(&args.limits);
            }
            let args = ["brimful", "config", "explain", "-", "--key-json", &key, "--tier", &limit];
            let _ = Args::try_parse_from(args);
        }
    }
}

//! What can be said on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use brimful::{Algorithm, LimiterBuilder, Overflow};
use brimful_lab::Format;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};

use crate::compare::CompareArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done; also when nobody reads the output any more (`| head`)
  1  --strict, and there were bad lines
  2  the arguments, the input or the output cannot be used";

const REPLAY_NOTES: &str = "\
Limits:
  10/s, 100/min, 5 per 30s, 10/s burst 100, 100/h fixed-window, `api: 10/s`; or one of the words
  unlimited and blocked. Units: ms, s, min, h, day, week, month (30 days), year (365 days).

Formats:
  combined  host ident user [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1234 ...
            The key is the host. Every request costs 1.
  jsonl     {\"at_ns\": 5300000000, \"key\": \"k\", \"cost\": 1, \"op\": \"acquire\"}
            `\"at\": \"5.3\"`, in seconds, may stand for at_ns. cost is 1 when absent, and 0 is a look.
            op is acquire (when absent), peek or refund.

Bad lines give no decision and stop nothing. Their number is in the summary, and the first five are
shown on stderr.

Fields of --decisions, in the order in which events are decided:
  at_ns key cost allowed remaining retry_after_ns never reset_after_ns policy limit line
  op (when not acquire)  refunded (of a refund; its other fields are those of a look right after it)
  remaining is null without a limit; retry_after_ns is null when allowed and when never;
  limit is null when no limit decided.

Fields of --json, where times are nanoseconds since the Unix epoch:
  format lines requests keys admitted denied denied_per_mille denied_never peeks refunds
  refunded_tokens first_ns last_ns
  busiest_second  at_ns requests admitted denied reopened
                  (reopened: seconds that may be counted in parts)
  out_of_order    lines most_ns buffer_ns late released_early
                  (lines: earlier than the line before; most: the most that a line lay behind the
                  latest before it; late: came when a later line had been decided)
  bad_lines       count first [line reason]
  policy          unlimited, blocked, or the policy's name
  limits          [name spec algorithm tokens period_ns capacity bound]
                  (bound: the worst case in words)
  top_denied      [key denied requests denied_per_mille]
  store           max_keys slots occupied bytes evicted_lossless evicted_forced forgiven_tokens
                  store_full shared left_shared log_entries max_log_entries
";

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
    #[command(after_help = EXIT_CODES, after_long_help = format!("{REPLAY_NOTES}\n{EXIT_CODES}"))]
    Replay(ReplayArgs),

    /// Say what a limit admits at worst under each algorithm
    ///
    /// Puts the four algorithms side by side for a limit: the memory that a key takes, and the worst
    /// burst, by formula and as measured with requests that try to get the most out of it.
    Compare(CompareArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The log; - reads standard input
    pub(crate) file: PathBuf,

    /// A limit, for example `100/min burst 20`; repeated, all of them must admit
    #[arg(long = "limit", value_name = "SPEC", required = true, allow_hyphen_values = true)]
    pub(crate) limits: Vec<String>,

    /// How every limit is enforced that does not say so itself [default: token-bucket]
    #[arg(long, value_name = "A", value_parser = one_of::<Algorithm>(Algorithm::ALL.map(Algorithm::name)))]
    pub(crate) algorithm: Option<Algorithm>,

    /// How the log is written [default: jsonl if its first line begins with `{`, else combined]
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<Format>(["combined", "jsonl"]))]
    pub(crate) format: Option<Format>,

    /// Hold events back this long, in the log's time, to decide them in order; at most a million of
    /// them [default: 60s for combined, 0 for jsonl]
    #[arg(long, value_name = "DUR", value_parser = brimful_lab::parse_span, allow_hyphen_values = true)]
    pub(crate) reorder: Option<Duration>,

    /// Print every decision, one JSON object a line, instead of the summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) decisions: bool,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// How many keys can owe at once without any being forgotten
    #[arg(
        long,
        value_name = "N",
        default_value_t = LimiterBuilder::DEFAULT_MAX_KEYS,
        value_parser = whole_number,
        allow_hyphen_values = true
    )]
    pub(crate) max_keys: u64,

    /// What happens to a new key when the store is full
    #[arg(
        long,
        value_name = "HOW",
        default_value_t = Overflow::default(),
        value_parser = one_of::<Overflow>(["evict", "refuse", "share"])
    )]
    pub(crate) overflow: Overflow,

    /// Exit with 1 when there were bad lines
    #[arg(long)]
    pub(crate) strict: bool,
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
    use clap::CommandFactory;
    use proptest::prelude::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    proptest! {
        /// Whatever stands behind the options, it is read or refused.
        #[test]
        fn arguments_never_panic(limit in ".*", reorder in ".*", keys in ".*") {
            let args = ["brimful", "replay", "-", "--limit", &limit, "--reorder", &reorder, "--max-keys", &keys];
            if let Ok(args) = Args::try_parse_from(args) {
                let Command::Replay(args) = args.command else { unreachable!() };
                for algorithm in [None, Some(Algorithm::SlidingLog)] {
                    let _ = brimful_lab::policy(&args.limits, algorithm);
                }
            }
        }
    }
}

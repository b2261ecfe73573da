//! `brimful compare`.

use std::io::{self, Write};
use std::process::ExitCode;

use brimful_lab::Comparison;

use crate::failure::Failure;

const EXIT_CODES: &str = "\
Exit codes:
  0  done; also when nobody reads the output any more (`| head`)
  2  the arguments or the output cannot be used";

const NOTES: &str = "\
The table:
  bytes per key  what a key takes in memory: its slot, and for a log as many entries as one key can
                 hold; measured by what a further slot and entry add to a store. A store has five
                 slots for four of the keys that it is built for.
  at once        requests at one time, or at two that are 1ns apart
  in any W       requests that are less than one period apart, wherever that begins
  bound          the most there can be, by formula
  measured       the most that a limiter admitted to requests that take all they can get: at the
                 start, in the last nanosecond and in the middle of a window of the clock, then
                 whenever the hints allow. Above 10000 tokens a period they ask for several at once.
                 >= : stopped after 200000 of them, there may be more (of a bucket that earns more
                 than so many times its capacity in a period)
  Windows are those of the clock, from the Unix epoch in UTC; so are the times.

Limits:
  10/s, 100/min, 5 per 30s, 10/s burst 100, `api: 10/s`. Units: ms, s, min, h, day, week, month
  (30 days), year (365 days). The burst counts for token-bucket alone; the other algorithms admit N
  per period and have none. If the limit names an algorithm, the table is the same.

Fields of --json, one object for each limit, where times are nanoseconds since the Unix epoch:
  name spec tokens period_ns capacity
                  (the limit, as a token bucket)
  algorithms      [algorithm cannot state at_once in_period formula choose]
                  (cannot: why the limit cannot be enforced by it, and then state, at_once and
                  in_period are null; else null)
  state           bytes slot_bytes log_entries log_entry_bytes
                  (bytes: slot_bytes + log_entries x log_entry_bytes)
  at_once, in_period
                  bound measured complete extent_ns parts
                  (complete: false where the table says >=; extent: from the first to the last token)
  parts           [from_ns to_ns tokens]
                  (the first time that admitted any, and what followed, if any)
";

/// The arguments of `brimful compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES, after_long_help = format!("{NOTES}\n{EXIT_CODES}"))]
pub(crate) struct CompareArgs {
    /// A limit, for example `100/min burst 20`; repeated, each has its own table
    #[arg(long = "limit", value_name = "SPEC", required = true, allow_hyphen_values = true)]
    pub(crate) limits: Vec<String>,

    /// Print each comparison as one JSON object, on a line of its own
    #[arg(long)]
    pub(crate) json: bool,
}

/// Nothing is printed unless all limits can be compared.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let comparisons = args.limits.iter().map(|spec| Comparison::parse(spec));
    let comparisons = comparisons.collect::<Result<Vec<_>, _>>()?;
    let mut out = io::stdout().lock();
    for (place, comparison) in comparisons.iter().enumerate() {
        if args.json {
            writeln!(out, "{}", comparison.to_json())?;
        } else {
            let gap = if place == 0 { "" } else { "\n" };
            write!(out, "{gap}{comparison}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

//! `brimful config check`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brimful_config::{Config, Error, Fault, Lint};
use serde::Serialize;

use super::{SyntaxArgs, is_stdin, load};
use crate::failure::{Failure, UNUSABLE};

/// The exit code for warnings under `--strict`.
const WARNINGS: u8 = 1;

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  all files are good; also when nobody reads the output any more (`| head`)
  1  --strict, and there were warnings
  2  a file is refused, or the arguments or the output cannot be used";

pub(super) const NOTES: &str = "\
What is found is what the command is asked for, so all of it is on stdout: a line for each file that
says whether it is good, then its faults, or when it is good its warnings. A file that cannot be read
is a fault of that file. Faults of meaning are all told at once, up to 100; a fault of TOML or YAML
itself alone. Warnings do not make a file bad; --strict does.

Fields of --json, one object for each file, on a line of its own:
  file good       (good: it is not refused)
  rules policies members
                  how many; null when it is refused
  files           those that were read or looked for, with those of members
  faults          [file line column found expected also], at most 100
                  (line and column: from 1, in characters; 0 when the file cannot be read)
  also            [what file line column], other places that the fault is about
  more_faults     how many there are beyond those
  warnings        [file line column kind text]
";

/// The arguments of `brimful config check`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Files of rules; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    syntax: SyntaxArgs,

    /// Print what is found in each file as one JSON object
    #[arg(long)]
    json: bool,

    /// Exit with 1 when there were warnings
    #[arg(long)]
    strict: bool,
}

/// What was found in a file.
#[derive(Serialize)]
struct Found<'a> {
    file: &'a Path,
    good: bool,
    rules: Option<usize>,
    policies: Option<usize>,
    members: Option<usize>,
    files: &'a [PathBuf],
    faults: &'a [Fault],
    more_faults: usize,
    warnings: &'a [Lint],
}

/// Every file is read, whatever is wrong with another.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let syntax = args.syntax.checked(&args.files)?;
    if args.files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Failure::StdinTwice);
    }
    let mut out = io::stdout().lock();
    let (mut refused, mut warned) = (false, false);
    for file in &args.files {
        let read = load(file, syntax);
        let lints = read.as_ref().map(Config::lints).unwrap_or_default();
        refused |= read.is_err();
        warned |= !lints.is_empty();
        if args.json {
            serde_json::to_writer(&mut out, &found(file, &read, &lints))
                .map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            say(&mut out, file, &read, &lints)?;
        }
    }
    out.flush()?;
    Ok(match (refused, warned && args.strict) {
        (true, _) => ExitCode::from(UNUSABLE),
        (_, true) => ExitCode::from(WARNINGS),
        _ => ExitCode::SUCCESS,
    })
}

fn say(
    out: &mut impl Write,
    file: &Path,
    read: &Result<Config, Error>,
    lints: &[Lint],
) -> io::Result<()> {
    let name = file.display();
    match read {
        Ok(config) => {
            let rules = counted(config.rule_count(), "rule", "rules");
            let policies = counted(config.policy_count(), "policy", "policies");
            write!(out, "{name}: good, with {rules} and {policies}")?;
            match config.member_count() {
                0 => writeln!(out)?,
                members => writeln!(out, ", and {}", counted(members, "member", "members"))?,
            }
            lints.iter().try_for_each(|lint| writeln!(out, "warning: {lint}"))
        }
        Err(error) => {
            let faults = error.faults().len().saturating_add(error.more());
            writeln!(out, "{name}: refused, for {}", counted(faults, "fault", "faults"))?;
            // The alternate form shows the line with a caret.
            error.faults().iter().try_for_each(|fault| writeln!(out, "error: {fault:#}"))?;
            match error.more() {
                0 => Ok(()),
                more => writeln!(out, "and {more} more"),
            }
        }
    }
}

fn found<'a>(file: &'a Path, read: &'a Result<Config, Error>, lints: &'a [Lint]) -> Found<'a> {
    let (config, error) = (read.as_ref().ok(), read.as_ref().err());
    Found {
        file,
        good: config.is_some(),
        rules: config.map(Config::rule_count),
        policies: config.map(Config::policy_count),
        members: config.map(Config::member_count),
        files: match read {
            Ok(config) => config.files(),
            Err(error) => error.files(),
        },
        faults: error.map_or(&[], Error::faults),
        more_faults: error.map_or(0, Error::more),
        warnings: lints,
    }
}

/// `1 rule`, `2 rules`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

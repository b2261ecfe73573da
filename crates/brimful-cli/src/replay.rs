//! `brimful replay`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use brimful_config::Syntax;
use brimful_lab::{BadLines, Replay};

use crate::args::{Choice, ReplayArgs};
use crate::config::{self, is_stdin};
use crate::failure::{self, Failure};
use crate::progress;

/// The exit code for bad lines under `--strict`.
const BAD_LINES: u8 = 1;

/// Data go to stdout, words to stderr.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    let replay = replay(args)?;
    // A bar and decisions on one terminal would run into each other.
    let bar = !(args.decisions && io::stdout().is_terminal());
    let log = open(&args.file, bar)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let bad = match args.algorithm {
        Some(Choice::All) => all(args, replay, log, &mut out)?,
        Some(Choice::One(_)) | None => one(args, replay, log, &mut out)?,
    };
    out.flush()?;
    failure::say_bad_lines(&bad);
    if args.strict && bad.count > 0 {
        return Ok(ExitCode::from(BAD_LINES));
    }
    Ok(ExitCode::SUCCESS)
}

/// Replays under one algorithm, or each limit under its own.
fn one(
    args: &ReplayArgs,
    replay: Replay,
    log: impl Read,
    out: &mut impl Write,
) -> Result<BadLines, Failure> {
    let summary = replay
        .run(log, |decided| if args.decisions { decided.write_json(out) } else { Ok(()) })
        .map_err(|fault| Failure::replay(&args.file, fault));
    let summary = match summary {
        Ok(summary) => summary,
        Err(failure) => {
            // What was decided before is good; the failure is worth more than one of writing it.
            let _ = out.flush();
            return Err(failure);
        }
    };
    if args.json {
        writeln!(out, "{}", summary.to_json())?;
    } else if !args.decisions {
        write!(out, "{summary}")?;
    }
    Ok(summary.bad_lines)
}

/// Replays under each algorithm.
fn all(
    args: &ReplayArgs,
    replay: Replay,
    log: impl Read,
    out: &mut impl Write,
) -> Result<BadLines, Failure> {
    let all = replay.run_all(log).map_err(|fault| Failure::replay(&args.file, fault))?;
    if args.json {
        writeln!(out, "{}", all.to_json())?;
    } else {
        write!(out, "{all}")?;
    }
    let first = all.summaries.into_iter().next();
    Ok(first.map_or_else(BadLines::default, |summary| summary.bad_lines))
}

/// Everything that the arguments say but the log.
fn replay(args: &ReplayArgs) -> Result<Replay, Failure> {
    let mut replay = match &args.config {
        Some(config) => by_rules(args, config)?,
        None => by_limits(args)?,
    };
    replay = replay.top(args.top);
    if let Some(format) = args.format {
        replay = replay.format(format);
    }
    if let Some(template) = &args.key {
        replay = replay.key(template.clone());
    }
    if let Some(name) = &args.time_field {
        replay = replay.time_field(name);
    }
    if let Some(unit) = args.time_unit {
        replay = replay.time_unit(unit);
    }
    if let Some(name) = &args.cost_field {
        replay = replay.cost_field(name);
    }
    if let Some(span) = args.reorder {
        replay = replay.reorder(span);
    }
    Ok(replay)
}

/// Every key gets the same limits.
fn by_limits(args: &ReplayArgs) -> Result<Replay, Failure> {
    let policy = match args.algorithm {
        Some(Choice::All) if args.decisions => return Err(Failure::DecisionsOfAll),
        Some(Choice::All) => brimful_lab::policy_of_any_algorithm(&args.limits)?,
        Some(Choice::One(algorithm)) => brimful_lab::policy(&args.limits, Some(algorithm))?,
        None => brimful_lab::policy(&args.limits, None)?,
    };
    let mut replay = Replay::new(policy);
    if let Some(max_keys) = args.max_keys {
        replay = replay.max_keys(max_keys);
    }
    if let Some(overflow) = args.overflow {
        replay = replay.overflow(overflow);
    }
    if let Some(entries) = args.max_log_entries {
        replay = replay.max_log_entries(entries);
    }
    Ok(replay)
}

/// A file says what each key gets, and what the store is like.
fn by_rules(args: &ReplayArgs, file: &Path) -> Result<Replay, Failure> {
    if is_stdin(file) && is_stdin(&args.file) {
        return Err(Failure::StdinTwice);
    }
    let config = config::load(file, Syntax::Toml)?;
    let keys = config.keys();
    let replay = Replay::with_limiter(move || config.limiter());
    Ok(if keys.is_on() { replay.key_form(move |key| keys.normalize(key)) } else { replay })
}

fn open(path: &Path, bar: bool) -> Result<Box<dyn Read>, Failure> {
    if is_stdin(path) {
        return Ok(progress::shown(io::stdin(), None, bar));
    }
    let file = File::open(path).map_err(|fault| Failure::open(path, fault))?;
    let about = file.metadata().map_err(|fault| Failure::open(path, fault))?;
    if about.is_dir() {
        return Err(Failure::Directory(path.into()));
    }
    // A pipe has no length.
    let size = Some(about.len()).filter(|_| about.is_file());
    Ok(progress::shown(file, size, bar))
}

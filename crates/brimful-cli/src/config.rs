//! `brimful config`: files of rules are checked, explained and imported.

mod check;
mod explain;
mod import;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brimful_config::{Config, Error, Syntax};
use clap::Subcommand;

use crate::failure::Failure;

const EXIT_CODES: &str = "\
Exit codes:
  0  done; also when nobody reads the output any more (`| head`)
  2  the file is refused, or the arguments or the output cannot be used";

/// The commands of `brimful config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say what is wrong with files of rules
    ///
    /// Reads files of rules and says of each whether it is good, every fault with its place, and what is
    /// right but probably not meant.
    #[command(
        after_help = check::EXIT_CODES,
        after_long_help = format!("{}\n{}", check::NOTES, check::EXIT_CODES)
    )]
    Check(check::CheckArgs),

    /// Say which rules apply to a key, and which of them decides
    ///
    /// Walks the chain of rules for a key, as a limiter does: each rule with its place in the file and
    /// its limits, and what they admit at worst.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{}\n{EXIT_CODES}", explain::NOTES))]
    Explain(explain::ExplainArgs),

    /// Turn the limits of another server into a file of rules
    ///
    /// Prints a file of rules in TOML that decides as the other server does. What cannot be said exactly
    /// is refused, or is a warning on stderr.
    #[command(after_help = EXIT_CODES, after_long_help = format!("{}\n{EXIT_CODES}", import::NOTES))]
    Import(import::ImportArgs),
}

pub(crate) fn run(command: &ConfigCommand) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Check(args) => check::run(args),
        ConfigCommand::Explain(args) => explain::run(args),
        ConfigCommand::Import(args) => import::run(args),
    }
}

/// `brimful schema`.
pub(crate) fn schema() -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    // A JSON value, so nothing in it can fail; the alternate form has lines.
    writeln!(out, "{:#}", brimful_config::schema())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// How standard input is written; of files the name tells.
#[derive(Debug, clap::Args)]
pub(crate) struct SyntaxArgs {
    /// How standard input is written; a file is YAML when its name ends in .yaml or .yml, else TOML
    /// [default: toml]
    #[arg(long, value_name = "SYNTAX")]
    syntax: Option<Written>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Written {
    Toml,
    Yaml,
}

impl SyntaxArgs {
    /// Refuses to say what a file's name says already.
    fn checked(&self, files: &[PathBuf]) -> Result<Syntax, Failure> {
        if self.syntax.is_some() && !files.iter().any(|file| is_stdin(file)) {
            return Err(Failure::SyntaxOfFile);
        }
        Ok(match self.syntax {
            Some(Written::Yaml) => Syntax::Yaml,
            Some(Written::Toml) | None => Syntax::Toml,
        })
    }
}

/// Reads a file of rules, or standard input, whose files of members are relative to the current folder.
pub(crate) fn load(path: &Path, syntax: Syntax) -> Result<Config, Error> {
    if !is_stdin(path) {
        return Config::load(path);
    }
    let text = brimful_config::read_text(io::stdin().lock(), path)?;
    Config::parse(&text, syntax, path, Some(Path::new("")))
}

/// Reads the text of a file, or of standard input.
fn text(path: &Path) -> Result<String, Failure> {
    if is_stdin(path) {
        return Ok(brimful_config::read_text(io::stdin().lock(), path)?);
    }
    let file = File::open(path).map_err(|fault| Failure::open(path, fault))?;
    Ok(brimful_config::read_text(file, path)?)
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

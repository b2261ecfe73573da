//! Why a command could not be carried out, and how that is said.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brimful_lab::{BadLines, Error};

/// The exit code for arguments, input and output that cannot be used, as clap's.
pub(crate) const UNUSABLE: u8 = 2;

/// A failure; a part of the arguments, of the input, or of the output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file cannot be opened.
    Open { path: PathBuf, source: io::Error },
    /// The log is a directory.
    Directory(PathBuf),
    /// The log cannot be read to its end.
    Read { path: PathBuf, source: Error },
    /// Decisions are those of one limiter.
    DecisionsOfAll,
    /// Files of rules are refused.
    Config(brimful_config::Error),
    /// Standard input is named twice.
    StdinTwice,
    /// A file's name says how it is written.
    SyntaxOfFile,
    /// Anything else.
    Lab(Error),
    /// The output cannot be written.
    Write(io::Error),
}

impl Failure {
    pub(crate) fn open(path: &Path, source: io::Error) -> Self {
        Self::Open { path: path.into(), source }
    }

    /// What went wrong in a replay of `path`.
    pub(crate) fn replay(path: &Path, source: Error) -> Self {
        if source.is_read() { Self::Read { path: path.into(), source } } else { Self::Lab(source) }
    }

    /// Says it on stderr, unless it is only that nobody reads the output any more.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Lab(fault) if fault.is_broken_pipe() => return ExitCode::SUCCESS,
            Self::Write(fault) if fault.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Open { path, source } => {
                eprintln!("error: `{}` cannot be opened: {source}", path.display());
            }
            Self::Directory(path) => {
                eprintln!("error: `{}` is a directory, expected a log", path.display());
            }
            Self::Read { path, source } => {
                source.bad_lines().into_iter().for_each(say_bad_lines);
                eprintln!("error: `{}`: {source}{}", path.display(), cause(source));
            }
            Self::DecisionsOfAll => {
                eprintln!(
                    "error: --decisions prints those of one algorithm, and --algorithm is all"
                );
            }
            Self::Config(error) => {
                for fault in error.faults() {
                    eprintln!("error: {fault:#}");
                }
                if error.more() > 0 {
                    eprintln!("and {} more", error.more());
                }
            }
            Self::StdinTwice => {
                eprintln!("error: standard input is named twice, it can be read once")
            }
            Self::SyntaxOfFile => {
                eprintln!(
                    "error: --syntax is for standard input; the name of a file says how it is written"
                );
            }
            // The alternate form shows a fault in a limit with a caret.
            Self::Lab(fault) => eprintln!("error: {fault:#}{}", cause(fault)),
            Self::Write(fault) => eprintln!("error: the output cannot be written: {fault}"),
        }
        ExitCode::from(UNUSABLE)
    }
}

impl From<Error> for Failure {
    fn from(fault: Error) -> Self {
        Self::Lab(fault)
    }
}

impl From<brimful_config::Error> for Failure {
    fn from(error: brimful_config::Error) -> Self {
        Self::Config(error)
    }
}

impl From<io::Error> for Failure {
    /// All input goes through the lab and the reader of rules, so what fails here is the output.
    fn from(fault: io::Error) -> Self {
        Self::Write(fault)
    }
}

fn cause(fault: &Error) -> String {
    fault.source().map_or_else(String::new, |source| format!(": {source}"))
}

/// Says on stderr which lines of a log gave no decision.
pub(crate) fn say_bad_lines(bad: &BadLines) {
    for line in &bad.first {
        eprintln!("bad line {}: {}", line.line, line.reason);
    }
    let shown = u64::try_from(bad.first.len()).unwrap_or(u64::MAX);
    match bad.count.saturating_sub(shown) {
        0 => {}
        1 => eprintln!("and 1 more bad line"),
        more => eprintln!("and {more} more bad lines"),
    }
}

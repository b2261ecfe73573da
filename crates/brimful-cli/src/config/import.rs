//! `brimful config import`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use brimful_config::import;

use super::text;
use crate::failure::Failure;

pub(super) const NOTES: &str = "\
From:
  envoy      the YAML of Envoy's reference rate limit server: domain and descriptors. A key is a list:
             the domain, then key and value of each entry
  limitador  the YAML of limitador: a list of limits. A key is a list: the namespace, then each name that
             a limit mentions and its value, by name
  Both count in fixed windows, and so do the rules. Comments in the file say which line a rule comes
  from, and how keys are made. Nothing is printed on stdout when anything is refused.
";

/// The arguments of `brimful config import`.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Whose limits they are
    #[arg(long, value_name = "SERVER")]
    from: Server,

    /// The file; - reads standard input
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Server {
    Envoy,
    Limitador,
}

/// The rules go to stdout, warnings to stderr.
pub(super) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let text = text(&args.file)?;
    let imported = match args.from {
        Server::Envoy => import::envoy(&text, &args.file)?,
        Server::Limitador => import::limitador(&text, &args.file)?,
    };
    let mut out = io::stdout().lock();
    out.write_all(imported.toml().as_bytes())?;
    out.flush()?;
    for warning in imported.warnings() {
        eprintln!("warning: {warning:#}");
    }
    match imported.more() {
        0 => {}
        more => eprintln!("and {more} more warnings"),
    }
    Ok(ExitCode::SUCCESS)
}

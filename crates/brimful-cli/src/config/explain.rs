//! `brimful config explain`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::{SyntaxArgs, load};
use crate::failure::Failure;
use crate::key::JsonKey;

pub(super) const NOTES: &str = "\
Keys:
  --key user:1                           a text; all that a log has
  --key-json 42                          a whole number
  --key-json '[\"tenant\", 42]'            a key of several parts
  --key-json '{\"ip\": \"192.0.2.0/24\"}' an address, or a network
  These differ: the text 42 is another key than the number. Patterns match the printed form of numbers
  and addresses. The first line of what is printed has the key in the form that [keys] of the file gives
  it: by that form it is decided.

Rules, the most specific first:
  decides    the first that is enforced
  on trial   a shadow rule before it: its verdict is counted, and nobody is denied by it
  not heard  a more specific rule is

Fields of --json:
  key tier        (the key as a file has it, in the form of [keys]; tier: null for none)
  rules           [level rule file line column role shadow policy unlimited blocked limits]
                  (level: exact, tier, member, pattern or default; role: decides, on-trial or unheard;
                  shadow: the rule is on trial, heard or not; line and column: from 1; 0 and an empty
                  file for a default that no file says)
  limits          [name limit bound]
                  (bound: the most that it admits, in words)
";

/// The arguments of `brimful config explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A file of rules; - reads standard input
    file: PathBuf,

    #[command(flatten)]
    key: KeyArgs,

    /// The tier that the caller is of
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    tier: Option<String>,

    #[command(flatten)]
    syntax: SyntaxArgs,

    /// Print the rules as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct KeyArgs {
    /// The key, a text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    key: Option<String>,

    /// The key, as JSON: a text, a whole number, a list of parts, or an object with ip; see --help
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    key_json: Option<JsonKey>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let syntax = args.syntax.checked(std::slice::from_ref(&args.file))?;
    let config = load(&args.file, syntax)?;
    let tier = args.tier.as_deref();
    let explanation = match (&args.key.key, &args.key.key_json) {
        (Some(text), _) => config.explain(text.as_str(), tier),
        (None, Some(key)) => config.explain(key, tier),
        // One of them is there.
        (None, None) => config.explain((), tier),
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &explanation).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{explanation}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

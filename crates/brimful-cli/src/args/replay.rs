//! What `replay` can be told.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use brimful::{Algorithm, Overflow};
use brimful_lab::{Format, Replay, Template, TimeUnit};
use clap::ArgGroup;

use super::{one_of, whole_number};

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done; also when nobody reads the output any more (`| head`)
  1  --strict, and there were bad lines
  2  the arguments, the input or the output cannot be used";

pub(super) const NOTES: &str = "\
Limits:
  10/s, 100/min, 5 per 30s, 10/s burst 100, 100/h fixed-window, `api: 10/s`; or one of the words
  unlimited and blocked. Units: ms, s, min, h, day, week, month (30 days), year (365 days).
  With --algorithm all no limit names its own. The token bucket keeps a burst; the others have none
  and admit N per period. A sliding log of more than 65536 is left out; but --max-log-entries below
  the number of limits is too few for the sliding log, and all four are refused.

Rules, by --config:
  A file of rules in TOML or YAML (docs/configuration.md; `brimful config check` reads it first). Each
  key gets what the most specific rule says. Keys of a log are texts, so an override of a number, an
  address or a list of parts is for none of them; patterns match the segments between colons. A log
  does not say of which tier a caller is: the tier is that of which the key is a member, or none.
  Rules on trial (shadow = true) deny nothing; what they would have denied is counted beside.
  [keys] brings the text of each key to its form first. [store] says what --max-keys, --overflow and
  --max-log-entries would. --algorithm is for --limit: a limit of the file names its own.

Formats, plain or packed by gzip (any number of members; zeros behind one are passed over, and
anything else that is not gzip is an error when all before it is decided):
  combined  host ident user [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1234 ...
            The key is the host. Every request costs 1.
  jsonl     {\"at_ns\": 5300000000, \"key\": \"k\", \"cost\": 1, \"op\": \"acquire\"}
            `\"at\": \"5.3\"`, in seconds, may stand for at_ns. cost is 1 when absent, and 0 is a look.
            op is acquire (when absent), peek or refund.
  csv       A header row names the columns, which mean what the fields of jsonl mean. Quotes as in
            RFC 4180; a row may go over several lines, and is known by its first. --format csv
            must be said.

Keys, by --key; for example '{remote_addr}', '{method} {path}', '{tenant}/{user.id}':
  A field stands in braces; a brace itself is written twice.
  combined  remote_addr ident remote_user time_local request method path query protocol status
            body_bytes_sent referer user_agent; as written in the log. path ends before the `?`,
            query is what follows it, or nothing. Also virtual_host, where a name with its port
            (`www.example:443`) stands before the host.
  jsonl     any field that is text, a number, true or false; user.id is the field id of the object
            user, or a field named user.id.
  csv       any column.
  A line without the field is bad. Two fields need text between them. So that values of different
  text never make the same key, the first character of that text is written `\\x` where it stands
  in the value before it, and `\\` as `\\\\`; the last field is never changed. It is their text
  that is kept apart: the number 1 and the text 1 make one key.

Times:
  The field is the one said by --time-field, or the first that is there of at_ns, at, timestamp,
  @timestamp, time, ts, datetime, time_local, time_iso8601 and msec. at_ns is a whole number of
  nanoseconds. Any other is one of
    2015-05-17T10:05:03.25Z     ISO 8601; T or a space, Z or an offset; UTC when there is neither
    17/May/2015:10:05:03 +0000  as in the common log format, in brackets or not
    1431857103.25               since 1970, in the unit that ends the field's name (at is in s,
                                _s, _ms, _us, _ns), or that --time-unit says, or by its size: up
                                to 11 digits before the point are s, 14 ms, 17 us, more are ns
  Nothing is rounded: a time with digits below the nanosecond that are not 0 is bad.

Bad lines give no decision and stop nothing. Their number is in the summary, and the first five are
shown on stderr.

Fields of --decisions, in the order in which events are decided:
  at_ns key cost allowed remaining retry_after_ns never reset_after_ns policy limit line
  op (when not acquire)  refunded (of a refund; its other fields are those of a look right after it)
  remaining is null without a limit; retry_after_ns is null when allowed and when never;
  limit is null when no limit decided.
  would_deny (true; only where a policy on trial would have denied it)

Fields of --json, where times are nanoseconds since the Unix epoch; more in docs/replay-json.md:
  format lines requests keys admitted denied denied_per_mille denied_never denied_keys would_deny
  peeks refunds refunded_tokens first_ns last_ns
  busiest_second  at_ns requests admitted denied reopened
                  (reopened: seconds that may be counted in parts)
  out_of_order    lines most_ns buffer_ns late released_early
                  (lines: earlier than the line before; most: the most that a line lay behind the
                  latest before it; late: came when a later line had been decided)
  bad_lines       count first [line reason]
  policy          unlimited, blocked, or the policy's name; null with --config
  limits          [name spec algorithm tokens period_ns capacity bound]
                  (bound: the worst case in words)
  policies        [policy requests denied denied_per_mille]
                  (by the policy that decided)
  on_trial        [policy requests would_deny would_deny_per_mille]
  top_denied      [key denied requests denied_per_mille]
  store           max_keys slots occupied bytes evicted_lossless evicted_forced forgiven_tokens
                  store_full shared left_shared log_entries max_log_entries
With --algorithm all, what the algorithms differ in is in
  algorithms      [algorithm admitted denied denied_per_mille denied_never denied_keys
                  refunded_tokens busiest_second policy limits top_denied store]
  left_out        [algorithm reason]
  top_denied      [key requests denied [algorithm denied denied_per_mille]]
";

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("asked").required(true).args(["limits", "config"])))]
pub(crate) struct ReplayArgs {
    /// The log; - reads standard input
    pub(crate) file: PathBuf,

    /// A limit, for example `100/min burst 20`; repeated, all of them must admit
    #[arg(long = "limit", value_name = "SPEC", allow_hyphen_values = true)]
    pub(crate) limits: Vec<String>,

    /// A file of rules, which says what each key gets, instead of limits; also the settings of the
    /// store, and the form of keys
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["algorithm", "max_keys", "max_log_entries", "overflow"]
    )]
    pub(crate) config: Option<PathBuf>,

    /// How every limit is enforced that does not say so itself; all puts the four side by side
    /// [default: token-bucket]
    #[arg(long, value_name = "A", value_parser = one_of::<Choice>(Choice::NAMES))]
    pub(crate) algorithm: Option<Choice>,

    /// What the key of a line is, with fields in braces, for example `{method} {path}` [default:
    /// {remote_addr} for combined, else {key}]
    #[arg(long, value_name = "TEMPLATE", allow_hyphen_values = true)]
    pub(crate) key: Option<Template>,

    /// How the log is written [default: jsonl if its first line begins with `{`, else combined]
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<Format>(Format::ALL.map(Format::name)))]
    pub(crate) format: Option<Format>,

    /// The field or column that holds the time [default: one with a usual name, see --help]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) time_field: Option<String>,

    /// The unit of times that are numbers [default: by the field's name, or the number's size]
    #[arg(long, value_name = "UNIT", value_parser = one_of::<TimeUnit>(TimeUnit::ALL.map(TimeUnit::name)))]
    pub(crate) time_unit: Option<TimeUnit>,

    /// The field or column that holds the cost; for combined it can be body_bytes_sent [default:
    /// cost, and 1 where there is none]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) cost_field: Option<String>,

    /// Hold events back this long, in the log's time, to decide them in order; at most a million of
    /// them [default: 60s for combined, else 0]
    #[arg(long, value_name = "DUR", value_parser = brimful_lab::parse_span, allow_hyphen_values = true)]
    pub(crate) reorder: Option<Duration>,

    /// Print every decision, one JSON object a line, instead of the summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) decisions: bool,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Show this many of the most denied keys, at most 10000
    #[arg(
        long,
        value_name = "N",
        default_value_t = Replay::DEFAULT_TOP,
        value_parser = whole_number,
        allow_hyphen_values = true
    )]
    pub(crate) top: u64,

    /// How many keys can owe at once without any being forgotten [default: 100000]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_hyphen_values = true)]
    pub(crate) max_keys: Option<u64>,

    /// How many entries all sliding logs together can hold, of 16 bytes each [default: 4 per slot]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_hyphen_values = true)]
    pub(crate) max_log_entries: Option<u64>,

    /// What happens to a new key when the store is full [default: evict]
    #[arg(long, value_name = "HOW", value_parser = one_of::<Overflow>(["evict", "refuse", "share"]))]
    pub(crate) overflow: Option<Overflow>,

    /// Exit with 1 when there were bad lines
    #[arg(long)]
    pub(crate) strict: bool,
}

/// One algorithm, or each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    One(Algorithm),
    All,
}

impl Choice {
    const NAMES: [&str; 5] = {
        let [one, two, three, four] = Algorithm::ALL;
        [one.name(), two.name(), three.name(), four.name(), "all"]
    };
}

impl FromStr for Choice {
    type Err = brimful::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

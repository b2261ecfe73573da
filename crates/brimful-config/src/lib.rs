//! Rate limit rules as data, for [`brimful`]: operators write limits in a file of TOML or YAML, and
//! get [`brimful::Rules`] and a limiter; a file that is wrong is refused with the place of every fault
//! ([`Error`]).
//!
//! ```
//! use brimful_config::{Config, Syntax};
//!
//! let text = r#"
//! [store]
//! max_keys = 10_000
//!
//! [default]
//! limit = "100/min burst 20"
//!
//! [policies.gold]
//! limits = ["10/s", "1000/h"]
//!
//! [tiers.gold]
//! policy = "gold"
//! members = ["user:1"]
//!
//! [[exact]]
//! key = "banned"
//! blocked = true
//!
//! [[pattern]]
//! match = "tenant:*:search"
//! policy = "gold"
//! "#;
//! let config = Config::parse(text, Syntax::Toml, "limits.toml", None)?;
//! assert_eq!(config.rules().policy_for("tenant:7:search", None).name(), "gold");
//! let limiter = config.limiter().build()?;
//! assert!(limiter.try_acquire("banned").is_never());
//! assert!(config.explain("user:1", None).to_string().contains("the tier `gold`"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! | section | what it says |
//! |---|---|
//! | `[default]` | what every key gets that no other rule is about; needed |
//! | `[policies.NAME]` | limits with a name, for rules to name |
//! | `[tiers.NAME]` | what callers of a tier get, and keys that are of it when the caller names none: `members`, a list, and `members_file`, a file |
//! | `[[exact]]` | what one `key` gets: text, a whole number, `{ ip = "192.0.2.0/24" }`, or a list of these |
//! | `[[pattern]]` | what keys get that `match` a pattern ([`brimful::Rules`] says how they are written) |
//! | `[store]` | `max_keys`, `overflow` (`evict`, `refuse`, `share`), `max_log_entries`, `max_limits`, `max_given`, each as in [`brimful::LimiterBuilder`] |
//! | `[keys]` | `trim`, `fold_case`, `nfc`: how texts are brought to one form ([`Keys`]) |
//! | `[requests]` | `max_cost`, the largest cost of one request, for the [lints](Config::lints) |
//!
//! The most specific rule decides, wherever it stands: exact, then the tier that the caller gives, then
//! the tier of which the key is a member, then the most specific pattern, then the default.
//!
//! A rule says what its keys get by exactly one of:
//!
//! | field | what it gives |
//! |---|---|
//! | `limit`, `limits` | one limit as a text (`"100/min burst 20"`, as in [`brimful::Limit`]), or a list of 1 to 8 that must all admit; the word `"unlimited"` or `"blocked"` |
//! | `policy` | the policy of that name; or `"unlimited"`, `"blocked"` |
//! | `unlimited = true` | everything |
//! | `blocked = true` | nothing |
//!
//! A policy says it by one of these but `policy`. With `shadow = true`, on a rule or on the policy that it
//! names, a rule is on trial: it decides and counts, and never denies
//! ([`Policy::shadow`](brimful::Policy::shadow)). An enforced rule and one on trial may stand together for
//! one key, tier or pattern; for `default` and a tier as a list of two: `[[default]]`, `[[tiers.gold]]`. A
//! default on trial alone leaves others unlimited.
//!
//! Limits that a rule says itself make a policy that has a name in counters: `default`, `tier gold`,
//! `pattern tenant.*.search` (`.` for `:`, `_` for what no name may have), and for an override `exact
//! 1000/min`, by its limits, so that thousands with the same ones are one policy. On trial the name ends in
//! ` on trial`. Other limits under a name that is taken get a number: `tier gold #2`.
//!
//! A file of members has one key, a text, on each line; white space around it, blank lines and lines that
//! begin with `#` do not count. Its name is relative to the folder of the file of rules. A key can be a
//! member of one tier, and so a file with keys can be that of one.
//!
//! In YAML the fields are the same: `default: { limit: 100/min burst 20 }`. A text that has `: ` in it, or
//! begins with `*`, is written in quotes, `yes` is a text, and `1_000` is none of the numbers. Anchors and
//! aliases are read (together up to 100,000 values); tags, merge keys (`<<`), a second document and names
//! that are no texts are faults.
//!
//! # What is promised, and the test that keeps it
//!
//! * Rules of a file decide as the same rules built by hand (`tests/meaning.rs`).
//! * Every fault has its file, line and column, inside texts too, and all faults of meaning are told at
//!   once: two hundred files that are wrong, and what is said of each (`tests/faults.toml.txt`,
//!   `tests/faults.yaml.txt`).
//! * No text makes it panic, and what is accepted is printed so that it reads back as equal
//!   ([`Config::to_toml`], [`Config::to_yaml`]): twenty thousand changed files (`tests/mutations.rs`),
//!   and the files that fuzzing found (`tests/corpus.rs`).
//! * It is bounded: a file has at most 16 MiB, all files of members together 64 MiB, lists and tables are
//!   nested at most 80 deep in TOML and 32 in YAML (`tests/files.rs`, `tests/faults.rs`).
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod bound;
mod config;

mod error;
mod explain;
mod faults;
mod files;
pub mod import;
mod key;
mod keys;
mod limiter;
mod lint;
mod model;
mod node;
mod number;
mod print;
mod read;
mod schema;
mod source;
mod syntax;
mod text;
#[cfg(feature = "watch")]
pub mod watch;

pub use config::{Config, read_text};
pub use error::{Also, Error, Fault};
pub use explain::{Bounded, Explained, Explanation, Role};
pub use keys::Keys;
pub use lint::{Lint, LintKind};
pub use schema::schema;
pub use syntax::Syntax;

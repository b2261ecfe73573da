//! What a rate limit would have done: replays logs in virtual time, for [`brimful`].
//!
//! A [`Replay`] reads a web server's log ([`combined`]), JSON lines ([`jsonl`]) or CSV, plain or
//! packed by gzip, puts the lines in the order of their times as far as a bounded buffer can, asks a
//! limiter about each at the time that the log says, and sums up what happened in a [`Summary`].
//! [`Replay::run_all`] does so under each algorithm in one pass, [`SideBySide`]. A [`Template`] says
//! what the key of a line is, [`TimeUnit`] how times are read.
//!
//! A [`Comparison`] puts the four algorithms side by side for one limit, with what each admits at
//! worst.
//!
//! ```
//! use brimful_lab::Replay;
//!
//! let log = r#"{"at_ns": 0, "key": "k", "cost": 64}
//! {"at": "5.3", "key": "k", "cost": 90}
//! "#;
//! let policy = brimful_lab::policy(&["10/s burst 100"], None)?;
//! let mut remaining = Vec::new();
//! let summary = Replay::new(policy).run(log.as_bytes(), |decided| {
//!     remaining.push(decided.decision.remaining());
//!     Ok(())
//! })?;
//! assert_eq!((summary.requests, summary.denied), (2, 1));
//! assert_eq!(remaining, [36, 89]); // of 100 tokens at 10/s; the denial took none
//! # Ok::<(), brimful_lab::Error>(())
//! ```
//!
//! Memory does not grow with the length of a log: it holds one line, or one row of CSV, the buffer
//! of the reordering, the name and the requests of each key, and for each limiter its store and the
//! denials of each key.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod asked;
mod busiest;
mod civil;
pub mod combined;
mod compare;
mod csv;
mod decided;
mod decider;
mod error;
mod event;
mod input;
pub mod jsonl;
mod keys;
mod lines;
mod options;
mod policies;
mod reorder;
mod replay;
mod side_by_side;
mod source;
mod summary;
mod template;
mod timestamp;
mod wanted;

pub use busiest::Second;
pub use compare::{Admitted, Burst, Comparison, Figures, Part, Row, State};
pub use decided::Decided;
pub use error::Error;
pub use event::{Event, Op, Reason};
pub use lines::{Line, Lines, MAX_LINE};
pub use options::{Format, parse_span, policy, policy_of_any_algorithm};
pub use policies::OfPolicy;
pub use reorder::{Disorder, MAX_HELD};
pub use replay::Replay;
pub use side_by_side::{DeniedUnder, LeftOut, SideBySide};
pub use summary::{BadLine, BadLines, DeniedKey, Summary};
pub use template::Template;
pub use timestamp::TimeUnit;

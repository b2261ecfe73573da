//! What a rate limit would have done: replays logs in virtual time, for [`brimful`].
//!
//! A [`Replay`] reads a web server's log ([`combined`]) or JSON lines ([`jsonl`]), puts the lines
//! in the order of their times as far as a bounded buffer can, asks a limiter about each at the
//! time that the log says, and sums up what happened in a [`Summary`].
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
//! Memory does not grow with the length of a log: it holds one line, the buffer of the reordering,
//! the limiter's store, and two counts for each key.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod busiest;
mod civil;
pub mod combined;
mod compare;
mod decided;
mod error;
mod event;
pub mod jsonl;
mod keys;
mod lines;
mod options;
mod reorder;
mod replay;
mod summary;

pub use busiest::Second;
pub use compare::{Admitted, Burst, Comparison, Figures, Part, Row, State};
pub use decided::Decided;
pub use error::Error;
pub use event::{Event, Op, Reason};
pub use lines::{Line, Lines, MAX_LINE};
pub use options::{Format, parse_span, policy};
pub use reorder::{Disorder, MAX_HELD};
pub use replay::Replay;
pub use summary::{BadLine, BadLines, DeniedKey, Summary};

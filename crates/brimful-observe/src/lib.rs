//! What operators see of [`brimful`]: counts, metrics for Prometheus, a few denials a second for the log, and the
//! keys that are denied most.
//!
#![cfg_attr(all(feature = "prometheus", feature = "tracing"), doc = "```")]
#![cfg_attr(all(feature = "prometheus", feature = "tracing"), doc = include_str!("../examples/service.rs"))]
#![cfg_attr(all(feature = "prometheus", feature = "tracing"), doc = "```")]
//!
//! # Who sees what
//!
//! Whoever asks a limiter tells an [`Observer`] of each request, as an [`Event`]. Several observers are one
//! when they stand in a tuple or a `Vec`.
//!
//! | observer | keeps | feature |
//! |---|---|---|
//! | [`Counters`] | requests and tokens by scope, policy and outcome | |
//! | [`TopKeys`] | the keys that were denied most | |
#![cfg_attr(
    feature = "tracing",
    doc = "| [`Denials`] | nothing: it writes denials as events, a few a second | `tracing` |"
)]
#![cfg_attr(
    not(feature = "tracing"),
    doc = "| `Denials` | nothing: it writes denials as events, a few a second | `tracing` |"
)]
//!
#![cfg_attr(
    feature = "prometheus",
    doc = "[`PrometheusMetrics`] shows the counters, and what limiters say of themselves, in a registry of"
)]
#![cfg_attr(
    not(feature = "prometheus"),
    doc = "`PrometheusMetrics` shows the counters, and what limiters say of themselves, in a registry of"
)]
//! `prometheus-client` (feature `prometheus`).
//!
//! # What it costs, and what is kept
//!
//! * **Memory is bounded, whatever requests bring.** Names are counted together beyond a number that is chosen
//!   (`names_are_bounded_and_sums_stay_right`), and the list of keys takes its memory once
//!   (`memory_is_taken_once`).
//! * **Keys are no labels.** Nobody keeps or writes a key unless the program makes a [`TopKeys`] or chooses so
//!   for the events, and then it says what is shown of a key ([`Redact`]).
//! * **Counting a known name takes no lock** and allocates nothing (`counting_a_known_name_allocates_nothing`).
//! * **Counts do not wrap** (`a_count_that_is_full_stays_full`).
//! * **What is counted as admitted was charged, and what is counted as denied was not**
//!   (`statistics_are_what_was_charged`).
//!
//! The crate knows nothing of HTTP, and starts no thread.
//!
//! # Features
//!
//! * `prometheus`: a collector for `prometheus-client` 0.26.
//! * `tracing`: events.
//!
//! Without them there is no dependency but `brimful`, and `siphasher`, which `brimful` has itself.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::float_arithmetic,
        clippy::disallowed_methods
    )
)]

mod counters;
#[cfg(feature = "tracing")]
mod denials;
mod error;
mod event;
mod observer;
#[cfg(feature = "prometheus")]
mod prometheus;
mod redact;
mod series;
mod top;

pub use counters::{Count, Counters};
#[cfg(feature = "tracing")]
pub use denials::{Denials, DenialsBuilder};
pub use error::Error;
pub use event::{Event, Outcome};
pub use observer::Observer;
#[cfg(feature = "prometheus")]
pub use prometheus::PrometheusMetrics;
pub use redact::Redact;
pub use top::{Top, TopKey, TopKeys};

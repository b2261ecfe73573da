//! What brimful is tested against. Not published.
//!
//! * [`model`]: the slow, obviously right limiter, in exact rationals.
//! * [`trace`]: operations, limits and keys drawn from a seed, the same on every machine for ever.
//! * [`simulation`]: one seed, one trace of everything at once, with all that must hold after each step.
//! * [`small`]: limits so small that all their states can be visited.
//! * [`strategy`]: the same as `proptest` strategies, which shrink.
//! * [`history`]: whether answers that threads got at the same time can be put in one order.
//! * [`conformance`]: what every limiter owes, whatever it is built on.
//! * [`fuzz`]: arbitrary bytes as input.
//!
//! Beside the library, `cases.toml` says for each fault that people met in other limiters
//! (`data/field-cases.jsonl`) which test keeps it away; `tests/cases.rs` checks that it does.

mod called;
pub mod conformance;
pub mod fuzz;
pub mod history;
pub mod model;
mod outcome;
mod runner;
pub mod simulation;
pub mod small;
pub mod strategy;
pub mod trace;

pub use called::Called;
pub use model::{Answer, Enqueued, KeyedModel, Model, Polled, WaitingModel};
pub use num_rational::Ratio;
pub use outcome::Outcome;
pub use runner::runner;

/// The examples of the README, compiled and run as the crate pages' are.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// Those of the page about files of rules.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/configuration.md")]
pub struct Configuration;

/// Those of the page about verbs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/verbs.md")]
pub struct Verbs;

/// Those of the page for operators.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/operators.md")]
pub struct Operators;

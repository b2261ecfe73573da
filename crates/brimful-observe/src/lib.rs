//! What operators see of [`brimful`].
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

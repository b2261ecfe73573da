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
mod event;
mod observer;

pub use counters::{Count, Counters};
pub use event::{Event, Outcome};
pub use observer::Observer;

//! An exact, keyed, bounded rate limiter.
#![cfg_attr(not(feature = "std"), no_std)]
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

extern crate alloc;

// Some steps are used by the store alone.
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod algorithm;
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod decision;
mod error;
mod key;
mod limit;
mod meter;
mod policy;
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod step;
mod time;

pub use decision::{Decision, Denial, Retry};
pub use error::Error;
pub use key::{AsKey, IpPrefix, Key};
pub use limit::{Algorithm, Limit};
pub use meter::Meter;
pub use policy::Policy;
pub use time::Nanos;

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
#[cfg(feature = "serde")]
mod serde;
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod step;
mod time;

#[cfg(feature = "std")]
mod clock;
#[cfg(feature = "std")]
mod hash;
#[cfg(feature = "std")]
mod keyless;
#[cfg(feature = "std")]
mod limiter;
#[cfg(feature = "std")]
mod rules;
#[cfg(feature = "std")]
mod stats;
#[cfg(feature = "std")]
mod store;
#[cfg(feature = "std")]
mod sync;

#[cfg(feature = "std")]
pub use clock::{Clock, ManualClock, SystemClock};
pub use decision::{Decision, Denial, Retry};
pub use error::Error;
pub use key::{AsKey, IpPrefix, Key};
#[cfg(feature = "std")]
pub use keyless::KeylessLimiter;
pub use limit::{Algorithm, Limit};
#[cfg(feature = "std")]
pub use limiter::{Limiter, LimiterBuilder};
pub use meter::Meter;
pub use policy::Policy;
#[cfg(feature = "std")]
pub use stats::Stats;
#[cfg(feature = "std")]
pub use store::Overflow;
pub use time::Nanos;

//! Waiting for tokens, up to a bound, instead of denying.
//!
//! Requests of a key wait in line, and go on in the order in which they came, each as soon as its cost is there. One
//! that would have to wait longer than the bound is denied at once, mostly without waiting at all.

mod future;
mod layer;
mod service;

pub use future::WaitFuture;
pub use layer::WaitLayer;
pub use service::WaitRateLimit;

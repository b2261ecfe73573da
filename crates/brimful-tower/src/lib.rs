//! brimful's rate limits as a [tower](https://docs.rs/tower) layer, for axum, tonic, hyper and any other service of
//! HTTP requests.
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

mod answer;
mod body;
mod builder;
mod denied;
mod error;
mod future;
mod gate;
mod head;
pub mod key;
mod layer;
mod service;
mod told;
#[cfg(feature = "wait")]
mod wait;

pub use body::ResponseBody;
pub use builder::RateLimitBuilder;
pub use denied::Denied;
pub use error::Error;
pub use future::ResponseFuture;
pub use gate::MissingKey;
pub use head::{Head, ResponseHead};
pub use key::{
    ApiKey, ClientIp, Extension, Header, Missing, Path, PeerAddr, PeerIp, RequestKey, Route,
    RouteTemplate, from_fn,
};
pub use layer::RateLimitLayer;
pub use service::RateLimit;
pub use told::{
    HEADERS, RATELIMIT, RATELIMIT_POLICY, X_RATELIMIT_LIMIT, X_RATELIMIT_REMAINING,
    X_RATELIMIT_RESET,
};
#[cfg(feature = "wait")]
pub use wait::{WaitFuture, WaitLayer, WaitRateLimit};

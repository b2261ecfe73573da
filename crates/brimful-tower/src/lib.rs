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

mod error;
mod head;
pub mod key;

pub use error::Error;
pub use head::Head;
pub use key::{
    ApiKey, ClientIp, Extension, Header, Missing, Path, PeerAddr, PeerIp, RequestKey, Route,
    RouteTemplate, from_fn,
};

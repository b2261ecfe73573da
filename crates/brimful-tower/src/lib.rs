//! brimful's rate limits as a [tower](https://docs.rs/tower) layer: for axum, tonic, hyper, and any other service of
//! HTTP requests.
//!
//! ```
//! use brimful::{Limit, Limiter};
//! use brimful_tower::{PeerAddr, PeerIp, RateLimitLayer};
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let limiter = Limiter::new(Limit::per_minute(1)?)?;
//! let service = ServiceBuilder::new()
//!     .layer(RateLimitLayer::new(limiter, PeerIp::new()))
//!     .service(service_fn(|_request: Request<()>| async {
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
//!     }));
//!
//! let request = || {
//!     let mut request = Request::new(());
//!     request.extensions_mut().insert(PeerAddr(([192, 0, 2, 7], 50_000).into()));
//!     request
//! };
//! assert_eq!(service.clone().oneshot(request()).await?.status(), 200);
//!
//! let denied = service.clone().oneshot(request()).await?;
//! assert_eq!(denied.status(), 429);
//! assert_eq!(denied.headers()["retry-after"], "60");
//! assert_eq!(denied.headers()["ratelimit"], r#""1/min";r=0;t=60"#);
//! # Ok(())
//! # }
//! ```
//!
//! `docs/http.md` goes from this to proxies, routes, tiers and gRPC.
//!
//! # What is promised, and the test that keeps it
//!
//! * **One limiter, however often it is cloned**: servers clone a service for each connection, and all clones of a
//!   layer spend one budget (`clones_and_all_services_of_a_layer_share_its_limiter`; on a real server with 1,500
//!   connections, `tests/served/server.rs`).
//! * **A request is charged once** by a layer, also where the layer stands twice around it
//!   (`a_layer_around_itself_charges_once`).
//! * **The client's address is never the client's word.** [`ClientIp`] believes a header only from proxies that are
//!   trusted, from the right, to the first address that is not (`tests/keys/spoofing.rs`: each forgery and the key that it
//!   gives).
//! * **A missing key is what was chosen** ([`MissingKey`]), and 400 or 500 when nothing was
//!   (`a_missing_key_is_what_was_chosen`).
//! * **A client that obeys is never denied**: who waits for `Retry-After`, or for `t` when nothing is left, is let
//!   through, if nobody else spends its budget meanwhile (`tests/served/obeying.rs`). `Retry-After` is rounded up, at least 1,
//!   and absent when no wait can help (`blocked_and_impossible_requests_get_no_hint`).
//! * **One set of headers**, however layers are stacked, on allowed and denied answers
//!   (`stacked_layers_tell_one_set_of_headers`), all of them structured fields (`tests/served/fields.rs`).
//! * **It is ready when the service inside is** (`it_is_ready_when_the_service_inside_is`); one that waits calls a
//!   service only when that is ready (`the_service_inside_is_called_only_when_it_is_ready`).
//!
//! # Time
//!
//! The layer reads no clock. What its limiter takes for the time is the time
//! ([`LimiterBuilder::clock`](brimful::LimiterBuilder::clock)): with a [`ManualClock`](brimful::ManualClock) a test moves
//! a whole server through the day.
//!
//! # Features
//!
//! * `axum`: peer addresses and path templates as axum leaves them in a request.
//! * `tonic`: peer addresses as tonic leaves them, and denials that gRPC clients understand: `RESOURCE_EXHAUSTED` with
//!   `RetryInfo`. (Without it they are told 429, which they take for `UNAVAILABLE`.)
//! * `wait`: `RateLimitBuilder::build_waiting`, a layer at which requests wait for their tokens, on Tokio.
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

/// The examples of `docs/http.md`, compiled and run as the crate page's are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/http.md")]
pub struct Page;

//! The layer.

use std::sync::Arc;

use brimful::Limiter;
use tower_layer::Layer;

use crate::builder::RateLimitBuilder;
use crate::gate::Gate;
use crate::key::RequestKey;
use crate::service::RateLimit;

/// Puts a limiter before a service: requests within their limits go on, the others are answered with 429.
///
/// A clone is the same layer, and all services that it makes share its limiter, however many connections a server
/// clones them for. Put around itself, or applied twice, it charges a request once. (By a word in the request's
/// extensions, which is good for one passage: of requests that a handler makes with the extensions of its own, all but
/// the first are charged.)
///
/// ```
/// use brimful::{Limit, Limiter};
/// use brimful_tower::{PeerIp, RateLimitLayer};
///
/// let limiter = Limiter::new(Limit::per_minute(100)?.burst(20)?)?;
/// let layer = RateLimitLayer::new(limiter, PeerIp::new());
/// # let _ = layer;
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    gate: Arc<Gate>,
}

impl RateLimitLayer {
    /// A layer that limits by a key, with the defaults of [`RateLimitBuilder`].
    #[must_use]
    pub fn new(limiter: impl Into<Arc<Limiter>>, key: impl RequestKey) -> Self {
        Self::of(Self::builder(limiter, key).gate())
    }

    /// Begins a layer that limits by a key.
    pub fn builder(limiter: impl Into<Arc<Limiter>>, key: impl RequestKey) -> RateLimitBuilder {
        RateLimitBuilder::new(limiter.into(), Arc::new(key))
    }

    pub(crate) fn of(gate: Gate) -> Self {
        Self { gate: Arc::new(gate) }
    }

    /// The limiter that it asks.
    #[must_use]
    pub fn limiter(&self) -> &Arc<Limiter> {
        &self.gate.limiter
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit::new(inner, self.gate.clone())
    }
}

//! The layer.

use std::sync::Arc;
use std::time::Duration;

use brimful::Limiter;
use tower_layer::Layer;

use super::service::WaitRateLimit;
use crate::gate::Gate;

/// Puts a limiter before a service: requests within their limits go on, others wait in line, and those that would
/// wait too long are answered with 429. Made by
/// [`RateLimitBuilder::build_waiting`](crate::RateLimitBuilder::build_waiting).
///
/// A clone is the same layer, as of [`RateLimitLayer`](crate::RateLimitLayer).
#[derive(Clone, Debug)]
pub struct WaitLayer {
    gate: Arc<Gate>,
    within: Duration,
}

impl WaitLayer {
    pub(crate) fn of(gate: Gate, within: Duration) -> Self {
        Self { gate: Arc::new(gate), within }
    }

    /// The limiter that it asks.
    #[must_use]
    pub fn limiter(&self) -> &Arc<Limiter> {
        &self.gate.limiter
    }
}

impl<S> Layer<S> for WaitLayer {
    type Service = WaitRateLimit<S>;

    fn layer(&self, inner: S) -> WaitRateLimit<S> {
        WaitRateLimit::new(inner, self.gate.clone(), self.within)
    }
}

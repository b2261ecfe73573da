//! The service that a layer makes.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use brimful_wait::tokio::Acquire;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::WaitFuture;
use crate::body::ResponseBody;
use crate::gate::{Gate, Line, Passage};

/// A service behind a limiter at which requests wait; made by [`WaitLayer`](super::WaitLayer).
///
/// It is ready when the service inside is. A request that waits does not keep that one ready: it is dropped for a
/// clone, and when the request's turn comes, another clone is asked whether it is ready.
#[derive(Clone, Debug)]
pub struct WaitRateLimit<S> {
    inner: S,
    gate: Arc<Gate>,
    within: Duration,
}

impl<S> WaitRateLimit<S> {
    pub(super) const fn new(inner: S, gate: Arc<Gate>, within: Duration) -> Self {
        Self { inner, gate, within }
    }

    /// The service inside.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service inside. What is called there directly is not limited.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service inside, without its limiter.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Q, B> Service<Request<Q>> for WaitRateLimit<S>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
    B: Body,
    B::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = WaitFuture<S, Q>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let gate = self.gate.clone();
        match gate.line_up(&mut request, self.within) {
            Line::Decided(Passage::Through(followup)) => {
                WaitFuture::through(self.inner.call(request), gate, followup)
            }
            Line::Decided(Passage::Stopped(response)) => WaitFuture::stopped(response),
            Line::Waiting(turn, charge) => {
                // The one that is ready may hold what others, or its own clone, wait for.
                let service = self.inner.clone();
                self.inner = service.clone();
                WaitFuture::waiting(Acquire::of_turn(turn), service, request, gate, charge)
            }
        }
    }
}

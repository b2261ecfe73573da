//! The service that a layer makes.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::ResponseBody;
use crate::future::ResponseFuture;
use crate::gate::{Gate, Passage};

/// A service behind a limiter; made by [`RateLimitLayer`](crate::RateLimitLayer).
///
/// It is ready when the service inside is: whether a request is let through depends on the request, and is decided
/// when it comes. After a denial the service inside is still ready, and keeps what it holds for that, such as a place of
/// a `ConcurrencyLimit`: call it again or drop it, as servers do.
#[derive(Clone, Debug)]
pub struct RateLimit<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S> RateLimit<S> {
    pub(crate) const fn new(inner: S, gate: Arc<Gate>) -> Self {
        Self { inner, gate }
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

impl<S, Q, B> Service<Request<Q>> for RateLimit<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Body,
    B::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        match self.gate.judge(&mut request) {
            Passage::Through(followup) => {
                ResponseFuture::through(self.inner.call(request), self.gate.clone(), followup)
            }
            // The service inside stays ready for the next.
            Passage::Stopped(response) => ResponseFuture::stopped(response),
        }
    }
}

//! The future of a response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;

use crate::body::ResponseBody;
use crate::gate::{Followup, Gate};

pin_project! {
    /// The response of the service inside, or that of a denial, which is there at once.
    ///
    /// # Panics
    /// Polling it after it was ready, as any future.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[project = KindProjected]
    enum Kind<F> {
        Through {
            #[pin]
            inner: F,
            gate: Arc<Gate>,
            followup: Option<Followup>,
        },
        Stopped { response: Option<Response<Bytes>> },
    }
}

impl<F> ResponseFuture<F> {
    pub(crate) const fn through(inner: F, gate: Arc<Gate>, followup: Followup) -> Self {
        Self { kind: Kind::Through { inner, gate, followup: Some(followup) } }
    }

    pub(crate) const fn stopped(response: Response<Bytes>) -> Self {
        Self { kind: Kind::Stopped { response: Some(response) } }
    }
}

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    B::Data: From<Bytes>,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjected::Through { inner, gate, followup } => {
                let mut response = ready!(inner.poll(context))?;
                if let Some(followup) = followup.take() {
                    gate.complete(followup, &mut response);
                }
                Poll::Ready(Ok(response.map(ResponseBody::inner)))
            }
            // Nothing more comes of a future that is done.
            KindProjected::Stopped { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(ResponseBody::own))),
                None => Poll::Pending,
            },
        }
    }
}

impl<F> std::fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.kind {
            Kind::Through { .. } => "ResponseFuture::Through",
            Kind::Stopped { .. } => "ResponseFuture::Stopped",
        })
    }
}

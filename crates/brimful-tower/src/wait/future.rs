//! The future of a response that waits for tokens first.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use brimful_wait::tokio::Acquire;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::body::ResponseBody;
use crate::future::ResponseFuture;
use crate::gate::{Charge, Followup, Gate, Passage};

pin_project! {
    /// Waits for tokens if it must, then until the service inside is ready, and is then its response. Dropping it
    /// gives up the place in line; tokens that were granted at that moment go back.
    ///
    /// # Panics
    /// Polling one that has to wait panics outside of a Tokio runtime with its timer enabled, as all timers of
    /// Tokio do; polling it after it was ready, as any future.
    #[must_use = "futures do nothing unless polled"]
    pub struct WaitFuture<S, Q>
    where
        S: Service<Request<Q>>,
    {
        #[pin]
        kind: Kind<S, Q, S::Future>,
    }
}

pin_project! {
    #[project = KindProjected]
    enum Kind<S, Q, F> {
        Waiting { acquire: Acquire<'static, ()>, next: Option<Next<S, Q>>, gate: Arc<Gate> },
        // Its tokens are charged.
        Readying { next: Option<Next<S, Q>>, followup: Option<Followup>, gate: Arc<Gate> },
        Called {
            #[pin]
            future: ResponseFuture<F>,
        },
    }
}

/// What is called when the tokens are there.
struct Next<S, Q> {
    service: S,
    /// Until it is called.
    request: Option<Request<Q>>,
    charge: Charge,
    gate: Arc<Gate>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Waiting,
    /// Its tokens are spent.
    Charged,
    /// It was refused.
    Over,
}

/// A request that goes away while it waits is told of; one that was charged and is not served after all, because the
/// client went away or the service inside failed before, gets its tokens back.
impl<S, Q> Drop for Next<S, Q> {
    fn drop(&mut self) {
        let Some(request) = &self.request else { return };
        match self.stage {
            Stage::Waiting => self.gate.given_up(request, &self.charge),
            Stage::Charged => self.gate.refund(request, &self.charge),
            Stage::Over => {}
        }
    }
}

impl<S, Q> WaitFuture<S, Q>
where
    S: Service<Request<Q>>,
{
    pub(super) const fn through(inner: S::Future, gate: Arc<Gate>, followup: Followup) -> Self {
        let future = ResponseFuture::through(inner, gate, followup);
        Self { kind: Kind::Called { future } }
    }

    pub(super) const fn stopped(response: Response<Bytes>) -> Self {
        Self { kind: Kind::Called { future: ResponseFuture::stopped(response) } }
    }

    pub(super) fn waiting(
        acquire: Acquire<'static, ()>,
        service: S,
        request: Request<Q>,
        gate: Arc<Gate>,
        charge: Charge,
    ) -> Self {
        let (request, stage) = (Some(request), Stage::Waiting);
        let next = Some(Next { service, request, charge, gate: gate.clone(), stage });
        Self { kind: Kind::Waiting { acquire, next, gate } }
    }
}

impl<S, Q, B> Future for WaitFuture<S, Q>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Body,
    B::Data: From<Bytes>,
{
    type Output = Result<Response<ResponseBody<B>>, S::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let kind = match this.kind.as_mut().project() {
                KindProjected::Waiting { acquire, next, gate } => {
                    let outcome = ready!(Pin::new(acquire).poll(context));
                    let decision = match outcome {
                        Ok(decision) => decision,
                        Err(refused) => *refused.decision(),
                    };
                    // Nothing more comes of a future that is done.
                    let Some(mut waited) = next.take() else { return Poll::Pending };
                    let Some(request) = &mut waited.request else { return Poll::Pending };
                    let gate = gate.clone();
                    match gate.waited(request, &waited.charge, decision) {
                        Passage::Through(followup) => {
                            waited.stage = Stage::Charged;
                            let (next, followup) = (Some(waited), Some(followup));
                            Kind::Readying { next, followup, gate }
                        }
                        Passage::Stopped(response) => {
                            waited.stage = Stage::Over;
                            Kind::Called { future: ResponseFuture::stopped(response) }
                        }
                    }
                }
                KindProjected::Readying { next, followup, gate } => {
                    match next {
                        Some(next) => ready!(next.service.poll_ready(context))?,
                        None => return Poll::Pending,
                    }
                    let (Some(mut next), Some(followup)) = (next.take(), followup.take()) else {
                        return Poll::Pending;
                    };
                    let Some(request) = next.request.take() else { return Poll::Pending };
                    let inner = next.service.call(request);
                    let future = ResponseFuture::through(inner, gate.clone(), followup);
                    Kind::Called { future }
                }
                KindProjected::Called { future } => return future.poll(context),
            };
            this.kind.set(kind);
        }
    }
}

impl<S, Q> fmt::Debug for WaitFuture<S, Q>
where
    S: Service<Request<Q>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Waiting { .. } => "WaitFuture::Waiting",
            Kind::Readying { .. } => "WaitFuture::Readying",
            Kind::Called { .. } => "WaitFuture::Called",
        })
    }
}

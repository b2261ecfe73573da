//! What the tests of waiting share.
#![allow(dead_code, reason = "each test uses a part")]

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use brimful::{Limiter, LimiterBuilder, Nanos, Rules};
use brimful_wait::tokio::TokioClock;

/// A limiter on Tokio's time, to be changed.
pub(crate) fn on_tokio(rules: impl Into<Rules>) -> LimiterBuilder {
    Limiter::builder(rules).clock(TokioClock::starting_at(Nanos::from_secs(1_000_000)))
}

/// Polls once, and says whether it is done.
pub(crate) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// How often futures were polled and woken.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) polls: AtomicU64,
    pub(crate) wakes: AtomicU64,
}

impl Counts {
    pub(crate) fn polls(&self) -> u64 {
        self.polls.load(Ordering::SeqCst)
    }

    pub(crate) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::SeqCst)
    }
}

/// A future whose polls and wake-ups are counted.
pub(crate) struct Counted<F> {
    pub(crate) future: F,
    pub(crate) counts: Arc<Counts>,
}

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.counts.polls.fetch_add(1, Ordering::SeqCst);
        let waker = CountingWaker { inner: context.waker().clone(), counts: self.counts.clone() };
        let waker = Waker::from(Arc::new(waker));
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

struct CountingWaker {
    inner: Waker,
    counts: Arc<Counts>,
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.counts.wakes.fetch_add(1, Ordering::SeqCst);
        self.inner.wake_by_ref();
    }
}

/// Numbers from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// One below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

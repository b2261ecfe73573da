//! What becomes of bodies: the service's go through as they are, a denial's is whole and says how long it is.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::common::limiter;
use brimful::Limit;
use brimful_tower::RateLimitLayer;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt};

/// Two frames and trailers.
struct Framed(VecDeque<Frame<Bytes>>);

impl Framed {
    fn new() -> Self {
        let trailers = HeaderMap::from_iter([(http::header::ETAG, "x".parse().expect("a value"))]);
        let frames = [Frame::data("a".into()), Frame::data("bc".into()), Frame::trailers(trailers)];
        Self(frames.into())
    }
}

impl Body for Framed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(3);
        hint
    }
}

#[tokio::test]
async fn bodies_go_through_and_denials_know_their_length() {
    let (limiter, _) = limiter(Limit::per_minute(1).expect("a limit"));
    let layer = RateLimitLayer::new(limiter, "all");
    let service = layer.layer(tower::service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new(Framed::new()))
    }));

    let mut body = service.clone().oneshot(Request::new(())).await.expect("an answer").into_body();
    assert_eq!((body.size_hint().lower(), body.size_hint().upper()), (3, None));
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        assert!(frames.len() < 3);
        let frame = frame.expect("a frame");
        frames.push(match frame.into_data() {
            Ok(data) => String::from_utf8(data.to_vec()).expect("text"),
            Err(frame) => format!("{} trailers", frame.into_trailers().expect("trailers").len()),
        });
    }
    assert_eq!(frames, ["a", "bc", "1 trailers"]);
    assert!(body.is_end_stream());

    let mut body = service.clone().oneshot(Request::new(())).await.expect("an answer").into_body();
    let length = body.size_hint().exact().expect("a length");
    assert!(!body.is_end_stream());
    let data = body.frame().await.expect("a frame").expect("no errors").into_data();
    assert_eq!(u64::try_from(data.expect("data").len()), Ok(length));
    assert!(body.frame().await.is_none());
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
}

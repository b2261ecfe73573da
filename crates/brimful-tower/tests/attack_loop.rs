//! A request that comes by often.
mod common;
use std::sync::Arc;
use brimful::Limit;
use brimful_tower::RateLimitLayer;
use common::limiter;
use http::Request;
use tower::{Layer, Service};

#[tokio::test]
async fn a_request_that_passes_a_layer_again_and_again_leaves_one_word() {
    use std::sync::Mutex;
    let layer = RateLimitLayer::new(limiter(Limit::per_minute(1).expect("a limit")).0, "all");
    let kept: Arc<Mutex<Option<Request<()>>>> = Arc::default();
    let keeper = kept.clone();
    let inside = tower::service_fn(move |request: Request<()>| {
        *keeper.lock().expect("no panics") = Some(request);
        async {
            Ok::<_, std::convert::Infallible>(http::Response::new(
                http_body_util::Full::<bytes::Bytes>::from("x"),
            ))
        }
    });
    let mut service = layer.layer(inside);
    let mut request = Request::get("/").body(()).expect("a request");
    let started = std::time::Instant::now();
    for n in 0..20_000_u32 {
        let answer = service.call(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        request = kept.lock().expect("no panics").take().expect("kept");
        if n % 5_000 == 0 { println!("{n} {:?}", started.elapsed()); }
    }
    println!("dropping");
    drop(request);
}

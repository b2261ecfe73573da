//! A service that answers 429: nobody waits, and who is denied is told when to come again.

use brimful::{Decision, Limit, Limiter};

struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
}

/// From a client's address to a response.
fn answer(limiter: &Limiter, client: &str) -> Response {
    let decision = limiter.try_acquire(client);
    if decision.is_allowed() {
        return Response { status: 200, headers: Vec::new() };
    }
    too_many(&decision)
}

/// Whole seconds, rounded up; without a hint when no wait would help.
fn too_many(denied: &Decision) -> Response {
    let retry_after = denied.retry_after_secs().map(|secs| ("retry-after", secs.to_string()));
    Response { status: 429, headers: Vec::from_iter(retry_after) }
}

fn main() -> Result<(), brimful::Error> {
    let limiter = Limiter::new(Limit::per_minute(6)?.burst(2)?)?;
    let statuses: Vec<_> = (0..3).map(|_| answer(&limiter, "198.51.100.7").status).collect();
    assert_eq!(statuses, [200, 200, 429]);

    let denied = answer(&limiter, "198.51.100.7");
    println!("{} {:?}", denied.status, denied.headers);
    assert_eq!(denied.headers, [("retry-after", "10".to_owned())]);
    Ok(())
}

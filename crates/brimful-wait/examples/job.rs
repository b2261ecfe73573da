//! A background job that may do five things a second, and waits for each.

use brimful::{Limit, Limiter};
use brimful_wait::Refused;
use brimful_wait::tokio::Wait;
use std::sync::Arc;
use std::time::Duration;

/// Hands out mails, each as soon as it may go.
async fn send_all(limiter: &Arc<Limiter>, mails: &[&str]) -> Result<u32, Refused> {
    let mut sent = 0;
    for _mail in mails {
        // Waits for its turn. It is refused when that would take longer than a minute.
        limiter.acquire_within("mail", 1, Duration::from_secs(60)).await?;
        sent += 1;
    }
    Ok(sent)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Arc::new(Limiter::new(Limit::per_second(5)?.burst(2)?)?);
    let sent = send_all(&limiter, &["ann", "ben", "cleo"]).await?;
    println!("sent {sent}");
    assert_eq!(sent, 3);

    // An end that is in sight: who waits then is told so.
    limiter.close();
    Ok(())
}

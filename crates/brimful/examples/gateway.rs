//! A gateway to a language model: what an answer costs is known when its last word is out.

use brimful::{Decision, Limiter};

/// What the model says, a word at a time.
fn model(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.split(' ').rev()
}

/// Reserves the most that the answer may cost, and settles what it did cost. When this is left early (an error,
/// or a client who is gone), dropping the reservation gives everything back.
fn complete(
    limiter: &Limiter,
    tenant: &str,
    prompt: &str,
    max_tokens: u64,
) -> Result<String, Decision> {
    let reserved = limiter.reserve(tenant, max_tokens)?;
    let mut words = Vec::new();
    let mut used = 0;
    for word in model(prompt) {
        words.push(word);
        used += 1;
    }
    reserved.commit(used);
    Ok(words.join(" "))
}

fn main() -> Result<(), brimful::Error> {
    let limiter = Limiter::per_hour(1_000)?;
    let answer = complete(&limiter, "acme", "three words long", 600);
    assert_eq!(answer.as_deref(), Ok("long words three"));
    // 3 of the 600 were used.
    assert_eq!(limiter.peek("acme", 0).remaining(), 997);

    // What could cost more than is left is denied before the model is asked.
    let denied = complete(&limiter, "acme", "hello", 998).unwrap_err();
    println!("retry after {:?}", denied.retry_after());
    assert_eq!(limiter.peek("acme", 0).remaining(), 997);
    Ok(())
}

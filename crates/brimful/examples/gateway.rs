//! A gateway to a language model: what an answer costs is known when its last word is out.

use brimful::{Decision, Limiter};

/// What the model says, a token at a time.
fn model(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.split(' ').rev()
}

/// Hands on the answer as it comes, and says what it cost. `send` is false when the client is gone.
fn complete(
    limiter: &Limiter,
    tenant: &str,
    (prompt, max_tokens): (&str, u64),
    mut send: impl FnMut(&str) -> bool,
) -> Result<u64, Decision> {
    // The most that it may cost. Should this be left by an error, all of it goes back.
    let reserved = limiter.reserve(tenant, max_tokens)?;
    let mut used = 0;
    for token in model(prompt) {
        used += 1;
        if !send(token) {
            break;
        }
    }
    // What it did cost; the rest goes back.
    reserved.commit(used);
    Ok(used)
}

fn main() -> Result<(), brimful::Error> {
    let limiter = Limiter::per_day(1_000)?;
    let mut answer = Vec::new();
    let used = complete(&limiter, "acme", ("three words long", 600), |token| {
        answer.push(token.to_owned());
        true
    });
    assert_eq!((used, answer.join(" ")), (Ok(3), "long words three".to_owned()));
    assert_eq!(limiter.peek("acme", 0).remaining(), 997);

    // A client who leaves after the first token pays for one.
    assert_eq!(complete(&limiter, "acme", ("a long story", 600), |_| false), Ok(1));
    assert_eq!(limiter.peek("acme", 0).remaining(), 996);

    // What could cost more than is left is denied before the model is asked.
    let denied = complete(&limiter, "acme", ("hello", 999), |_| true).unwrap_err();
    println!("retry after {:?} s", denied.retry_after_secs());
    Ok(())
}

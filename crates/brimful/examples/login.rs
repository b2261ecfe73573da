//! A login that counts failures alone: five wrong passwords an hour, and as many right ones as you like.

use brimful::{Decision, Limiter};

/// Whether the password is right. A denied attempt looks at no password, so that guessing faster does not help.
fn log_in(failures: &Limiter, user: &str, password: &str) -> Result<bool, Decision> {
    // Charged before the password is looked at: attempts at the same time cannot share one token.
    let attempt = failures.reserve(user, 1)?;
    let is_right = password == "correct horse";
    match is_right {
        true => attempt.cancel(),
        false => attempt.commit(1).given_back(),
    };
    Ok(is_right)
}

fn main() -> Result<(), brimful::Error> {
    let failures = Limiter::per_hour(5)?;
    for _ in 0..100 {
        assert_eq!(log_in(&failures, "ann", "correct horse"), Ok(true));
    }
    for _ in 0..5 {
        assert_eq!(log_in(&failures, "ann", "guess"), Ok(false));
    }
    // Now the right one is denied too.
    let denied = log_in(&failures, "ann", "correct horse").unwrap_err();
    println!("retry after {:?}", denied.retry_after_secs());
    assert_eq!(log_in(&failures, "ben", "correct horse"), Ok(true));
    Ok(())
}

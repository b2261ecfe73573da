//! Requests that get as much out of a limiter as they can.
//!
//! An attack knows the period, but not the algorithm: it goes by what the limiter answers. It
//! takes all that there is at a chosen time and in the nanosecond after, then each next token as
//! soon as the hints allow, and in the last nanosecond of the period whatever is left; then it
//! begins anew at the start of the next period. Begun in the last nanosecond of a window of the
//! clock, it finds the worst of both algorithms that have such windows; a bucket and a log are the
//! same at any time.

use std::time::Duration;

use brimful::{Limit, Limiter, Nanos, Retry};

use super::worst::{Burst, Part, worst};
use crate::error::Error;

/// A period's tokens are taken in about so many pieces: one by one up to this number.
const PIECES: u64 = 10_000;
/// The most pieces that are taken in one attack. More are needed when a bucket earns more than so
/// many times what it holds: a piece must leave room for what drips in meanwhile.
const MOST_PIECES: u64 = 200_000;
/// All requests come from one client.
const KEY: u64 = 0;

/// What all attacks on a limit got.
#[derive(Debug)]
pub(super) struct Attacks {
    /// Of each attack by itself, in the order of their times.
    admitted: Vec<Vec<Part>>,
    /// None was stopped after [`MOST_PIECES`].
    pub(super) complete: bool,
}

impl Attacks {
    /// The worst burst of any attack in any half-open window of `width` nanoseconds.
    pub(super) fn worst(&self, width: u64) -> Burst {
        let each = self.admitted.iter().map(|admitted| worst(admitted, width));
        each.reduce(Burst::or).unwrap_or_default()
    }
}

/// Attacks a limit at the start of a window of the clock, in the last nanosecond of one, and in
/// the middle.
pub(super) fn all(limit: &Limit) -> Result<Attacks, Error> {
    let period = u64::try_from(limit.period().as_nanos()).unwrap_or(u64::MAX);
    let mut attacks = Attacks { admitted: Vec::new(), complete: true };
    for start in [period, period.saturating_sub(1), period.saturating_add(period / 2)] {
        let limiter = Limiter::builder(limit.clone()).max_keys(1).build()?;
        let mut attack = Attack { limiter, piece: piece(limit), admitted: Vec::new() };
        attacks.complete &= attack.run(Nanos::from_nanos(start), period);
        attacks.admitted.push(attack.admitted);
    }
    Ok(attacks)
}

/// The cost of one piece. While a full bucket waits for the next nanosecond it loses what drips
/// in; one that has room for another token does not.
fn piece(limit: &Limit) -> u64 {
    limit.tokens().div_ceil(PIECES).min(limit.capacity().saturating_sub(1)).max(1)
}

/// One attack on a limiter of its own.
struct Attack {
    limiter: Limiter,
    piece: u64,
    admitted: Vec<Part>,
}

impl Attack {
    /// False when it was stopped early.
    fn run(&mut self, start: Nanos, period: u64) -> bool {
        let after = |ns: u64| start + Duration::from_nanos(ns);
        // Times do not go back, however short the period.
        let second = after(1);
        let last = after(period.saturating_sub(1)).max(second);
        let next = after(period);
        self.take_all(start);
        self.take_all(second);
        let complete = self.take_pieces(second, last);
        for time in [last, next, after(period.saturating_add(1))] {
            self.take_all(time);
        }
        complete
    }

    fn take_all(&mut self, now: Nanos) {
        let left = self.limiter.peek_at(KEY, 0, now).remaining();
        if left > 0 && self.limiter.try_acquire_at(KEY, left, now).is_allowed() {
            self.keep(now, left);
        }
    }

    /// Takes pieces from one time until another, each as soon as the hint for it allows.
    fn take_pieces(&mut self, from: Nanos, until: Nanos) -> bool {
        let mut now = from;
        for _ in 0..MOST_PIECES {
            let mut decision = self.limiter.try_acquire_at(KEY, self.piece, now);
            if let Retry::After(wait) = decision.retry() {
                now = now + wait.max(Duration::from_nanos(1));
                if now > until {
                    return true;
                }
                decision = self.limiter.try_acquire_at(KEY, self.piece, now);
            }
            match decision.retry() {
                Retry::Now => self.keep(now, self.piece),
                // A hint that was too short; the next one is asked for.
                Retry::After(_) => {}
                Retry::Never => return true,
            }
        }
        false
    }

    fn keep(&mut self, now: Nanos, tokens: u64) {
        match self.admitted.last_mut() {
            Some(last) if last.to == now => last.tokens = last.tokens.saturating_add(tokens),
            _ => self.admitted.push(Part::at(now, tokens)),
        }
    }
}

//! A clock for limiters that follows Tokio's time.

use brimful::{Clock, Nanos, SystemClock};
use tokio::time::Instant;

/// Tokio's time, anchored once to wall time: for tests whose time is paused (`tokio::time::pause`,
/// `start_paused`), and for simulations on it.
///
/// It is made in the runtime whose time it follows. Threads outside of it, if its time is paused, read the system's
/// time here; a limiter with this clock is then for the tasks of that runtime.
///
/// ```
/// use brimful::{Limit, Limiter};
/// use brimful_wait::tokio::TokioClock;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), brimful::Error> {
/// let limiter = Limiter::builder(Limit::per_hour(1)?).clock(TokioClock::new()).build()?;
/// assert!(limiter.allow("k"));
/// assert!(!limiter.allow("k"));
/// tokio::time::advance(Duration::from_secs(3_600)).await;
/// assert!(limiter.allow("k"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    started: Instant,
    anchor: Nanos,
}

impl TokioClock {
    /// Anchors to the wall time now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now(), anchor: SystemClock::new().now() }
    }

    /// Anchors to a time that is given, for tests that shall not depend on the day.
    #[must_use]
    pub fn starting_at(anchor: Nanos) -> Self {
        Self { started: Instant::now(), anchor }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Nanos {
        self.anchor + self.started.elapsed()
    }
}

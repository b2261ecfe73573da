//! Waiting for the tokens of [`brimful`]: in async tasks and in threads, first come, first served.
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(feature = "tokio", doc = include_str!("../examples/job.rs"))]
#![cfg_attr(feature = "tokio", doc = "```")]
//!
//! # Which module
//!
//! | who waits | module | verbs |
//! |---|---|---|
//! | an async task on Tokio | `tokio` | `acquire`, `acquire_n`, `acquire_within` |
//! | a thread | [`blocking`] | `acquire_blocking`, `acquire_n_blocking`, `acquire_within_blocking` |
//! | a task that put itself into the queue | `tokio` | `Acquire::of_turn` |
//! | something else | [`brimful::Limiter::enqueue`] | a [`Turn`](brimful::Turn), which knows no runtime |
//!
//! All of them wait in the same queues: tasks and threads that want tokens of one key are granted in the order
//! in which they came. Each verb is there for a [`Limiter`](brimful::Limiter), for an `Arc` or a `Weak` of one, and
//! for a [`TierLimiter`](brimful::TierLimiter).
//!
//! # What happens
//!
//! * **It is known when each will be granted**, so who would have to wait too long is [`Refused`] at once and not
//!   when its time is up, with the time after which it would be worth a try.
//! * **Nothing runs in between.** There is no task and no thread behind a queue. Who waits has set a timer to its
//!   own turn; whoever comes by first grants all who are due, and calls their wakers.
//! * **Tokens are charged when they are granted**, not when they are asked for.
//! * **Who does not wait is denied while others do** ([`Denial::Queued`](brimful::Denial::Queued)).
//! * **Giving up is dropping**: the future, or nothing at all for a thread, which cannot. The place is free at
//!   once, tokens that were granted and not yet heard of go back, and those behind move up. (They are not woken
//!   for that unless they are first now: each learns it when it is the first, or when its timer rings.)
//! * **[`Limiter::close`](brimful::Limiter::close) ends all waiting**, for good: all who wait are woken and refused
//!   with [`Denial::Closed`](brimful::Denial::Closed). Dropping the limiter does the same for those who wait by
//!   an `Arc` or a `Weak` of it, which do not keep it while they wait. (A task or a thread that owns an `Arc` of its
//!   own does, as always: close the limiter then, or give them a `Weak`.)
//!
//! # What a wake-up costs
//!
//! Who need not wait allocates nothing and sets no timer (`who_need_not_wait_allocates_nothing`). Who waits is
//! polled once when it comes and once for its grant (`each_wait_is_polled_twice`); when grants before it were late, or
//! the clock of the limiter is not that of the timer, once or twice more, to hear how much longer it is. While nobody
//! is due, nothing is polled at all (`nobody_is_polled_while_nobody_is_due`).
//!
//! Tokio's timers ring on whole milliseconds, and threads wake a part of one late. A bucket that is full meanwhile
//! earns nothing: where the burst is 1, each grant loses what its wake-up was late, and 1,000 a second are rather 900.
//! With a burst of what is earned in 5 ms (at 1,000 a second: 5) at most one in a hundred is lost.
//!
//! # Clocks
//!
//! A limiter says how long to wait by its own clock, and the timer that is set is Tokio's or the system's. Where the
//! two go apart, nothing is granted too early: who comes too early is told how much longer. With a
//! [`ManualClock`](brimful::ManualClock) that stands still, the waiter sleeps as long as the limiter says, asks
//! again, and goes on so, once in that time; setting the clock wakes nobody. For tests on paused time take a
#![cfg_attr(feature = "tokio", doc = "[`TokioClock`](tokio::TokioClock).")]
#![cfg_attr(not(feature = "tokio"), doc = "`TokioClock` (feature `tokio`).")]
//!
//! # Features
//!
//! * `tokio` (default): the module `tokio`. Without it the crate has no dependency but `brimful`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::float_arithmetic,
        clippy::disallowed_methods
    )
)]

mod ask;
pub mod blocking;
mod refused;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use refused::Refused;

//! An exact, keyed, bounded rate limiter: it decides for millions of keys in bounded memory, with
//! a token bucket by default, chosen with open eyes among four algorithms.
//!
//! ```
#![doc = include_str!("../examples/quickstart.rs")]
//! ```
//!
//! # Which algorithm
//!
//! What may be admitted in the worst interval of a limit of N per window W, and what it costs:
//!
//! | algorithm | state per key | worst burst |
//! |---|---|---|
//! | [`TokenBucket`](Algorithm::TokenBucket) | 12 bytes | capacity at once, capacity + rate * T in any T |
//! | [`FixedWindow`](Algorithm::FixedWindow) | 12 bytes | 2N across a boundary, as fast as you like |
//! | [`SlidingLog`](Algorithm::SlidingLog) | 16 bytes for each of up to N requests | N in any W: exact |
//! | [`SlidingWindow`](Algorithm::SlidingWindow) | 12 bytes | N by its own estimate, up to 2N - 1 in a W |
//!
//! A token bucket with capacity C never admits more than N in any W when C + rate * W <= N. The
//! bounds are measured over every reachable small state by the tests in
//! `brimful-testkit/tests/exhaustive.rs`.
//!
//! # What is promised, and the test that keeps it
//!
//! (`docs/guarantees.md` has these and others, each with its range and all that keeps it.)
//!
//! * **Exact.** Integer arithmetic only: over any number of calls at any spacing, what is admitted
//!   is what an exact rational model admits (`a_limiter_decides_as_the_keyed_model`,
//!   `brimful-testkit/tests/model.rs`, and with every invariant after each step in ten thousand simulated
//!   worlds, `every_seed_keeps_the_invariants`), in debug and release alike (`golden.rs`).
//! * **Hints are tight.** At `now + retry_after` the same cost is admitted if nobody else asked;
//!   one nanosecond earlier it is not (`exhaustive.rs`, and the conformance suite). A cost that can
//!   never be admitted is [`Retry::Never`], not a duration.
//! * **A denial charges nothing**, whatever the algorithm and the number of limits (conformance
//!   suite; under threads `two_limits_are_charged_together_or_not_at_all`).
//! * **Several keys in one call are charged together or not at all**
//!   ([`try_acquire_all`](Limiter::try_acquire_all)): what is said and left is what single calls
//!   would (`all_keys_at_once_are_what_single_calls_are`), in full stores too
//!   (`full_stores_take_all_keys_or_none`), and under threads (`nobody_sees_a_part_of_a_call`).
//! * **Time may go backwards.** A reading before a key's last change, by up to the longest fill
//!   time or window of its limits (at least 10 s), counts as that change; beyond it the clock was
//!   stepped, and debts and counts stay as they are (conformance suite, `model.rs`).
//! * **Bounded.** A limiter allocates when it is built and never again (`flood.rs`), but for limits
//!   that come with calls, open reservations and those who wait, whose numbers are bounded (`given.rs`,
//!   `a_place_that_was_given_up_is_free`, `open_reservations_are_bounded`), and for rules that replace others. A
//!   slot is free exactly when its key owes nothing and nobody waits for it, so eviction loses nothing
//!   (`eviction_is_lossless`). While no
//!   more than `max_keys` keys owe, a newcomer finds a slot: of 550 million replacements at exactly
//!   `max_keys` none missed, which bounds the chance to 6 in 10^9 (`newcomers_find_a_slot` and
//!   `racing_newcomers_find_a_slot` repeat a part of this). When more keys owe, [`Overflow`] says
//!   what happens, and it is counted (`overflow.rs`).
//! * **Threads.** Every call takes effect at one moment between its beginning and its end (a batch does
//!   so for each of its keys): histories of real threads are put in an order in which the exact model
//!   gives the same answers (`brimful/tests/linear`), and models run two and three threads in every order
//!   that a few preemptions allow (`models/`). Calls never wait for each other in a circle, and one that
//!   does not run holds others up and breaks nothing (`brimful/tests/stress`).
//! * **One policy for each key**: exact override, tier, most specific pattern, default, whatever the
//!   order of the [`Rules`] (`the_order_of_rules_means_nothing`, `every_pair_of_small_patterns`),
//!   resolved once (`a_key_is_resolved_once`). When its limits change, because it is seen under
//!   another [tier](TierLimiter) or limits come with the call, it keeps the fraction that it owes, or
//!   what its windows counted (`tiers.rs` and `given.rs`, against the model).
//! * **Rules can be replaced while a limiter is in use** ([`Limiter::set_rules`]): each decision is by the
//!   old rules or by the new ones, and says by which (`each_decision_is_by_the_rules_that_it_names`, and
//!   models); keys keep what they have spent, as above (`replaced.rs`, against the model), and what nobody
//!   owes under is let go (`a_thousand_rules_leave_nothing_behind`).
//! * **Reservations leave what would have been** ([`Limiter::reserve`]): one that is settled leaves the state that
//!   there would be had its real cost been charged when it was made (`receipts/tests.rs` and
//!   `brimful-testkit/tests/waiting.rs`, against a model that keeps all history). So nothing is minted by giving
//!   back what was refilled already, and nothing lost.
//! * **Waiting is in order** ([`Limiter::enqueue`]): those who wait for a key are granted in the order in which
//!   they came, as soon as their cost is admitted, and calls that do not wait come after them
//!   (`brimful-testkit/tests/waiting.rs`). Who gives up, at whatever moment, leaves place and tokens to the others
//!   (`grants_and_time_outs_at_one_moment_lose_nothing`; models). Each asks once, and nobody is woken in
//!   vain (`a_hundred_thousand_wait`).
//! * **Rules on trial** ([`Policy::shadow`]) change nothing of what is enforced (`shadow.rs`).
//! * **One key, one state** (`a_key_is_never_in_two_slots`; under threads that race for slots, what was
//!   charged is owed: `what_was_charged_is_owed`). Keys are kept as 64-bit fingerprints
//!   of a keyed SipHash-1-3. With n keys in the store a new key is taken for another with a
//!   probability of n / 2^64: at a million keys 5.4 in 10^14.
//!
//! # Time
//!
//! The verbs `try_acquire_n`, `peek`, `refund`, `reserve` and `enqueue` have twins ending in `_at` that take the
//! time as a [`Nanos`] instead of reading the clock.
//! The default clock is monotonic and anchored once to wall time; pass another [`Clock`] to count
//! differently. Windows are aligned to the Unix epoch, so a week starts on a Thursday.
//!
//! # Features
//!
//! * `std` (default): [`Limiter`] with its store and clock. Without it the crate is the pure core:
//!   the values and [`Meter`], for `no_std` with `alloc`.
//! * `serde`: `Serialize` and `Deserialize` for [`Limit`] and [`Policy`].
//!
//! # What it does not do
//!
//! It does not limit how many requests run at the same time, and it has no penalties: a key cannot
//! be blocked for a while, only by its limits or for good.
#![cfg_attr(not(feature = "std"), no_std)]
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

extern crate alloc;

// The store alone uses some of the steps.
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod algorithm;
// The store alone makes some of the decisions.
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod decision;
mod error;
mod key;
mod limit;
mod meter;
mod policy;
#[cfg(feature = "serde")]
mod serde;
// The store alone uses some of the steps.
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod step;
mod time;

#[cfg(feature = "std")]
mod chunks;
#[cfg(feature = "std")]
mod clock;
#[cfg(feature = "std")]
mod hash;
#[cfg(feature = "std")]
mod keyless;
#[cfg(feature = "std")]
mod limiter;
#[cfg(feature = "std")]
mod rows;
#[cfg(feature = "std")]
mod rules;
#[cfg(feature = "std")]
mod stats;
#[cfg(feature = "std")]
mod store;
#[cfg(feature = "std")]
mod sync;

#[cfg(feature = "std")]
pub use clock::{Clock, ManualClock, SystemClock};
pub use decision::{Decision, Denial, Retry};
pub use error::Error;
pub use key::{AsKey, IpPrefix, Key};
#[cfg(feature = "std")]
pub use keyless::KeylessLimiter;
pub use limit::{Algorithm, Limit};
#[cfg(feature = "std")]
pub use limiter::{
    AllDecision, Limiter, LimiterBuilder, Progress, Queued, Reservation, Settlement, TierLimiter,
    Turn,
};
pub use meter::Meter;
pub use policy::Policy;
#[cfg(feature = "std")]
pub use rules::{RuleLevel, RuleMatch, Rules, RulesBuilder};
#[cfg(feature = "std")]
pub use stats::Stats;
#[cfg(feature = "std")]
pub use store::Overflow;
pub use time::Nanos;

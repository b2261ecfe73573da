//! The four algorithms: pure steps over a level, one file each.
//!
//! A **level** is what one limit keeps for one key: at most 96 bits, zero when the limit is as
//! good as new. Each algorithm reads its own meaning into it (a debt, a count, two counts, a
//! handle). [`Machine`] is the one place where they are told apart; a new algorithm is a file and
//! an arm here.
//!
//! Nothing here reads a clock, allocates, or can fail: limits are checked when they are built.
#![deny(clippy::arithmetic_side_effects)]

pub(crate) mod arena;
mod fixed_window;
#[cfg(feature = "std")]
mod parts;
mod sliding_log;
mod sliding_window;
#[cfg(test)]
mod tests;
mod token_bucket;

use core::num::NonZero;

use crate::time::{Nanos, Stamp};
use arena::Arena;
use fixed_window::FixedWindow;
use sliding_log::{Handle, SlidingLog};
use sliding_window::{Counts, SlidingWindow};
use token_bucket::TokenBucket;

#[cfg(feature = "std")]
pub(crate) use parts::Part;

/// A level is below 2 to this power.
pub(crate) const MAX_LEVEL_BITS: u32 = 95;

/// When a decision is made, relative to when the key was last changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The key's last change as it is stored.
    pub(crate) stored: Nanos,
    /// The key's last change as it counts: `stored`, or `now` when the clock was stepped back.
    pub(crate) last: Nanos,
    /// The time that counts as now, never before `last`.
    pub(crate) now: Nanos,
}

impl Moment {
    /// Nanoseconds since the key's last change.
    pub(crate) fn elapsed(self) -> u64 {
        self.now.nanos_since(self.last)
    }

    /// The age of a log entry, whether or not entries have been moved along with a stepped clock.
    fn age(self, entry: Stamp) -> u64 {
        self.stored.age(entry).saturating_add(self.elapsed())
    }
}

/// What one limit says to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Admit,
    /// Refused; the same request is admitted after exactly so many nanoseconds, at least 1.
    Wait(u128),
    /// Refused for good: the cost is above the capacity.
    Never,
}

/// What a decision says of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Whole tokens left, rounded down.
    pub(crate) remaining: u64,
    /// Nanoseconds until the limit is as good as new if nothing more is spent.
    pub(crate) reset_after: u128,
    /// Nanoseconds until one token more is left if nothing more is spent; zero when these are all that the
    /// limit holds.
    pub(crate) next_after: u64,
}

/// How much a level owes: the order in which full stores choose their victims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owed {
    /// The fraction of the capacity that is owed, in units of 2^-32, rounded down.
    pub(crate) share: u64,
    /// The same in whole tokens, rounded up. Zero only for a level that is as good as new.
    pub(crate) tokens: u64,
}

/// One limit, ready to decide.
#[derive(Clone, Debug)]
pub(crate) enum Machine {
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingLog(SlidingLog),
    SlidingWindow(SlidingWindow),
}

impl Machine {
    pub(crate) fn token_bucket(tokens: NonZero<u64>, period: NonZero<u64>, capacity: u64) -> Self {
        Self::TokenBucket(TokenBucket::new(tokens, period, capacity))
    }

    pub(crate) fn fixed_window(limit: u64, width: NonZero<u64>) -> Self {
        Self::FixedWindow(FixedWindow::new(limit, width))
    }

    pub(crate) fn sliding_log(limit: u32, width: NonZero<u64>) -> Self {
        Self::SlidingLog(SlidingLog::new(limit, width.get()))
    }

    pub(crate) fn sliding_window(limit: u64, width: NonZero<u64>) -> Self {
        Self::SlidingWindow(SlidingWindow::new(limit, width))
    }

    /// The constants in four words, which [`of_words`](Self::of_words) reads.
    pub(crate) fn words(&self) -> [u64; 4] {
        match self {
            Self::TokenBucket(bucket) => {
                let [refill, token, capacity] = bucket.constants();
                [1, refill, token, capacity]
            }
            Self::FixedWindow(window) => [2, window.limit(), window.width(), 0],
            Self::SlidingWindow(window) => [3, window.limit(), window.width().get(), 0],
            Self::SlidingLog(log) => [4, log.limit().into(), log.width(), 0],
        }
    }

    /// The limit of those constants, if it is a token bucket.
    #[inline(always)]
    pub(crate) fn bucket_of_words([kind, first, second, third]: [u64; 4]) -> Option<Self> {
        let (refill, token) = (NonZero::new(first)?, NonZero::new(second)?);
        (kind == 1).then(|| Self::TokenBucket(TokenBucket::of_constants(refill, token, third)))
    }

    /// The limit of those constants; none of words that no limit has written.
    #[inline]
    pub(crate) fn of_words(words: [u64; 4]) -> Option<Self> {
        let [kind, first, second, _] = words;
        let width = NonZero::new(second)?;
        match kind {
            1 => Self::bucket_of_words(words),
            2 => Some(Self::fixed_window(first, width)),
            3 => Some(Self::sliding_window(first, width)),
            4 => Some(Self::sliding_log(u32::try_from(first).ok()?, width)),
            _ => None,
        }
    }

    pub(crate) fn is_log(&self) -> bool {
        matches!(self, Self::SlidingLog(_))
    }

    /// The time of a bucket to fill; `None` for the algorithms that have a window instead.
    pub(crate) fn fill_time(&self) -> Option<u128> {
        match self {
            Self::TokenBucket(bucket) => Some(bucket.fill_time()),
            _ => None,
        }
    }

    /// The level as it stands at `at.now`.
    #[inline]
    pub(crate) fn settle(&self, level: u128, at: Moment, arena: &Arena) -> u128 {
        match self {
            Self::TokenBucket(bucket) => bucket.settle(level, at.elapsed()),
            Self::FixedWindow(window) => window.settle(count(level), at).into(),
            Self::SlidingLog(log) => log.settle(Handle::unpack(level), at, arena).pack(),
            Self::SlidingWindow(window) => window.settle(Counts::unpack(level), at).pack(),
        }
    }

    /// Whether a settled level admits a request: [`verdict`](Self::verdict) without the wait.
    #[inline]
    pub(crate) fn admits(&self, settled: u128, cost: u64, at: Moment, arena: &Arena) -> bool {
        match self {
            Self::TokenBucket(bucket) => bucket.admits(settled, cost),
            _ => self.verdict(settled, cost, at, arena) == Verdict::Admit,
        }
    }

    /// What a settled level says to a request.
    pub(crate) fn verdict(&self, settled: u128, cost: u64, at: Moment, arena: &Arena) -> Verdict {
        match self {
            Self::TokenBucket(bucket) => bucket.verdict(settled, cost),
            Self::FixedWindow(window) => window.verdict(count(settled), cost, at),
            Self::SlidingLog(log) => log.verdict(Handle::unpack(settled), cost, at, arena),
            Self::SlidingWindow(window) => window.verdict(Counts::unpack(settled), cost, at),
        }
    }

    /// Whether charging needs a run from the arena.
    pub(crate) fn takes_run(&self, level: u128, settled: u128, at: Moment, arena: &Arena) -> bool {
        match self {
            Self::SlidingLog(log) => {
                log.takes_run(Handle::unpack(level), Handle::unpack(settled), at, arena)
            }
            _ => false,
        }
    }

    /// The level with `cost` more spent, for a request that was admitted.
    #[inline]
    pub(crate) fn charge(
        &self,
        level: u128,
        settled: u128,
        cost: u64,
        at: Moment,
        arena: &mut Arena,
    ) -> u128 {
        match self {
            Self::TokenBucket(bucket) => bucket.charge(settled, cost),
            Self::FixedWindow(window) => window.charge(count(settled), cost).into(),
            Self::SlidingLog(log) => {
                log.charge(Handle::unpack(level), Handle::unpack(settled), cost, at, arena).pack()
            }
            Self::SlidingWindow(window) => window.charge(Counts::unpack(settled), cost).pack(),
        }
    }

    /// The level with up to `tokens` given back, and how many found something to pay.
    pub(crate) fn refund(
        &self,
        level: u128,
        settled: u128,
        tokens: u64,
        at: Moment,
        arena: &mut Arena,
    ) -> (u128, u64) {
        match self {
            Self::TokenBucket(bucket) => bucket.refund(settled, tokens),
            Self::FixedWindow(window) => {
                let (left, given) = window.refund(count(settled), tokens);
                (left.into(), given)
            }
            Self::SlidingLog(_) => {
                let (level, settled) = (Handle::unpack(level), Handle::unpack(settled));
                let (log, given) = SlidingLog::refund(level, settled, tokens, at, arena);
                (log.pack(), given)
            }
            Self::SlidingWindow(window) => {
                let (counts, given) = window.refund(Counts::unpack(settled), tokens);
                (counts.pack(), given)
            }
        }
    }

    /// Makes `settled` the level to keep, with nothing spent or given back.
    pub(crate) fn commit(&self, level: u128, settled: u128, at: Moment, arena: &mut Arena) -> u128 {
        match self {
            Self::SlidingLog(_) => {
                let (level, settled) = (Handle::unpack(level), Handle::unpack(settled));
                SlidingLog::commit(level, settled, at, arena).pack()
            }
            _ => settled,
        }
    }

    /// Whether taking over from `old` needs a run from the arena, if anything is owed there.
    pub(crate) fn begins_log(&self, old: &Self) -> bool {
        match (self, old) {
            (Self::SlidingLog(new), Self::SlidingLog(old)) => new.width() != old.width(),
            _ => self.is_log(),
        }
    }

    /// The level with which this limit goes on in the place of `old`, where `settled` is owed.
    ///
    /// Windows and logs keep what those of their kind have counted, as it is when the widths are the
    /// same and else as spent now, and also above a lower limit, so that nothing is forgotten on the
    /// way through it. Otherwise it is the same fraction of the capacity, at most all of it, rounded
    /// up. A log that begins so takes a run from the arena; for a look, the spare one of that number.
    pub(crate) fn take_over(
        &self,
        old: &Self,
        settled: u128,
        at: Moment,
        look: Option<usize>,
        arena: &mut Arena,
    ) -> u128 {
        match (self, old) {
            (Self::FixedWindow(_), Self::FixedWindow(_)) => return settled,
            (Self::SlidingLog(new), Self::SlidingLog(old)) if new.width() == old.width() => {
                return settled;
            }
            (Self::SlidingLog(_), Self::SlidingLog(_)) => {
                let total = Handle::unpack(settled).total;
                return SlidingLog::begun(total.into(), at, look, arena).pack();
            }
            (Self::SlidingWindow(new), Self::SlidingWindow(old)) if new.width() == old.width() => {
                return settled;
            }
            (Self::SlidingWindow(_), Self::SlidingWindow(old)) => {
                let current = old.owed(Counts::unpack(settled), at).tokens;
                return Counts { previous: 0, current }.pack();
            }
            _ => {}
        }
        let (owed, of) = old.fraction(settled, at);
        let share = |of_new: u128| scaled(owed.min(of), of_new, of);
        let tokens = |limit: u64| u64::try_from(share(limit.into())).unwrap_or(limit);
        match self {
            Self::TokenBucket(bucket) => share(bucket.brim()),
            Self::FixedWindow(window) => tokens(window.limit()).into(),
            Self::SlidingLog(log) => {
                SlidingLog::begun(tokens(log.limit().into()), at, look, arena).pack()
            }
            Self::SlidingWindow(window) => {
                Counts { previous: 0, current: tokens(window.limit()) }.pack()
            }
        }
    }

    /// What is owed of how much, both below 2^96.
    fn fraction(&self, settled: u128, at: Moment) -> (u128, u128) {
        match self {
            Self::TokenBucket(bucket) => (settled, bucket.brim()),
            Self::FixedWindow(window) => (settled, window.limit().into()),
            Self::SlidingLog(log) => (Handle::unpack(settled).total.into(), log.limit().into()),
            Self::SlidingWindow(window) => window.fraction(Counts::unpack(settled), at),
        }
    }

    /// Forgets a level, giving back what it holds in the arena.
    pub(crate) fn release(&self, level: u128, arena: &mut Arena) {
        if let Self::SlidingLog(_) = self {
            SlidingLog::release(Handle::unpack(level), arena);
        }
    }

    /// The same level with what it holds in another arena, as far as that has room.
    pub(crate) fn copied(&self, level: u128, from: &Arena, to: &mut Arena) -> u128 {
        match self {
            Self::SlidingLog(_) => SlidingLog::copied(Handle::unpack(level), from, to).pack(),
            _ => level,
        }
    }

    /// The figures of a settled level.
    pub(crate) fn figures(&self, settled: u128, at: Moment, arena: &Arena) -> Figures {
        let (remaining, reset_after) = match self {
            Self::TokenBucket(bucket) => {
                let (remaining, next_after) = bucket.left(settled);
                return Figures { remaining, reset_after: bucket.reset_after(settled), next_after };
            }
            Self::FixedWindow(window) => {
                let count = count(settled);
                (window.remaining(count), window.reset_after(count, at))
            }
            Self::SlidingLog(log) => {
                let runs = Handle::unpack(settled);
                (log.remaining(runs), log.reset_after(runs, at, arena))
            }
            Self::SlidingWindow(window) => {
                let counts = Counts::unpack(settled);
                (window.remaining(counts, at), window.reset_after(counts, at))
            }
        };
        // What is left is the largest cost that is admitted, so one more is left when the next one is.
        let next_after = match self.verdict(settled, remaining.saturating_add(1), at, arena) {
            // At most two windows.
            Verdict::Wait(wait) => u64::try_from(wait).unwrap_or(u64::MAX),
            Verdict::Never | Verdict::Admit => 0,
        };
        Figures { remaining, reset_after, next_after }
    }

    /// The figures that a settled level will have once `cost`, which it admits, is charged.
    pub(crate) fn figures_after(
        &self,
        settled: u128,
        cost: u64,
        at: Moment,
        arena: &Arena,
    ) -> Figures {
        let charged = match self {
            Self::TokenBucket(bucket) => bucket.charge(settled, cost),
            Self::FixedWindow(window) => window.charge(count(settled), cost).into(),
            Self::SlidingWindow(window) => window.charge(Counts::unpack(settled), cost).pack(),
            Self::SlidingLog(log) => {
                let runs = Handle::unpack(settled);
                let remaining = log.remaining(runs).saturating_sub(cost);
                let reset_after = log.width().into();
                let next_after = log.first_expiry(runs, at, arena);
                return Figures { remaining, reset_after, next_after };
            }
        };
        self.figures(charged, at, arena)
    }

    /// Runs that a level holds in the arena, counted up to `most`.
    pub(crate) fn runs_held(&self, level: u128, most: usize, arena: &Arena) -> usize {
        match self {
            Self::SlidingLog(_) => SlidingLog::runs_held(Handle::unpack(level), most, arena),
            _ => 0,
        }
    }

    /// Runs that a level gives back when only those of `kept`, which has the newest of them or none,
    /// are kept; counted up to `most`.
    pub(crate) fn runs_freed(&self, level: u128, kept: u128, most: usize, arena: &Arena) -> usize {
        match self {
            Self::SlidingLog(_) => {
                SlidingLog::runs_freed(Handle::unpack(level), Handle::unpack(kept), most, arena)
            }
            _ => 0,
        }
    }

    pub(crate) fn owed(&self, settled: u128, at: Moment) -> Owed {
        match self {
            Self::TokenBucket(bucket) => bucket.owed(settled),
            Self::FixedWindow(window) => window.owed(count(settled)),
            Self::SlidingLog(log) => log.owed(Handle::unpack(settled)),
            Self::SlidingWindow(window) => window.owed(Counts::unpack(settled), at),
        }
    }
}

/// A fixed window's level. It is at most 10^12 and always fits.
fn count(level: u128) -> u64 {
    u64::try_from(level).unwrap_or(u64::MAX)
}

/// The product of two 64-bit numbers, which always fits.
fn product(a: u64, b: u64) -> u128 {
    u128::from(a).wrapping_mul(u128::from(b))
}

/// `part * of / whole`, rounded up, for `part <= whole < 2^127`: long multiplication, because the
/// product may need more than 128 bits.
pub(crate) fn scaled(part: u128, of: u128, whole: u128) -> u128 {
    let (mut quotient, mut rest) = (0_u128, 0_u128);
    for bit in (0..u128::BITS).rev() {
        // part * (the bits of `of` so far) = quotient * whole + rest, and rest < whole.
        quotient <<= 1_u32;
        rest <<= 1_u32;
        for addend in [0, if (of >> bit) & 1 == 1 { part } else { 0 }] {
            rest = rest.saturating_add(addend);
            if rest >= whole {
                rest = rest.saturating_sub(whole);
                quotient = quotient.saturating_add(1);
            }
        }
    }
    quotient.saturating_add(u128::from(rest > 0))
}

/// `a / b` and the rest. Nearly always both have 64 bits, for which processors have an instruction.
#[inline]
fn divided(a: u128, b: NonZero<u64>) -> (u128, u64) {
    match u64::try_from(a) {
        Ok(a) => ((a / b).into(), a % b),
        Err(_) => {
            let b = NonZero::<u128>::from(b);
            (a / b, u64::try_from(a % b).unwrap_or(0))
        }
    }
}

/// `owed / of` in units of 2^-32, rounded down. `owed` is below 2^96, so nothing is cut off.
fn share(owed: u128, of: u128) -> u64 {
    let share = (owed << 32).checked_div(of).unwrap_or(0);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// The greatest common divisor.
fn gcd(a: NonZero<u64>, b: NonZero<u64>) -> NonZero<u64> {
    let (mut a, mut b) = (a, b.get());
    while let Some(divisor) = NonZero::new(b) {
        b = a.get() % divisor;
        a = divisor;
    }
    a
}

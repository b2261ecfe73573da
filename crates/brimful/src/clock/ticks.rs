//! The processor's tick counter between two readings of the operating system's clock.
//!
//! Asking the operating system waits for everything that was begun before, also for memory that the
//! next call could already be fetching; reading the counter does not (ARCHITECTURE.md has the
//! measurement). So the clock is asked once in a while, and in between the ticks that have passed are
//! added, at the rate of the last while. Nothing else is believed of the counter: not its nominal
//! rate, not that it goes on during suspension. A reading that does not fit means asking the clock
//! again.
//!
//! A rate is used for as long again as it was measured, at most [`LONGEST`], so that what is read stays
//! within microseconds of the clock. Where it has run ahead, it does not jump back when the clock is
//! asked, but goes a little slower for a while.

use crate::sync::{AtomicU64, Ordering, fence};

/// The clock is asked again after so many nanoseconds.
const LONGEST: u64 = 10_000_000;

/// A rate is measured over at least so many.
const SHORTEST: u64 = 1_000_000;

/// The clock is read between two readings of the counter. If more ticks than this have passed (one to
/// four microseconds), the thread was interrupted, and they do not belong together.
const APART: u64 = 4_000;

/// Nanoseconds for a tick are counted in units of 2^-32.
const UNIT: u32 = 32;

/// What to add to the last reading of the clock. The words belong together: `version` is odd while
/// they are written, and differs afterwards.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Ticks {
    version: AtomicU64,
    /// The counter at the last reading, and the nanoseconds that were given out for it.
    ticks: AtomicU64,
    now: AtomicU64,
    /// Nanoseconds for a tick from there on, and for how many ticks that holds; 0 when the rate is not
    /// known.
    rate: AtomicU64,
    holds: AtomicU64,
    /// What the clock itself said; only those who write look at it.
    said: AtomicU64,
}

impl Ticks {
    /// The time at that reading of the counter; `None` when the clock has to be asked.
    #[inline]
    pub(super) fn at(&self, ticks: u64) -> Option<u64> {
        let version = self.version.load(Ordering::Acquire);
        let passed = ticks.wrapping_sub(self.ticks.load(Ordering::Relaxed));
        let now = self.now.load(Ordering::Relaxed);
        let rate = self.rate.load(Ordering::Relaxed);
        let holds = self.holds.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed);
        // A counter that is behind has passed nearly 2^64 ticks.
        (is_whole && passed < holds).then(|| now.saturating_add(scaled(passed, rate)))
    }

    /// Takes a reading of the clock, made between two of the counter, and says what time it is: no less
    /// than what was given out for this reading of the counter before.
    pub(super) fn take(&self, before: u64, said: u64, after: u64) -> u64 {
        if after.wrapping_sub(before) > APART {
            return said;
        }
        let version = self.version.load(Ordering::Relaxed);
        let is_free = version.is_multiple_of(2)
            && self
                .version
                .compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !is_free {
            // Another thread is taking its own.
            return said;
        }
        // So that nobody sees the words below without the odd version.
        fence(Ordering::Release);
        let now = self.write(before, said);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        now
    }

    fn write(&self, ticks: u64, said: u64) -> u64 {
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let passed = ticks.wrapping_sub(word(&self.ticks));
        let is_behind = passed > u64::MAX / 2;
        // The most that was given out.
        let given = match is_behind {
            true => 0,
            false => word(&self.now)
                .saturating_add(scaled(passed.min(word(&self.holds)), word(&self.rate))),
        };
        let now = said.max(given);
        let last = word(&self.said);
        let took = said.saturating_sub(last);
        if last > 0 && took < SHORTEST && !is_behind {
            return now;
        }
        let measured = if last > 0 && !is_behind { rate_of(took, passed) } else { None };
        // Slower by what it is ahead.
        let (rate, holds) = measured.map_or((0, 0), |rate| {
            (slowed(rate, now.saturating_sub(said)), ticks_in(LONGEST.min(took), rate))
        });
        self.ticks.store(ticks, Ordering::Relaxed);
        self.now.store(now, Ordering::Relaxed);
        self.said.store(said, Ordering::Relaxed);
        self.rate.store(rate, Ordering::Relaxed);
        self.holds.store(holds, Ordering::Relaxed);
        now
    }
}

/// Nanoseconds in so many ticks.
#[inline]
fn scaled(ticks: u64, rate: u64) -> u64 {
    let product = u128::from(ticks).wrapping_mul(rate.into());
    u64::try_from(product >> UNIT).unwrap_or(u64::MAX)
}

/// `None` for a counter that has not moved, or faster or slower than any does: 1 ns to 2^-10 ns a tick.
fn rate_of(nanos: u64, ticks: u64) -> Option<u64> {
    let rate = (u128::from(nanos) << UNIT).checked_div(ticks.into())?;
    let usual = 1 << (UNIT - 10)..=1 << (UNIT + 10);
    u64::try_from(rate).ok().filter(|rate| usual.contains(rate))
}

fn ticks_in(nanos: u64, rate: u64) -> u64 {
    let ticks = (u128::from(nanos) << UNIT).checked_div(rate.into()).unwrap_or(0);
    u64::try_from(ticks).unwrap_or(0)
}

/// The rate with which a clock that is `ahead` is right again after [`LONGEST`].
fn slowed(rate: u64, ahead: u64) -> u64 {
    let whole = u128::from(LONGEST.saturating_add(ahead));
    let slowed = (u128::from(rate) * u128::from(LONGEST)).checked_div(whole).unwrap_or(0);
    u64::try_from(slowed).unwrap_or(rate)
}

// That threads never see half of a reading is tried in `tests/shared.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that goes on by random steps, and a counter of some frequency that wanders beside it.
    struct World {
        random: u64,
        time: u64,
        /// Ticks in 2^20 ns.
        frequency: u64,
        parts: u64,
    }

    impl World {
        fn draw(&mut self, below: u64) -> u64 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.random % below
        }

        fn pass(&mut self, nanos: u64) {
            self.time += nanos;
            self.parts += nanos * self.frequency;
        }

        fn ticks(&self) -> u64 {
            self.parts >> 20
        }
    }

    /// Within microseconds of the clock, and never back, at all frequencies, with interruptions and
    /// with a rate that is off by as much as clocks are ever slewed.
    #[test]
    fn it_stays_near_the_clock_and_never_goes_back() {
        for mega_hertz in [150, 1_000, 2_100, 5_900] {
            let start = 1_800_000_000_000_000_000;
            let mut world =
                World { random: 7 + mega_hertz, time: start, frequency: 0, parts: 1 << 40 };
            let usual = mega_hertz * (1 << 20) / 1000;
            let ticks = Ticks::default();
            let (mut last, mut asked, mut worst) = (0, 0_u64, 0);
            for step in 0..300_000_u64 {
                if step % 1000 == 0 {
                    // 500 parts in a million to either side.
                    world.frequency = usual + world.draw(usual / 1000) - usual / 2000;
                }
                let pause = match world.draw(1000) {
                    0 => world.draw(50_000_000),
                    1..=20 => world.draw(500_000),
                    _ => world.draw(300),
                };
                world.pass(pause);
                let now = ticks.at(world.ticks()).unwrap_or_else(|| {
                    asked += 1;
                    let before = world.ticks();
                    let interrupted = world.draw(10) == 0;
                    world.pass(20);
                    let said = world.time;
                    world.pass(if interrupted { 100_000 } else { 20 });
                    ticks.take(before, said, world.ticks())
                });
                // An interrupted reading is older than the time of its end.
                let off = now.abs_diff(world.time);
                if off < 100_000 {
                    worst = worst.max(off);
                }
                assert!(off < 12_000 || (100_000..112_000).contains(&off), "{off} at step {step}");
                assert!(now + 12_000 >= last, "back by {}", last - now);
                last = now;
            }
            assert!(asked < 100_000, "asked {asked} times");
            println!("{mega_hertz} MHz: asked {asked} times of 300000, at most {worst} ns off");
        }
    }

    /// A counter that starts again, jumps, stands still or runs at another rate is not believed for
    /// longer than a moment.
    #[test]
    fn a_counter_that_does_not_fit_is_not_believed() {
        let ticks = Ticks::default();
        let take = |counter: u64, said: u64| ticks.take(counter, said, counter + 50);
        assert_eq!(ticks.at(5), None, "nothing is known");
        assert_eq!(take(1_000, 5_000_000), 5_000_000);
        assert_eq!(ticks.at(1_001), None, "one reading is no rate");
        assert_eq!(take(1_001_000, 5_500_000), 5_500_000, "too soon for one");
        assert_eq!(ticks.at(1_001_001), None);
        // 2 ticks for 1 ns, for as long again as that was measured.
        assert_eq!(take(4_001_000, 7_000_000), 7_000_000);
        assert_eq!(ticks.at(4_001_000), Some(7_000_000));
        assert_eq!(ticks.at(4_001_000 + 3_999_998), Some(7_000_000 + 1_999_999));
        assert_eq!(ticks.at(4_001_000 + 4_000_000), None);
        // It starts again.
        assert_eq!(ticks.at(10), None);
        assert_eq!(take(10, 8_000_000), 8_000_000);
        assert_eq!(ticks.at(11), None);
        // It stands still.
        assert_eq!(take(10, 18_000_000), 18_000_000);
        assert_eq!(ticks.at(10), None);
        // An interrupted reading says nothing of the counter.
        assert_eq!(ticks.take(10, 19_000_000, 10 + APART + 1), 19_000_000);
        assert_eq!(take(20_000_010, 28_000_000), 28_000_000);
        assert_eq!(ticks.at(20_000_010), Some(28_000_000));
        // It has run ahead by a microsecond, and goes slower until it is right.
        assert_eq!(ticks.at(40_000_009), Some(37_999_999));
        assert_eq!(take(40_000_010, 37_999_000), 38_000_000);
        let later = ticks.at(50_000_010).unwrap();
        assert!((42_999_000..42_999_700).contains(&later), "{later}");
    }
}

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
    /// What the clock itself said, and the rate that was measured then, believed or not; only those who
    /// write look at these.
    said: AtomicU64,
    measured: AtomicU64,
}

impl Ticks {
    /// The time at that reading of the counter; `None` when the clock has to be asked.
    #[inline]
    pub(super) fn at(&self, ticks: u64) -> Option<u64> {
        let Words { passed, now, rate, holds } = self.read(ticks)?;
        // A counter that is behind has passed nearly 2^64 ticks.
        (passed < holds).then(|| now.saturating_add(scaled(passed, rate)))
    }

    /// The words as they belong together; `None` while they are written.
    #[inline]
    fn read(&self, ticks: u64) -> Option<Words> {
        let version = self.version.load(Ordering::Acquire);
        let words = self.words(ticks);
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed);
        is_whole.then_some(words)
    }

    #[inline]
    fn words(&self, ticks: u64) -> Words {
        Words {
            passed: ticks.wrapping_sub(self.ticks.load(Ordering::Relaxed)),
            now: self.now.load(Ordering::Relaxed),
            rate: self.rate.load(Ordering::Relaxed),
            holds: self.holds.load(Ordering::Relaxed),
        }
    }

    /// Takes a reading of the clock, made between two of the counter, and says what time it is: no less
    /// than what was given out before for this reading of the counter, unless others are writing.
    pub(super) fn take(&self, before: u64, said: u64, after: u64) -> u64 {
        let given = || self.read(before).map_or(said, |words| said.max(words.given()));
        if after.wrapping_sub(before) > APART {
            return given();
        }
        let version = self.version.load(Ordering::Relaxed);
        let is_free = version.is_multiple_of(2)
            && self
                .version
                .compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !is_free {
            // Another thread is taking its own.
            return given();
        }
        // So that nobody sees the words below without the odd version.
        fence(Ordering::Release);
        let now = self.write(before, said);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        now
    }

    fn write(&self, ticks: u64, said: u64) -> u64 {
        let words = self.words(ticks);
        let now = said.max(words.given());
        let last = self.said.load(Ordering::Relaxed);
        let took = said.saturating_sub(last);
        let is_late = last > 0 && said <= last;
        if is_late || (last > 0 && took < SHORTEST && !words.is_behind()) {
            return now;
        }
        let measured =
            if last > 0 && !words.is_behind() { rate_of(took, words.passed) } else { None };
        // A counter that jumped, or that stood still, has another rate than before: it is measured
        // twice before it is believed.
        let before = self.measured.load(Ordering::Relaxed);
        let believed = measured.filter(|rate| before == 0 || rate.abs_diff(before) <= before >> 9);
        // Slower by what it is ahead.
        let (rate, holds) = believed.map_or((0, 0), |rate| {
            (slowed(rate, now.saturating_sub(said)), ticks_in(LONGEST.min(took), rate))
        });
        self.ticks.store(ticks, Ordering::Relaxed);
        self.now.store(now, Ordering::Relaxed);
        self.said.store(said, Ordering::Relaxed);
        self.measured.store(measured.unwrap_or(0), Ordering::Relaxed);
        self.rate.store(rate, Ordering::Relaxed);
        self.holds.store(holds, Ordering::Relaxed);
        now
    }
}

/// The words of [`Ticks`] as seen from a reading of the counter.
#[derive(Clone, Copy)]
struct Words {
    passed: u64,
    now: u64,
    rate: u64,
    holds: u64,
}

impl Words {
    fn is_behind(self) -> bool {
        self.passed > u64::MAX / 2
    }

    /// The most that was given out up to then.
    fn given(self) -> u64 {
        let passed = if self.is_behind() { 0 } else { self.passed.min(self.holds) };
        self.now.saturating_add(scaled(passed, self.rate))
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

// That threads never see half of a reading is tried in `tests/shared.rs`, and by a model.
#[cfg(all(test, not(brimful_model)))]
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

    /// The counter jumps ahead by 2 s once, as that of a machine that was paused while its clock stood.
    #[test]
    fn a_counter_that_jumped_is_not_believed() {
        let ticks = Ticks::default();
        let start = 1_800_000_000_000_000_000_u64;
        // 3 ticks a nanosecond.
        let (mut at, mut time) = (1_000_000_000_u64, start);
        let pass = |nanos: u64, jump: u64, at: &mut u64, time: &mut u64| {
            *at += 3 * nanos + jump;
            *time += nanos;
        };
        for _ in 0..5 {
            ticks.take(at, time, at + 50);
            pass(9_000_000, 0, &mut at, &mut time);
        }
        // Paused for 2 s: the counter went on, the clock did not.
        pass(0, 3 * 2_000_000_000, &mut at, &mut time);
        let mut worst = 0_i128;
        for _ in 0..3_000 {
            let now = ticks.at(at).unwrap_or_else(|| ticks.take(at, time, at + 50));
            let off = i128::from(now) - i128::from(time);
            if off.abs() > worst.abs() {
                worst = off;
            }
            pass(1_000_000, 0, &mut at, &mut time);
        }
        assert!(worst.abs() < 12_000, "off by {worst} ns");
    }

    /// What was given out before is kept, also by an interrupted reading, and by one that comes late.
    #[test]
    fn an_interrupted_reading_does_not_go_back() {
        let ticks = Ticks::default();
        ticks.take(1_000, 5_000_000, 1_050);
        ticks.take(4_001_000, 7_000_000, 4_001_050);
        let given = ticks.at(8_000_998).unwrap();
        assert_eq!(given, 8_999_999);
        // The clock is 7 us behind what was given out; the thread was interrupted.
        let now = ticks.take(8_001_010, 8_993_000, 8_001_010 + APART + 1);
        assert!(now >= given, "back by {}", given - now);
        // Another thread has taken a later one meanwhile.
        assert_eq!(ticks.take(8_001_000, 9_000_000, 8_001_050), 9_000_000);
        assert_eq!(ticks.take(8_000_990, 8_999_990, 8_001_040), 9_000_000);
        assert_eq!(ticks.at(8_001_000), Some(9_000_000));
    }
}

//! What threads are told can be put in one order in which the exact model says the same: for each
//! key, every call takes effect at one moment between its beginning and its end.
//!
//! The checker is [`brimful_testkit::history`], which is itself held against all orders of small
//! histories there.

mod bound;
mod clocks;
mod hot;
mod keys;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use brimful::{Clock, Limiter, LimiterBuilder, Nanos, Policy};
use brimful_testkit::history::{Call, Memory, Recorder, Scribe, check};
use brimful_testkit::trace::{SplitMix64, Verb};

const THREADS: usize = 6;
const BASE: u64 = 1_800_000_000_000_000_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// One thread of a history: where it writes down its calls, and what it draws them from.
struct Player<'a> {
    scribe: Scribe<'a>,
    rng: SplitMix64,
}

impl Player<'_> {
    /// A verb and an amount: mostly small costs, now and then more than there can be.
    fn draw(&mut self) -> (Verb, u64) {
        match self.rng.below(64) {
            0 => (Verb::Reset, 0),
            1..=8 => (Verb::Peek, self.rng.below(4)),
            9..=16 => (Verb::Refund, self.rng.between(1, 3)),
            17 => (Verb::Refund, 1_000),
            18 => (Verb::Acquire, 1_000),
            19 => (Verb::Acquire, 0),
            _ => (Verb::Acquire, self.rng.between(1, 3)),
        }
    }

    /// Now and then lets others run before a call, so that all go on side by side where there are
    /// fewer processors than threads.
    fn mix(&mut self) {
        if self.rng.below(8) == 0 {
            thread::yield_now();
        }
    }

    /// Makes a call: by a time that it was given, or by what the clock says to the call, and then
    /// sometimes without a word about the rest.
    fn ask(&mut self, limiter: &Limiter, clock: &Fitful, key: u64, (verb, amount): (Verb, u64)) {
        self.mix();
        let now = note(clock.read());
        match self.rng.below(5) {
            0 | 1 => self.scribe.ask_at(limiter, key, verb, amount, now),
            2 if (verb, amount) == (Verb::Acquire, 1) => self.scribe.allow(limiter, key, noted),
            _ => self.scribe.ask(limiter, key, verb, amount, noted),
        };
    }
}

/// Where all threads wait for each other. (Woken one after the other, as by a `Barrier`, the first can be
/// done before the last begins.)
#[derive(Debug, Default)]
struct Meeting {
    arrived: AtomicUsize,
    /// A thread has failed, and will not come.
    is_over: AtomicBool,
}

impl Meeting {
    fn wait(&self) {
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (before / THREADS + 1) * THREADS;
        while self.arrived.load(Ordering::Acquire) < all {
            assert!(!self.is_over.load(Ordering::Acquire), "another thread has failed");
            thread::yield_now();
        }
    }
}

/// Tells the others when its thread fails.
struct Leaving<'a>(&'a Meeting);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_over.store(true, Ordering::Release);
        }
    }
}

/// A clock that moves on with each reading, goes back as it likes, and often lets others run before it
/// says the time: while sets are locked, or between the look for a key and the lock.
struct Fitful {
    time: AtomicU64,
    /// It moves by less than this.
    step: u64,
    /// How far a reading lies back.
    lag: fn() -> u64,
}

impl Fitful {
    fn new(step: u64, lag: fn() -> u64) -> Arc<Self> {
        Arc::new(Self { time: AtomicU64::new(100 * SECOND), step, lag })
    }

    fn read(&self) -> Nanos {
        let latest = self.time.fetch_add(chance(self.step), Ordering::Relaxed);
        at(latest - (self.lag)())
    }
}

impl Clock for Fitful {
    fn now(&self) -> Nanos {
        if chance(4) == 0 {
            thread::yield_now();
        }
        note(self.read())
    }
}

/// Runs `work` on threads that start together, and returns what all of them wrote down.
fn play(seed: u64, work: impl Fn(&Meeting, &mut Player<'_>) + Sync) -> Vec<Call> {
    let recorder = Recorder::new();
    let meeting = Meeting::default();
    let run = |thread: usize| {
        let rng = SplitMix64::new(seed << 8 | thread as u64);
        let mut player = Player { scribe: recorder.scribe(thread), rng };
        RANDOM.set(SplitMix64::new(!seed << 8 | thread as u64));
        let _leaving = Leaving(&meeting);
        meeting.wait();
        work(&meeting, &mut player);
        player.scribe.calls()
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Finds an order for each key, and prints how much there was to explain.
fn explain(name: &str, policy: &Policy, memory: Memory, calls: &[Call]) {
    let overlapping = overlapping(calls);
    assert!(overlapping > calls.len() / 50, "{name}: {overlapping} calls overlapped others");
    let explained = check(policy, memory, calls).unwrap_or_else(|why| panic!("{name}: {why}"));
    println!("{name}: {explained:?}, {overlapping} overlapped");
}

/// Calls during which another one began or ended.
fn overlapping(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.responded - call.invoked > 1).count()
}

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap()
}

fn at(ns: u64) -> Nanos {
    Nanos::from_nanos(BASE + ns)
}

/// A store with sets of four slots; its slots have room for so many limits, and one is the short way.
fn builder(policy: &Policy, limits: u64) -> LimiterBuilder {
    Limiter::builder(policy.clone()).max_keys(5_000).max_limits(limits).secret([3, limits])
}

thread_local! {
    /// What the clock read last for this thread.
    static NOTED: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
    /// What the clock draws from when it reads for this thread.
    static RANDOM: RefCell<SplitMix64> = const { RefCell::new(SplitMix64::new(0)) };
}

/// Notes a reading for the calling thread.
fn note(now: Nanos) -> Nanos {
    NOTED.set(now);
    now
}

/// The reading that the thread's last call was decided by: a call that reads several times is decided
/// by the last.
fn noted() -> Nanos {
    NOTED.get()
}

/// A number below `n` for the clock.
fn chance(n: u64) -> u64 {
    RANDOM.with_borrow_mut(|rng| rng.below(n))
}

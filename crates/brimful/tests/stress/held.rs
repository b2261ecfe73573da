//! Threads that lose the processor while they hold the lock of a key's set.
//!
//! The hook is the clock: in slots with room for several limits every call reads it with the set locked,
//! and in a plain store a call that had to wait reads it once more, then with the set locked. A refund
//! reads it locked everywhere.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use brimful::{Clock, Nanos};
use brimful_testkit::trace::SplitMix64;

use crate::interval::{Admitted, Worst};
use crate::waits::{Longest, Waits};
use crate::{MS, THREADS, at, builder, policy, together};

const KEY: u64 = 1;
const CALLS: u64 = 300;
/// How often a holder lets others run.
const YIELDS: u32 = 12;

thread_local! {
    /// Readings that the present call of this thread makes before it has the lock.
    static UNLOCKED: Cell<u64> = const { Cell::new(0) };
    /// What the clock said last to this thread.
    static SAID: Cell<u64> = const { Cell::new(0) };
}

#[derive(Debug, Default)]
struct Hook {
    time: AtomicU64,
    /// The time moves by so much with each reading.
    step: u64,
    /// Threads that hold the lock now.
    holders: AtomicU64,
    /// How often two did.
    crowded: AtomicU64,
    /// Calls that began, and that got the lock.
    begun: AtomicU64,
    entered: AtomicU64,
    /// How often the lock was held while a call that had begun had not had it yet; and the most such
    /// calls.
    awaited: AtomicU64,
    most_waiting: AtomicU64,
}

impl Hook {
    /// Makes a call that reads the clock so often before it has the lock.
    fn call<T>(&self, waits: &mut Waits<'_>, unlocked: u64, call: impl FnOnce() -> T) -> T {
        UNLOCKED.set(unlocked);
        self.begun.fetch_add(1, Ordering::SeqCst);
        let answer = waits.measure(call);
        // Else a thread alone on its processor could make all its calls before another gets the lock.
        thread::yield_now();
        answer
    }

    /// Loses the processor, with the lock held.
    fn hold(&self) {
        if self.holders.fetch_add(1, Ordering::SeqCst) > 0 {
            self.crowded.fetch_add(1, Ordering::SeqCst);
        }
        let entered = self.entered.fetch_add(1, Ordering::SeqCst) + 1;
        for _ in 0..YIELDS {
            thread::yield_now();
        }
        let waiting = self.begun.load(Ordering::SeqCst) - entered;
        self.awaited.fetch_add(u64::from(waiting > 0), Ordering::SeqCst);
        self.most_waiting.fetch_max(waiting, Ordering::SeqCst);
        self.holders.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock for Hook {
    fn now(&self) -> Nanos {
        match UNLOCKED.get().checked_sub(1) {
            Some(left) => UNLOCKED.set(left),
            None => self.hold(),
        }
        let ns = self.time.fetch_add(self.step, Ordering::SeqCst);
        SAID.set(ns);
        at(ns)
    }
}

fn value(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::SeqCst)
}

/// Every call holds the lock while others wait for it: one at a time, within the bound, and all threads
/// get to their ends.
#[test]
fn others_wait_for_a_holder_that_does_not_run() {
    let policy = policy(&["2000/s burst 100"]);
    let hook = Arc::new(Hook { step: MS / 16, ..Hook::default() });
    let limiter = builder(&policy, 2).clock(hook.clone()).build().unwrap();
    // From here on the key has a slot.
    let longest = Longest::default();
    assert!(hook.call(&mut longest.waits(), 0, || limiter.allow(KEY)));
    let first = (SAID.get(), 1);
    let ask = |_, rng: &mut SplitMix64| {
        let mut waits = longest.waits();
        let mut admitted: Vec<Admitted> = Vec::new();
        for _ in 0..CALLS {
            let cost = rng.between(1, 3);
            let decision = match rng.below(8) {
                0 => hook.call(&mut waits, 0, || limiter.peek(KEY, cost)),
                _ => {
                    let spend = || limiter.try_acquire_n(KEY, cost);
                    let decision = hook.call(&mut waits, 0, spend);
                    admitted.extend(decision.is_allowed().then(|| (SAID.get(), cost)));
                    decision
                }
            };
            assert!(decision.remaining() <= 100);
        }
        admitted
    };
    let mut admitted: Vec<Admitted> = together(ask).into_iter().flatten().collect();
    admitted.push(first);
    longest.print("slots for two limits");

    let calls = 1 + THREADS as u64 * CALLS;
    let (begun, entered) = (value(&hook.begun), value(&hook.entered));
    assert_eq!((begun, entered), (calls, calls), "each call had the lock once");
    assert_eq!(value(&hook.crowded), 0, "two threads held one lock");
    let (awaited, most) = (value(&hook.awaited), value(&hook.most_waiting));
    println!("of {calls} holders {awaited} were waited for, by up to {most} others at once");
    assert!(awaited > calls / 2 && most > 3, "{awaited} were waited for, by {most}");
    let most = Worst::of(&admitted, 2_000, 1_000 * MS).most();
    assert!(most <= 100 * 1_000 * i128::from(MS), "{most}");
}

/// In a plain store the hook runs locked in refunds and in calls that had to wait, which time that
/// stands still shows: nothing else makes a call read the clock again.
#[test]
fn in_a_plain_store_who_waited_holds_the_next_up() {
    const CAPACITY: u64 = 1_000_000;
    let policy = policy(&["1000000/day"]);
    let hook = Arc::new(Hook::default());
    let limiter = builder(&policy, 1).clock(hook.clone()).build().unwrap();
    assert!(limiter.try_acquire_at(KEY, 1, at(0)).is_allowed());
    let longest = Longest::default();
    let ask = |_, rng: &mut SplitMix64| {
        let mut waits = longest.waits();
        let (mut spent, mut given, mut refunds) = (0, 0, 0);
        for _ in 0..CALLS {
            let tokens = rng.between(1, 9);
            if rng.below(4) == 0 {
                given += hook.call(&mut waits, 0, || limiter.refund(KEY, tokens));
                refunds += 1;
            } else {
                let spend = || limiter.try_acquire_n(KEY, tokens);
                assert!(hook.call(&mut waits, 1, spend).is_allowed());
                spent += tokens;
            }
        }
        [spent, given, refunds]
    };
    let sums =
        together(ask).into_iter().fold([1, 0, 0], |[a, b, c], [d, e, f]| [a + d, b + e, c + f]);
    longest.print("a plain store");

    let [spent, given, refunds] = sums;
    let waited = value(&hook.entered) - refunds;
    println!("of {} calls {waited} waited", THREADS as u64 * CALLS - refunds);
    assert!(waited > refunds / 2, "{waited} calls waited for {refunds} refunds");
    assert_eq!(value(&hook.crowded), 0, "two threads held one lock");
    assert_eq!(limiter.peek_at(KEY, 0, at(0)).remaining(), CAPACITY - (spent - given));
}

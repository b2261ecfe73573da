//! Reservations and queues under eight threads: tokens are neither lost nor made, nobody sleeps who was
//! granted, and nothing is kept when all is settled. Who waits asks only when it is woken or when it was told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use brimful::{Clock, Limiter, ManualClock, Nanos, Progress, Queued, Reservation, Rules, Turn};
use brimful_testkit::trace::SplitMix64;

use super::{MS, at, builder, policy};

const THREADS: u64 = 8;
/// No thread looks for its waker so often in vain.
const MOST_LOOKS: u64 = 100_000_000;
const KEYS: [&str; 3] = ["a", "b", "c"];

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// One who waits.
struct Waiting<'a> {
    turn: Turn<'a>,
    cost: u64,
    flag: Arc<Flag>,
}

impl<'a> Waiting<'a> {
    /// Asks for the first time; `None` when it was granted meanwhile.
    fn begin(turn: Turn<'a>, cost: u64) -> Option<Self> {
        let mut waiting = Self { turn, cost, flag: Arc::default() };
        (!waiting.is_granted()).then_some(waiting)
    }

    fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::Acquire)
    }

    /// Asks. From then on another waker is its own.
    fn is_granted(&mut self) -> bool {
        self.flag = Arc::default();
        match self.turn.poll(&Waker::from(self.flag.clone())) {
            Progress::Granted(_) => true,
            Progress::Waiting(_) => false,
            Progress::Refused(decision) => panic!("nothing refuses here: {decision:?}"),
        }
    }
}

/// What one thread got and gave back.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: u64,
    spent: u64,
    given: u64,
    /// Keys that were reset.
    resets: u64,
    /// Grants of which a waker told.
    woken: u64,
}

impl Sums {
    fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            spent: self.spent + other.spent,
            given: self.given + other.given,
            resets: self.resets + other.resets,
            woken: self.woken + other.woken,
        }
    }
}

/// What one thread has of a limiter.
struct Caller<'a> {
    limiter: &'a Limiter,
    random: SplitMix64,
    waiting: Vec<Waiting<'a>>,
    reserved: Vec<Reservation<'a>>,
    sums: Sums,
}

impl<'a> Caller<'a> {
    fn new(limiter: &'a Limiter, seed: u64) -> Self {
        let random = SplitMix64::new(seed);
        let (waiting, reserved, sums) = Default::default();
        Self { limiter, random, waiting, reserved, sums }
    }

    fn key(&mut self) -> &'static str {
        KEYS[self.below(KEYS.len() as u64)]
    }

    fn below(&mut self, most: u64) -> usize {
        usize::try_from(self.random.below(most)).unwrap()
    }

    /// One of the calls that take and give back.
    fn call(&mut self, now: Nanos) {
        let (key, cost) = (self.key(), self.random.between(1, 3));
        self.sums.calls += 1;
        match self.random.below(12) {
            0 | 1 => {
                if self.limiter.try_acquire_n(key, cost).is_allowed() {
                    self.sums.spent += cost;
                }
            }
            2 | 3 if self.waiting.len() < 4 => self.enqueue(key, cost),
            4 if !self.waiting.is_empty() => {
                let place = self.below(self.waiting.len() as u64);
                // By dropping it, whether it was granted or not.
                self.waiting.swap_remove(place);
            }
            5 | 6 if self.reserved.len() < 4 => {
                if let Ok(reservation) = self.limiter.reserve(key, cost) {
                    self.sums.spent += cost;
                    self.reserved.push(reservation);
                }
            }
            7 | 8 if !self.reserved.is_empty() => {
                let place = self.below(self.reserved.len() as u64);
                self.settle(place);
            }
            9 => self.sums.given += self.limiter.refund(key, cost),
            10 => {
                let charges = [(KEYS[0], 1), (KEYS[1], cost)];
                if self.limiter.try_acquire_all(&charges.map(|(key, _)| key)).unwrap().is_allowed()
                {
                    self.sums.spent += 2;
                }
            }
            _ => {
                let _ = self.limiter.peek(key, cost);
            }
        }
        self.ask(now);
    }

    fn enqueue(&mut self, key: &str, cost: u64) {
        match self.limiter.enqueue(key, cost, None) {
            Ok(Queued::Granted(_)) => self.sums.spent += cost,
            Ok(Queued::Waiting(turn)) => match Waiting::begin(turn, cost) {
                Some(waiting) => self.waiting.push(waiting),
                None => self.sums.spent += cost,
            },
            Err(refused) => panic!("nothing refuses here: {refused:?}"),
        }
    }

    fn settle(&mut self, place: usize) {
        let reservation = self.reserved.swap_remove(place);
        let cost = reservation.cost();
        if self.random.below(3) == 0 {
            self.sums.given += reservation.cancel();
            return;
        }
        let actual = self.random.below(cost + 3);
        let settled = reservation.commit(actual);
        self.sums.given += settled.given_back();
        self.sums.spent += actual.saturating_sub(cost) - settled.shortfall();
    }

    /// Asks for those who were woken or are to ask by now.
    fn ask(&mut self, now: Nanos) {
        let Self { waiting, sums, .. } = self;
        waiting.retain_mut(|waiting| {
            let is_woken = waiting.is_woken();
            let is_granted = (is_woken || waiting.turn.due() <= now) && waiting.is_granted();
            if is_granted {
                sums.spent += waiting.cost;
                sums.woken += u64::from(is_woken);
            }
            !is_granted
        });
    }

    fn settle_all(&mut self) {
        while !self.reserved.is_empty() {
            self.settle(0);
        }
    }
}

/// Runs `work` on all threads, and returns what they have.
fn together<'a>(limiter: &'a Limiter, work: impl Fn(&mut Caller<'a>) + Sync) -> Vec<Caller<'a>> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut caller = Caller::new(limiter, thread + 1);
                    work(&mut caller);
                    caller
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn sums(callers: &[Caller<'_>]) -> Sums {
    callers.iter().fold(Sums::default(), |sums, caller| sums.and(caller.sums))
}

fn nothing_is_kept(limiter: &Limiter) {
    let stats = limiter.stats();
    assert_eq!((stats.waiters, stats.reservations), (0, 0), "{stats:?}");
}

/// Time stands still, so that each token comes from another's hand, and nobody learns of it but by its waker.
#[test]
fn tokens_go_from_hand_to_hand() {
    const TURNS: u64 = 1_000;
    for limits in [1, 2] {
        for tokens in [1, 3] {
            let rules = policy(&[&format!("{tokens}/min")]);
            let limiter = builder(&rules, limits).clock(ManualClock::new(at(0))).build().unwrap();
            let holders = AtomicU64::new(0);
            let callers = together(&limiter, |caller| {
                for turn in 0..TURNS {
                    let waiting = match caller.limiter.enqueue("k", 1, None) {
                        Ok(Queued::Granted(_)) => None,
                        Ok(Queued::Waiting(turn)) => Waiting::begin(turn, 1),
                        Err(refused) => panic!("{refused:?}"),
                    };
                    if let Some(mut waiting) = waiting {
                        if turn % 8 == 7 {
                            // It gives up, perhaps just when it is granted.
                            continue;
                        }
                        let mut looks = 0;
                        while !(waiting.is_woken() && waiting.is_granted()) {
                            looks += 1;
                            assert!(looks < MOST_LOOKS, "it was not woken");
                            thread::yield_now();
                        }
                        caller.sums.woken += 1;
                    }
                    assert!(holders.fetch_add(1, Ordering::AcqRel) < tokens, "made of nothing");
                    thread::yield_now();
                    holders.fetch_sub(1, Ordering::AcqRel);
                    assert_eq!(caller.limiter.refund("k", 1), 1, "it was charged");
                }
            });
            let sums = sums(&callers);
            println!("{limits} limits, {tokens} tokens: {} were woken", sums.woken);
            assert!(sums.woken > TURNS, "they hardly met: {sums:?}");
            assert_eq!(limiter.peek("k", 0).remaining(), tokens);
            nothing_is_kept(&limiter);
        }
    }
}

/// Time stands still, so that what is left is what there was less what was taken, to the token; also while the
/// rules are replaced by such as say the same.
#[test]
fn what_is_taken_and_given_back_adds_up() {
    const CALLS: u64 = 12_000;
    const CAPACITY: u64 = 20;
    for limits in [1, 2] {
        let named =
            |name: u64| Rules::from(policy(&["n: 20/min"]).named(&format!("name-{name}")).unwrap());
        let limiter = builder(&policy(&["n: 20/min"]), limits);
        let limiter = limiter.clock(ManualClock::new(at(0))).build().unwrap();
        let mut callers = together(&limiter, |caller| {
            for call in 0..CALLS {
                caller.call(Nanos::ZERO);
                if call % 500 == 0 {
                    caller.limiter.set_rules(named(call / 500 % 3)).unwrap();
                }
            }
            caller.settle_all();
        });
        for caller in &mut callers {
            // Whoever can be granted was granted by the last that gave back, and woken.
            let Caller { waiting, sums, .. } = caller;
            waiting.retain_mut(|waiting| {
                let is_woken = waiting.is_woken();
                let is_granted = waiting.is_granted();
                assert!(is_woken || !is_granted, "it was not woken");
                sums.spent += if is_granted { waiting.cost } else { 0 };
                !is_granted
            });
        }
        let still: usize = callers.iter().map(|caller| caller.waiting.len()).sum();
        assert_eq!(limiter.stats().waiters, still.try_into().unwrap());
        for caller in &mut callers {
            caller.waiting.clear();
        }
        let sums = sums(&callers);
        println!("{limits} limits: {sums:?}");
        assert!(sums.woken > 1_000, "{sums:?}");
        let left: u64 = KEYS.iter().map(|key| limiter.peek(key, 0).remaining()).sum();
        assert_eq!(left + sums.spent, KEYS.len() as u64 * CAPACITY + sums.given, "{sums:?}");
        nothing_is_kept(&limiter);
    }
}

/// Everything at once, while time passes: rates that are replaced, keys that are reset, and in a small store
/// strangers for whom others are forgotten, but none for whom somebody waits.
#[test]
fn nothing_is_made_and_nobody_waits_for_ever() {
    const CALLS: u64 = 12_500;
    const CAPACITY: u64 = 10;
    for (max_keys, limits) in [(5_000, 1), (5_000, 2), (4, 1)] {
        let clock = ManualClock::new(at(0));
        let rates = ["n: 20/s burst 10", "n: 10/s burst 10"];
        let limiter = builder(&policy(&rates[..1]), limits).max_keys(max_keys);
        let limiter = limiter.clock(clock.clone()).build().unwrap();
        let callers = together(&limiter, |caller| {
            for call in 0..CALLS {
                clock.advance(Duration::from_nanos(caller.random.below(2 * MS)));
                match caller.random.below(200) {
                    0 => {
                        let rate = caller.below(2);
                        caller.limiter.set_rules(policy(&rates[rate..=rate])).unwrap();
                    }
                    1 => {
                        let key = caller.key();
                        caller.sums.resets += u64::from(caller.limiter.reset(key));
                    }
                    2..20 => {
                        let _ = caller.limiter.try_acquire_n(("stranger", call % 64), CAPACITY);
                    }
                    _ => caller.call(clock.now()),
                }
            }
            caller.settle_all();
            let mut rounds = 0;
            while let Some(due) = caller.waiting.iter().map(|waiting| waiting.turn.due()).min() {
                clock.advance(due.since(clock.now()));
                caller.ask(clock.now());
                rounds += 1;
                assert!(rounds < 1_000, "{} wait on", caller.waiting.len());
            }
        });
        let (sums, stats) = (sums(&callers), limiter.stats());
        let time = clock.now().since(at(0));
        println!("{max_keys} keys, {limits} limits, {time:?}: {sums:?}, {stats:?}");
        assert_eq!(stats.evicted_forced > 100, max_keys < 64, "{stats:?}");
        let refilled = u64::try_from(20 * time.as_nanos() / 1_000_000_000).unwrap() + 1;
        let most = KEYS.len() as u64 * (CAPACITY + refilled);
        let forgiven = sums.resets * CAPACITY + stats.forgiven_tokens;
        assert!(sums.spent <= most + sums.given + forgiven, "{most}: {sums:?}");
        assert!(sums.spent > most / 4, "hardly anything was spent of {most}: {sums:?}");
        nothing_is_kept(&limiter);
        clock.advance(Duration::from_secs(1));
        assert!(KEYS.iter().all(|key| limiter.peek(key, 0).remaining() == CAPACITY));
    }
}

//! Many who wait, in virtual time: in what order they are granted, how often they are woken, and what they
//! cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use allocation_counter::measure;
use brimful::{
    Decision, Denial, Limit, Limiter, ManualClock, Nanos, Overflow, Policy, Progress, Queued,
    Rules, Turn,
};

const START: Nanos = Nanos::from_secs(1_800_000_000);

fn limiter(spec: &str, clock: &ManualClock) -> Limiter {
    let limit: Limit = spec.parse().expect("a limit");
    Limiter::builder(limit).max_keys(2_000).clock(clock.clone()).build().expect("a limiter")
}

fn waiting(limiter: &Limiter, key: u64, cost: u64, now: Nanos) -> Turn<'_> {
    match limiter.enqueue_at(key, cost, None, now) {
        Ok(Queued::Waiting(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

/// Those who were woken, by number, in that order.
#[derive(Default)]
struct Woken(Mutex<Vec<usize>>);

struct Bell {
    number: usize,
    woken: Arc<Woken>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.0.lock().unwrap().push(self.number);
    }
}

/// What became of many who wait, each of whom asks when it was told, or woken, and at no other time.
#[derive(Debug, Default)]
struct Told {
    /// By the order in which they were granted.
    granted: Vec<(Nanos, usize)>,
    /// How often one asked beyond its first time.
    asked: u64,
    /// How often a waker was called.
    woken: u64,
}

/// Lets all of them wait to the end, each asked as often as it is told to.
fn run(turns: Vec<Turn<'_>>, clock: &ManualClock, late: impl Fn(usize) -> Duration) -> Told {
    let woken = Arc::new(Woken::default());
    let bell = |number| Waker::from(Arc::new(Bell { number, woken: Arc::clone(&woken) }));
    let mut told = Told::default();
    let mut alarms = BinaryHeap::new();
    // The alarm of each that counts.
    let mut rings_at: Vec<Nanos> = Vec::new();
    let mut turns: Vec<Option<(Turn<'_>, Waker)>> =
        turns.into_iter().enumerate().map(|(number, turn)| Some((turn, bell(number)))).collect();
    let now = clock.now_ns();
    for (number, turn) in turns.iter_mut().enumerate() {
        let (turn, waker) = turn.as_mut().expect("it waits");
        match turn.poll_at(waker, now) {
            Progress::Waiting(wait) => {
                rings_at.push(now + wait);
                alarms.push(Reverse((now + wait + late(number), number)));
            }
            other => panic!("{number}: {other:?}"),
        }
    }
    let most = 20 * turns.len();
    for _ in 0..most {
        let by_waker = std::mem::take(&mut *woken.0.lock().unwrap());
        told.woken += by_waker.len() as u64;
        let asking = match by_waker.is_empty() {
            false => by_waker,
            true => {
                let Some(Reverse((at, number))) = alarms.pop() else { break };
                if turns[number].is_none() || rings_at[number] + late(number) != at {
                    // It was asked since.
                    continue;
                }
                clock.set(at);
                vec![number]
            }
        };
        for number in asking {
            let now = clock.now_ns();
            let Some((turn, waker)) = turns[number].as_mut() else { continue };
            told.asked += 1;
            match turn.poll_at(waker, now) {
                Progress::Granted(_) => {
                    told.granted.push((now, number));
                    turns[number] = None;
                }
                Progress::Waiting(wait) => {
                    rings_at[number] = now + wait;
                    alarms.push(Reverse((now + wait + late(number), number)));
                }
                Progress::Refused(decision) => panic!("{number}: {decision:?}"),
            }
        }
    }
    assert!(turns.iter().all(Option::is_none), "not all were granted");
    told
}

trait Reading {
    fn now_ns(&self) -> Nanos;
}

impl Reading for ManualClock {
    fn now_ns(&self) -> Nanos {
        brimful::Clock::now(self)
    }
}

/// A hundred thousand wait for a thousand keys, a hundred for each: all are granted, in the order in which
/// they came, at the time at which they were told that they would be, each asks once, and nobody is woken.
#[test]
fn a_hundred_thousand_wait() {
    const KEYS: usize = 1_000;
    const WAITERS: usize = 100_000;
    for (spec, late) in [("10/s", 0), ("10/s", 900_000), ("10 per 1s fixed-window", 900_000)] {
        let clock = ManualClock::new(START);
        let limiter = limiter(spec, &clock);
        for key in 0..KEYS as u64 {
            assert!(limiter.try_acquire_at(key, 10, START).is_allowed());
        }
        let mut turns = Vec::with_capacity(WAITERS);
        let memory = measure(|| {
            turns.extend((0..WAITERS).map(|n| waiting(&limiter, (n % KEYS) as u64, 1, START)));
        });
        assert_eq!(limiter.stats().waiters, WAITERS as u64);
        let bytes = memory.bytes_max / WAITERS as u64;
        let Told { mut granted, asked, woken } =
            run(turns, &clock, |number| Duration::from_nanos(late * (1 + number as u64 % 3) / 3));
        // Those who are granted at one moment hear of it one after the other.
        granted.sort_unstable();
        for key in 0..KEYS {
            let order: Vec<usize> =
                granted.iter().map(|(_, n)| *n).filter(|n| n % KEYS == key).collect();
            assert!(order.is_sorted() && order.len() == WAITERS / KEYS, "key {key}: {order:?}");
        }
        for (at, number) in &granted {
            let rank = 1 + number / KEYS;
            let due = match spec {
                "10/s" => START + Duration::from_millis(100 * rank as u64),
                _ => START + Duration::from_secs(rank.div_ceil(10) as u64),
            };
            let latest = due + Duration::from_nanos(late);
            assert!(due <= *at && *at <= latest, "{spec}: {number} at {at:?}, due {due:?}");
        }
        println!(
            "{spec}, alarms up to {late} ns late: {WAITERS} waiters on {KEYS} keys: {bytes} bytes and \
             {} bytes of a turn for each; asked {asked} times, woken {woken} times for {} grants, in order",
            size_of::<Turn<'_>>(),
            granted.len()
        );
        let stats = limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0));
        assert!(bytes <= 128, "{bytes} bytes for each who waits");
        // Late alarms of windows: the first to ask grants all that are due, and wakes them.
        assert!(asked + woken <= 3 * WAITERS as u64, "{asked} times asked, {woken} woken");
        if late == 0 && spec == "10/s" {
            assert_eq!((asked, woken), (WAITERS as u64, 0), "each once");
        }
    }
}

/// With one token at a time each grant that comes late puts the others off, and they have to ask again: a
/// few times, not each time.
#[test]
fn late_alarms_cost_a_few_questions() {
    let clock = ManualClock::new(START);
    let limiter = limiter("100/s burst 1", &clock);
    assert!(limiter.try_acquire_at(0_u64, 1, START).is_allowed());
    let turns: Vec<Turn<'_>> = (0..1_000).map(|_| waiting(&limiter, 0, 1, START)).collect();
    let late = |number: usize| Duration::from_micros(250 * (number as u64 * 7 % 5));
    let told = run(turns, &clock, late);
    assert!(told.granted.is_sorted_by_key(|(_, number)| *number));
    println!(
        "one token at a time, alarms up to 1 ms late: asked {} times, woken {} times for 1000 grants",
        told.asked, told.woken
    );
    assert!(told.asked <= 6_000, "asked {} times", told.asked);
}

/// When a newcomer's turn is, is worked out from that of the one before, also where the state is a log and has to
/// be copied: not by going through the queue, and through the log, for each.
#[test]
fn a_long_queue_of_a_log_is_gone_through_seldom() {
    const WAITERS: u64 = 1_000;
    let clock = ManualClock::new(START);
    let limiter = limiter("100 per 1s sliding-log", &clock);
    for n in 0..100 {
        let now = START + Duration::from_nanos(n);
        assert!(limiter.try_acquire_at(1_u64, 1, now).is_allowed());
    }
    let now = START + Duration::from_millis(1);
    let mut turns = Vec::with_capacity(WAITERS as usize);
    let memory = measure(|| turns.extend((0..WAITERS).map(|_| waiting(&limiter, 1, 1, now))));
    let bytes = memory.bytes_total / WAITERS;
    assert!(bytes < 1_000, "{bytes} bytes for each");
    // The last is told what it was before: ten windows of a hundred.
    let last = turns.last().expect("many").due();
    assert_eq!(last, START + Duration::from_secs(10) + Duration::from_nanos(99));
}

/// Nothing is allocated by calls for keys for which nobody waits, however many wait for others.
#[test]
fn keys_without_waiters_cost_nothing() {
    let clock = ManualClock::new(START);
    let limiter = limiter("10/s", &clock);
    assert!(limiter.try_acquire_at(0_u64, 10, START).is_allowed());
    let turns: Vec<Turn<'_>> = (0..100).map(|_| waiting(&limiter, 0, 1, START)).collect();
    for key in 1..1_000_u64 {
        let memory = measure(|| {
            assert!(limiter.try_acquire_at(key, 1, START).is_allowed());
            assert_eq!(limiter.peek_at(key, 1, START).remaining(), 8);
        });
        assert_eq!(memory.count_total, 0, "{key}");
    }
    drop(turns);
    assert_eq!(limiter.stats().waiters, 0);
}

/// Whoever holds a turn that does not keep the limiter is woken when that is dropped, and told that it waits no
/// longer; so are all when waiting is ended.
#[test]
fn waiting_ends_with_the_limiter() {
    for is_closed in [false, true] {
        let clock = ManualClock::new(START);
        let limiter = Arc::new(limiter("10/s", &clock));
        assert!(limiter.try_acquire(1_u64).is_allowed());
        assert!(limiter.try_acquire_n(1_u64, 9).is_allowed());
        let woken = Arc::new(Count::default());
        let mut turns: Vec<Turn<'static>> = (0..1_000)
            .map(|_| match limiter.enqueue_owned(1_u64, 1, None) {
                Ok(Queued::Waiting(turn)) => turn,
                other => panic!("{other:?}"),
            })
            .collect();
        let waker = Waker::from(woken.clone());
        assert!(turns.iter_mut().all(|turn| matches!(turn.poll(&waker), Progress::Waiting(_))));
        if is_closed {
            limiter.close();
            limiter.close();
            let denied = limiter.enqueue(1_u64, 1, None).expect_err("it is closed");
            assert_eq!((denied.denial(), denied.is_never()), (Some(Denial::Closed), true));
            let denied: Decision = limiter.try_acquire(1_u64);
            assert_eq!(denied.denial(), Some(Denial::Limit), "others go on");
            assert_eq!(limiter.stats().waiters, 0);
        } else {
            drop(limiter);
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 1_000);
        for turn in &mut turns {
            match turn.poll(&waker) {
                Progress::Refused(decision) => assert_eq!(decision.denial(), Some(Denial::Closed)),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A turn that is owned waits by the limits of its tier, in the queue that all callers of the key share, and keeps
/// neither the limiter nor the tier's name.
#[test]
fn a_tier_waits_for_what_outlives_its_name() {
    let limit = |spec: &str| spec.parse::<Limit>().expect("a limit");
    let rules = Rules::builder().default(limit("1/h")).tier("gold", limit("2/h")).build();
    let clock = ManualClock::new(START);
    let limiter = Limiter::builder(rules.expect("rules")).clock(clock.clone()).build();
    let limiter = Arc::new(limiter.expect("a limiter"));
    assert!(limiter.allow("k"));
    let half_an_hour = Duration::from_secs(1_800);
    let denied = limiter.enqueue_owned_in("gold", "k", 1, Some(half_an_hour / 2));
    assert_eq!(denied.expect_err("too long").retry_after(), Some(half_an_hour));
    let mut turns = [1, 2].map(|_| {
        let name = String::from("gold");
        match limiter.enqueue_owned_in(&name, "k", 1, None) {
            Ok(Queued::Waiting(turn)) => turn,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(turns.each_ref().map(Turn::due), [START + half_an_hour, START + 2 * half_an_hour]);
    assert_eq!(limiter.peek("k", 1).denial(), Some(Denial::Queued));
    clock.advance(half_an_hour);
    let [first, second] = &mut turns;
    assert!(matches!(first.poll(Waker::noop()), Progress::Granted(_)));
    assert_eq!(second.poll(Waker::noop()), Progress::Waiting(half_an_hour));
    drop(limiter);
    match second.poll(Waker::noop()) {
        Progress::Refused(decision) => assert_eq!(decision.denial(), Some(Denial::Closed)),
        other => panic!("{other:?}"),
    }
}

/// While others wait, nothing is left, and a token is when they are granted and leave one: to the nanosecond, by
/// each algorithm, when each of them asks as it is told to.
#[test]
fn the_next_token_behind_others_is_told_to_the_nanosecond() {
    // Sevenths of a second are not whole nanoseconds.
    let kinds = ["", " fixed-window", " sliding-log", " sliding-window"];
    let specs = kinds.map(|kind| format!("10 per 7s{kind}"));
    for spec in specs.iter().map(String::as_str).chain(["3 per 7s burst 10"]) {
        for wait in [0, 1, 499, 1_000].map(Duration::from_millis) {
            let limiter = limiter(spec, &ManualClock::new(START));
            assert!(limiter.try_acquire_at(1_u64, 4, START).is_allowed());
            let now = START + wait;
            assert!(limiter.try_acquire_at(1_u64, 6, now).is_allowed(), "{spec}");
            let mut turns = [2, 3, 1].map(|cost| waiting(&limiter, 1, cost, now));
            let look = limiter.peek_at(1_u64, 0, now);
            let denied = limiter.try_acquire_at(1_u64, 1, now);
            assert_eq!((look.remaining(), denied.remaining()), (0, 0));
            assert_eq!(look.next_after(), denied.next_after(), "{spec}");
            assert_eq!(Some(look.next_after()), denied.retry_after(), "{spec}: one behind them");
            let then = now + look.next_after();
            let before = Nanos::from_nanos(then.as_nanos() - 1);
            for now in [before, then] {
                // Each asks when it is due.
                for turn in turns.iter_mut().filter(|turn| turn.due() <= now) {
                    let progress = turn.poll_at(Waker::noop(), turn.due());
                    assert!(matches!(progress, Progress::Granted(_)), "{spec}");
                }
                if now == before {
                    assert_eq!(limiter.peek_at(1_u64, 0, now).remaining(), 0, "{spec}");
                }
            }
            assert!(limiter.peek_at(1_u64, 0, then).remaining() > 0, "{spec}");
        }
    }
}

/// Who is refused for those who wait, or for the queue, is refused by no limit; the first of the queue by its
/// limits alone, and who could never be granted by those that hold too little.
#[test]
fn limits_refuse_nobody_who_stands_behind_others() {
    let refused_by = |decision: &Decision| [0, 1, 2].map(|place| decision.refused_by(place));
    let (none, second) = ([false; 3], Duration::from_secs(1));
    let policy = |specs: [&str; 2]| Policy::parse(specs).expect("limits");
    let rules = policy(["4/s", "2 per 4s"]);
    let limiter = Limiter::builder(rules).max_waiters_per_key(2).build().expect("a limiter");
    assert!(limiter.try_acquire_at("k", 2, START).is_allowed());
    let denied = limiter.try_acquire_at("k", 1, START);
    assert_eq!((denied.denial(), denied.limit()), (Some(Denial::Limit), Some(1)));
    assert_eq!(refused_by(&denied), [false, true, false]);

    let wait = |cost, within| limiter.enqueue_at("k", cost, within, START);
    let Ok(Queued::Waiting(mut first)) = wait(1, Some(10 * second)) else { panic!() };
    let denied = limiter.try_acquire_at("k", 1, START);
    assert_eq!((denied.denial(), refused_by(&denied)), (Some(Denial::Queued), none));
    let late = wait(1, Some(second)).expect_err("too late");
    assert_eq!((late.denial(), refused_by(&late)), (Some(Denial::Queued), none));
    let never = wait(3, None).expect_err("above the second");
    assert_eq!((never.is_never(), never.denial()), (true, Some(Denial::Limit)));
    assert_eq!(refused_by(&never), [false, true, false]);

    let Ok(Queued::Waiting(mut last)) = wait(1, Some(10 * second)) else { panic!() };
    let full = wait(1, None).expect_err("two wait");
    assert_eq!((full.denial(), refused_by(&full)), (Some(Denial::QueueFull), none));

    // Both are told that it takes too long by the new rules.
    limiter.set_rules_at(policy(["4/s", "2/h"]), START).expect("rules");
    let told = |turn: &mut Turn<'_>| match turn.poll_at(Waker::noop(), START) {
        Progress::Refused(decision) => (decision.denial(), decision.limit(), refused_by(&decision)),
        other => panic!("{other:?}"),
    };
    let (denial, _, by) = told(&mut last);
    assert_eq!((denial, by), (Some(Denial::Queued), none));
    let by_second = [false, true, false];
    assert_eq!(told(&mut first), (Some(Denial::Limit), Some(1), by_second));
}

/// Counts its calls.
#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Who waits is woken when the rules are replaced, and judged by the new ones: granted sooner or later, at once
/// when there is no limit any more, and refused when it could never be, or its key is blocked.
#[test]
fn replaced_rules_reach_those_who_wait() {
    let policy = |spec: &str| match spec {
        "unlimited" => Policy::unlimited(),
        "blocked" => Policy::blocked(),
        spec => spec.parse::<Limit>().expect("a limit").into(),
    };
    let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
    // The new rules, and how long three tokens have to be waited for then; none when they are granted at
    // once, and an error when they are refused.
    let rows = [
        ("10/min", Ok(minutes(18).map(|wait| wait / 60))),
        ("unlimited", Ok(None)),
        ("2/h", Err(Some(Denial::Limit))),
        ("blocked", Err(Some(Denial::Blocked))),
    ];
    for (spec, expected) in rows {
        let clock = ManualClock::new(START);
        let limiter = limiter("10/h", &clock);
        assert!(limiter.try_acquire_at(1_u64, 10, START).is_allowed());
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut turn = waiting(&limiter, 1, 3, START);
        assert_eq!(turn.poll_at(&waker, START), Progress::Waiting(Duration::from_secs(18 * 60)));
        limiter.set_rules_at(policy(spec), START).expect("rules");
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "{spec}: it is woken");
        let found = match turn.poll_at(&waker, START) {
            Progress::Waiting(wait) => Ok(Some(wait)),
            Progress::Granted(_) => Ok(None),
            Progress::Refused(decision) => Err(decision.denial()),
        };
        assert_eq!(found, expected, "{spec}");
        drop(turn);
        let stats = limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0), "{spec}");
    }
    // For new keys only: it goes on as before, and nobody is woken.
    let clock = ManualClock::new(START);
    let limiter = limiter("10/h", &clock);
    assert!(limiter.try_acquire_at(1_u64, 10, START).is_allowed());
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut turn = waiting(&limiter, 1, 3, START);
    let first = turn.poll_at(&waker, START);
    limiter.set_rules_for_new_keys_at(policy("10/min"), START).expect("rules");
    assert_eq!((turn.poll_at(&waker, START), count.0.load(Ordering::Relaxed)), (first, 0));
}

/// Wakers are called, and dropped, with no lock held: they may do anything with the limiter.
#[test]
fn wakers_may_call_the_limiter() {
    struct Busy(Arc<Limiter>);
    impl Busy {
        fn call(&self) {
            let generation = self.0.set_rules_at("100/h".parse::<Limit>().expect("a limit"), START);
            assert!(generation.is_ok());
            let _ = self.0.try_acquire_at(1_u64, 1, START);
            let _ = self.0.stats();
        }
    }
    impl Wake for Busy {
        fn wake(self: Arc<Self>) {
            self.call();
        }
    }
    impl Drop for Busy {
        fn drop(&mut self) {
            self.call();
        }
    }
    let hour = START + Duration::from_secs(3_600);
    // What calls the waker, or drops it.
    type Act = fn(&Limiter, Turn<'_>);
    let acts: [(&str, Act); 8] = [
        ("a call", |limiter, turn| {
            assert!(
                limiter.try_acquire_at(1_u64, 1, START + Duration::from_secs(3_600)).is_allowed()
            );
            drop(turn);
        }),
        ("a call under other rules", |limiter, turn| {
            let rules = "20/h".parse::<Limit>().expect("a limit");
            limiter.set_rules_at(rules, START).expect("rules");
            let _ = limiter.try_acquire_at(1_u64, 1, START + Duration::from_secs(3_600));
            drop(turn);
        }),
        ("several keys", |limiter, turn| {
            let keys = [(1_u64, 1), (2, 1)];
            let all = limiter.try_acquire_all_at(&keys, START + Duration::from_secs(3_600));
            assert!(all.expect("two keys").is_allowed());
            drop(turn);
        }),
        ("a refund", |limiter, turn| {
            assert_eq!(limiter.refund_at(1_u64, 10, START), 10);
            drop(turn);
        }),
        ("a reset", |limiter, turn| {
            assert!(limiter.reset(1_u64));
            drop(turn);
        }),
        ("its own question", |_, mut turn| {
            let _ = turn.poll_at(Waker::noop(), START);
            drop(turn);
        }),
        ("its own end", |_, turn| drop(turn)),
        ("the end of all", |limiter, turn| {
            limiter.close();
            drop(turn);
        }),
    ];
    for (name, act) in acts {
        let clock = ManualClock::new(START);
        let limiter = Arc::new(limiter("10/h", &clock));
        assert!(limiter.try_acquire_at(1_u64, 10, START).is_allowed());
        let mut turn = waiting(&limiter, 1, 1, START);
        let waker = Waker::from(Arc::new(Busy(limiter.clone())));
        assert!(matches!(turn.poll_at(&waker, START), Progress::Waiting(_)), "{name}");
        drop(waker);
        act(&limiter, turn);
        assert_eq!(limiter.stats().waiters, 0, "{name}");
        assert!(limiter.peek_at(1_u64, 0, hour).is_allowed());
    }
}

/// A store whose one slot others wait for denies newcomers until all of them were granted and the key owes nothing
/// any more, and says so.
#[test]
fn a_full_store_counts_those_who_wait() {
    for overflow in [Overflow::Evict, Overflow::Refuse] {
        let limit: Limit = "1/s".parse().expect("a limit");
        let limiter = Limiter::builder(limit).max_keys(1).overflow(overflow).build();
        let limiter = limiter.expect("a small limiter");
        assert!(limiter.try_acquire_at(0_u64, 1, START).is_allowed());
        let mut turns = [(); 3].map(|()| waiting(&limiter, 0, 1, START));
        let denied = limiter.try_acquire_at(1_u64, 1, START);
        assert_eq!(denied.denial(), Some(Denial::StoreFull), "{overflow}");
        assert_eq!(denied.retry_after(), Some(Duration::from_secs(4)), "{overflow}");
        for (second, turn) in (1..).zip(&mut turns) {
            let now = START + Duration::from_secs(second);
            assert!(matches!(turn.poll_at(Waker::noop(), now), Progress::Granted(_)));
        }
        let free = START + Duration::from_secs(4);
        assert!(limiter.try_acquire_at(1_u64, 1, free).is_allowed(), "{overflow}");
    }
}

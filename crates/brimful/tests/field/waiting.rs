//! Queues: nobody is forgotten in one, nobody holds a place that they gave up, and nobody waits in vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use brimful::{Denial, Limiter, ManualClock, Nanos, Progress, Queued, Turn};

use crate::{START, limit, ms, secs};

/// A limiter of one limit, whose clock stands at `START`.
fn limiter(spec: &str) -> Limiter {
    Limiter::builder(limit(spec))
        .max_keys(10)
        .clock(ManualClock::new(START))
        .build()
        .expect("a small limiter")
}

/// One who waits for `cost` tokens of the key.
fn waiting(limiter: &Limiter, cost: u64, now: Nanos) -> Turn<'_> {
    match limiter.enqueue_at("k", cost, None, now) {
        Ok(Queued::Waiting(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

fn is_granted(turn: &mut Turn<'_>, now: Nanos) -> bool {
    matches!(turn.poll_at(Waker::noop(), now), Progress::Granted(_))
}

/// Says how often it was called.
#[derive(Default)]
struct Called(AtomicU64);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Case 158: who goes after it was granted, and before it heard of it, gives its token back, and the next one
/// runs at the time at which it would have.
#[test]
fn who_was_granted_and_goes_leaves_its_token() {
    let limiter = limiter("1/s");
    assert!(limiter.try_acquire_at("k", 1, secs(0)).is_allowed());
    let first = waiting(&limiter, 1, secs(0));
    let mut second = waiting(&limiter, 1, secs(0));
    assert_eq!(second.poll_at(Waker::noop(), secs(0)), Progress::Waiting(secs(2).since(secs(0))));
    // Somebody looks at the key just then, by which the first is granted.
    assert!(limiter.try_acquire_at("k", 1, secs(1)).is_denied());
    assert_eq!(limiter.stats().waiters, 1, "case 158: the first was granted");
    first.leave_at(secs(1));
    assert!(is_granted(&mut second, secs(1)), "case 158: B runs at 1 s");
    assert!(!limiter.try_acquire_at("k", 1, ms(1_999)).is_allowed(), "case 158: spent once");
    assert!(limiter.try_acquire_at("k", 1, secs(2)).is_allowed(), "case 158: and not twice");
    let stats = limiter.stats();
    assert_eq!((stats.waiters, stats.reservations), (0, 0), "nothing is left of the queue");
}

/// Case 161: the place of one who goes is free at once.
#[test]
fn a_place_that_was_given_up_is_free() {
    let limiter = Limiter::builder(limit("1/s"))
        .clock(ManualClock::new(START))
        .max_waiters_per_key(1)
        .build()
        .expect("a small limiter");
    assert!(limiter.try_acquire_at("k", 1, START).is_allowed());
    let first = waiting(&limiter, 1, START);
    let full = limiter.enqueue_at("k", 1, None, START).expect_err("case 161: one place");
    assert_eq!(full.denial(), Some(Denial::QueueFull));
    assert_eq!(full.retry_after(), Some(Duration::from_secs(1)), "when the first is granted");
    first.leave_at(START);
    let mut next = waiting(&limiter, 1, START);
    assert!(is_granted(&mut next, secs(1)), "case 161: B is queued");
}

/// Case 162: a large request that goes does not hold up a small one behind it.
#[test]
fn who_goes_holds_nobody_up() {
    let limiter = limiter("1/s burst 2");
    assert!(limiter.try_acquire_at("k", 2, START).is_allowed());
    let large = waiting(&limiter, 2, START);
    let called = Arc::new(Called::default());
    let waker = Waker::from(called.clone());
    let mut small = waiting(&limiter, 1, START);
    assert_eq!(small.poll_at(&waker, START), Progress::Waiting(Duration::from_secs(3)));
    large.leave_at(ms(500));
    assert_eq!(called.0.load(Ordering::Relaxed), 1, "it is told to come earlier");
    assert_eq!(small.poll_at(&waker, ms(500)), Progress::Waiting(Duration::from_millis(500)));
    assert!(is_granted(&mut small, secs(1)), "case 162: one token is there at 1 s");
    assert_eq!(called.0.load(Ordering::Relaxed), 1);
}

/// Case 163: a hundred thousand who wait for just about as long as they have to; whether they are granted or
/// give up in time, no token is lost.
#[test]
fn grants_and_time_outs_at_one_moment_lose_nothing() {
    let limiter = limiter("10/s");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut now = START;
    assert!(limiter.try_acquire_at("k", 10, now).is_allowed());
    let mut waiting: Vec<(Turn<'_>, Nanos)> = Vec::new();
    let (mut granted, mut gave_up) = (0_u64, 0_u64);
    let mut asked = 0_u64;
    while asked < 100_000 || !waiting.is_empty() {
        if asked < 100_000 && waiting.len() < 8 {
            asked += 1;
            match limiter.enqueue_at("k", 1 + next(3), None, now).expect("it is short") {
                Queued::Granted(_) => granted += 1,
                Queued::Waiting(turn) => {
                    // From just before it is due to just after.
                    let due = turn.due();
                    waiting.push((turn, due + Duration::from_nanos(next(5))));
                }
            }
            continue;
        }
        let (place, at) = waiting
            .iter()
            .enumerate()
            .map(|(place, (_, at))| (place, *at))
            .min_by_key(|(_, at)| *at)
            .expect("somebody waits");
        now = now.max(Nanos::from_nanos(at.as_nanos().saturating_sub(2)));
        let (mut turn, _) = waiting.swap_remove(place);
        match next(3) {
            0 => {
                turn.leave_at(now);
                gave_up += 1;
            }
            1 => {
                // Granted by another's look, and gone before it heard.
                assert!(limiter.try_acquire_at("k", 10, now).is_denied() || waiting.is_empty());
                turn.leave_at(now);
                gave_up += 1;
            }
            _ => match turn.poll_at(Waker::noop(), now) {
                Progress::Granted(_) => granted += 1,
                Progress::Refused(decision) => panic!("{decision:?}"),
                Progress::Waiting(wait) => waiting.push((turn, now + wait)),
            },
        }
    }
    assert!(granted > 20_000 && gave_up > 20_000, "{granted} were granted, {gave_up} gave up");
    let later = now + Duration::from_secs(1);
    assert_eq!(limiter.peek_at("k", 10, later).remaining(), 0, "case 163: 10 are there");
    assert_eq!((limiter.stats().waiters, limiter.stats().reservations), (0, 0));
}

/// Case 165: one who waits for much is not starved by those who ask for little; who only tries, however
/// often, may be.
#[test]
fn cheap_calls_do_not_starve_one_who_waits() {
    let limiter = limiter("10/s");
    assert!(limiter.try_acquire_at("k", 10, START).is_allowed());
    let mut all_ten = waiting(&limiter, 10, START);
    for tick in 1..10 {
        let cheap = limiter.try_acquire_at("k", 1, ms(100 * tick));
        assert_eq!(cheap.denial(), Some(Denial::Queued), "case 165: at {tick} ticks");
        assert!(!is_granted(&mut all_ten, ms(100 * tick)));
    }
    assert!(is_granted(&mut all_ten, secs(1)), "case 165: served within 1 s");

    // The same without waiting: each tick somebody takes the token that has come.
    for tick in 1..100 {
        let now = ms(1_000 + 100 * tick);
        assert!(limiter.try_acquire_at("k", 10, now).is_denied());
        assert!(limiter.try_acquire_at("k", 1, now).is_allowed());
    }
}

/// Case 166: the time that one waits counts once, not for each unit; case 167: who would wait in vain is told so
/// at once, and when it could succeed.
#[test]
fn nobody_waits_in_vain() {
    let slow = limiter("1 per 29s burst 10");
    assert!(slow.try_acquire_at("k", 10, START).is_allowed());
    let denied = slow
        .enqueue_at("k", 10, Some(Duration::from_secs(30)), START)
        .expect_err("case 166: ten units need 290 s");
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(290)));
    assert_eq!(slow.stats().waiters, 0);
    assert_eq!(slow.peek_at("k", 0, secs(29)).remaining(), 1, "case 166: nothing is spent");

    let window = limiter("3 per 10s fixed-window");
    assert!(window.try_acquire_at("k", 3, secs(1)).is_allowed());
    let denied = window
        .enqueue_at("k", 1, Some(Duration::from_secs(5)), secs(1))
        .expect_err("case 167: the next slot is in 9 s");
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(9)), "case 167");
    // What can be waited for is.
    let mut turn = match window.enqueue_at("k", 1, Some(Duration::from_secs(9)), secs(1)) {
        Ok(Queued::Waiting(turn)) => turn,
        other => panic!("{other:?}"),
    };
    assert!(is_granted(&mut turn, secs(10)));

    let never = window.enqueue_at("k", 4, None, secs(11)).expect_err("above the limit");
    assert!(never.is_never());
}

/// Case 169: who waits for the next window has its token there, whoever comes first.
#[test]
fn who_waits_is_not_forgotten_at_the_window_change() {
    for spec in ["2 per 60s fixed-window", "2 per 60s sliding-log"] {
        let limiter = limiter(spec);
        assert!(limiter.try_acquire_at("k", 2, START).is_allowed());
        let mut turn = waiting(&limiter, 1, START);
        let first = limiter.try_acquire_at("k", 1, secs(61));
        let second = limiter.try_acquire_at("k", 1, secs(61));
        assert_eq!(
            (first.is_allowed(), second.is_allowed()),
            (true, false),
            "case 169: {spec}: 2 in that window, one of them for who waited"
        );
        assert!(is_granted(&mut turn, secs(61)), "case 169: {spec}");
    }
}

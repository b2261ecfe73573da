//! Those who wait when the entries of sliding logs are used up: who is due and finds none holds its place, and
//! nobody goes before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use brimful::{
    Denial, Limit, Limiter, ManualClock, Nanos, Overflow, Progress, Queued, Reservation, Turn,
};

const START: Nanos = Nanos::from_secs(1_800_000_000);

fn at(secs: u64) -> Nanos {
    START + Duration::from_secs(secs)
}

fn limiter(limit: &str, overflow: Overflow) -> Limiter {
    let limit: Limit = limit.parse().expect("a limit");
    let builder = Limiter::builder(limit).max_keys(20).max_log_entries(4).overflow(overflow);
    builder.clock(ManualClock::new(START)).build().expect("a limiter")
}

fn waiting<'a>(limiter: &'a Limiter, cost: u64, now: Nanos) -> Turn<'a> {
    match limiter.enqueue_at("a", cost, None, now) {
        Ok(Queued::Waiting(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

/// One waits for one token more than there are, then others take all entries that are left.
fn used_up(limiter: &Limiter, capacity: u64) -> (Reservation<'_>, Turn<'_>) {
    let reserved = limiter.reserve_at("a", capacity, START).expect("all of them");
    let turn = waiting(limiter, 1, START);
    for key in ["x", "y", "z"] {
        assert!(limiter.try_acquire_at(key, 1, at(1)).is_allowed());
    }
    (reserved, turn)
}

/// How many calls for one token are admitted.
fn admitted(limiter: &Limiter, now: Nanos) -> usize {
    (0..10).filter(|_| limiter.try_acquire_at("a", 1, now).is_allowed()).count()
}

#[test]
fn calls_for_several_keys_come_after_who_is_due_and_finds_no_entries() {
    for capacity in [2, 3] {
        let limiter = limiter(&format!("{capacity} per 100s sliding-log"), Overflow::Refuse);
        let (reserved, mut turn) = used_up(&limiter, capacity);
        // One is due now, and its log has one entry.
        assert_eq!(reserved.commit_at(1, at(2)).given_back(), capacity - 1);

        let all = limiter.try_acquire_all_at(&[("a", 1)], at(2)).expect("one key");
        assert_eq!(all.decision().denial(), Some(Denial::Queued), "{capacity}: {all:?}");
        assert_eq!(limiter.stats().log_entries, 4);

        // Refused for want of entries, it leaves the others what the reservation did not cost.
        assert!(matches!(turn.poll_at(Waker::noop(), at(2)), Progress::Refused(_)), "{capacity}");
        assert_eq!(limiter.peek_at("a", 0, at(2)).remaining(), capacity - 1);
        for key in ["x", "y", "z"] {
            assert!(limiter.reset(key));
        }
        assert_eq!(admitted(&limiter, at(3)) as u64, capacity - 1);
    }
}

#[derive(Default)]
struct Calls(AtomicU64);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn who_is_due_and_finds_no_entries_is_woken_to_look_for_some() {
    let limiter = limiter("3 per 100s sliding-log", Overflow::Refuse);
    let (reserved, mut turn) = used_up(&limiter, 3);
    let calls = Arc::new(Calls::default());
    let waker = Waker::from(Arc::clone(&calls));
    assert_eq!(turn.poll_at(&waker, at(1)), Progress::Waiting(Duration::from_secs(99)));
    assert_eq!(reserved.commit_at(1, at(2)).given_back(), 2);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
    assert!(limiter.reset("x"));
    assert!(matches!(turn.poll_at(&waker, at(2)), Progress::Granted(_)));
}

/// Otherwise they would ask again and again, as long as the first does not.
#[test]
fn who_never_asks_and_finds_no_entries_holds_nobody_up() {
    let limiter = limiter("3 per 100s sliding-log", Overflow::Refuse);
    let (reserved, mut silent) = used_up(&limiter, 3);
    assert_eq!(reserved.commit_at(1, at(2)).given_back(), 2);
    let mut second = waiting(&limiter, 1, at(3));
    match second.poll_at(Waker::noop(), at(3)) {
        Progress::Refused(decision) => assert_eq!(decision.denial(), Some(Denial::StoreFull)),
        other => panic!("{other:?}"),
    }
    assert!(matches!(silent.poll_at(Waker::noop(), at(3)), Progress::Refused(_)));
    assert_eq!(limiter.stats().waiters, 0);
}

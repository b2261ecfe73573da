//! Queues: whole calls in some order, and nobody sleeps who was granted or refused or is due sooner than it
//! knows (each race ends with a look at that: `World::end`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use brimful::{Limiter, LimiterBuilder, Overflow, Policy, Progress, Queued, Turn};

use super::as_in_turn;
use super::harness::Op::{Acquire, Close, Enqueue, Kept, Leave, Peek, Poll, Refund, Reset, Rules};
use super::harness::{
    Answer, Called, NOW, Op, Race, at, built, debtors, model, model_with, preemptions, rules, spawn,
};
use super::moves;

const MINUTE: u64 = 60_000_000_000;

/// Somebody waits for the key `a` and has asked once, on a limiter of one token per minute.
fn one_waits() -> Race {
    Race::new(&["1/min"]).before(queue(1))
}

/// So many wait and have asked once; each of them is due a minute after the one before.
fn queue(count: usize) -> Vec<Op> {
    let calls = (0..count).flat_map(|number| [Enqueue(number, "a", 1), Poll(number, 0)]);
    [Acquire("a", 1, 0)].into_iter().chain(calls).collect()
}

as_in_turn!(
    enqueue_and_enqueue,
    Race::new(&["1/min"])
        .before([Acquire("a", 1, 0)])
        .thread([Enqueue(0, "a", 1)])
        .thread([Enqueue(1, "a", 1)])
        .after([Kept, Poll(1, MINUTE), Poll(0, MINUTE), Kept])
        .preempted(2)
);

as_in_turn!(
    enqueue_and_acquire,
    Race::new(&["2/min"])
        .before([Acquire("a", 1, 0)])
        .thread([Enqueue(0, "a", 1), Poll(0, 0)])
        .thread([Acquire("a", 1, 0)])
        .after([Kept, Peek("a", 1, MINUTE), Poll(0, MINUTE), Kept])
);

// It is granted by itself, or by the other.
as_in_turn!(
    poll_and_acquire,
    one_waits().thread([Poll(0, MINUTE)]).thread([Acquire("a", 1, MINUTE)]).after([
        Poll(0, MINUTE),
        Peek("a", 0, MINUTE),
        Kept
    ])
);

// It goes back to sleep just when the other grants it.
as_in_turn!(sleep_and_acquire, one_waits().thread([Poll(0, 0)]).thread([Acquire("a", 1, MINUTE)]));

/// Whoever grants it, it comes before the other.
mod nobody_comes_between {
    use super::*;

    fn race() -> Race {
        one_waits().thread([Poll(0, MINUTE)]).thread([Acquire("a", 1, MINUTE)]).after([Acquire(
            "a",
            1,
            2 * MINUTE,
        )])
    }

    fn is_granted(race: Race) {
        race.check(|outcome, _| {
            let said = [&outcome.threads[0][0], &outcome.threads[1][0], &outcome.after[0]];
            assert_eq!(said.map(Answer::is_allowed), [true, false, true], "{outcome:#?}");
        });
    }

    #[test]
    fn plain() {
        is_granted(race());
    }

    #[test]
    fn wide() {
        is_granted(race().built(|builder| builder.max_limits(2)));
    }
}

/// The first one gives up just when the second one asks.
#[test]
fn leave_and_poll() {
    for when in [0, MINUTE] {
        Race::new(&["1/min"])
            .before(queue(2))
            .thread([Leave(0, when)])
            .thread([Poll(1, when)])
            .after([Kept])
            .must_be_as_in_turn();
    }
}

/// Both give up, and the last one moves up.
#[test]
fn leave_and_leave() {
    Race::new(&["1/min"])
        .before(queue(3))
        .thread([Leave(0, 0)])
        .thread([Leave(1, 0)])
        .after([Kept])
        .must_be_as_in_turn();
}

/// It was granted, and goes before it hears of that: its token is there for the other, once.
#[test]
fn leave_when_granted_and_acquire() {
    one_waits()
        .before(queue(1).into_iter().chain([Acquire("a", 1, MINUTE)]))
        .thread([Leave(0, MINUTE)])
        .thread([Acquire("a", 1, MINUTE)])
        .after([Peek("a", 0, MINUTE), Kept])
        .must_be_as_in_turn();
}

/// It is granted by the other, or is gone before.
#[test]
fn leave_and_acquire() {
    one_waits()
        .thread([Leave(0, MINUTE)])
        .thread([Acquire("a", 1, MINUTE), Acquire("a", 1, MINUTE)])
        .after([Peek("a", 0, MINUTE), Kept])
        .preempted(2)
        .must_be_as_in_turn();
}

#[test]
fn close_and_enqueue() {
    Race::new(&["1/min"])
        .before([Acquire("a", 1, 0)])
        .thread([Close])
        .thread([Enqueue(0, "a", 1), Poll(0, 0)])
        .after([Poll(0, 0), Enqueue(1, "a", 1), Kept])
        .must_be_as_in_turn();
}

#[test]
fn close_and_poll() {
    for when in [0, MINUTE] {
        one_waits()
            .thread([Close, Acquire("a", 1, when)])
            .thread([Poll(0, when), Poll(0, when)])
            .after([Peek("a", 0, when), Kept])
            .preempted(2)
            .must_be_as_in_turn();
    }
}

#[test]
fn close_and_leave() {
    Race::new(&["1/min"])
        .before(queue(2))
        .thread([Close, Acquire("a", 1, 0)])
        .thread([Leave(0, 0), Enqueue(2, "a", 1)])
        .after([Poll(1, 0), Poll(2, 0), Kept])
        .preempted(1)
        .must_be_as_in_turn();
}

/// By other verbs than those that charge: what they give back is for those who wait.
#[test]
fn poll_and_give_back() {
    for gives in [Refund("a", 1, 0), Reset("a")] {
        Race::new(&["1/min"])
            .before(queue(2))
            .thread([gives])
            .thread([Poll(0, 0)])
            .after([Kept, Peek("a", 0, 0)])
            .must_be_as_in_turn();
    }
}

/// Rules that are replaced while somebody begins to wait, and somebody else asks.
#[test]
fn enqueue_and_replace() {
    Race::new(&["1/min"])
        .before([Acquire("a", 1, 0)])
        .thread([Rules(rules("2/min"))])
        .thread([Enqueue(0, "a", 1), Poll(0, 0)])
        .after([Acquire("a", 1, MINUTE / 2), Poll(0, MINUTE / 2), Kept])
        .preempted(1)
        .must_be_as_in_turn();
}

/// It goes back to sleep just when the rules are replaced: it is woken, or sleeps by the new ones.
#[test]
fn sleep_and_replace() {
    one_waits()
        .thread([Rules(rules("60/min"))])
        .thread([Poll(0, 0)])
        .after([Peek("b", 0, MINUTE / 2)])
        .preempted(2)
        .must_be_as_in_turn();
}

/// Two places in the queue.
#[test]
fn the_last_place() {
    Race::new(&["1/min"])
        .built(|builder| builder.max_waiters_per_key(2))
        .before(queue(1))
        .thread([Enqueue(1, "a", 1), Leave(1, 0)])
        .thread([Enqueue(2, "a", 1)])
        .after([Kept, Poll(2, 0)])
        .preempted(2)
        .must_be_as_in_turn();
}

/// The key owes least of all, so that a newcomer takes its slot, unless somebody waits for it.
#[test]
fn enqueue_and_forced_evict() {
    Race::new(&["2/min"])
        .before([Acquire("a", 1, 0)].into_iter().chain(debtors(7, 2, 0)))
        .thread([Enqueue(0, "a", 2)])
        .thread([Acquire("b", 1, 0)])
        .after([Kept, Peek("a", 0, 0), Peek("b", 0, 0)])
        .preempted(1)
        .check(|outcome, _| {
            let (queued, after) = (&outcome.threads[0][0], &outcome.after);
            // It waits, and another key was forgotten; or it was forgotten before, and need not wait.
            let waiters = u64::from(matches!(queued, Answer::Waits(_)));
            assert!(waiters == 1 || queued.is_allowed(), "{outcome:#?}");
            assert_eq!(after[0], Answer::Kept { waiters, reservations: 0 }, "{outcome:#?}");
            assert!(outcome.threads[1][0].is_allowed(), "{outcome:#?}");
        });
}

/// The key owes nothing any more, but somebody waits for it, and asks when a newcomer looks for a slot.
mod poll_and_evict {
    use super::*;

    fn it_stays(settings: fn(LimiterBuilder) -> LimiterBuilder) {
        Race::new(&["1/min"])
            .built(settings)
            .before(queue(1).into_iter().chain(debtors(7, 1, MINUTE - 1)))
            .thread([Poll(0, MINUTE)])
            .thread([Acquire("b", 1, MINUTE)])
            .after([Kept])
            .preempted(1)
            .check(|outcome, _| {
                assert!(outcome.threads[0][0].is_allowed(), "{outcome:#?}");
                assert_eq!(outcome.threads[1][0], Answer::Full);
                assert_eq!(outcome.after[0], Answer::Kept { waiters: 0, reservations: 0 });
            });
    }

    #[test]
    fn plain() {
        it_stays(|builder| builder.overflow(Overflow::Refuse));
    }

    #[test]
    fn wide() {
        it_stays(|builder| builder.overflow(Overflow::Refuse).max_limits(2));
    }
}

/// A key is moved to its other set while somebody begins to wait for it, or asks.
mod moved {
    use super::*;

    #[test]
    fn enqueue() {
        let (race, mover, newcomer) = moves::one_makes_way("1/min", |mover| Acquire(mover, 1, 0));
        race.thread([Enqueue(0, mover, 1)])
            .thread([Acquire(newcomer, 1, 0)])
            .after([Kept, Poll(0, MINUTE), Kept, Peek(mover, 0, MINUTE)])
            .preempted(1)
            .must_be_as_in_turn();
    }

    #[test]
    fn poll() {
        let (race, mover, newcomer) = moves::one_makes_way("1/min", |mover| Acquire(mover, 1, 0));
        race.and_before([Enqueue(0, mover, 1)])
            .thread([Poll(0, 0)])
            .thread([Acquire(newcomer, 1, 0)])
            .after([Acquire(mover, 1, MINUTE), Poll(0, MINUTE), Kept])
            .preempted(1)
            .check(|outcome, _| {
                let got: Vec<_> = outcome.after.iter().map(Answer::is_allowed).collect();
                assert!(outcome.threads[1][0].is_allowed(), "{outcome:#?}");
                assert_eq!(got, [false, true, false], "{outcome:#?}");
            });
    }
}

/// The limiter is dropped by the one, and the other waits: it is refused, or was woken.
#[test]
fn drop_and_poll() {
    let counts = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let [slept, refused] = counts.clone();
    model_with(2, preemptions(2), move || {
        let limiter = Arc::new(built(&Policy::parse(["1/min"]).unwrap(), |builder| builder));
        assert!(limiter.allow("a"));
        let Ok(Queued::Waiting(mut turn)) = limiter.enqueue_owned("a", 1, None) else { panic!() };
        let drops = spawn(move || {
            // (Owners are not counted by the model: threads make way for each other only in calls.)
            let _ = limiter.peek_at("a", 1, NOW);
            drop(limiter);
        });
        let called = Arc::new(Called::default());
        let _ = turn.poll_at(Waker::noop(), NOW);
        let told = turn.poll_at(&Waker::from(called.clone()), NOW);
        drops.join().unwrap();
        let count = match told {
            Progress::Waiting(_) => {
                assert_eq!(called.count(), 1, "it sleeps for ever");
                &slept
            }
            Progress::Refused(_) => &refused,
            Progress::Granted(_) => panic!("{told:?}"),
        };
        count.fetch_add(1, Ordering::Relaxed);
        assert!(matches!(turn.poll_at(Waker::noop(), NOW), Progress::Refused(_)));
    });
    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) > 0), "nothing raced");
}

/// A waker that asks the limiter whatever takes a lock, when it is called and when it is dropped.
struct Asks(Arc<Limiter>, Arc<AtomicU64>);

impl Asks {
    fn ask(&self) {
        assert!(self.0.set_rules_at(rules_now(&self.0), NOW).is_ok());
        assert!(self.0.stats().waiters < 9);
        let _ = self.0.peek_at("a", 1, NOW);
        let _ = self.0.peek_at("b", 1, NOW);
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn rules_now(limiter: &Limiter) -> brimful::Rules {
    limiter.rules().as_ref().clone()
}

impl Wake for Asks {
    fn wake(self: Arc<Self>) {
        self.ask();
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask();
        }
    }
}

/// Wakers are called, and dropped, with no lock held: one that asks the limiter in turn is not stuck.
#[test]
fn wakers_are_called_with_no_lock_held() {
    type Event = fn(&Arc<Limiter>, [Turn<'static>; 2]);
    let events: [(&str, Event); 12] = [
        ("acquire", |limiter, _turns| {
            let _ = limiter.try_acquire_at("a", 1, at(MINUTE));
        }),
        ("acquire under other rules", |limiter, _turns| {
            limiter.set_rules_at(Policy::parse(["2/min"]).unwrap(), NOW).unwrap();
            let _ = limiter.try_acquire_at("a", 1, at(MINUTE));
        }),
        ("acquire when the old rules are done with", |limiter, _turns| {
            let policy = Policy::parse(["2/min"]).unwrap();
            limiter.set_rules_for_new_keys_at(policy, NOW).unwrap();
            let _ = limiter.try_acquire_at("a", 1, at(MINUTE));
        }),
        ("all", |limiter, _turns| {
            let _ = limiter.try_acquire_all_at(&[("a", 1), ("b", 1)], at(MINUTE));
        }),
        ("all under other rules", |limiter, _turns| {
            limiter.set_rules_at(Policy::parse(["2/min"]).unwrap(), NOW).unwrap();
            let _ = limiter.try_acquire_all_at(&[("a", 1), ("b", 1)], at(MINUTE));
        }),
        ("enqueue", |limiter, _turns| {
            let _ = limiter.enqueue_at("a", 1, None, at(MINUTE));
        }),
        ("poll", |_, [_first, mut second]| {
            let _ = second.poll_at(Waker::noop(), at(MINUTE));
        }),
        ("poll again", |_, [mut first, _second]| {
            let _ = first.poll_at(Waker::noop(), NOW);
        }),
        ("leave", |_, [first, _second]| first.leave_at(NOW)),
        ("refund", |limiter, _turns| {
            limiter.refund_at("a", 1, NOW);
        }),
        ("reset", |limiter, _turns| {
            limiter.reset("a");
        }),
        ("close", |limiter, _turns| limiter.close()),
    ];
    for (name, event) in events {
        println!("{name}");
        model(2, move || {
            let work = move || {
                let limiter =
                    Arc::new(built(&Policy::parse(["1/min"]).unwrap(), |builder| builder));
                let called = Arc::new(AtomicU64::new(0));
                assert!(limiter.allow("a"));
                let turns = [(); 2].map(|()| {
                    let Ok(Queued::Waiting(mut turn)) = limiter.enqueue_owned("a", 1, None) else {
                        panic!("it waits")
                    };
                    let waker = Waker::from(Arc::new(Asks(limiter.clone(), called.clone())));
                    assert!(matches!(turn.poll_at(&waker, NOW), Progress::Waiting(_)));
                    turn
                });
                event(&limiter, turns);
                limiter.close();
                assert_eq!(limiter.stats().waiters, 0);
                assert!(called.load(Ordering::Relaxed) >= 2, "{name}");
            };
            spawn(work).join().unwrap();
        });
    }
}

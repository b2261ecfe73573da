//! Reservations at a limiter: what comes back when, by hand. (Against the model: the testkit's `waiting`.)

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use brimful::{
    Denial, Key, Limit, Limiter, LimiterBuilder, ManualClock, Nanos, Overflow, Policy, Rules,
};

const START: Nanos = Nanos::from_secs(1_800_000_000);

fn ms(ms: u64) -> Nanos {
    START + Duration::from_millis(ms)
}

fn policy(specs: &[&str]) -> Policy {
    Policy::parse(specs.iter().copied()).unwrap_or_else(|fault| panic!("{fault:#}"))
}

fn builder(specs: &[&str]) -> LimiterBuilder {
    Limiter::builder(policy(specs)).max_keys(100).clock(ManualClock::new(START))
}

fn limiter(specs: &[&str]) -> Limiter {
    builder(specs).build().expect("a small limiter")
}

fn left(limiter: &Limiter, now: Nanos) -> u64 {
    limiter.peek_at("k", 0, now).remaining()
}

/// What was refilled is not given back again, and what others were charged is not paid back by it.
#[test]
fn a_full_bucket_has_nothing_to_give_back() {
    let limiter = limiter(&["10/s"]);
    let five = limiter.reserve_at("k", 5, START).expect("10 are there");
    assert_eq!(left(&limiter, START), 5);
    // A second later all is refilled, and others take three.
    assert_eq!(limiter.try_acquire_at("k", 3, ms(1_000)).remaining(), 7);
    assert_eq!(five.cancel_at(ms(1_000)), 0);
    assert_eq!(left(&limiter, ms(1_000)), 7);
}

/// While others keep the bucket busy, nothing of a reservation is refilled: all of it comes back.
#[test]
fn a_busy_bucket_owes_it_still() {
    let limiter = limiter(&["10/s"]);
    let five = limiter.reserve_at("k", 5, START).expect("10 are there");
    assert!(limiter.try_acquire_at("k", 5, START).is_allowed());
    assert!(limiter.try_acquire_at("k", 5, ms(500)).is_allowed());
    assert_eq!(five.cancel_at(ms(500)), 5);
    assert_eq!(left(&limiter, ms(500)), 5);
}

/// Windows and logs give back while that window, or entry, is counted.
#[test]
fn windows_and_logs_give_back_what_is_counted() {
    // Spec, when it is cancelled, what comes back, what is left then.
    let rows = [
        ("10 per 1s fixed-window", 999, 6, 10),
        ("10 per 1s fixed-window", 1_000, 0, 10),
        ("10 per 1s sliding-log", 999, 6, 10),
        ("10 per 1s sliding-log", 1_000, 0, 10),
        ("10 per 1s sliding-window", 999, 6, 10),
        // Half of the window before is estimated still: 3 of 6, and none once they are back.
        ("10 per 1s sliding-window", 1_500, 6, 10),
        ("10 per 1s sliding-window", 2_000, 0, 10),
    ];
    for (spec, at, back, after) in rows {
        let limiter = limiter(&[spec]);
        let six = limiter.reserve_at("k", 6, START).expect("10 are there");
        assert_eq!(six.cancel_at(ms(at)), back, "{spec} after {at} ms");
        assert_eq!(left(&limiter, ms(at)), after, "{spec} after {at} ms");
    }
}

/// More than was reserved is charged when it is known, as far as there is any, and nothing is owed beyond.
#[test]
fn what_costs_more_empties_the_bucket() {
    for specs in [&["10/min"][..], &["10/min", "100/h"], &["10/min fixed-window"]] {
        let limiter = limiter(specs);
        let two = limiter.reserve_at("k", 2, START).expect("10 are there");
        let settled = two.commit_at(7, START);
        assert_eq!((settled.given_back(), settled.shortfall()), (0, 0), "{specs:?}");
        assert_eq!(left(&limiter, START), 3, "{specs:?}");
        let two = limiter.reserve_at("k", 2, START).expect("3 are there");
        assert_eq!(two.commit_at(9, START).shortfall(), 6, "{specs:?}");
        assert_eq!(left(&limiter, START), 0, "{specs:?}");
        // A cost that is not known before.
        let none = limiter.reserve_at("new", 0, START).expect("a look");
        assert_eq!(none.commit_at(4, START).shortfall(), 0);
        assert_eq!(limiter.peek_at("new", 0, START).remaining(), 6, "{specs:?}");
    }
}

/// What became of the key since then does not get what it had before.
#[test]
fn a_key_that_was_forgotten_gets_nothing_back() {
    let reset = limiter(&["10/min"]);
    let five = reset.reserve_at("k", 5, START).expect("10 are there");
    assert!(reset.reset("k"));
    assert!(reset.try_acquire_at("k", 3, START).is_allowed());
    assert_eq!(five.cancel_at(START), 0);
    assert_eq!(left(&reset, START), 7);
    assert_eq!(reset.stats().reservations, 0);

    // Of a store with one place, which others take.
    let full = builder(&["10/min"]).max_keys(1).build().expect("a small limiter");
    let five = full.reserve_at("k", 5, START).expect("10 are there");
    assert!(full.try_acquire_at("other", 9, START).is_allowed(), "k owes less, and goes");
    assert_eq!(full.stats().evicted_forced, 1);
    assert!(full.try_acquire_at("k", 10, START).is_allowed(), "and other goes");
    assert_eq!(five.cancel_at(START), 0);
    assert_eq!(left(&full, START), 0);
}

/// Rules that are replaced: what is as before gives back, a bucket in its new measure, and what is another
/// kind nothing.
#[test]
fn replaced_rules_keep_what_can_be_kept() {
    let rows = [("10/min", 5, 10), ("100/min", 5, 100), ("10/min fixed-window", 0, 5)];
    for (spec, back, after) in rows {
        let limiter = limiter(&["10/min"]);
        let five = limiter.reserve_at("k", 5, START).expect("10 are there");
        limiter.set_rules_at(policy(&[spec]), START).expect("rules");
        let _ = limiter.try_acquire_at("k", 1_000, START);
        assert_eq!(five.cancel_at(START), back, "{spec}");
        assert_eq!(left(&limiter, START), after, "{spec}");
    }
}

/// Dropping one gives it back, by the limiter's clock; one that is owned keeps the limiter.
#[test]
fn dropping_gives_back() {
    let clock = ManualClock::new(START);
    let limiter = Limiter::builder(policy(&["10/min"])).clock(clock.clone()).build();
    let limiter = Arc::new(limiter.expect("a limiter"));
    drop(limiter.reserve("k", 5).expect("10 are there"));
    assert_eq!(limiter.peek("k", 0).remaining(), 10);
    let owned = limiter.reserve_owned("k", 5).expect("10 are there");
    let there = thread::scope(|scope| scope.spawn(|| limiter.peek("k", 0).remaining()).join());
    assert_eq!(there.expect("a look"), 5);
    let weak = Arc::downgrade(&limiter);
    drop(limiter);
    assert!(weak.upgrade().is_some(), "the reservation keeps it");
    let text = format!("{owned:?}");
    assert!(text.contains("cost: 5") && !text.contains("\"k\""), "{text}");
    assert_eq!(owned.cost(), 5);
    assert_eq!(owned.decision().remaining(), 5);
    drop(owned);
    assert!(weak.upgrade().is_none());
}

/// Keys of all kinds are asked for again when more was spent than reserved, and get their own limits.
#[test]
fn a_key_is_known_again() {
    let inner = [Key::Unsigned(7), Key::Text("x")];
    let parts = [Key::Text("tenant"), Key::Parts(&inner), Key::Bytes(b"\0")];
    let network = brimful::IpPrefix::host("2001:db8::1".parse().expect("an address"));
    let keys = [
        Key::Text("text"),
        Key::Bytes(b"bytes"),
        Key::Unsigned(u128::MAX),
        Key::from(-5_i128),
        Key::Ip(network),
        Key::Parts(&parts),
        Key::Parts(&[]),
    ];
    for key in keys {
        let rules = Rules::builder()
            .default(Limit::per_minute(1).expect("a limit"))
            .exact(key, Limit::per_minute(50).expect("a limit"))
            .build()
            .expect("rules");
        let limiter = Limiter::builder(rules).clock(ManualClock::new(START)).build();
        let limiter = limiter.expect("a limiter");
        let none = limiter.reserve_at(key, 0, START).expect("a look");
        assert_eq!(none.commit_at(20, START).shortfall(), 0, "{key:?}");
        assert_eq!(limiter.peek_at(key, 0, START).remaining(), 30, "{key:?}");
    }
}

/// A tier's reservation is settled for that tier.
#[test]
fn tiers_reserve() {
    let rules = Rules::builder()
        .default(Limit::per_minute(10).expect("a limit"))
        .tier("gold", Limit::per_minute(100).expect("a limit"))
        .build()
        .expect("rules");
    let limiter = Limiter::builder(rules).clock(ManualClock::new(START)).build().expect("one");
    let gold = limiter.tier("gold");
    let sixty = gold.reserve_at("k", 60, START).expect("100 are there");
    assert_eq!(sixty.commit_at(90, START).shortfall(), 0);
    assert_eq!(gold.peek_at("k", 0, START).remaining(), 10);
    assert!(limiter.tier("unknown").reserve_at("j", 60, START).is_err());
    assert_eq!(limiter.stats().unknown_tier, 1);
}

/// One that is owned is decided and settled for its tier too, whose name need not live as long; its key is the
/// one that all callers share.
#[test]
fn a_tier_reserves_for_what_outlives_its_name() {
    let rules = Rules::builder()
        .default(Limit::per_minute(10).expect("a limit"))
        .tier("gold", Limit::per_minute(100).expect("a limit"))
        .build()
        .expect("rules");
    let limiter = Limiter::builder(rules).clock(ManualClock::new(START)).build();
    let limiter = Arc::new(limiter.expect("a limiter"));
    assert_eq!(limiter.try_acquire_n("k", 1).remaining(), 9);
    let denied = limiter.reserve_owned_in("gold", "k", 91).expect_err("90 are there");
    assert_eq!(denied.remaining(), 90);
    let sixty = {
        let name = String::from("gold");
        limiter.reserve_owned_in(&name, "k", 60).expect("90 are there")
    };
    assert_eq!(limiter.tier("gold").peek("k", 0).remaining(), 30);
    assert_eq!(limiter.peek("k", 0).remaining(), 3);
    let there = thread::spawn(move || sixty.commit(80).shortfall());
    assert_eq!(there.join().expect("a settlement"), 0);
    assert_eq!(limiter.tier("gold").peek("k", 0).remaining(), 10);
    assert_eq!(limiter.stats().unknown_tier, 0);
}

/// Tiers that the rules do not know are counted as with `Limiter::tier`: once a request, and not for a look.
#[test]
fn owned_verbs_count_unknown_tiers() {
    let limiter = Arc::new(limiter(&["10/min"]));
    let five = limiter.reserve_owned_in("unknown", "k", 5).expect("10 are there");
    assert_eq!((five.commit(5).given_back(), limiter.stats().unknown_tier), (0, 1));
    let none = limiter.reserve_owned_in("unknown", "k", 0).expect("a look");
    assert_eq!((none.cancel(), limiter.stats().unknown_tier), (0, 1));
    assert!(limiter.enqueue_owned_in("unknown", "k", 5, None).is_ok());
    assert_eq!((limiter.peek("k", 0).remaining(), limiter.stats().unknown_tier), (0, 2));
}

/// `unlimited` takes any cost, `blocked` none, and a denial says why.
#[test]
fn keys_without_limits_reserve_nothing() {
    let rules = Rules::builder()
        .default(Policy::unlimited())
        .exact("blocked", Policy::blocked())
        .build()
        .expect("rules");
    let limiter = Limiter::new(rules).expect("a limiter");
    let much = limiter.reserve("k", u64::MAX).expect("no limit");
    assert_eq!(much.commit(u64::MAX).shortfall(), 0);
    let more = limiter.reserve("k", 1).expect("no limit");
    assert_eq!(more.commit(u64::MAX).shortfall(), 0);
    assert_eq!(limiter.reserve("k", 1).expect("no limit").cancel(), 0);
    let denied = limiter.reserve("blocked", 1).expect_err("it is blocked");
    assert_eq!(denied.denial(), Some(Denial::Blocked));
    let stats = limiter.stats();
    assert_eq!((stats.admitted, stats.denied, stats.occupied, stats.reservations), (3, 1, 0, 0));
}

/// Keys without a slot share a state, to which nothing comes back; what costs more is taken from it.
#[test]
fn a_shared_state_gives_nothing_back() {
    let limiter = builder(&["10/min"]).max_keys(1).overflow(Overflow::Share).build();
    let limiter = limiter.expect("a small limiter");
    assert!(limiter.try_acquire_at("first", 1, START).is_allowed());
    let three = limiter.reserve_at("k", 3, START).expect("10 are shared");
    assert_eq!(limiter.peek_at("j", 0, START).remaining(), 10, "a look takes no part");
    assert_eq!(three.commit_at(5, START).shortfall(), 0);
    let four = limiter.reserve_at("j", 4, START).expect("5 are left");
    assert_eq!(four.cancel_at(START), 0);
    let one = limiter.reserve_at("l", 1, START).expect("1 is left");
    assert_eq!(one.commit_at(9, START).shortfall(), 8);
}

/// As many are open as there may be; what is settled makes room.
#[test]
fn open_reservations_are_bounded() {
    let limiter = builder(&["10/min"]).max_reservations(3).build().expect("a small limiter");
    let mut open: Vec<_> =
        (0..3_u64).map(|key| limiter.reserve_at(key, 1, START).expect("a place")).collect();
    let denied = limiter.reserve_at(7_u64, 1, START).expect_err("three are open");
    assert_eq!(denied.denial(), Some(Denial::StoreFull));
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(60)));
    assert_eq!(limiter.peek_at(7_u64, 0, START).remaining(), 10, "nothing is charged");
    assert_eq!(limiter.stats().reservations, 3);
    assert!(limiter.try_acquire_at(7_u64, 1, START).is_allowed(), "calls without one go on");
    open.pop();
    assert!(limiter.reserve_at(7_u64, 1, START).is_ok());
    drop(open);
    assert_eq!(limiter.stats().reservations, 0);
}

#[test]
fn one_reservation_too_many_makes_nobody_forgotten() {
    let limiter = builder(&["2/h"]).max_keys(1).max_reservations(0).build().unwrap();
    assert!(limiter.try_acquire_at("a", 2, ms(0)).is_allowed());
    let denied = limiter.reserve_at("b", 1, ms(0)).unwrap_err();
    assert_eq!(denied.denial(), Some(Denial::StoreFull));
    let stats = limiter.stats();
    assert_eq!((stats.evicted_forced, stats.forgiven_tokens, stats.reservations), (0, 0, 0));
    assert!(limiter.try_acquire_at("a", 1, ms(0)).is_denied());
}

#[test]
fn what_is_on_trial_is_reserved_without_a_receipt_when_there_are_too_many() {
    let trial = policy(&["2/h"]).shadow();
    let limiter = Limiter::builder(trial).max_keys(10).max_reservations(1).build().unwrap();
    let first = limiter.reserve_at("a", 1, ms(0)).unwrap();
    let second = limiter.reserve_at("a", 1, ms(0)).expect("a trial stops nobody");
    assert_eq!((second.cancel_at(ms(0)), limiter.stats().reservations), (0, 1));
    assert!(limiter.peek_at("a", 1, ms(0)).would_deny());
    first.cancel_at(ms(0));
    assert!(!limiter.peek_at("a", 1, ms(0)).would_deny());
    assert_eq!(limiter.stats().reservations, 0);
}

/// Threads that reserve, commit a part and cancel: what is charged at the end is what was committed.
#[test]
fn threads_settle_exactly() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 20_000;
    for specs in [&["1000000/day"][..], &["1000000/day fixed-window", "2000000 per 20h"]] {
        let limiter = limiter(specs);
        let committed: u64 = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let limiter = &limiter;
                    scope.spawn(move || {
                        let mut committed = 0;
                        let mut open = Vec::new();
                        for round in 0..ROUNDS {
                            let cost = 1 + (round + thread) % 5;
                            open.push(limiter.reserve_at("k", cost, START).expect("enough"));
                            if open.len() == 4 {
                                let settled = open.swap_remove((round % 4) as usize);
                                let actual = round % 7;
                                let cost = settled.cost();
                                let settlement = settled.commit_at(actual, START);
                                assert_eq!(settlement.given_back(), cost.saturating_sub(actual));
                                committed += actual;
                            }
                        }
                        for left in open {
                            left.cancel_at(START);
                        }
                        committed
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).sum()
        });
        assert_eq!(left(&limiter, START), 1_000_000 - committed, "{specs:?}");
        assert_eq!(limiter.stats().reservations, 0);
    }
}

//! `next_after` and `refused_by` against looks, in random worlds.
use brimful::{Limiter, ManualClock, Meter, Nanos, Policy, Retry};
use std::sync::Arc;
use std::time::Duration;

struct Random(u64);
impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}

fn spec(random: &mut Random, nth: usize) -> String {
    let n = 1 + random.next(9);
    let unit = ["1ns", "3ns", "7ns", "11ns", "1us", "1s", "1min", "365d"][random.next(8) as usize];
    let kind = ["", " sliding-window", " sliding-log", " fixed-window"][random.next(4) as usize];
    let burst = if kind.is_empty() && random.next(2) == 0 {
        format!(" burst {}", 1 + random.next(12))
    } else {
        String::new()
    };
    format!("n{nth}: {n} per {unit}{burst}{kind}")
}

#[test]
fn the_time_of_the_next_token_is_exact() {
    let mut checked = 0_u64;
    for seed in 1..=60_000_u64 {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let count = 1 + random.next(3) as usize;
        let specs: Vec<String> = (0..count).map(|nth| spec(random, nth)).collect();
        let Ok(policy) = Policy::parse(specs.iter().map(String::as_str)) else { continue };
        let mut meter = Meter::new(&policy);
        let mut now = Nanos::from_nanos(1 << 40);
        for _ in 0..12 {
            let step = match random.next(5) {
                0 => 0,
                1 => random.next(4),
                2 => random.next(20),
                3 => random.next(2_000_000_000),
                _ => random.next(200_000_000_000_000_000),
            };
            now = now + Duration::from_nanos(step);
            let cost = random.next(5);
            let decision = meter.try_acquire_at(cost, now);
            let left = meter.peek_at(0, now).remaining();
            if decision.is_allowed() {
                assert_eq!(decision.remaining(), left, "{seed} {specs:?}");
            }
            let refusing: Vec<usize> = (0..9).filter(|n| decision.refused_by(*n)).collect();
            assert_eq!(decision.is_denied(), !refusing.is_empty(), "{seed} {specs:?}");
            if decision.is_denied() {
                assert!(decision.limit().is_some_and(|l| refusing.contains(&l)));
            }
            let next = decision.next_after();
            assert_eq!(meter.peek_at(0, now).next_after(), next, "{seed} {specs:?} look");
            if cost == 1 && decision.is_denied() && decision.retry() != Retry::Never {
                assert_eq!(decision.retry_after(), Some(next), "{seed} {specs:?}");
            }
            checked += 1;
            if next.is_zero() {
                let far = now + Duration::from_secs(86_400 * 365 * 3);
                assert_eq!(meter.peek_at(0, far).remaining(), left, "{seed} {specs:?} never more");
                continue;
            }
            let just = next - Duration::from_nanos(1);
            assert!(meter.peek_at(0, now + next).remaining() > left, "{seed} {specs:?} {next:?}");
            assert!(
                meter.peek_at(0, now + just).remaining() <= left,
                "{seed} {specs:?} {next:?} early"
            );
        }
    }
    println!("{checked} decisions");
    assert!(checked > 400_000, "{checked}");
}

#[test]
fn the_time_of_the_next_token_by_a_clock_that_goes_back() {
    let mut looked = 0_u64;
    for seed in 1..=30_000_u64 {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let count = 1 + random.next(2) as usize;
        let specs: Vec<String> = (0..count).map(|nth| spec(random, nth)).collect();
        let Ok(policy) = Policy::parse(specs.iter().map(String::as_str)) else { continue };
        let clock = Arc::new(ManualClock::new(Nanos::from_nanos(1 << 60)));
        let limiter = Limiter::builder(policy).clock(clock.clone()).build().expect("a limiter");
        let mut now = 1_u64 << 60;
        for _ in 0..10 {
            now = match random.next(6) {
                0 => now,
                1 => now + random.next(20),
                2 => now + random.next(2_000_000_000),
                3 => now - random.next(20),
                4 => now - random.next(2_000_000_000),
                _ => now - random.next(20_000_000_000_000),
            };
            clock.set(Nanos::from_nanos(now));
            let decision = limiter.try_acquire_n("k", 1 + random.next(4));
            let next = decision.next_after();
            // As a client: with nothing spent meanwhile, one more is there then.
            if decision.is_denied() && decision.remaining() == 0 && !next.is_zero() {
                let look = Nanos::from_nanos(now) + next;
                clock.set(look);
                assert!(limiter.peek("k", 1).is_allowed(), "{seed} {specs:?} {decision:?}");
                looked += 1;
                clock.set(Nanos::from_nanos(now));
            }
        }
    }
    println!("{looked} looks");
    assert!(looked > 10_000, "{looked}");
}

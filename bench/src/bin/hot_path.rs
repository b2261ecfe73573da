//! Calls of the hot path and nothing else, for counting instructions: `hot_path CASE CALLS`.
//! `scripts/instructions` runs it under callgrind. The secret is fixed and the clock stands still, so
//! that two runs do the same.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use brimful::{Decision, Limit, Limiter, LimiterBuilder, ManualClock, Nanos, Overflow, Policy};

/// Live keys: a store of ordinary sets, and few enough for the caches of the simulated machine.
const LIVE: u64 = 2_000;

const NAMES: [&str; 12] = [
    "reference",
    "allow-text",
    "allow-u64",
    "replaced-text",
    "acquire-text",
    "denied-text",
    "first-text",
    "many-text",
    "two-limits-text",
    "evict-text",
    "reserve-text",
    "queued-text",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, calls] = arguments.as_slice() else { return usage() };
    let Ok(calls) = calls.parse::<u64>() else { return usage() };
    let keys: Vec<String> = (0..LIVE).map(|n| format!("user:{n:019}")).collect();
    let key = |n: u64| black_box(keys[(n % LIVE) as usize].as_str());
    let large = || Limit::per_second(1_000_000_000).unwrap();
    let admitted = match case.as_str() {
        "reference" => reference(&keys, calls),
        "allow-text" => {
            let limiter = filled(builder(large().into()), &keys);
            (0..calls).filter(|n| limiter.allow(key(*n))).count()
        }
        "allow-u64" => {
            let limiter = builder(large().into()).build().unwrap();
            let warm = (0..LIVE).filter(|n| limiter.allow(*n)).count();
            warm + (0..calls).filter(|n| limiter.allow(black_box(*n % LIVE))).count()
        }
        "replaced-text" => {
            // After the rules were replaced, and every key was asked for once.
            let limiter = filled(builder(large().into()), &keys);
            limiter.set_rules(Limit::per_second(999_999_999).unwrap()).unwrap();
            let warm = keys.iter().filter(|key| limiter.allow(key.as_str())).count();
            warm + (0..calls).filter(|n| limiter.allow(key(*n))).count()
        }
        "acquire-text" => {
            let limiter = filled(builder(large().into()), &keys);
            (0..calls).filter(|n| limiter.try_acquire(key(*n)).is_allowed()).count()
        }
        "denied-text" => {
            let limiter = filled(builder(Limit::per_day(1).unwrap().into()), &keys);
            (0..calls).filter(|n| limiter.try_acquire(key(*n)).is_denied()).count()
        }
        "two-limits-text" => {
            let two = Policy::new([large(), Limit::per_day(1_000_000_000).unwrap()]).unwrap();
            let limiter = filled(builder(two), &keys);
            (0..calls).filter(|n| limiter.allow(key(*n))).count()
        }
        "many-text" => {
            let limiter = filled(builder(large().into()), &keys);
            let mut out: Vec<Decision> = Vec::with_capacity(16);
            let batches = keys.chunks_exact(16).cycle().take((calls / 16) as usize);
            let allowed = batches.map(|batch| {
                limiter.try_acquire_many(black_box(batch), &mut out);
                out.iter().filter(|decision| decision.is_allowed()).count()
            });
            allowed.sum()
        }
        // Each call brings a key of its own: half of a store's room, and a hundred times too many.
        "first-text" => {
            let limiter = builder(large().into()).max_keys(200_000).build().unwrap();
            (0..calls).filter(|n| limiter.allow(black_box(format_key(*n).as_str()))).count()
        }
        "evict-text" => {
            let limiter = filled(builder(Limit::per_day(9).unwrap().into()), &keys);
            let flood = (0..6 * LIVE).filter(|n| limiter.allow(*n)).count();
            flood + (0..calls).filter(|n| limiter.allow(black_box(format_key(*n).as_str()))).count()
        }
        // Reserved, and settled for less: two calls.
        "reserve-text" => {
            let limiter = filled(builder(large().into()), &keys);
            let back = |n| limiter.reserve(key(n), 2).map_or(0, |two| two.commit(1).given_back());
            (0..calls).filter(|n| back(*n) == 1).count()
        }
        // Denied because another waits for the key.
        "queued-text" => {
            let limiter = filled(builder(Limit::per_day(1).unwrap().into()), &keys);
            let wait = |key: &String| limiter.enqueue(key, 1, None).expect("a place");
            let _turns: Vec<_> = keys.iter().map(wait).collect();
            (0..calls).filter(|n| limiter.try_acquire(key(*n)).is_denied()).count()
        }
        _ => return usage(),
    };
    println!("{admitted}");
    ExitCode::SUCCESS
}

fn builder(policy: Policy) -> LimiterBuilder {
    Limiter::builder(policy)
        .max_keys(LIVE)
        .overflow(Overflow::Evict)
        .max_wait(Duration::MAX)
        .secret([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908])
        .clock(ManualClock::new(Nanos::from_secs(1_800_000_000)))
}

fn filled(builder: LimiterBuilder, keys: &[String]) -> Limiter {
    let limiter = builder.build().unwrap();
    assert!(keys.iter().all(|key| limiter.allow(key)), "every key has a token");
    limiter
}

/// A key of 24 bytes without `format!`, whose own instructions would be counted.
fn format_key(mut n: u64) -> Text {
    let mut text = *b"user:0000000000000000000";
    for digit in text[5..].iter_mut().rev() {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
    Text(text)
}

struct Text([u8; 24]);

impl Text {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits")
    }
}

/// What every limiter has to do at least: a hash of the key, and a change in its place of a table.
fn reference(keys: &[String], calls: u64) -> usize {
    let mut table = vec![0_u64; keys.len()];
    let mut odd = 0;
    for n in 0..calls {
        let key = black_box(keys[(n % LIVE) as usize].as_bytes());
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let place = &mut table[(hash % LIVE) as usize];
        *place += 1;
        odd += usize::from(*place % 2 == 1);
    }
    odd
}

fn usage() -> ExitCode {
    eprintln!("usage: hot_path CASE CALLS; cases: {}", NAMES.join(", "));
    ExitCode::from(2)
}

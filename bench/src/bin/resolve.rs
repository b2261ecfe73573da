//! What it costs to ask the rules which policy a key gets, beside one check of governor's keyed
//! limiter, in one run: shuffled rounds, medians.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml --bin resolve
//! ```

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use brimful::{Limit, Limiter, Policy, Rules};
use governor::{Quota, RateLimiter};

const ROUNDS: usize = 9;
const KEYS: usize = 200_000;
const LIVE: u64 = 1_000_000;

type Contender = (&'static str, Box<dyn FnMut(&[String]) -> usize>);

fn main() {
    let mut contenders = contenders();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    for _ in 0..ROUNDS {
        let keys: Vec<String> =
            (0..KEYS).map(|_| key(draw(usize::try_from(LIVE).unwrap()) as u64)).collect();
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, draw(i + 1));
        }
        for i in order {
            let start = Instant::now();
            black_box(contenders[i].1(black_box(&keys)));
            times[i].push(start.elapsed().as_nanos() as f64 / KEYS as f64);
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    let governor = times[0][ROUNDS / 2];
    for ((name, _), times) in contenders.iter().zip(&times) {
        let median = times[ROUNDS / 2];
        println!(
            "figure {name} {median:.0} ns ({:.0} to {:.0}) ratio {:.2}",
            times[0],
            times[ROUNDS - 1],
            median / governor
        );
    }
}

/// A key of four segments, 24 bytes and more.
fn key(n: u64) -> String {
    format!(
        "tenant:{:05}:{}:{n}",
        n % 20_000,
        if n.is_multiple_of(2) { "search" } else { "upload" }
    )
}

fn policy(n: u64) -> Policy {
    Policy::from(Limit::per_second(1 + n % 1000).unwrap())
}

/// Rules with some patterns, and as many exact overrides, which the keys do not or do have.
fn rules(patterns: u64, overrides: u64, of_keys: bool) -> Rules {
    let mut builder = Rules::builder().default(policy(0));
    for n in 0..patterns {
        builder = match n % 3 {
            0 => builder.pattern(&format!("tenant:{:05}:**", n * 7 % 20_000), policy(n)),
            1 => builder.pattern(&format!("tenant:{:04}*:search:*", n * 7 % 20_000), policy(n)),
            _ => builder.pattern(&format!("tenant:*:s{n}:**"), policy(n)),
        };
    }
    for n in 0..overrides {
        let key = if of_keys { key(n) } else { format!("other:{n}") };
        builder = builder.exact(key, policy(n));
    }
    builder.build().unwrap()
}

fn contenders() -> Vec<Contender> {
    let governor = RateLimiter::keyed(Quota::per_second(NonZero::new(1_000_000_000).unwrap()));
    for n in 0..LIVE {
        let _ = governor.check_key(&key(n));
    }
    let mut all: Vec<Contender> = vec![(
        "governor-check",
        Box::new(move |keys| keys.iter().filter(|key| governor.check_key(key).is_ok()).count()),
    )];
    for (name, rules) in [
        ("resolve-100-patterns", rules(100, 0, false)),
        ("resolve-1000-patterns", rules(1_000, 0, false)),
        ("resolve-10000-patterns", rules(10_000, 0, false)),
        ("resolve-10000-patterns-1e6-overrides-missed", rules(10_000, LIVE, false)),
        ("resolve-10000-patterns-1e6-overrides-met", rules(10_000, LIVE, true)),
    ] {
        all.push((name, Box::new(move |keys| ask(&rules, keys))));
    }
    let mut limiters = Vec::new();
    for _ in 0..ROUNDS {
        let builder = Limiter::builder(rules(10_000, 0, false)).max_keys(LIVE);
        limiters.push(builder.build().unwrap());
    }
    all.push((
        "first-call-10000-patterns",
        Box::new(move |keys| {
            let limiter = limiters.pop().unwrap();
            keys.iter().filter(|key| limiter.allow(key)).count()
        }),
    ));
    all
}

fn ask(rules: &Rules, keys: &[String]) -> usize {
    keys.iter().map(|key| black_box(rules.policy_for(key, None)).limits().len()).sum()
}

//! brimful: whether a key is allowed, the whole decision, and sixteen decisions a call.

use std::hint::black_box;
use std::time::Instant;

use brimful::{AsKey, Limit, Limiter};

use super::{Check, Contender, Entrant, Made, Setting};

pub const ENTRANTS: [Entrant; 2] = [
    Entrant {
        name: "brimful",
        text: |setting| Box::new(Allow(limiter(setting))),
        number: Some(|setting| Box::new(Allow(limiter(setting)))),
        decides: true,
        note: "`Limiter::allow`",
    },
    Entrant {
        name: "brimful-decision",
        text: |setting| Box::new(Whole(limiter(setting))),
        number: Some(|setting| Box::new(Whole(limiter(setting)))),
        decides: true,
        note: "`Limiter::try_acquire`, the whole `Decision`",
    },
];

/// Keys in one call of [`batch`].
const BATCH: usize = 16;

pub fn limiter(setting: &Setting) -> Limiter {
    let limit = Limit::new(setting.tokens.into(), setting.period)
        .and_then(|limit| limit.burst(setting.burst.into()))
        .expect("a limit within range");
    Limiter::builder(limit).max_keys(setting.keys).build().expect("enough memory")
}

/// Sixteen keys a call.
pub fn batch(setting: &Setting) -> Made<String> {
    Box::new(Batch(limiter(setting)))
}

/// Whether a key is allowed.
pub struct Allow(pub Limiter);

impl<K: AsKey> Check<K> for Allow {
    fn check(&self, key: &K) -> bool {
        self.0.allow(key)
    }
}

struct Whole(Limiter);

impl<K: AsKey> Check<K> for Whole {
    fn check(&self, key: &K) -> bool {
        black_box(self.0.try_acquire(key)).is_allowed()
    }
}

struct Batch(Limiter);

impl Contender<String> for Batch {
    fn run(&self, keys: &[String]) -> usize {
        let mut decisions = Vec::with_capacity(BATCH);
        let mut admitted = 0;
        for keys in keys.chunks(BATCH) {
            self.0.try_acquire_many(black_box(keys), &mut decisions);
            admitted += black_box(&decisions).iter().filter(|one| one.is_allowed()).count();
        }
        admitted
    }

    /// A time is that of a call, which is sixteen keys.
    fn time_each(&self, keys: &[String], times: &mut Vec<u64>) {
        let mut decisions = Vec::with_capacity(BATCH);
        for keys in keys.chunks(BATCH) {
            let start = Instant::now();
            self.0.try_acquire_many(black_box(keys), &mut decisions);
            black_box(&decisions);
            times.push(start.elapsed().as_nanos() as u64);
        }
    }
}

//! tokio-rate-limit, throttlecrab and pingora-limits.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pingora_limits::rate::Rate;
use throttlecrab::PeriodicStore;
use tokio_rate_limit::algorithm::TokenBucket;

use super::{Check, Entrant, Setting};

pub const ENTRANTS: [Entrant; 3] = [
    Entrant {
        name: "tokio-rate-limit",
        text: |setting| Box::new(tokio_rate_limit(setting)),
        number: None,
        decides: true,
        note: "`RateLimiter::check` with its token bucket; a limit of less than one a second is \
               one that never refills; no u64 keys",
    },
    Entrant {
        name: "throttlecrab",
        text: |setting| Box::new(Throttlecrab::new(setting)),
        number: None,
        decides: true,
        note: "the library: its default store, the number of keys given, in a `Mutex` as its \
               documentation says; no u64 keys",
    },
    Entrant {
        name: "pingora-limits",
        text: |setting| Box::new(Pingora::new(setting)),
        number: Some(|setting| Box::new(Pingora::new(setting))),
        decides: true,
        note: "`Rate::observe` in 4 x 1024 counters: an estimate that counts too many, for a \
               fixed number of keys' bytes; no state of a key",
    },
];

struct Tokio(tokio_rate_limit::RateLimiter);

fn tokio_rate_limit(setting: &Setting) -> Tokio {
    let (tokens, burst) = (setting.tokens.into(), setting.burst.into());
    let per_second = if setting.period > Duration::from_secs(1) { 0 } else { tokens };
    Tokio(tokio_rate_limit::RateLimiter::from_algorithm(TokenBucket::new(burst, per_second)))
}

impl Check<String> for Tokio {
    fn check(&self, key: &String) -> bool {
        self.0.check(key).permitted
    }
}

struct Throttlecrab {
    limiter: Mutex<throttlecrab::RateLimiter<PeriodicStore>>,
    setting: Setting,
}

impl Throttlecrab {
    fn new(setting: &Setting) -> Self {
        let store = PeriodicStore::builder().capacity(setting.keys as usize).build();
        Self { limiter: Mutex::new(throttlecrab::RateLimiter::new(store)), setting: *setting }
    }
}

impl Check<String> for Throttlecrab {
    fn check(&self, key: &String) -> bool {
        let Setting { tokens, period, burst, .. } = self.setting;
        let (tokens, burst, period) = (tokens.into(), burst.into(), period.as_secs() as i64);
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        limiter
            .rate_limit(key, burst, tokens, period, 1, SystemTime::now())
            .is_ok_and(|(allowed, _)| allowed)
    }
}

struct Pingora {
    rate: Rate,
    most: isize,
}

impl Pingora {
    fn new(setting: &Setting) -> Self {
        Self { rate: Rate::new(setting.period), most: setting.tokens as isize }
    }
}

impl<K: Hash> Check<K> for Pingora {
    fn check(&self, key: &K) -> bool {
        self.rate.observe(key, 1) <= self.most
    }
}

//! Peers around a map of their own or dashmap: rate-net, throttle-kit, flux-limiter.

use std::hash::Hash;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use flux_limiter::{FluxLimiter, FluxLimiterConfig, SystemClock};
use rate_net::{DEFAULT_MAX_KEYS, Eviction, Key};
use throttle_kit::InMemoryBackend;

use super::{Check, Entrant, Setting};

pub const ENTRANTS: [Entrant; 3] = [
    Entrant {
        name: "rate-net",
        text: |setting| Box::new(RateNet(rate_net(setting))),
        number: Some(|setting| Box::new(RateNet(rate_net(setting)))),
        decides: true,
        note: "the builder's defaults; its room for 2^20 keys is raised where more are live",
    },
    Entrant {
        name: "throttle-kit",
        text: |setting| Box::new(throttle_kit(setting)),
        number: None,
        decides: true,
        note: "`RateLimiter::check` with the in-memory backend, its future polled once (it never \
               waits; `check_sync` makes a runtime for each call); at most 1000 tokens a second, \
               so that larger limits are a larger burst; no u64 keys",
    },
    Entrant {
        name: "flux_limiter",
        text: |setting| Box::new(Flux(flux_limiter(setting))),
        number: Some(|setting| Box::new(Flux(flux_limiter(setting)))),
        decides: true,
        note: "`check_request` takes the key by value, which is a clone; a burst of one less, \
               because it admits its burst and one more",
    },
];

struct RateNet(rate_net::RateLimiter);

fn rate_net(setting: &Setting) -> rate_net::RateLimiter {
    // Room is divided over shards, which are not filled evenly.
    let room = (setting.keys as usize / 20 * 21).max(DEFAULT_MAX_KEYS);
    rate_net::RateLimiter::builder()
        .quota(setting.tokens, setting.period)
        .burst(setting.burst)
        .eviction(Eviction::capacity(room))
        .try_build()
        .expect("a quota within range")
}

impl Check<String> for RateNet {
    fn check(&self, key: &String) -> bool {
        self.0.check_bytes(key).is_allow()
    }
}

impl Check<u64> for RateNet {
    fn check(&self, key: &u64) -> bool {
        self.0.check(Key::from(*key)).is_allow()
    }
}

struct ThrottleKit(throttle_kit::RateLimiter<InMemoryBackend>);

fn throttle_kit(setting: &Setting) -> ThrottleKit {
    let quota = throttle_kit::Quota::from_parts(setting.interval(), setting.burst);
    ThrottleKit(throttle_kit::RateLimiter::new(quota, InMemoryBackend::new()))
}

impl Check<String> for ThrottleKit {
    fn check(&self, key: &String) -> bool {
        let check = pin!(self.0.check(key));
        match check.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.allowed,
            Poll::Pending => unreachable!("the in-memory backend waits for nothing"),
        }
    }
}

struct Flux<K: Hash + Eq + Clone>(FluxLimiter<K, SystemClock>);

fn flux_limiter<K: Hash + Eq + Clone>(setting: &Setting) -> FluxLimiter<K, SystemClock> {
    let rate = 1.0 / setting.interval().as_secs_f64();
    let config = FluxLimiterConfig::new(rate, f64::from(setting.burst) - 1.0);
    FluxLimiter::with_config(config, SystemClock).expect("a valid rate")
}

impl<K: Hash + Eq + Clone + Send + Sync> Check<K> for Flux<K> {
    fn check(&self, key: &K) -> bool {
        self.0.check_request(key.clone()).is_ok_and(|decision| decision.allowed)
    }
}

//! governor with its default store, with its other store, and with a faster hasher.

use std::hash::{BuildHasher, Hash};
use std::num::NonZero;

use governor::clock::DefaultClock;
use governor::state::keyed::{DashMapStateStore, HashMapStateStore};
use governor::{Quota, RateLimiter};

use super::{Check, Entrant, Setting};

pub const ENTRANTS: [Entrant; 3] = [
    Entrant {
        name: "governor",
        text: |setting| Box::new(Dashed(RateLimiter::keyed(quota(setting)))),
        number: Some(|setting| Box::new(Dashed(RateLimiter::keyed(quota(setting))))),
        decides: true,
        note: "`RateLimiter::keyed`: dashmap with the hasher of std",
    },
    Entrant {
        name: "governor-hashmap",
        text: |setting| Box::new(Mapped(RateLimiter::hashmap(quota(setting)))),
        number: Some(|setting| Box::new(Mapped(RateLimiter::hashmap(quota(setting))))),
        decides: true,
        note: "`RateLimiter::hashmap`: one lock around one map",
    },
    Entrant {
        name: "governor-foldhash",
        text: |setting| Box::new(Dashed(folded(setting))),
        number: Some(|setting| Box::new(Dashed(folded(setting)))),
        decides: true,
        note: "`RateLimiter::dashmap_with_hasher` with `foldhash::fast::RandomState`",
    },
];

fn quota(setting: &Setting) -> Quota {
    let burst = NonZero::new(setting.burst).expect("a burst of at least 1");
    Quota::with_period(setting.interval())
        .expect("at most one token a nanosecond")
        .allow_burst(burst)
}

fn folded<K: Hash + Eq + Clone>(
    setting: &Setting,
) -> RateLimiter<K, DashMapStateStore<K, foldhash::fast::RandomState>, DefaultClock> {
    RateLimiter::dashmap_with_hasher(quota(setting), foldhash::fast::RandomState::default())
}

struct Dashed<K: Hash + Eq + Clone, S: BuildHasher + Clone>(
    RateLimiter<K, DashMapStateStore<K, S>, DefaultClock>,
);

impl<K, S> Check<K> for Dashed<K, S>
where
    K: Hash + Eq + Clone + Send + Sync,
    S: BuildHasher + Clone + Send + Sync,
{
    fn check(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }
}

struct Mapped<K: Hash + Eq + Clone>(RateLimiter<K, HashMapStateStore<K>, DefaultClock>);

impl<K: Hash + Eq + Clone + Send + Sync> Check<K> for Mapped<K> {
    fn check(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }
}

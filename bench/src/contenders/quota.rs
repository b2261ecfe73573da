//! quota, with its cache of slots or without, as it was built.

use std::hash::Hash;
use std::time::Duration;

use quota::{QuotaPolicy, QuotaPool, RefillRate};

use super::{Check, Entrant, Setting};

pub const ENTRANTS: [Entrant; 1] = [Entrant {
    name: if cfg!(feature = "quota-slot-cache") { "quota" } else { "quota-no-slot-cache" },
    text: |setting| Box::new(Pool::<String>(pool(setting))),
    number: Some(|setting| Box::new(Pool::<u64>(pool(setting)))),
    decides: true,
    note: "`QuotaPool::with_capacity`, the number of keys given; `check`",
}];

fn pool<K: Hash + Eq + Clone>(setting: &Setting) -> QuotaPool<K> {
    let rate = if setting.period == Duration::from_secs(1) {
        RefillRate::per_sec(setting.tokens)
    } else {
        RefillRate::per_hour(setting.tokens)
    };
    let policy = QuotaPolicy::new().set_capacity(setting.burst.into()).set_refill_rate(rate);
    QuotaPool::with_capacity(policy, setting.burst.into(), setting.keys as usize)
}

struct Pool<K: Hash + Eq>(QuotaPool<K>);

impl<K: Hash + Eq + Clone + Send + Sync> Check<K> for Pool<K> {
    fn check(&self, key: &K) -> bool {
        self.0.check(key, 1)
    }
}

//! The conformance suite on the smallest limiter there is: a `Meter` for each key.

use std::cell::RefCell;
use std::collections::HashMap;

use brimful::{Meter, Nanos, Policy};
use brimful_testkit::{Outcome, conformance};

/// Keeps every key for ever.
struct Meters {
    policy: Policy,
    keys: RefCell<HashMap<String, Meter>>,
}

impl Meters {
    fn new(policy: &Policy) -> Self {
        Self { policy: policy.clone(), keys: RefCell::new(HashMap::new()) }
    }

    fn with<T>(&self, key: &str, act: impl FnOnce(&mut Meter) -> T) -> T {
        let mut keys = self.keys.borrow_mut();
        act(keys.entry(key.into()).or_insert_with(|| Meter::new(&self.policy)))
    }
}

impl conformance::Subject for Meters {
    fn acquire_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.with(key, |meter| meter.try_acquire_at(cost, now).into())
    }

    fn peek_at(&self, key: &str, cost: u64, now: Nanos) -> Outcome {
        self.with(key, |meter| meter.peek_at(cost, now).into())
    }

    fn refund_at(&self, key: &str, tokens: u64, now: Nanos) -> u64 {
        self.with(key, |meter| meter.refund_at(tokens, now))
    }

    fn reset(&self, key: &str) {
        self.with(key, Meter::reset);
    }
}

#[test]
fn a_meter_for_each_key() {
    conformance::run(Meters::new);
}

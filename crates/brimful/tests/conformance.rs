//! The conformance suite on the smallest limiter there is, a `Meter` for each key, and on the
//! `Limiter`; and the `Limiter` against the exact model over many keys and policies.

use std::cell::RefCell;
use std::collections::HashMap;

use brimful::{Algorithm, Limiter, Meter, Nanos, Overflow, Policy, Rules};
use brimful_testkit::model::KeyedModel;
use brimful_testkit::trace::{self, Cursor, Keys, SplitMix64, Trace, Verb};
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

#[test]
fn a_limiter() {
    for overflow in Overflow::ALL {
        conformance::run(|policy| {
            Limiter::builder(policy.clone()).max_keys(1_000).overflow(overflow).build().unwrap()
        });
    }
}

#[test]
fn a_limiter_of_one_set() {
    conformance::run(|policy| Limiter::builder(policy.clone()).max_keys(51).build().unwrap());
}

/// Many keys under different policies in one store, in time that goes forwards and back: every
/// field of every decision is the model's.
#[test]
fn a_limiter_decides_as_the_keyed_model() {
    const KEYS: u32 = 40;
    let mut rng = SplitMix64::new(0x006b_6579_6564);
    let mut decisions = 0;
    for round in 0..120_usize {
        let single = |rng: &mut SplitMix64, turn: usize| {
            Policy::from(trace::limit(rng, Algorithm::ALL[turn % Algorithm::ALL.len()]))
        };
        let default = single(&mut rng, round);
        let overrides: HashMap<String, Policy> = (0..KEYS / 2)
            .map(|key| {
                let limits = 1 + rng.below(8);
                let policy = match limits {
                    1 => single(&mut rng, key as usize),
                    _ => trace::policy(&mut rng, usize::try_from(limits).unwrap()),
                };
                (key.to_string(), policy)
            })
            .collect();
        let rules = Rules::builder().default(default.clone());
        let rules =
            overrides.iter().fold(rules, |rules, (key, policy)| rules.exact(key, policy.clone()));
        let builder = Limiter::builder(rules.build().unwrap()).max_keys(2_000);
        // Eight entries for each operation of this round.
        let limiter = builder.max_log_entries(12_000).build().unwrap();
        let mut model = overrides
            .iter()
            .fold(KeyedModel::new(&default), |model, (key, policy)| model.with(key, policy));
        let mut cursors = vec![Cursor::new(Nanos::from_secs(1_000_000_000)); KEYS as usize];
        for (key, op) in Trace::new(rng.next_u64(), Keys::Uniform(KEYS), &default).take(1_500) {
            let cursor = &mut cursors[key as usize];
            let key = key.to_string();
            let (verb, amount, now) = cursor.next(op);
            match verb {
                Verb::Acquire => {
                    let outcome = Outcome::from(limiter.try_acquire_at(&key, amount, now));
                    assert_eq!(
                        outcome,
                        model.acquire(&key, amount, now),
                        "{key}, {amount}, {now:?}"
                    );
                    cursor.saw(amount, &outcome);
                }
                Verb::Peek => {
                    let outcome = Outcome::from(limiter.peek_at(&key, amount, now));
                    assert_eq!(outcome, model.peek(&key, amount, now), "{key}, {amount}, {now:?}");
                }
                Verb::Refund => {
                    let given = limiter.refund_at(&key, amount, now);
                    assert_eq!(given, model.refund(&key, amount, now), "{key}, {amount}, {now:?}");
                }
                Verb::Reset => {
                    limiter.reset(&key);
                    model.reset(&key);
                }
            }
            decisions += 1;
        }
        assert_eq!(limiter.stats().evicted_forced, 0);
    }
    println!("a_limiter_decides_as_the_keyed_model: {decisions} operations");
}

//! A million decisions folded into one number that must never change: not between debug and
//! release, not between machines, not by a change that is meant to be faster only.
//!
//! When decisions are changed on purpose, the failing test prints the new number.

use brimful::{Algorithm, Meter, Nanos, Policy};
use brimful_testkit::Outcome;
use brimful_testkit::trace::{self, Cursor, Keys, SplitMix64, Trace, Verb, mix};

const DECISIONS: u64 = 1_000_000;
const GOLDEN: u64 = 4_535_978_598_765_120_214;

/// Operations on one policy, spread over its keys, before the next policy is drawn.
const PER_POLICY: usize = 4_000;
const KEYS: u32 = 16;

#[test]
fn a_million_decisions() {
    let mut rng = SplitMix64::new(0x6272_696d_6675_6c21);
    let mut fold = Fold { hash: 0, decisions: 0 };
    for round in 0_usize.. {
        if fold.decisions == DECISIONS {
            break;
        }
        // The four algorithms in turn, then three limits at once.
        let policy = match Algorithm::ALL.get(round % 5) {
            Some(algorithm) => Policy::from(trace::limit(&mut rng, *algorithm)),
            None => trace::policy(&mut rng, 3),
        };
        fold.run(&policy, rng.next_u64());
    }
    assert_eq!(fold.hash, GOLDEN, "the decisions are not what they were");
}

struct Fold {
    hash: u64,
    decisions: u64,
}

impl Fold {
    fn run(&mut self, policy: &Policy, seed: u64) {
        let start = Nanos::from_secs(1_000_000_000);
        let fresh = (Meter::new(policy), Cursor::new(start));
        let mut keys = vec![fresh; KEYS as usize];
        for (key, op) in Trace::new(seed, Keys::Zipf(KEYS), policy).take(PER_POLICY) {
            if self.decisions == DECISIONS {
                return;
            }
            let (meter, cursor) = &mut keys[key as usize];
            let (verb, amount, now) = cursor.next(op);
            match verb {
                Verb::Acquire => {
                    let outcome = Outcome::from(meter.try_acquire_at(amount, now));
                    cursor.saw(amount, &outcome);
                    self.decision(&outcome);
                }
                Verb::Peek => self.decision(&meter.peek_at(amount, now).into()),
                Verb::Refund => self.number(meter.refund_at(amount, now).into()),
                Verb::Reset => meter.reset(),
            }
        }
    }

    fn decision(&mut self, outcome: &Outcome) {
        self.decisions += 1;
        self.number(outcome.allowed.into());
        self.number(outcome.remaining.into());
        self.number(outcome.retry.map_or(u128::MAX, |ns| ns));
        self.number(outcome.never.into());
        self.number(outcome.reset_after);
        self.number(outcome.limit.map_or(u128::MAX, |place| place as u128));
    }

    fn number(&mut self, number: u128) {
        let (high, low) = ((number >> 64) as u64, number as u64);
        self.hash = mix(mix(self.hash ^ low).wrapping_add(high));
    }
}

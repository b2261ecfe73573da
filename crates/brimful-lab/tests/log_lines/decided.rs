//! What a replay decided, event by event.

use brimful::{Nanos, Policy, Stats};
use brimful_lab::{Decided, Op, jsonl};
use brimful_testkit::{KeyedModel, Outcome};

/// One event as it was decided.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) at: Nanos,
    pub(super) key: String,
    pub(super) cost: u64,
    pub(super) op: Op,
    pub(super) outcome: Outcome,
    pub(super) refunded: Option<u64>,
}

impl Row {
    /// Takes note of an event. What is written of it is one line, which reads as the event itself.
    pub(super) fn of(decided: &Decided<'_>) -> Self {
        let mut written = Vec::new();
        decided.write_json(&mut written).expect("memory can be written");
        let line = written.strip_suffix(b"\n").expect("an end");
        assert!(line.iter().all(|byte| *byte >= b' '), "{decided:?}");
        let event = jsonl::parse(line).expect("an event");
        let read = (event.at, &*event.key, event.cost, event.op);
        assert_eq!(read, (decided.at, decided.key, decided.cost, decided.op));
        assert_eq!(decided.refunded.is_some(), decided.op == Op::Refund);
        Self {
            line: decided.line,
            at: decided.at,
            key: decided.key.to_owned(),
            cost: decided.cost,
            op: decided.op,
            outcome: Outcome::from(&decided.decision),
            refunded: decided.refunded,
        }
    }
}

/// As long as no key lost its place, the decisions are the model's.
pub(super) fn as_the_model(policy: &Policy, rows: &[Row], stats: &Stats) {
    let moved = stats.evicted_lossless + stats.evicted_forced + stats.store_full + stats.shared;
    // A peek finds a full store too, and does not count.
    if moved > 0 || stats.occupied == stats.slots {
        return;
    }
    let mut model = KeyedModel::new(policy);
    for row in rows {
        let Row { at, key, cost, .. } = row;
        let outcome = match row.op {
            Op::Acquire => model.acquire(key, *cost, *at),
            Op::Peek => model.peek(key, *cost, *at),
            Op::Refund => {
                assert_eq!(row.refunded, Some(model.refund(key, *cost, *at)), "{row:?}");
                model.peek(key, 0, *at)
            }
        };
        assert_eq!(row.outcome, outcome, "{row:?}");
    }
}

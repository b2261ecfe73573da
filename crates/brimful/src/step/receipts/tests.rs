//! The oracle is history: every charge with its time, from which the levels are worked out anew with
//! what each receipt was settled for in its place.

mod oracle;
mod walk;

use oracle::Oracle;

use super::Receipts;
use crate::algorithm::arena::Arena;
use crate::policy::Policy;
use crate::step::{Plan, Ruling, State, Write};
use crate::time::Nanos;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// A time at which windows of a second begin.
const START: u64 = 1_000_000 * SECOND;

/// A state with its receipts, and what both should be.
#[derive(Clone)]
struct Pair {
    plan: Plan,
    state: State,
    arena: Arena,
    receipts: Receipts,
    oracle: Oracle,
    next_id: u64,
}

impl Pair {
    fn new(specs: &[&str]) -> Self {
        Self::of(Plan::alone(&Policy::parse(specs.iter().copied()).unwrap()))
    }

    fn of(plan: Plan) -> Self {
        Self {
            state: State::new(Nanos::from_nanos(START)),
            arena: Arena::new(64).unwrap(),
            receipts: Receipts::default(),
            oracle: Oracle::new(&plan, START),
            next_id: 5,
            plan,
        }
    }

    fn rule(&self, cost: u64, now: u64) -> Ruling {
        self.plan.rule(&self.state, cost, Nanos::from_nanos(now), &self.arena)
    }

    /// Whether it was admitted. A denial by a stepped clock is carried out too.
    fn charge(&mut self, cost: u64, now: u64, id: Option<u64>) -> bool {
        let ruling = self.rule(cost, now);
        let tried = self.plan.charged(&ruling);
        let (state, arena) = (&mut self.state, &mut self.arena);
        self.plan.apply_with(state, &ruling, arena, &mut self.receipts, id);
        match ruling.write {
            Write::Charge(cost) => {
                self.oracle.advance(now);
                self.oracle.charge(cost, tried, id);
                self.check();
                true
            }
            Write::Anchor => {
                self.oracle.advance(now);
                self.check();
                false
            }
            Write::Nothing => false,
        }
    }

    fn acquire(&mut self, cost: u64, now: u64) -> bool {
        self.charge(cost, now, None)
    }

    /// The id of the receipt.
    fn reserve(&mut self, cost: u64, now: u64) -> Option<u64> {
        let id = self.next_id;
        self.next_id += 3;
        self.charge(cost, now, Some(id)).then_some(id)
    }

    fn settle(&mut self, id: u64, actual: u64, now: u64) -> u64 {
        let (at, before) = (Nanos::from_nanos(now), self.state);
        let (state, arena) = (&mut self.state, &mut self.arena);
        let given = self.plan.settle_receipt(state, id, actual, at, arena, &mut self.receipts);
        if self.state == before && at > before.last {
            // There was nothing to pay, or nothing to give: the state stays as it is.
            assert_eq!(given, 0);
            self.oracle.keep(id);
        } else {
            if self.state != before {
                self.oracle.advance(now);
            }
            let expected = self.oracle.settle(id, actual, self.plan.enforced);
            assert!(given == expected || !self.oracle.is_exact(), "{given}, not {expected}");
        }
        self.check();
        given
    }

    fn keep(&mut self, id: u64) {
        self.receipts.keep(id);
        self.oracle.keep(id);
        self.check();
    }

    fn refund(&mut self, tokens: u64, now: u64) -> u64 {
        let before = self.state;
        let settled = self.plan.settle(&before, Nanos::from_nanos(now), &self.arena).levels;
        let (state, arena) = (&mut self.state, &mut self.arena);
        let at = Nanos::from_nanos(now);
        let given = self.plan.refund_with(state, tokens, at, arena, &mut self.receipts);
        if self.state != before {
            self.oracle.advance(now);
            self.oracle.refund(tokens, &settled, &self.state.levels);
        }
        self.check();
        given
    }

    fn carry(&mut self, plan: Plan, now: u64) {
        let (arena, receipts) = (&mut self.arena, &mut self.receipts);
        let same = plan.has_limits_of(&self.plan);
        let at = Nanos::from_nanos(now);
        let state = plan.carry_with(&self.plan, &self.state, at, arena, receipts);
        if !same {
            self.oracle.advance(now);
            self.oracle.carry(&plan, &plan.matches(&self.plan), &state.levels);
        }
        (self.plan, self.state) = (plan, state);
        self.check();
    }

    /// What the store does to states without telling their ledgers.
    fn anchor(&mut self, now: u64) {
        let stepped = self.plan.is_stepped(self.state.last, Nanos::from_nanos(now));
        self.plan.anchor(&mut self.state, Nanos::from_nanos(now), &mut self.arena);
        if stepped {
            self.oracle.advance(now);
        }
        self.check();
    }

    fn trim(&mut self, now: u64) {
        self.plan.trim(&mut self.state, Nanos::from_nanos(now), &mut self.arena);
        self.oracle.trim(now);
        self.check();
    }

    /// Ids of receipts that the oracle has open.
    fn open(&self) -> Vec<u64> {
        self.oracle.open()
    }

    fn remaining(&self, now: u64) -> u64 {
        let now = Nanos::from_nanos(now);
        self.plan.decide(&self.state, 0, now, &self.arena).decision.remaining
    }

    /// The levels are those of history, and nothing is lost of the arena or kept for nothing.
    fn check(&self) {
        self.oracle.check(&self.plan, &self.state, &self.arena, &self.receipts);
        let held = self.plan.runs_held(&self.state, usize::MAX, &self.arena);
        assert_eq!(self.arena.used(), held);
        let open = self.open();
        assert!(self.receipts.len() <= open.len());
        assert!(self.receipts.ids().all(|id| open.contains(&id)));
        let width = if self.receipts.is_empty() { 0 } else { self.plan.width() };
        assert_eq!(self.receipts.sizes(), [self.receipts.len() * width, width]);
    }
}

#[test]
fn a_bucket_that_refilled_meanwhile_has_nothing_to_give_back() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(5, START).unwrap();
    assert!(pair.acquire(3, START + SECOND));
    assert_eq!(pair.settle(id, 0, START + SECOND), 0);
    assert_eq!(pair.remaining(START + SECOND), 7);
}

#[test]
fn what_others_drained_in_between_comes_back_whole() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(5, START).unwrap();
    assert!(pair.acquire(5, START));
    let half = START + SECOND / 2;
    assert!(pair.acquire(5, half));
    assert_eq!(pair.remaining(half), 0);
    assert_eq!(pair.settle(id, 0, half), 5);
    assert_eq!(pair.remaining(half), 5);
}

#[test]
fn a_bucket_that_would_have_been_full_gives_back_a_part() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(6, START).unwrap();
    // Four have come back of themselves; without the six the two would be all that is owed.
    let later = START + 400 * MS;
    assert!(pair.acquire(2, later));
    assert_eq!(pair.settle(id, 0, later), 2);
    assert_eq!(pair.remaining(later), 8);
}

#[test]
fn a_part_of_a_token_that_is_paid_counts_whole() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(5, START).unwrap();
    assert_eq!(pair.settle(id, 1, START + 450 * MS), 1);
    assert_eq!(pair.remaining(START + 450 * MS), 10);
    assert!(pair.receipts.is_empty());
}

#[test]
fn a_window_gives_back_as_long_as_it_is_counted() {
    for (spec, later, given) in [
        ("10/s fixed-window", 999, 3),
        ("10/s fixed-window", 1_000, 0),
        ("10/s sliding-window", 999, 3),
        ("10/s sliding-window", 1_999, 3),
        ("10/s sliding-window", 2_000, 0),
        ("10/s sliding-log", 999, 3),
        ("10/s sliding-log", 1_000, 0),
    ] {
        let mut pair = Pair::new(&[spec]);
        let id = pair.reserve(5, START).unwrap();
        assert!(pair.acquire(1, START + (later - 1) * MS), "{spec}");
        assert_eq!(pair.settle(id, 2, START + later * MS), given, "{spec} after {later} ms");
    }
}

#[test]
fn the_previous_window_gives_back_to_what_it_weighs() {
    let mut pair = Pair::new(&["10/s sliding-window"]);
    let id = pair.reserve(8, START).unwrap();
    let later = START + 1_500 * MS;
    assert!(pair.acquire(2, later));
    assert_eq!(pair.remaining(later), 4);
    assert_eq!(pair.settle(id, 2, later), 6);
    assert_eq!(pair.remaining(later), 7);
}

#[test]
fn an_emptied_run_leaves_its_neighbours_together() {
    for place in 0..3 {
        let mut pair = Pair::new(&["10/s sliding-log"]);
        let ids = [0, 1, 2].map(|n| pair.reserve(2, START + n).unwrap());
        assert_eq!(pair.arena.used(), 3);
        assert_eq!(pair.settle(ids[place], 0, START + 5), 2);
        assert_eq!(pair.arena.used(), 2);
        assert!(pair.acquire(1, START + 6));
        for id in ids {
            pair.settle(id, 0, START + 7);
        }
        assert_eq!((pair.arena.used(), pair.remaining(START + 7)), (1, 9));
    }
}

#[test]
fn nothing_comes_back_twice_or_for_unknown_receipts() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(5, START).unwrap();
    let other = pair.reserve(2, START).unwrap();
    assert_eq!(pair.settle(id + 1, 0, START), 0);
    assert_eq!(pair.settle(id, 3, START), 2);
    assert_eq!(pair.settle(id, 0, START), 0);
    assert_eq!(pair.settle(other, 2, START), 0);
    assert_eq!(pair.settle(other, 0, START), 0);
    assert_eq!(pair.remaining(START), 5);
}

#[test]
fn forgotten_receipts_give_nothing_back_and_hold_no_memory() {
    let mut pair = Pair::new(&["10/s"]);
    let id = pair.reserve(5, START).unwrap();
    assert!(pair.receipts.bytes() > 0);
    pair.receipts.clear();
    pair.oracle.keep(id);
    assert_eq!((pair.settle(id, 0, START), pair.receipts.bytes()), (0, 0));
    // Nor do those that were settled.
    let ids = [1, 2].map(|cost| pair.reserve(cost, START).unwrap());
    pair.keep(ids[1]);
    pair.settle(ids[0], 0, START);
    assert_eq!((pair.receipts.len(), pair.receipts.bytes()), (0, 0));
}

#[test]
fn receipts_that_are_worth_nothing_are_dropped() {
    for spec in ["10/s", "10/s fixed-window", "10/s sliding-log", "10/s sliding-window"] {
        let mut pair = Pair::new(&[spec]);
        let ids = [1, 2, 3].map(|cost| pair.reserve(cost, START).unwrap());
        assert_eq!(pair.receipts.len(), 3);
        assert!(pair.acquire(1, START + 2 * SECOND));
        assert_eq!(pair.receipts.len(), 0, "{spec}");
        assert_eq!(ids.map(|id| pair.settle(id, 0, START + 2 * SECOND)), [0; 3]);
    }
}

#[test]
fn receipts_go_at_once_when_nothing_is_owed() {
    for spec in ["10/s", "10/s fixed-window", "10/s sliding-log", "10/s sliding-window"] {
        let mut pair = Pair::new(&[spec]);
        for cost in [1, 2] {
            pair.reserve(cost, START).unwrap();
        }
        assert_eq!(pair.refund(3, START), 3);
        assert_eq!(pair.receipts.bytes(), 0, "{spec}");
    }
    // What the last one pays may be all that is owed.
    let mut pair = Pair::new(&["10/s"]);
    let old = pair.reserve(1, START).unwrap();
    let new = pair.reserve(4, START).unwrap();
    assert_eq!(pair.settle(new, 0, START + 400 * MS), 1);
    assert_eq!(pair.receipts.bytes(), 0);
    assert_eq!(pair.settle(old, 0, START + 400 * MS), 0);
}

#[test]
fn a_state_is_not_touched_when_nothing_comes_back() {
    let mut pair = Pair::new(&["10/s"]);
    let spent = pair.reserve(3, START).unwrap();
    let [first, last] = [1, 2].map(|cost| pair.reserve(cost, START).unwrap());
    let before = pair.state;
    assert_eq!(pair.settle(spent, 3, START + MS), 0);
    assert_eq!(pair.settle(first, u64::MAX, START + MS), 0);
    // By then the bucket is full.
    assert_eq!(pair.settle(last, 0, START + SECOND), 0);
    assert_eq!((pair.state, pair.receipts.bytes()), (before, 0));
}

#[test]
fn a_charge_without_a_place_in_the_ledger_gets_no_receipt() {
    let mut pair = Pair::new(&["10/s", "20/s"]);
    let ids = [1, 2].map(|cost| pair.reserve(cost, START).unwrap());
    // Its id is not above the others, or the ledger is not that of its limits.
    let other = Plan::alone(&Policy::parse(["10/s"]).unwrap());
    let ruling = pair.rule(3, START);
    for (plan, id) in [(&pair.plan, ids[0]), (&pair.plan, ids[1] - 1), (&other, ids[1] + 1)] {
        let (mut state, arena) = (pair.state, &mut pair.arena);
        let mut receipts = pair.receipts.clone();
        plan.apply_with(&mut state, &ruling, arena, &mut receipts, Some(id));
        assert!(state.levels[0] > pair.state.levels[0]);
        assert_eq!((receipts.len(), receipts.sizes()), (2, [4, 2]));
    }
}

#[test]
fn a_limit_that_was_not_charged_gives_nothing_back() {
    for spec in ["2/s", "2/s fixed-window", "2/s sliding-log", "2/s sliding-window"] {
        let [policy, trial] = ["10/s", spec].map(|spec| Policy::parse([spec]).unwrap());
        let mut pair = Pair::of(Plan::new(&policy, Some(&trial.shadow())));
        assert!(pair.acquire(2, START));
        let id = pair.reserve(3, START).unwrap();
        let levels = pair.state.levels;
        assert_eq!(pair.settle(id, 0, START), 3);
        assert_eq!(pair.state.levels[1], levels[1], "{spec}");
    }
}

#[test]
fn the_most_indebted_of_the_enforced_limits_says_how_much_came_back() {
    let mut pair = Pair::new(&["10/s", "100/min"]);
    let id = pair.reserve(5, START).unwrap();
    assert!(pair.acquire(5, START + SECOND / 2));
    // The first owes 2.5 tokens more than without the five, the second all of them.
    assert_eq!(pair.settle(id, 0, START + SECOND), 5);
    let trial = Plan::alone(&Policy::parse(["10/s"]).unwrap().shadow());
    let mut pair = Pair::of(trial);
    let id = pair.reserve(5, START).unwrap();
    assert_eq!(pair.settle(id, 0, START), 0);
    assert_eq!(pair.state.levels[0], 0);
}

#[test]
fn a_receipt_is_worth_the_same_fraction_of_another_capacity() {
    let other = |spec| Plan::alone(&Policy::parse([spec]).unwrap());
    let mut pair = Pair::new(&["a: 10/s"]);
    let id = pair.reserve(4, START).unwrap();
    assert!(pair.acquire(2, START));
    pair.carry(other("a: 20/s"), START);
    assert_eq!(pair.remaining(START), 8);
    // Three of its four tokens, each of which is two now.
    assert_eq!(pair.settle(id, 1, START), 3);
    assert_eq!(pair.remaining(START), 14);
    // Thirds are rounded so that nothing is minted.
    let mut pair = Pair::new(&["a: 3/s"]);
    let ids = [1, 1].map(|cost| pair.reserve(cost, START).unwrap());
    pair.carry(other("a: 7 per 11ns"), START);
    for id in ids {
        assert_eq!(pair.settle(id, 0, START), 1);
    }
    assert!(pair.state.levels[0] <= 2);
}

#[test]
fn another_kind_of_limit_takes_the_worth_of_receipts() {
    let specs =
        ["a: 10/s", "a: 10/s fixed-window", "a: 10/s sliding-log", "a: 10/s sliding-window"];
    for from in specs {
        for to in specs {
            let mut pair = Pair::new(&[from]);
            let id = pair.reserve(4, START).unwrap();
            pair.carry(Plan::alone(&Policy::parse([to]).unwrap()), START);
            let given = pair.settle(id, 0, START);
            assert_eq!(given, if from == to { 4 } else { 0 }, "{from} to {to}");
        }
        // Without limits there is nothing to keep.
        let mut pair = Pair::new(&[from]);
        let id = pair.reserve(4, START).unwrap();
        pair.carry(Plan::alone(&Policy::unlimited()), START);
        assert_eq!((pair.settle(id, 0, START), pair.receipts.bytes()), (0, 0));
    }
}

#[test]
fn windows_go_on_with_their_counts_under_another_limit() {
    for (from, to) in [
        ("a: 10/s fixed-window", "a: 20/s fixed-window"),
        ("a: 10/s fixed-window", "a: 20/min fixed-window"),
        ("a: 10/s sliding-log", "a: 5/s sliding-log"),
        ("a: 10/s sliding-window", "a: 5/s sliding-window"),
    ] {
        let mut pair = Pair::new(&[from]);
        let id = pair.reserve(4, START).unwrap();
        assert!(pair.acquire(2, START + 1));
        pair.carry(Plan::alone(&Policy::parse([to]).unwrap()), START + 1);
        assert_eq!(pair.settle(id, 1, START + 2), 3, "{from} to {to}");
    }
}

#[test]
fn a_refund_takes_first_what_no_receipt_holds_and_then_from_the_newest() {
    for spec in ["10/s fixed-window", "10/s sliding-log", "10/s sliding-window"] {
        let mut pair = Pair::new(&[spec]);
        let old = pair.reserve(3, START).unwrap();
        assert!(pair.acquire(2, START));
        let new = pair.reserve(3, START).unwrap();
        assert_eq!(pair.refund(4, START), 4);
        assert_eq!(pair.settle(old, 0, START), 3, "{spec}");
        assert_eq!(pair.settle(new, 0, START), 1, "{spec}");
        assert_eq!(pair.remaining(START), 10);
    }
}

#[test]
fn runs_are_found_again_after_the_clock_was_stepped() {
    let mut pair = Pair::new(&["10/s sliding-log"]);
    let ids = [0, 100, 200].map(|ms| pair.reserve(2, START + ms * MS).unwrap());
    // By the store, by a charge, and by settling itself.
    pair.anchor(START - 20 * SECOND);
    assert_eq!(pair.settle(ids[1], 1, START - 20 * SECOND + 50 * MS), 1);
    assert!(pair.acquire(1, START - 40 * SECOND));
    assert_eq!(pair.settle(ids[0], 0, START - 60 * SECOND), 2);
    assert_eq!(pair.settle(ids[2], 0, START - 60 * SECOND + 749 * MS), 2);
    assert_eq!(pair.remaining(START - 60 * SECOND + 749 * MS), 8);
}

#[test]
fn empty_receipts_change_nothing() {
    let mut pair = Pair::new(&["10/s", "20/s fixed-window", "9/s sliding-log"]);
    for step in 0..40 {
        let now = Nanos::from_nanos(START + step * 70 * MS);
        let (mut state, mut arena) = (pair.state, pair.arena.clone());
        let ruling = pair.plan.rule(&state, 1 + step % 3, now, &arena);
        pair.plan.apply(&mut state, &ruling, &mut arena);
        let given = pair.plan.refund(&mut state, step % 2, now, &mut arena);
        pair.plan.apply_with(&mut pair.state, &ruling, &mut pair.arena, &mut pair.receipts, None);
        let (to, runs) = (&mut pair.state, &mut pair.arena);
        let receipts = &mut pair.receipts;
        assert_eq!(pair.plan.refund_with(to, step % 2, now, runs, receipts), given);
        assert_eq!((pair.state, pair.arena.used()), (state, arena.used()));
        assert_eq!(pair.receipts.bytes(), 0);
    }
}

#[test]
fn a_receipt_takes_56_bytes_and_32_more_for_each_further_limit() {
    for (specs, bytes) in [(&["10/s"][..], 56), (&["10/s", "99/min"][..], 88)] {
        let mut pair = Pair::new(specs);
        for _ in 0..8 {
            pair.reserve(1, START).unwrap();
        }
        // Eight are a size to which vectors grow. Beside them there are 48 bytes for each limit.
        assert_eq!(pair.receipts.bytes(), 8 * bytes + 48 * specs.len());
    }
}

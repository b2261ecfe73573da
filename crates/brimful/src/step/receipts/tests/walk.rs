//! Every short sequence of calls, and long random ones.

use brimful_testkit::trace::SplitMix64;

use super::{MS, Pair, SECOND, START};
use crate::policy::Policy;
use crate::step::Plan;

/// All sequences of so many calls, in steps of half a second.
fn walk(pair: &Pair, now: u64, depth: usize, ends: &mut u64) {
    if depth == 0 {
        *ends += 1;
        return;
    }
    let open = pair.open();
    let mut branch = |now: u64, call: &dyn Fn(&mut Pair)| {
        let mut pair = pair.clone();
        call(&mut pair);
        walk(&pair, now, depth - 1, ends);
    };
    // An empty step leads nowhere: time passes with the next call.
    for later in [now, now + SECOND / 2, now + SECOND] {
        branch(later, &|pair| {
            pair.acquire(1, later);
        });
        branch(later, &|pair| {
            pair.reserve(2, later);
        });
        for id in open.first().into_iter().chain(open.get(1)) {
            for actual in [0, 1] {
                branch(later, &|pair| {
                    pair.settle(*id, actual, later);
                });
            }
        }
    }
    branch(now, &|pair| {
        pair.refund(1, now);
    });
    if let Some(id) = open.first() {
        branch(now, &|pair| pair.keep(*id));
    }
}

#[test]
fn every_short_sequence_leaves_what_history_says() {
    for (spec, depth) in [
        ("1/s burst 3", 6),
        ("3/s fixed-window", 5),
        ("3/s sliding-log", 5),
        ("3/s sliding-window", 5),
    ] {
        let mut ends = 0;
        walk(&Pair::new(&[spec]), START, depth, &mut ends);
        assert!(ends > 10_000, "{ends} of {spec}");
    }
}

/// Random calls at random times, and how many of them settled something.
struct Random {
    rng: SplitMix64,
    pair: Pair,
    now: u64,
    most: u64,
    /// Whether windows are refunded: what a receipt holds depends on the order then.
    refunds: bool,
    plans: Vec<Plan>,
    given: u64,
    charged: u64,
}

impl Random {
    fn new(seed: u64, specs: &[&str], most: u64, others: &[&[&str]]) -> Self {
        let plan = |specs: &[&str]| match specs {
            [] => Plan::alone(&Policy::unlimited()),
            _ => Plan::alone(&Policy::parse(specs.iter().copied()).unwrap()),
        };
        Self::of(seed, plan(specs), most, others.iter().map(|specs| plan(specs)).collect())
    }

    fn of(seed: u64, plan: Plan, most: u64, others: Vec<Plan>) -> Self {
        let plans = others.into_iter().chain([plan.clone()]).collect();
        let mut rng = SplitMix64::new(seed);
        let refunds = rng.below(2) == 0;
        let pair = Pair::of(plan);
        Self { rng, pair, now: START, most, refunds, plans, given: 0, charged: 0 }
    }

    /// A reading: mostly soon, now and then far away, or backwards.
    fn reading(&mut self) -> u64 {
        let step = match self.rng.below(20) {
            0..8 => 0,
            8..15 => self.rng.below(300) * MS,
            15 => self.rng.below(3_000) * MS,
            16 => 1,
            _ => SECOND / 2,
        };
        self.now += step;
        match self.rng.below(40) {
            0 => self.now -= self.rng.below(60) * SECOND,
            1..4 => return self.now - self.rng.below(3 * SECOND),
            _ => {}
        }
        self.now
    }

    fn call(&mut self) {
        let now = self.reading();
        let open = self.pair.open();
        let cost = 1 + self.rng.below(self.most);
        let which = usize::try_from(self.rng.below(open.len() as u64)).unwrap();
        let id = open.get(which).copied();
        match (self.rng.below(24), id) {
            (0..6, _) => {
                self.charged += if self.pair.acquire(cost, now) { cost } else { 0 };
            }
            (6..13, _) => {
                self.charged += self.pair.reserve(cost, now).map_or(0, |_| cost);
            }
            (13..19, Some(id)) => {
                let actual = if self.rng.below(2) == 0 { 0 } else { self.rng.below(self.most + 1) };
                self.given += self.pair.settle(id, actual, now);
            }
            (19, Some(id)) => self.pair.keep(id),
            (20, _) if self.refunds => self.given += self.pair.refund(cost, now),
            (21, _) => self.pair.trim(now),
            (22, _) => self.pair.anchor(now),
            (23, _) if self.plans.len() > 1 => {
                let next = usize::try_from(self.rng.below(self.plans.len() as u64)).unwrap();
                self.pair.carry(self.plans[next].clone(), now);
            }
            _ => {}
        }
    }
}

/// So many random histories; returns how many tokens came back.
fn run(specs: &[&str], most: u64, others: &[&[&str]]) -> u64 {
    let mut given = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed, specs, most, others);
        for _ in 0..120 {
            random.call();
        }
        // In every limit; so it is when all of them are the same throughout.
        assert!(random.given <= random.charged || !others.is_empty());
        given += random.given;
    }
    given
}

const SPECS: [&str; 4] =
    ["a: 10/s", "a: 10/s fixed-window", "a: 10/s sliding-log", "a: 10/s sliding-window"];
const SECONDS: [&str; 4] = [
    "b: 20 per 3s burst 15",
    "b: 15 per 2s fixed-window",
    "b: 15 per 2s sliding-log",
    "b: 15 per 2s sliding-window",
];

#[test]
fn any_history_of_one_limit_leaves_what_the_actual_costs_would_have_left() {
    for spec in SPECS {
        assert!(run(&[spec], 6, &[]) > 4_000, "{spec}");
    }
}

#[test]
fn any_history_of_two_limits_leaves_what_the_actual_costs_would_have_left() {
    for one in SPECS {
        for other in SECONDS {
            assert!(run(&[one, other], 6, &[]) > 4_000, "{one} and {other}");
        }
    }
}

#[test]
fn any_history_goes_on_under_limits_with_equal_constants() {
    for spec in SPECS {
        let renamed = spec.replace("a:", "other:");
        assert!(run(&[spec], 6, &[&[&renamed]]) > 4_000, "{spec}");
        let [one, other] = [SECONDS[0], spec];
        assert!(run(&[spec, SECONDS[0]], 6, &[&[one, other]]) > 4_000, "{spec}");
    }
}

#[test]
fn any_history_mints_nothing_under_other_limits() {
    for from in SPECS {
        for to in ["a: 7/s", "a: 10/s burst 23", SPECS[1], SPECS[2], SPECS[3]] {
            assert!(run(&[from], 6, &[&[to]]) > 1_000, "{from} to {to}");
        }
        let second = ["a: 7/s", SECONDS[2]];
        assert!(run(&[from, SECONDS[1]], 6, &[&second, &[SPECS[0]], &[]]) > 100);
    }
    for spec in ["a: 19/s fixed-window", "a: 19 per 3s fixed-window"] {
        assert!(run(&[SPECS[1]], 6, &[&[spec]]) > 1_000, "{spec}");
    }
    for spec in ["a: 8/s sliding-log", "a: 19 per 3s sliding-log"] {
        assert!(run(&[SPECS[2]], 6, &[&[spec]]) > 1_000, "{spec}");
    }
    for spec in ["a: 8/s sliding-window", "a: 19 per 3s sliding-window"] {
        assert!(run(&[SPECS[3]], 6, &[&[spec]]) > 1_000, "{spec}");
    }
}

#[test]
fn any_history_beside_a_policy_on_trial_gives_back_to_what_was_charged() {
    for one in SPECS {
        for other in SECONDS {
            let [policy, trial] = [one, other].map(|spec| Policy::parse([spec]).unwrap());
            let plan = Plan::new(&policy, Some(&trial.shadow()));
            for seed in 0..100 {
                let mut random = Random::of(seed, plan.clone(), 6, Vec::new());
                for _ in 0..120 {
                    random.call();
                }
                assert!(random.given <= random.charged);
            }
        }
    }
}

#[test]
fn the_largest_buckets_are_exact_too() {
    // Nearly 2^95 ticks, and no divisor in common.
    let specs = ["a: 999999999999 per 31535999999999999ns"];
    assert!(run(&specs, 600_000_000_000, &[]) > 1_000_000_000);
}

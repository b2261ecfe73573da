//! What the levels should be, worked out from all that ever happened.

use crate::algorithm::Machine;
use crate::algorithm::arena::Arena;
use crate::step::receipts::Receipts;
use crate::step::{Plan, State};
use crate::time::Nanos;

#[derive(Clone)]
pub(super) struct Oracle {
    last: u64,
    /// Nanoseconds that passed in the state: a step back is no time.
    time: u64,
    tolerance: u64,
    limits: Vec<Limit>,
    /// Open receipts and their costs.
    open: Vec<(u64, u64)>,
}

#[derive(Clone)]
enum Limit {
    Bucket(Bucket),
    Window(Window),
}

/// A bucket: its debt is worked out from its whole history.
#[derive(Clone)]
struct Bucket {
    token: u128,
    brim: u128,
    /// The refill at first.
    refill: u128,
    events: Vec<(u64, Event)>,
    /// Whether tokens are worth something else than they were.
    is_carried: bool,
    /// How far receipts and debts are rounded since.
    grain: u128,
    /// How much more may be owed for that.
    slack: u128,
}

#[derive(Clone)]
enum Event {
    /// Ticks, and the receipt that they belong to.
    Charge(u128, Option<u64>),
    /// Ticks that were taken.
    Refund(u128),
    /// Another refill, and of the debt a fraction, `to / of`.
    Change { refill: u128, to: u128, of: u128 },
}

/// A window or a log: what each charge still is.
#[derive(Clone)]
struct Window {
    machine: Machine,
    items: Vec<Item>,
}

#[derive(Clone)]
struct Item {
    time: u64,
    windows_ago: u64,
    left: u64,
    id: Option<u64>,
}

impl Oracle {
    pub(super) fn new(plan: &Plan, start: u64) -> Self {
        let limits = plan.machines().iter().map(|machine| Limit::of(machine, 0, 0)).collect();
        Self { last: start, time: 0, tolerance: plan.tolerance, limits, open: Vec::new() }
    }

    /// The state is changed at that reading.
    pub(super) fn advance(&mut self, now: u64) {
        if now < self.last && self.last - now <= self.tolerance {
            return;
        }
        let (last, time) = (self.last.min(now), self.time);
        self.last = now;
        self.time = time + (now - last);
        for limit in &mut self.limits {
            if let Limit::Window(window) = limit {
                window.advance(last, now, self.time);
            }
        }
    }

    /// What a log has forgotten by that reading comes back by no reading before it.
    pub(super) fn trim(&mut self, now: u64) {
        let time = self.time + now.saturating_sub(self.last);
        for limit in &mut self.limits {
            if let Limit::Window(window) = limit
                && window.machine.is_log()
            {
                window.advance(0, 0, time);
            }
        }
    }

    pub(super) fn charge(&mut self, cost: u64, charged: usize, id: Option<u64>) {
        let time = self.time;
        for limit in self.limits.iter_mut().take(charged) {
            match limit {
                Limit::Bucket(bucket) => {
                    let ticks = bucket.token * u128::from(cost);
                    bucket.events.push((time, Event::Charge(ticks, id)));
                }
                Limit::Window(window) => {
                    window.items.push(Item { time, windows_ago: 0, left: cost, id });
                }
            }
        }
        self.open.extend(id.map(|id| (id, cost)));
    }

    pub(super) fn keep(&mut self, id: u64) {
        self.open.retain(|(open, _)| *open != id);
        for limit in &mut self.limits {
            match limit {
                Limit::Bucket(bucket) => bucket.receipt(id, |ticks| ticks),
                Limit::Window(window) => {
                    for item in window.items.iter_mut().filter(|item| item.id == Some(id)) {
                        item.id = None;
                    }
                }
            }
        }
    }

    /// Tokens that find something to pay, the most over the first `enforced`.
    pub(super) fn settle(&mut self, id: u64, actual: u64, enforced: usize) -> u64 {
        let Some(cost) = self.open.iter().find(|(open, _)| *open == id).map(|(_, cost)| *cost)
        else {
            return 0;
        };
        let (time, mut most) = (self.time, 0);
        let wanted = cost.saturating_sub(actual);
        for (place, limit) in self.limits.iter_mut().enumerate() {
            let given = match limit {
                Limit::Bucket(bucket) => {
                    let before = bucket.debt(time, true);
                    let kept = u128::from(cost - wanted);
                    bucket.receipt(id, |ticks| ticks / u128::from(cost) * kept);
                    let paid = before - bucket.debt(time, true);
                    if wanted > 0 {
                        bucket.slack += 2 * bucket.grain;
                    }
                    u64::try_from(paid.div_ceil(bucket.token)).unwrap()
                }
                Limit::Window(window) => {
                    let own = window.items.iter_mut().find(|item| item.id == Some(id));
                    own.map_or(0, |item| {
                        let given = item.left.min(wanted);
                        item.left -= given;
                        given
                    })
                }
            };
            if place < enforced {
                most = most.max(given);
            }
        }
        self.keep(id);
        most
    }

    /// Tokens were given back: of buckets as much as is said, of the others here.
    pub(super) fn refund(&mut self, tokens: u64, settled: &[u128], left: &[u128]) {
        let levels = settled.iter().zip(left);
        for (limit, (settled, left)) in self.limits.iter_mut().zip(levels) {
            match limit {
                Limit::Bucket(bucket) => {
                    bucket.events.push((self.time, Event::Refund(settled - left)));
                }
                Limit::Window(window) => window.refund(tokens),
            }
        }
    }

    /// The limits are those of another plan. Levels that are not carried are taken as they are.
    pub(super) fn carry(&mut self, plan: &Plan, origins: &[Option<usize>], levels: &[u128]) {
        let old = std::mem::take(&mut self.limits);
        for ((machine, level), from) in plan.machines().iter().zip(levels).zip(origins) {
            let from = from.and_then(|from| old.get(from));
            let limit = from.and_then(|from| from.carried(machine, self.time));
            self.limits.push(limit.unwrap_or_else(|| Limit::of(machine, *level, self.time)));
        }
        self.tolerance = plan.tolerance;
    }

    pub(super) fn open(&self) -> Vec<u64> {
        self.open.iter().map(|(id, _)| *id).collect()
    }

    /// Whether a receipt's tokens are those of its limits.
    pub(super) fn is_exact(&self) -> bool {
        self.limits.iter().all(|limit| match limit {
            Limit::Bucket(bucket) => !bucket.is_carried,
            Limit::Window(_) => true,
        })
    }

    pub(super) fn check(&self, plan: &Plan, state: &State, arena: &Arena, receipts: &Receipts) {
        assert_eq!(state.last, Nanos::from_nanos(self.last));
        assert_eq!(self.limits.len(), plan.width());
        for (place, (limit, level)) in self.limits.iter().zip(state.levels).enumerate() {
            match limit {
                Limit::Bucket(bucket) => {
                    let [least, most] = [false, true].map(|up| bucket.debt(self.time, up));
                    let range = least..=most + bucket.slack;
                    assert!(range.contains(&level), "{level} is not in {range:?}");
                }
                Limit::Window(window) => {
                    window.check(level, self.time, state.last, arena);
                    // What receipts hold is what of them is left, and so never more than is counted.
                    for item in window.items.iter() {
                        let Some((at, _)) = item.id.and_then(|id| receipts.find(id)) else {
                            continue;
                        };
                        let part = receipts.part(place, at, 0);
                        assert_eq!(part.tokens, item.left);
                        assert!(item.left == 0 || part.is_previous == (item.windows_ago == 1));
                        assert_eq!(part.age, self.time - item.time);
                    }
                }
            }
        }
    }
}

impl Limit {
    /// One with that level, which belongs to no receipts.
    fn of(machine: &Machine, level: u128, time: u64) -> Self {
        let [_, first, second, _] = machine.words();
        if machine.brim().is_some() {
            let (refill, token, brim) = (first.into(), second.into(), machine.brim().unwrap());
            let events = vec![(time, Event::Charge(level, None))];
            return Self::Bucket(Bucket {
                token,
                brim,
                refill,
                events,
                is_carried: false,
                grain: 0,
                slack: 0,
            });
        }
        let part = |from: u32, bits: u32| u64::try_from((level >> from) & ((1 << bits) - 1));
        let item = |windows_ago, left| Item { time, windows_ago, left, id: None };
        let items = match machine {
            Machine::FixedWindow(_) => vec![item(0, part(0, 64).unwrap())],
            Machine::SlidingWindow(_) => {
                vec![item(1, part(48, 48).unwrap()), item(0, part(0, 48).unwrap())]
            }
            _ => vec![item(0, part(64, 32).unwrap())],
        };
        Self::Window(Window { machine: machine.clone(), items })
    }

    /// The same for another limit, if its charges are still told apart.
    fn carried(&self, to: &Machine, time: u64) -> Option<Self> {
        match self {
            Self::Bucket(old) => {
                let [_, refill, token, capacity] = to.words().map(u128::from);
                to.brim()?;
                let (to, of, mut bucket) = (token * capacity, old.brim, old.clone());
                bucket.events.push((time, Event::Change { refill, to, of }));
                bucket.is_carried |= (token, to) != (bucket.token, of);
                if to != of {
                    bucket.grain = (bucket.grain * to).div_ceil(of) + 1;
                    bucket.slack = (bucket.slack * to).div_ceil(of);
                }
                Some(Self::Bucket(Bucket { token, brim: to, ..bucket }))
            }
            Self::Window(old) => {
                let ([kind, _, width, _], [new_kind, _, new_width, _]) =
                    (old.machine.words(), to.words());
                let is_fixed = matches!(to, Machine::FixedWindow(_));
                let goes_on = kind == new_kind && (width == new_width || is_fixed);
                goes_on.then(|| Self::Window(Window { machine: to.clone(), ..old.clone() }))
            }
        }
    }
}

impl Bucket {
    /// The debt at a time, from nothing; fractions rounded up, as levels are, or down.
    fn debt(&self, time: u64, up: bool) -> u128 {
        let (mut debt, mut last, mut refill) = (0_u128, 0, self.refill);
        for (at, event) in &self.events {
            debt = debt.saturating_sub(refill * u128::from(at - last));
            last = *at;
            match event {
                Event::Charge(ticks, _) => debt += ticks,
                Event::Refund(ticks) => debt = debt.saturating_sub(*ticks),
                Event::Change { refill: other, to, of } => {
                    refill = *other;
                    debt = match (to == of, up) {
                        (true, _) => debt,
                        (_, true) => (debt * to).div_ceil(*of),
                        (_, false) => debt * to / of,
                    };
                }
            }
        }
        debt.saturating_sub(refill * u128::from(time - last))
    }

    /// The receipt is settled with other ticks.
    fn receipt(&mut self, id: u64, ticks_of: impl Fn(u128) -> u128) {
        for (_, event) in &mut self.events {
            if let Event::Charge(ticks, Some(own)) = event
                && *own == id
            {
                *event = Event::Charge(ticks_of(*ticks), None);
            }
        }
    }
}

impl Window {
    fn width(&self) -> u64 {
        let [_, _, width, _] = self.machine.words();
        width
    }

    /// The window of a reading gives way to that of a later one, when `time` has passed in all.
    fn advance(&mut self, last: u64, now: u64, time: u64) {
        let (width, is_log) = (self.width(), self.machine.is_log());
        let most = u64::from(matches!(self.machine, Machine::SlidingWindow(_)));
        for item in &mut self.items {
            item.windows_ago += if is_log { 0 } else { now / width - last / width };
        }
        self.items.retain(|item| match is_log {
            true => time - item.time < width,
            false => item.windows_ago <= most,
        });
    }

    /// One token after the other, each from what is the first to give.
    fn refund(&mut self, tokens: u64) {
        let is_log = self.machine.is_log();
        for _ in 0..tokens {
            let giving =
                self.items.iter_mut().filter(|item| item.windows_ago == 0 && item.left > 0);
            let time = |item: &Item| if is_log { item.time } else { 0 };
            let first = giving.max_by_key(|item| (time(item), item.id.is_none(), item.id));
            let Some(first) = first else { return };
            first.left -= 1;
        }
    }

    fn check(&self, level: u128, time: u64, last: Nanos, arena: &Arena) {
        let sum = |windows_ago| -> u128 {
            let items = self.items.iter().filter(|item| item.windows_ago == windows_ago);
            items.map(|item| u128::from(item.left)).sum()
        };
        match self.machine {
            Machine::SlidingLog(_) => self.check_runs(level, time, last, arena),
            _ => assert_eq!(level, sum(0) | (sum(1) << 48)),
        }
    }

    fn check_runs(&self, level: u128, time: u64, last: Nanos, arena: &Arena) {
        let mut expected: Vec<(u64, u64)> = Vec::new();
        for item in self.items.iter().filter(|item| item.left > 0) {
            match expected.last_mut().filter(|(age, _)| *age == time - item.time) {
                Some((_, count)) => *count += item.left,
                None => expected.push((time - item.time, item.left)),
            }
        }
        let [oldest, newest, total] = [0, 32, 64].map(|from| (level >> from) & 0xffff_ffff);
        let counts: u64 = expected.iter().map(|(_, count)| count).sum();
        assert_eq!(total, u128::from(counts));
        assert!(total > 0 || level == 0);
        let mut index = if total == 0 { Arena::NONE } else { u32::try_from(oldest).unwrap() };
        let mut runs = Vec::new();
        while index != Arena::NONE {
            let run = arena.run(index);
            runs.push((last.age(run.time), u64::from(run.count)));
            assert!(run.next != Arena::NONE || u128::from(index) == newest);
            index = run.next;
        }
        assert_eq!(runs, expected);
    }
}

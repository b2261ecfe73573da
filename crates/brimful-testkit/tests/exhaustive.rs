//! Every reachable state of small limits, through the real `Meter`.
//!
//! A limit of a few tokens in a few nanoseconds has so few states that all can be visited, with
//! every number of tokens spent in every nanosecond, from every phase of a window. Three things
//! are checked there: the worst bursts are those that the documentation states, no hint is a
//! nanosecond off, and the three ways to write the token bucket down are one machine.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use brimful::{Algorithm, Limit, Meter, Nanos, Policy};
use brimful_testkit::small::{Bucket, FixedWindow, Form, SlidingLog, SlidingWindow};
use brimful_testkit::{Model, Outcome, Ratio};

/// How many states there are: of a limit's parameters, what it remembers, and the phase.
const BUCKET_STATES: u64 = 257_255;
const FIXED_WINDOW_STATES: u64 = 117_335;
const SLIDING_LOG_STATES: u64 = 318_027;
const SLIDING_WINDOW_STATES: u64 = 500_726;
const STATES: u64 =
    BUCKET_STATES + FIXED_WINDOW_STATES + SLIDING_LOG_STATES + SLIDING_WINDOW_STATES;
const _: () = assert!(STATES >= 1_000_000, "the tests below visit at least a million states");

/// Each number is what its test counts.
#[test]
fn total() {
    println!("exhaustive: {STATES} states");
}

#[test]
fn token_bucket() {
    let limits = quotas(24, 24).flat_map(|(tokens, period)| {
        (1..=12).map(move |capacity| Bucket { tokens, period, capacity })
    });
    let states = limits.map(|form| exhaust(&form, 3 * form.period + 2)).sum();
    counted("token bucket", states, BUCKET_STATES);
}

#[test]
fn fixed_window() {
    let limits = quotas(30, 30).map(|(limit, width)| FixedWindow { limit, width });
    let states = limits.map(|form| exhaust(&form, 4 * form.width + 2)).sum();
    counted("fixed window", states, FIXED_WINDOW_STATES);
}

#[test]
fn sliding_log() {
    let limits = quotas(7, 14).map(|(limit, width)| SlidingLog { limit, width });
    let states = limits.map(|form| exhaust(&form, 4 * form.width + 2)).sum();
    counted("sliding log", states, SLIDING_LOG_STATES);
}

#[test]
fn sliding_window() {
    let limits = quotas(24, 24).map(|(limit, width)| SlidingWindow { limit, width });
    let states = limits.map(|form| exhaust(&form, 4 * form.width + 2)).sum();
    counted("sliding window", states, SLIDING_WINDOW_STATES);
}

fn counted(name: &str, states: u64, expected: u64) {
    println!("exhaustive: {name}: {states} states");
    assert_eq!(states, expected, "{name}");
}

/// One reachable state, with what the meter says there.
struct Node<S> {
    state: S,
    phase: u64,
    now: Nanos,
    seen: Seen,
    /// The node one nanosecond later, for every number of tokens spent first.
    next: Vec<usize>,
}

/// What a meter says at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    remaining: u64,
    reset_after: u128,
    next_after: u128,
    /// For each cost from 1 to the capacity the wait; 0: admitted.
    waits: Vec<u128>,
}

impl Seen {
    fn of(meter: &Meter, capacity: u64, now: Nanos) -> Self {
        let look = meter.peek_at(0, now);
        assert!(meter.peek_at(capacity + 1, now).is_never());
        let waits = (1..=capacity).map(|cost| {
            let answer = Outcome::from(meter.peek_at(cost, now));
            assert_eq!(answer.allowed, cost <= look.remaining(), "{cost} at {now:?}: {look:?}");
            assert_eq!(answer.allowed, answer.retry.is_none());
            answer.retry.unwrap_or(0)
        });
        let waits = waits.collect();
        let (reset_after, next_after) =
            (look.reset_after().as_nanos(), look.next_after().as_nanos());
        Self { remaining: look.remaining(), reset_after, next_after, waits }
    }

    /// The same, but asking less.
    fn agrees(&self, meter: &Meter, now: Nanos) -> bool {
        let look = meter.peek_at(0, now);
        let longest = Outcome::from(meter.peek_at(self.waits.len() as u64, now));
        (look.remaining(), look.reset_after().as_nanos()) == (self.remaining, self.reset_after)
            && self.waits.last() == Some(&longest.retry.unwrap_or(0))
    }
}

/// All states of a limit, found by spending every number of tokens in every nanosecond.
struct Walk<'a, F: Form> {
    form: &'a F,
    nodes: Vec<Node<F::State>>,
    places: HashMap<(F::State, u64), usize>,
    /// Where each node was first found; taken when it is visited.
    meters: Vec<Option<Meter>>,
}

impl<'a, F: Form> Walk<'a, F> {
    fn new(form: &'a F) -> Self {
        let mut walk = Self { form, nodes: Vec::new(), places: HashMap::new(), meters: Vec::new() };
        let fresh = Meter::new(&Policy::from(form.limit()));
        for phase in 0..form.phases() {
            walk.place(form.fresh(), phase, Nanos::from_nanos(phase), &fresh);
        }
        let mut at = 0;
        while at < walk.nodes.len() {
            walk.visit(at);
            at += 1;
        }
        walk
    }

    /// The node of a state; a meter that comes to a known one must say what the first one said.
    fn place(&mut self, state: F::State, phase: u64, now: Nanos, meter: &Meter) -> usize {
        if let Some(place) = self.places.get(&(state.clone(), phase)) {
            let known = &self.nodes[*place].seen;
            assert!(known.agrees(meter, now), "{state:?} at {now:?} was {known:?}: {meter:?}");
            return *place;
        }
        let seen = Seen::of(meter, self.form.limit().capacity(), now);
        self.places.insert((state.clone(), phase), self.nodes.len());
        self.nodes.push(Node { state, phase, now, seen, next: Vec::new() });
        self.meters.push(Some(meter.clone()));
        self.nodes.len() - 1
    }

    fn visit(&mut self, at: usize) {
        let mut meter = self.meters[at].take().expect("visited once");
        let Node { ref state, phase, now, .. } = self.nodes[at];
        let (mut state, later) = (state.clone(), now + Duration::from_nanos(1));
        let next_phase = (phase + 1) % self.form.phases();
        loop {
            let ticked = self.form.tick(&state, next_phase);
            let next = self.place(ticked, next_phase, later, &meter);
            self.nodes[at].next.push(next);
            let spent = self.form.spend(&state, phase);
            let decision = meter.try_acquire_at(1, now);
            assert_eq!(decision.is_allowed(), spent.is_some(), "{state:?} at {now:?}");
            match spent {
                Some(spent) => state = spent,
                None => return,
            }
        }
    }

    /// A hint is right if it is one nanosecond shorter one nanosecond later, until it is zero:
    /// by induction that is stepping through all of the wait.
    fn check_hints(&self) {
        let limit = self.form.limit();
        for node in &self.nodes {
            let later = &self.nodes[node.next[0]].seen;
            for (wait, then) in node.seen.waits.iter().zip(&later.waits) {
                assert_eq!(*then, wait.saturating_sub(1), "{limit} in {:?}", node.state);
            }
            assert_eq!(later.reset_after, node.seen.reset_after.saturating_sub(1), "{limit}");
            // More is left when that is told, and not before; when nothing is, no more is ever left.
            match node.seen.next_after {
                0 => assert_eq!((node.seen.remaining, later.next_after), (limit.capacity(), 0)),
                1 => assert!(later.remaining > node.seen.remaining, "{limit}"),
                wait => assert_eq!(
                    (later.remaining, later.next_after),
                    (node.seen.remaining, wait - 1),
                    "{limit} in {:?}",
                    node.state
                ),
            }
            // The induction ends, because a state with nothing to reset is a fresh one.
            assert_eq!(node.seen.reset_after == 0, node.state == self.form.fresh(), "{limit}");
            assert_eq!(node.next.len() as u64, node.seen.remaining + 1, "{limit}");
        }
    }

    /// The most that can be admitted within a time, by looking at every way to spend.
    fn check_worst(&self, longest: u64) {
        let mut best = vec![0; self.nodes.len()];
        for t in 0..=longest {
            best = self
                .nodes
                .iter()
                .map(|node| {
                    let ways = node.next.iter().zip(0..).map(|(next, spent)| spent + best[*next]);
                    ways.max().unwrap_or(0)
                })
                .collect();
            let worst: u64 = best.iter().copied().max().unwrap_or(0);
            let (bound, reached) = self.form.worst(t);
            assert!(worst <= bound, "{} admits {worst} in {t} ns", self.form.limit());
            assert!(
                !reached || worst == bound,
                "{} admits only {worst} in {t} ns",
                self.form.limit()
            );
        }
    }
}

/// Visits all states of a limit and returns how many there are.
fn exhaust<F: Form>(form: &F, longest: u64) -> u64 {
    let walk = Walk::new(form);
    walk.check_hints();
    walk.check_worst(longest);
    walk.nodes.len() as u64
}

/// All `(tokens, period)` up to these, at most one token per nanosecond.
fn quotas(tokens: u64, period: u64) -> impl Iterator<Item = (u64, u64)> {
    let all = move |period: u64| (1..=tokens.min(period)).map(move |tokens| (tokens, period));
    (1..=period).flat_map(all)
}

/// The bucket as tokens and the time of the last refill, and as the time at which it is full: the
/// theoretical arrival time of the generic cell rate algorithm.
#[derive(Clone, Debug)]
struct Forms {
    form: Bucket,
    tokens: Ratio<i64>,
    refilled: i64,
    /// In ticks; see [`Forms::per_ns`].
    full_at: i64,
}

impl Forms {
    fn new(form: Bucket) -> Self {
        Self { form, tokens: Ratio::from(form.capacity as i64), refilled: 0, full_at: 0 }
    }

    /// Ticks in a nanosecond, and ticks that a token is worth.
    fn per_ns(&self) -> (i64, i64) {
        let rate = Ratio::new(self.form.tokens as i64, self.form.period as i64);
        (*rate.numer(), *rate.denom())
    }

    fn refill(&mut self, now: i64) {
        let rate = Ratio::new(self.form.tokens as i64, self.form.period as i64);
        let capacity = Ratio::from(self.form.capacity as i64);
        self.tokens = capacity.min(self.tokens + rate * (now - self.refilled));
        self.refilled = now;
        self.full_at = self.full_at.max(self.per_ns().0 * now);
    }

    /// By the tokens; and the same by the full-at time.
    fn acquire(&mut self, cost: i64, now: i64) -> [Outcome; 2] {
        self.refill(now);
        let capacity = self.form.capacity as i64;
        let (refill, token) = self.per_ns();
        let (rate, ticks) = (Ratio::new(refill, token), refill * now);
        let by_tokens = self.tokens >= Ratio::from(cost);
        // A cell conforms if it is at most the tolerance early; a cost of k is k cells at once.
        let tolerance = (capacity - 1) * token;
        let by_time = cost == 0 || self.full_at + (cost - 1) * token - tolerance <= ticks;
        let waits = [
            (Ratio::from(cost) - self.tokens) / rate,
            Ratio::new(self.full_at + cost * token - capacity * token - ticks, refill),
        ];
        if by_tokens {
            self.tokens -= cost;
        }
        if by_time {
            self.full_at += cost * token;
        }
        let left = [self.tokens, Ratio::new(capacity * token - (self.full_at - ticks), token)];
        let resets = [
            (Ratio::from(capacity) - self.tokens) / rate,
            Ratio::new(self.full_at - ticks, refill),
        ];
        // The time to the next whole token: the time to a full bucket, but for the whole ones of it.
        let each = Ratio::new(token, refill);
        let nexts = resets.map(|reset| match reset / each {
            missing if missing == Ratio::from(0) => missing,
            missing => (missing - (missing.ceil() - 1)) * each,
        });
        [0, 1].map(|form| Outcome {
            allowed: [by_tokens, by_time][form],
            remaining: left[form].floor().to_integer() as u64,
            retry: (![by_tokens, by_time][form] && cost <= capacity)
                .then(|| waits[form].ceil().to_integer() as u128),
            never: cost > capacity,
            reset_after: resets[form].ceil().to_integer() as u128,
            next_after: nexts[form].ceil().to_integer() as u128,
            limit: Some(0),
            refused_by: u8::from(![by_tokens, by_time][form]),
        })
    }

    fn refund(&mut self, tokens: i64, now: i64) {
        self.refill(now);
        let (refill, token) = self.per_ns();
        self.tokens = Ratio::from(self.form.capacity as i64).min(self.tokens + tokens);
        self.full_at = (refill * now).max(self.full_at - tokens * token);
    }
}

#[test]
fn the_bucket_is_one_machine_in_three_forms() {
    let mut steps = 0;
    for (tokens, period) in quotas(8, 8) {
        for capacity in 1..=4 {
            steps += three_forms(Bucket { tokens, period, capacity });
        }
    }
    println!("exhaustive: {steps} steps of the bucket in three forms");
}

/// Takes every step from every state that the three forms reach together.
fn three_forms(form: Bucket) -> u64 {
    let fresh = Meter::new(&Policy::from(form.limit()));
    let mut stack = vec![(Forms::new(form), fresh)];
    let mut seen = HashSet::from([(stack[0].0.tokens, 0)]);
    let mut steps = 0;
    while let Some((forms, meter)) = stack.pop() {
        let amounts = 0..=form.capacity + 1;
        let times = 0..=2 * form.period;
        for (amount, wait) in amounts.flat_map(|amount| times.clone().map(move |t| (amount, t))) {
            let at = forms.refilled + wait as i64;
            let now = Nanos::from_nanos(at as u64);
            let (mut spent, mut charged) = (forms.clone(), meter.clone());
            let answer = Outcome::from(charged.try_acquire_at(amount, now));
            assert_eq!(
                spent.acquire(amount as i64, at),
                [answer; 2],
                "{amount} at {at}: {forms:?}"
            );
            let (mut returned, mut refunded) = (forms.clone(), meter.clone());
            returned.refund(amount as i64, at);
            refunded.refund_at(amount, now);
            for (forms, meter) in [(spent, charged), (returned, refunded)] {
                steps += 1;
                if seen.insert((forms.tokens, forms.full_at - forms.per_ns().0 * at)) {
                    stack.push((forms, meter));
                }
            }
        }
    }
    steps
}

/// Readings at and before the last change, and clocks that are stepped, for all algorithms: every
/// operation at every reading that matters, from every state, against the model.
#[test]
fn backward_time() {
    let mut steps = 0;
    for algorithm in Algorithm::ALL {
        for (tokens, period) in quotas(4, 5) {
            let limit = Limit::new(tokens, Duration::from_nanos(period));
            let limit = limit.and_then(|limit| limit.algorithm(algorithm)).expect("a small limit");
            steps += all_readings(&limit);
        }
    }
    println!("exhaustive: {steps} steps with readings in any order");
}

fn all_readings(limit: &Limit) -> u64 {
    let policy = Policy::from(limit.clone());
    let period = limit.period().as_nanos() as i64;
    let tolerance = Model::new(&policy).tolerance() as i64;
    // From the last change: some time on, the same time, a little before, up to and beyond the
    // tolerance by every phase of a window.
    let readings = (-2..=2 * period + 1).chain(-tolerance - period..=1 - tolerance);
    let readings: Vec<i64> = readings.collect();
    let start = Nanos::from_secs(1_000_000);
    let mut stack = vec![(Model::new(&policy), Meter::new(&policy), start)];
    let mut seen = HashSet::new();
    let mut steps = 0;
    while let Some((model, meter, last)) = stack.pop() {
        for reading in &readings {
            let now = Nanos::from_nanos(last.as_nanos().saturating_add_signed(*reading));
            for amount in 0..=limit.capacity() + 1 {
                let (mut spent, mut charged) = (model.clone(), meter.clone());
                let answer = Outcome::from(charged.try_acquire_at(amount, now));
                assert_eq!(answer, spent.acquire(amount, now), "{amount} at {now:?}: {model:?}");
                assert_eq!(answer, meter.peek_at(amount, now).into());
                step_to(answer, &charged, amount, now);
                let (mut returned, mut refunded) = (model.clone(), meter.clone());
                let given = refunded.refund_at(amount, now);
                assert_eq!(given, returned.refund(amount, now), "{amount} at {now:?}: {model:?}");
                for (model, meter) in [(spent, charged), (returned, refunded)] {
                    steps += 1;
                    // Shows when the meter thinks the key was last changed, also where the state
                    // is a known one.
                    let before = Nanos::from_nanos(now.as_nanos() - 1);
                    assert_eq!(Outcome::from(meter.peek_at(1, before)), model.peek(1, before));
                    if seen.insert(model.canonical()) {
                        let last = model.last().unwrap_or(now);
                        stack.push((model, meter, last));
                    }
                }
            }
        }
    }
    steps
}

/// Asks again in every nanosecond of a short wait.
fn step_to(answer: Outcome, meter: &Meter, cost: u64, now: Nanos) {
    let Some(wait) = answer.retry.filter(|wait| *wait < 1_000) else { return };
    for ns in 1..=wait as u64 {
        let then = meter.peek_at(cost, now + Duration::from_nanos(ns));
        assert_eq!(then.is_allowed(), u128::from(ns) == wait, "{cost} at {now:?}: {meter:?}");
    }
}

//! Threads that race for the keys of one limiter, in every order that a number of preemptions allows.
#![allow(dead_code, unused_imports, reason = "each of the tests uses a part")]

pub mod spec;
pub mod world;

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use brimful::{Limiter, LimiterBuilder, ManualClock, Nanos, Policy};
use loom::model::Builder;
use loom::thread;

pub use spec::{Answer, Op, Outcome, at, rules};
use spec::{Spec, orders};
pub use world::{Called, World};

/// Some noon: windows of a day are half over.
pub const NOW: Nanos = Nanos::from_secs(1_800_014_400 + 43_200);

/// Some calls before, one list of calls for each thread, and some calls after.
pub struct Race {
    limits: &'static [&'static str],
    settings: fn(LimiterBuilder) -> LimiterBuilder,
    before: Vec<Op>,
    threads: Vec<Vec<Op>>,
    after: Vec<Op>,
    preemptions: usize,
}

impl Race {
    /// On a limiter of these limits for each key: by default of two sets of four slots.
    pub fn new(limits: &'static [&'static str]) -> Self {
        let settings = |builder| builder;
        let preemptions = PREEMPTIONS;
        Self { limits, settings, before: vec![], threads: vec![], after: vec![], preemptions }
    }

    pub fn built(self, settings: fn(LimiterBuilder) -> LimiterBuilder) -> Self {
        Self { settings, ..self }
    }

    pub fn before(self, before: impl IntoIterator<Item = Op>) -> Self {
        Self { before: before.into_iter().collect(), ..self }
    }

    /// And so many calls more before.
    pub fn and_before(mut self, before: impl IntoIterator<Item = Op>) -> Self {
        self.before.extend(before);
        self
    }

    pub fn thread(mut self, calls: impl IntoIterator<Item = Op>) -> Self {
        self.threads.push(calls.into_iter().collect());
        self
    }

    pub fn after(self, after: impl IntoIterator<Item = Op>) -> Self {
        Self { after: after.into_iter().collect(), ..self }
    }

    /// Explores no more than so many preemptions, unless it is told to.
    pub fn preempted(self, preemptions: usize) -> Self {
        Self { preemptions, ..self }
    }

    /// Whatever the order in which threads run, all answers are those of some order of whole calls.
    pub fn must_be_linear(self) {
        let mut allowed = HashSet::new();
        let mut spec = Spec::new(&self.policy());
        for op in &self.before {
            spec.run(op);
        }
        for order in orders(&self.threads) {
            let mut spec = spec.clone();
            allowed.insert(self.answers(&order, |op| spec.run(op)));
        }
        self.must_be_one_of(allowed);
    }

    /// The same where the meters of single keys do not say it all: the answers are those of the
    /// limiter itself to some order of whole calls.
    pub fn must_be_as_in_turn(self) {
        let orders = orders(&self.threads);
        let race = Arc::new((self, Mutex::new(HashSet::new())));
        let running = Arc::clone(&race);
        let orders = Arc::new(orders);
        model(2, move || {
            let (running, orders) = (Arc::clone(&running), Arc::clone(&orders));
            let in_turn = move || {
                let (race, allowed) = &*running;
                for order in &*orders {
                    let world = race.begun();
                    let outcome = race.answers(order, |op| op.run(&world));
                    world.end(race.latest());
                    allowed.lock().unwrap().insert(outcome);
                }
            };
            spawn(in_turn).join().unwrap();
        });
        let (race, allowed) = Arc::into_inner(race).expect("the model is over");
        race.must_be_one_of(allowed.into_inner().unwrap());
    }

    fn must_be_one_of(self, allowed: HashSet<Outcome>) {
        self.check(move |outcome, _| {
            assert!(allowed.contains(outcome), "no order of whole calls gives {outcome:#?}");
        });
    }

    /// Runs the race in every order, and `judge` after each run.
    pub fn check(self, judge: impl Fn(&Outcome, &Limiter) + Send + Sync + 'static) {
        let executions = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&executions);
        let threads = self.threads.len();
        let preemptions = preemptions(self.preemptions);
        model_with(threads, preemptions, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let world = Arc::new(self.begun());
            let before = world.limiter.stats();
            let outcome = self.run(&world);
            judge(&outcome, &world.limiter);
            self.counts(&outcome, &world.limiter, before.admitted, before.denied);
            world.end(self.latest());
        });
        let executions = executions.load(Ordering::Relaxed);
        println!("{threads} threads, {preemptions} preemptions: {executions} executions");
        assert!(executions > 20, "nothing raced");
    }

    /// Each decision was counted, and the store has not grown.
    fn counts(&self, outcome: &Outcome, limiter: &Limiter, admitted: u64, denied: u64) {
        let threads = self.threads.iter().flatten().zip(outcome.threads.iter().flatten());
        let calls = threads.chain(self.after.iter().zip(&outcome.after));
        let (mut wanted_admitted, mut wanted_denied) = (admitted, denied);
        for (op, answer) in calls {
            let (admitted, denied) = op.counts(answer);
            wanted_admitted += admitted;
            wanted_denied += denied;
        }
        let stats = limiter.stats();
        assert_eq!((stats.admitted, stats.denied), (wanted_admitted, wanted_denied), "{stats:?}");
        assert!(stats.occupied <= stats.slots, "{stats:?}");
    }

    fn policy(&self) -> Policy {
        Policy::parse(self.limits.iter().copied()).unwrap()
    }

    /// The limiter after the calls that come before.
    fn begun(&self) -> World {
        let world = World::new(built(&self.policy(), self.settings));
        all(&self.before, &world);
        world
    }

    /// The latest time of all calls.
    fn latest(&self) -> Nanos {
        let calls = self.before.iter().chain(self.threads.iter().flatten()).chain(&self.after);
        at(calls.map(Op::time).max().unwrap_or(0))
    }

    /// What is answered to the threads' calls in that order, and to those that come after.
    fn answers(&self, order: &[(usize, Op)], mut run: impl FnMut(&Op) -> Answer) -> Outcome {
        let mut threads = vec![vec![]; self.threads.len()];
        for (thread, op) in order {
            threads[*thread].push(run(op));
        }
        Outcome { threads, after: self.after.iter().map(run).collect() }
    }

    /// The last thread is the one that is there already.
    fn run(&self, world: &Arc<World>) -> Outcome {
        let (last, others) = self.threads.split_last().unwrap();
        let started: Vec<_> = others
            .iter()
            .map(|calls| {
                let (world, calls) = (Arc::clone(world), calls.clone());
                spawn(move || all(&calls, &world))
            })
            .collect();
        let own = all(last, world);
        let mut threads: Vec<_> = started.into_iter().map(|t| t.join().unwrap()).collect();
        threads.push(own);
        Outcome { threads, after: all(&self.after, world) }
    }
}

pub fn built(policy: &Policy, settings: fn(LimiterBuilder) -> LimiterBuilder) -> Limiter {
    // The system's clock would be another one in each run.
    let builder = Limiter::builder(policy.clone()).clock(ManualClock::new(NOW));
    settings(builder.secret([1, 2]).max_keys(7).max_given(0)).build().unwrap()
}

/// A thread with room for replacing rules.
pub fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(1 << 16).spawn(work).unwrap()
}

fn all(calls: &[Op], world: &World) -> Vec<Answer> {
    calls.iter().map(|op| op.run(world)).collect()
}

/// Runs `scenario` in every order.
pub fn model(threads: usize, scenario: impl Fn() + Send + Sync + 'static) {
    model_with(threads, preemptions(PREEMPTIONS), scenario);
}

/// The same with so many preemptions.
pub fn model_with(threads: usize, preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_threads = threads;
    // An execution of more steps hangs.
    builder.max_branches = 20_000;
    builder.check(scenario);
}

/// How often a thread that could go on is made to wait for another, if nothing else is said.
const PREEMPTIONS: usize = 3;

/// The same by the environment, or so many.
pub fn preemptions(usual: usize) -> usize {
    match env::var("BRIMFUL_PREEMPTIONS") {
        Ok(number) => number.parse().expect("BRIMFUL_PREEMPTIONS is a number"),
        Err(_) => usual,
    }
}

/// Keys by the first and the second of their sets, in a store of three sets.
pub fn keys() -> BTreeMap<(usize, usize), Vec<&'static str>> {
    keys_of(three_sets)
}

/// The same in any store.
pub fn keys_of(
    settings: fn(LimiterBuilder) -> LimiterBuilder,
) -> BTreeMap<(usize, usize), Vec<&'static str>> {
    let keys = Arc::new(Mutex::new(BTreeMap::<_, Vec<_>>::new()));
    let found = Arc::clone(&keys);
    model(1, move || {
        let limiter = built(&Policy::parse(["1/day"]).unwrap(), settings);
        for number in 0..120 {
            let key: &'static str = format!("k{number}").leak();
            found.lock().unwrap().entry(limiter.sets_of(key)).or_default().push(key);
        }
    });
    Arc::into_inner(keys).expect("the model is over").into_inner().unwrap()
}

pub fn three_sets(builder: LimiterBuilder) -> LimiterBuilder {
    builder.max_keys(10)
}

/// So many keys that owe `cost`.
pub fn debtors(count: usize, cost: u64, now: u64) -> impl Iterator<Item = Op> {
    const KEYS: [&str; 8] = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"];
    KEYS.into_iter().take(count).map(move |key| Op::Acquire(key, cost, now))
}

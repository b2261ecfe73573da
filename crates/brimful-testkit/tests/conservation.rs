//! What is owed is what was charged, less what was refilled and given back: reservations and waiting
//! without any model of them.
//!
//! The test keeps a list of charges, each with its time and with what it finally cost. What a limit owes of
//! such a list is one formula for each algorithm, and so is whether those who wait had to.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brimful::{
    Algorithm, Limit, Limiter, ManualClock, Nanos, Policy, Progress, Queued, Reservation, Turn,
};
use brimful_testkit::Called;
use brimful_testkit::trace::{self, SplitMix64};

/// Charges: when, and how much.
#[derive(Default)]
struct Ledger(Vec<(u64, u64)>);

impl Ledger {
    fn total(&self, times: impl Fn(u64) -> bool) -> i128 {
        self.0.iter().filter(|(time, _)| times(*time)).map(|(_, cost)| i128::from(*cost)).sum()
    }

    /// Whole tokens left of a limit, and how long until it is as good as new. Below 0: it was overdrawn.
    fn left(&self, limit: &Limit, now: u64) -> (i128, i128) {
        let (tokens, capacity) = (i128::from(limit.tokens()), i128::from(limit.capacity()));
        let width = u64::try_from(limit.period().as_nanos()).expect("periods of seconds");
        let (window, at) = (now / width, i128::from(now));
        let spent = self.0.iter().filter(|(_, cost)| *cost > 0).map(|(time, _)| *time);
        let newest = spent.clone().max().unwrap_or(0);
        match limit.chosen_algorithm() {
            Algorithm::TokenBucket => {
                // In parts of a token, one for each nanosecond of the period: since any charge, what was charged
                // less what would have dripped in; the most of these is owed.
                let width = i128::from(width);
                let owed = spent.map(|since| {
                    let charged = self.total(|time| time >= since) * width;
                    charged - (at - i128::from(since)) * tokens
                });
                let owed = owed.max().unwrap_or(0).max(0);
                let left = (capacity * width - owed).div_euclid(width);
                (left, (owed + tokens - 1) / tokens)
            }
            Algorithm::FixedWindow => {
                let count = self.total(|time| time / width == window);
                let until = i128::from((window + 1) * width) - at;
                (capacity - count, if count > 0 { until } else { 0 })
            }
            Algorithm::SlidingLog => {
                let count = self.total(|time| now < time + width);
                (capacity - count, (i128::from(newest + width) - at).max(0))
            }
            Algorithm::SlidingWindow => {
                let (before, present) = (
                    self.total(|time| time / width + 1 == window),
                    self.total(|time| time / width == window),
                );
                let overlap = i128::from(width - now % width);
                let whole = i128::from(width);
                let left = ((capacity - present) * whole - before * overlap).div_euclid(whole);
                let until = i128::from((newest / width + 2) * width) - at;
                (left, if before + present > 0 { until } else { 0 })
            }
        }
    }

    /// The same of all limits: the least, and the longest.
    fn least(&self, policy: &Policy, now: u64) -> (i128, i128) {
        let all = policy.limits().iter().map(|limit| self.left(limit, now));
        let least = all.clone().map(|(left, _)| left).min().unwrap_or(0);
        (least, all.map(|(_, until)| until).max().unwrap_or(0))
    }
}

struct Waiting<'a> {
    turn: Turn<'a>,
    cost: u64,
    /// When it asks again, if it is not woken.
    comes: u64,
    /// The time that it was told when it came.
    told: u64,
    /// Its place in the ledger, once it was granted.
    charge: Option<usize>,
    flag: Arc<Called>,
}

struct World<'a> {
    limiter: &'a Limiter,
    clock: ManualClock,
    policy: &'a Policy,
    ledger: Ledger,
    open: Vec<(Reservation<'a>, Option<usize>)>,
    /// In the order in which they came, those included who were granted and did not ask yet.
    turns: Vec<Waiting<'a>>,
    now: u64,
    granted: u64,
    polls: u64,
}

const KEY: &str = "key";

impl<'a> World<'a> {
    fn new(limiter: &'a Limiter, clock: &ManualClock, policy: &'a Policy, now: u64) -> Self {
        let (open, turns, ledger) = (Vec::new(), Vec::new(), Ledger::default());
        let world = Self {
            limiter,
            clock: clock.clone(),
            policy,
            ledger,
            open,
            turns,
            now,
            granted: 0,
            polls: 0,
        };
        world.clock.set(world.at());
        world
    }

    fn at(&self) -> Nanos {
        Nanos::from_nanos(self.now)
    }

    fn go_to(&mut self, now: u64) {
        self.now = now;
        self.clock.set(self.at());
    }

    fn charge(&mut self, cost: u64) -> usize {
        self.ledger.0.push((self.now, cost));
        self.ledger.0.len() - 1
    }

    fn waiters(&self) -> usize {
        self.turns.iter().filter(|waiting| waiting.charge.is_none()).count()
    }

    /// Enters the charges of those who were granted, the first in line; who they are, the number of
    /// those who still wait tells.
    fn enter_grants(&mut self) {
        let still = usize::try_from(self.limiter.stats().waiters).expect("few");
        let granted = self.waiters().checked_sub(still).expect("nobody joins by itself");
        for _ in 0..granted {
            let first = self.turns.iter().position(|waiting| waiting.charge.is_none());
            let first = first.expect("one of them waits");
            let charge = self.charge(self.turns[first].cost);
            self.turns[first].charge = Some(charge);
            self.granted += 1;
        }
    }

    fn acquire(&mut self, cost: u64) {
        let decision = self.limiter.try_acquire_at(KEY, cost, self.at());
        self.enter_grants();
        if decision.is_allowed() {
            self.charge(cost);
        }
    }

    fn reserve(&mut self, cost: u64) {
        let reserved = self.limiter.reserve_at(KEY, cost, self.at());
        self.enter_grants();
        if let Ok(reservation) = reserved {
            let charge = self.charge(cost);
            self.open.push((reservation, Some(charge)));
        }
    }

    fn settle(&mut self, rng: &mut SplitMix64) {
        if self.open.is_empty() {
            return;
        }
        let (reservation, charge) = self.open.remove(rng.below(self.open.len() as u64) as usize);
        let cost = reservation.cost();
        let actual = match rng.below(4) {
            0 => 0,
            1 => cost + rng.below(4),
            _ => rng.below(cost + 1),
        };
        let (given, shortfall) = match rng.below(3) {
            0 if actual == 0 => {
                drop(reservation);
                (None, 0)
            }
            _ => {
                let settled = reservation.commit_at(actual, self.at());
                (Some(settled.given_back()), settled.shortfall())
            }
        };
        if let Some(charge) = charge {
            self.ledger.0[charge].1 = actual.min(cost);
        }
        assert!(
            given.is_none_or(|given| given <= cost.saturating_sub(actual)),
            "more than it cost"
        );
        self.enter_grants();
        let more = actual.saturating_sub(cost) - shortfall;
        if more > 0 {
            self.charge(more);
        }
    }

    fn enqueue(&mut self, cost: u64, within: Option<Duration>) {
        let queued = self.limiter.enqueue_at(KEY, cost, within, self.at());
        let is_waiting = matches!(queued, Ok(Queued::Waiting(_)));
        if let Ok(Queued::Waiting(turn)) = queued {
            let told = turn.due().as_nanos();
            let flag = Arc::default();
            self.turns.push(Waiting { turn, cost, comes: self.now, told, charge: None, flag });
            self.enter_grants();
            return;
        }
        self.enter_grants();
        if queued.is_ok() && !is_waiting {
            self.charge(cost);
        }
    }

    /// One asks; what it is told fits the list.
    fn poll(&mut self, place: usize) -> Option<u64> {
        self.polls += 1;
        let at = self.at();
        let waiting = &mut self.turns[place];
        waiting.flag.take();
        let progress = waiting.turn.poll_at(&Waker::from(waiting.flag.clone()), at);
        self.enter_grants();
        let waiting = &mut self.turns[place];
        match progress {
            Progress::Granted(_) => {
                let told = waiting.told;
                assert!(waiting.charge.is_some(), "granted, and still counted as waiting");
                self.turns.remove(place);
                Some(told)
            }
            Progress::Waiting(wait) => {
                assert!(waiting.charge.is_none(), "charged, and does not know");
                waiting.comes = self.now + u64::try_from(wait.as_nanos()).expect("seconds");
                assert!(waiting.comes > self.now, "told to ask again at once");
                None
            }
            Progress::Refused(refused) => {
                panic!("nobody was in a hurry, and one is refused: {refused:?}");
            }
        }
    }

    fn leave(&mut self, place: usize, drops: bool) {
        let Waiting { turn, charge, .. } = self.turns.remove(place);
        match drops {
            true => drop(turn),
            false => turn.leave_at(self.at()),
        }
        if let Some(charge) = charge {
            self.ledger.0[charge].1 = 0;
        }
        self.enter_grants();
    }

    /// The limiter owes what the list says, and nobody waits in vain.
    fn check(&self, has_looked: bool) {
        let (left, until) = self.ledger.least(self.policy, self.now);
        assert!(left >= 0, "{} tokens too many were admitted", -left);
        let stats = self.limiter.stats();
        assert_eq!(stats.waiters, self.waiters() as u64);
        if let Some(first) = self.turns.iter().find(|waiting| waiting.charge.is_none()) {
            assert!(!has_looked || i128::from(first.cost) > left, "it waits for what is there");
            return;
        }
        let found = self.limiter.peek_at(KEY, 0, self.at());
        let reset_after = i128::try_from(found.reset_after().as_nanos()).expect("seconds");
        assert_eq!((i128::from(found.remaining()), reset_after), (left, until));
    }

    /// In any interval there was no more than its limits admit.
    fn check_all(&self) {
        for (time, _) in &self.ledger.0 {
            let until: Vec<_> = self.ledger.0.iter().filter(|(t, _)| t <= time).copied().collect();
            assert!(Ledger(until).least(self.policy, *time).0 >= 0, "overdrawn at {time}");
        }
    }
}

fn limiter_of(policy: &Policy) -> (Limiter, ManualClock) {
    let clock = ManualClock::default();
    let limiter = Limiter::builder(policy.clone())
        .max_keys(4)
        .max_log_entries(1 << 14)
        .max_wait(Duration::MAX)
        .clock(clock.clone());
    (limiter.build().expect("a small limiter"), clock)
}

/// One to three limits of few tokens in nanoseconds, now and then in milliseconds.
fn policy(rng: &mut SplitMix64) -> Policy {
    let count = 1 + rng.below(3);
    let limits = (0..count).map(|_| {
        let algorithm = Algorithm::ALL[rng.below(4) as usize];
        let unit = if rng.below(3) == 0 { 1_000_000 } else { 1 };
        trace::nearest_limit(
            algorithm,
            rng.between(1, 12),
            rng.between(1, 60) * unit,
            rng.below(16),
        )
    });
    trace::policy_of(limits.collect())
}

fn capacity(policy: &Policy) -> u64 {
    policy.limits().iter().map(Limit::capacity).min().unwrap_or(1)
}

fn step(policy: &Policy, rng: &mut SplitMix64) -> u64 {
    let limits = policy.limits();
    let limit = &limits[rng.below(limits.len() as u64) as usize];
    let period = u64::try_from(limit.period().as_nanos()).expect("milliseconds");
    match rng.below(6) {
        0..=2 => 0,
        3 => rng.between(1, 3),
        4 => rng.between(1, period.div_ceil(limit.tokens())),
        _ => rng.between(1, 2 * period),
    }
}

#[test]
fn what_is_owed_was_charged_and_neither_refilled_nor_given_back() {
    let (mut steps, mut granted, mut settled) = (0_u64, 0, 0_u64);
    for seed in 0..2_500 {
        let mut rng = SplitMix64::new(0xc0 << 32 | seed);
        let policy = policy(&mut rng);
        let (limiter, clock) = limiter_of(&policy);
        let mut world = World::new(&limiter, &clock, &policy, 1_000_000_000_000 + rng.below(1_000));
        let most = capacity(&policy);
        for _ in 0..40 {
            let next = world.now + step(&policy, &mut rng);
            world.go_to(next);
            let cost = rng.between(1, most);
            let (turns, has_open) = (world.turns.len() as u64, !world.open.is_empty());
            let mut has_looked = true;
            match rng.below(12) {
                0 | 1 => world.acquire(cost),
                2..=4 => world.reserve(cost),
                5..=7 => {
                    settled += u64::from(has_open);
                    world.settle(&mut rng);
                    // What is committed as reserved needs no look.
                    has_looked = false;
                }
                8 | 9 => world.enqueue(cost, None),
                10 if turns > 0 => {
                    world.poll(rng.below(turns) as usize);
                }
                11 if turns > 0 => world.leave(rng.below(turns) as usize, rng.below(2) == 0),
                _ => has_looked = false,
            }
            world.check(has_looked);
            steps += 1;
        }
        while !world.turns.is_empty() {
            world.leave(0, rng.below(2) == 0);
            world.check(true);
        }
        while !world.open.is_empty() {
            world.settle(&mut rng);
            world.check(false);
        }
        world.check_all();
        granted += world.granted;
        let stats = limiter.stats();
        assert_eq!((stats.waiters, stats.reservations), (0, 0), "seed {seed}");
    }
    println!("{steps} steps, {granted} granted that waited, {settled} settled");
    assert!(steps >= 100_000 && granted > 3_000 && settled > 4_000);
}

/// Everybody asks when told or woken, and not a nanosecond passes in which the first in line could have gone.
#[test]
fn who_asks_when_told_or_woken_is_granted_as_soon_as_its_cost_is_admitted() {
    let (mut granted, mut polls, mut on_time) = (0, 0, 0_u64);
    for seed in 0..2_500 {
        let mut rng = SplitMix64::new(0xc1 << 32 | seed);
        let policy = policy(&mut rng);
        let (limiter, clock) = limiter_of(&policy);
        let mut world = World::new(&limiter, &clock, &policy, 1_000_000_000_000 + rng.below(1_000));
        let most = capacity(&policy);
        // Without any that come between, each is granted when it was told first.
        let is_quiet = seed % 2 == 0;
        let mut last = world.now;
        for _ in 0..30 {
            let next = world.now + step(&policy, &mut rng);
            ask_until(&mut world, next, is_quiet, &mut on_time);
            world.go_to(next);
            let cost = rng.between(1, most);
            match rng.below(8) {
                0 | 1 => world.acquire(cost),
                2..=4 => world.enqueue(cost, None),
                5 if !is_quiet => world.reserve(cost),
                6 if !is_quiet => world.settle(&mut rng),
                7 if !is_quiet && !world.turns.is_empty() => {
                    world.leave(rng.below(world.turns.len() as u64) as usize, false);
                }
                _ => {}
            }
            last = next;
        }
        // A newcomer that does not wait is told when it will be its turn.
        let cost = rng.between(1, most);
        let told = limiter.try_acquire_at(KEY, cost, world.at());
        world.enter_grants();
        if let Some(wait) = told.retry_after() {
            let then = world.now + u64::try_from(wait.as_nanos()).expect("seconds");
            ask_until(&mut world, then - 1, is_quiet, &mut on_time);
            world.go_to(then - 1);
            assert!(limiter.peek_at(KEY, cost, world.at()).is_denied(), "{seed}: told too late");
            ask_until(&mut world, then, is_quiet, &mut on_time);
            world.go_to(then);
            let found = limiter.try_acquire_at(KEY, cost, world.at());
            world.enter_grants();
            assert!(found.is_allowed(), "{seed}: {told:?} at {last}, then {found:?}");
        }
        (granted, polls) = (granted + world.granted, polls + world.polls);
    }
    println!("{granted} granted that waited, {on_time} of them as told first, in {polls} polls");
    assert!(granted > 10_000 && on_time > 3_000);
}

/// All who are due until then ask, and who is woken asks at once.
fn ask_until(world: &mut World<'_>, then: u64, is_quiet: bool, on_time: &mut u64) {
    // Who is told to come again comes once for each before it, at most.
    for _ in 0..10_000 {
        let woken = |waiting: &Waiting<'_>| waiting.flag.is_set();
        let first = world.turns.iter().enumerate().min_by_key(|(_, waiting)| {
            if woken(waiting) { world.now } else { waiting.comes.max(world.now) }
        });
        let Some((place, next)) = first else { return };
        let at = if woken(next) { world.now } else { next.comes.max(world.now) };
        if at > then {
            return;
        }
        if at > world.now {
            let (left, _) = world.ledger.least(world.policy, at - 1);
            let front = world.turns.iter().find(|waiting| waiting.charge.is_none());
            if let Some(front) = front {
                assert!(i128::from(front.cost) > left, "it could have gone before {at}");
            }
            world.go_to(at);
        }
        if let Some(told) = world.poll(place)
            && is_quiet
        {
            assert_eq!(told, world.now, "granted at another time than it was told");
            *on_time += 1;
        }
    }
    panic!("they ask and ask");
}

/// Time-outs that strike just when the tokens are granted lose none of them.
#[test]
fn a_hundred_thousand_waits_that_time_out_around_their_grant_lose_no_token() {
    let limit = Limit::per_second(1_000).and_then(|limit| limit.burst(10)).expect("in range");
    let policy = Policy::from(limit);
    let (limiter, clock) = limiter_of(&policy);
    let mut world = World::new(&limiter, &clock, &policy, 1_000_000_000_000);
    let mut rng = SplitMix64::new(163);
    let (mut waits, mut taken, mut untold, mut gone) = (0_u64, 0_u64, 0_u64, 0_u64);
    /// When it gives up, and when it asks for the last time before.
    struct Plan {
        gives_up: u64,
        asks: u64,
    }
    let mut plans: Vec<Plan> = Vec::new();
    while waits < 100_000 {
        while world.turns.len() < 3 {
            let cost = rng.between(1, 10);
            let hint = limiter.peek_at(KEY, cost, world.at()).retry_after();
            let in_time = hint.filter(|_| rng.below(4) == 0);
            world.enqueue(cost, in_time);
            if plans.len() < world.turns.len() {
                let due = world.turns.last().expect("it waits").told;
                let near = |rng: &mut SplitMix64| {
                    let off =
                        if rng.below(2) == 0 { rng.below(3) } else { rng.magnitude(2_000_000) };
                    let early = rng.below(2) == 0;
                    if early { due.saturating_sub(off) } else { due + off }.max(world.now)
                };
                plans.push(Plan { gives_up: near(&mut rng), asks: near(&mut rng) });
                waits += 1;
            }
        }
        let next = plans.iter().enumerate().min_by_key(|(_, plan)| plan.asks.min(plan.gives_up));
        let (place, plan) = next.expect("three wait");
        let (asks, gives_up) = (plan.asks, plan.gives_up);
        let now = asks.min(gives_up).max(world.now);
        world.go_to(now);
        if asks < gives_up {
            let is_granted = ask(&mut world, place);
            if is_granted {
                taken += 1;
                plans.remove(place);
            } else {
                plans[place].asks = u64::MAX;
            }
        } else {
            let was_granted = world.turns[place].charge.is_some();
            *(if was_granted { &mut untold } else { &mut gone }) += 1;
            world.leave(place, rng.below(2) == 0);
            plans.remove(place);
        }
        world.check(true);
        // What is long refilled says nothing any more.
        let now = world.now;
        if waits.is_multiple_of(64) && world.turns.iter().all(|waiting| waiting.charge.is_none()) {
            world.ledger.0.retain(|(time, _)| time + 1_000_000_000 > now);
        }
    }
    while !world.turns.is_empty() {
        world.leave(0, true);
    }
    world.check(true);
    let later = world.now + 10_000_000;
    assert_eq!(limiter.peek_at(KEY, 0, Nanos::from_nanos(later)).remaining(), 10);
    println!(
        "{waits} waits: {taken} taken, {untold} granted when given up, {gone} given up before"
    );
    assert!(taken > 10_000 && untold > 10_000 && gone > 10_000);
}

/// Whether it was granted, or refused because its time is over.
fn ask(world: &mut World<'_>, place: usize) -> bool {
    let at = world.at();
    let progress = world.turns[place].turn.poll_at(Waker::noop(), at);
    if let Progress::Refused(_) = progress {
        // (Those before it were late.)
        world.turns.remove(place);
        world.enter_grants();
        return true;
    }
    world.enter_grants();
    let is_granted = matches!(progress, Progress::Granted(_));
    if is_granted {
        world.turns.remove(place);
    }
    is_granted
}

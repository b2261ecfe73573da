//! Reservations and waiting against the model that keeps all history: seeded interleavings of every verb,
//! in virtual time.
//!
//! After each step all answers, the figures of the key, whose waker was called, and how many wait or hold
//! a reservation are as the model says; at the end all is settled, and after a fill time the key is as good
//! as new. What went wrong is told as a story, the shortest of those that were found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brimful::{
    Algorithm, Decision, Limit, Limiter, ManualClock, Nanos, Policy, Progress, Queued, Reservation,
    Turn,
};
use brimful_testkit::trace::{self, SplitMix64};
use brimful_testkit::{Answer, Called, Enqueued, Outcome, Polled, WaitingModel};

const STEPS_PER_WORLD: usize = 60;
/// A year: worlds stay far from the end of time.
const LONGEST_STEP: u64 = 31_536_000_000_000_000;
const KEYS: [&str; 3] = ["ann", "bob", "cyd"];

type Counts = BTreeMap<&'static str, u64>;

#[test]
fn token_buckets_settle_and_grant_as_the_model_says() {
    check("token buckets", 1, 1_400, |rng| one_limit(rng, Algorithm::TokenBucket));
}

#[test]
fn fixed_windows_settle_and_grant_as_the_model_says() {
    check("fixed windows", 2, 1_400, |rng| one_limit(rng, Algorithm::FixedWindow));
}

#[test]
fn sliding_logs_settle_and_grant_as_the_model_says() {
    check("sliding logs", 3, 1_400, |rng| one_limit(rng, Algorithm::SlidingLog));
}

#[test]
fn sliding_windows_settle_and_grant_as_the_model_says() {
    check("sliding windows", 4, 1_400, |rng| one_limit(rng, Algorithm::SlidingWindow));
}

#[test]
fn two_limits_settle_and_grant_as_the_model_says() {
    check("two limits", 5, 1_400, |rng| {
        let limits = (0..2).map(|_| {
            let algorithm = Algorithm::ALL[rng.below(4) as usize];
            limit(rng, algorithm)
        });
        trace::policy_of(limits.collect())
    });
}

#[test]
fn limits_from_anywhere_in_the_range_settle_and_grant_as_the_model_says() {
    check("the whole range", 6, 1_400, |rng| {
        let count = 1 + rng.below(2) as usize;
        trace::policy(rng, count)
    });
}

fn one_limit(rng: &mut SplitMix64, algorithm: Algorithm) -> Policy {
    Policy::from(limit(rng, algorithm))
}

/// Few tokens, so that they run out, in nanoseconds or in seconds.
fn limit(rng: &mut SplitMix64, algorithm: Algorithm) -> Limit {
    if rng.below(2) == 0 {
        return trace::small_limit(rng, algorithm);
    }
    let period = rng.between(1, 30) * [7, 1_000_000, 1_000_000_000][rng.below(3) as usize];
    trace::nearest_limit(algorithm, rng.between(1, 20), period, rng.below(20))
}

/// Runs so many worlds, and tells of the shortest that fails.
fn check(name: &str, first: u64, worlds: u64, policy: impl Fn(&mut SplitMix64) -> Policy) {
    let mut counts = Counts::new();
    let mut failures: Vec<(u64, Vec<String>)> = Vec::new();
    for world in 0..worlds {
        let seed = first << 32 | world;
        let mut rng = SplitMix64::new(seed);
        let policy = policy(&mut rng);
        if let Err(story) = run(&policy, &mut rng, &mut counts) {
            failures.push((seed, story));
        }
    }
    println!("{name}: {worlds} worlds, {counts:?}");
    failures.sort_by_key(|(_, story)| story.len());
    if let Some((seed, story)) = failures.first() {
        let failed = failures.len();
        panic!("{name}: {failed} of {worlds} worlds, such as {seed:#x}:\n{}", story.join("\n"));
    }
    let verbs = [
        "acquire",
        "allow",
        "peek",
        "reserve",
        "commit less",
        "commit equal",
        "commit more",
        "cancel",
        "drop reservation",
        "enqueue",
        "enqueue within",
        "poll early",
        "poll due",
        "poll late",
        "leave",
        "drop turn",
        "refund",
        "reset",
        "together",
    ];
    let came = [
        "admitted",
        "denied",
        "queued",
        "queue full",
        "waiting",
        "granted at once",
        "granted",
        "granted by others",
        "refused at once",
        "refused later",
        "stepped back",
        "back within tolerance",
        "gave back",
        "shortfall",
        "forfeited",
    ];
    for kind in verbs.into_iter().chain(came) {
        assert!(counts.get(kind).is_some_and(|count| *count > 15), "{name}: too few: {kind}");
    }
}

struct Waiting<'a> {
    turn: Turn<'a>,
    id: u64,
    flag: Arc<Called>,
}

struct Open<'a> {
    reservation: Reservation<'a>,
    id: Option<u64>,
}

/// One key: what the limiter handed out, and what the model says.
struct Side<'a> {
    key: &'static str,
    model: WaitingModel,
    turns: Vec<Waiting<'a>>,
    open: Vec<Open<'a>>,
}

struct World<'a> {
    limiter: &'a Limiter,
    clock: ManualClock,
    policy: &'a Policy,
    now: Nanos,
    rng: &'a mut SplitMix64,
    counts: &'a mut Counts,
    story: Vec<String>,
    /// Of 4 steps so many are at the same reading as the one before.
    idle: u64,
    /// Whether its clock ever does. What was forfeited then says only in part when the key was changed last, so
    /// nothing is.
    goes_back: bool,
    /// Whether a refund has an exact meaning while reservations are open.
    has_only_buckets: bool,
}

type Wrong = String;

fn run(policy: &Policy, rng: &mut SplitMix64, counts: &mut Counts) -> Result<(), Vec<String>> {
    let clock = ManualClock::default();
    let places = [1, 3, 8][rng.below(3) as usize];
    let longest = [Duration::from_secs(3_600), Duration::MAX][rng.below(2) as usize];
    let limiter = Limiter::builder(policy.clone())
        .max_keys(16)
        .max_log_entries(16 * 1024)
        .max_waiters_per_key(places)
        .max_wait(longest)
        .clock(clock.clone())
        .build()
        .expect("a limiter of few keys");
    let keys = 1 + rng.below(3) as usize;
    let new = |key: &&'static str| Side {
        key,
        model: WaitingModel::new(policy, places as usize, longest.as_nanos()),
        turns: Vec::new(),
        open: Vec::new(),
    };
    let mut sides: Vec<Side<'_>> = KEYS.iter().take(keys).map(new).collect();
    let start = 1_000_000_000_000_000_000 + rng.below(100_000_000_000);
    let limits: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
    let is_bucket = |limit: &Limit| limit.chosen_algorithm() == Algorithm::TokenBucket;
    let mut world = World {
        limiter: &limiter,
        clock,
        policy,
        now: Nanos::from_nanos(start),
        idle: rng.below(4),
        goes_back: rng.below(2) == 0,
        rng,
        counts,
        story: vec![format!("  {limits:?} from {start}")],
        has_only_buckets: policy.limits().iter().all(is_bucket),
    };
    let mut result = Ok(());
    for _ in 0..STEPS_PER_WORLD {
        let place = world.rng.below(keys as u64) as usize;
        world.go_on(&sides[place]);
        result = match world.rng.below(20) {
            0 => world.together(&mut sides),
            _ => world.act(&mut sides[place]),
        };
        result = result.and_then(|()| world.compare(&mut sides, place));
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| world.end(&mut sides));
    let World { mut story, .. } = world;
    result.map_err(|wrong| {
        story.push(wrong);
        story
    })
}

fn answer(decision: &Decision) -> Answer {
    Answer { outcome: Outcome::from(decision), denial: decision.denial() }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, model: T) -> Result<(), Wrong> {
    if found == model {
        return Ok(());
    }
    Err(format!("{what}:\n  found {found:?}\n  model {model:?}"))
}

impl<'a> World<'a> {
    fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn tell(&mut self, side: &Side<'_>, what: String) {
        let since = self.now.as_nanos() as i128;
        self.story.push(format!("  {since} {}: {what}", side.key));
    }

    /// Moves the clock.
    fn go_on(&mut self, side: &Side<'_>) {
        self.clock.set(self.now);
        if self.rng.below(4) < self.idle {
            return;
        }
        let limits = self.policy.limits();
        let limit = &limits[self.rng.below(limits.len() as u64) as usize];
        let (tokens, period) = (limit.tokens(), limit.period().as_nanos() as u64);
        let tolerance = u64::try_from(side.model.state().tolerance()).unwrap_or(u64::MAX);
        let fill = period.saturating_mul(limit.capacity().div_ceil(tokens));
        let short = |ns: u64| ns.min(LONGEST_STEP);
        let (tolerance, fill, edge) = (short(tolerance), short(fill), short(period));
        let ns = self.now.as_nanos();
        let to = match self.rng.below(40) {
            0..=13 => ns,
            14..=17 => ns + self.rng.between(1, 4),
            18..=21 => ns + self.rng.between(1, period.div_ceil(tokens)),
            22..=23 => ns + self.rng.between(1, edge),
            24 => ns + self.rng.between(1, fill),
            25..=26 => (ns / period + 1) * period - self.rng.below(2),
            27..=35 => {
                let dues = side.model.dues(self.now);
                let due = dues.get(self.rng.below(dues.len().max(1) as u64) as usize);
                let due = due.map_or(ns, |due| due.as_nanos());
                (due.min(ns + LONGEST_STEP) + self.rng.below(3)).saturating_sub(1)
            }
            36 => ns - self.rng.between(1, 4),
            37 => ns - self.rng.between(1, tolerance),
            38 => ns - (tolerance - 1) - self.rng.below(3),
            _ => ns - tolerance - self.rng.between(1, tolerance),
        };
        let to = if self.goes_back { to } else { to.max(ns) };
        // The story has to stay in range.
        self.now = Nanos::from_nanos(to.clamp(900_000_000_000_000_000, 9_000_000_000_000_000_000));
        self.clock.set(self.now);
        if side.model.state().is_stepped(self.now) {
            self.count("stepped back");
        } else if side.model.state().last().is_some_and(|last| self.now < last) {
            self.count("back within tolerance");
        }
    }

    fn cost(&mut self) -> u64 {
        let capacity = self.policy.limits().iter().map(Limit::capacity).min().unwrap_or(1);
        match self.rng.below(20) {
            0 => 0,
            1 => capacity + 1,
            2..=3 => capacity,
            4..=12 => self.rng.between(1, capacity.min(3)),
            _ => self.rng.between(1, capacity),
        }
    }

    fn act(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        match self.rng.below(100) {
            0..=12 => self.acquire(side),
            13..=15 => self.allow(side),
            16..=19 => self.peek(side),
            20..=34 => self.reserve(side),
            35..=50 => self.settle(side),
            51..=68 => self.enqueue(side),
            69..=86 => self.poll(side),
            87..=91 => self.leave(side),
            92..=97 => self.refund(side),
            98 => self.reset(side),
            _ => Ok(()),
        }
    }

    fn acquire(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        let cost = self.cost();
        self.tell(side, format!("acquire {cost}"));
        self.count("acquire");
        let before = side.model.peek(cost, self.now);
        let peeked = self.limiter.peek_at(side.key, cost, self.now);
        same("a peek before it", answer(&peeked), before)?;
        let found = answer(&self.limiter.try_acquire_at(side.key, cost, self.now));
        self.count(match found {
            _ if found.outcome.allowed => "admitted",
            Answer { denial: Some(brimful::Denial::Queued), .. } => "queued",
            _ => "denied",
        });
        same("acquire", found, side.model.acquire(cost, self.now))
    }

    /// Two keys, all or nothing.
    fn together(&mut self, sides: &mut [Side<'a>]) -> Result<(), Wrong> {
        let (first, second) = (self.rng.below(sides.len() as u64) as usize, sides.len() - 1);
        if first == second {
            return Ok(());
        }
        let (now, pair) = (self.now, [first, second]);
        let costs = [self.cost(), self.cost()];
        self.tell(&sides[first], format!("acquire {costs:?} together with {}", sides[second].key));
        self.count("together");
        let charges = [(sides[first].key, costs[0]), (sides[second].key, costs[1])];
        let found = self.limiter.try_acquire_all_at(&charges, now).expect("two keys");
        let mut answers = Vec::new();
        for (place, cost) in pair.into_iter().zip(costs) {
            if cost > 0 {
                sides[place].model.visit(now);
            }
            answers.push(sides[place].model.peek(cost, now));
        }
        let is_allowed = answers.iter().all(|answer| answer.outcome.allowed);
        for ((place, cost), answer) in pair.into_iter().zip(costs).zip(&mut answers) {
            let model = &mut sides[place].model;
            *answer = match answer.denial {
                None if is_allowed => model.acquire(cost, now),
                None => model.peek(0, now),
                Some(_) => model.acquire(cost, now),
            };
        }
        let outcomes = answers.iter().map(|answer| answer.outcome);
        let model = (
            is_allowed,
            outcomes.clone().map(|outcome| outcome.remaining).min(),
            outcomes.clone().map(|outcome| outcome.reset_after).max(),
            outcomes.clone().any(|outcome| outcome.never),
        );
        let is_never = found.retry() == brimful::Retry::Never;
        let reset_after = Some(found.reset_after().as_nanos());
        same(
            "together",
            (found.is_allowed(), Some(found.remaining()), reset_after, is_never),
            model,
        )?;
        if let brimful::Retry::After(wait) = found.retry() {
            let longest = outcomes.filter_map(|outcome| outcome.retry).max();
            same("together, the wait", Some(wait.as_nanos()), longest)?;
        }
        self.compare(sides, first)?;
        self.compare(sides, second)
    }

    fn allow(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        self.tell(side, "allow".into());
        self.count("allow");
        let found = self.limiter.allow(side.key);
        same("allow", found, side.model.acquire(1, self.now).outcome.allowed)
    }

    fn peek(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        let cost = self.cost();
        self.tell(side, format!("peek {cost}"));
        self.count("peek");
        let found = answer(&self.limiter.peek_at(side.key, cost, self.now));
        same("peek", found, side.model.peek(cost, self.now))
    }

    fn reserve(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        let cost = self.cost();
        self.tell(side, format!("reserve {cost}"));
        self.count("reserve");
        let found = self.limiter.reserve_at(side.key, cost, self.now);
        let (model, id) = side.model.reserve(cost, self.now);
        match found {
            Ok(reservation) => {
                let found = answer(reservation.decision());
                side.open.push(Open { reservation, id });
                same("reserve", found, model)
            }
            Err(denied) => same("reserve", answer(&denied), model),
        }
    }

    fn settle(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        if side.open.is_empty() {
            return Ok(());
        }
        let place = self.rng.below(side.open.len() as u64) as usize;
        let Open { reservation, id } = side.open.remove(place);
        let (cost, now) = (reservation.cost(), self.now);
        let (kind, actual) = match self.rng.below(12) {
            0..=4 if cost > 0 => ("commit less", self.rng.below(cost)),
            0..=5 => ("commit equal", cost),
            6..=7 => ("commit more", cost + self.rng.between(1, 4)),
            8..=9 => ("cancel", 0),
            _ => ("drop reservation", 0),
        };
        let forfeits = id.is_some_and(|id| !side.model.would_give_back(id, actual, now));
        let (kind, actual) = match forfeits && self.goes_back && actual < cost {
            true => ("commit equal", cost),
            false => (kind, actual),
        };
        self.tell(side, format!("{kind}: {actual} of {cost}"));
        self.count(kind);
        let (given, shortfall) = side.model.commit(id, cost, actual, now);
        self.count(match given {
            0 if actual < cost => "forfeited",
            0 => "kept",
            _ => "gave back",
        });
        if shortfall > 0 {
            self.count("shortfall");
        }
        match kind {
            "cancel" => same("given back", reservation.cancel_at(now), given),
            "drop reservation" => {
                drop(reservation);
                Ok(())
            }
            _ => {
                let settled = reservation.commit_at(actual, now);
                let found = (settled.given_back(), settled.shortfall());
                same("given back and shortfall", found, (given, shortfall))
            }
        }
    }

    fn enqueue(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        let (cost, now) = (self.cost(), self.now);
        let hint = side.model.peek(cost, now).outcome.retry.unwrap_or(0);
        let within = match self.rng.below(8) {
            0 => Some(hint),
            1 => Some(hint.saturating_sub(1)),
            2..=3 => Some(hint + u128::from(self.rng.below(3))),
            4 => Some(hint * 2),
            _ => None,
        };
        // (A duration has no more.)
        let within = within.map(|within| within.min(u64::MAX.into()));
        self.tell(side, format!("enqueue {cost} within {within:?}"));
        self.count(if within.is_some() { "enqueue within" } else { "enqueue" });
        let duration = within.map(|ns| Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)));
        let found = self.limiter.enqueue_at(side.key, cost, duration, now);
        let model = side.model.enqueue(cost, within, now);
        let found = match found {
            Ok(Queued::Granted(decision)) => Enqueued::Granted(answer(&decision)),
            Err(decision) => Enqueued::Refused(answer(&decision)),
            Ok(Queued::Waiting(turn)) => {
                let due = turn.due();
                let Enqueued::Waiting(id, _) = model else {
                    return Err(format!("waits till {due:?}, but in the model {model:?}"));
                };
                side.turns.push(Waiting { turn, id, flag: Arc::default() });
                Enqueued::Waiting(id, due)
            }
        };
        self.count(match found {
            Enqueued::Waiting(..) => "waiting",
            Enqueued::Granted(_) => "granted at once",
            Enqueued::Refused(Answer { denial: Some(brimful::Denial::QueueFull), .. }) => {
                "queue full"
            }
            Enqueued::Refused(_) => "refused at once",
        });
        same("enqueue", found, model)
    }

    fn poll(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        if side.turns.is_empty() {
            return Ok(());
        }
        let place = self.rng.below(side.turns.len() as u64) as usize;
        self.poll_at(side, place)
    }

    fn poll_at(&mut self, side: &mut Side<'a>, place: usize) -> Result<(), Wrong> {
        let due = side.turns[place].turn.due();
        let (now, id) = (self.now, side.turns[place].id);
        self.tell(side, format!("poll {id}, due at {due:?}"));
        self.count(match due.cmp(&now) {
            std::cmp::Ordering::Greater => "poll early",
            std::cmp::Ordering::Equal => "poll due",
            std::cmp::Ordering::Less => "poll late",
        });
        let was_granted = side.model.waits(id);
        let model = side.model.poll(id, now);
        let waiting = &mut side.turns[place];
        let found = match waiting.turn.poll_at(&Waker::from(waiting.flag.clone()), now) {
            Progress::Granted(decision) => Polled::Granted(answer(&decision)),
            Progress::Waiting(wait) => Polled::Waiting(wait.as_nanos() as u64),
            Progress::Refused(decision) => {
                let wait = decision.retry_after().map_or(0, |wait| wait.as_nanos());
                match decision.denial() {
                    Some(denial) => Polled::Refused(wait, denial),
                    None => return Err(format!("refused without a reason: {decision:?}")),
                }
            }
        };
        if !matches!(found, Polled::Waiting(_)) {
            // It says the same again.
            let again = waiting.turn.poll_at(Waker::noop(), now);
            if matches!(again, Progress::Waiting(_)) {
                return Err("it waits again".into());
            }
            side.turns.remove(place);
        }
        self.count(match found {
            Polled::Waiting(_) => "waits on",
            Polled::Granted(_) if was_granted => "granted",
            Polled::Granted(_) => "granted by others",
            Polled::Refused(..) => "refused later",
        });
        same("poll", found, model)
    }

    fn leave(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        if side.turns.is_empty() {
            return Ok(());
        }
        let place = self.rng.below(side.turns.len() as u64) as usize;
        let id = side.turns[place].id;
        let forfeits = !side.model.waits(id) && !side.model.would_give_back(id, 0, self.now);
        if forfeits && self.goes_back {
            return self.poll_at(side, place);
        }
        let Waiting { turn, .. } = side.turns.remove(place);
        let kind = if self.rng.below(2) == 0 { "leave" } else { "drop turn" };
        self.tell(side, format!("{kind} {id}"));
        self.count(kind);
        side.model.leave(id, self.now);
        match kind {
            "leave" => turn.leave_at(self.now),
            _ => drop(turn),
        }
        Ok(())
    }

    fn refund(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        if !self.has_only_buckets && side.model.reservations() > 0 {
            return Ok(());
        }
        let tokens = self.cost();
        self.tell(side, format!("refund {tokens}"));
        self.count("refund");
        let found = self.limiter.refund_at(side.key, tokens, self.now);
        same("refund", found, side.model.refund(tokens, self.now))
    }

    fn reset(&mut self, side: &mut Side<'a>) -> Result<(), Wrong> {
        self.tell(side, "reset".into());
        self.count("reset");
        self.limiter.reset(side.key);
        side.model.reset(self.now);
        Ok(())
    }

    /// Figures, wakers, and what is kept.
    fn compare(&mut self, sides: &mut [Side<'a>], place: usize) -> Result<(), Wrong> {
        let stats = self.limiter.stats();
        let waiters: usize = sides.iter().map(|side| side.model.waiters()).sum();
        same("waiters", stats.waiters, waiters as u64)?;
        let open: usize = sides.iter().map(|side| side.model.reservations()).sum();
        if stats.reservations > open as u64 {
            return Err(format!("{} reservations of {open}", stats.reservations));
        }
        if self.rng.below(8) == 0 {
            let worth = sides.iter().map(|side| side.model.worth_keeping(self.now)).sum::<usize>();
            if stats.reservations < worth as u64 {
                return Err(format!(
                    "{} reservations, {worth} are worth something",
                    stats.reservations
                ));
            }
        }
        let side = &mut sides[place];
        let costs = [0, 1, self.cost()];
        for cost in costs {
            let found = answer(&self.limiter.peek_at(side.key, cost, self.now));
            let model = side.model.peek(cost, self.now);
            same(&format!("then a peek of {cost} at {:?}", self.now), found, model)?;
        }
        let mut model = side.model.woken();
        let flags = side.turns.iter().filter(|waiting| waiting.flag.take());
        let mut found: Vec<u64> = flags.map(|waiting| waiting.id).collect();
        let known: Vec<u64> = side.turns.iter().map(|waiting| waiting.id).collect();
        model.retain(|id| known.contains(id));
        model.sort_unstable();
        found.sort_unstable();
        same("woken", found, model)
    }

    /// All go, all is settled, and after some time nothing is owed.
    fn end(&mut self, sides: &mut [Side<'a>]) -> Result<(), Wrong> {
        for place in 0..sides.len() {
            while !sides[place].turns.is_empty() {
                match self.rng.below(2) {
                    0 => self.leave(&mut sides[place])?,
                    _ => self.poll(&mut sides[place])?,
                }
                self.compare(sides, place)?;
            }
            while !sides[place].open.is_empty() {
                self.settle(&mut sides[place])?;
                self.compare(sides, place)?;
            }
        }
        let stats = self.limiter.stats();
        same("waiters and reservations", (stats.waiters, stats.reservations), (0, 0))?;
        let capacity = self.policy.limits().iter().map(Limit::capacity).min().unwrap_or(0);
        for side in sides {
            let last = side.model.state().last().map_or(self.now, |last| last.max(self.now));
            let fill = side.model.peek(0, last).outcome.reset_after;
            let Ok(fill) = u64::try_from(fill) else { continue };
            let end = Nanos::MAX.as_nanos();
            let Some(then) = last.as_nanos().checked_add(fill).filter(|then| *then < end) else {
                continue;
            };
            let left = self.limiter.peek_at(side.key, 0, Nanos::from_nanos(then)).remaining();
            same("tokens at the end", left, capacity)?;
        }
        Ok(())
    }
}

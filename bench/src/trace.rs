//! Whether contenders decide rightly, asked before anything is timed.

use std::thread;
use std::time::{Duration, Instant};

use brimful::{Limit, Limiter, Nanos};

use crate::contenders::{self, Entrant, Made, Setting};
use crate::keys::{self, Random};

const KEYS: u64 = 20;
/// Calls for each key, more than it can have.
const CALLS: usize = 25;
const LIMIT: Setting = Setting::per_second(10, 1000);
/// Two tokens and a half.
const PAUSE: Duration = Duration::from_millis(250);

/// A contender that admitted what the limit does not, and what that was.
pub struct Inexact {
    pub name: &'static str,
    pub reason: String,
}

/// Contenders with their own clocks: each key is asked for at once more often than its limit
/// admits, and again after a pause. What may be admitted follows from the time that passed.
pub fn by_own_clock(entrants: &[Entrant]) -> Vec<Inexact> {
    let keys: Vec<String> = (0..KEYS).map(|id| keys::text(id, keys::TEXT)).collect();
    let mut runs: Vec<Run> =
        entrants.iter().filter(|entrant| entrant.decides).map(Run::new).collect();
    for run in &mut runs {
        run.drain(&keys);
    }
    thread::sleep(PAUSE);
    runs.into_iter().filter_map(|mut run| run.again(&keys)).collect()
}

/// Many keys a call, by the limiter's own clock: what all keys together were admitted.
pub fn batch_by_own_clock() -> Result<(), String> {
    let keys: Vec<String> =
        (0..CALLS).flat_map(|_| 0..KEYS).map(|id| keys::text(id, keys::TEXT)).collect();
    let batch = contenders::batch(&LIMIT);
    let before = Instant::now();
    let admitted = batch.run(&keys) as u64;
    let (least, most) = (KEYS * 10, KEYS * (10 + tokens_in(before.elapsed())));
    if (least..=most).contains(&admitted) {
        Ok(())
    } else {
        Err(format!("calls with many keys: admitted {admitted}, expected {least} to {most}"))
    }
}

struct Run {
    name: &'static str,
    contender: Made<String>,
    before: Instant,
    after: Instant,
    /// For each key.
    admitted: Vec<u64>,
    fault: Option<String>,
}

impl Run {
    fn new(entrant: &Entrant) -> Self {
        let now = Instant::now();
        Self {
            name: entrant.name,
            contender: (entrant.text)(&LIMIT),
            before: now,
            after: now,
            admitted: vec![0; KEYS as usize],
            fault: None,
        }
    }

    /// Asks for each key in turn, again and again.
    fn ask(&mut self, keys: &[String]) {
        for _ in 0..CALLS {
            for (key, admitted) in keys.iter().zip(&mut self.admitted) {
                *admitted += self.contender.run(std::slice::from_ref(key)) as u64;
            }
        }
    }

    fn drain(&mut self, keys: &[String]) {
        self.before = Instant::now();
        self.ask(keys);
        self.after = Instant::now();
        self.expect(10, 10 + tokens_in(self.after - self.before), "at once");
    }

    fn again(&mut self, keys: &[String]) -> Option<Inexact> {
        let idle = Instant::now() - self.after;
        self.ask(keys);
        // A key was drained some time before the pause began, and asked for last after it ended.
        let most = 10 + tokens_in(self.before.elapsed());
        self.expect(10 + tokens_in(idle), most, "after a pause");
        self.fault.take().map(|reason| Inexact { name: self.name, reason })
    }

    fn expect(&mut self, least: u64, most: u64, when: &str) {
        let wrong = self.admitted.iter().find(|admitted| !(least..=most).contains(admitted));
        if let Some(admitted) = wrong
            && self.fault.is_none()
        {
            let limit = "10 a second, burst 10";
            let expected = format!("expected {least} to {most}");
            self.fault = Some(format!("{limit}, {when}: admitted {admitted}, {expected}"));
        }
    }
}

/// Whole tokens of [`LIMIT`] that are refilled in a time.
fn tokens_in(time: Duration) -> u64 {
    (time.as_nanos() * u128::from(LIMIT.tokens) / LIMIT.period.as_nanos()) as u64
}

/// brimful at given times, beside the same rule in exact whole numbers: the first difference.
pub fn by_given_times() -> Result<(), String> {
    for (tokens, period, burst) in
        [(10, 1_000_000_000, 10), (3, 1_000_000_000, 7), (7, 11, 1), (1000, 999_999_937, 2)]
    {
        let limit = Limit::new(tokens, Duration::from_nanos(period)).and_then(|l| l.burst(burst));
        let limit = limit.map_err(|error| error.to_string())?;
        let limiter = Limiter::builder(limit.clone()).max_keys(100).build();
        let limiter = limiter.map_err(|error| error.to_string())?;
        let mut model = Model::new(tokens, period, burst);
        let mut random = Random::new(tokens);
        let mut now = 1_700_000_000_000_000_000;
        for call in 0..10_000 {
            // About as much is asked for as is refilled, with pauses between.
            now += random.below(2 * period / tokens / KEYS + 2);
            if random.below(500) == 0 {
                now += random.below(2 * burst * period / tokens + 1);
            }
            let (key, cost) = (random.below(KEYS), random.below(burst.min(3) + 1));
            if random.below(4) == 0 {
                // The first nanosecond at which it is admitted, or the last at which it is not.
                now = now.max(model.ready_at(key as usize, cost) - random.below(2));
            }
            let ours = limiter.try_acquire_at(key, cost, Nanos::from_nanos(now)).is_allowed();
            let right = model.admits(key as usize, cost, now);
            if ours != right {
                return Err(format!("{limit}, call {call}: {ours}, the model says {right}"));
            }
        }
    }
    Ok(())
}

/// A bucket for each key by the time at which it is full, counted in 1 / tokens of a nanosecond so
/// that nothing is rounded.
struct Model {
    tokens: i128,
    period: i128,
    burst: i128,
    full_at: Vec<i128>,
}

impl Model {
    fn new(tokens: u64, period: u64, burst: u64) -> Self {
        let full_at = vec![0; KEYS as usize];
        Self { tokens: tokens.into(), period: period.into(), burst: burst.into(), full_at }
    }

    /// The first time, in nanoseconds, at which the cost is admitted; 1 when it always was.
    fn ready_at(&self, key: usize, cost: u64) -> u64 {
        let due = self.full_at[key] + (i128::from(cost) - self.burst) * self.period;
        u64::try_from((due + self.tokens - 1).div_euclid(self.tokens)).unwrap_or(1).max(1)
    }

    fn admits(&mut self, key: usize, cost: u64, now: u64) -> bool {
        let now = i128::from(now) * self.tokens;
        let full_at = self.full_at[key].max(now) + i128::from(cost) * self.period;
        let admits = cost == 0 || full_at <= now + self.burst * self.period;
        if admits {
            self.full_at[key] = full_at;
        }
        admits
    }
}

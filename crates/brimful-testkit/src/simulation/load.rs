//! What is asked of the limiter, and when: phases of load, one after the other.

use std::cmp::Ordering;
use std::time::Duration;

use brimful::Nanos;

use super::calls::{Spend, Verb};
use super::setup::{By, name};
use super::world::{Check, World};

/// What goes on for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Few calls, and much time between them.
    Quiet,
    /// All regular keys, as time goes on.
    Steady,
    /// One key, again and again.
    Hot,
    /// Strangers, each of whom spends all that it has.
    Drained,
    /// Strangers, each of whom spends hardly anything.
    Light,
    /// After a pause everyone comes back.
    Return,
    /// Callers of all tiers, and such as bring their limits.
    Tiers,
    /// Much is given back, or forgotten.
    Refunds,
    /// Batches, and calls for several keys.
    Together,
    /// A clock that is set back, and forth.
    Clock,
}

impl Phase {
    const ALL: [Self; 10] = [
        Self::Quiet,
        Self::Steady,
        Self::Hot,
        Self::Drained,
        Self::Light,
        Self::Return,
        Self::Tiers,
        Self::Refunds,
        Self::Together,
        Self::Clock,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::Quiet => "few calls, and long pauses",
            Self::Steady => "steady load",
            Self::Hot => "one hot key",
            Self::Drained => "a flood of strangers who spend all they have",
            Self::Light => "a flood of strangers who spend little",
            Self::Return => "everyone returns after a pause",
            Self::Tiers => "callers of all tiers, and some who bring their limits",
            Self::Refunds => "refunds and resets",
            Self::Together => "batches and calls for several keys",
            Self::Clock => "a clock that is set back and forth",
        }
    }
}

/// What one trace goes through.
#[derive(Clone, Debug)]
pub(super) struct Load {
    phase: Phase,
    left: u64,
    phases: u64,
    hot: u32,
}

impl Load {
    pub(super) fn new(world: &mut World) -> Self {
        let phases = world.rng.between(3, 6);
        Self { phase: Phase::Steady, left: 0, phases, hot: 0 }
    }

    /// Whether there is a step more; what begins with it, if anything does.
    pub(super) fn goes_on(&mut self, world: &mut World) -> Option<Option<&'static str>> {
        if self.left > 0 {
            self.left -= 1;
            return Some(None);
        }
        self.phases = self.phases.checked_sub(1)?;
        let rng = &mut world.rng;
        self.phase = Phase::ALL[rng.below(Phase::ALL.len() as u64) as usize];
        self.left = rng.between(8, 32);
        self.hot = regular(world);
        if self.phase == Phase::Return {
            let pause = Duration::from_nanos(world.rng.magnitude(1 << 45));
            world.set_clock(world.now + pause);
        }
        Some(Some(self.phase.words()))
    }

    /// One step.
    pub(super) fn step(&mut self, world: &mut World) -> Check {
        self.turn_clock(world);
        match self.phase {
            Phase::Drained | Phase::Light if world.rng.below(8) > 0 => self.flood(world),
            Phase::Refunds if world.rng.below(2) == 0 => give_back(world),
            Phase::Together if world.rng.below(3) > 0 => several(world),
            Phase::Return if world.rng.below(4) > 0 => come_back(world),
            _ => match world.rng.below(24) {
                0 | 1 => give_back(world),
                2 => several(world),
                3 => peek(world),
                _ => self.call(world),
            },
        }
    }

    fn turn_clock(&self, world: &mut World) {
        let now = match (self.phase, world.rng.below(16)) {
            (Phase::Clock, 0..=6) => back(world),
            (Phase::Drained | Phase::Light, 2..) => return,
            (Phase::Quiet, 0..=8) => forth(world, 1 << 44),
            (_, 0..=6) => return,
            (_, 7 | 8) => forth(world, 1 << 30),
            (_, 9..=11) => forth(world, 1 << 38),
            (_, 12) => boundary(world),
            (_, 13 | 14) => refilled(world),
            _ if world.rng.below(4) == 0 => back(world),
            _ => forth(world, 1 << 20),
        };
        let (from, to) = (world.now, now);
        world.set_clock(now);
        world.tell(|| match from.cmp(&to) {
            Ordering::Equal => String::new(),
            Ordering::Less => format!("+{:?}: ", to.since(from)),
            Ordering::Greater => format!("-{:?}: ", from.since(to)),
        });
    }

    fn call(&self, world: &mut World) -> Check {
        // As the last denial advised, or a nanosecond sooner.
        if world.rng.below(6) == 0
            && let Some((key, by, cost, then)) = world.advice.take()
            && then > world.now
        {
            let early = u64::from(world.rng.below(3) == 0);
            world.set_clock(Nanos::from_nanos(then.as_nanos() - early));
            return spend(world, Spend { key, by, cost, verb: Verb::Clock });
        }
        let key = match self.phase {
            Phase::Hot if world.rng.below(4) > 0 => self.hot,
            _ => anyone(world),
        };
        let by = world.caller(self.phase == Phase::Tiers);
        let cost = cost(world, key, by);
        let verb = match world.rng.below(8) {
            0 if self.phase == Phase::Clock => Verb::At(back(world)),
            0 => Verb::At(near(world)),
            1..=3 => Verb::Allow,
            _ => Verb::Clock,
        };
        spend(world, Spend { key, by, cost, verb })
    }

    /// New keys, alone or in a batch; in large stores many at once, so that they fill up.
    fn flood(&self, world: &mut World) -> Check {
        let many = world.setup.max_keys / 16 + 1;
        let count = match world.rng.below(3) {
            0 => world.rng.between(2, 2 + many * 2),
            _ if world.setup.max_keys > 51 => world.rng.between(many, many * 2),
            _ => 1,
        };
        let keys: Vec<u32> = (0..count).map(|_| world.stranger()).collect();
        let least = capacity(world, keys[0], By::Nobody);
        let cost = match self.phase {
            Phase::Drained => least,
            _ => 1,
        };
        match keys.as_slice() {
            [key] => {
                let spend_it = Spend { key: *key, by: By::Nobody, cost, verb: Verb::Clock };
                spend(world, spend_it)
            }
            _ => batch(world, &keys, cost, None),
        }
    }
}

fn spend(world: &mut World, spend: Spend) -> Check {
    let Spend { key, by, cost, verb } = spend;
    let clock = world.now;
    world.tell(|| {
        let at = match verb {
            Verb::Allow => "1 by allow".to_owned(),
            Verb::Clock => amount(cost),
            Verb::At(at) => format!("{}{}", amount(cost), when(clock, Some(at))),
        };
        format!("{}{} takes {at}: ", name(key), caller(by))
    });
    let cost = if verb == Verb::Allow { 1 } else { cost };
    world.spend(&Spend { cost, ..spend })
}

/// The time of a call that brings its own, seen from the clock's.
fn when(clock: Nanos, at: Option<Nanos>) -> String {
    match at {
        Some(at) if at > clock => format!(" at a time {:?} ahead", at.since(clock)),
        Some(at) if at < clock => format!(" at a time {:?} behind", clock.since(at)),
        _ => String::new(),
    }
}

/// A cost, or tokens to give back.
fn amount(tokens: u64) -> String {
    if tokens == u64::MAX { "2^64 - 1".to_owned() } else { tokens.to_string() }
}

fn caller(by: By) -> String {
    match by {
        By::Nobody => String::new(),
        By::Tier(tier) => format!(" ({})", super::world::tier_name(tier)),
        By::Given(place) => format!(" (by the given policy {place})"),
    }
}

fn batch(world: &mut World, keys: &[u32], cost: u64, at: Option<Nanos>) -> Check {
    let clock = world.now;
    world.tell(|| {
        let names: Vec<String> = keys.iter().take(4).map(|key| name(*key)).collect();
        let more = if keys.len() > names.len() { ", ..." } else { "" };
        let names = names.join(", ");
        format!(
            "a batch of {} keys takes {cost} each ({names}{more}){}: ",
            keys.len(),
            when(clock, at)
        )
    });
    world.batch(keys, cost, at)
}

fn give_back(world: &mut World) -> Check {
    let key = anyone(world);
    if world.rng.below(4) == 0 {
        world.tell(|| format!("{} is reset: ", name(key)));
        return world.reset(key);
    }
    let tokens = match world.rng.below(4) {
        0 => u64::MAX,
        1 => 0,
        _ => world.rng.between(1, 6),
    };
    let at = (world.rng.below(4) == 0).then(|| near(world));
    let (clock, most) = (world.now, amount(tokens));
    world.tell(|| format!("{} gets up to {most} back{}: ", name(key), when(clock, at)));
    world.refund(key, tokens, at)
}

fn peek(world: &mut World) -> Check {
    let (key, now) = (anyone(world), near(world));
    let clock = world.now;
    world.tell(|| format!("a look at {}{}", name(key), when(clock, Some(now))));
    world.look_at(key, now)
}

/// A batch of some keys, or a call for all of them.
fn several(world: &mut World) -> Check {
    let count = world.rng.between(1, 6);
    let mut keys: Vec<u32> = (0..count)
        .map(|_| if world.rng.below(3) == 0 { world.stranger() } else { anyone(world) })
        .collect();
    let at = if world.rng.below(3) == 0 { near(world) } else { world.now };
    if world.rng.below(2) == 0 {
        keys.sort_unstable();
        keys.dedup();
        let cost = world.rng.below(4);
        return batch(world, &keys, cost, Some(at));
    }
    let by = match world.caller(false) {
        By::Given(_) => By::Nobody,
        by => by,
    };
    let charges: Vec<(u32, u64)> = keys
        .into_iter()
        .map(|key| {
            let cost = if world.rng.below(4) == 0 { cost(world, key, by) } else { 1 };
            (key, cost)
        })
        .collect();
    let clock = world.now;
    world.tell(|| {
        let named =
            charges.iter().map(|(key, cost)| format!("{} of {}", amount(*cost), name(*key)));
        let named = named.collect::<Vec<_>>().join(", ");
        format!("together{}: {named}{}: ", caller(by), when(clock, Some(at)))
    });
    world.together(by, &charges, at)
}

/// One of those that were there before.
fn come_back(world: &mut World) -> Check {
    let key = anyone(world);
    let cost = cost(world, key, By::Nobody);
    spend(world, Spend { key, by: By::Nobody, cost, verb: Verb::Clock })
}

fn regular(world: &mut World) -> u32 {
    let regulars = world.setup.regulars;
    world.rng.below(regulars.into()) as u32
}

/// A regular key, or a stranger of before.
fn anyone(world: &mut World) -> u32 {
    match world.rng.below(4) {
        0 if world.strangers > 0 => {
            super::setup::STRANGERS + 1 + world.rng.below(world.strangers.into()) as u32
        }
        _ => regular(world),
    }
}

fn capacity(world: &World, key: u32, by: By) -> u64 {
    let ruled = world.setup.resolve(key, by);
    let limits = world.policy(&ruled).limits().iter();
    limits.map(brimful::Limit::capacity).min().unwrap_or(1)
}

fn cost(world: &mut World, key: u32, by: By) -> u64 {
    let capacity = capacity(world, key, by);
    match world.rng.below(16) {
        0 => 0,
        1 => capacity + 1,
        2 => u64::MAX,
        3..=5 => capacity,
        6..=9 => world.rng.between(1, capacity),
        _ => 1,
    }
}

/// Later, by a time of any order of magnitude.
fn forth(world: &mut World, most: u64) -> Nanos {
    world.now + Duration::from_nanos(world.rng.magnitude(most))
}

/// A window of someone's begins then.
fn boundary(world: &mut World) -> Nanos {
    let key = regular(world);
    let ruled = world.setup.resolve(key, By::Nobody);
    let limits = world.policy(&ruled).limits();
    let Some(limit) = limits.first() else { return world.now };
    let width = u64::try_from(limit.period().as_nanos()).unwrap_or(u64::MAX);
    let early = world.rng.below(3) / 2;
    Nanos::from_nanos((world.now.as_nanos() / width + 1) * width - early)
}

/// A key is as good as new then, or a nanosecond later.
fn refilled(world: &mut World) -> Nanos {
    let key = anyone(world);
    let Some(look) = world.peek(key, By::Nobody, 0, world.now) else { return world.now };
    let early = u64::from(world.rng.below(3) == 0);
    let then = world.now + look.reset_after();
    match look.reset_after().is_zero() {
        false if then.as_nanos() < 1 << 62 => Nanos::from_nanos(then.as_nanos() - early),
        _ => world.now,
    }
}

/// Earlier: a little, within the tolerance, about at its end, or far beyond it; or at the latest
/// time there was.
fn back(world: &mut World) -> Nanos {
    let by = match world.rng.below(8) {
        0 | 1 => world.rng.between(1, 16),
        2 | 3 => world.rng.magnitude(10_000_000_000),
        4 => 10_000_000_000 + world.rng.below(3) - 1,
        5 => world.rng.magnitude(1 << 47),
        6 => world.rng.magnitude(1 << 52),
        _ => return world.latest,
    };
    Nanos::from_nanos(world.now.as_nanos().saturating_sub(by))
}

/// Mostly now; or a moment before or after.
fn near(world: &mut World) -> Nanos {
    let by = world.rng.magnitude(1 << 32);
    match world.rng.below(6) {
        0 => Nanos::from_nanos(world.now.as_nanos().saturating_sub(by)),
        1 => world.now + Duration::from_nanos(by),
        _ => world.now,
    }
}

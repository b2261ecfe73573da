//! Seeded simulation: one seed is one trace of mixed policies, floods, clock steps and load that
//! comes back, on one thread, the same on every machine for ever.
//!
//! A trace decides by itself which rules, which store and which clock there are, and goes through
//! some phases of load. After each step the limiter is compared with the exact model in every field
//! of every answer, and what the design promises is asserted:
//!
//! * a peek is the call that follows, and changes nothing; a denial charges nothing;
//! * hints are tight; never is said exactly to what exceeds the capacity;
//! * no more than the capacity is ever left, and elapsed time takes nothing away;
//! * a key is in one slot, or none; slots are taken by keys that were charged;
//! * what is forgotten in debt is counted, with all that it owed, and where the whole store is one
//!   set it is the key that owes least; nobody is forgotten or refused while there is a place;
//! * strangers who share have one budget; the counters add up, and no size ever changes;
//! * in the end every key is reset, and nothing is left.
//!
//! # What a call for one key may do to another
//!
//! The model forgets nobody. A limiter may, and what it may is all that is allowed here:
//!
//! * A key that owes nothing at the reading of some call may be new from then on, and so may what
//!   has expired from a log be gone. This shows only to readings before that one. It is allowed only
//!   after calls that reused a slot or brought their limits, or, for entries, that found the arena
//!   half used.
//! * A call that finds no slot, or the arena full, makes keys whose last change lies ahead of its
//!   reading by more than their tolerance refill from its reading on.
//! * A key in debt is forgotten under [`Overflow::Evict`](brimful::Overflow::Evict), and counted.
//!
//! So a key is believed to be in one of some states (`simulation/belief.rs`), nearly always one.

mod batch;
mod belief;
mod calls;
mod hints;
mod invariants;
mod load;
mod setup;
mod together;
mod totals;
mod world;

use std::fmt;

use load::Load;
use world::{Check, World};

pub use totals::{Event, Totals};

/// Steps of a trace after which all keys are looked at.
const LOOKS: u64 = 16;

/// What went wrong, and what led to it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the trace.
    pub seed: u64,
    /// The step at which it went wrong.
    pub step: u64,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Failure {
    /// What is wrong, the last steps of the story, and the command that tells all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LINES: usize = 20;
        let Self { seed, step, why } = self;
        let lines = story(*seed).lines;
        writeln!(f, "seed {seed}, step {step}: {why}")?;
        let skipped = lines.len().saturating_sub(LINES);
        lines.iter().skip(skipped).try_for_each(|line| writeln!(f, "  {line}"))?;
        write!(f, "the whole story: cargo run -p brimful-testkit --example simulate -- {seed}")
    }
}

/// A trace in words, one line a step.
#[derive(Clone, Debug)]
pub struct Story {
    /// The settings, then the steps.
    pub lines: Vec<String>,
    /// What went wrong at the end.
    pub failure: Option<Failure>,
}

/// Runs the trace of a seed.
///
/// # Errors
/// The limiter did something that it must not.
pub fn run(seed: u64) -> Result<Totals, Box<Failure>> {
    let mut world = World::new(seed, false);
    let result = trace(&mut world, |_, _| {});
    let totals = world.totals;
    result.map_or_else(|(step, why)| Err(Box::new(Failure { seed, step, why })), |()| Ok(totals))
}

/// Tells the trace of a seed, up to where it goes wrong.
#[must_use]
pub fn story(seed: u64) -> Story {
    let mut world = World::new(seed, true);
    let mut lines: Vec<String> = world.setup.to_string().lines().map(str::to_owned).collect();
    let result = trace(&mut world, |step, line| lines.push(format!("{step:4}  {line}")));
    let failure = result.err().map(|(step, why)| Failure { seed, step, why });
    Story { lines, failure }
}

/// Runs all steps; `tell` is told each. An error has the number of the step.
fn trace(world: &mut World, mut tell: impl FnMut(u64, &str)) -> Result<(), (u64, String)> {
    let mut load = Load::new(world);
    let mut step = 0;
    while let Some(begins) = load.goes_on(world) {
        if let Some(words) = begins {
            tell(step, &format!("-- {words}"));
        }
        step += 1;
        world.totals.count(Event::Step);
        let result = load.step(world).and_then(|()| after(world, step));
        if let Some(told) = world.told.as_mut() {
            tell(step, told.trim_end_matches([' ', ';', ':']));
            told.clear();
        }
        result.map_err(|why| (step, why))?;
    }
    tell(step, "-- every key is reset");
    world.forget_all().map_err(|why| (step, why))
}

/// What must hold after each step.
fn after(world: &mut World, step: u64) -> Check {
    if step.is_multiple_of(LOOKS) {
        world.look_at_all()?;
    }
    world.tidy();
    world.counters()
}

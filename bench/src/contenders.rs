//! Who takes part. Each is used through its public interface, with its default clock, hasher and
//! features unless its note says otherwise.

mod brimful;
mod floor;
#[cfg(feature = "peers")]
mod governor;
#[cfg(feature = "peers")]
mod maps;
#[cfg(feature = "peers")]
mod others;
#[cfg(feature = "peers")]
mod quota;

use std::hint::black_box;
use std::time::{Duration, Instant};

pub use brimful::{Allow, batch, limiter};

/// The limit that every contender is given, as far as it can express it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub tokens: u32,
    pub period: Duration,
    pub burst: u32,
    /// Live keys to make room for, where that can be said.
    pub keys: u64,
}

impl Setting {
    pub const fn per_second(tokens: u32, keys: u64) -> Self {
        Self { tokens, period: Duration::from_secs(1), burst: tokens, keys }
    }

    pub const fn per_hour(tokens: u32, burst: u32, keys: u64) -> Self {
        Self { tokens, period: Duration::from_secs(3600), burst, keys }
    }

    /// Nanoseconds for one token; whole in every setting used here.
    #[cfg(feature = "peers")]
    fn interval(&self) -> Duration {
        self.period / self.tokens
    }
}

/// One decision for one key: what a peer's file says.
pub trait Check<K>: Send + Sync {
    fn check(&self, key: &K) -> bool;
}

/// Many decisions in one dynamic call, so that the call for each key is a static one.
pub trait Contender<K>: Send + Sync {
    /// Decides for each key, and says how many were admitted.
    fn run(&self, keys: &[K]) -> usize;

    /// Decides for each key, and appends what each call took, in nanoseconds.
    fn time_each(&self, keys: &[K], times: &mut Vec<u64>);
}

impl<K, T: Check<K>> Contender<K> for T {
    fn run(&self, keys: &[K]) -> usize {
        keys.iter().filter(|key| black_box(self.check(black_box(key)))).count()
    }

    fn time_each(&self, keys: &[K], times: &mut Vec<u64>) {
        for key in keys {
            let start = Instant::now();
            black_box(self.check(black_box(key)));
            times.push(start.elapsed().as_nanos() as u64);
        }
    }
}

pub type Made<K> = Box<dyn Contender<K>>;
type Make<K> = fn(&Setting) -> Made<K>;

/// A contender that can be made.
#[derive(Clone, Copy)]
pub struct Entrant {
    pub name: &'static str,
    /// With text keys.
    pub text: Make<String>,
    /// With `u64` keys, where it takes any.
    pub number: Option<Make<u64>>,
    /// False for a floor, which admits everything.
    pub decides: bool,
    /// What to know beside its figures.
    pub note: &'static str,
}

/// All that this build has.
pub fn all() -> Vec<Entrant> {
    let mut all = Vec::new();
    all.extend(brimful::ENTRANTS);
    #[cfg(feature = "peers")]
    {
        all.extend(governor::ENTRANTS);
        all.extend(quota::ENTRANTS);
        all.extend(maps::ENTRANTS);
        all.extend(others::ENTRANTS);
    }
    all.extend(floor::ENTRANTS);
    all
}

/// Contenders that have no row, or none for `u64` keys, and why.
pub fn absent() -> Vec<(&'static str, &'static str)> {
    let mut absent = Vec::new();
    if !cfg!(feature = "peers") {
        absent.push(("peers", "built without the feature `peers`"));
    } else if cfg!(feature = "quota-slot-cache") {
        absent.push((
            "quota-no-slot-cache",
            "one build holds one version of a crate with one set of features; build with \
             --no-default-features --features peers to have it in the place of quota",
        ));
    } else {
        absent.push(("quota", "built without its cache; see quota-no-slot-cache"));
    }
    absent
}

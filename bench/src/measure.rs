//! Rounds of timed runs, the contenders of each round in another order.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::contenders::Contender;
use crate::keys::Random;

/// Values of the same figure, one for each round.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<f64>);

impl From<f64> for Values {
    fn from(value: f64) -> Self {
        Self(vec![value])
    }
}

impl Values {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    pub fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 {
            self.0[middle]
        } else {
            f64::midpoint(self.0[middle - 1], self.0[middle])
        }
    }

    pub fn least(&self) -> f64 {
        self.0[0]
    }

    pub fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// What a contender needed for a call, in nanoseconds, and how many calls it admitted.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub ns: Values,
    pub admitted: usize,
    pub calls: usize,
}

/// Times every contender with the keys of each round, cut into one part for each thread. The keys
/// are the same for all; the order of the contenders is not.
pub fn rounds<K: Fresh>(
    rows: &[&dyn Contender<K>],
    rounds: usize,
    threads: usize,
    random: &mut Random,
    mut keys: impl FnMut(&mut Random) -> Vec<K>,
) -> Vec<Taken> {
    let mut taken = vec![Taken::default(); rows.len()];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    for _ in 0..rounds {
        let keys = keys(random);
        random.shuffle(&mut order);
        for &index in &order {
            let (ns, admitted) = run(rows[index], &keys, threads);
            taken[index].ns.push(ns);
            taken[index].admitted += admitted;
            taken[index].calls += keys.len();
        }
    }
    taken
}

/// Nanoseconds a call on the slowest thread, and how many calls were admitted.
/// Keys that are asked for at a stretch. They have just been looked at when it begins, as a request's
/// key has been read from the network: what is timed does not fetch them from memory.
const STRETCH: usize = 1024;

/// A key whose bytes can be looked at.
pub trait Fresh: Sync {
    fn look(&self);
}

impl Fresh for String {
    fn look(&self) {
        black_box((self.as_bytes().first().copied(), self.as_bytes().last().copied()));
    }
}

impl Fresh for u64 {
    fn look(&self) {
        black_box(*self);
    }
}

fn run<K: Fresh>(contender: &dyn Contender<K>, keys: &[K], threads: usize) -> (f64, usize) {
    let part = keys.len() / threads;
    let timed = |keys: &[K]| {
        let (mut took, mut admitted) = (Duration::ZERO, 0);
        for keys in keys.chunks(STRETCH) {
            keys.iter().for_each(Fresh::look);
            let start = Instant::now();
            admitted += black_box(contender.run(black_box(keys)));
            took += start.elapsed();
        }
        (took.as_nanos() as f64 / keys.len() as f64, admitted)
    };
    if threads == 1 {
        return timed(keys);
    }
    let barrier = Barrier::new(threads);
    let results = on_threads(keys.chunks_exact(part), |keys| {
        barrier.wait();
        timed(keys)
    });
    results
        .into_iter()
        .fold((0.0, 0), |(slowest, sum), (ns, admitted)| (f64::max(slowest, ns), sum + admitted))
}

/// Does the work on a thread for each input, at the same time.
pub fn on_threads<I: Send, O: Send>(
    inputs: impl Iterator<Item = I>,
    work: impl Fn(I) -> O + Sync,
) -> Vec<O> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = inputs.map(|input| scope.spawn(move || work(input))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that panicked")).collect()
    })
}

/// Does untimed work for all inputs on two threads; the outputs are in the order of the inputs.
pub fn by_twos<I: Send, O: Send>(
    inputs: impl Iterator<Item = I>,
    work: impl Fn(I) -> O + Sync,
) -> Vec<O> {
    let queue: Mutex<VecDeque<(usize, I)>> = Mutex::new(inputs.enumerate().collect());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let mut outputs: Vec<(usize, O)> = on_threads([(); 2].into_iter(), |()| {
        let mut outputs = Vec::new();
        while let Some((place, input)) = next() {
            outputs.push((place, work(input)));
        }
        outputs
    })
    .into_iter()
    .flatten()
    .collect();
    outputs.sort_by_key(|(place, _)| *place);
    outputs.into_iter().map(|(_, output)| output).collect()
}

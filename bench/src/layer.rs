//! The layer of brimful-tower beside that of tower_governor: around a service that is called directly,
//! and in a server.

pub mod contenders;
pub mod direct;
pub mod served;

use crate::measure::Values;
use crate::report::Report;

/// How much is measured.
pub struct Plan {
    /// Rounds of each direct workload.
    pub rounds: usize,
    /// Requests of a contender in a round.
    pub requests: usize,
    /// Rounds of each workload with a server.
    pub served_rounds: usize,
    /// Requests on each connection to a server in a round.
    pub served_requests: usize,
}

impl Plan {
    pub const QUICK: Self =
        Self { rounds: 5, requests: 8_192, served_rounds: 5, served_requests: 128 };
    pub const FULL: Self =
        Self { rounds: 21, requests: 32_768, served_rounds: 15, served_requests: 512 };
}

/// Whether all clients stay within their limits, or all are beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    Denied,
}

impl Outcome {
    pub const ALL: [Self; 2] = [Self::Allowed, Self::Denied];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }
}

/// Values of each contender, all of which took turns in the same rounds.
pub struct Found {
    pub name: &'static str,
    /// By round.
    pub values: Vec<f64>,
}

/// Reports what was found, and beside it what each adds to the bare service in the same round.
pub fn report(report: &mut Report, workload: &str, unit: &'static str, found: &[Found]) {
    for Found { name, values } in found {
        report.figure(workload, name, unit, all(values.iter().copied()));
    }
    report.ratios(workload);
}

/// What each contender takes beyond the bare service in the same round.
pub fn report_added(report: &mut Report, workload: &str, unit: &'static str, found: &[Found]) {
    let workload = format!("{workload}-added");
    let Some((bare, others)) = found.split_first() else { return };
    for Found { name, values } in others {
        let added = values.iter().zip(&bare.values).map(|(value, bare)| value - bare);
        report.figure(&workload, name, unit, all(added));
    }
    report.ratios(&workload);
}

fn all(values: impl Iterator<Item = f64>) -> Values {
    let mut all = Values::default();
    values.for_each(|value| all.push(value));
    all
}

/// What is done, by the names of the workloads.
pub const WORKLOADS: [(&str, &str); 9] = [
    (
        "layer-allowed-*",
        "a service behind the layer is called directly, polled once, and its response dropped; \
         requests have a `ConnectInfo` and are made outside of the time; 10^9 a second",
    ),
    ("layer-denied-*", "the same, one an hour and burst 1, all spent"),
    ("*-uniform-*", "10^4 clients, asked for evenly"),
    ("*-zipf-*", "10^4 clients, by Zipf with exponent 1"),
    ("*-hot-*", "one client"),
    ("*-1t", "one thread"),
    ("*-2t", "half of the requests on each of two threads; the slower one's time"),
    ("*-added", "what each takes beyond `bare` in the same round; medians of the differences"),
    (
        "served-*",
        "axum's server with one worker thread, 32 connections that are kept, from 32 addresses on \
         the loopback device; each sends a request when the last is answered. Client and server \
         share the processor, and the server is most of it: `bare-again` is the bare service once \
         more, and says what differences mean nothing",
    ),
];

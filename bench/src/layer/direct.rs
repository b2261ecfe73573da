//! Services that are called directly, without a server: nanoseconds a request.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};

use super::contenders::{Direct, ENTRANTS, LIVE};
use super::{Found, Outcome, Plan, report, report_added};
use crate::keys::{Popularity, Random, Zipf};
use crate::measure::{Values, on_threads};
use crate::report::Report;

/// Requests that are sent at a stretch, and made before it, outside of the time.
const STRETCH: usize = 256;

/// Measures all workloads.
///
/// # Errors
/// A contender let through what it should not, or did not let through what it should.
pub fn measure(plan: &Plan, report_to: &mut Report) -> Result<(), String> {
    let mut random = Random::new(0x6c61_7965_7200_0001);
    let clients = [
        ("uniform", Popularity::Uniform { live: LIVE.into() }),
        ("zipf", Popularity::Zipf(Zipf::new(LIVE.into()))),
        ("hot", Popularity::Uniform { live: 1 }),
    ];
    for outcome in Outcome::ALL {
        let contenders: Vec<_> = ENTRANTS.iter().map(|entrant| (entrant.direct)(outcome)).collect();
        // Every client is known, and has spent what it has.
        for contender in &contenders {
            contender.run((0..LIVE).map(request).collect());
        }
        for (name, popularity) in &clients {
            for threads in [1, 2] {
                let workload = format!("layer-{}-{name}-{threads}t", outcome.name());
                let mut found = ENTRANTS
                    .each_ref()
                    .map(|entrant| Found { name: entrant.name, values: Vec::new() });
                let mut order: Vec<usize> = (0..ENTRANTS.len()).collect();
                for _ in 0..plan.rounds {
                    let mut draw = || u32::try_from(popularity.draw(&mut random)).unwrap_or(0);
                    let drawn: Vec<u32> = (0..plan.requests).map(|_| draw()).collect();
                    random.shuffle(&mut order);
                    for &index in &order {
                        let (ns, let_through) = run(&*contenders[index], &drawn, threads);
                        found[index].values.push(ns);
                        let limited = outcome == Outcome::Denied && index > 0;
                        if let_through != if limited { 0 } else { drawn.len() } {
                            let (name, of) = (ENTRANTS[index].name, drawn.len());
                            return Err(format!(
                                "{workload}: {name} let {let_through} of {of} through"
                            ));
                        }
                    }
                }
                report(report_to, &workload, "ns", &found);
                report_added(report_to, &workload, "ns", &found);
            }
        }
    }
    Ok(())
}

/// Nanoseconds a request on the slowest thread, and how many were let through. Of a thread's stretches
/// it is the median: what else the machine does falls into a few of them.
fn run(contender: &dyn Direct, clients: &[u32], threads: usize) -> (f64, usize) {
    let barrier = Barrier::new(threads);
    let parts = clients.chunks_exact(clients.len() / threads);
    let results = on_threads(parts, |clients| {
        let (mut times, mut let_through) = (Values::default(), 0);
        barrier.wait();
        for clients in clients.chunks(STRETCH) {
            let requests: Vec<Request> = clients.iter().copied().map(request).collect();
            let start = Instant::now();
            let_through += contender.run(requests);
            times.push(start.elapsed().as_nanos() as f64 / clients.len() as f64);
        }
        (times.median(), let_through)
    });
    let slowest = results.iter().map(|(ns, _)| *ns).fold(0.0, f64::max);
    (slowest, results.iter().map(|(_, let_through)| let_through).sum())
}

/// A request of a client, as axum's server hands it on.
fn request(client: u32) -> Request {
    let [_, a, b, c] = client.to_be_bytes();
    let peer = SocketAddr::from(([10, a, b, c], 50_001));
    let mut request = Request::new(Body::empty());
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

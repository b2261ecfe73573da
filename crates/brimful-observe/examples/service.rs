//! A service that shows its operators numbers, a few denials, and who is denied most.

use std::sync::Arc;

use brimful::{AsKey, Decision, Limiter};
use brimful_observe::{
    Counters, Denials, Event, Observer, Outcome, PrometheusMetrics, Redact, TopKeys,
};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

struct Service<O> {
    limiter: Arc<Limiter>,
    observer: O,
}

impl<O: Observer> Service<O> {
    fn ask(&self, client: &str, cost: u64) -> Decision {
        let decision = self.limiter.try_acquire_n(client, cost);
        let outcome = Outcome::of(&decision);
        let policy = match outcome {
            Outcome::WouldDeny => self.limiter.shadow_of(&decision),
            _ => self.limiter.policy_of(&decision),
        };
        let name = policy.as_ref().map_or("", |policy| policy.name());
        client.with_key(|key| {
            let event = Event::new("api", name, outcome).cost(cost).key(key).decision(&decision);
            self.observer.observe(&event);
        });
        decision
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Arc::new(Limiter::per_hour(3)?);

    // Numbers. A declared policy is there with 0 before anybody comes, and whatever else comes.
    let counters = Arc::new(Counters::new());
    counters.declare("api", "default");
    let metrics =
        PrometheusMetrics::new().counters(counters.clone()).limiter("clients", limiter.clone());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));

    // Denials, at most one a second of each kind after a burst of five. They are written by the
    // subscriber of the program, for example `tracing_subscriber::fmt::init()`.
    let denials = Denials::new()?;

    // Who is denied most, without saying who that is.
    let top = Arc::new(TopKeys::new(100, Redact::Hash)?);

    let service = Service { limiter, observer: (counters, denials, top.clone()) };
    for _ in 0..5 {
        service.ask("ann", 1);
    }

    // What is answered to Prometheus, as `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    let mut page = String::new();
    text::encode(&mut page, &registry)?;
    for line in [
        r#"brimful_requests_total{scope="api",policy="default",outcome="admitted"} 3"#,
        r#"brimful_requests_total{scope="api",policy="default",outcome="denied"} 2"#,
        r#"brimful_keys{limiter="clients"} 1"#,
    ] {
        assert!(page.lines().any(|one| one == line), "{page}");
    }
    print!("{page}");

    // Once a minute, or when an operator asks.
    let worst = top.take();
    assert_eq!(worst.total, 2);
    assert_eq!(worst.keys[0].key, top.shown("ann"));
    Ok(())
}

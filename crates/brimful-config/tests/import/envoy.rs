//! Imported rules decide as the reference server of Envoy does. The model is its way of looking up
//! a descriptor, written down plainly, and counts in windows.

use std::collections::{BTreeSet, HashMap};

use brimful::{Key, Nanos};
use brimful_config::import;
use brimful_testkit::runner;
use proptest::prelude::*;
use proptest::sample::select;

use super::{limiter, quoted};

#[derive(Clone, Debug)]
struct Descriptor {
    key: &'static str,
    /// Empty for none; may end in `*`.
    value: &'static str,
    rate: Option<Rate>,
    shadow: bool,
    children: Vec<Descriptor>,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    Unlimited,
    /// Requests, and seconds.
    Per(u32, u64),
}

type Entry = (&'static str, &'static str);

/// The descriptor whose limit is that of these entries.
fn found<'a>(level: &'a [Descriptor], entries: &[Entry]) -> Option<&'a Descriptor> {
    let ((key, value), rest) = entries.split_first()?;
    let of_key = || level.iter().filter(|descriptor| descriptor.key == *key);
    let exact = of_key().find(|descriptor| !value.is_empty() && descriptor.value == *value);
    let begins = |descriptor: &&Descriptor| {
        descriptor.value.strip_suffix('*').is_some_and(|prefix| value.starts_with(prefix))
    };
    let wildcard = of_key().find(begins);
    let without = of_key().find(|descriptor| descriptor.value.is_empty());
    let descriptor = exact.or(wildcard).or(without)?;
    if rest.is_empty() { Some(descriptor) } else { found(&descriptor.children, rest) }
}

#[derive(Default)]
struct Model {
    counts: HashMap<(Vec<Entry>, u64), u32>,
}

impl Model {
    /// Whether a request is denied, and whether it would be without `shadow_mode`. The reference
    /// server counts what it denies, too.
    fn denies(&mut self, level: &[Descriptor], entries: &[Entry], now: Nanos) -> (bool, bool) {
        let Some(descriptor) = found(level, entries) else { return (false, false) };
        let Some(Rate::Per(most, seconds)) = descriptor.rate else { return (false, false) };
        let window = now.as_nanos() / 1_000_000_000 / seconds;
        let count = self.counts.entry((entries.to_vec(), window)).or_default();
        *count += 1;
        let denies = *count > most;
        (denies && !descriptor.shadow, denies && descriptor.shadow)
    }
}

const KEYS: [&str; 3] = ["a", "b:", "c*c"];
const VALUES: [&str; 10] = ["", "", "x", "xy", "x*", "xy*", "xyz*", "*", "y\\", "*x*"];
const SENT: [&str; 10] = ["", "x", "xy", "xyz", "xyz:", "x*", "xy*", "*", "y\\", "*xz"];

fn rates() -> impl Strategy<Value = Option<Rate>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Rate::Unlimited)),
        6 => (0..4_u32, select(vec![1_u64, 60])).prop_map(|(n, unit)| Some(Rate::Per(n, unit))),
    ]
}

fn levels(depth: u32) -> BoxedStrategy<Vec<Descriptor>> {
    let children = if depth == 0 { Just(Vec::new()).boxed() } else { levels(depth - 1) };
    let shadow = prop::bool::weighted(0.2);
    let descriptor = (select(&KEYS[..]), select(&VALUES[..]), rates(), shadow, children).prop_map(
        |(key, value, rate, shadow, children)| Descriptor { key, value, rate, shadow, children },
    );
    let level = prop::collection::vec(descriptor, 0..6);
    level
        .prop_map(|mut level| {
            let mut taken = BTreeSet::new();
            level.retain(|descriptor| taken.insert((descriptor.key, descriptor.value)));
            level
        })
        .boxed()
}

/// The entries of a request, and the milliseconds since the one before.
fn requests() -> impl Strategy<Value = Vec<(Vec<Entry>, u64)>> {
    let entry = (select(&KEYS[..2]), select(&SENT[..]));
    let entries = prop::collection::vec(entry, 1..4);
    let pause = prop_oneof![Just(0), 1..700_u64, 20_000..70_000_u64];
    prop::collection::vec((entries, pause), 1..8).prop_flat_map(|some| {
        // Few different requests, so that limits are reached.
        prop::collection::vec(select(some), 1..60)
    })
}

fn written(level: &[Descriptor]) -> String {
    let descriptors = level.iter().map(|descriptor| {
        let mut fields = vec![format!("\"key\": {}", quoted(descriptor.key))];
        if !descriptor.value.is_empty() {
            fields.push(format!("\"value\": {}", quoted(descriptor.value)));
        }
        match descriptor.rate {
            None => {}
            Some(Rate::Unlimited) => fields.push("\"rate_limit\": {\"unlimited\": true}".into()),
            Some(Rate::Per(n, seconds)) => {
                let unit = if seconds == 1 { "SECOND" } else { "minute" };
                fields.push(format!(
                    "\"rate_limit\": {{\"unit\": \"{unit}\", \"requests_per_unit\": {n}}}"
                ));
            }
        }
        if descriptor.shadow {
            fields.push("\"shadow_mode\": true".into());
        }
        if !descriptor.children.is_empty() {
            fields.push(format!("\"descriptors\": {}", written(&descriptor.children)));
        }
        format!("{{{}}}", fields.join(", "))
    });
    format!("[{}]", descriptors.collect::<Vec<_>>().join(", "))
}

#[test]
fn imported_rules_decide_as_the_reference_server() {
    let regressions =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import/envoy.proptest-regressions");
    let (mut runner, _) = runner("import of Envoy", 1_500, regressions);
    let held = runner.run(&(levels(2), requests()), |(level, requests)| {
        let text = format!("domain: \"d:*\"\ndescriptors: {}\n", written(&level));
        let imported =
            import::envoy(&text, "limits.yaml").unwrap_or_else(|error| panic!("{error}"));
        let limiter = limiter(&imported);
        let mut model = Model::default();
        let mut now = 1_700_000_000_000;
        for (entries, pause) in requests {
            now += pause;
            let now = Nanos::from_millis(now);
            let mut parts = vec![Key::Text("d:*")];
            parts
                .extend(entries.iter().flat_map(|(key, value)| [Key::Text(key), Key::Text(value)]));
            let right = model.denies(&level, &entries, now);
            let decision = limiter.try_acquire_at(Key::Parts(&parts), 1, now);
            let said = (decision.is_denied(), decision.would_deny());
            prop_assert_eq!(said, right, "{:?}\n{}", entries, imported.toml());
        }
        Ok(())
    });
    held.unwrap();
}

#[test]
fn another_domain_is_not_limited() {
    let text =
        "{domain: d, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 0}}]}";
    let limiter = limiter(&import::envoy(text, "limits.yaml").unwrap());
    assert!(!limiter.allow(("d", "a", "x")));
    assert!(limiter.allow(("e", "a", "x")));
    assert!(limiter.allow(("d", "a")));
    assert!(limiter.allow(("d", "a", "x", "a", "x")));
}

#[test]
fn a_shadow_rule_counts_and_denies_nothing() {
    let text = "{domain: d, descriptors: [
        {key: a, rate_limit: {unit: day, requests_per_unit: 1}},
        {key: a, value: x, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 2}}]}";
    let limiter = limiter(&import::envoy(text, "limits.yaml").unwrap());
    let now = Nanos::from_secs(1);
    let would: Vec<(bool, bool)> = (0..4)
        .map(|_| limiter.try_acquire_at(("d", "a", "x"), 1, now))
        .map(|decision| (decision.is_allowed(), decision.would_deny()))
        .collect();
    assert_eq!(would, [(true, false), (true, false), (true, true), (true, true)]);
    assert!(limiter.try_acquire_at(("d", "a", "y"), 1, now).is_allowed());
    assert!(limiter.try_acquire_at(("d", "a", "y"), 1, now).is_denied());
}

#[test]
fn every_unit_is_a_window_of_its_length() {
    let units = [
        ("second", 1),
        ("Minute", 60),
        ("HOUR", 3_600),
        ("day", 86_400),
        ("WEEK", 604_800),
        ("month", 2_592_000),
        ("year", 31_536_000),
    ];
    for (unit, seconds) in units {
        let text = format!(
            "{{domain: d, descriptors: [{{key: a, rate_limit: {{unit: {unit}, requests_per_unit: 1}}}}]}}"
        );
        let limiter = limiter(&import::envoy(&text, "limits.yaml").unwrap());
        let asks =
            |at: u64| limiter.try_acquire_at(("d", "a", ""), 1, Nanos::from_nanos(at)).is_allowed();
        let window = seconds * 1_000_000_000;
        assert!(asks(window), "{unit}");
        assert!(!asks(2 * window - 1), "{unit}");
        assert!(asks(2 * window), "{unit}");
    }
}

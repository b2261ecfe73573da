//! Imported rules decide as limitador does, but for when windows begin. The model checks every limit
//! of the file by itself and counts in windows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use brimful::{Key, Nanos};
use brimful_config::import;
use brimful_testkit::runner;
use proptest::prelude::*;
use proptest::sample::select;

use super::{limiter, quoted};

#[derive(Clone, Debug)]
struct Limit {
    namespace: &'static str,
    max_value: u64,
    seconds: u64,
    conditions: BTreeMap<&'static str, &'static str>,
    variables: BTreeSet<&'static str>,
    name: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Request {
    namespace: &'static str,
    values: BTreeMap<&'static str, &'static str>,
    cost: u64,
    /// Milliseconds since the request before.
    pause: u64,
}

impl Limit {
    fn applies(&self, request: &Request) -> bool {
        self.namespace == request.namespace
            && self.conditions.iter().all(|(name, value)| request.values.get(name) == Some(value))
            && self.variables.iter().all(|name| request.values.contains_key(name))
    }

    fn names(&self) -> BTreeSet<&'static str> {
        self.conditions.keys().chain(&self.variables).copied().collect()
    }
}

/// The number of a limit, the values of its variables, and the window.
type Counter = (usize, Vec<&'static str>, u64);

#[derive(Default)]
struct Model {
    counts: HashMap<Counter, u64>,
}

impl Model {
    /// Whether all limits that apply admit the request; then all of them count it.
    fn admits(&mut self, limits: &[Limit], request: &Request, now: Nanos) -> bool {
        let mut counters = Vec::new();
        for (number, limit) in limits.iter().enumerate().filter(|(_, limit)| limit.applies(request))
        {
            let values = limit.variables.iter().map(|name| request.values[name]).collect();
            let window = now.as_nanos() / 1_000_000_000 / limit.seconds;
            counters.push(((number, values, window), limit.max_value));
        }
        let count = |counter| self.counts.get(counter).copied().unwrap_or(0);
        let admitted =
            counters.iter().all(|(counter, most)| count(counter) + request.cost <= *most);
        if admitted {
            for (counter, _) in counters {
                *self.counts.entry(counter).or_default() += request.cost;
            }
        }
        admitted
    }
}

const NAMES: [&str; 3] = ["m", "user-agent", "z"];
const VALUES: [&str; 3] = ["x", "y:*", "\\"];

/// Conditions and variables: few sets of names, so that limits apply together.
fn mentions()
-> impl Strategy<Value = (BTreeMap<&'static str, &'static str>, BTreeSet<&'static str>)> {
    let names = select(vec![&NAMES[..2], &NAMES[..2], &NAMES[..2], &NAMES[..], &NAMES[1..2], &[]]);
    // A text with `\` cannot stand in a condition.
    let value = select(vec![None, None, Some(VALUES[0]), Some(VALUES[0]), Some(VALUES[1])]);
    let values = prop::collection::vec((value, prop::bool::weighted(0.1)), NAMES.len());
    (names, values).prop_map(|(names, values)| {
        let (mut conditions, mut variables) = (BTreeMap::new(), BTreeSet::new());
        for (name, (value, both)) in names.iter().zip(values) {
            conditions.extend(value.map(|value| (*name, value)));
            if value.is_none() || both {
                variables.insert(*name);
            }
        }
        (conditions, variables)
    })
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    let namespace = prop_oneof![5 => Just("shop"), 1 => Just("s:*")];
    let name = select(vec![None, None, Some("one"), Some("two"), Some("3/s"), Some("a:b")]);
    let most = prop_oneof![1 => Just(0), 15 => 1..9_u64];
    let quota = (most, select(vec![1_u64, 7, 60]));
    let limit = (namespace, quota, mentions(), name).prop_map(
        |(namespace, (max_value, seconds), (conditions, variables), name)| Limit {
            namespace,
            max_value,
            seconds,
            conditions,
            variables,
            name,
        },
    );
    prop::collection::vec(limit, 0..8).prop_map(|mut limits| {
        let mut taken = BTreeSet::new();
        limits.retain(|limit| {
            let identity = (limit.conditions.clone(), limit.variables.clone());
            taken.insert((limit.namespace, limit.seconds, identity))
        });
        limits
    })
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let value = select(vec![Some("x"), Some("x"), Some("y:*"), Some("y:*"), Some("\\"), None]);
    let values = prop::collection::vec(value, NAMES.len()).prop_map(|values| {
        NAMES.iter().zip(values).filter_map(|(name, value)| Some((*name, value?))).collect()
    });
    let pause = prop_oneof![3 => Just(0), 2 => 1..700_u64, 1 => 5_000..70_000_u64];
    let request = (select(vec!["shop", "shop", "shop", "s:*"]), values, 1..4_u64, pause);
    let request = request.prop_map(|(namespace, values, cost, pause)| Request {
        namespace,
        values,
        cost,
        pause,
    });
    prop::collection::vec(request, 1..8)
        .prop_flat_map(|some| prop::collection::vec(select(some), 1..60))
}

/// `indexed`: names are written as in newer versions.
fn written(limits: &[Limit], indexed: bool) -> String {
    let name = |name: &str| match (indexed, name) {
        (false, "user-agent") => "user.agent".to_owned(),
        (false, name) => name.to_owned(),
        (true, "user-agent") => "descriptors[0]['user-agent']".to_owned(),
        (true, name) => format!("descriptors[0].{name}"),
    };
    let mut text = String::from("[]");
    for (number, limit) in limits.iter().enumerate() {
        if number == 0 {
            text.clear();
        }
        let conditions = limit.conditions.iter();
        let conditions: Vec<String> =
            conditions.map(|(of, value)| quoted(&format!("{} == '{value}'", name(of)))).collect();
        let variables: Vec<String> = limit.variables.iter().map(|of| quoted(&name(of))).collect();
        text.push_str(&format!(
            "- namespace: {}\n  max_value: {}\n  seconds: {}\n  conditions: [{}]\n  variables: [{}]\n",
            quoted(limit.namespace),
            limit.max_value,
            limit.seconds,
            conditions.join(", "),
            variables.join(", "),
        ));
        if let Some(name) = limit.name {
            text.push_str(&format!("  name: {}\n", quoted(name)));
        }
    }
    text
}

/// The keys of a request: one for each form of its namespace whose names it has.
fn keys(limits: &[Limit], request: &Request, indexed: bool) -> Vec<Vec<&'static str>> {
    let of_namespace = limits.iter().filter(|limit| limit.namespace == request.namespace);
    let forms: BTreeSet<BTreeSet<&str>> = of_namespace.map(Limit::names).collect();
    let whole =
        forms.iter().filter(|form| form.iter().all(|name| request.values.contains_key(name)));
    let key = |form: &BTreeSet<&'static str>| {
        let mut key = vec![request.namespace];
        for name in form {
            key.push(if !indexed && *name == "user-agent" { "user.agent" } else { name });
            key.push(request.values[name]);
        }
        key
    };
    whole.map(key).collect()
}

#[test]
fn imported_rules_decide_as_limitador() {
    let regressions =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import/limitador.proptest-regressions");
    let (mut runner, _) = runner("import of limitador", 1_500, regressions);
    let held = runner.run(&(limits(), requests(), any::<bool>()), |(limits, requests, indexed)| {
        let text = written(&limits, indexed);
        let imported = import::limitador(&text, "limits.yaml");
        let imported = imported.unwrap_or_else(|error| panic!("{error:#}"));
        let limiter = limiter(&imported);
        let mut model = Model::default();
        let mut now = 1_700_000_000_000;
        for request in requests {
            now += request.pause;
            let now = Nanos::from_millis(now);
            let right = model.admits(&limits, &request, now);
            let keys = keys(&limits, &request, indexed);
            let parts: Vec<Vec<Key<'_>>> =
                keys.iter().map(|key| key.iter().copied().map(Key::Text).collect()).collect();
            let charges: Vec<(Key<'_>, u64)> =
                parts.iter().map(|parts| (Key::Parts(parts), request.cost)).collect();
            let decision = limiter.try_acquire_all_at(&charges, now).unwrap();
            prop_assert_eq!(decision.is_allowed(), right, "{:?}\n{}", request, imported.toml());
        }
        Ok(())
    });
    held.unwrap();
}

#[test]
fn one_form_needs_one_key() {
    let text = "
- {namespace: shop, max_value: 2, seconds: 60, variables: [\"descriptors[0].user\"],
   conditions: [\"descriptors[0].method == 'GET'\"]}
- {namespace: shop, max_value: 1, seconds: 60, variables: [\"descriptors[0].user\"],
   conditions: [\"'POST' == descriptors[0].method\"]}
";
    let imported = import::limitador(text, "limits.yaml").unwrap();
    // That windows begin elsewhere, and nothing else.
    assert_eq!(imported.warnings().len(), 1);
    let limiter = limiter(&imported);
    let now = Nanos::from_secs(60);
    let asks = |method, user| {
        let key = ("shop", "method", method, "user", user);
        limiter.try_acquire_at(key, 1, now).is_allowed()
    };
    assert_eq!([asks("GET", "ann"), asks("GET", "ann"), asks("GET", "ann")], [true, true, false]);
    assert_eq!([asks("POST", "ann"), asks("POST", "ann")], [true, false]);
    assert_eq!([asks("GET", "bob"), asks("PUT", "ann")], [true, true]);
}

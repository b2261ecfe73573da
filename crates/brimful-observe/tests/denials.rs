//! Which events are written, and what they say.

#![cfg(feature = "tracing")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brimful::{AsKey as _, Key, Limit, Limiter, ManualClock, Nanos};
use brimful_observe::{Denials, DenialsBuilder, Event, Observer, Outcome, Redact};
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, Subscriber, span};

/// What one event says.
#[derive(Clone, Debug, Default, PartialEq)]
struct Written {
    level: String,
    fields: BTreeMap<String, String>,
}

impl Visit for Written {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().into(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().into(), value.into());
    }
}

/// Keeps all events down to a level.
#[derive(Clone)]
struct Listener {
    level: Level,
    written: Arc<Mutex<Vec<Written>>>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "brimful" && *metadata.level() <= self.level
    }
    fn event(&self, event: &tracing::Event<'_>) {
        let mut written =
            Written { level: event.metadata().level().to_string(), ..Written::default() };
        event.record(&mut written);
        self.written.lock().unwrap().push(written);
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// What is written while `f` runs.
fn listen(level: Level, f: impl FnOnce()) -> Vec<Written> {
    let listener = Listener { level, written: Arc::default() };
    tracing::subscriber::with_default(listener.clone(), f);
    listener.written.lock().unwrap().clone()
}

fn clock() -> ManualClock {
    ManualClock::new(Nanos::from_secs(1_000_000))
}

fn build(builder: DenialsBuilder) -> Denials {
    builder.build().unwrap()
}

const DENIED: Event<'_> = Event::new("api", "default", Outcome::Denied);

fn suppressed(written: &[Written]) -> Vec<&str> {
    written.iter().map(|one| &*one.fields["suppressed"]).collect()
}

#[test]
fn an_event_says_what_became_of_the_request() {
    let limiter = Limiter::builder(Limit::per_second(3).unwrap()).clock(clock()).build().unwrap();
    let _first = limiter.try_acquire_n("ann", 2);
    let written = listen(Level::TRACE, || {
        let denials = build(Denials::builder().clock(clock()).key(Redact::Plain));
        ("ann", 7_u8).with_key(|key| {
            let decision = limiter.try_acquire_n("ann", 2);
            let outcome = Outcome::of(&decision);
            let event = Event::new("api", "default", outcome).cost(2).key(key);
            denials.observe(&event.decision(&decision));
        });
        let never = limiter.try_acquire_n("ann", 4);
        denials.observe(&Event::new("api", "", Outcome::of(&never)).decision(&never));
        denials.observe(&Event::new("b", "c", Outcome::MissingKey));
    });
    let fields = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let expected = [
        (
            "INFO",
            fields(&[
                ("message", "request denied"),
                ("scope", "api"),
                ("policy", "default"),
                ("outcome", "denied"),
                ("cost", "2"),
                ("suppressed", "0"),
                // A third of a second, rounded up.
                ("retry_after_ms", "334"),
                ("remaining", "1"),
                ("key", "(ann, 7)"),
            ]),
        ),
        (
            "INFO",
            fields(&[
                ("message", "request denied"),
                ("scope", "api"),
                ("policy", ""),
                ("outcome", "denied"),
                ("cost", "1"),
                ("suppressed", "0"),
                ("remaining", "1"),
            ]),
        ),
        (
            "WARN",
            fields(&[
                ("message", "request without a key"),
                ("scope", "b"),
                ("policy", "c"),
                ("outcome", "missing_key"),
                ("cost", "1"),
                ("suppressed", "0"),
            ]),
        ),
    ];
    let expected = expected.map(|(level, fields)| Written { level: level.into(), fields });
    assert_eq!(written, expected);
}

#[test]
fn each_outcome_has_its_level() {
    let levels = |builder: DenialsBuilder| {
        let denials = build(builder.clock(clock()));
        let written = listen(Level::TRACE, || {
            for outcome in Outcome::ALL {
                denials.observe(&Event::new("api", "default", outcome));
            }
        });
        written
            .iter()
            .map(|one| format!("{} {}", one.fields["outcome"], one.level))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        levels(Denials::builder()),
        [
            "denied INFO",
            "blocked INFO",
            "store_full WARN",
            "queued INFO",
            "queue_full INFO",
            "closed WARN",
            "would_deny DEBUG",
            "missing_key WARN",
        ]
    );
    // What was admitted is never written, whoever asks for it.
    let all = Outcome::ALL.into_iter();
    let loud =
        all.clone().fold(Denials::builder(), |builder, one| builder.level(one, Level::ERROR));
    assert_eq!(levels(loud).len(), 8);
    let quiet = all.fold(Denials::builder(), |builder, one| builder.level(one, None));
    let quiet = quiet.level(Outcome::Denied, Level::TRACE).level(Outcome::Blocked, Level::WARN);
    assert_eq!(levels(quiet), ["denied TRACE", "blocked WARN"]);
}

#[test]
fn a_few_a_second_are_written_and_the_next_says_how_many_were_not() {
    let time = clock();
    let denials = build(Denials::builder().clock(time.clone()));
    let written = listen(Level::INFO, || {
        for _ in 0..100 {
            denials.observe(&DENIED);
        }
        for _ in 0..3 {
            time.advance(Duration::from_secs(1));
            denials.observe(&DENIED);
            denials.observe(&DENIED);
        }
    });
    assert_eq!(suppressed(&written), ["0", "0", "0", "0", "0", "95", "1", "1"]);
}

#[test]
fn another_number_of_events_can_be_chosen() {
    let time = clock();
    let limit = Limit::per_minute(1).unwrap();
    let denials = build(Denials::builder().clock(time.clone()).limit(limit));
    let written = listen(Level::INFO, || {
        for _ in 0..121 {
            denials.observe(&DENIED);
            time.advance(Duration::from_secs(1));
        }
    });
    assert_eq!(suppressed(&written), ["0", "59", "59"]);
}

#[test]
fn each_scope_policy_and_outcome_has_its_own_events() {
    let denials = build(Denials::builder().clock(clock()));
    let written = listen(Level::INFO, || {
        for _ in 0..10 {
            for event in [
                DENIED,
                Event::new("api", "other", Outcome::Denied),
                Event::new("web", "default", Outcome::Denied),
                Event::new("api", "default", Outcome::Blocked),
            ] {
                denials.observe(&event);
            }
        }
    });
    assert_eq!(written.len(), 4 * 5);
}

#[test]
fn further_names_share_their_events() {
    let denials = build(Denials::builder().clock(clock()).max_series(2));
    let written = listen(Level::INFO, || {
        for name in 0..1_000 {
            denials.observe(&Event::new("api", &name.to_string(), Outcome::Denied));
        }
        for _ in 0..10 {
            denials.observe(&Event::new("api", "0", Outcome::Denied));
        }
    });
    // Two by name, five of all others, and four more of the first.
    assert_eq!(written.len(), 2 + 5 + 4);
    assert_eq!(written[6].fields["policy"], "6", "with the names that the request had");
}

#[test]
fn what_nobody_hears_is_not_counted() {
    let denials = build(Denials::builder().clock(clock()));
    assert_eq!(listen(Level::WARN, || (0..100).for_each(|_| denials.observe(&DENIED))), []);
    let written = listen(Level::INFO, || (0..100).for_each(|_| denials.observe(&DENIED)));
    assert_eq!(suppressed(&written), ["0"; 5]);
}

#[test]
fn keys_are_shown_only_when_that_was_chosen() {
    let event = DENIED.key(Key::Text("ann@example.com"));
    let key = |builder: DenialsBuilder| {
        let denials = build(builder.clock(clock()));
        let written = listen(Level::INFO, || denials.observe(&event));
        assert!(!format!("{denials:?}").contains("ann"));
        written[0].fields.get("key").cloned()
    };
    assert_eq!(key(Denials::builder()), None);
    assert_eq!(key(Denials::builder().key(Redact::Plain)).unwrap(), "ann@example.com");
    assert_eq!(key(Denials::builder().key(Redact::Truncate { chars: 2 })).unwrap(), "an…");
    let hash = key(Denials::builder().key(Redact::Hash)).unwrap();
    assert_eq!(hash.len(), 16);
    assert!(hash.bytes().all(|digit| digit.is_ascii_hexdigit()));
}

#[test]
fn the_number_of_names_is_checked() {
    let fault = Denials::builder().max_series(4_097).build().unwrap_err();
    assert!(fault.is_range());
    assert_eq!(fault.to_string(), "max_series is 4097; expected 0 to 4,096");
    assert!(Denials::builder().max_series(4_096).build().is_ok());
    assert!(Denials::builder().max_series(0).build().is_ok());
    assert!(Denials::new().is_ok());
}

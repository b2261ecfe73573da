//! Which layers a request went through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::Extensions;

/// How a layer stands to others around the same request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// There is none around it: it writes what all of them told.
    #[default]
    Outermost,
    /// One is around it.
    Within,
    /// It is around itself: its limiter was asked already.
    Again,
}

/// What tells one layer from all others of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(u64);

impl Id {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The layers whose limiters were asked, the last first. It stands in the request.
#[derive(Clone)]
struct Word(Arc<Passed>);

struct Passed {
    gate: Id,
    before: Option<Word>,
    /// A passage is good for one more: requests that are made of one, with its extensions, are charged each.
    is_used: AtomicBool,
}

/// Where that layer stands.
pub(super) fn place(gate: Id, extensions: &Extensions) -> Place {
    let mut next = extensions.get::<Word>();
    let mut place = if next.is_some() { Place::Within } else { Place::Outermost };
    while let Some(Word(passed)) = next {
        if passed.gate == gate {
            return match passed.is_used.swap(true, Ordering::Relaxed) {
                false => Place::Again,
                true => Place::Within,
            };
        }
        place = Place::Within;
        next = passed.before.as_ref();
    }
    place
}

/// Leaves word for those within that this one asked its limiter. (One that lets a request go on unasked leaves none, so
/// that it may be asked further in.)
pub(super) fn leave_word(gate: Id, extensions: &mut Extensions) {
    let before = extensions.remove::<Word>();
    // Around itself it needs no second one.
    let before = before.and_then(|word| match word.0.gate == gate {
        true => word.0.before.clone(),
        false => Some(word),
    });
    let passed = Passed { gate, before, is_used: AtomicBool::new(false) };
    extensions.insert(Word(Arc::new(passed)));
}

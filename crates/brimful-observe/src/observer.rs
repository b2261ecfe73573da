//! Who is told of requests.

use std::sync::Arc;

use crate::event::Event;

/// Someone who is told of each request.
///
/// It is called where the request is decided, so it should be quick, and must neither panic nor wait. Several are
/// one when they stand in a tuple or a `Vec`; `None` is nobody.
///
/// ```
/// use brimful_observe::{Counters, Event, Observer, Outcome};
/// use std::sync::Arc;
///
/// let (ours, theirs) = (Arc::new(Counters::new()), Arc::new(Counters::new()));
/// let both = (ours.clone(), Some(theirs.clone()));
/// both.observe(&Event::new("api", "default", Outcome::Admitted));
/// assert_eq!(ours.snapshot(), theirs.snapshot());
/// ```
pub trait Observer: Send + Sync {
    /// One request was decided, or left alone.
    fn observe(&self, event: &Event<'_>);
}

impl<T: Observer + ?Sized> Observer for &T {
    fn observe(&self, event: &Event<'_>) {
        (**self).observe(event);
    }
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn observe(&self, event: &Event<'_>) {
        (**self).observe(event);
    }
}

impl<T: Observer + ?Sized> Observer for Box<T> {
    fn observe(&self, event: &Event<'_>) {
        (**self).observe(event);
    }
}

impl<T: Observer> Observer for Option<T> {
    fn observe(&self, event: &Event<'_>) {
        if let Some(observer) = self {
            observer.observe(event);
        }
    }
}

impl<T: Observer> Observer for [T] {
    fn observe(&self, event: &Event<'_>) {
        self.iter().for_each(|observer| observer.observe(event));
    }
}

impl<T: Observer> Observer for Vec<T> {
    fn observe(&self, event: &Event<'_>) {
        self.as_slice().observe(event);
    }
}

/// Nobody.
impl Observer for () {
    fn observe(&self, _event: &Event<'_>) {}
}

/// `impl Observer` for tuples: each is told in order.
macro_rules! tuple_observer {
    ($($one:ident),+) => {
        impl<$($one: Observer),+> Observer for ($($one,)+) {
            #[allow(non_snake_case, reason = "an observer is named after its type")]
            fn observe(&self, event: &Event<'_>) {
                let ($($one,)+) = self;
                $($one.observe(event);)+
            }
        }
    };
}

tuple_observer!(A, B);
tuple_observer!(A, B, C);
tuple_observer!(A, B, C, D);

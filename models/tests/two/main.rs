//! Two threads and one limiter.

#[path = "../harness/mod.rs"]
mod harness;
mod moves;
mod rules;
mod scarce;
mod slots;
mod verbs;

/// Slots of two levels, so that sets are not lines of four slots for one limit.
macro_rules! both_shapes {
    ($name:ident, $race:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn plain() {
                $race.built(|builder| builder).must_be_linear();
            }

            #[test]
            fn wide() {
                $race.built(|builder| builder.max_limits(2)).must_be_linear();
            }
        }
    };
}

pub(crate) use both_shapes;

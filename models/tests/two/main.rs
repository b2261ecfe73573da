//! Two threads and one limiter.

#[path = "../harness/mod.rs"]
mod harness;
mod moves;
mod receipts;
mod rules;
mod scarce;
mod slots;
mod verbs;
mod waiting;

/// Slots of two levels, so that sets are not lines of four slots for one limit.
macro_rules! both_shapes {
    ($name:ident, $race:expr) => {
        both_shapes!($name, $race, must_be_linear);
    };
    ($name:ident, $race:expr, $judge:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn plain() {
                $race.built(|builder| builder).$judge();
            }

            #[test]
            fn wide() {
                $race.built(|builder| builder.max_limits(2)).$judge();
            }
        }
    };
}

/// The same where the limiter itself says what is right.
macro_rules! as_in_turn {
    ($name:ident, $race:expr) => {
        crate::both_shapes!($name, $race, must_be_as_in_turn);
    };
}

pub(crate) use {as_in_turn, both_shapes};

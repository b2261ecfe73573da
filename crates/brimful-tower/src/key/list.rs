//! Tuples of keys: the list of them.

use brimful::Key;

use super::{Missing, RequestKey};
use crate::head::Head;

/// `impl RequestKey` for tuples: each part is worked out inside the one before, then all are listed.
macro_rules! tuple_request_key {
    ($($part:ident),+) => {
        /// The list of these keys. Missing is what the first of them misses.
        impl<$($part: RequestKey),+> RequestKey for ($($part,)+) {
            #[allow(non_snake_case, reason = "a part is named after its type")]
            fn with_key(
                &self,
                head: Head<'_>,
                f: &mut dyn FnMut(Key<'_>),
            ) -> Result<(), Missing> {
                let ($($part,)+) = self;
                tuple_request_key!(@nest f, head, [$($part),+], $($part),+)
            }
        }
    };
    (@nest $f:ident, $head:ident, [$($all:ident),+], $first:ident $(, $rest:ident)*) => {{
        let mut inner = Ok(());
        let outer = $first.with_key($head, &mut |$first| {
            inner = tuple_request_key!(@nest $f, $head, [$($all),+] $(, $rest)*);
        });
        outer.and(inner)
    }};
    (@nest $f:ident, $head:ident, [$($all:ident),+]) => {{
        $f(Key::Parts(&[$($all),+]));
        Ok(())
    }};
}

tuple_request_key!(A, B);
tuple_request_key!(A, B, C);
tuple_request_key!(A, B, C, D);

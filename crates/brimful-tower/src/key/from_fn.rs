//! A key that a function works out.

use std::fmt;

use brimful::{AsKey, Key};

use super::{Missing, RequestKey};
use crate::head::Head;

/// The key that `key` works out of a request; `None` when it has none, which is the client's fault. `what` names it
/// then.
///
/// Whatever clients can make up, such as a path or a header, makes a budget for each spelling of it.
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{Head, RequestKey, from_fn};
///
/// let by_version = from_fn("version in its path", |head: Head<'_>| match head.uri().path().split('/').nth(1)? {
///     "v1" => Some("v1"),
///     "v2" => Some("v2"),
///     _ => None,
/// });
///
/// let request = http::Request::builder().uri("/v2/users").body(())?;
/// by_version.with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Text("v2")))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn from_fn<F, K>(what: &'static str, key: F) -> FromFn<F>
where
    F: Fn(Head<'_>) -> Option<K> + Send + Sync + 'static,
    K: AsKey,
{
    FromFn { what, key }
}

/// A key that a function works out: [`from_fn`].
#[derive(Clone)]
pub struct FromFn<F> {
    what: &'static str,
    key: F,
}

impl<F, K> RequestKey for FromFn<F>
where
    F: Fn(Head<'_>) -> Option<K> + Send + Sync + 'static,
    K: AsKey,
{
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        (self.key)(head).ok_or_else(|| Missing::from_client(self.what))?.with_key(f);
        Ok(())
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FromFn").field(&self.what).finish()
    }
}

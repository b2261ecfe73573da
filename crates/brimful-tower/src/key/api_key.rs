//! Keys that clients of an interface are given.

use brimful::Key;
use http::header::{AUTHORIZATION, HeaderName};

use super::header::{header_name, lend, value};
use super::node::trim;
use super::{Missing, RequestKey};
use crate::error::Error;
use crate::head::Head;

/// The API key or token that a client shows: `x-api-key`, another header, or `Authorization: Bearer`.
///
/// The limiter keeps a keyed hash of it, never the key itself, and nothing here prints it. Nothing here checks it
/// either: a client that makes up keys has a new budget with each. Put the limit behind what checks keys, or
/// count by [`ClientIp`](super::ClientIp) too.
///
/// A key that is absent, empty, or there several times is the client's fault. It is a list with one part, so that it is
/// none of the server's own keys, whatever is written: an exact rule for it is one for `("k-1",)`.
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{ApiKey, Head, RequestKey};
///
/// let request = http::Request::builder()
///     .header("x-api-key", "k-1")
///     .header("authorization", "bearer t-2")
///     .body(())?;
/// let head = Head::of(&request);
/// ApiKey::new().with_key(head, &mut |key| assert_eq!(key, Key::Parts(&[Key::Text("k-1")])))?;
/// ApiKey::bearer().with_key(head, &mut |key| assert_eq!(key, Key::Parts(&[Key::Text("t-2")])))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ApiKey {
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Header(HeaderName),
    Bearer,
}

impl ApiKey {
    /// In the header `x-api-key`.
    #[must_use]
    pub const fn new() -> Self {
        Self { place: Place::Header(HeaderName::from_static("x-api-key")) }
    }

    /// In the header of this name.
    ///
    /// # Errors
    /// `name` cannot be the name of a header.
    pub fn header(name: &str) -> Result<Self, Error> {
        Ok(Self { place: Place::Header(header_name(name)?) })
    }

    /// The token of `Authorization: Bearer` (RFC 6750), the scheme in any case of letters.
    #[must_use]
    pub const fn bearer() -> Self {
        Self { place: Place::Bearer }
    }
}

impl Default for ApiKey {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestKey for ApiKey {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let key = match &self.place {
            Place::Header(name) => value(head, name)?,
            Place::Bearer => token(value(head, &AUTHORIZATION)?)
                .ok_or_else(|| Missing::from_client("bearer token in its header authorization"))?,
        };
        lend(key, f);
        Ok(())
    }
}

/// What stands behind the scheme and a space.
fn token(credentials: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = credentials.split_at_checked("Bearer".len())?;
    let token = trim(token.strip_prefix(b" ")?);
    (scheme.eq_ignore_ascii_case(b"Bearer") && !token.is_empty()).then_some(token)
}

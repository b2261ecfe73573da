//! The value of a header.

use brimful::Key;
use http::header::HeaderName;

use super::node::trim;
use super::{Missing, RequestKey};
use crate::error::Error;
use crate::head::Head;

/// The value of a header: text, or bytes where it is not UTF-8.
///
/// A client writes what it likes into a header. Where nothing before the limit checks the value, each made-up one
/// has a budget of its own: count by an address too, or put the limit behind the check. The limiter keeps a hash of
/// the value, never the value.
///
/// A header that is absent, empty, or there several times (which of them would count?) is the client's fault. Its value is
/// a list with one part, so that it is none of the server's own keys, whatever is written: an exact rule for it is one
/// for `("acme",)`.
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{Head, Header, RequestKey};
///
/// let request = http::Request::builder().header("x-tenant", "acme").body(())?;
/// Header::new("x-tenant")?.with_key(Head::of(&request), &mut |key| {
///     assert_eq!(key, Key::Parts(&[Key::Text("acme")]));
/// })?;
///
/// let missing = Header::new("x-region")?.with_key(Head::of(&request), &mut |_| ()).unwrap_err();
/// assert_eq!(missing.to_string(), "the request has no header x-region");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    name: HeaderName,
}

impl Header {
    /// The header of this name, in any case of letters.
    ///
    /// # Errors
    /// `name` cannot be the name of a header.
    pub fn new(name: &str) -> Result<Self, Error> {
        Ok(Self { name: header_name(name)? })
    }
}

impl RequestKey for Header {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        lend(value(head, &self.name)?, f);
        Ok(())
    }
}

pub(super) fn header_name(name: &str) -> Result<HeaderName, Error> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::range("header", format!("`{name}`"), "the name of a header, such as `x-tenant`")
    })
}

/// The one value of a header; not empty, without the spaces around it.
pub(super) fn value<'a>(head: Head<'a>, name: &HeaderName) -> Result<&'a [u8], Missing> {
    let mut lines = head.headers().get_all(name).into_iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => match trim(line.as_bytes()) {
            [] => Err(Missing::from_client(format!("value in its header {name}"))),
            value => Ok(value),
        },
        (None, _) => Err(Missing::from_client(format!("header {name}"))),
        (Some(_), Some(_)) => {
            let what = format!("single value of {name}: the header is there several times");
            Err(Missing::ambiguous(what))
        }
    }
}

/// A value that a client writes: a list with one part, which is text, or bytes when it is none. So it is no key of the
/// server's own, such as a `&'static str`, whatever is written; and patterns of the rules, which see a segment between each
/// two colons of a text, see one.
pub(super) fn lend(value: &[u8], f: &mut dyn FnMut(Key<'_>)) {
    f(Key::Parts(&[str::from_utf8(value).map_or(Key::Bytes(value), Key::Text)]));
}

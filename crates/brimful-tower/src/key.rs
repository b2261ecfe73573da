//! Whose budget a request spends: keys from addresses, headers, routes and what other layers found out.
//!
//! | key | whose budget |
//! |---|---|
//! | [`PeerIp`] | of the other end of the connection |
//! | [`ClientIp`] | of the client behind proxies that are trusted |
//! | [`ApiKey`], [`Header`] | of who sends this value |
//! | [`Extension`] | of what another layer found out, such as the user |
//! | [`Route`], [`Path`] | of an endpoint, for all its clients together |
//! | a `&'static str` | of all that this text names |
//! | a tuple of these | of each combination |
//! | [`from_fn()`] | of whatever a function says |

mod api_key;
mod client;
mod extension;
mod forwarded;
mod from_fn;
mod header;
mod list;
mod missing;
mod node;
mod path;
mod peer;
mod prefixes;
mod route;
mod trusted;

use std::sync::Arc;

use brimful::Key;

use crate::head::Head;

pub use api_key::ApiKey;
pub use client::ClientIp;
pub use extension::{Extension, ExtensionWith};
pub use from_fn::{FromFn, from_fn};
pub use header::Header;
pub use missing::Missing;
pub use path::Path;
pub use peer::{PeerAddr, PeerIp};
pub use route::{Route, RouteTemplate};

/// Says whose budget a request spends.
///
/// A tuple of two to four of these is the list of their keys, and a `&'static str` is itself:
/// `("login", PeerIp::new())` is another key than the address alone, and rules can have a pattern `login:*` for it.
///
/// ```
/// use brimful::{AsKey, Key};
/// use brimful_tower::{Head, PeerAddr, PeerIp, RequestKey};
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(PeerAddr("192.0.2.1:50001".parse()?));
///
/// ("login", PeerIp::new()).with_key(Head::of(&request), &mut |key| {
///     ("login", std::net::Ipv4Addr::new(192, 0, 2, 1)).with_key(|same| assert_eq!(key, same));
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RequestKey: Send + Sync + 'static {
    /// Calls `f` once with the key.
    ///
    /// # Errors
    /// The request has none. `f` was not called then.
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing>;
}

/// This text, whatever the request: a part of a list that says what the others count for.
impl RequestKey for &'static str {
    fn with_key(&self, _head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        f(Key::Text(self));
        Ok(())
    }
}

/// What is inside, such as a key chosen when the program starts: `Arc<dyn RequestKey>`.
impl<T: RequestKey + ?Sized> RequestKey for Arc<T> {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        (**self).with_key(head, f)
    }
}

/// What is inside, such as a key chosen when the program starts: `Box<dyn RequestKey>`.
impl<T: RequestKey + ?Sized> RequestKey for Box<T> {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        (**self).with_key(head, f)
    }
}

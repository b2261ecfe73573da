//! Whose budget a request spends: keys from addresses, headers, routes and what other layers found out.

mod missing;

use brimful::Key;

use crate::head::Head;

pub use missing::Missing;

/// Says whose budget a request spends.
///
/// A tuple of these is the list of their keys, and a `&'static str` is itself: `("login", PeerIp::new())` is another
/// key than the address alone, and rules can have a pattern `login:*` for it.
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

//! Why a request has no key.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// A request has nothing of what its limit counts by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    what: Cow<'static, str>,
    is_servers: bool,
    is_ambiguous: bool,
}

impl Missing {
    /// The client did not say it: `what` completes "the request has no", such as `header x-api-key`.
    #[must_use]
    pub fn from_client(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into(), is_servers: false, is_ambiguous: false }
    }

    /// The server does not provide it: `what` completes "the request has no", such as `peer address`.
    #[must_use]
    pub fn from_server(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into(), is_servers: true, is_ambiguous: false }
    }

    /// The client said it in more than one way: `what` completes "the request has no", such as
    /// `single value of x-api-key`. Such a request is not let through, whatever
    /// [`MissingKey`](crate::MissingKey) says: what the service takes for the key may be another one than the
    /// layer would.
    #[must_use]
    pub fn ambiguous(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into(), is_servers: false, is_ambiguous: true }
    }

    /// Whether the client said it in more than one way.
    #[must_use]
    pub const fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Whether it is the server that is set up wrong, and no client can help it.
    #[must_use]
    pub const fn is_servers_fault(&self) -> bool {
        self.is_servers
    }
}

impl Error for Missing {}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the request has no {}", self.what)
    }
}

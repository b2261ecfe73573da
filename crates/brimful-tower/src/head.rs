//! What a layer sees of a request.

use std::fmt;

use http::{Extensions, HeaderMap, Method, Request, Response, StatusCode, Uri, Version};

use crate::gate::Deposit;

/// A request without its body, borrowed: what keys, tiers, costs and skip rules are worked out from.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    /// The head of a request.
    #[must_use]
    pub fn of<B>(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// The address that was asked for.
    #[must_use]
    pub const fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The version of HTTP.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The headers.
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What servers, routers and other layers left in the request.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }
}

/// A response without its body, borrowed: what [`charge_when`](crate::RateLimitBuilder::charge_when) judges by.
#[derive(Clone, Copy)]
pub struct ResponseHead<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> ResponseHead<'a> {
    /// The head of a response.
    #[must_use]
    pub fn of<B>(response: &'a Response<B>) -> Self {
        let (headers, extensions) = (response.headers(), response.extensions());
        Self { status: response.status(), headers, extensions }
    }

    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers. (gRPC says in `grpc-status` here only what fails before anything is sent.)
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What the service and other layers left in the response.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// Whether a layer of this crate further in did not let the request through. So that the outer of two layers
    /// charges nothing for what the inner one denies: `charge_when(|response| !response.is_denied_within())`.
    #[must_use]
    pub fn is_denied_within(&self) -> bool {
        self.extensions.get::<Deposit>().is_some_and(|deposit| deposit.is_denied)
    }
}

/// Without what may be secret: paths, headers and extensions.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("method", self.method)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Without what may be secret: headers and extensions.
impl fmt::Debug for ResponseHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHead").field("status", &self.status).finish_non_exhaustive()
    }
}

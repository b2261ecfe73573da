//! The endpoint of a request, by what its router has for it.

use std::borrow::Cow;
use std::sync::Arc;

use brimful::Key;
use http::Method;

use super::{Missing, RequestKey};
use crate::head::Head;

/// The template of the path that a router matched, such as `/users/{id}`: an extension for routers other than axum's.
///
/// The router inserts it, never the path that the client sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteTemplate(pub Arc<str>);

/// The template of the path that the router matched, such as `/users/{id}`: for all users, and for every spelling of
/// the path that the router takes for the same, one key.
///
/// Never the path itself: each `/verify/000001` would be a budget of its own. The template is a [`RouteTemplate`], or
/// axum's `MatchedPath` (with the feature `axum`). axum knows it once it has routed: put the limit on the router that
/// has the routes, with `Router::route_layer`, or with `Router::layer`, which also covers what no route matched.
/// It is known around a `Router::nest` too, but not around a `Router::nest_service`.
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{Head, RequestKey, Route, RouteTemplate};
///
/// let mut request = http::Request::builder().method("POST").uri("/verify/000001").body(())?;
/// request.extensions_mut().insert(RouteTemplate("/verify/{code}".into()));
/// let head = Head::of(&request);
///
/// Route::new().with_key(head, &mut |key| assert_eq!(key, Key::Text("/verify/{code}")))?;
/// Route::new().with_method().with_key(head, &mut |key| {
///     assert_eq!(key, Key::Parts(&[Key::Text("POST"), Key::Text("/verify/{code}")]));
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Route {
    unmatched: Option<Cow<'static, str>>,
    with_method: bool,
}

impl Route {
    /// A request that no route matched has no key, which is the server's fault. (See [`or`](Self::or).)
    #[must_use]
    pub const fn new() -> Self {
        Self { unmatched: None, with_method: false }
    }

    /// All requests that no route matched have this text as their template, and so share one budget.
    #[must_use]
    pub fn or(self, unmatched: impl Into<Cow<'static, str>>) -> Self {
        Self { unmatched: Some(unmatched.into()), ..self }
    }

    /// The method is the first part of the key: `GET` and `POST` of a route are counted apart. `HEAD` counts as `GET`,
    /// whose handler answers it. All methods that HTTP does not define are one, `other`: clients make them up.
    #[must_use]
    pub fn with_method(self) -> Self {
        Self { with_method: true, ..self }
    }
}

impl RequestKey for Route {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let own = head.extensions().get::<RouteTemplate>().map(|template| &*template.0);
        let template = own.or_else(|| of_axum(head)).or(self.unmatched.as_deref());
        let template = Key::Text(template.ok_or_else(|| {
            Missing::from_server(
                "path template; with axum, enable the feature `axum` of brimful-tower and put the limit on the router \
                 that has the routes; with other routers, insert `RouteTemplate`; for requests that no route matches, \
                 say `Route::or`",
            )
        })?);
        match self.with_method {
            true => f(Key::Parts(&[Key::Text(method(head.method())), template])),
            false => f(template),
        }
        Ok(())
    }
}

#[cfg(feature = "axum")]
fn of_axum(head: Head<'_>) -> Option<&str> {
    head.extensions().get::<axum::extract::MatchedPath>().map(axum::extract::MatchedPath::as_str)
}

#[cfg(not(feature = "axum"))]
const fn of_axum(_head: Head<'_>) -> Option<&str> {
    None
}

fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "other",
    }
}

//! The path of a request, where all that count are known.

use std::sync::Arc;

use brimful::Key;

use super::{Missing, RequestKey};
use crate::head::Head;

/// The path, when it is one of a list; all others are one key, the text `other`.
///
/// For services whose paths are few and fixed, such as those of gRPC: `/package.Service/Method`. A path counts as it is
/// written: where a router takes other spellings for the same, use [`Route`](super::Route).
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{Head, Path, RequestKey};
///
/// let path = Path::exactly(["/shop.Orders/Place", "/shop.Orders/List"]);
///
/// let request = http::Request::builder().uri("/shop.Orders/Place").body(())?;
/// path.with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Text("/shop.Orders/Place")))?;
///
/// let request = http::Request::builder().uri("/shop.Orders/Made.Up").body(())?;
/// path.with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Text("other")))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Path {
    /// Sorted.
    known: Arc<[Box<str>]>,
}

impl Path {
    /// These paths, each without a query.
    #[must_use]
    pub fn exactly<T: Into<Box<str>>>(paths: impl IntoIterator<Item = T>) -> Self {
        let mut known: Vec<Box<str>> = paths.into_iter().map(Into::into).collect();
        known.sort_unstable();
        Self { known: known.into() }
    }
}

impl RequestKey for Path {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        let path = head.uri().path();
        let is_known = self.known.binary_search_by(|known| (**known).cmp(path)).is_ok();
        f(Key::Text(if is_known { path } else { "other" }));
        Ok(())
    }
}

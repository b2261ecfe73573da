//! `RateLimit-Policy` of policies that were told of before.

use std::sync::{Arc, RwLock};

use brimful::Policy;
use http::HeaderValue;

/// More than a layer's rules have at a time, mostly.
const MOST: usize = 64;

/// The field of one policy alone is the same each time; so it is kept.
#[derive(Debug, Default)]
pub(super) struct Policies {
    /// A policy that stands here is kept, so no other has its place in memory.
    known: RwLock<Vec<(Arc<Policy>, HeaderValue)>>,
}

impl Policies {
    /// The field of that policy, made when it is not known. `None` when it says nothing. (Nobody waits here: where others
    /// are at work it is made once more.)
    pub(super) fn field(
        &self,
        policy: &Arc<Policy>,
        make: impl FnOnce() -> Option<HeaderValue>,
    ) -> Option<HeaderValue> {
        if let Ok(known) = self.known.try_read()
            && let Some((_, field)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, policy))
        {
            return Some(field.clone());
        }
        let field = make()?;
        if let Ok(mut known) = self.known.try_write() {
            // Those of rules that were replaced go.
            if known.len() >= MOST {
                known.clear();
            }
            known.push((policy.clone(), field.clone()));
        }
        Some(field)
    }
}

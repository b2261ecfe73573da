//! The keys of a request, and what stands for missing ones.

use std::sync::Arc;

use brimful::Key;

use super::MissingKey;
use crate::head::Head;
use crate::key::{Missing, RequestKey};

/// The most keys of one request.
pub(crate) const MOST: usize = brimful::Limiter::MAX_KEYS_AT_ONCE;

/// Whose budgets a request spends.
pub(super) struct Keys<'a> {
    pub(super) all: &'a [Arc<dyn RequestKey>],
    /// What becomes of those that are missing.
    pub(super) missing: MissingKey,
}

impl Keys<'_> {
    /// Calls `f` once with the keys, each of them once: none when all are missing and need not be there.
    ///
    /// # Errors
    /// A key is missing that must be there. `f` was not called then.
    pub(super) fn with<T>(
        &self,
        head: Head<'_>,
        mut f: impl FnMut(&[Key<'_>]) -> T,
    ) -> Result<T, Missing> {
        let mut said = None;
        self.lend(self.all, head, &[], &mut |keys| said = Some(f(keys)))?;
        said.ok_or_else(|| Missing::from_server("key, although its extractor found one"))
    }

    /// Calls `f` with the keys lent so far and those of the rest. (Each is borrowed inside the one before.)
    fn lend(
        &self,
        rest: &[Arc<dyn RequestKey>],
        head: Head<'_>,
        lent: &[Key<'_>],
        f: &mut dyn FnMut(&[Key<'_>]),
    ) -> Result<(), Missing> {
        let Some((first, rest)) = rest.split_first() else {
            f(lent);
            return Ok(());
        };
        let mut inside = Ok(());
        let mut with = |key: Key<'_>| {
            inside = match (lent, rest) {
                ([], []) => {
                    f(&[key]);
                    Ok(())
                }
                // Two of them are one, such as the networks of an IPv4 address.
                _ if lent.contains(&key) => self.lend(rest, head, lent, f),
                _ => {
                    let lent: Vec<Key<'_>> = lent.iter().copied().chain([key]).collect();
                    self.lend(rest, head, &lent, f)
                }
            };
        };
        match (first.with_key(head, &mut with), self.missing) {
            (Ok(()), _) => inside,
            (Err(missing), _) if missing.is_ambiguous() => Err(missing),
            (Err(missing), MissingKey::Deny) => Err(missing),
            (Err(_), MissingKey::Shared) => {
                with(Key::Parts(&[]));
                inside
            }
            (Err(_), MissingKey::Allow) => self.lend(rest, head, lent, f),
        }
    }
}

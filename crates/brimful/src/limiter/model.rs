//! What models of the store have to know of it, and nobody else.

use super::Limiter;
use crate::key::AsKey;

impl Limiter {
    /// The two sets that a key may be in, the first one first.
    #[doc(hidden)]
    pub fn sets_of(&self, key: impl AsKey) -> (usize, usize) {
        let fingerprint = key.with_key(|key| self.secret.fingerprint(key));
        self.store.candidates(fingerprint)
    }
}

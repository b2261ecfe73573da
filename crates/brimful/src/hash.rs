//! Keys become fingerprints: a keyed hash, so that nothing personal stays in memory and nobody
//! outside can aim at a set.

use core::hash::Hasher as _;
use std::hash::{BuildHasher as _, RandomState};

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use crate::key::Key;

/// The key of the hash, random for each limiter unless it is given.
#[derive(Clone, Copy)]
pub(crate) struct Secret([u64; 2]);

/// 128 bits that stand for a key. The first half is the fingerprint kept in a slot. (Two halves
/// rather than one number, because tables of these are large and a number would be aligned to 16
/// bytes.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash([u64; 2]);

/// Keys up to this many encoded bytes are hashed in one piece.
const SHORT: usize = 64;

impl Secret {
    /// Fresh randomness from the operating system, by way of the standard library's hash maps.
    pub(crate) fn random() -> Self {
        Self([RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8)])
    }

    pub(crate) const fn new(secret: [u64; 2]) -> Self {
        Self(secret)
    }

    /// SipHash-1-3 with 128 bits over the key's encoding.
    pub(crate) fn hash(&self, key: Key<'_>) -> KeyHash {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        let mut buffer = [0_u8; SHORT];
        let mut filled = 0;
        key.encode(&mut |bytes| match buffer.get_mut(filled..filled + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                filled += bytes.len();
            }
            None => {
                hasher.write(buffer.get(..filled).unwrap_or(&[]));
                filled = 0;
                hasher.write(bytes);
            }
        });
        hasher.write(buffer.get(..filled).unwrap_or(&[]));
        KeyHash::of(&hasher)
    }

    /// The same over some bytes and what they are said of.
    pub(crate) fn hash_about(&self, about: u64, bytes: &[u8]) -> KeyHash {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        hasher.write(&about.to_le_bytes());
        hasher.write(bytes);
        KeyHash::of(&hasher)
    }
}

impl KeyHash {
    fn of(hasher: &SipHasher13) -> Self {
        let hash = hasher.finish128();
        Self([hash.h1, hash.h2])
    }

    /// What a slot keeps of the key.
    pub(crate) const fn fingerprint(self) -> u64 {
        self.0[0]
    }
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

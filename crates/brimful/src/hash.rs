//! Keys become fingerprints: a keyed hash, so that nothing personal stays in memory and nobody
//! outside can aim at a set.

use core::hash::Hasher as _;
use std::hash::{BuildHasher as _, RandomState};

use siphasher::sip128::{Hash128, Hasher128 as _, SipHasher13};

use crate::key::Key;

/// The key of the hash, random for each limiter unless it is given.
///
/// Text and bytes have keys of their own, hashed from the one that was given, so that they are hashed
/// as they stand, without the tag and the length that keep their encodings apart.
#[derive(Clone, Copy)]
pub(crate) struct Secret {
    text: [u64; 2],
    bytes: [u64; 2],
    /// The one that was given, for all other kinds, which are hashed as they are encoded.
    encoded: [u64; 2],
}

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
        Self::new([RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8)])
    }

    pub(crate) fn new(secret: [u64; 2]) -> Self {
        // No key is encoded in a single byte.
        let key = |kind: u8| KeyHash::of(sip(secret).hash(&[kind])).0;
        Self { text: key(1), bytes: key(2), encoded: secret }
    }

    /// What a slot keeps of a key: the first half of its hash. (The other half is not even worked
    /// out.)
    #[inline]
    pub(crate) fn fingerprint(&self, key: Key<'_>) -> u64 {
        // A number as it is encoded.
        let mut number = [3; 17];
        let (secret, bytes) = match key {
            Key::Text(text) => (self.text, text.as_bytes()),
            Key::Bytes(bytes) => (self.bytes, bytes),
            Key::Unsigned(value) => {
                if let Some(place) = number.last_chunk_mut() {
                    *place = value.to_le_bytes();
                }
                (self.encoded, number.as_slice())
            }
            _ => return self.hash_encoded(key).0[0],
        };
        // In one place, so that the compiler can leave out what makes the other half.
        sip(secret).hash(bytes).h1
    }

    /// SipHash-1-3 with 128 bits over the key.
    pub(crate) fn hash(&self, key: Key<'_>) -> KeyHash {
        match key {
            Key::Text(text) => KeyHash::of(sip(self.text).hash(text.as_bytes())),
            Key::Bytes(bytes) => KeyHash::of(sip(self.bytes).hash(bytes)),
            _ => self.hash_encoded(key),
        }
    }

    fn hash_encoded(&self, key: Key<'_>) -> KeyHash {
        let mut buffer = [0_u8; SHORT];
        let mut filled = 0_usize;
        let mut fits = true;
        key.encode(&mut |bytes| {
            let end = filled.saturating_add(bytes.len());
            match buffer.get_mut(filled..end) {
                Some(place) => place.copy_from_slice(bytes),
                None => fits = false,
            }
            filled = end;
        });
        match buffer.get(..filled) {
            Some(encoded) if fits => KeyHash::of(sip(self.encoded).hash(encoded)),
            _ => {
                let mut hasher = sip(self.encoded);
                key.encode(&mut |bytes| hasher.write(bytes));
                KeyHash::of(hasher.finish128())
            }
        }
    }

    /// The same over some bytes and what they are said of.
    pub(crate) fn hash_about(&self, about: u64, bytes: &[u8]) -> KeyHash {
        let mut hasher = sip(self.encoded);
        hasher.write(&about.to_le_bytes());
        hasher.write(bytes);
        KeyHash::of(hasher.finish128())
    }
}

/// A hash of a text that is the same in every process: for names that operators choose.
pub(crate) fn of_text(text: &str) -> u64 {
    sip([0, 0]).hash(text.as_bytes()).h1
}

#[inline]
fn sip([k0, k1]: [u64; 2]) -> SipHasher13 {
    SipHasher13::new_with_keys(k0, k1)
}

impl KeyHash {
    #[inline]
    fn of(hash: Hash128) -> Self {
        Self([hash.h1, hash.h2])
    }
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is hashed in a short way has the hash of the long one.
    #[test]
    fn a_fingerprint_is_half_of_the_hash() {
        let secret = Secret::new([1, 2]);
        let (text, parts) = ("x".repeat(90), [Key::Unsigned(7), Key::Text("a")]);
        let numbers = [0, 1, 255, 1 << 64, u128::MAX].map(Key::Unsigned);
        let others = [Key::Text(&text), Key::Text(""), Key::Bytes(b"xy"), Key::Parts(&parts)];
        for key in numbers.into_iter().chain(others) {
            assert_eq!(secret.fingerprint(key), secret.hash(key).0[0], "{key:?}");
            let mut hasher = sip(secret.encoded);
            key.encode(&mut |bytes| hasher.write(bytes));
            let is_encoded = !matches!(key, Key::Text(_) | Key::Bytes(_));
            assert_eq!(KeyHash::of(hasher.finish128()) == secret.hash(key), is_encoded);
        }
        // One content in three kinds.
        let kinds = [Key::Text("k"), Key::Bytes(b"k"), Key::Parts(&[Key::Text("k")])];
        let hashes = kinds.map(|key| secret.hash(key));
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    }
}

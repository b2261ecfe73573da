//! What no limiter of this kind goes below: the hash alone, and the hash with one entry of an array
//! that is read and changed once. They decide nothing.

use std::hash::Hasher;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use siphasher::sip128::{Hasher128, SipHasher13};

use super::{Check, Entrant, Setting};

pub const ENTRANTS: [Entrant; 2] = [
    Entrant {
        name: "floor-hash",
        text: |_| Box::new(Hash(SipHasher13::new_with_keys(1, 2))),
        number: Some(|_| Box::new(Hash(SipHasher13::new_with_keys(1, 2)))),
        decides: false,
        note: "SipHash-1-3 with 128 bits of the key, nothing else; decides nothing",
    },
    Entrant {
        name: "floor-array",
        text: |setting| Box::new(Array::new(setting)),
        number: Some(|setting| Box::new(Array::new(setting))),
        decides: false,
        note: "that hash, then one load and one compare-exchange in an array of 32-byte entries, \
               1.25 for each key; decides nothing",
    },
];

trait Bytes {
    fn hash_into(&self, hasher: &mut SipHasher13);
}

impl Bytes for String {
    fn hash_into(&self, hasher: &mut SipHasher13) {
        hasher.write(self.as_bytes());
    }
}

impl Bytes for u64 {
    fn hash_into(&self, hasher: &mut SipHasher13) {
        hasher.write(&self.to_le_bytes());
    }
}

struct Hash(SipHasher13);

impl Hash {
    fn of(&self, key: &impl Bytes) -> (u64, u64) {
        let mut hasher = self.0;
        key.hash_into(&mut hasher);
        let hash = hasher.finish128();
        (hash.h1, hash.h2)
    }
}

impl<K: Bytes> Check<K> for Hash {
    fn check(&self, key: &K) -> bool {
        black_box(self.of(key));
        true
    }
}

#[derive(Default)]
#[repr(align(32))]
struct Slot([AtomicU64; 4]);

struct Array {
    hash: Hash,
    slots: Vec<Slot>,
}

impl Array {
    fn new(setting: &Setting) -> Self {
        let slots = (0..setting.keys * 5 / 4).map(|_| Slot::default()).collect();
        Self { hash: Hash(SipHasher13::new_with_keys(1, 2)), slots }
    }
}

impl<K: Bytes> Check<K> for Array {
    fn check(&self, key: &K) -> bool {
        let (place, print) = self.hash.of(key);
        let index = (u128::from(place) * self.slots.len() as u128) >> 64;
        let Slot([word, ..]) = &self.slots[index as usize];
        let seen = word.load(Ordering::Relaxed);
        let next = seen.wrapping_add(print | 1);
        word.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

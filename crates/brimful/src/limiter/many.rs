//! Batches: many keys in one call.

use super::Limiter;
use crate::decision::Decision;
use crate::key::AsKey;
use crate::time::Nanos;

/// Keys that are looked for side by side: enough for a processor to wait for all of their memory at
/// once, few enough that the first is still in its cache when the last has come.
const BATCH: usize = 16;

impl Limiter {
    /// Spends one token of each key whose limits admit it, and says what became of each: exactly as
    /// [`try_acquire`](Self::try_acquire) would, called for one key after the other at one time.
    ///
    /// `out` is cleared, then has a decision for each key, in their order. Nothing is allocated when
    /// it has room for them.
    ///
    /// The keys' memory is fetched side by side, where single calls would wait for one after the
    /// other: that is all the gain, and it needs keys that are known together, such as requests that
    /// arrived in one read. The clock is read once, before the first decision.
    ///
    /// ```
    /// use brimful::Limiter;
    ///
    /// let limiter = Limiter::per_second(1)?;
    /// let mut decisions = Vec::with_capacity(3);
    /// limiter.try_acquire_many(&["ann", "bob", "ann"], &mut decisions);
    /// let allowed: Vec<bool> = decisions.iter().map(|decision| decision.is_allowed()).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn try_acquire_many<K: AsKey>(&self, keys: &[K], out: &mut Vec<Decision>) {
        self.decide_many(keys, 1, || self.clock.now(), out);
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), with `cost` tokens of each key, at a given
    /// time.
    pub fn try_acquire_many_at<K: AsKey>(
        &self,
        keys: &[K],
        cost: u64,
        now: Nanos,
        out: &mut Vec<Decision>,
    ) {
        self.decide_many(keys, cost, || now, out);
    }

    fn decide_many<K: AsKey>(
        &self,
        keys: &[K],
        cost: u64,
        read_clock: impl Fn() -> Nanos,
        out: &mut Vec<Decision>,
    ) {
        out.clear();
        out.reserve(keys.len());
        let mut fingerprints = [0; BATCH];
        let mut now = None;
        let caller = self.anybody();
        for batch in keys.chunks(BATCH) {
            for (fingerprint, key) in fingerprints.iter_mut().zip(batch) {
                *fingerprint = key.with_key(|key| self.secret.fingerprint(key));
            }
            self.store.touch(fingerprints.get(..batch.len()).unwrap_or(&[]));
            let now = *now.get_or_insert_with(&read_clock);
            for (fingerprint, key) in fingerprints.iter().zip(batch) {
                out.push(self.decide_by(*fingerprint, key, (cost, false), caller, || now));
            }
        }
    }
}

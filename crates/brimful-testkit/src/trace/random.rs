//! The random generator: written out, so that it never changes.

/// The `SplitMix64` generator of Steele, Lea and Flood.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// A number from 1 to `most` with every order of magnitude as likely as any other.
    pub const fn magnitude(&mut self, most: u64) -> u64 {
        let width = (u64::BITS - most.leading_zeros()) as u64;
        let bits = 1 + self.below(width);
        let drawn = self.next_u64() >> (64 - bits);
        if drawn == 0 {
            1
        } else if drawn > most {
            most
        } else {
            drawn
        }
    }
}

/// The finalizer of `SplitMix64`: spreads every bit over all.
#[must_use]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

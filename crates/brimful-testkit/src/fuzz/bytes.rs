//! Arbitrary bytes as the numbers that a check is made of.

/// Reads numbers off the front of some bytes. Behind their end there are zeros, so that the
/// beginning of an input means what it means in the whole.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Reads `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all were read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was not read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// One byte.
    pub const fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Two bytes, the lower one first.
    pub const fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Eight bytes, the lowest first.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes([(); 8].map(|()| self.byte()))
    }

    /// A number below `n`, which is 1 to 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// One of some choices.
    ///
    /// # Panics
    /// There are none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of up to `bits` (at most 64) bits, each order of magnitude as likely, of which the
    /// highest 16 bits vary.
    pub fn magnitude(&mut self, bits: u32) -> u64 {
        let bits = u32::from(self.byte()) % (bits + 1);
        let raw = u64::from(self.short()) << 48 | 0x1357_9bdf_0246;
        if bits == 0 { 0 } else { raw >> (64 - bits) }
    }
}

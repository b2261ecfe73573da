//! Keys, and the order in which they are asked for.

/// Length of a usual text key, in bytes.
pub const TEXT: usize = 24;

/// A key of `length` bytes: `user:0000000000000123456`.
pub fn text(id: u64, length: usize) -> String {
    const DIGITS: usize = 19;
    let zeros = length.saturating_sub("user:".len() + DIGITS);
    // Padding by the formatter goes digit by digit.
    format!("user:{}{id:0DIGITS$}", "0".repeat(zeros))
}

/// Every id below `live` once, in an order that is not that of the ids.
pub fn each_once(live: u64) -> impl Iterator<Item = u64> {
    // A prime above every number of keys here, and no divisor of any.
    const STEP: u64 = 982_451_653;
    (0..live).map(move |n| n * STEP % live)
}

/// A small generator, the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// How often each of the ids is asked for.
pub enum Popularity {
    Uniform { live: u64 },
    Zipf(Zipf),
}

impl Popularity {
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform { live } => random.below(*live),
            Self::Zipf(zipf) => zipf.draw(random),
        }
    }

    pub fn texts(&self, random: &mut Random, count: usize) -> Vec<String> {
        (0..count).map(|_| text(self.draw(random), TEXT)).collect()
    }
}

/// Zipf with exponent 1: the key of rank r is asked for in proportion to 1 / r.
pub struct Zipf {
    /// At `[r]` the share of all ranks up to r.
    shares: Vec<f64>,
}

impl Zipf {
    pub fn new(live: u64) -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<f64> = (1..=live)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        for share in &mut shares {
            *share /= sum;
        }
        Self { shares }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        self.shares.partition_point(|share| *share < unit).min(self.shares.len() - 1) as u64
    }
}

//! What is asked, one call after the other.

use brimful::Nanos;

use super::Bytes;
use super::setup::{GIVEN, KEYS, TIERS};
use crate::trace::Draft;

/// The most calls of one sequence.
pub(super) const MOST: usize = 80;

/// By whom a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Nobody,
    /// A tier, by its place in [`TIERS`].
    Tier(usize),
    /// With a policy, by its place.
    Given(usize),
}

impl By {
    pub(super) fn tier(self) -> Option<&'static str> {
        match self {
            Self::Tier(place) => Some(TIERS[place]),
            Self::Nobody | Self::Given(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// One key, by its place; and whether the clock says when.
    One { draft: Draft, by_clock: bool },
    /// A batch of further keys.
    Many { draft: Draft, keys: Vec<usize> },
    /// All or nothing: further keys, and how each one's cost is made from the amount.
    All { draft: Draft, charges: Vec<(usize, u8)> },
    /// The time jumps to anywhere.
    Jump(Nanos),
    /// Strangers, so many of each 256 that the store has slots for; from a stranger on.
    Flood { draft: Draft, from: u8, part: u8 },
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The place of its (first) key in [`KEYS`].
    pub(super) key: usize,
    pub(super) by: By,
    pub(super) what: What,
}

impl Call {
    /// All calls that the bytes hold.
    pub(super) fn read_all(bytes: &mut Bytes<'_>) -> Vec<Self> {
        let mut calls = Vec::new();
        while !bytes.is_empty() && calls.len() < MOST {
            calls.push(Self::read(bytes));
        }
        calls
    }

    fn read(bytes: &mut Bytes<'_>) -> Self {
        let verb = bytes.byte() % 80;
        let who = bytes.below(256);
        let key = who % KEYS.len();
        let by = match who / KEYS.len() % 8 {
            0..=3 => By::Nobody,
            kind @ 4..=6 => By::Tier(kind - 4),
            _ => By::Given(who / 48 % GIVEN),
        };
        let what = match verb {
            0..=63 => {
                let (draft, by_clock) = draft(verb, bytes);
                What::One { draft, by_clock }
            }
            64..=68 => {
                let draft = draft(0, bytes).0;
                let count = bytes.below(20);
                let stride = bytes.below(KEYS.len());
                let keys = (0..count).map(|place| (key + place * stride) % KEYS.len());
                What::Many { draft, keys: keys.collect() }
            }
            69..=76 => {
                let draft = draft(0, bytes).0;
                let count = if verb == 69 { 14 + bytes.below(3) } else { bytes.below(5) };
                let charges = (0..count).map(|_| {
                    let byte = bytes.byte();
                    (usize::from(byte) % KEYS.len(), byte / 8)
                });
                What::All { draft, charges: charges.collect() }
            }
            77 => What::Jump(Nanos::from_nanos(bytes.long())),
            _ => {
                let draft = draft(0, bytes).0;
                What::Flood { draft, from: bytes.byte(), part: bytes.byte() }
            }
        };
        Self { key, by, what }
    }

    /// How often keys are asked for.
    pub(super) fn asked(&self) -> usize {
        match &self.what {
            What::One { .. } => 1,
            What::Many { keys, .. } => 1 + keys.len(),
            What::All { charges, .. } => 1 + charges.len(),
            What::Jump(_) | What::Flood { .. } => 0,
        }
    }
}

/// A draft, and a bit that it does not need.
fn draft(verb: u8, bytes: &mut Bytes<'_>) -> (Draft, bool) {
    let amount = bytes.byte() % Draft::KINDS;
    let much = bytes.short();
    let time = bytes.byte();
    let far = bytes.short();
    let bit = time & Draft::KINDS != 0;
    (Draft { verb, amount, much, time: time % Draft::KINDS, far }, bit)
}

/// The cost of one of several keys.
pub(super) fn cost_of(kind: u8, amount: u64) -> u64 {
    match kind % 8 {
        0..=3 => amount,
        4 | 5 => 1,
        6 => 0,
        _ => 2 + u64::from(kind / 8),
    }
}

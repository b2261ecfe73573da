//! The worst burst among requests that were admitted.

use std::cmp::Reverse;

use brimful::Nanos;

/// A burst, in one part or two: what its first time admitted, and what followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Burst {
    /// Tokens of both parts.
    pub tokens: u64,
    /// What was admitted at the first time.
    pub first: Part,
    /// What was admitted after it.
    pub rest: Option<Part>,
}

/// Tokens that were admitted from one time to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// When the first of them was admitted.
    pub from: Nanos,
    /// When the last of them was admitted.
    pub to: Nanos,
    /// How many.
    pub tokens: u64,
}

impl Part {
    /// Tokens that were admitted at one time.
    pub(super) fn at(time: Nanos, tokens: u64) -> Self {
        Self { from: time, to: time, tokens }
    }
}

impl Burst {
    /// Nanoseconds from its first to its last token.
    #[must_use]
    pub fn extent_ns(&self) -> u64 {
        let last = self.rest.map_or(self.first.to, |rest| rest.to);
        last.as_nanos().saturating_sub(self.first.from.as_nanos())
    }

    /// The worse of two: with more tokens, or as many in less time; of equals `self`.
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |burst: &Self| (burst.tokens, Reverse(burst.extent_ns()));
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// The worst burst in any half-open window of `width` nanoseconds, at least 1, of what was
/// `admitted`: parts of one time each, in the order of their times.
pub(super) fn worst(admitted: &[Part], width: u64) -> Burst {
    let mut worst = Burst::default();
    let (mut oldest, mut tokens) = (0, 0_u64);
    for (newest, part) in admitted.iter().enumerate() {
        tokens = tokens.saturating_add(part.tokens);
        // Slides the window on until it ends with `part`.
        while let Some(old) = admitted.get(oldest)
            && part.to.as_nanos() - old.from.as_nanos() >= width
        {
            tokens = tokens.saturating_sub(old.tokens);
            oldest += 1;
        }
        worst = worst.or(burst(admitted.get(oldest..=newest).unwrap_or(&[]), tokens));
    }
    worst
}

/// `parts` as one burst.
fn burst(parts: &[Part], tokens: u64) -> Burst {
    let Some((first, rest)) = parts.split_first() else {
        return Burst::default();
    };
    let rest = rest.first().zip(rest.last()).map(|(next, last)| Part {
        from: next.from,
        to: last.to,
        tokens: tokens.saturating_sub(first.tokens),
    });
    Burst { tokens, first: *first, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(admitted: &[(u64, u64)]) -> Vec<Part> {
        admitted.iter().map(|(at, tokens)| Part::at(Nanos::from_nanos(*at), *tokens)).collect()
    }

    /// What a limiter that admits too much would show.
    #[test]
    fn one_token_too_many_is_seen() {
        let log = parts(&[(0, 60), (70, 40), (100, 60)]);
        assert_eq!(worst(&log, 100).tokens, 100);
        // The first 60 are given again one nanosecond before they have expired.
        let early = parts(&[(0, 60), (70, 40), (99, 1), (100, 59)]);
        let found = worst(&early, 100);
        assert_eq!((found.tokens, found.extent_ns()), (101, 99));
        assert_eq!(found.first, parts(&[(0, 60)])[0]);
        let (from, to) = (Nanos::from_nanos(70), Nanos::from_nanos(99));
        assert_eq!(found.rest, Some(Part { from, to, tokens: 41 }));
    }

    #[test]
    fn of_equal_bursts_the_shortest_and_then_the_first() {
        let admitted = parts(&[(0, 5), (9, 5), (20, 5), (21, 5), (40, 5), (41, 5)]);
        let found = worst(&admitted, 10);
        assert_eq!((found.tokens, found.extent_ns(), found.first.from.as_nanos()), (10, 1, 20));
        assert_eq!(worst(&admitted, 1), burst(&admitted[..1], 5));
        assert_eq!(worst(&[], 10), Burst::default());
    }

    proptest! {
        /// The sum slides right: every window is summed up anew, from every nanosecond.
        #[test]
        fn the_worst_window_is_the_worst_of_all_windows(
            gaps in prop::collection::vec((1_u64..9, 1_u64..5), 1..30),
            width in 1_u64..40,
        ) {
            let mut now = 0;
            let admitted: Vec<_> = gaps.iter().map(|(gap, tokens)| { now += gap; (now, *tokens) }).collect();
            let most = (0..=now).map(|from| {
                let within = admitted.iter().filter(|(at, _)| (from..from + width).contains(at));
                within.map(|(_, tokens)| tokens).sum::<u64>()
            });
            let found = worst(&parts(&admitted), width);
            prop_assert_eq!(Some(found.tokens), most.max());
            prop_assert!(found.extent_ns() < width);
        }
    }
}

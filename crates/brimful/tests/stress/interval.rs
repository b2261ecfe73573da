//! The interval in which most was admitted, measured against what a limit refills in it. In whole
//! numbers, so that one token or one nanosecond too much is seen.

/// What was admitted, and when, in nanoseconds.
pub(crate) type Admitted = (u64, u64);

/// For `tokens` per `period` ns, what was admitted in an interval from one admitted call to another,
/// both included, less what is refilled in it, in units of a `period`-th part of a token: the most over
/// all intervals that have a length, and over all that have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worst {
    pub(crate) long: i128,
    pub(crate) instant: i128,
}

impl Worst {
    /// Over any order of the calls, in one pass after sorting them: an interval that ends here began
    /// best where the refill so far was most ahead of what had been admitted before.
    pub(crate) fn of(admitted: &[Admitted], tokens: u64, period: u64) -> Self {
        let mut sorted = admitted.to_vec();
        sorted.sort_unstable();
        let (tokens, period) = (i128::from(tokens), i128::from(period));
        let mut worst = Self { long: i128::MIN, instant: i128::MIN };
        let mut start: Option<i128> = None;
        let mut before = 0;
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            let refilled = tokens * i128::from(same[0].0);
            let here: i128 = same.iter().map(|(_, cost)| i128::from(*cost) * period).sum();
            worst.instant = worst.instant.max(here);
            if let Some(start) = start {
                worst.long = worst.long.max(start + before + here - refilled);
            }
            let begun = refilled - before;
            start = Some(start.map_or(begun, |start| start.max(begun)));
            before += here;
        }
        worst
    }

    pub(crate) fn most(self) -> i128 {
        self.long.max(self.instant)
    }
}

/// The most that was admitted in any half-open interval of `width`.
pub(crate) fn most_in(admitted: &[Admitted], width: u64) -> u64 {
    let mut sorted = admitted.to_vec();
    sorted.sort_unstable();
    let (mut first, mut sum, mut most) = (0, 0, 0);
    for (time, cost) in &sorted {
        sum += cost;
        while sorted[first].0 + width <= *time {
            sum -= sorted[first].1;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

mod tests {
    use brimful_testkit::trace::SplitMix64;

    use super::{Admitted, Worst, most_in};

    /// All pairs of calls, one by one.
    fn of_all_pairs(admitted: &[Admitted], tokens: u64, period: u64) -> Worst {
        let mut worst = Worst { long: i128::MIN, instant: i128::MIN };
        for (a, _) in admitted {
            for (b, _) in admitted.iter().filter(|(b, _)| b >= a) {
                let inside = admitted.iter().filter(|(time, _)| (a..=b).contains(&time));
                let sum: u64 = inside.map(|(_, cost)| cost).sum();
                let more = i128::from(sum * period) - i128::from(tokens * (b - a));
                let worst = if a == b { &mut worst.instant } else { &mut worst.long };
                *worst = more.max(*worst);
            }
        }
        worst
    }

    #[test]
    fn one_pass_finds_the_worst_of_all_pairs() {
        let mut rng = SplitMix64::new(9);
        for _ in 0..20_000 {
            let count = rng.between(1, 9);
            let calls: Vec<Admitted> =
                (0..count).map(|_| (rng.below(30), rng.between(1, 4))).collect();
            let (tokens, period) = (rng.between(1, 5), rng.between(1, 7));
            let expected = of_all_pairs(&calls, tokens, period);
            assert_eq!(Worst::of(&calls, tokens, period), expected, "{calls:?}");

            let width = rng.between(1, 12);
            let inside = |end: u64| {
                let inside = calls.iter().filter(|(time, _)| *time <= end && end < time + width);
                inside.map(|(_, cost)| cost).sum::<u64>()
            };
            assert_eq!(Some(most_in(&calls, width)), (0..30).map(inside).max(), "{calls:?}");
        }
    }
}

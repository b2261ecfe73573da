//! Finds the second with the most requests in bounded memory.

use std::cmp::Reverse;
use std::collections::HashMap;

use brimful::Nanos;

const SECOND: u64 = 1_000_000_000;
/// Seconds of each of the two generations.
const OPEN: usize = 4_096;

/// The requests of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Second {
    /// Its beginning.
    pub at: Nanos,
    /// Requests in it.
    pub requests: u64,
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that were denied.
    pub denied: u64,
}

/// Counts requests by the second they fall in.
///
/// Seconds are forgotten by generations: those that were not touched while [`OPEN`] others were
/// are compared with the best so far and dropped. So a second is counted whole unless its requests
/// are interrupted by that many other seconds. One that comes up again later is counted in parts,
/// and the largest part stands for it; [`reopened`](Self::reopened) counts how often that can have
/// happened.
#[derive(Debug, Default)]
pub(crate) struct Busiest {
    /// The second of the request before, which is most often that of the next.
    current: Option<Second>,
    /// Seconds touched lately, by their beginning.
    young: HashMap<Nanos, Second>,
    /// Seconds not touched since `young` was begun.
    old: HashMap<Nanos, Second>,
    /// Of the seconds that were dropped, the first with the most requests.
    best: Option<Second>,
    /// The latest second that was dropped.
    latest_dropped: Option<Nanos>,
    reopened: u64,
}

impl Busiest {
    pub(crate) fn add(&mut self, at: Nanos, admitted: bool) {
        let beginning = Nanos::from_secs(at.as_nanos() / SECOND);
        if self.current.is_none_or(|current| current.at != beginning) {
            self.turn_to(beginning);
        }
        if let Some(second) = &mut self.current {
            second.requests += 1;
            second.admitted += u64::from(admitted);
            second.denied += u64::from(!admitted);
        }
    }

    /// Makes another second the current one.
    fn turn_to(&mut self, at: Nanos) {
        let known = self.young.remove(&at).or_else(|| self.old.remove(&at));
        let next = known.unwrap_or_else(|| {
            self.reopened += u64::from(self.latest_dropped >= Some(at));
            Second { at, requests: 0, admitted: 0, denied: 0 }
        });
        if let Some(before) = self.current.replace(next) {
            self.young.insert(before.at, before);
        }
        if self.young.len() >= OPEN {
            for dropped in self.old.drain().map(|(_, second)| second) {
                self.latest_dropped = self.latest_dropped.max(Some(dropped.at));
                self.best = busier(self.best, Some(dropped));
            }
            std::mem::swap(&mut self.young, &mut self.old);
        }
    }

    /// The first of the seconds with the most requests.
    pub(crate) fn second(&self) -> Option<Second> {
        let open = self.young.values().chain(self.old.values()).copied().chain(self.current);
        open.map(Some).fold(self.best, busier)
    }

    /// Seconds that came up when later ones had been dropped, and so may be counted in parts.
    pub(crate) fn reopened(&self) -> u64 {
        self.reopened
    }
}

/// The one with more requests; of equals the earlier.
fn busier(one: Option<Second>, other: Option<Second>) -> Option<Second> {
    let rank = |second: Option<Second>| second.map(|s| (s.requests, Reverse(s.at)));
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(seconds: impl IntoIterator<Item = u64>) -> Busiest {
        let mut busiest = Busiest::default();
        for second in seconds {
            busiest.add(Nanos::from_secs(second), second % 2 == 0);
        }
        busiest
    }

    #[test]
    fn the_first_of_the_busiest_whatever_the_order() {
        assert_eq!(Busiest::default().second(), None);
        let found = count([7, 4, 9, 4, 7, 4, 9, 9, 1]).second().unwrap();
        let expected = Second { at: Nanos::from_secs(4), requests: 3, admitted: 3, denied: 0 };
        assert_eq!(found, expected);
    }

    #[test]
    fn agrees_with_a_plain_count_over_many_seconds() {
        // Each second appears 1 to 3 times, its last time 3,000 seconds late.
        let scattered = (0..20_000_u64).flat_map(|s| {
            let late = s.checked_sub(3_000).filter(|l| l % 7 == 0);
            [Some(s), Some(s).filter(|s| s % 7_000 == 3_500), late].into_iter().flatten()
        });
        let busiest = count(scattered);
        assert_eq!(busiest.reopened(), 0);
        assert!(busiest.young.len() <= OPEN && busiest.old.len() <= OPEN);
        let second = busiest.second().unwrap();
        assert_eq!((second.at, second.requests), (Nanos::from_secs(3_500), 3));
    }

    #[test]
    fn an_older_log_behind_a_newer_one_is_counted_too() {
        let newer = 1_000_000..1_020_000;
        // Around 12,345 there are four requests, a few seconds out of order.
        let older =
            (0..20_000).flat_map(|s| if s / 3 == 4_115 { vec![s, 12_345] } else { vec![s] });
        let busiest = count(newer.chain(older));
        let second = busiest.second().unwrap();
        assert_eq!((second.at, second.requests), (Nanos::from_secs(12_345), 4));
    }

    #[test]
    fn a_second_that_was_dropped_is_counted_in_parts_and_that_is_said() {
        let busiest = count((0..20_000).chain([0, 0, 0]));
        assert_eq!(busiest.reopened(), 1);
        assert_eq!(busiest.second().map(|second| second.requests), Some(3));
    }
}

use proptest::prelude::*;

use super::*;

/// All times in the order in which they are decided, with their lines.
fn decided(times: &[u64], span: u64, max_held: usize) -> (Vec<(u64, u64)>, Disorder) {
    let mut reorder = Reorder::new(span, max_held);
    let mut out = Vec::new();
    for (line, at) in (1..).zip(times) {
        let event = Held { at: Nanos::from_nanos(*at), line, what: () };
        out.extend(reorder.push(event));
        while let Some(event) = reorder.release() {
            out.push(event);
        }
        assert!(reorder.held.len() <= max_held);
    }
    while let Some(event) = reorder.next() {
        out.push(event);
    }
    (out.iter().map(|e| (e.at.as_nanos(), e.line)).collect(), reorder.disorder())
}

fn disorder(lines: u64, most_ns: u64, late: u64, released_early: u64) -> Disorder {
    Disorder { lines, most_ns, late, released_early }
}

#[test]
fn a_line_behind_by_exactly_the_span_is_not_late() {
    let (order, seen) = decided(&[100, 110, 100, 99], 10, 9);
    assert_eq!(order, [(100, 1), (100, 3), (99, 4), (110, 2)]);
    assert_eq!(seen, disorder(2, 11, 1, 0));
}

#[test]
fn without_a_span_everything_is_decided_as_it_comes() {
    let (order, seen) = decided(&[5, 3, 4, 5, 9], 0, 9);
    assert_eq!(order, [(5, 1), (3, 2), (4, 3), (5, 4), (9, 5)]);
    assert_eq!(seen, disorder(1, 2, 2, 0));
}

#[test]
fn a_full_buffer_lets_the_oldest_go_early() {
    let (order, seen) = decided(&[9, 8, 7, 6], 100, 2);
    assert_eq!(order, [(7, 3), (6, 4), (8, 2), (9, 1)]);
    assert_eq!(seen, disorder(3, 3, 1, 1));
}

proptest! {
    /// When no line is further behind than the span, the result is the log sorted by time, lines
    /// of one time in their order.
    #[test]
    fn is_a_stable_sort_when_the_span_suffices(
        steps in prop::collection::vec((0_u64..30, 0_u64..=50), 0..200),
        more in 0_u64..20,
    ) {
        let mut clock = 1_000;
        let times: Vec<u64> = steps.iter().map(|(on, back)| { clock += on; clock - back }).collect();
        let (order, seen) = decided(&times, 50 + more, usize::MAX);
        let mut sorted: Vec<(u64, u64)> = times.iter().copied().zip(1..).collect();
        sorted.sort();
        prop_assert_eq!(order, sorted);
        prop_assert_eq!((seen.late, seen.released_early), (0, 0));
    }

    /// Whatever the times, every event comes out once, and the counts are those of a plain scan.
    #[test]
    fn loses_nothing_and_counts_the_disorder(
        times in prop::collection::vec(0_u64..100, 0..100),
        span in 0_u64..60,
        max_held in 1_usize..20,
    ) {
        let (order, seen) = decided(&times, span, max_held);
        let mut lines: Vec<u64> = order.iter().map(|(_, line)| *line).collect();
        lines.sort();
        prop_assert_eq!(lines, (1..=times.len() as u64).collect::<Vec<_>>());
        let behind = |at: usize| times[..at].iter().max().map_or(0, |max| max.saturating_sub(times[at]));
        let earlier = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        prop_assert_eq!(seen.lines, earlier as u64);
        prop_assert_eq!(seen.most_ns, (0..times.len()).map(behind).max().unwrap_or(0));
        // An event is decided before an earlier one only if that one was late.
        let inversions = order.iter().enumerate().filter(|(i, e)| order[..*i].iter().any(|o| o.0 > e.0));
        prop_assert_eq!(seen.late, inversions.count() as u64);
    }
}
